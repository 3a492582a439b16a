"""What differs between the databases behind Ibis, so that one row decides about itself alone.

| database | what it would do | here |
|---|---|---|
| SQLite | values of any type and texts of any bytes fail on the way out | they are missing |
| DuckDB | NaN is overlooked where a Parquet file states the least and the largest number | NaN is null |
| SQLite | there is no NaN: it is null when it is stored, and Ibis cannot ask | not asked |
| SQLite | a column may compare its texts without case | compared byte by byte |
| PostgreSQL | of decimals beyond all doubles the conversion fails | they are clipped |
| PostgreSQL, DuckDB | so may one of theirs, by its collation | compared byte by byte |
| PostgreSQL, DuckDB | Ibis takes a time with a time zone for one without | refused, by the schema |

Other databases compare texts as the collation of the column says (`docs/limitations.md`).
"""

from __future__ import annotations

import math
import uuid
from typing import Any

import narwhals.stable.v2 as nw

_TYPES = {
    "is_string": ["text"],
    "is_boolean": ["integer"],
    "is_integer": ["integer"],
    "is_floating": ["real", "integer"],
}
"""What SQLite calls values, by the kind of column that they belong in."""

_COLLATED = {"postgres": 'CAST({0} AS text) COLLATE "C"', "duckdb": "{0} COLLATE C"}
_NUMBER = "CASE WHEN isfinite({0}) OR isinf({0}) THEN {0} END"
_INSIDE = "round(least(greatest({0}, -1e100), 1e100), 100)"
_AS_DOUBLE = f"CASE WHEN {{0}} <> 'NaN' THEN CAST({_INSIDE} AS double precision) END"
_TIMETZ = 1266  # the number of the type in PostgreSQL
_CODECS = {"UTF-8": "utf-8", "UTF-16le": "utf-16-le", "UTF-16be": "utf-16-be"}
_IS_TEXT = "freegap_is_text"


def backend_name(table: Any) -> str | None:
    """Which database holds a table of Ibis; None where several do, or none."""
    try:
        return str(table.get_backend().name)
    except Exception:  # a table in this process, or of two databases
        return None


def is_number(frame: Any, column: nw.Expr) -> nw.Expr:
    """Whether a row of a narwhals frame has a number in this column of floats: no null, and no NaN.

    DuckDB takes `isnan` for false where a Parquet file states a least and a largest number, though these say
    nothing of NaN; with a null among the rows, which somebody may bring, it looks at them again. So it is
    asked in a way that it does not answer from such statements.
    """
    present, engine = ~column.is_null(), frame.implementation
    if engine.is_duckdb():
        return present & (column.is_finite() | (column == math.inf) | (column == -math.inf))
    if engine.is_ibis() and backend_name(nw.to_native(frame)) == "sqlite":
        return present
    return present & ~column.is_nan()


def doubles_of(table: Any, columns: list[str]) -> Any:
    """The table, those of these columns that are decimals of PostgreSQL as doubles, row by row.

    Its own conversion fails on numbers beyond all doubles, and on such as become 0. NaN is null.
    """
    schema = table.schema()
    decimals = [name for name in columns if schema[name].is_decimal()]
    if backend_name(table) != "postgres" or not decimals:
        return table
    as_doubles = {name: _AS_DOUBLE.format(name) for name in decimals}
    return with_columns(table, as_doubles, dict.fromkeys(decimals, "float64"))


def of_their_types(table: Any) -> Any:
    """A table of SQLite, whose columns may hold anything: what is not of the column's type is missing.

    Else one person's text in a column of numbers, or bytes that are no text in one of texts, would make the
    whole query fail. Dates and decimals are the texts and numbers that they are stored as, and are read as
    texts: one that is no date would fail as well. What is made by CASE has no collation but bytes.
    """
    import ibis

    _define_is_text(table.get_backend().con)
    is_text = ibis.udf.scalar.builtin(_is_text, name=_IS_TEXT)
    typed = {}
    for name, dtype in table.schema().items():
        own = next((types for test, types in _TYPES.items() if getattr(dtype, test)()), None)
        column = table[name] if own is not None else table[name].cast("string")
        kind = table[name].typeof()
        known = kind.isin(own or ["text", "integer", "real"])
        if own in (None, ["text"]):
            known = known & ((kind != "text") | is_text(table[name].cast("binary")))
        typed[name] = ibis.ifelse(known, column, ibis.null(column.type()))
    return table.mutate(**typed)


def _is_text(data: bytes) -> bool:
    """Declared for Ibis; SQLite calls what `_define_is_text` defines."""
    raise NotImplementedError


def _define_is_text(connection: Any) -> None:
    """A function of SQLite that says of the bytes of a text whether they are one."""
    (encoding,) = connection.execute("PRAGMA encoding").fetchone()
    codec = _CODECS[encoding]

    def is_text(data: bytes | None) -> bool:
        try:
            (data or b"").decode(codec)
        except UnicodeDecodeError:
            return False
        return True

    connection.create_function(_IS_TEXT, 1, is_text, deterministic=True)


def as_they_are(table: Any, texts: list[str]) -> Any:
    """The same table, these columns of texts compared byte by byte, where we know how to say so.

    In DuckDB NaN is null then; see `is_number`.
    """
    database = backend_name(table) or ""
    collated = _COLLATED.get(database)
    columns = {} if collated is None else {name: collated.format(name) for name in texts}
    if database == "duckdb":
        floats = [name for name, dtype in table.schema().items() if dtype.is_floating()]
        columns |= {name: _NUMBER.format(name) for name in floats}
    return with_columns(table, columns, {}) if columns else table


def with_columns(table: Any, columns: dict[str, str], types: dict[str, str]) -> Any:
    """The table, these columns computed as SQL says, some of which have other types then.

    All names are ours: item, person and the like.
    """
    import ibis.expr.operations as ops

    schema = type(table.schema())({**table.schema(), **types})

    listed = ", ".join(f"{columns[name]} AS {name}" if name in columns else name for name in table.columns)
    alias = f"freegap_{uuid.uuid4().hex}"
    query = f"SELECT {listed} FROM {alias}"  # noqa: S608
    return ops.SQLStringView(table.alias(alias), query, schema).to_expr()


def with_time_zones(table: Any) -> list[str]:
    """The columns of times with time zones, which Ibis takes for times without. No row is read."""
    import ibis

    name, none = backend_name(table), table.limit(0)
    if not any(dtype.is_time() for dtype in table.schema().values()):
        return []
    connection = table.get_backend().con
    if name == "duckdb":
        types = connection.sql(ibis.to_sql(none)).types
        return [
            column
            for column, type_ in zip(table.columns, types, strict=True)
            if "WITH TIME ZONE" in str(type_)
        ]
    if name == "postgres":
        with connection.cursor() as cursor:
            cursor.execute(ibis.to_sql(none))
            return [column.name for column in cursor.description if column.type_code == _TIMETZ]
    return []
