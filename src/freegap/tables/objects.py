"""Python objects in the columns of pandas: which of them can be counted."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

_AT_ONCE = 2**16


def hashable(frame: Any) -> Any:
    """Of columns of Python objects in pandas, those that can be counted: lists, arrays, dicts are missing, as
    are texts with half a character (a lone surrogate), which no other engine can hold.

    pandas would fail on them, and so tell that somebody has one.
    """
    if not frame.implementation.is_pandas_like():
        return frame
    native = nw.to_native(frame)
    columns = {
        name: _each_by_itself(native[name])
        for name in native.columns
        if _holds_objects(native[name].dtype) and not _is_plain_text(native[name])
    }
    return nw.from_native(native.assign(**columns)) if columns else frame


def _holds_objects(dtype: Any) -> bool:
    """Whether any Python text can be in such a column; of Arrow's texts all are UTF-8."""
    return bool(dtype == np.dtype(object)) or getattr(dtype, "storage", None) == "python"


def _is_plain_text(column: Any) -> bool:
    """Whether all that is not missing are texts that can be written as UTF-8: then nothing is to be done."""
    import pyarrow as pa
    from pandas.api.types import infer_dtype

    values = column.to_numpy(dtype=object)
    if infer_dtype(values) != "string":
        return False
    try:
        for start in range(0, len(values), _AT_ONCE):
            pa.array(values[start : start + _AT_ONCE], pa.string(), from_pandas=True)
    except (UnicodeError, pa.ArrowException):
        return False
    return True


def _each_by_itself(column: Any) -> Any:
    """Not by `map`, which makes numbers of another kind of all of them where one is odd."""
    values = column.to_numpy(dtype=object)
    kept = np.fromiter(map(_counted, values), dtype=object, count=len(values))
    return type(column)(kept, index=column.index, dtype=column.dtype)


def _counted(value: Any) -> Any:
    try:
        if isinstance(value, str):
            str.encode(value)
        hash(value)
    except Exception:  # whatever an object does when it is asked
        return None
    return value
