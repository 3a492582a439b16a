"""Any table as two columns, item and person, or three with a group, with the rows that count.

narwhals gives pandas, Polars, PyArrow, DuckDB, Spark and Ibis one face. What happens to a row depends
on that row alone (a filter, a conversion), never on another: then adding a person's rows adds to the
cleaned table, and nothing else in it changes.

A row without an item, a person, or a group where there are groups, is left out. NaN counts as missing.
-0.0 is 0.0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw

from freegap.errors import InvalidArgument
from freegap.tables.behind_ibis import as_they_are, backend_name, is_number, of_their_types
from freegap.tables.column_names import PART, ItemColumns, argument_of, elsewhere, names_of, refuse_names
from freegap.tables.column_types import refuse_half_numbers, refuse_types, with_single_precision
from freegap.tables.databases import database_kind, open_database
from freegap.tables.described import SourceTable
from freegap.tables.engine_errors import ask_engine
from freegap.tables.far_times import without_far_times
from freegap.tables.files import FileTable, is_path, open_connection
from freegap.tables.filters import columns_of, filtered
from freegap.tables.kinds import TEXT_READ_AS, column_kind
from freegap.tables.objects import hashable
from freegap.tables.parts import ItemPart, joined, part_of, tuples_of
from freegap.tables.readers import read_columns, read_lines, readable

if TYPE_CHECKING:
    from freegap.tables.values import ClippedValue

Frame = nw.DataFrame[Any] | nw.LazyFrame[Any]

_INSIDE = {"group": "cohort"}
"""What a column is called here, where not by the name of its argument."""


@dataclass(frozen=True)
class TableSource:
    """A table of items and persons.

    frame: the columns "item" and "person", "cohort" where there are groups, and those that were asked for
        besides; rows as they came.
    kind: of the items, by the schema; see `freegap.tables.kinds`.
    typed: False where the format has no types, so that all items are text until the domain says more.
    item, person: what the columns are called, for messages and for the statement of privacy.
    connection: our own DuckDB, where the table is a file.
    by_line: whether each line of the file is a person.
    by_row: whether each row is protected by itself; then the frame has no column "person".
    where: the condition that its rows fulfil, for the statement of privacy.
    by_window: "month", where what one person does in one month is protected by itself.
    group, group_kind: the name and the kind of the column of groups, where there is one.
    value: what is summed up, where it is not people that are counted: the frame has a third column, "value".
    parts: of items of several columns, which are texts here (`freegap.tables.parts`). Where the format has no
        types the frame has the parts as well. group_parts: the same, while groups stand in their place.
    """

    frame: Frame
    kind: str
    typed: bool
    item: str
    person: str | None
    connection: Any | None
    by_line: bool = False
    by_row: bool = False
    where: str | None = None
    by_window: str | None = None
    group: str | None = None
    group_kind: str = ""
    value: ClippedValue | None = None
    parts: tuple[ItemPart, ...] = ()
    group_parts: tuple[ItemPart, ...] = ()

    def public(self) -> dict[str, Any]:
        """What a release says of the table among its parameters."""
        unit = {"protect": "rows"} if self.by_row else {"person": self.person}
        unit |= {} if self.by_window is None else {"protect": "windows"}
        item = [part.column for part in self.parts] if self.parts else self.item
        return {"item": item, **unit, **({} if self.where is None else {"where": self.where})}

    @property
    def lazy(self) -> bool:
        """Whether an engine holds the rows, rather than this process."""
        return isinstance(self.frame, nw.LazyFrame)

    def read_as(self, kind: str) -> TableSource:
        """Text items as numbers, dates or truth values, each row by itself; what does not fit is missing.

        Whole numbers are digits with at most a sign: DuckDB alone would read "1.5" as 2.
        """
        own = "float" if kind == "number" else kind
        if self.typed or kind not in TEXT_READ_AS or self.kind == own:  # a number is not read as text again
            return self
        native = nw.to_native(self.frame)
        frame = frame_of(native.project(f"* REPLACE ({TEXT_READ_AS[kind].format('item')} AS item)"))
        return replace(self, frame=frame, kind=own)

    def read_parts_as(self, parts: tuple[ItemPart, ...]) -> TableSource:
        """The same of items of several columns, each of which has a kind of its own."""
        if self.typed or parts == self.parts:
            return self
        places = {f"{PART}{place}": part for place, part in enumerate(parts)}
        read = [
            f"{TEXT_READ_AS[part.kind].format(place)} AS {place}"
            for place, part in places.items()
            if part.kind in TEXT_READ_AS
        ]
        native = nw.to_native(self.frame)
        frame = frame_of(native.project(f"* EXCLUDE (item) REPLACE ({', '.join(read)})"))
        return replace(self, frame=exact_text(joined(frame, places)), parts=parts)

    def named(self, items: Iterable[Any]) -> tuple[Any, ...]:
        """Items of a release as the table has them: those of several columns as tuples."""
        return tuples_of(items, self.parts) if self.parts else tuple(items)

    def turned(self) -> TableSource:
        """The same rows with groups for items and items for groups: what is done to items, done to groups."""
        names = self.frame.collect_schema().names()
        others: list[Any] = [name for name in names if name not in ("item", "cohort")]
        exchanged = [nw.col("cohort").alias("item"), *others, nw.col("item").alias("cohort")]
        return replace(
            self,
            frame=self.frame.select(*exchanged),
            kind=self.group_kind,
            item=str(self.group),
            group=self.item,
            group_kind=self.kind,
            parts=self.group_parts,
            group_parts=self.parts,
        )

    def present(self, *, keys: bool = True) -> Frame:
        """The rows that have a value in every column: an item, a person where there are persons, a group.

        keys: whether floating-point numbers are to be told apart, so that zeros must have one sign.
        """
        schema = self.frame.collect_schema()
        floats = [column for column, dtype in schema.items() if dtype.is_float()]
        present = [~nw.col(column).is_null() for column in schema.names() if column not in floats]
        present += [is_number(self.frame, nw.col(column)) for column in floats]
        frame: Frame = without_far_times(self.frame.filter(*present))
        zeros = [nw.col(column) + 0.0 for column in floats if keys]
        # PyArrow tells -0.0 from 0.0, and so would count one person twice.
        return frame.with_columns(*zeros) if zeros else frame

    def rows(self) -> Frame:
        """The rows that have an item and a person; where each row is one, numbers tell them apart.

        Which number a row has depends on other rows: nothing but equality of persons may be looked at.
        """
        return _numbered(self.present()) if self.by_row else self.present()


@contextmanager
def open_source(
    table: Any,
    item: ItemColumns,
    person: str | None,
    group: str | None = None,
    value: ClippedValue | None = None,
) -> Iterator[TableSource]:
    """The table's columns; a file's connection stays open meanwhile.

    table: or a description of one, which says of which rows and of whom (`freegap.tables.described`).
    """
    described = table if isinstance(table, SourceTable) else SourceTable(table)
    named: dict[str, Any] = {"item": item, "person": person} | ({} if group is None else {"group": group})
    named |= {} if value is None else {"value": value.column}
    if described.windows is not None:
        named["group"] = described.windows.column
        if group is None:
            raise InvalidArgument(
                "every",
                described.windows.every,
                "is for top_k, above and quantiles",
                "Choose a window with where='…'.",
            )
    if not is_path(described.table):
        names = names_of(named, described)
        yield _source(_frame_argument(described.table), names, value, described, typed=True, connection=None)
        return
    if database_kind(described.table) is not None:
        names = names_of(named, described)
        with open_database(described.table, described.name) as (native, own_connection):
            frame = _of_own_types(frame_of(native))
            yield _source(frame, names, value, described, typed=True, connection=own_connection)
        return
    found = FileTable(described.table, "table", described.reading)
    with open_connection() as connection, readable(found) as files:
        if files.format == "fimi":
            refuse_names(files, named, described)
            frame = frame_of(read_lines(connection, files))
            own = {"item": "item", "person": "person"}
            lines = _source(frame, own, None, described, typed=False, connection=connection)
            yield replace(lines, by_line=True)
        else:
            names = names_of(named, described)
            wanted = list(dict.fromkeys((*names.values(), *columns_of(described.where))))
            frame = frame_of(read_columns(connection, files, wanted))
            yield _source(frame, names, value, described, typed=files.typed, connection=connection)


def as_frame(native: Any, argument: str) -> Any:
    """A caller's table seen through narwhals, or what it is where it is none."""
    try:
        return nw.from_native(native, pass_through=True)
    except Exception as error:  # two columns of one name, a table whose session has ended
        kind = type(error).__name__
    raise InvalidArgument(
        argument,
        f"<{type(native).__name__}>",
        f"cannot be read as a table ({kind})",
        "Give each column a name of its own.",
    )


def frame_of(native: Any) -> Frame:
    """A native table, seen through narwhals."""
    frame: Frame = nw.from_native(native)
    return frame


def pick(frame: Frame, **columns: str) -> Frame:
    """These columns under new names.

    DuckDBs before 2.0 would take a name with a dot or a quotation mark in it apart, so it is quoted for them.
    """
    if frame.implementation.is_duckdb():
        quoted = {new: '"' + old.replace('"', '""') + '"' for new, old in columns.items()}
        return frame_of(
            nw.to_native(frame).project(", ".join(f"{old} AS {new}" for new, old in quoted.items()))
        )
    if frame.implementation.is_polars():
        for new, old in columns.items():
            if old == "*" or (old.startswith("^") and old.endswith("$")):
                raise InvalidArgument(
                    argument_of(new),
                    old,
                    "is a pattern of many columns to Polars, and no name",
                    "Rename the column.",
                )
    picked: Frame = frame.select(*(nw.col(old).alias(new) for new, old in columns.items()))
    return picked


def exact_text(frame: Frame) -> Frame:
    """The same columns, text compared byte by byte.

    Under a collation that ignores case an engine would make "a" and "A" one item and name it by either,
    so that one person could move a whole count from one name to the other.
    """
    native = nw.to_native(frame)
    schema = frame.collect_schema()
    texts = [column for column, dtype in schema.items() if dtype == nw.String]
    if frame.implementation.is_duckdb() and texts:
        parts = [f"{name} COLLATE C AS {name}" if name in texts else name for name in schema]
        return frame_of(native.project(", ".join(parts)))
    if frame.implementation.is_pyspark() or frame.implementation.is_pyspark_connect():
        for field in native.schema.fields:
            if getattr(field.dataType, "collation", "UTF8_BINARY") != "UTF8_BINARY":
                from pyspark.sql import functions

                native = native.withColumn(field.name, functions.collate(field.name, "UTF8_BINARY"))
        return frame_of(native)
    if frame.implementation.is_ibis():
        return frame_of(as_they_are(native, texts))
    return frame


def _of_own_types(frame: Frame) -> Frame:
    """A table of SQLite, with what is not of its column's type missing."""
    native = nw.to_native(frame)
    if frame.implementation.is_ibis() and backend_name(native) == "sqlite":
        return frame_of(ask_engine(lambda: of_their_types(native)))
    return frame


def _source(
    frame: Frame,
    names: dict[str, str],
    value: ClippedValue | None,
    described: SourceTable,
    *,
    typed: bool,
    connection: Any | None,
) -> TableSource:
    """names: of the columns, by what they are for."""
    columns = ask_engine(lambda: frame.collect_schema().names())
    condition = described.where
    looked_at = {f"where_{place}": name for place, name in enumerate(columns_of(condition))}
    allowed = [name for name in columns if described.columns is None or name in described.columns]
    for argument, name in (names | looked_at).items():
        if name not in (columns if argument in looked_at else allowed):
            raise InvalidArgument(
                argument_of(argument), name, "is not a column of the table", elsewhere(frame, columns)
            )

    # GROUP is a word of SQL.
    picked = {_INSIDE.get(argument, argument): name for argument, name in names.items()}
    refuse_half_numbers(frame)
    asked = ask_engine(lambda: pick(frame, **picked, **looked_at))
    refuse_types(asked, _INSIDE, names | looked_at)
    chosen = ask_engine(lambda: exact_text(hashable(with_single_precision(asked))))
    if condition is not None:
        looks = {name: place for place, name in looked_at.items()}
        chosen = ask_engine(lambda: filtered(chosen, condition, looks, typed=typed).select(*picked))
    if described.windows is not None:
        windows = described.windows
        chosen = ask_engine(lambda: windows.labelled(chosen, typed=typed))
    places = {place: name for place, name in names.items() if place.startswith(PART)}
    parts = {place: part_of(chosen, place, name) for place, name in places.items()}
    if parts:
        chosen = ask_engine(lambda: exact_text(joined(chosen, parts, keep=not typed)))
    item = ", ".join(places.values()) or names["item"]
    group, kind = names.get("group"), "text" if parts else _kind(chosen, "item", item)
    if value is not None:
        value.require_items(item, kind)
        chosen = ask_engine(lambda: value.in_units(chosen, typed=typed))
    return TableSource(
        chosen,
        kind,
        typed,
        item,
        names.get("person"),
        connection,
        by_row=described.by_row,
        where=None if condition is None else str(condition),
        by_window=None if not described.by_window or described.windows is None else described.windows.every,
        group=group if described.windows is None else described.windows.title,
        group_kind="" if group is None else _kind(chosen, "group", group),
        value=value,
        parts=tuple(parts.values()),
    )


def _kind(frame: Frame, argument: str, name: str) -> str:
    column = _INSIDE.get(argument, argument)
    if frame.implementation.is_pandas_like() and nw.to_native(frame)[column].dtype == object:
        return "other"  # narwhals would call it text by its values, which are private
    return column_kind(frame.collect_schema()[column], name, argument)


def _numbered(frame: Frame) -> Frame:
    """The rows with numbers as "person", which no two of them share."""
    engine, native = frame.implementation, nw.to_native(frame)
    if isinstance(frame, nw.DataFrame):
        return frame.with_row_index("person")
    if engine.is_duckdb():
        return frame_of(native.project("*, row_number() OVER () AS person"))
    if engine.is_polars():
        return frame_of(native.with_row_index("person"))
    if engine.is_ibis():
        import ibis

        return frame_of(native.mutate(person=ibis.row_number()))
    from pyspark.sql import functions

    return frame_of(native.withColumn("person", functions.monotonically_increasing_id()))


def _frame_argument(table: Any) -> Frame:
    frame = table if table is None or isinstance(table, dict | list | tuple) else as_frame(table, "table")
    if isinstance(frame, nw.DataFrame) and frame.implementation.is_polars():
        return frame.lazy()  # in one pass and on all cores, where each step by itself would copy the rows
    if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
        raise InvalidArgument(
            "table",
            f"<{type(table).__name__}>",
            "must be a dataframe or the path of a file",
            "Pass a pandas, Polars, PyArrow, DuckDB, Spark or Ibis table, or a path.",
        )
    return _of_own_types(frame)
