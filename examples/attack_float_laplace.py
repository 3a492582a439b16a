"""Attack (c): the textbook Laplace mechanism in floating point gives the answer away in its last bits.

Mironov (2012). The textbook computes answer ± b·ln(u) in doubles, u a multiple of 2^−53. Only some doubles
can come out of that for a given answer, and they are other ones for another answer. So every released
number rules out a part of all candidate answers, for certain; after a few of them one is left, and it is
the truth. What is private about the noise is its distribution, and the rounding destroys that.

An exact mechanism releases a multiple of a public grid, and *every* multiple can come from every answer.
Nothing is ruled out; what is left to the attacker is to guess the likeliest, and ε says how far that goes.

    python examples/attack_float_laplace.py
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from statistics import median

import freegap as fg

CANDIDATES = range(100)
RELEASES = 60
EPSILON = Fraction(1, 100)  # for each release; 0.6 for all of them together
SCALE = 1 / EPSILON
GRID = Fraction(1, 1024)
_NEAR = 8  # how many neighbouring values of u are tried, to allow for the error of exp

Release = Callable[[int, fg.BitSource], float]


@dataclass(frozen=True)
class Outcome:
    """How often the answer was recovered, and how many candidates were left on average."""

    recovered: float
    left: float


def textbook_laplace(answer: int, source: fg.BitSource) -> float:
    """WRONG: the inverse distribution function in doubles, as it stands in many books."""
    sign = 1 if source.bits(1) else -1
    return _textbook(answer, sign, source.bits(53) + 1)


def _textbook(answer: int, sign: int, k: int) -> float:
    return answer + sign * (float(SCALE) * -math.log(k / 2**53))


def exact_laplace(answer: int, source: fg.BitSource) -> float:
    """Ours: exact Laplace noise, the sum rounded to the grid; exact in a double as well."""
    return float(fg.measure([answer], epsilon=EPSILON, resolution=GRID, bits=source).values[0])


def possible_from_textbook(answer: int, released: float) -> bool:
    """Whether the textbook program can put out this double for this answer. True for the true one."""
    for sign in (1, -1):
        size = sign * (released - answer) / float(SCALE)
        if size < -1e-9:
            continue
        nearest = round(math.exp(-max(size, 0.0)) * 2**53)
        for k in range(max(1, nearest - _NEAR), min(2**53, nearest + _NEAR) + 1):
            if _textbook(answer, sign, k) == released:
                return True
    return False


def possible_from_exact(answer: int, released: float) -> bool:
    """Whether the exact program can put out this double: any multiple of the grid, for any answer."""
    return (Fraction(released) / GRID).denominator == 1


def attack(release: Release, possible: Callable[[int, float], bool], *, trials: int, seed: int) -> Outcome:
    """Release a secret answer some times, drop the impossible candidates, guess the likeliest of the rest."""
    recovered = left = 0
    for trial in range(trials):
        source = fg.SeededBits(f"{seed}/{trial}")
        secret = source.bits(32) % len(CANDIDATES)
        numbers = [release(secret, source) for _ in range(RELEASES)]
        candidates = [c for c in CANDIDATES if all(possible(c, number) for number in numbers)]
        middle = median(numbers)  # maximises the likelihood of Laplace noise
        recovered += min(candidates, key=lambda c: abs(c - middle)) == secret
        left += len(candidates)
    return Outcome(recovered / trials, left / trials)


def run(*, trials: int = 40, seed: int = 1) -> tuple[Outcome, Outcome]:
    """Attack the textbook program and the exact one."""
    return (
        attack(textbook_laplace, possible_from_textbook, trials=trials, seed=seed),
        attack(exact_laplace, possible_from_exact, trials=trials, seed=seed),
    )


def main(trials: int = 40) -> tuple[Outcome, Outcome]:
    """Print what the attacker recovered."""
    textbook, exact = run(trials=trials)
    print(
        f"A secret answer among {len(CANDIDATES)}, released {RELEASES} times with ε = {float(EPSILON)} each."
    )
    for name, outcome in (("Textbook Laplace in doubles", textbook), ("freegap.measure", exact)):
        print(
            f"{name}: {outcome.left:.1f} candidates left on average, "
            f"the answer recovered in {outcome.recovered:.1%} of the runs."
        )
    return textbook, exact


if __name__ == "__main__":
    main()
