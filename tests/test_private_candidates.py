"""Private candidates: exact laws by enumeration, and the charge checked on all small candidate sets.

Q is a law on three outputs. The programs are enumerated choice by choice; their laws are compared with
closed forms, and the ratio of neighbouring laws with e^charge, between rational bounds of e^x.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import count, product
from typing import Any, cast

import pytest
from freegap_evidence.assurance.candidate_laws import best_law, best_of_logarithmic, selected_law

import freegap as fg
from freegap import InvalidArgument, NoisyScore, RecordedBits, SeededBits
from freegap.base2.arguments import answer_units
from freegap.mechanisms.candidate_programs import (
    Drawn,
    best_program,
    hard_stop_after,
    logarithmic,
    select_program,
)
from freegap.mechanisms.private_candidates import sampler
from tests.base2.paths import Path, distribution

Law = tuple[Fraction, ...]
SCORES = (2, 2, 1)  # of the three outputs: two equally good ones, and a worse one
TAU = Fraction(2)


def exp_bounds(x: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals around e^x for 0 ≤ x ≤ 4: the first 40 terms, and these plus twice the next one."""
    terms = [x**i / math.factorial(i) for i in range(41)]
    return sum(terms[:-1], Fraction(0)), sum(terms[:-1], 2 * terms[-1])


def small_laws(n: int) -> Iterator[Law]:
    """All laws on three outputs with probabilities that are multiples of 1/n, none of them zero."""
    for i, j in product(range(1, n), repeat=2):
        if i + j < n:
            yield Fraction(i, n), Fraction(j, n), Fraction(n - i - j, n)


def privacy(law: Law, other: Law) -> Fraction:
    """e^ε₁ for a pair of neighbouring laws: the largest ratio, either way round."""
    return max(max(p / q, q / p) for p, q in zip(law, other, strict=True))


def draw_from(law: Law, path: Path) -> Callable[[], Drawn]:
    def sample() -> Drawn:
        output = path.choose(list(law))
        return Drawn(0, output, Fraction(SCORES[output]))

    return sample


def selected(law: Law, stop: Fraction, steps: int) -> dict[Any, Fraction]:
    """The exact law of algorithm 6, by enumeration of the program."""

    def program(path: Path) -> int | None:
        coin = lambda: path.choose([stop, 1 - stop]) == 0  # noqa: E731
        drawn = select_program(draw_from(law, path), coin, TAU, steps)
        return None if drawn is None else cast(int, drawn.output)

    return distribution(program)


def best(law: Law, stop: Fraction, steps: int) -> dict[Any, Fraction]:
    """The exact law of algorithm 7, by enumeration of the program."""

    def program(path: Path) -> int:
        coin = lambda: path.choose([stop, 1 - stop]) == 0  # noqa: E731
        uniform = lambda n: path.choose([Fraction(1, n)] * n)  # noqa: E731
        return cast(int, best_program(draw_from(law, path), coin, uniform, steps).output)

    return distribution(program)


def selected_in_closed_form(law: Law, stop: Fraction, steps: int) -> dict[Any, Fraction]:
    found = selected_law(dict(zip(enumerate(SCORES), law, strict=True)), TAU, stop, steps)
    return {None if drawn is None else drawn[0]: p for drawn, p in found.items()}


def best_in_closed_form(
    law: Law, stop: Fraction, steps: int, scores: tuple[int, ...] = SCORES
) -> dict[Any, Fraction]:
    found = best_law(dict(zip(enumerate(scores), law, strict=True)), stop, steps)
    return {output: p for (output, _), p in found.items()}


HALF = Fraction(1, 2)
STEPS = [(HALF, Fraction(1), 2), (HALF, Fraction(1, 2), 3), (Fraction(1, 4), Fraction(1), 3)]
STEPS += [
    (Fraction(1000, 2718), Fraction(1), 2),
    (Fraction(1000, 2719), Fraction(1), 3),
]  # 1 + 1/(2.718·γ) = 2


@pytest.mark.parametrize(("stop", "epsilon0", "steps"), STEPS)
def test_the_programs_have_the_laws_of_the_proof(stop: Fraction, epsilon0: Fraction, steps: int) -> None:
    assert hard_stop_after(stop, epsilon0) == steps
    for law in small_laws(6):
        assert selected(law, stop, steps) == selected_in_closed_form(law, stop, steps)
        assert best(law, stop, steps) == best_in_closed_form(law, stop, steps)


def worst_ratio(laws: dict[Law, dict[Any, Fraction]], draws: int) -> Fraction:
    """The largest P(out)/(e^(draws·ε₁)·P'(out)) over all pairs and outputs: it must be at most e^ε₀ or so."""
    return max(
        p / (privacy(law, other) ** draws * laws[other][out])
        for law in laws
        for other in laws
        for out, p in laws[law].items()
    )


@pytest.mark.parametrize(("stop", "epsilon0", "steps"), STEPS)
def test_the_charge_holds_on_all_small_candidate_sets(stop: Fraction, epsilon0: Fraction, steps: int) -> None:
    for n in (5, 8):
        enumerated = {law: selected(law, stop, steps) for law in small_laws(n)}
        assert worst_ratio(enumerated, 2) <= exp_bounds(epsilon0)[0]
        enumerated = {law: best(law, stop, steps) for law in small_laws(n)}
        assert worst_ratio(enumerated, 3) <= exp_bounds(3 * epsilon0)[0]


RARE = [
    # What one candidate rarely puts out, where another is common: the two laws that are hardest to hide.
    (Fraction(8, 512), Fraction(8, 512), Fraction(496, 512)),
    (Fraction(1, 512), Fraction(64, 512), Fraction(447, 512)),
]


def test_the_printed_charge_of_algorithm_6_does_not_hold() -> None:
    """Ilvento 2020 prints 2ε₀ + ε₁. Erratum 7: it is 2ε₁ + ε₀."""
    stop, epsilon0 = Fraction(1, 16), Fraction(1, 10)
    steps = hard_stop_after(stop, epsilon0)
    assert steps == 48
    laws = {law: selected(law, stop, steps) for law in RARE}
    ratio = laws[RARE[0]][0] / laws[RARE[1]][0]
    e1 = privacy(*RARE)
    assert e1 == 8
    assert ratio > e1 * exp_bounds(2 * epsilon0)[1]  # more than ε₁ + 2ε₀ …
    assert ratio <= e1**2 * exp_bounds(epsilon0)[0]  # … and no more than 2ε₁ + ε₀


def test_algorithm_7_needs_three_times() -> None:
    """Its loss can exceed 2ε₁ + 3ε₀, so that the third ε₁ is not there for convenience."""
    stop, epsilon0 = Fraction(1, 1024), Fraction(1, 10)
    scores = (1, 1, 2, 0)
    # Output 0 becomes rarer while its equals and its betters become more frequent.
    here = (Fraction(2, 4096), Fraction(1, 64), Fraction(1, 64), Fraction(3966, 4096))
    there = (Fraction(1, 4096), Fraction(1, 32), Fraction(1, 32), Fraction(3839, 4096))
    e1 = privacy(here, there)
    assert e1 == 2
    steps = hard_stop_after(stop, epsilon0)
    one, other = (best_in_closed_form(law, stop, steps, scores) for law in (here, there))
    assert sum(one.values()) == sum(other.values()) == 1
    ratio = max(one[out] / other[out] for out in one)
    assert ratio > e1**2 * exp_bounds(3 * epsilon0)[1]
    assert ratio <= e1**3 * exp_bounds(3 * epsilon0)[0]


@pytest.mark.parametrize("stop", [Fraction(1, 3), Fraction(1, 50)])
@pytest.mark.parametrize("epsilon0", [Fraction(1), Fraction(1, 10)])
def test_the_charge_holds_at_the_hard_stop(stop: Fraction, epsilon0: Fraction) -> None:
    steps = hard_stop_after(stop, epsilon0)
    laws = [*small_laws(7), *RARE]
    closed = {law: selected_in_closed_form(law, stop, steps) for law in laws}
    assert worst_ratio(closed, 2) <= exp_bounds(epsilon0)[0]
    closed = {law: best_in_closed_form(law, stop, steps) for law in laws}
    assert worst_ratio(closed, 3) <= exp_bounds(3 * epsilon0)[0]


def test_the_hard_stop_is_as_late_as_it_must_be() -> None:
    """T ≥ ln(2/ε₀)/γ and T ≥ 1 + 1/(eγ); one step less breaks one of the two."""
    stops = [Fraction(1), HALF, Fraction(1, 7), Fraction(1, 1000)]
    for stop, epsilon0 in product(stops, [Fraction(1), HALF, Fraction(1, 100)]):
        steps = hard_stop_after(stop, epsilon0)
        least = max(math.log(2 / epsilon0) / stop, 1 + 1 / (math.e * stop))
        assert least <= steps < least + 1.01


def test_equal_draws_are_kept_with_equal_probability() -> None:
    """Three draws of one score: 1/3 each. Pairwise coins, as printed, would give 1/4, 1/4, 1/2."""

    def program(path: Path) -> int:
        number = count()
        sample = lambda: Drawn(0, next(number), Fraction(1))  # noqa: E731
        uniform = lambda n: path.choose([Fraction(1, n)] * n)  # noqa: E731
        return cast(int, best_program(sample, lambda: False, uniform, 3).output)

    assert distribution(program) == {0: Fraction(1, 3), 1: Fraction(1, 3), 2: Fraction(1, 3)}


class People:
    """Two people with one bit each; candidate i puts out its person's bit, true with probability 3/4."""

    def __init__(self, *values: int) -> None:
        self.values = values

    def candidates(self) -> list[Callable[[Any], int]]:
        return [lambda bits, value=value: value ^ (bits.bits(2) == 0) for value in self.values]  # type: ignore[misc]

    def score(self) -> NoisyScore:
        """How many people have the bit that was put out: one person changes it by at most 1."""
        return NoisyScore(self.values.count, epsilon=1, low=0, high=2)


def laws_of(people: People) -> tuple[dict[Any, Fraction], dict[Any, Fraction], dict[Any, Fraction]]:
    """Of one draw, of algorithm 6 and of algorithm 7, with γ = 1/2 and T = 2; all from the same bits."""

    candidates, score = people.candidates(), people.score()

    def draw(path: Path) -> Callable[[], Drawn]:
        return sampler(candidates, score, path, path)

    def coin(path: Path) -> Callable[[], bool]:
        return lambda: path.bits(1) == 1

    return (
        distribution(lambda path: draw(path)()),
        distribution(lambda path: select_program(draw(path), coin(path), Fraction(2), 2)),
        distribution(lambda path: best_program(draw(path), coin(path), lambda n: path.bits(1), 2)),
    )


def test_a_draw_is_private_and_so_is_the_selection() -> None:
    """Lemma 6.1 and both mechanisms from end to end: candidates, index, noise and coins are enumerated."""
    data = [People(0, 0), People(0, 1), People(1, 0), People(1, 1)]
    noise = 1 / data[0].score().weights.base  # 2^η of the score, whose ε is at most 1
    assert noise <= exp_bounds(Fraction(1))[1]
    e1 = 3 * noise
    samples, choices, bests = zip(*map(laws_of, data), strict=True)
    e0 = exp_bounds(Fraction(1))[0]  # γ = 1/2 and T = 2 belong to ε₀ = 1
    for i, j in [(0, 1), (0, 2), (1, 3), (2, 3)]:
        for a, b in [(i, j), (j, i)]:
            assert all(p <= e1 * samples[b][out] for out, p in samples[a].items())
            assert all(p <= e1**2 * e0 * choices[b][out] for out, p in choices[a].items())
            assert all(p <= e1**3 * e0**3 * bests[b][out] for out, p in bests[a].items())


def test_a_noisy_score_has_the_law_of_clamped_infinite_noise() -> None:
    score = NoisyScore(lambda output: output, epsilon=1, low=-1, high=2, sensitivity=1, resolution="1/2")
    base = score.weights.base
    for quality in (-5, -1, 0, Fraction(1, 3), 2, math.inf, math.nan, None):
        law = distribution(lambda path, q=quality: score.draw(q, path))  # type: ignore[misc]
        start = answer_units(quality, Fraction(1, 2), -2, 4)
        whole = (1 + base) / (1 - base)
        for step in range(-1, 4):
            assert law[Fraction(step, 2)] == base ** abs(step - start) / whole
        assert sum(law.values()) == 1
        assert set(law) == {Fraction(step, 2) for step in range(-2, 5)}


def constant(value: object) -> Callable[[object], object]:
    return lambda bits: value


def test_the_charges_and_the_record() -> None:
    candidates = {"small": constant(1), "large": constant(5)}
    arguments: dict[str, Any] = {"epsilon": "0.5", "stop": "0.001", "bits": SeededBits(1)}
    chosen = fg.select_private_candidate(candidates, float, 5, **arguments)
    assert (chosen.label, chosen.index, chosen.output, chosen.score) == ("large", None, 5, 5)
    assert chosen.spent == 1
    assert chosen.parameters["most_draws"] is None
    chosen = fg.select_private_candidate(candidates, float, 5, hard_stop="0.1", **arguments)
    assert chosen.spent == Fraction(11, 10)
    noisy = NoisyScore(float, epsilon="0.25", low=0, high=10)
    chosen = fg.select_private_candidate(candidates, noisy, 0, hard_stop="0.1", **arguments)
    assert chosen.spent == 2 * Fraction(3, 4) + Fraction(1, 10)
    best_one = fg.best_private_candidate(candidates, float, **arguments)
    assert (best_one.label, best_one.spent) == ("large", Fraction(3, 2))
    best_one = fg.best_private_candidate(candidates, noisy, hard_stop="0.1", **arguments)
    assert best_one.spent == 3 * Fraction(3, 4) + 3 * Fraction(1, 10)
    assert not best_one.private
    assert best_one.to_dict()["parameters"]["epsilon_of_each_draw"] == "3/4"
    assert "Selected private candidate" in str(best_one)
    # How often it was drawn is not part of the release.
    assert not any("draws" in name and name != "most_draws" for name in best_one.parameters)


def test_nothing_is_selected_where_nothing_is_good_enough() -> None:
    none = fg.select_private_candidate([constant(1)], float, 2, epsilon=1, stop="0.5", bits=SeededBits(1))
    assert not none.found
    assert (none.index, none.label, none.output, none.score) == (None, None, None, None)
    assert "No candidate reached the threshold" in str(none)
    assert none.to_dict()["output"] is None
    assert none.spent == 2


class NoCoin:
    """A source on which a coin of probability 1/100 never comes up: each 7 bits are 64, of 100."""

    private = False

    def bits(self, n: int) -> int:
        assert n == 7
        return 64


def test_the_hard_stop_bounds_the_draws() -> None:
    number = count()
    falling = lambda bits: -next(number)  # noqa: E731  (no two scores are equal)
    arguments: dict[str, Any] = {"epsilon": 1, "stop": "0.01", "hard_stop": 1, "bits": NoCoin()}
    fg.best_private_candidate([falling], float, **arguments)
    assert next(number) == hard_stop_after(Fraction(1, 100), Fraction(1)) == 70
    fg.select_private_candidate([falling], float, 1, **arguments)
    assert next(number) == 71 + 70


@pytest.mark.parametrize("value", [math.nan, None, -math.inf])
def test_a_score_that_is_no_number_is_below_everything(value: Any) -> None:
    result = fg.best_private_candidate(
        [constant(value), constant(-1e300)], lambda x: x, epsilon=1, stop="0.01", bits=SeededBits(3)
    )
    assert result.output == -1e300
    none_better = fg.best_private_candidate(
        [constant(value)], lambda x: x, epsilon=1, stop=1, bits=SeededBits(3)
    )
    assert none_better.score == -math.inf
    assert none_better.to_dict()["score"] == "-inf"  # JSON has no infinity


VALID: dict[str, Any] = {"epsilon": 1, "stop": "0.1"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"candidates": []}, r"candidates: must be a list or a dict of functions, at least one. Pass"),
        ({"candidates": [1]}, r"candidates: must be a list or a dict of functions"),
        ({"candidates": 7}, r"candidates: must be a list or a dict of functions"),
        ({"score": 3}, r"score: must be callable. Pass a function or a NoisyScore."),
        ({"epsilon": 0}, r"epsilon = 0: must be greater than 0"),
        ({"stop": 0}, r"stop = 0: must be greater than 0"),
        ({"stop": 2}, r"stop = 2: must be at most 1. It is the probability of giving up."),
        ({"hard_stop": 2}, r"hard_stop = 2: must be at most 1"),
        ({"hard_stop": 0}, r"hard_stop = 0: must be greater than 0"),
        ({"threshold": "high"}, r"threshold = 'high': is not a number"),
        ({"bits": 3}, r"bits = 3: must be a source of bits"),
    ],
)
def test_bad_arguments_are_named_before_anything_is_drawn(change: dict[str, Any], message: str) -> None:
    source = RecordedBits(SeededBits(1))
    arguments = {
        "candidates": [constant(1)],
        "score": float,
        "threshold": 1,
        "bits": source,
        **VALID,
        **change,
    }
    with pytest.raises(InvalidArgument, match=message):
        fg.select_private_candidate(**arguments)
    if "threshold" not in change:
        del arguments["threshold"]
        with pytest.raises(InvalidArgument, match=message):
            fg.best_private_candidate(**arguments)
    assert source.record == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"function": 3}, r"function: must be callable"),
        ({"epsilon": -1}, r"epsilon = -1: must be greater than 0"),
        ({"low": 9}, r"low = 9: must be below high = 9. Swap them."),
        ({"low": "0.3"}, r"low = '0.3': must be a multiple of the resolution 1"),
        ({"sensitivity": "1/3"}, r"sensitivity = '1/3': must be a multiple of the resolution 1"),
        ({"high": 10**9}, r"precision = \d+: needs more than"),
    ],
)
def test_bad_scores_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        NoisyScore(**{"function": float, "epsilon": 1, "low": 0, "high": 9, **change})


def test_a_score_of_a_wrong_kind_is_not_shown() -> None:
    with pytest.raises(InvalidArgument, match=r"^score: must return a number") as error:
        fg.best_private_candidate([constant("secret")], lambda x: x, bits=SeededBits(1), **VALID)
    assert "secret" not in str(error.value)


def run_of(stop: Fraction, most: int) -> dict[Any, Fraction]:
    """The law of what one run of `logarithmic` comes to, by enumeration; None where it starts anew."""

    class Anew(Exception):
        """The run is over without a number."""

    def program(path: Path) -> int | None:
        seen: list[int] = []

        def uniform(n: int) -> int:
            seen.append(n)
            if n > most or path.choose([Fraction(1, n), 1 - Fraction(1, n)]) == 0:
                raise Anew
            return 1

        try:
            return logarithmic(lambda: path.choose([stop, 1 - stop]) == 0, uniform)
        except Anew:
            return None

    return distribution(program)


def test_a_logarithmic_number_of_draws() -> None:
    """A run ends at j with probability γ(1 − γ)^(j−1)/j, and is else repeated: so N has the stated law."""
    stop = Fraction(2, 7)
    law = run_of(stop, 9)
    for j in range(1, 10):
        assert law[j] == stop * (1 - stop) ** (j - 1) / j
    again = iter([1, 0, 1, 1, 1])  # from 2 on to 1 again, once
    coins = iter([False, False, False, True])
    assert logarithmic(lambda: next(coins), lambda _: next(again)) == 2
    assert list(again) == [1, 1]


def test_the_best_of_a_logarithmic_number_costs_two_draws() -> None:
    """On all small candidate sets, and more than ε₁ on hard ones; the law is the sum over the numbers."""
    stop = Fraction(1, 4)
    laws = {
        law: best_of_logarithmic(dict(zip(enumerate(SCORES), law, strict=True)), stop)
        for law in small_laws(8)
    }
    for law, other in product(laws, repeat=2):
        e1 = float(privacy(law, other))
        assert all(p <= e1**2 * laws[other][out] * (1 + 1e-12) for out, p in laws[law].items())
    some = next(iter(laws))
    draw = dict(zip(enumerate(SCORES), some, strict=True))
    total = dict.fromkeys(draw, 0.0)
    for j in range(1, 200):
        weight = float(1 - stop) ** j / j / math.log(1 / stop)
        for drawn, p in draw.items():
            below = sum(q for (_, s), q in draw.items() if s < drawn[1])
            upto = sum(q for (_, s), q in draw.items() if s <= drawn[1])
            total[drawn] += weight * float(p * (upto**j - below**j) / (upto - below))
    assert total == pytest.approx(laws[some], rel=1e-12)
    hard = [
        best_of_logarithmic(dict(zip(enumerate((2, 2, 1)), law, strict=True)), Fraction(1, 512))
        for law in RARE
    ]
    assert max(hard[0][out] / hard[1][out] for out in hard[0]) > 1.5 * float(privacy(*RARE))


def test_logarithmic_tries_are_released_and_charged() -> None:
    candidates = [lambda bits, i=i: (i, fg.noisy_max([3, 1], epsilon=1, bits=bits).indices) for i in range(2)]
    asked: dict[str, Any] = {"epsilon": 1, "stop": "0.2", "tries": "logarithmic"}
    found = fg.best_private_candidate(candidates, lambda out: out[0], bits=SeededBits(1), **asked)
    assert (found.spent, found.parameters["tries"]) == (Fraction(2), "logarithmic")
    for change, names in (
        ({"hard_stop": "0.1"}, "hard_stop"),
        ({"stop": 1}, "stop"),
        ({"tries": "poisson"}, "tries"),
    ):
        with pytest.raises(InvalidArgument, match=names):
            fg.best_private_candidate(candidates, float, **asked | change)


@pytest.mark.parametrize("tries", [None, "geometric", "logarithmic"])
def test_the_law_of_the_number_of_draws_is_on_record(tries: str | None) -> None:
    """Also where it was not asked for: who reads the record knows no defaults."""
    options: dict[str, Any] = {} if tries is None else {"tries": tries}
    chosen = fg.best_private_candidate(
        [lambda bits: bits.bits(3)],
        lambda output: output,
        epsilon="1/2",
        stop="1/4",
        bits=fg.SeededBits(1),
        **options,
    )
    assert chosen.parameters["tries"] == (tries or "geometric")
