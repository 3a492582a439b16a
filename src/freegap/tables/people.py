"""count(distinct person) group by item, by the engine that holds the table.

Adding or removing one person, with whatever rows, changes each count by at most one, and all in the
same direction: Δ = 1, monotonic, however many items the person touches. Where each row is protected by itself
it is count(*) group by item: one row more or less changes one count by one.

Where the table is in this process, or the domain is a list in this process, or a database behind Ibis
cannot look items up, each item that occurs travels here with its count (`tally_pairs`). Else the counts
stay where they are, in a temporary table with one row for each item that occurs, and only the histogram
of counts travels (`tally_in_engine`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from freegap.tables.bounded import chosen_in_engine
from freegap.tables.column_names import ItemColumns
from freegap.tables.domains import (
    Domain,
    HeldDomain,
    ListedDomain,
    ObservedDomain,
    listed_in_order,
    read_domain,
)
from freegap.tables.engine_errors import ask_engine
from freegap.tables.in_engine import can_keep, keep, tally_in_engine
from freegap.tables.kinds import ENGINE_KINDS
from freegap.tables.sources import Frame, TableSource, open_source
from freegap.tables.spelling import normalized, warn_of_spellings
from freegap.tables.tallies import Tally, occupied, tally_pairs, tally_places
from freegap.tables.values import ClippedValue

_ENGINE_LIMIT = 2**62  # beyond, sums of two positions leave the engines' integers


class Counted:
    """A tally, and what may be said about where it came from."""

    def __init__(self, tally: Tally, source: TableSource, domain: Domain) -> None:
        self.tally = tally
        self.source = source
        observed = isinstance(domain, ObservedDomain)
        self.domain = (
            "the items that occur, declared to be public" if observed else f"{tally.items:,} public items"
        )

    @property
    def public(self) -> dict[str, Any]:
        """What a release says of it among its parameters."""
        summed = {} if self.source.value is None else self.source.value.parameters
        return {**self.source.public(), "domain": self.domain, **summed}


@contextmanager
def counted(
    table: Any,
    *,
    item: ItemColumns,
    person: str | None,
    domain: Any,
    domain_column: str | None,
    observed_keys_are_public: bool,
    normalize: bool = False,
    value: ClippedValue | None = None,
) -> Iterator[Counted]:
    """Count the people of each item of the domain; names can be found until the context ends.

    value: add up these values instead, in units (`freegap.tables.values`).
    """
    with open_source(table, item, person, value=value) as opened:
        chosen, source = read_domain(
            domain, domain_column, opened, observed_keys_are_public=observed_keys_are_public
        )
        if normalize:
            chosen, source = normalized(chosen, source)
        else:
            warn_of_spellings(chosen)
        frame = ask_engine(lambda: count_people(source))
        if source.lazy and _stays(source, chosen) and can_keep(ask_engine(lambda: without_rows(source))):
            with keep(frame.lazy()) as kept:
                tally = ask_engine(lambda: tally_in_engine(kept, chosen))
                yield Counted(tally, source, chosen)
        else:
            yield Counted(ask_engine(lambda: _bring(frame, source, chosen)), source, chosen)


def pairs_of(source: TableSource) -> Frame:
    """Each "item" with each "person" who has it, once; and "value", what the person adds to its total."""
    if source.value is not None:
        return source.value.of_people(source.rows())
    pairs: Frame = source.rows().group_by("item", "person").agg(nw.len().alias("rows"))
    return pairs.select("item", "person")


def count_people(source: TableSource, most: int | None = None) -> Frame:
    """One row for each item that occurs: "item" and "people", how many distinct persons have it.

    Of a source with a value, "people" is what these persons add up to.
    most: count each person for so many items only, where the engine can choose them (`tables.bounded`).

    As two groupings: engines do that in less memory and time than count(distinct …), and can spill it.
    """
    if source.by_row and source.value is None:
        return count_pairs(source.present(), source)  # a row has one item
    pairs = pairs_of(source)
    if most is not None and not source.by_row:
        pairs = chosen_in_engine(pairs, most, by_line=source.by_line)
    return count_pairs(pairs, source)


def count_pairs(pairs: Frame, source: TableSource, *, persons: bool = False) -> Frame:
    """The same, of the pairs that count; and "persons", how many there are of each item."""
    people = nw.len() if source.value is None else nw.col("value").sum()
    also = [nw.len().alias("persons")] if persons else []
    grouped: Frame = pairs.group_by("item").agg(people.alias("people"), *also)
    if source.value is not None:
        grouped = grouped.with_columns(nw.col("people").cast(nw.Int64))
    if source.kind == "integer":
        grouped = grouped.with_columns(nw.col("item").cast(nw.Int64))
    return grouped


def without_rows(source: TableSource) -> nw.LazyFrame[Any]:
    """The counts of no rows, by which to try what an engine can do."""
    return count_people(replace(source, frame=source.frame.head(0))).lazy()


def _stays(source: TableSource, domain: Domain) -> bool:
    """Whether the engine can match the domain by itself, on kinds where all engines agree."""
    if isinstance(domain, HeldDomain):
        return True
    if isinstance(domain, ObservedDomain):
        return source.kind in ENGINE_KINDS
    items = domain.items
    return (
        source.kind == "integer"
        and isinstance(items, range)
        and items.step == 1
        and max(abs(items.start), abs(items.stop)) <= _ENGINE_LIMIT
    )


def _bring(frame: Frame, source: TableSource, domain: Domain) -> Tally:
    """The counts of all items that occur. Even turning them into Python values can fail on a private one."""
    if isinstance(domain, ListedDomain) and domain.column is not None:
        texts = domain.column.to_frame().with_row_index("place").lazy()
        found = texts.join(frame.lazy(), on="item", how="inner").select("place", "people").collect()
        places, people = (found[name].to_numpy().astype(np.int64) for name in ("place", "people"))
        return tally_places(domain.items, *occupied(places, people))
    pairs = frame.lazy().collect()
    whole = isinstance(domain, ListedDomain) and isinstance(domain.items, range) and source.kind == "integer"
    items: Any = pairs["item"].to_numpy() if whole else pairs["item"].to_list()
    people = np.asarray(pairs["people"].to_list(), dtype=np.int64)
    if isinstance(domain, ListedDomain):
        return tally_pairs(domain, items, people)
    known = domain.frame.collect()["item"].to_list() if isinstance(domain, HeldDomain) else items
    return tally_pairs(listed_in_order(known), items, people)
