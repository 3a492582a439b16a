"""Exact probabilities of a program's outputs, by going through every choice that it draws.

A `Path` is what a program draws from: `index` as in `freegap.base2.draws.Draws`, with the exact
probabilities of all outcomes, and `bits` as in a source of bits. `distribution` runs the program once
for each sequence of choices, and returns the probability of each output as a rational. So what is
enumerated is the text that releases, and the comparison with a closed form is an equality.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from fractions import Fraction
from itertools import pairwise


class Path:
    """One sequence of choices: those of the script, then the first possible one each time."""

    private = False

    def __init__(self, script: tuple[int, ...]) -> None:
        self._script = script
        self._taken: tuple[int, ...] = ()
        self.probability = Fraction(1)
        self.others: list[tuple[int, ...]] = []

    def index(self, cumulative: Callable[[int], int], count: int) -> int:
        values = [0, *map(cumulative, range(count))]
        assert all(a <= b for a, b in pairwise(values))
        return self.choose([Fraction(values[i + 1] - values[i], values[-1]) for i in range(count)])

    def bits(self, n: int) -> int:
        return self.choose([Fraction(1, 1 << n)] * (1 << n))

    def choose(self, probabilities: list[Fraction]) -> int:
        if len(self._taken) < len(self._script):
            choice = self._script[len(self._taken)]
        else:
            choice, *others = (i for i, p in enumerate(probabilities) if p)
            self.others += [(*self._taken, other) for other in others]
        self._taken = (*self._taken, choice)
        self.probability *= probabilities[choice]
        return choice


def distribution(program: Callable[[Path], Hashable]) -> dict[Hashable, Fraction]:
    """The probability of every output of the program."""
    law: dict[Hashable, Fraction] = defaultdict(Fraction)
    scripts: list[tuple[int, ...]] = [()]
    while scripts:
        path = Path(scripts.pop())
        law[program(path)] += path.probability
        scripts += path.others
    assert sum(law.values()) == 1
    return dict(law)


def largest_ratio(law: dict[Hashable, Fraction], other: dict[Hashable, Fraction]) -> Fraction | None:
    """The largest P(output)/P'(output); None where it is infinite."""
    if any(p and not other.get(output) for output, p in law.items()):
        return None
    return max(p / other[output] for output, p in law.items() if p)
