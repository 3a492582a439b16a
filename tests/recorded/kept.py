"""The files of what calls show, and how they are read and written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.recorded import library_calls, mechanism_calls
from tests.recorded.seen import digest, seen

__all__ = ["LIBRARY", "MECHANISMS", "library", "mechanism", "read", "record"]

MECHANISMS = Path(__file__).with_name("mechanisms.json")
LIBRARY = Path(__file__).with_name("library.json")
_WITH_FORMS = {"", "answers", "utilities", "table", "populations", "counts", "size", "gap", "rho"}
"""The parameters whose values change what a release looks like: then all its forms are kept too."""

Kept = dict[str, dict[str, Any]]


def mechanism(name: str, parameter: str) -> tuple[dict[str, Any], dict[str, str]]:
    """What the calls of a mechanism show that change this parameter; and the refusals among them."""
    told: dict[str, Any] = {}
    refusals: dict[str, str] = {}
    for changed, number, call in mechanism_calls.calls(name):
        if changed == parameter:
            outcome = seen(call, forms=changed in _WITH_FORMS)
            told.setdefault(str(number), []).append(_noted(outcome, refusals))
            if not changed:
                told[f"{number} in full"] = outcome.get("forms", outcome).get("text", outcome.get("result"))
    return told, refusals


def library(name: str) -> tuple[list[str], dict[str, str]]:
    """What some calls of the library show, in order; and the refusals among them."""
    refusals: dict[str, str] = {}
    return [_noted(seen(call), refusals) for call in library_calls.CALLS[name]()], refusals


def _noted(outcome: dict[str, Any], refusals: dict[str, str]) -> str:
    warned = f" ~ warned {digest(outcome['warned'])}" if "warned" in outcome else ""
    if "refused" in outcome:
        refusals[digest(outcome["refused"])] = outcome["refused"][:400]
        return f"!{digest(outcome['refused'])}{warned}"
    text = json.dumps(outcome["result"], ensure_ascii=False)
    forms = f" ~ {digest(outcome['forms'])}" if "forms" in outcome else ""
    return (text if len(text) <= 40 else digest(outcome["result"])) + forms + warned


def read(file: Path) -> Kept:
    """What was recorded: the outcomes by call, and each refusal once."""
    kept: Kept = json.loads(file.read_text(encoding="utf-8"))
    return kept


def record() -> Iterator[str]:
    """Write both files anew."""
    refusals: dict[str, str] = {}
    calls: dict[str, Any] = {}
    for name in mechanism_calls.MECHANISMS:
        for parameter in ("", *mechanism_calls.parameters(name)):
            calls[f"{name}, {parameter}"], said = mechanism(name, parameter)
            refusals |= said
    yield _write(MECHANISMS, calls, refusals)
    refusals, calls = {}, {}
    for name in library_calls.CALLS:
        calls[name], said = library(name)
        refusals |= said
    yield _write(LIBRARY, calls, refusals)


def _write(file: Path, calls: dict[str, Any], refusals: dict[str, str]) -> str:
    """One line for each call, and one for each refusal."""
    parts = {"calls": calls, "refusals": dict(sorted(refusals.items(), key=lambda part: part[1]))}
    lines = [
        json.dumps(name)
        + ": {\n"
        + ",\n".join(
            f"{json.dumps(key, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}"
            for key, value in part.items()
        )
        + "\n}"
        for name, part in parts.items()
    ]
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8", errors="backslashreplace")
    return f"{file.name}: {len(calls)} lines of calls, {len(refusals)} refusals"
