"""All that a call shows, as plain values: each field, property and form of a result, or its refusal."""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import freegap as fg
from freegap.laws import Law

__all__ = ["digest", "plain", "seen", "written_to"]

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_DOUBLE = re.compile(r"-?\d+\.\d{9,}(e[-+]?\d+)?")
_FRAME = re.compile(r"[\s─━│┃┏┓┗┛┡┩├┤┬┴┼╇╈└┘╭╮╰╯┳┻╋]+")


def seen(call: Callable[[], Any], *, forms: bool = True) -> dict[str, Any]:
    """What a caller has from it: the result with everything that can be asked of it, or the refusal."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
            told = {"result": plain(result)}
            if forms and isinstance(result, fg.Release):
                told["forms"] = _forms(result)
        except Exception as error:
            told = {"refused": _refusal(error)}
    if caught:
        told["warned"] = [f"{Path(w.filename).name}: {w.category.__name__}: {w.message}" for w in caught]
    return told


def _refusal(error: Exception) -> str:
    if not type(error).__module__.startswith("freegap"):
        return type(error).__name__  # its text is Python's, and changes with it
    cause = "" if error.__cause__ is None else f" (from {type(error.__cause__).__name__})"
    if error.__cause__ is None and error.__context__ is not None and not error.__suppress_context__:
        cause = f" (while {type(error.__context__).__name__})"
    notes = "".join(f" [{note}]" for note in getattr(error, "__notes__", ()))
    return _ADDRESS.sub("", f"{type(error).__name__}: {error}{cause}{notes}")


def digest(told: Any) -> str:
    """A short name for plain values: equal ones have equal names."""
    return hashlib.sha256(json.dumps(told, ensure_ascii=False).encode(errors="backslashreplace")).hexdigest()[
        :10
    ]


def plain(value: Any, within: tuple[type, ...] = ()) -> Any:
    """As values of JSON: rationals as text, doubles to nine digits, which no machine's logarithm changes."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _ADDRESS.sub("", value)
    if isinstance(value, float | np.floating):
        return f"{float(value):.9g}"
    if isinstance(value, Fraction | Decimal):
        return str(value)
    if isinstance(value, np.ndarray):
        return {"array": value.dtype.kind, "values": plain(value.tolist(), within)}
    if isinstance(value, range):
        return repr(value)
    if isinstance(value, Mapping):
        return {str(name): plain(part, within) for name, part in value.items()}
    if isinstance(value, Sequence | set | frozenset) and not hasattr(value, "_fields"):
        return [plain(part, within) for part in (sorted(value) if isinstance(value, set) else value)]
    if hasattr(value, "__index__"):
        return int(value)
    if isinstance(value, Law):
        return f"the law {value.name}"
    if isinstance(value, type) or callable(value):
        return f"<{getattr(value, '__name__', type(value).__name__)}>"
    if type(value).__module__.startswith("freegap"):
        return _parts(value, within)
    return _ADDRESS.sub("", repr(value))


def _parts(value: Any, within: tuple[type, ...]) -> Any:
    """An object of freegap: its fields and properties; within another of its kind the fields alone."""
    inner = (*within, type(value))
    names = [field.name for field in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else []
    names += list(getattr(value, "_fields", ()))
    for kind in reversed(type(value).__mro__) if type(value) not in within else ():
        of_kind = vars(kind).items()
        names += [n for n, part in of_kind if isinstance(part, property | cached_property) and n[0] != "_"]
    told: dict[str, Any] = {"": type(value).__name__}
    for name in dict.fromkeys(names):
        try:
            told[name] = plain(getattr(value, name), inner)
        except Exception as error:
            told[name] = f"raises {_refusal(error)}"
    return told


def _forms(release: fg.Release) -> dict[str, Any]:
    """All that a release can be written as."""
    from rich.console import Console

    terminal = Console(width=100, file=io.StringIO(), color_system=None, legacy_windows=False)
    with terminal.capture() as written:
        terminal.print(release)
    arrow, frame, polars = release.to_arrow(), release.to_pandas(), release.to_polars()
    kept = fg.Release.from_json(release.to_json())
    return {
        "text": str(release),
        "html": release._repr_html_(),
        "terminal": _FRAME.sub(" ", written.get()),
        "dict": plain(release.to_dict()),
        "json": digest(_rounded(release.to_json(indent=1))),
        "rows": [list(row._fields) + plain(list(row)) for row in release.rows()[:5]],
        "exact rows": [plain(list(row)) for row in release.rows(exact=True)[:5]],
        "length": [len(release), len(list(release))],
        "csv": _rounded(str(release.to_csv(formulas=True))),
        "exact csv": _rounded(str(release.to_csv(exact=True))),
        "arrow": [f"{field.name}: {field.type}" for field in arrow.schema] + [arrow.num_rows],
        "exact arrow": [str(field.type) for field in release.to_arrow(exact=True).schema],
        "pandas": [f"{name}: {'text' if kind == 'str' else kind}" for name, kind in frame.dtypes.items()],
        "polars": [f"{name}: {kind}" for name, kind in polars.schema.items()],
        "exact polars": [str(kind) for kind in release.to_polars(exact=True).dtypes],
        "read again": [str(kept) == str(release), kept.to_dict() == json.loads(release.to_json())],
        "hash": hash(release) == hash(release) if not isinstance(release, _UNHASHABLE) else None,
    }


_UNHASHABLE = (fg.TopKBatch, fg.AboveBatch)


def _rounded(text: str) -> str:
    """A text with its long doubles to nine digits."""
    return _DOUBLE.sub(lambda double: f"{float(double[0]):.9g}", text)


def written_to(folder: Path, release: fg.Release) -> dict[str, Any]:
    """What is in the files that a release writes."""
    import openpyxl
    import pyarrow.parquet as pq

    release.to_csv(folder / "a.csv", formulas=True)
    release.to_parquet(folder / "a.parquet", exact=True)
    release.to_excel(folder / "a.xlsx")
    sheet = openpyxl.load_workbook(folder / "a.xlsx")["release"]
    return {
        "csv": _rounded((folder / "a.csv").read_bytes().decode()),
        "parquet": plain(pq.read_table(folder / "a.parquet").to_pydict()),
        "excel": [plain(list(row)) for row in sheet.iter_rows(values_only=True)],
    }
