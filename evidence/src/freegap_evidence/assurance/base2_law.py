"""Ilvento 2020's mechanisms on infinite discrete Laplace noise, written out independently of the library.

Noise beyond ±n is one lump: a caller takes n so large that the program behaves alike on the whole lump.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

Outcome = int | None


def discrete_laplace(base: Fraction, n: int) -> dict[int, Fraction]:
    """P(k) = B^|k|/Σ B^|j| for |k| ≤ n (Ilvento 2020, equation 1), and the rest of each side at ±(n + 1)."""
    whole = (1 + base) / (1 - base)  # Σ B^|j| = 1 + 2·B/(1 − B)
    law: dict[int, Fraction] = {k: Fraction(base ** abs(k)) / whole for k in range(-n, n + 1)}
    rest = (1 - sum(law.values(), Fraction(0))) / 2
    return {-n - 1: rest, **law, n + 1: rest}


def clamp(rho: int, x: int, w: int) -> int:
    """Ilvento 2020, equation 3."""
    return rho if x - w <= rho <= x + w else (x - w if rho < x - w else x + w)


def one_question(
    q: int, rho: int, *, w: int, gaps: tuple[int, ...], base: Fraction
) -> dict[Outcome, Fraction]:
    """Ilvento 2020, algorithm 4, lines 5–11: ⊥, or the number of gaps reached, given ρ."""
    law: dict[Outcome, Fraction] = dict.fromkeys([None, *range(len(gaps) + 1)], Fraction(0))
    limit = clamp(rho, q, w)
    for nu, p in discrete_laplace(base, w + max(gaps, default=0) + 2).items():
        if nu + q < limit:
            law[None] += p
        else:
            law[sum(nu + q >= limit + gap for gap in gaps)] += p
    return law


def sparse_vector(
    answers: tuple[int, ...], *, k: int, w: int, gaps: tuple[int, ...], bases: tuple[Fraction, Fraction]
) -> dict[tuple[Outcome, ...], Fraction]:
    """Ilvento 2020, algorithm 4 (with no gaps, algorithm 2): the probability of every sequence of
    outcomes."""
    law: dict[tuple[Outcome, ...], Fraction] = {}
    n = max(map(abs, answers)) + w + 2
    for rho, p in discrete_laplace(bases[0], n).items():
        single = [one_question(q, rho, w=w, gaps=gaps, base=bases[1]) for q in answers]
        for outcomes in product(*(law_i.items() for law_i in single)):
            probability = p
            released: list[Outcome] = []
            for outcome, p_i in outcomes:
                probability *= p_i
                if released.count(None) + k > len(released):  # fewer than k times ⊤ so far
                    released.append(outcome)
            law[tuple(released)] = law.get(tuple(released), Fraction(0)) + probability
    return law


def unclamped_sparse_vector(
    answers: tuple[int, ...], *, k: int, bases: tuple[Fraction, Fraction], n: int
) -> dict[tuple[bool, ...], Fraction]:
    """Ilvento 2020, algorithm 1 on discrete noise, for thresholds of 0: the probability of every sequence of
    replies.

    n: threshold noise beyond ±n is left out, so that all probabilities together are a little below 1. That of
    an answer is summed in closed form: P(ν ≥ t) = B^t/(1 + B) for t ≥ 0, and 1 − P(ν ≥ 1 − t) for t < 0.
    """

    def tail(t: int) -> Fraction:
        return Fraction(bases[1] ** t) / (1 + bases[1]) if t >= 0 else 1 - tail(1 - t)

    law: dict[tuple[bool, ...], Fraction] = {}
    whole = (1 + bases[0]) / (1 - bases[0])
    for rho in range(-n, n + 1):
        open_runs: dict[tuple[bool, ...], Fraction] = {(): Fraction(bases[0] ** abs(rho)) / whole}
        for q in answers:
            above = tail(rho - q)
            going: dict[tuple[bool, ...], Fraction] = {}
            for replies, p in open_runs.items():
                done = sum(replies) == k
                coin = {(): Fraction(1)} if done else {(True,): above, (False,): 1 - above}
                for reply, chance in coin.items():
                    going[replies + reply] = going.get(replies + reply, Fraction(0)) + p * chance
            open_runs = going
        for replies, p in open_runs.items():
            law[replies] = law.get(replies, Fraction(0)) + p
    return law
