"""Each function in each of its ways, and from each of these one argument at a time changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import freegap as fg
from tests.recorded.tables.rows import arrow
from tests.recorded.tables.told import Journal

__all__ = ["Question", "Way", "asked", "other_bits", "questions_of"]

Question = Callable[[Path, Journal], Any]
Way = dict[str, Any]
"""The arguments of a call."""

SEED = 7


def asked(function: Callable[..., Any], way: Way, table: Any = None) -> Question:
    """The call with these arguments; paths in them, written as `<here>/…`, lead to files."""

    def ask(place: Path, journal: Journal) -> Any:
        given = {name: _placed(value, place) for name, value in way.items()}
        source = _placed(arrow() if table is None else table, place)
        given.setdefault("bits", fg.SeededBits(SEED))
        given.setdefault("ledger", (journal, "ward"))
        return function(source() if callable(source) else source, **given)

    return ask


def other_bits(_: Path) -> fg.SeededBits:
    """A source of its own for each question: one that was read before would go on where that ended."""
    return fg.SeededBits(SEED + 1)


def _placed(value: Any, place: Path) -> Any:
    if isinstance(value, str) and value.startswith("<here>"):
        return value.replace("<here>", str(place))
    return value(place) if isinstance(value, partial) else value


def questions_of(
    name: str,
    function: Callable[..., Any],
    ways: dict[str, Way],
    changes: dict[str, list[Any]],
    ask: Callable[[Callable[..., Any], Way], Question] = asked,
    *,
    most: int = 3,
) -> Iterator[tuple[str, Question]]:
    """Every way, and every way with every change; a change that is a dict is of several arguments.

    most: so many changes of each argument, of the first way all.
    """
    for number, (called, way) in enumerate(ways.items()):
        yield f"{name}, {called}: as it is", ask(function, way)
        for argument, values in changes.items():
            for value in values[: most if number else None]:
                more = value if isinstance(value, dict) and argument in value else {argument: value}
                if all(argument in way and way[argument] == given for argument, given in more.items()):
                    continue
                said = ", ".join(f"{one}={_shown(given)}" for one, given in more.items())
                yield f"{name}, {called}: {said}", ask(function, way | more)


def _shown(value: Any) -> str:
    if isinstance(value, partial):
        return value.func.__name__
    if hasattr(value, "schema") or hasattr(value, "columns"):
        return f"<{type(value).__module__.split('.')[0]}>"
    return repr(value)
