"""Read what a mechanism returned, one output or a whole batch, into columns (`freegap.auditor.outputs`)."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from itertools import chain, compress, islice
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap.auditor.outputs import (
    ABSENT,
    INTEGER,
    ORDER,
    REAL,
    TYPE,
    Codes,
    Floats,
    Label,
    Outputs,
    Path,
    beside,
    recode,
)

MOST_COLUMNS = 256
CUT = f"Outputs have more than {MOST_COLUMNS} parts: only the first {MOST_COLUMNS} of each were looked at."
DEEPEST = 8
_EXACT_INTEGER = 2**53
PLAIN = frozenset({bool, int, float, str, type(None)})  # the most frequent types that have no parts


class WrongSize(Exception):
    """A vectorised mechanism returned another number of outputs than it was asked for."""


def from_batch(batch: Any, size: int) -> Outputs:
    """The outputs of a vectorised mechanism.

    An array or list holds one output per row; masked cells of a masked array are absent. A tuple or a
    mapping of arrays stands for tuples or records, one array a field.

    >>> from_batch((np.array([1, 2]), np.array([0.5, np.nan])), 2).paths
    ((0,), (1,))
    """
    batch = _frame(batch)
    if isinstance(batch, Mapping):
        return beside([((str(name),), from_batch(part, size)) for name, part in batch.items()])
    if isinstance(batch, tuple):
        return beside([((i,), from_batch(part, size)) for i, part in enumerate(batch)])
    if not isinstance(batch, np.ndarray):
        batch = list(batch)
    if len(batch) != size:
        raise WrongSize(f"a batch of {size} outputs was asked for, {len(batch)} came back")
    if not isinstance(batch, np.ndarray) or batch.dtype == object:
        return from_objects(list(batch))
    if batch.dtype.names is not None:
        return from_batch({name: batch[name] for name in batch.dtype.names}, size)
    return _from_array(batch)


def _from_array(array: NDArray[Any]) -> Outputs:
    scalar = array.ndim == 1
    table = array.reshape(len(array), -1)[:, :MOST_COLUMNS]
    mask = np.ma.getmaskarray(table) if isinstance(table, np.ma.MaskedArray) else None
    codes, values, labels = _read_array(np.ma.getdata(table))
    if mask is not None:
        np.copyto(codes, ABSENT, where=mask)
    paths: tuple[Path, ...] = ((),) if scalar else tuple((i,) for i in range(table.shape[1]))
    cut = not scalar and array[:1].size > MOST_COLUMNS
    return Outputs(codes, values, paths, labels, frozenset({CUT} if cut else ()))


def _read_array(data: NDArray[Any]) -> tuple[Codes, Floats, tuple[Label, ...]]:
    # column after column in memory ("F"), since that is how features read them
    if data.dtype.kind == "b":
        return data.astype(np.int32, order="F"), _zeros(data.shape), (_label(False), _label(True))
    if data.dtype.kind in "iu":
        codes = np.full(data.shape, INTEGER, dtype=np.int32, order="F")
        return codes, data.astype(np.float64, order="F"), ()
    if data.dtype.kind == "f":
        return _split_reals(np.asfortranarray(data, dtype=np.float64))
    distinct, inverse = np.unique(data, return_inverse=True)
    return (
        inverse.reshape(data.shape).astype(np.int32),
        np.zeros(data.shape),
        tuple(_label(value) for value in distinct.tolist()),
    )


def _zeros(shape: tuple[int, ...]) -> Floats:
    """The numbers of cells that are none: to be read only, and taking no room."""
    return np.broadcast_to(np.float64(0.0), shape)


def _split_reals(data: Floats) -> tuple[Codes, Floats, tuple[Label, ...]]:
    codes = np.full(data.shape, REAL, dtype=np.int32, order="F")
    finite = np.isfinite(data)
    if finite.all():
        return codes, data, ()
    codes[np.isnan(data)] = 0
    codes[data == np.inf] = 1
    codes[data == -np.inf] = 2
    return codes, np.where(finite, data, 0.0), tuple(map(_label, (math.nan, math.inf, -math.inf)))


def from_objects(objects: Sequence[Any]) -> Outputs:
    """Outputs of single runs, of any types, mixed as they come.

    >>> from_objects([[False, 2.5], [False, False, True]]).paths
    ((0,), (1,), (2,))
    """
    kinds = set(map(type, objects))
    if kinds and kinds <= {list, tuple}:
        flat = list(chain.from_iterable(objects))
        if not any(map(_is_tree, set(map(type, flat)))):
            found = _from_lists(objects, flat)
            return found if kinds == {list} else _with_types(found, objects)
    elif not any(map(_is_tree, kinds)):
        codes, values, labels = _read_cells(objects)
        return Outputs(codes[:, None], values[:, None], ((),), labels, _unread(kinds))
    return _from_trees(objects)


def _is_tree(kind: type) -> bool:
    """Whether values of this type have parts that should be looked at one by one."""
    return (
        issubclass(kind, list | tuple | Mapping | np.ndarray | set | frozenset | Iterator)
        or dataclasses.is_dataclass(kind)
        or _is_frame(kind)
        or _is_record(kind)
    )


def _is_frame(kind: type) -> bool:
    library = kind.__module__.partition(".")[0]
    return library in ("pandas", "polars") and kind.__name__ in ("DataFrame", "Series")


def _frame(value: Any) -> Any:
    """A table or a column of pandas or Polars in plain parts, with its index; anything else as it is."""
    if not _is_frame(type(value)):
        return value
    if type(value).__name__ == "Series":
        parts = {"values": value.to_numpy()}
    else:
        parts = {str(name): value[name].to_numpy() for name in value.columns}
    return parts | ({"index": value.index.to_numpy()} if hasattr(value, "index") else {})


_TEXTS = (str, bytes, Enum, BaseException, type, PurePath, date, time, timedelta)
_PLAIN = (numbers.Number, Decimal, np.generic, *_TEXTS)


def _is_record(kind: type) -> bool:
    """Whether values of this type are objects of attributes, and not values with a text of their own."""
    holds = bool(getattr(kind, "__dictoffset__", 0)) or any("__slots__" in vars(c) for c in kind.__mro__)
    return holds and kind.__module__ != "builtins" and not issubclass(kind, _PLAIN)


def _attributes(value: Any) -> dict[str, Any]:
    slots = [name for c in type(value).__mro__ for name in _names(vars(c).get("__slots__", ()))]
    found = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    return {**found, **getattr(value, "__dict__", {})}


def _names(slots: Any) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _is_silent(kind: Any) -> bool:
    """Whether the text of such a value is its address alone."""
    return kind.__repr__ is object.__repr__


def _unread(kinds: Iterable[type]) -> frozenset[str]:
    """A remark for each type of which nothing but the type can be read."""
    silent = sorted(kind.__name__ for kind in kinds if _is_silent(kind))
    return frozenset(f"Of parts of the output of type {name} only the type was looked at." for name in silent)


def _from_lists(objects: Sequence[Any], flat: list[Any]) -> Outputs:
    size = len(objects)
    lengths = np.fromiter(map(len, objects), dtype=np.int64, count=size)
    cells, values, labels = _read_cells(flat)
    width = int(lengths.max(initial=0))
    starts = np.cumsum(lengths) - lengths
    if size and (lengths == width).all():
        codes, table = cells.reshape(size, width), values.reshape(size, width)
    else:
        codes = np.full((size, width), ABSENT, dtype=np.int32)
        table = np.zeros((size, width))
        row = np.repeat(np.arange(size), lengths)
        place = np.arange(len(flat)) - np.repeat(starts, lengths)
        codes[row, place] = cells
        table[row, place] = values
    return Outputs(
        codes[:, :MOST_COLUMNS],
        table[:, :MOST_COLUMNS],
        tuple((i,) for i in range(min(width, MOST_COLUMNS))),
        labels,
        _unread(set(map(type, flat))) | ({CUT} if width > MOST_COLUMNS else set()),
    )


def _with_types(found: Outputs, objects: Sequence[Any]) -> Outputs:
    """The same outputs with the types of those trees that are not lists."""
    names = _read_kind([type(value).__name__ for value in objects], str)
    plain = np.array([type(value) is list or not _is_tree(type(value)) for value in objects])
    codes = np.where(plain, np.int32(ABSENT), names[0])
    return beside([((), found), (TYPE, Outputs(codes[:, None], names[1][:, None], ((),), names[2]))])


def _read_cells(flat: Sequence[Any]) -> tuple[Codes, Floats, tuple[Label, ...]]:
    """A list of leaves, of any types; whole-array steps for the usual types, since this is the cost of
    auditing a scalar mechanism."""
    kinds = set(map(type, flat))
    if kinds == {float}:
        return _split_reals(np.array(flat, dtype=np.float64))
    if kinds == {bool}:
        return _read_array(np.array(flat, dtype=np.bool_))
    codes = np.zeros(len(flat), dtype=np.int32)
    values = np.zeros(len(flat))
    labels: dict[Label, int] = {}
    kind_of = np.fromiter(map(id, map(type, flat)), dtype=np.int64, count=len(flat))
    for kind in sorted(kinds, key=lambda kind: kind.__name__):
        mask = kind_of == id(kind)
        part = list(compress(flat, mask.tolist()))
        some_codes, some_values, some_labels = _read_kind(part, kind)
        lookup = np.array([labels.setdefault(label, len(labels)) for label in some_labels], dtype=np.int32)
        if len(lookup):
            some_codes = np.where(some_codes >= 0, lookup[np.maximum(some_codes, 0)], some_codes)
        codes[mask], values[mask] = some_codes, some_values
    return codes, values, tuple(labels)


def _read_kind(part: list[Any], kind: type) -> tuple[Codes, Floats, tuple[Label, ...]]:
    if issubclass(kind, bool | np.bool_):
        return _read_array(np.array(part, dtype=np.bool_))
    if issubclass(kind, numbers.Integral):
        return _read_integers(part)
    if issubclass(kind, numbers.Real | np.floating) or kind is Decimal:
        return _split_reals(np.array([float(x) for x in part], dtype=np.float64))
    seen: dict[Label, int] = {}
    known: dict[Hashable, int] = {}
    codes = np.empty(len(part), dtype=np.int32)
    for i, value in enumerate(part):
        key = value if isinstance(value, str | None) else _text(value)
        if key not in known:
            known[key] = seen.setdefault(_label(value), len(seen))
        codes[i] = known[key]
    return codes, np.zeros(len(part)), tuple(seen)


def _read_integers(part: list[Any]) -> tuple[Codes, Floats, tuple[Label, ...]]:
    """Integers that a double cannot tell apart are labels."""
    try:
        exact = np.array(part, dtype=np.int64)
        small = bool((np.abs(exact) <= _EXACT_INTEGER).all())
    except OverflowError:
        small = False
    if small:
        return np.full(len(part), INTEGER, dtype=np.int32), exact.astype(np.float64), ()
    labels: dict[Label, int] = {}
    codes = np.full(len(part), INTEGER, dtype=np.int32)
    values = np.zeros(len(part))
    for i, value in enumerate(map(int, part)):
        if abs(value) <= _EXACT_INTEGER:
            values[i] = value
        else:
            codes[i] = labels.setdefault(Label("int", str(value)), len(labels))
    return codes, values, tuple(labels)


def _label(value: Any) -> Label:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        value = {True: "NaN", False: "inf" if value > 0 else "-inf"}[math.isnan(value)]
        return Label("float", value)
    return Label(type(value).__name__, _text(value))


def _text(value: Any) -> str:
    """How a value is written; without its address in memory."""
    return f"<{type(value).__name__}>" if _is_silent(type(value)) else repr(value)


def _from_trees(objects: Sequence[Any]) -> Outputs:
    """The general case: outputs with nested parts, or of different shapes, leaf by leaf."""
    leaves: list[tuple[int, Path, Any]] = []
    remarks: set[str] = set()
    for row, value in enumerate(objects):
        parts = leaves_of(value, ())
        leaves += [(row, path, leaf) for path, leaf in islice(parts, MOST_COLUMNS)]
        if next(iter(parts), None) is not None:
            remarks.add(CUT)
    remarks |= _unread({type(leaf) for _, _, leaf in leaves})
    paths = {path for _, path, _ in leaves}
    kept = sorted(paths, key=lambda path: tuple((isinstance(p, str), p) for p in path))
    at = {path: i for i, path in enumerate(kept)}
    cells, values, labels = _read_cells([leaf for _, _, leaf in leaves])
    codes = np.full((len(objects), len(kept)), ABSENT, dtype=np.int32)
    table = np.zeros((len(objects), len(kept)))
    row_of = np.array([row for row, _, _ in leaves], dtype=np.int64)
    place_of = np.array([at[path] for _, path, _ in leaves], dtype=np.int64)
    codes[row_of, place_of] = cells
    table[row_of, place_of] = values
    return _with_types(Outputs(codes, table, tuple(kept), labels, frozenset(remarks)), objects)


def leaves_of(value: Any, path: Path, leaf: type | None = None) -> Iterator[tuple[Path, Any]]:
    """The parts of an output that have no parts, each with its place.

    leaf: values of this type have no parts.
    """
    if type(value) in PLAIN and len(path) <= DEEPEST:
        yield path, value
        return
    value = _frame(value)
    if leaf is not None and isinstance(value, leaf):
        yield path, value
    elif len(path) > DEEPEST:
        yield path, f"<{type(value).__name__}>"
    elif isinstance(value, Mapping):
        names = [str(name) for name in value]
        if names != sorted(names):
            yield (*path, ORDER), ", ".join(names)
        for name, part in zip(names, value.values(), strict=True):
            yield from leaves_of(part, (*path, name), leaf)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for entry in dataclasses.fields(value):
            yield from leaves_of(getattr(value, entry.name), (*path, entry.name), leaf)
    elif isinstance(value, np.ndarray):
        yield from leaves_of(value.tolist(), path, leaf)
    elif isinstance(value, set | frozenset):
        for text in sorted(map(_text, value)):
            yield (*path, text), True
    elif isinstance(value, list | tuple | Iterator):
        for i, part in enumerate(value):
            yield from leaves_of(part, (*path, i), leaf)
    elif _is_record(type(value)) and (parts := _attributes(value)):
        for name in sorted(parts):
            yield from leaves_of(parts[name], (*path, name), leaf)
    else:
        yield path, value


def repeated(one: Outputs, size: int, columns: Mapping[Path, NDArray[Any]]) -> Outputs:
    """A single output so many times, but for these columns, of reals or of booleans."""
    codes, values = (np.asfortranarray(np.repeat(part, size, axis=0)) for part in (one.codes, one.numbers))
    labels = {label: code for code, label in enumerate(one.labels)}
    for path, column in columns.items():
        if path not in one.paths:  # beyond the most columns
            continue
        at = one.paths.index(path)
        read = _from_array(column)
        codes[:, at], values[:, at] = recode(read, labels)[:, 0], read.numbers[:, 0]
    return Outputs(codes, values, one.paths, tuple(labels), one.remarks)
