"""The bins of a histogram of a table: of every item of the domain how many people count, or what they add.

Rule     of the items of the domain that a person has, those with the m smallest digests (`tables.bounded`),
         or all of them where m is left out; what is outside the domain takes no place of a person
Theorem  a choice is made among the rows of one person, and the domain is public: so one person more or less
         changes at most m bins, each by at most Δ, and leaves what everybody else counts for as it was

DuckDB and Spark choose by themselves among whole numbers and texts, from a range, a table of their own or a
list of at most 10,000 items. Elsewhere each pair of an item and a person travels here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from freegap.errors import InvalidArgument
from freegap.tables.bounded import can_choose, chosen_here, chosen_in_engine, persons_here
from freegap.tables.column_names import ItemColumns
from freegap.tables.domains import Domain, HeldDomain, ListedDomain, listed_in_order, read_domain
from freegap.tables.engine_errors import ask_engine
from freegap.tables.people import count_pairs, count_people, pairs_of
from freegap.tables.sources import Frame, TableSource, open_source
from freegap.tables.spelling import normalized, warn_of_spellings
from freegap.tables.tallies import in_domain, positions
from freegap.tables.values import ClippedValue

MOST_BINS = 10**7
_MOST_LISTED = 10_000

Numbers = tuple[list[Any], list[int], list[int]]


@dataclass(frozen=True)
class TableBins:
    """The items, in the order of the domain, and what is counted of each, in whole units.

    people: how many persons that is the total of; the same as `totals` where no value is added up.
    """

    labels: tuple[Any, ...]
    totals: list[int]
    people: list[int]
    source: TableSource
    domain: str


def bins_of(
    table: Any,
    *,
    item: ItemColumns,
    person: str | None,
    domain: Any,
    domain_column: str | None,
    observed_keys_are_public: bool,
    normalize: bool,
    value: ClippedValue | None,
    most: int | None,
) -> TableBins:
    """Count in the engine; one bin for each item of the domain. most: for how many each person counts."""
    with open_source(table, item, person, value=value) as opened:
        chosen, source = read_domain(
            domain, domain_column, opened, observed_keys_are_public=observed_keys_are_public
        )
        if normalize:
            chosen, source = normalized(chosen, source)
        else:
            warn_of_spellings(chosen)
        listed = _listed(chosen, source)
        named = f"{len(listed.items):,} public items"
        if not isinstance(chosen, ListedDomain | HeldDomain):
            named = "the items that occur, declared to be public"
        labels, *counts = ask_engine(lambda: _counted(source, chosen, listed, most))
        totals, people = (_spread(listed, labels, some) for some in counts)
        return TableBins(source.named(listed.items), totals, people, source, named)


def _spread(listed: ListedDomain, labels: list[Any], counts: list[int]) -> list[int]:
    """A number for each item of the domain, 0 for what does not occur."""
    places, units = in_domain(listed, labels, np.asarray(counts, dtype=np.int64))
    spread = np.zeros(len(listed.items), dtype=np.int64)
    spread[places] = units
    return [int(number) for number in spread]


def _listed(domain: Domain, source: TableSource) -> ListedDomain:
    """The items one by one, since each of them comes out."""
    if not isinstance(domain, ListedDomain):
        # Of those that occur all, also where nobody counts for one of them: that is not what was declared.
        held = domain.frame if isinstance(domain, HeldDomain) else count_people(source).select("item")
        domain = listed_in_order(ask_engine(lambda: held.lazy().collect()["item"].to_list()))
    if not 0 < len(domain.items) <= MOST_BINS:
        raise InvalidArgument(
            "domain",
            f"<{len(domain.items)} items>",
            "must have from 1 to 10,000,000 items, since each of them comes out",
            "Pass the items that matter; `top_k` finds the largest among any number.",
        )
    return domain


def _counted(source: TableSource, domain: Domain, listed: ListedDomain, most: int | None) -> Numbers:
    """Items that occur, what is counted of each, and of how many people; some may be outside the domain."""
    if most is None or most >= len(listed.items):
        return _columns(count_pairs(pairs_of(source), source, persons=True))
    pairs = pairs_of(source)
    inside = _inside(pairs, domain, listed)
    if inside is not None:
        chosen = chosen_in_engine(inside, most, by_line=source.by_line)
        return _columns(count_pairs(chosen, source, persons=True))
    rows = pairs.lazy().collect()
    items, persons = rows["item"].to_list(), persons_here(rows["person"])
    values = [1] * len(items) if source.value is None else [int(one) for one in rows["value"].to_list()]
    there = positions(listed, items) >= 0
    kept = [(i, p, v) for i, p, v, is_there in zip(items, persons, values, there, strict=True) if is_there]
    pairs_here = [(i, p) for i, p, _ in kept]
    _, people = chosen_here(pairs_here, most, by_line=source.by_line)
    return *chosen_here(pairs_here, most, [v for *_, v in kept], by_line=source.by_line), people


def _inside(pairs: Frame, domain: Domain, listed: ListedDomain) -> Frame | None:
    """The pairs whose item is in the domain; None where the engine cannot tell, or cannot choose."""
    if not can_choose(pairs):
        return None
    if isinstance(domain, HeldDomain):
        joined: Frame = pairs.lazy().join(domain.frame, on="item", how="semi")
        return joined
    items = listed.items
    if isinstance(items, range) and items.step == 1:
        return pairs.filter((nw.col("item") >= items[0]) & (nw.col("item") <= items[-1]))
    if len(items) <= _MOST_LISTED and set(map(type, items)) in ({int}, {str}):
        return pairs.filter(nw.col("item").is_in(list(items)))
    return None


def _columns(frame: Frame) -> Numbers:
    rows = frame.lazy().collect()
    totals, people = ([int(one) for one in rows[name].to_list()] for name in ("people", "persons"))
    return rows["item"].to_list(), totals, people
