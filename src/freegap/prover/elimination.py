"""Linear equations over the rationals."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Row = list[Fraction]


def reduced(rows: Sequence[Sequence[Fraction]], width: int) -> tuple[list[Row], list[Row]]:
    """The rows in reduced form by their first `width` columns, and those that have none of these left.

    >>> done, left = reduced([[Fraction(2), Fraction(4)], [Fraction(1), Fraction(3)]], 1)
    >>> [list(map(str, row)) for row in done], [list(map(str, row)) for row in left]
    ([['1', '2']], [['0', '1']])
    """
    left = [list(row) for row in rows]
    done: list[Row] = []
    for column in range(width):
        pivot = next((row for row in left if row[column]), None)
        if pivot is None:
            continue
        left.remove(pivot)
        pivot = [value / pivot[column] for value in pivot]
        for others in (left, done):
            for i, row in enumerate(others):
                others[i] = [a - row[column] * b for a, b in zip(row, pivot, strict=True)]
        done.append(pivot)
    return done, left
