"""Which answers are neighbours: what one person can do to them. One vocabulary for audit and prove.

| neighbours | from one database to its neighbour |
|---|---|
| "each" | every answer may move, by at most the sensitivity, up or down |
| "monotonic" | as "each", but all answers move the same way: none rises, or none falls |
| "one" | as "each", but a single answer moves |
| "increasing", "decreasing" | one half of "monotonic", for one direction of a proof |

"each" contains "monotonic" and "one". What a mechanism is told by `monotonic=True` is a statement about the
answers, that their neighbours are "monotonic" and not "each"; it then needs half the noise.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from freegap.errors import InvalidArgument

Neighbours = Literal["each", "monotonic", "one"]
Direction = Literal["increasing", "decreasing"]

DIRECTIONS = {
    "increasing": "all answers move up, each by at most the sensitivity",
    "decreasing": "all answers move down, each by at most the sensitivity",
}
NEIGHBOURS = {
    "each": "each answer moves by at most the sensitivity",
    "monotonic": "all answers move the same way, each by at most the sensitivity",
    "one": "one answer moves, by at most the sensitivity",
}


def neighbours_argument(value: object, known: Iterable[str] = NEIGHBOURS) -> str:
    """One of these words, or an error that lists them.

    >>> neighbours_argument("one")
    'one'
    >>> neighbours_argument("all")
    Traceback (most recent call last):
        ...
    freegap.errors.InvalidArgument: neighbours = 'all': must say how neighbouring answers may differ. \
Pass one of "each", "monotonic", "one".
    """
    words = list(known)
    # Not a subclass, which could be equal to one word here, and to another later.
    if type(value) is not str or value not in words:
        listed = ", ".join(f'"{word}"' for word in words)
        raise InvalidArgument(
            "neighbours", value, "must say how neighbouring answers may differ", f"Pass one of {listed}."
        )
    return value


def directions_of(neighbours: str) -> tuple[str, ...]:
    """What to go through one by one: the two directions of "monotonic", or the word itself."""
    return tuple(DIRECTIONS) if neighbours == "monotonic" else (neighbours,)
