"""Python objects in the columns of pandas: which of them can be counted."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np


def hashable(frame: Any) -> Any:
    """Of columns of Python objects in pandas, those that can be counted: lists, arrays, dicts are missing.

    pandas would fail on them, and so tell that somebody has one.
    """
    if not frame.implementation.is_pandas_like():
        return frame
    from pandas.api.types import infer_dtype

    native = nw.to_native(frame)
    columns = {
        name: _each_by_itself(native[name])
        for name in native.columns
        if native[name].dtype == object and infer_dtype(native[name].to_numpy()) != "string"
    }
    return nw.from_native(native.assign(**columns)) if columns else frame


def _each_by_itself(column: Any) -> Any:
    """Not by `map`, which makes numbers of another kind of all of them where one is odd."""
    kept = np.fromiter(map(_hashed, column), dtype=object, count=len(column))
    return type(column)(kept, index=column.index, dtype=object)


def _hashed(value: Any) -> Any:
    try:
        hash(value)
    except Exception:  # whatever an object does when it is asked
        return None
    return value
