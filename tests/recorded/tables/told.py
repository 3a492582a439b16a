"""What became of a question: the release as it is shown, and what the ledger was told; or a refusal."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import freegap as fg

__all__ = ["Answer", "Journal", "answer"]

Answer = dict[str, Any]


class Journal:
    """A ledger that writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def require(self, dataset: str, **amounts: Any) -> None:
        self.told.append(["asked whether", dataset, _plain(amounts)])

    def charge(self, dataset: str, release: Callable[[], Any], **said: Any) -> Any:
        self.told.append(["reserved", dataset, _plain(said)])
        made = release()
        self.told.append(["spent", str(made.spent)])
        return made


def answer(ask: Callable[[Path, Journal], Any], place: Path) -> Answer:
    """All that a question brings about. place: a folder with files, whose own name is left out."""
    journal = Journal()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            made: Any = {"answer": _told(ask(place, journal))}
        except fg.FreegapError as error:
            made = {"refused": f"{type(error).__name__}: {error}"}
    slips = [str(one.message) for one in warned if issubclass(one.category, fg.SpellingWarning)]
    whole = made | {"ledger": journal.told} | ({"warned": slips} if slips else {})
    text = json.dumps(whole, ensure_ascii=False).replace(str(place), "<here>")
    found: Answer = json.loads(text)
    return found


def _told(made: Any) -> Any:
    if isinstance(made, fg.Release):
        whole = made.to_dict()
        table = whole.pop("table")
        columns = [{k: v for k, v in column.items() if k != "values"} for column in table["columns"]]
        by_group = getattr(made, "by_group", None)
        sizes = None if by_group is None else [[str(group), len(rows)] for group, rows in by_group.items()]
        return {"shown": str(made).splitlines(), "by_group": sizes, **_plain(whole | {"columns": columns})}
    return _plain(made)


def _plain(value: Any) -> Any:
    """Doubles to nine digits, which no machine's logarithm changes."""
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return f"{value:.9g}"
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Fraction):
        return str(value)
    return f"<{type(value).__name__}> {value}"
