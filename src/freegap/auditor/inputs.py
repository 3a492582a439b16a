"""Neighbouring inputs to try (Ding 2020 table 4-1): short patterns of which one can trace the code by hand.

Seven categories, several lengths, all kinds of neighbours, scaled by the sensitivity and shifted to
several magnitudes; or the user's own pairs, a generator of pairs, or a hypothesis strategy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from freegap.auditor.mechanism import Parameters
from freegap.auditor.whole_inputs import Relation, WholeInput, related
from freegap.errors import InvalidArgument, MissingExtra

LENGTHS = (1, 2, 3, 5, 10)
SHIFTS = (0, 100, -4, 1000, 0.5)
FAR_LENGTHS = frozenset({1, 5})
LONG = 50
MOST_OWN = 200
GIVEN = "given"


@dataclass(frozen=True)
class Pair:
    """Two neighbouring inputs, and the pattern they come from."""

    first: tuple[float, ...]
    second: tuple[float, ...]
    category: str
    far: bool = False
    """Shifted away from the magnitude of table 4-1: tried, but not with every argument."""

    @property
    def given(self) -> bool:
        """Whether the user gave it. Only such pairs are tried then: others may not be possible inputs."""
        return self.category == GIVEN

    @property
    def whole(self) -> bool:
        """Whether the inputs are something else than lists of answers."""
        return isinstance(self.first, WholeInput)

    @property
    def unusual(self) -> bool:
        """Whether a mechanism may well not take it, and need not: where it fails, it is left out."""
        answers = (*self.first, *self.second)
        plain = all(float(x).is_integer() and abs(x) < max(SHIFTS) for x in answers)
        return self.far and not (plain and len(self.first) < LONG)

    def shifted(self, by: float) -> Pair:
        """Both inputs, every answer moved by the same amount."""
        moved = [tuple(x + by for x in side) for side in (self.first, self.second)]
        return Pair(moved[0], moved[1], self.category, far=by != 0)

    def stretched(self, times: int) -> Pair:
        """The two inputs this many times as far apart, around the same middle; an odd number.

        >>> Pair((1, 1), (2, 0), "one up one down").stretched(3)
        Pair(first=(0, 2), second=(3, -1), category='one up one down', far=False)
        """
        steps = (times - 1) // 2
        both = list(zip(self.first, self.second, strict=True))
        first, second = (
            tuple(x + side * steps * (b - a) for x, (a, b) in zip(end, both, strict=True))
            for side, end in ((-1, self.first), (1, self.second))
        )
        return replace(self, first=first, second=second)

    @property
    def size(self) -> float:
        """How much there is to read: short inputs with small whole numbers first."""
        if isinstance(self.first, WholeInput) and isinstance(self.second, WholeInput):
            return float(len(self.first.written) + len(self.second.written))
        values = (*self.first, *self.second)
        digits = sum(abs(x) + (0 if x == int(x) else 2) for x in values)
        return 100 * len(self.first) + digits


@dataclass(frozen=True)
class SearchCandidate:
    """A pair of inputs and parameters to try."""

    pair: Pair
    parameters: Parameters


def table_pairs(neighbours: str, *, lengths: Iterable[int] = LENGTHS, sensitivity: float = 1) -> list[Pair]:
    """The pairs of table 4-1 for these neighbours, without repetitions.

    >>> [pair.second for pair in table_pairs("one", lengths=[2])][:2]
    [(2, 1), (0, 1)]
    """
    fitting = _FITTING.get(neighbours)
    found: dict[tuple[tuple[float, ...], tuple[float, ...]], Pair] = {}
    for shift in SHIFTS:
        for length in lengths if shift == 0 else FAR_LENGTHS.intersection(lengths):
            # every pattern at the paper's magnitude; the plainest ones at the others
            patterns = _patterns(length, sensitivity)
            for category in patterns if shift == 0 else ("one above", "all above"):
                if fitting is not None and category not in fitting:
                    continue
                pair = patterns[category].shifted(shift)
                mirrored = (pair.second, pair.first)
                if (pair.first, pair.second) not in found and mirrored not in found:
                    found[pair.first, pair.second] = pair
    if tuple(lengths) == LENGTHS:  # and long ones: some mechanisms do otherwise with many answers
        for category in ("one above", "all above"):
            long = replace(_patterns(LONG, sensitivity)[category], far=True)
            if fitting is None or category in fitting:
                found[long.first, long.second] = long
    return list(found.values())


_SINGLE = ("one above", "one below", "last above")
_FITTING = {"one": _SINGLE, "monotonic": (*_SINGLE, "all above", "all below")}


def _patterns(n: int, d: float) -> dict[str, Pair]:
    """Table 4-1 for n answers of sensitivity d (footnote 4), and three about the last ones."""
    ones = (1,) * n
    up, down, half = 1 + d, 1 - d, n - n // 2
    shapes = {
        "one above": (ones, (up, *ones[1:])),
        "one below": (ones, (down, *ones[1:])),
        "one above rest below": (ones, (up, *(down,) * (n - 1))),
        "one below rest above": (ones, (down, *(up,) * (n - 1))),
        "half half": (ones, (*(down,) * half, *(up,) * (n // 2))),
        "all above": (ones, (up,) * n),
        "all below": (ones, (down,) * n),
        "x shape": ((*(d,) * (n // 2), *(0,) * half), (*(0,) * (n // 2), *(d,) * half)),
        "last above": (ones, (*ones[1:], up)),
        "last above rest below": (ones, (*(down,) * (n - 1), up)),
        "last two above rest below": (ones, (*(down,) * max(0, n - 2), *(up,) * min(2, n))),
    }
    return {name: Pair(first, second, name) for name, (first, second) in shapes.items()}


def set_apart(pair: Pair, by: float) -> list[Pair]:
    """The pair with the answers that rise, or those that fall, moved away from the others."""
    found = []
    for sign in (1, -1):
        moves = [by if (b - a) * sign > 0 else 0 for a, b in zip(pair.first, pair.second, strict=True)]
        if any(moves) and not all(moves):
            for away in (1, -1):
                first = tuple(a + away * m for a, m in zip(pair.first, moves, strict=True))
                second = tuple(b + away * m for b, m in zip(pair.second, moves, strict=True))
                found.append(replace(pair, first=first, second=second))
    return found


def own_pairs(given: Any, *, neighbours: str | Relation, sensitivity: float, seed: int) -> list[Pair]:
    """The user's pairs, checked: from a list, a generator, a function of an rng, or a hypothesis strategy.

    neighbours: a kind of neighbours of lists of answers, or a relation; then inputs may be anything.

    >>> own_pairs([([1, 2], [1, 3])], neighbours="one", sensitivity=1, seed=0)[0].second
    (1, 3)
    """
    if hasattr(given, "example") and hasattr(given, "map"):
        found: Iterable[Any] = _from_strategy(given, seed)
    elif callable(given):
        found = _from_function(given, seed)
    elif isinstance(given, Iterable):
        found = islice(given, MOST_OWN)
    else:
        raise InvalidArgument(
            "inputs", given, "must be pairs of neighbouring inputs", "Pass a list such as [([1, 2], [1, 3])]."
        )
    pairs = [_checked(pair, neighbours, sensitivity) for pair in found]
    if not pairs:
        raise InvalidArgument("inputs", given, "has no pairs", "Pass at least one pair of inputs.")
    return list(dict.fromkeys(pairs))


def _from_function(function: Callable[[np.random.Generator], Any], seed: int) -> Iterable[Any]:
    rng = np.random.default_rng(seed)
    return (function(rng) for _ in range(50))


def _from_strategy(strategy: Any, seed: int) -> list[Any]:
    try:
        import hypothesis
    except ImportError as missing:
        raise MissingExtra("hypothesis", "audit") from missing
    found: list[Any] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=50,
        database=None,
        deadline=None,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(strategy)
    def collect(pair: Any) -> None:
        found.append(pair)

    collect()
    return found


def _checked(pair: Any, neighbours: str | Relation, sensitivity: float) -> Pair:
    if not isinstance(neighbours, str):
        return Pair(*related(pair, neighbours), GIVEN)
    try:
        first, second = pair
        one, two = _numbers(first), _numbers(second)
    except (TypeError, ValueError):
        raise InvalidArgument(
            "inputs",
            pair,
            "is not a pair of lists of finite numbers",
            "Pass pairs such as ([1, 2], [1, 3]); for other inputs, neighbours=function(one, other).",
        ) from None
    if len(one) != len(two):
        raise InvalidArgument(
            "inputs", pair, "has two inputs of different lengths", "Answer the same questions on both."
        )
    changed = [b - a for a, b in zip(one, two, strict=True) if a != b]
    if any(abs(change) > sensitivity * (1 + 1e-12) for change in changed):
        raise InvalidArgument(
            "inputs",
            pair,
            f"has an answer that changes by more than {sensitivity}",
            "Pass the sensitivity that these inputs have.",
        )
    if neighbours == "one" and len(changed) > 1:
        raise InvalidArgument(
            "inputs", pair, "has more than one answer that changes", 'Pass neighbours="each".'
        )
    if neighbours == "monotonic" and changed and min(changed) < 0 < max(changed):
        raise InvalidArgument(
            "inputs", pair, "has an answer that rises and one that falls", 'Pass neighbours="each".'
        )
    return Pair(one, two, GIVEN)


def _numbers(values: Sequence[Any]) -> tuple[float, ...]:
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    if not all(math.isfinite(value) for value in plain):
        raise ValueError
    return tuple(plain)


def pairs_around(
    answers: Sequence[float], neighbour: Sequence[float], sensitivity: float, neighbours: str
) -> list[tuple[list[float], list[float]]]:
    """Inputs to audit where a proof failed: the point itself, and its answers moved as far as may be.

    A refutation is a corner of an argument, not of the mechanism: its two inputs may even be equal.

    >>> pairs_around([0.0, 0.0], [0.0, 0.0], 1.0, "increasing")
    [([0.0, 0.0], [0.0, 0.0]), ([0.0, 0.0], [1.0, 1.0])]
    """
    n = len(answers)
    ups = [[1.0] * n]
    mixed = [[1.0 if i == 0 else -1.0 for i in range(n)], [1.0 if i % 2 else -1.0 for i in range(n)]]
    single = [[float(i == j) for j in range(n)] for i in range(n)]
    signs = {"increasing": ups, "decreasing": ups, "monotonic": ups, "one": single}.get(
        neighbours, ups + mixed
    )
    both = (1.0,) if neighbours == "increasing" else (-1.0,) if neighbours == "decreasing" else (1.0, -1.0)
    moved = [
        [a + side * sign * sensitivity for a, sign in zip(answers, pattern, strict=True)]
        for pattern in signs
        for side in both
    ]
    return [(list(answers), list(other)) for other in (neighbour, *moved)]
