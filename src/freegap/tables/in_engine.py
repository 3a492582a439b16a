"""Counts that stay in the engine: the histogram travels, and afterwards the few selected items.

The counts are computed once, into a temporary table, so that what is looked up is what was counted.
Everything here is asked in a fixed order (`row_number() over (order by item)`), and nothing is random.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import zip_longest
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from freegap.tables.domains import Domain, HeldDomain, ListedDomain
from freegap.tables.engine_errors import ask_engine
from freegap.tables.fetched import few_rows
from freegap.tables.sources import frame_of
from freegap.tables.tallies import Member, Tally

Lazy = nw.LazyFrame[Any]

_COLUMNS = 100  # of one query; engines limit them


def can_keep(empty: Lazy) -> bool:
    """Whether the engine behind this frame without rows can keep counts and look items up in them.

    There are many databases behind Ibis, so there it is tried: finding out after the draw would be too late,
    because what was drawn is paid for.
    """
    engine = empty.implementation
    if not engine.is_ibis():
        known = (engine.is_duckdb(), engine.is_pyspark(), engine.is_pyspark_connect(), engine.is_polars())
        return any(known)
    nobody = ListedDomain(range(1), range(1).index, frozenset({"integer"}))
    try:
        with keep(empty) as kept:
            _present(kept, [(1, 0)])
            if kept.collect_schema()["item"].is_integer():
                _absent_of_range(nobody, kept, [0])
            _absent_of_table(kept.select("item"), kept, [0])
    except Exception:  # each database has its own way of refusing
        return False
    return True


@contextmanager
def keep(frame: Lazy) -> Iterator[Lazy]:
    """The rows of a lazy frame, computed once and kept inside the engine meanwhile."""
    native = nw.to_native(frame)
    if frame.implementation.is_duckdb():
        # Statements cannot bind names; these are made of hexadecimal digits.
        name = f"freegap_{uuid.uuid4().hex}"
        view = f"{name}_view"
        create = f"CREATE TEMP TABLE {name} AS SELECT * FROM {view}"  # noqa: S608
        select = f"SELECT * FROM {name}"  # noqa: S608
        ask_engine(lambda: _execute(native, view, create))
        try:
            yield _lazy(ask_engine(lambda: native.query(view, select)))
        finally:
            with suppress(Exception):  # a failure to tidy up must not take the release with it
                _execute(native, view, f"DROP TABLE {name}")
    elif frame.implementation.is_pyspark() or frame.implementation.is_pyspark_connect():
        kept = ask_engine(native.persist)
        try:
            yield _lazy(kept)
        finally:
            with suppress(Exception):
                kept.unpersist()
    elif frame.implementation.is_ibis():
        cached = ask_engine(native.cache)
        try:
            yield _lazy(cached)
        finally:
            with suppress(Exception):
                cached.release()
    else:  # Polars, whose engine is this process
        yield _lazy(ask_engine(lambda: native.collect().lazy()))


def _execute(relation: Any, view: str, statement: str) -> None:
    """Older DuckDBs run a statement at once and return nothing; newer ones when its result is fetched."""
    result = relation.query(view, statement)
    if result is not None:
        result.fetchall()


def tally_in_engine(counts: Lazy, domain: Domain) -> Tally:
    """A tally of the items of the domain, from a table of "item" and "people" that an engine holds."""
    if isinstance(domain, HeldDomain):
        inside = counts.join(domain.frame, on="item", how="semi")
        size = _number(domain.frame)
    elif isinstance(domain, ListedDomain):
        low, high = domain.items[0] if domain.items else 0, domain.items[-1] if domain.items else -1
        inside = counts.filter((nw.col("item") >= low) & (nw.col("item") <= high))
        size = len(domain.items)
    else:
        inside, size = counts, None
    histogram = few_rows(inside.group_by("people").agg(nw.len().alias("items")))
    values = np.asarray(histogram["people"], dtype=np.int64)
    sizes = np.asarray(histogram["items"], dtype=np.int64)
    absent = int(sizes[values == 0].sum()) + (0 if size is None else size - int(sizes.sum()))
    order = np.argsort(-values)
    order = order[values[order] != 0]  # a total of 0 is as if nobody had the item
    values, sizes = values[order], sizes[order]
    occupied = inside.filter(nw.col("people") != 0)
    if absent:
        values, sizes = np.append(values, 0), np.append(sizes, absent)

    def find(members: Sequence[Member]) -> list[Any]:
        found = _present(inside, [place for place in members if place[0]])
        missing = [member for value, member in members if value == 0]
        if isinstance(domain, ListedDomain):
            found |= _absent_of_range(domain, occupied, missing)
        else:
            known = domain.frame if isinstance(domain, HeldDomain) else inside.select("item")
            found |= _absent_of_table(known, occupied, missing)
        return [found[place] for place in members]

    return Tally(values, sizes, lambda members: ask_engine(lambda: find(members)))


def _present(inside: Lazy, places: Sequence[Member]) -> dict[Member, Any]:
    """The items at these places, by one query."""
    if not places:
        return {}
    value_wanted = nw.col("people").is_in(sorted({value for value, _ in places}))
    numbered = inside.filter(value_wanted).with_columns(
        nw.col("item").cum_count().over("people", order_by="item").alias("place")
    )
    rows = few_rows(numbered.filter(_any_of(places)))
    columns = (rows[name] for name in ("item", "people", "place"))
    return {(int(people), int(place) - 1): item for item, people, place in zip(*columns, strict=True)}


def _any_of(places: Sequence[Member]) -> nw.Expr:
    """Whether a row is at one of these places.

    Engines limit how deep a condition may be, and some take long over a wide one. So the places are grouped
    by value or by member, whichever gives fewer groups, and the groups are joined as a balanced tree.
    """
    by_value, by_member = defaultdict(list), defaultdict(list)
    for value, member in places:
        by_value[value].append(member + 1)
        by_member[member + 1].append(value)
    fewer, first, second = (
        (by_value, "people", "place") if len(by_value) <= len(by_member) else (by_member, "place", "people")
    )
    terms = [(nw.col(first) == one) & nw.col(second).is_in(many) for one, many in fewer.items()]
    while len(terms) > 1:
        terms = [a | b for a, b in zip_longest(terms[::2], terms[1::2], fillvalue=terms[-1])]
    return terms[0]


def _absent_of_range(domain: ListedDomain, inside: Lazy, members: Sequence[int]) -> dict[Member, Any]:
    """The member-th number that does not occur, by one query for every hundred of them.

    With the numbers that occur sorted as p_1 < p_2 < …, there are p_i − i + 1 absent ones below p_i (as
    positions from 0); so the member-th absent one comes after as many present ones as have
    p_i − i < member.
    """
    if not members:
        return {}
    numbered = inside.with_columns(nw.col("item").cum_count().over(order_by="item").alias("place"))
    ahead = nw.col("item") - nw.col("place").cast(nw.Int64)
    start = int(domain.items[0])
    found: dict[Member, Any] = {}
    for first in range(0, len(members), _COLUMNS):
        some = members[first : first + _COLUMNS]
        sums = (_how_many(ahead < start + m).alias(f"m{i}") for i, m in enumerate(some))
        before = few_rows(numbered.select(*sums))
        for i, member in enumerate(some):
            found[0, member] = domain.items[member + int(before[f"m{i}"][0] or 0)]
    return found


def _how_many(condition: nw.Expr) -> nw.Expr:
    """In how many rows it holds. Not all engines turn truth values into numbers."""
    return nw.when(condition).then(1).otherwise(0).sum()


def _absent_of_table(domain: Lazy, inside: Lazy, members: Sequence[int]) -> dict[Member, Any]:
    """The member-th item of the domain that does not occur, by one query."""
    if not members:
        return {}
    absent = domain.join(inside, on="item", how="anti")
    numbered = absent.with_columns(nw.col("item").cum_count().over(order_by="item").alias("place"))
    rows = few_rows(numbered.filter(nw.col("place").is_in([member + 1 for member in members])))
    pairs = zip(rows["item"], rows["place"], strict=True)
    return {(0, int(place) - 1): item for item, place in pairs}


def _number(frame: Lazy) -> int:
    return int(few_rows(frame.select(nw.len().alias("items")))["items"][0])


def _lazy(native: Any) -> Lazy:
    frame = frame_of(native)
    if not isinstance(frame, nw.LazyFrame):
        raise AssertionError("an engine gave an eager frame")
    return frame
