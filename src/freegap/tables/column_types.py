"""Columns of types that cannot be used as they are: refused by the schema, which is public, or widened.

| type | where | here |
|---|---|---|
| JSON | DuckDB, and databases behind Ibis | refused: an engine fails on it, or compares how it is written |
| times with a time zone | DuckDB, and databases behind Ibis | refused: the zone is lost on the way out |
| durations as items or groups | databases behind Ibis | refused: they fail on the way out |
| half-precision numbers | PyArrow, pandas | widened, which changes no number |
| | behind Ibis, anywhere in the table | refused: the table cannot be handed over |
"""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from freegap.errors import InvalidArgument
from freegap.tables.behind_ibis import with_time_zones
from freegap.tables.column_names import PART, argument_of
from freegap.tables.engine_errors import ask_engine

_JSON = (
    "is a column of JSON documents, which engines do not compare as values",
    "Take the text or the number that is wanted out of it, or cast it to VARCHAR.",
)
_ZONED = (
    "is a column of times with a time zone, which is lost on the way out of the engine",
    "Cast it to VARCHAR.",
)
_DURATION = (
    "is a column of durations, which cannot come out of an engine behind Ibis",
    "Turn it into a number of days or of seconds first.",
)
_HALF = (
    "is a column of half-precision numbers, which engines behind Ibis do not have",
    "Cast it to float32 first: no number changes.",
)


def refuse_half_numbers(frame: Any) -> None:
    """Behind Ibis a table with such a column fails as a whole, whatever is asked of it."""
    if frame.implementation.is_ibis():
        schema = ask_engine(lambda: nw.to_native(frame).schema())
        for name, dtype in schema.items():
            if dtype.is_float16():
                raise InvalidArgument("table", name, *_HALF)


def with_single_precision(frame: Any) -> Any:
    """The frame, with half-precision numbers as single-precision ones, which every engine has."""
    native = nw.to_native(frame)
    if frame.implementation.is_pyarrow():
        import pyarrow as pa

        for place, field in enumerate(native.schema):
            if pa.types.is_float16(field.type):
                wide = native.column(place).cast(pa.float32())
                native = native.set_column(place, field.name, wide)
        return nw.from_native(native)
    if frame.implementation.is_pandas_like():
        halves = [name for name, dtype in native.dtypes.items() if dtype == np.float16]
        return nw.from_native(native.astype(dict.fromkeys(halves, np.float32))) if halves else frame
    return frame


def refuse_types(frame: Any, places: dict[str, str], names: dict[str, str]) -> None:
    """Refuse a column that is asked for by its type.

    places: the column of the frame for each argument. names: what the caller calls it.
    """
    found = ask_engine(lambda: _types(frame))
    for argument, name in names.items():
        reasons = found.get(places.get(argument, argument), {})
        for what, (constraint, remedy) in reasons.items():
            comes_out = argument in ("item", "group") or argument.startswith(PART)
            harmless = {"duration": not comes_out, "zone": argument_of(argument) == "where"}
            if not harmless.get(what):
                raise InvalidArgument(argument_of(argument), name, constraint, remedy)


def _types(frame: Any) -> dict[str, dict[str, tuple[str, str]]]:
    """Of each column what is wrong with its type. No row is read."""
    native, found = nw.to_native(frame), {}
    if frame.implementation.is_duckdb():
        for column, type_ in zip(frame.collect_schema().names(), native.types, strict=True):
            found[column] = {"JSON": _JSON} if str(type_) == "JSON" else {}
            # 10:00+00 is not 10:00+02, and both are handed over as 10:00: two persons would become one.
            found[column] |= {"zone": _ZONED} if str(type_) == "TIME WITH TIME ZONE" else {}
    elif frame.implementation.is_ibis():
        zoned = with_time_zones(native)
        for column, dtype in native.schema().items():
            found[column] = {"JSON": _JSON} if dtype.is_json() else {}
            found[column] |= {"duration": _DURATION} if dtype.is_interval() else {}
            found[column] |= {"zone": _ZONED} if column in zoned else {}
    return found
