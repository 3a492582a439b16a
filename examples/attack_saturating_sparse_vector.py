"""Attack (a): a sparse vector in saturating arithmetic tells who is in the data; ours does not.

The broken program keeps every number within [−M, M], as fixed-point arithmetic does: the noisy threshold
T + ρ has a largest value M, noise has a largest value N, and each is cut off on its own (Ilvento 2020,
section 2, "Sparse Vector and Randomness Alignment"). The proof of the sparse vector needs ρ + Δ on the
neighbour for every ρ; at the largest value there is none. An attacker sends a threshold far above M, so that
the noisy threshold is M *whatever ρ was*, and asks one question many times whose answer is

    M − N − 1   without Alice: even the largest noise does not reach M, never ⊤
    M − N       with Alice: each question is ⊤ with probability P(ν ≥ N), sooner or later one is

Ours clamps the *difference* of threshold and answer (`freegap.base2`, Ilvento 2020, algorithm 2).

    python examples/attack_saturating_sparse_vector.py
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
QUESTIONS = 250
ETA = (base2.Eta(15, 4, 1), base2.Eta(15, 4, 2))  # both noises fall by 15/16 a step; η₁ + η₂ = 0.28
BASE = ETA[0].base  # of both noises: η₁ for the threshold, η₂/2 for the answers
WITHOUT, WITH = LARGEST - NOISE - 1, LARGEST - NOISE
WIDTH = 200
IN_RANGE = WITH + 80  # where about half of our runs have a ⊤ among their questions

Mechanism = Callable[[list[int], int, fg.BitSource], list[bool]]


@dataclass(frozen=True)
class Outcome:
    """How often the attacker was right about Alice, and the most that η₁ + η₂ allows."""

    broken: float
    ours: float
    ours_in_range: float
    allowed: float


def saturating_sparse_vector(answers: list[int], threshold: int, source: fg.BitSource) -> list[bool]:
    """WRONG: threshold and answers are cut off each on its own. Otherwise Ilvento 2020's algorithm 2 with k
    = 1."""
    rho = base2.clamped_laplace(ETA[0], -LARGEST, LARGEST, bits=source)
    noisy_threshold = _saturate(threshold + rho)  # the wrong line: a largest value, whatever ρ was
    told = []
    for answer in answers:
        noise = base2.clamped_laplace(ETA[1].divided(2), -NOISE, NOISE, bits=source)
        told.append(_saturate(answer + noise) >= noisy_threshold)
        if told[-1]:
            break
    return told


def _saturate(number: Fraction) -> Fraction:
    return max(Fraction(-LARGEST), min(Fraction(LARGEST), number))


def our_sparse_vector(answers: list[int], threshold: int, source: fg.BitSource) -> list[bool]:
    """The same questions, asked of `freegap.base2`."""
    release = base2.sparse_vector(
        answers, threshold, k=1, eta=ETA, low=0, high=LARGEST, width=WIDTH, bits=source
    )
    return list(release.above)


def success_rate(mechanism: Mechanism, threshold: int, *, trials: int, seed: int) -> float:
    """How often "Alice is in the data if anything was ⊤" is right; she is in half of the time."""
    right = 0
    for trial in range(trials):
        for alice in (False, True):
            source = fg.SeededBits(f"{seed}/{trial}/{alice}")
            told = mechanism([WITH if alice else WITHOUT] * QUESTIONS, threshold, source)
            right += any(told) == alice
    return right / (2 * trials)


def broken_loss(questions: int) -> float:
    """log2 P(all ⊥ without Alice)/P(all ⊥ with her), for the broken program: it grows without bound."""
    reach = base2.get_sum(BASE, NOISE, None) / base2.get_sum(BASE, None, None)
    return -questions * math.log2(1 - reach)


def our_loss(questions: int, threshold: int = IN_RANGE) -> float:
    """The same for ours: Σ over the noisy threshold of P(ρ̂)·P(one ⊥ | ρ̂)^questions. At most η₁."""
    whole = base2.get_sum(BASE, None, None)
    above = {tau: float(base2.get_sum(BASE, tau, None) / whole) for tau in range(-WIDTH, WIDTH + 1)}

    def all_below(answer: int) -> float:
        low, high = -threshold - WIDTH, LARGEST - threshold + WIDTH
        total = 0.0
        for rho in range(low, high + 1):
            weight = base2.get_sum(BASE, None if rho == low else rho, None if rho == high else rho)
            tau = base2.symmetric_clamp(rho, answer - threshold, WIDTH) - (answer - threshold)
            total += float(weight / whole) * (1 - above[tau]) ** questions
        return total

    return math.log2(all_below(WITHOUT) / all_below(WITH))


def run(*, trials: int = 150, seed: int = 1) -> Outcome:
    """Attack both programs, with a threshold far outside the range and, for ours, also with one inside it."""
    total = ETA[0].ratio * ETA[1].ratio
    return Outcome(
        broken=success_rate(saturating_sparse_vector, 3 * LARGEST, trials=trials, seed=seed),
        ours=success_rate(our_sparse_vector, 3 * LARGEST, trials=trials, seed=seed),
        ours_in_range=success_rate(our_sparse_vector, IN_RANGE, trials=trials, seed=seed),
        allowed=float(total / (1 + total)),
    )


def main(trials: int = 150) -> Outcome:
    """Print what the attacker recovered."""
    outcome = run(trials=trials)
    claimed = float(ETA[0]) + float(ETA[1])
    print(f"Claimed by both: η = {claimed:.3f}; nobody may be right more often than {outcome.allowed:.1%}.")
    print(f"Saturating sparse vector: Alice recovered in {outcome.broken:.1%} of the runs.")
    print(
        f"freegap.base2, same questions: {outcome.ours:.1%}; threshold in range: {outcome.ours_in_range:.1%}."
    )
    print("Loss after so many questions without ⊤ (η, base 2):")
    for questions in (1, 10, 100, 1000):
        print(
            f"  {questions:>4}   saturating {broken_loss(questions):7.3f}   ours {our_loss(questions):6.3f}"
        )
    return outcome


if __name__ == "__main__":
    main()
