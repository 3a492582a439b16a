"""Attack (b): a noisy maximum with clamped noise that breaks ties by index gives people away; ours does not.

In exact real arithmetic two noisy answers are never equal, and the proof of noisy max relies on that. With
clamped noise in a clamped range ties are common, and an attacker can make them certain (Ilvento 2020,
section 7, "The trouble with ties"). The broken program adds discrete Laplace noise within [−N, N], keeps the
sum within [0, M] and returns the first of the largest. The attacker's questions sit at the edge:

    items 0 … 199     answer M − N with Alice, M − N − 1 without: only with her can they reach M, and tie
    items 200 … 219   answer M: practically always one of them reaches M

A tie at M goes to the lowest index. So an index below 200 means that Alice is in the data.

    python examples/attack_tie_breaking.py
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import freegap as fg
from freegap import base2

LARGEST = 1000  # M
NOISE = 40  # N
DECOYS = 200
ANCHORS = 20
ETA = base2.Eta(15, 4, 2)  # noisy max with answers of sensitivity 1 uses half of it for each noise
EPSILON = ETA.epsilon


@dataclass(frozen=True)
class Outcome:
    """How often the attacker was right about Alice, and the most that ε allows."""

    broken: float
    ours: float
    allowed: float


def noisy_max_with_ties(answers: list[int], source: fg.BitSource) -> int:
    """WRONG: clamped noise, clamped sums, and the first of the largest."""
    noisy = []
    for answer in answers:
        noise = base2.clamped_laplace(ETA.divided(2), -NOISE, NOISE, bits=source)
        noisy.append(max(Fraction(0), min(Fraction(LARGEST), answer + noise)))
    return noisy.index(max(noisy))  # the wrong line: a tie is broken by index


def our_noisy_max(answers: list[int], source: fg.BitSource) -> int:
    """The same questions, asked of freegap: ties have probability zero."""
    return fg.noisy_max(answers, epsilon=EPSILON, bits=source).indices[0]


def answers(alice: bool) -> list[int]:
    """The attacker's questions; adding Alice changes each answer by at most 1."""
    return [LARGEST - NOISE - (not alice)] * DECOYS + [LARGEST] * ANCHORS


def success_rate(mechanism: Callable[[list[int], fg.BitSource], int], *, trials: int, seed: int) -> float:
    """How often "Alice is in the data if a decoy was returned" is right."""
    right = 0
    for trial in range(trials):
        for alice in (False, True):
            winner = mechanism(answers(alice), fg.SeededBits(f"{seed}/{trial}/{alice}"))
            right += (winner < DECOYS) == alice
    return right / (2 * trials)


def run(*, trials: int = 150, seed: int = 1) -> Outcome:
    """Attack both programs."""
    return Outcome(
        broken=success_rate(noisy_max_with_ties, trials=trials, seed=seed),
        ours=success_rate(our_noisy_max, trials=trials, seed=seed),
        allowed=1 / (1 + math.exp(-EPSILON)),
    )


def main(trials: int = 150) -> Outcome:
    """Print what the attacker recovered."""
    outcome = run(trials=trials)
    print(
        f"Claimed by both: ε = {float(EPSILON):.3f}; at most {outcome.allowed:.1%} of guesses may be right."
    )
    print(f"Clamped noise, ties by index: Alice recovered in {outcome.broken:.1%} of the runs.")
    print(f"freegap.noisy_max, same questions: {outcome.ours:.1%}.")
    return outcome


if __name__ == "__main__":
    main()
