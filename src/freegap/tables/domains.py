"""The public domain: all items that could be selected, whether they occur or not.

The set of items that occur is private: an item that one person alone brought in would give that person
away by being listed. So the domain comes from elsewhere, and items that do not occur take part with
count zero. Items outside the domain are ignored, and how many there were is not reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from freegap.errors import InvalidArgument
from freegap.tables.engine_errors import ask_engine
from freegap.tables.files import FileTable, is_path, open_connection
from freegap.tables.kinds import ENGINE_KINDS, column_kind, is_missing, require_kind, type_kind
from freegap.tables.readers import column_names, read_columns
from freegap.tables.sources import Frame, TableSource, as_frame, exact_text, frame_of, pick
from freegap.values.answers import require_countable
from freegap.values.labels import order_of_labels

OBSERVED = "observed"
_NEVER_MISSING = frozenset({str, int, bool, bytes})
UNKNOWN = "unknown"
"""What a domain is called that nobody has listed; see `freegap.tables.unknown`."""


@dataclass(frozen=True)
class ListedDomain:
    """Items at hand: a list, a range, or anything sized and indexable.

    find: the position of an item, or a KeyError, ValueError or TypeError.
    hashed: the items are hashable and no two are equal, so that going through them once finds any number.
    column: the same items as a column of the engine that holds the table, where that can look for texts in
    it in this process.
    """

    items: Sequence[Any]
    find: Callable[[Any], int]
    kinds: frozenset[str]
    hashed: bool = False
    column: nw.Series[Any] | None = None


@dataclass(frozen=True)
class HeldDomain:
    """Items in the engine that holds the table: a frame with one column "item", each once."""

    frame: nw.LazyFrame[Any]


@dataclass(frozen=True)
class ObservedDomain:
    """The items that occur, which somebody has declared to be public."""


Domain = ListedDomain | HeldDomain | ObservedDomain


def read_domain(
    domain: Any, column: str | None, source: TableSource, *, observed_keys_are_public: bool
) -> tuple[Domain, TableSource]:
    """The domain, and the source with its items read as the domain's kind."""
    if domain is None:
        raise _missing()
    if isinstance(domain, str) and domain == OBSERVED:
        return _observed(observed_keys_are_public), source
    if is_path(domain):
        return _from_files(FileTable(domain, "domain"), column, source)
    frame = None if isinstance(domain, range | list | tuple) else as_frame(domain, "domain")
    if isinstance(frame, nw.DataFrame | nw.LazyFrame):
        return _from_frame(frame, column, source)
    listed = _listed(sized_values(domain), source)
    return listed, _fit(listed, source)


def require_usable(domain: Any, item: str) -> None:
    """Refuse a public domain that no question about this column could use, before there is a question.

    A list or a range is looked at as a whole, and of a file its first item.
    """
    if not is_path(domain):
        empty = not _listed(sized_values(domain)).items
    else:
        with open_connection() as connection:
            items = _file_frame(connection, FileTable(domain, "domain"), None, item)
            empty = not ask_engine(
                lambda: len(items.filter(~nw.col("item").is_null()).lazy().head(1).collect())
            )
    if empty:
        raise InvalidArgument("domain", domain, "has no items", "List those that may be selected.")


def _fit(listed: ListedDomain, source: TableSource) -> TableSource:
    """Untyped text read as the kind of the domain; a typed column must be of it already."""
    if not source.typed and len(listed.kinds) == 1:
        source = source.read_as(next(iter(listed.kinds)))
    elif not source.typed and listed.kinds == {"integer", "number"}:
        source = source.read_as("number")
    require_kind(source.item, source.kind, listed.kinds)
    return source


def sized_values(domain: Any) -> Sequence[Any]:
    """Something sized and indexable with Python values in it."""
    if isinstance(domain, range | list | tuple):
        return domain
    for method in ("to_list", "tolist"):
        if hasattr(domain, method):
            values = getattr(domain, method)()
            if isinstance(values, list):  # and not the one value of a NumPy number
                return values
    sized = hasattr(domain, "__len__") and hasattr(domain, "__getitem__") and not hasattr(domain, "keys")
    if sized and getattr(domain, "ndim", 1) != 0:  # an array of no dimension has a length in name only
        indexable: Sequence[Any] = domain
        return indexable
    raise InvalidArgument(
        "domain",
        f"<{type(domain).__name__}>",
        "must be a list, a range, a column of a table, a file, or something sized and indexable",
        "A set or a dict has no fixed order: pass sorted(domain).",
    )


def _listed(items: Sequence[Any], source: TableSource | None = None) -> ListedDomain:
    require_countable("domain", items)
    if isinstance(items, range):
        if items.step < 0:
            items = items[::-1]
        numbers = items
        return ListedDomain(items, lambda item: numbers.index(_whole(item)), frozenset({"integer"}))
    finds = getattr(type(items), "index", Sequence.index)
    if not isinstance(items, list | tuple) and finds is not Sequence.index:
        # A domain that can compute positions itself is never gone through.
        return ListedDomain(items, items.index, frozenset({"other"}))
    types = set(map(type, items))  # loops that run in C: a list of millions is an ordinary domain
    if not types <= _NEVER_MISSING and any(map(is_missing, items)):
        raise InvalidArgument("domain", items, "must not contain missing values", "Remove None and NaN.")
    column = _column_of_texts(items) if source and types == {str} and _joins_texts(source) else None
    try:
        different = len(items) if column is not None and _all_differ(column) else len(set(items))
    except TypeError:
        raise InvalidArgument(
            "domain", items, "must contain hashable items", "Use tuples in place of lists."
        ) from None
    if different != len(items):
        raise InvalidArgument(
            "domain",
            items,
            "must not name an item twice (1, 1.0 and True are equal)",
            "Remove the duplicates.",
        )
    find = cache(lambda: dict(zip(items, range(len(items)), strict=True)))  # few domains are ever asked
    kinds = frozenset(map(type_kind, types))
    return ListedDomain(items, lambda item: find()[item], kinds, hashed=True, column=column)


def _joins_texts(source: TableSource) -> bool:
    """Whether the table is in Polars, which looks for millions of texts faster than Python does."""
    return source.kind == "text" and source.frame.implementation.is_polars()


def _column_of_texts(items: Sequence[str]) -> nw.Series[Any] | None:
    """Texts in Polars, where they are equal if Python says so; None where one has no form in UTF-8."""
    try:
        return nw.new_series("item", items, nw.String(), backend="polars")
    except UnicodeEncodeError:  # half of a surrogate pair, which no column of a table can hold either
        return None


def _all_differ(column: nw.Series[Any]) -> bool:
    """Whether the texts' hashes differ, and so the texts; where two hashes are equal that says nothing."""
    hashes = np.sort(nw.to_native(column).hash().to_numpy())
    return bool((hashes[1:] != hashes[:-1]).all())


def _whole(item: Any) -> int:
    """A number as an int, by which a range finds a position at once; by a float it would search."""
    number = int(item)
    if number != item:
        raise ValueError
    return number


def _from_files(files: FileTable, column: str | None, source: TableSource) -> tuple[Domain, TableSource]:
    """A column of a file: in our own DuckDB if the table is a file as well, else listed."""
    if files.format == "fimi":
        raise InvalidArgument("domain", files.path, "must be a file with columns", "Pass a CSV file.")
    if source.connection is None:
        with open_connection() as connection:
            frame = _file_frame(connection, files, column, source.item)
            return _from_frame(frame, None, source, typed=files.typed, reachable=False)
    frame = _file_frame(source.connection, files, column, source.item)
    return _from_frame(frame, None, source, typed=files.typed)


def _file_frame(connection: Any, files: FileTable, column: str | None, item: str) -> Frame:
    names = column_names(connection, files)
    name = item_column(names, column, item, files.path, named=not files.by_header)
    return pick(frame_of(read_columns(connection, files, [name])), item=name)


def _from_frame(
    frame: Frame, column: str | None, source: TableSource, *, typed: bool = True, reachable: bool = True
) -> tuple[Domain, TableSource]:
    """A column of a table; what repeats in it counts once, and what is missing in it not at all."""
    names = frame.collect_schema().names()
    name = item_column(names, column, source.item, "<table>")
    items = ask_engine(lambda: exact_text(pick(frame, item=name)))
    if not typed and source.typed and source.kind != "text":
        items = converted_texts(items, source.kind)
    kind = column_kind(items.collect_schema()["item"], name)
    if typed and not source.typed:
        source = source.read_as("number" if kind in ("float", "decimal") else kind)
    require_kind(source.item, source.kind, frozenset({kind}))
    present = items.filter(~nw.col("item").is_null())
    # Grouping, because narwhals' `unique` numbers the rows of a lazy table.
    once: Frame = present.group_by("item").agg(nw.len().alias("rows")).select("item")
    meets = reachable and _meet(source.frame, once)
    if meets and kind == source.kind and kind in ENGINE_KINDS:
        held = once.with_columns(nw.col("item").cast(nw.Int64)) if kind == "integer" else once
        return HeldDomain(held.lazy()), source
    values = ask_engine(lambda: once.lazy().collect()["item"].to_list())
    listed = listed_in_order(values)
    return listed, _fit(listed, source)


def _meet(table: Frame, domain: Frame) -> bool:
    """Whether one engine, in one session, holds both, so that it can join them."""
    if not isinstance(table, nw.LazyFrame) or table.implementation is not domain.implementation:
        return False
    try:
        joined = table.join(domain.lazy(), on="item", how="semi")
        joined.collect_schema()
        native = nw.to_native(joined)
        if table.implementation.is_ibis():
            native.get_backend()
    except Exception:  # each engine has its own way of refusing tables of two sessions
        return False
    return True


def converted_texts(items: Frame, kind: str, column: str = "item") -> Frame:
    """A public text column as another kind; a text that does not fit is an error."""
    types = {"integer": "BIGINT", "number": "HUGEINT", "float": "DOUBLE", "date": "DATE"}
    types["truth value"] = "BOOLEAN"
    if kind not in types:
        return items
    native = nw.to_native(items)
    whole = f"regexp_full_match({column}, '[+-]?[0-9]+') AND " if kind in ("integer", "number") else ""
    fits = f"{whole}TRY_CAST({column} AS {types[kind]}) IS NOT NULL"
    misfits = native.filter(f"{column} IS NOT NULL AND NOT ({fits})").project(column).limit(1).fetchall()
    if misfits:
        raise InvalidArgument(
            "domain",
            misfits[0][0],
            f"cannot be read as {kind}, which the table's {'items' if column == 'item' else 'groups'} are",
            "Correct the domain, or name another column of it.",
        )
    return frame_of(native.project(f"* REPLACE (CAST({column} AS {types[kind]}) AS {column})"))


def listed_in_order(values: Iterable[Any]) -> ListedDomain:
    """Items listed in their own order, which no engine's scheduling changes; missing values left out."""
    present = list(dict.fromkeys(value for value in values if not is_missing(value)))
    return _listed([present[place] for place in order_of_labels("domain", present)])


def item_column(names: list[str], column: str | None, item: str, shown: str, *, named: bool = True) -> str:
    """The column that holds the items.

    named: False where a first line is taken for the names: the only line that says otherwise may be an item.
    """
    if column is not None:
        if column not in names:
            raise InvalidArgument(
                "domain_column",
                column,
                f"is not a column of {shown}",
                f"Its columns are: {', '.join(names[:20])}.",
            )
        return column
    if item in names:
        return item
    if len(names) == 1 and named:
        return names[0]
    raise InvalidArgument(
        "domain",
        shown,
        f"has no column called {item!r}",
        "Name the column with domain_column='…'. The first line of a CSV or TSV file must be "
        "the names of its columns: were it an item, that item would be lost.",
    )


def _observed(acknowledged: bool) -> ObservedDomain:
    if acknowledged is not True:
        raise InvalidArgument(
            "domain",
            OBSERVED,
            "makes the set of items that occur public, which ε does not cover",
            "If that set may be known, say so with observed_keys_are_public=True; else pass a public list. "
            'Where it may not, there is domain="unknown".',
        )
    return ObservedDomain()


def _missing() -> InvalidArgument:
    return InvalidArgument(
        "domain",
        None,
        "is needed: choosing only among the items that occur would reveal an item that one person alone "
        "brought into the data",
        "Pass a public list of items (a list, a range, a file or a column of another table), or "
        'domain="observed" together with observed_keys_are_public=True if the set of items that occur may be '
        'known. Where nobody has a list there is domain="unknown", with a delta.',
    )
