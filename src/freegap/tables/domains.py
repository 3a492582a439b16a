"""The public domain: all items that could be selected, whether they occur or not.

The set of items that occur is private: an item that one person alone brought in would give that person
away by being listed. So the domain comes from elsewhere, and items that do not occur take part with
count zero. Items outside the domain are ignored, and how many there were is not reported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import prod
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from freegap.errors import REDACTED, InvalidArgument
from freegap.tables.column_names import PART
from freegap.tables.domain_columns import column_of, convert, file_frame, meet
from freegap.tables.engine_errors import ask_engine
from freegap.tables.files import FileTable, is_path, open_connection
from freegap.tables.kinds import ENGINE_KINDS, column_kind, is_missing, require_kind, type_kind
from freegap.tables.parts import ItemPart, PartProduct, joined, kinds_of, part_of, read_tuples, text_of
from freegap.tables.readers import column_names, read_columns
from freegap.tables.sources import Frame, TableSource, as_frame, exact_text, frame_of, pick
from freegap.values.answers import MOST_ITEMS, require_countable
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
    parted: the items are texts of tuples (`freegap.tables.parts`).
    """

    items: Sequence[Any]
    find: Callable[[Any], int]
    kinds: frozenset[str]
    hashed: bool = False
    column: nw.Series[Any] | None = None
    parted: bool = False


@dataclass(frozen=True)
class HeldDomain:
    """Items in the engine that holds the table: a frame with one column "item", each once."""

    frame: nw.LazyFrame[Any]
    parted: bool = False


@dataclass(frozen=True)
class ObservedDomain:
    """The items that occur, which somebody has declared to be public."""


@dataclass(frozen=True)
class WrittenItem:
    """One item as somebody typed it: a text for each column, read as what the column holds, as of a file."""

    parts: tuple[str, ...]


Domain = ListedDomain | HeldDomain | ObservedDomain


def read_domain(
    domain: Any, column: str | None, source: TableSource, *, observed_keys_are_public: bool
) -> tuple[Domain, TableSource]:
    """The domain, and the source with its items read as the domain's kind."""
    if domain is None:
        raise _missing()
    if isinstance(domain, str) and domain == OBSERVED:
        return _observed(observed_keys_are_public), source
    if isinstance(domain, WrittenItem):
        return _written(domain, source)
    if source.parts:
        return _of_tuples(domain, column, source)
    if is_path(domain):
        return _from_files(FileTable(domain, "domain"), column, source)
    frame = None if isinstance(domain, range | list | tuple) else as_frame(domain, "domain")
    if isinstance(frame, nw.DataFrame | nw.LazyFrame):
        return _from_frame(frame, column, source)
    listed = _listed(sized_values(domain), source)
    return listed, _fit(listed, source)


def _written(item: WrittenItem, source: TableSource) -> tuple[Domain, TableSource]:
    columns = [part.column for part in source.parts] or [source.item]
    if len(item.parts) != len(columns):
        raise InvalidArgument(
            "domain", item.parts, "must have one part for each column", f"They are: {', '.join(columns)}."
        )
    with open_connection() as connection:
        names = ", ".join('"' + column.replace('"', '""') + '"' for column in columns)
        places = ", ".join("?" * len(columns))
        typed = f"SELECT * FROM (VALUES ({places})) AS written({names})"  # noqa: S608  names are quoted
        frame = frame_of(connection.sql(typed, params=item.parts))
        if source.parts:
            return _tuples_of_frame(frame, source, typed=False, reachable=False)
        return _from_frame(frame, source.item, source, typed=False, reachable=False)


def require_usable(domain: Any, item: str) -> int:
    """How many items a public domain has; one that no question about this column could use is refused.

    A list or a range is looked at as a whole, and of a file every item once.
    """
    if not is_path(domain):
        number = len(_listed(sized_values(domain)).items)
    else:
        with open_connection() as connection:
            items = file_frame(connection, FileTable(domain, "domain"), None, item)
            present = items.filter(~nw.col("item").is_null())
            once = present.group_by("item").agg(nw.len().alias("rows")).select(nw.len().alias("items"))
            number = ask_engine(lambda: int(once.lazy().collect()["items"][0]))
    if not number:
        raise InvalidArgument("domain", domain, "has no items", "List those that may be selected.")
    return number


def _of_tuples(domain: Any, column: str | None, source: TableSource) -> tuple[Domain, TableSource]:
    """A domain of items of several columns: tuples, a table with these columns, or all combinations."""
    if column is not None:
        raise InvalidArgument(
            "domain_column",
            column,
            "cannot go with items of several columns",
            "Give the columns of the domain the names of those of the table.",
        )
    columns = [part.column for part in source.parts]
    if is_path(domain):
        files = FileTable(domain, "domain")
        if source.connection is not None:
            return _tuples_of_frame(_columns_of(source.connection, files, columns), source, typed=files.typed)
        with open_connection() as connection:
            frame = _columns_of(connection, files, columns)
            return _tuples_of_frame(frame, source, typed=files.typed, reachable=False)
    if isinstance(domain, dict):
        return _combinations(domain, source)
    seen = None if isinstance(domain, range | list | tuple) else as_frame(domain, "domain")
    if isinstance(seen, nw.DataFrame | nw.LazyFrame):
        return _tuples_of_frame(seen, source)
    tuples = read_tuples(sized_values(domain), columns)
    source = _fit_parts(kinds_of(columns, list(zip(*tuples, strict=True)) or [()] * len(columns)), source)
    return replace(_listed([text_of(item) for item in tuples], source), parted=True), source


def _fit_parts(parts: list[ItemPart], source: TableSource) -> TableSource:
    """Untyped texts read as the kinds of the domain; typed columns must be of these already."""
    source = source.read_parts_as(tuple(parts))
    for own, given in zip(source.parts, parts, strict=True):
        own.require({given.kind})
    return source


def _combinations(domain: dict[Any, Any], source: TableSource) -> tuple[Domain, TableSource]:
    """A list for each column, of which all combinations are items."""
    columns = [part.column for part in source.parts]
    if set(domain) != set(columns):
        raise InvalidArgument(
            "domain",
            f"<a dict with {', '.join(map(str, domain))}>",
            f"must have a list for each column of the item: {', '.join(columns)}",
            "Pass for example {'ward': ['A', 'B'], 'icd10': codes}.",
        )
    lists = [_listed(_part_list(domain[part.column], part, source)).items for part in source.parts]
    source = _fit_parts(kinds_of(columns, lists), source)
    if prod(map(len, lists)) > MOST_ITEMS:
        raise InvalidArgument("domain", REDACTED, "must have at most 2^62 items", "Use a smaller domain.")
    items = PartProduct(lists)
    return ListedDomain(items, items.index, frozenset({"text"}), parted=True), source


def _part_list(values: Any, part: ItemPart, source: TableSource) -> Sequence[Any]:
    """The values of one column: a list, a range, or a file with a column of that name."""
    if not is_path(values):
        return sized_values(values)
    files = FileTable(values, "domain")
    with open_connection() as connection:
        frame = file_frame(connection, files, None, part.column)
        if not files.typed and source.typed:
            frame = convert(frame, part.kind)
        return listed_in_order(ask_engine(lambda: frame.lazy().collect()["item"].to_list())).items


def _columns_of(connection: Any, files: FileTable, columns: list[str]) -> Frame:
    known = column_names(connection, files)
    for column in columns:
        if column not in known:
            raise files.refuse(column, known)
    return frame_of(read_columns(connection, files, columns))


def _tuples_of_frame(
    frame: Frame, source: TableSource, *, typed: bool = True, reachable: bool = True
) -> tuple[Domain, TableSource]:
    """The rows of a table with a column for each part; what repeats counts once, what lacks a part not."""
    known = frame.collect_schema().names()
    places = {f"{PART}{place}": part.column for place, part in enumerate(source.parts)}
    for column in places.values():
        if column not in known:
            raise InvalidArgument(
                "domain",
                "<table>",
                f"has no column called {column!r}",
                f"Its columns are: {', '.join(known[:20])}.",
            )
    rows = ask_engine(lambda: exact_text(pick(frame, **places)))
    parts = {place: part_of(rows, place, column) for place, column in places.items()}
    if not typed and source.typed:
        for place, own in zip(parts, source.parts, strict=True):
            others = [nw.col(other) for other in parts if other != place]
            rows = convert(rows.select(nw.col(place).alias("item"), *others), own.kind)
            parts[place] = own
            rows = rows.select(nw.col("item").alias(place), *others)
    source = _fit_parts(list(parts.values()), source)
    texts: Frame = ask_engine(lambda: exact_text(joined(rows, parts)))
    once: Frame = texts.group_by("item").agg(nw.len().alias("rows")).select("item")
    if reachable and meet(source.frame, once):
        return HeldDomain(once.lazy(), parted=True), source
    values = ask_engine(lambda: once.lazy().collect()["item"].to_list())
    return replace(listed_in_order(values), parted=True), source


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
            frame = file_frame(connection, files, column, source.item)
            return _from_frame(frame, None, source, typed=files.typed, reachable=False)
    frame = file_frame(source.connection, files, column, source.item)
    return _from_frame(frame, None, source, typed=files.typed)


def _from_frame(
    frame: Frame, column: str | None, source: TableSource, *, typed: bool = True, reachable: bool = True
) -> tuple[Domain, TableSource]:
    """A column of a table; what repeats in it counts once, and what is missing in it not at all."""
    names = frame.collect_schema().names()
    name = column_of(names, column, source.item, "<table>")
    items = ask_engine(lambda: exact_text(pick(frame, item=name)))
    if not typed and source.typed and source.kind != "text":
        items = convert(items, source.kind)
    kind = column_kind(items.collect_schema()["item"], name)
    if typed and not source.typed:
        source = source.read_as("number" if kind in ("float", "decimal") else kind)
    require_kind(source.item, source.kind, frozenset({kind}))
    present = items.filter(~nw.col("item").is_null())
    # Grouping, because narwhals' `unique` numbers the rows of a lazy table.
    once: Frame = present.group_by("item").agg(nw.len().alias("rows")).select("item")
    meets = reachable and meet(source.frame, once)
    if meets and kind == source.kind and kind in ENGINE_KINDS:
        held = once.with_columns(nw.col("item").cast(nw.Int64)) if kind == "integer" else once
        return HeldDomain(held.lazy()), source
    values = ask_engine(lambda: once.lazy().collect()["item"].to_list())
    listed = listed_in_order(values)
    return listed, _fit(listed, source)


def listed_in_order(values: Iterable[Any]) -> ListedDomain:
    """Items listed in their own order, which no engine's scheduling changes; missing values left out."""
    present = list(dict.fromkeys(value for value in values if not is_missing(value)))
    return _listed([present[place] for place in order_of_labels("domain", present)])


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
