"""What was answered to every question, and the file that keeps a digest of each answer and a few words."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.recorded.tables import (
    conditions,
    dry_runs,
    edges,
    engines,
    limits,
    numbers_of_people,
    selection,
    watches,
)
from tests.recorded.tables.told import Answer, answer
from tests.recorded.tables.variations import Question

__all__ = ["FILE", "QUESTIONS", "kept", "read", "written"]

FILE = Path(__file__).with_name("answers.txt")
_MODULES = (selection, numbers_of_people, dry_runs, engines, conditions, watches, edges, limits)


def _grouped() -> dict[str, dict[str, Question]]:
    """The questions by the part of their names before the colon, which are asked one after the other."""
    grouped: dict[str, dict[str, Question]] = {}
    for module in _MODULES:
        for name, question in module.questions().items():
            group, _, rest = name.partition(": ")
            of_group = grouped.setdefault(group, {})
            if rest in of_group or "\n" in name:
                raise AssertionError(f"{name!r} is no name of its own")
            of_group[rest] = question
    return grouped


QUESTIONS = _grouped()


def kept(found: Answer) -> str:
    """What is kept of an answer."""
    digest = hashlib.sha256(
        json.dumps(found, ensure_ascii=False).encode("utf-8", "surrogatepass")
    ).hexdigest()[:10]
    return f"{digest} {_briefly(found)[:36]}".strip()


def _briefly(found: Answer) -> str:
    if "refused" in found:
        return "refused: " + str(found["refused"]).partition(": ")[2].split(" ")[0].strip(":")
    made = found["answer"]
    if not isinstance(made, dict):
        return ""
    told: Iterable[Any] = made.get("labels") or made.get("values") or made.get("people") or ()
    return " ".join(str(one) for one in told) if isinstance(told, list) else ""


def written(place: Path) -> str:
    """All answers as they are now; place: a folder with the files that are asked about."""
    lines = []
    for group, questions in QUESTIONS.items():
        lines.append(f"# {group}")
        lines += [f"{kept(answer(ask, place))}\t{name}" for name, ask in questions.items()]
    return "".join(line + "\n" for line in lines)


def read() -> dict[str, dict[str, str]]:
    """What was kept, by group and question."""
    found: dict[str, dict[str, str]] = {}
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            of_group = found.setdefault(line[2:], {})
        else:
            said, _, name = line.partition("\t")
            of_group[name] = said
    return found
