"""Selection from private candidates: two candidates, each a randomised response to one bit of the data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import freegap as fg
from freegap.bits import BitSource
from freegap.exact.integers import bernoulli
from freegap.mechanisms.candidate_programs import hard_stop_after
from freegap_evidence.assurance.base2_law import discrete_laplace
from freegap_evidence.assurance.candidate_laws import best_law, best_of_logarithmic, selected_law
from freegap_evidence.assurance.one_by_one import repeated, single
from freegap_evidence.assurance.row import ENOUGH, EPSILON, Cited, NoFastPath, Released, Row

STOP, HARD_STOP = Fraction(1, 3), Fraction(1, 8)
SCORES = ((1, 2), (2, 3))  # by candidate and output; the public preference of the analyst
SCORE_EPSILON = Fraction(1, 8)
LOWEST, HIGHEST = 0, 4
PAIRS = (((0, 0), (1, 1)), ((0, 1), (1, 0)))
LOOP = NoFastPath("a loop over the draws of the candidates, which is itself what is run")
CITED = Cited(
    "a random number of draws, not an alignment: Liu and Talwar 2019; Ilvento 2020, section 6, corrected"
)


def rows() -> Iterator[Row]:
    """Both algorithms, with a score of the output alone and with one that looks at the data."""
    for noisy, best in product((False, True), repeat=2):
        yield _row(best=best, noisy=noisy)
    yield _best_of_logarithmic()


def _truth(epsilon: Fraction) -> Fraction:
    """With what probability a response is the true bit: at most e^ε/(1 + e^ε)."""
    return Fraction(math.floor(10**6 / (1 + math.exp(-epsilon))), 10**6)


def _candidates(answers: Sequence[float], epsilon: Fraction) -> list[Callable[[BitSource], tuple[int, int]]]:
    truth = _truth(epsilon)

    def response(place: int, bits: BitSource) -> tuple[int, int]:
        bit = int(answers[place])
        return place, bit if bernoulli(truth, bits) else 1 - bit

    return [partial(response, place) for place in range(2)]


def _score(answers: Sequence[float], noisy: bool) -> Any:
    if not noisy:
        return _preference
    # One person changes every bit of the data, and with it this score, by at most one.
    return fg.NoisyScore(
        lambda output: _preference(output) + answers[0], epsilon=SCORE_EPSILON, low=LOWEST, high=HIGHEST
    )


def _preference(output: tuple[int, int]) -> int:
    return SCORES[output[0]][output[1]]


def _draw(answers: Sequence[int], epsilon: Fraction, noisy: bool) -> Mapping[Any, Fraction]:
    """The law of one draw, by (output, score)."""
    truth = _truth(epsilon)
    law: dict[Any, Fraction] = {}
    for place, bit in product(range(2), repeat=2):
        p = Fraction(1, 2) * (truth if bit == answers[place] else 1 - truth)
        quality = SCORES[place][bit]
        if not noisy:
            law[(place, bit), quality] = p
            continue
        score = _score(answers, noisy)
        for noise, q in discrete_laplace(score.weights.base, 3 * HIGHEST).items():
            seen = max(LOWEST, min(HIGHEST, quality + answers[0] + noise))
            law[(place, bit), seen] = law.get(((place, bit), seen), Fraction(0)) + p * q
    return law


def _numbers(output: Any, _: int) -> list[int]:
    """Which candidate, what it put out, and how that scored; where there is none, numbers that none has."""
    return [-1, -1, -1] if output is None else [*output[0], output[1]]


def _row(*, best: bool, noisy: bool) -> Row:
    """The best of all draws, of which there are not too many, or the first whose score is at least 2."""
    function: Any = fg.best_private_candidate if best else fg.select_private_candidate
    last: dict[str, Any] = {"hard_stop": HARD_STOP} if best else {"threshold": 2}

    def prepare(answers: Sequence[float], epsilon: Fraction) -> Callable[[BitSource], Released]:
        candidates, score = _candidates(answers, epsilon), _score(answers, noisy)

        def release(bits: BitSource) -> Released:
            found = function(candidates, score, epsilon=epsilon, stop=STOP, bits=bits, **last)
            return Released(None if found.output is None else (found.output, int(found.score)), found.spent)

        return release

    def law() -> dict[Any, float]:
        draw = _draw((1, 0), EPSILON, noisy)
        steps = hard_stop_after(STOP, HARD_STOP)
        exact = best_law(draw, STOP, steps) if best else selected_law(draw, 2, STOP, None)
        return {output: float(p) for output, p in exact.items()}

    def charge(epsilon: Fraction) -> Fraction:
        each = epsilon + (SCORE_EPSILON if noisy else 0)
        return 3 * (each + HARD_STOP) if best else 2 * each

    return Row(
        function=function.__name__,
        noise="discrete Laplace" if noisy else "the candidates'",
        variant="noisy score" if noisy else "score of the output",
        theorem=f"Ilvento 2020, algorithm {'7, at 3ε₁ + 3ε₀' if best else '6, at 2ε₁'}",
        proof=CITED,
        release=single(prepare),
        at_once=repeated(prepare, _numbers),
        most_at_once=ENOUGH,
        answers=(1, 0),
        law=law,
        pairs=PAIRS,
        regimes=LOOP,
        charge=charge,
    )


def _best_of_logarithmic() -> Row:
    """The best of all draws, of which there is a logarithmic number."""
    asked: dict[str, Any] = {"stop": STOP, "tries": "logarithmic"}

    def prepare(answers: Sequence[float], epsilon: Fraction) -> Callable[[BitSource], Released]:
        candidates = _candidates(answers, epsilon)

        def release(bits: BitSource) -> Released:
            found = fg.best_private_candidate(candidates, _preference, epsilon=epsilon, bits=bits, **asked)
            return Released((found.output, int(found.score or 0)), found.spent)

        return release

    return Row(
        function="best_private_candidate",
        noise="the candidates'",
        variant="logarithmic tries",
        theorem="Papernot and Steinke 2022, η = 0, at 2ε₁",
        proof=Cited("the integral over the number of draws: docs/mathematics/private-candidates.md"),
        release=single(prepare),
        at_once=repeated(prepare, _numbers),
        most_at_once=ENOUGH,
        answers=(1, 0),
        law=lambda: best_of_logarithmic(_draw((1, 0), EPSILON, noisy=False), STOP),
        pairs=PAIRS,
        regimes=LOOP,
        charge=lambda epsilon: 2 * epsilon,
    )
