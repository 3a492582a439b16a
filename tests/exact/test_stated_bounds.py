"""The bounds are those of the lemma in `freegap.exact.doubles`, term by term: it is these that are proved.

They are many times what doubles really err by, so that no output would show a term that is missing.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest
from flint import arb, fmpq

from freegap.bits import SeededBits
from freegap.exact import batched_ranking
from freegap.exact.arithmetic import DOUBLE_FUNCTIONS, SINGLE_FUNCTIONS
from freegap.exact.batched_ranking import BatchedRanking, _Block, ends
from freegap.exact.batched_threshold import BatchedThreshold, _Runs, _scaled_ends
from freegap.exact.digits import KeyedDigits
from freegap.exact.doubles import FILTER_BITS, Candidates, DoubleNoise, certain_floor, stream_noise
from freegap.exact.few_items import scaled
from freegap.exact.many import _exponents
from freegap.exact.noisy_threshold import Branch, NoisyThreshold, _certain_cut
from freegap.exact.parts import Batch
from freegap.laws import EXPONENTIAL, LAPLACE
from freegap.mechanisms import batched_hybrid
from freegap.mechanisms.batched_hybrid import draw_largest_above
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.values.balls import at_precision
from freegap.values.thresholds import Offsets
from tests.exact.given_words import GivenWords
from tests.laws import EXACT_LAWS as LAWS

N = 40
OFFSETS = np.linspace(-300.0, 200.0, N)


@pytest.mark.parametrize("law", sorted(LAWS))
@pytest.mark.parametrize("bits", [FILTER_BITS, 20])
def test_of_items_and_of_members(law: str, bits: int) -> None:
    """2^-44·(1 + r/64)·(1 + |z| + |x|), without the middle factor where items are no groups."""
    for sizes in (None, np.full(N, 70, dtype=np.int64)):
        digits = KeyedDigits(SeededBits(1), N)
        doubles = DoubleNoise(LAWS[law], digits, digits.first(), sizes, bits)
        found = doubles.of_items(np.arange(N), OFFSETS)
        if sizes is not None:
            found = doubles.of_members(found, OFFSETS, -np.inf, 70)
            assert len(found) == 70 * N
            assert sorted(set(found.ranks.tolist())) == list(range(1, 71))
        by_rank = 1.0 if sizes is None else 1.0 + found.ranks / 64
        z = OFFSETS[found.items]
        wanted = 2.0**-bits * by_rank * (1.0 + np.abs(z) + np.abs(found.noise))
        assert np.allclose(found.error, wanted, rtol=1e-12, atol=0)
        assert np.array_equal(found.noisy, z + found.noise)
    assert doubles.slack == 2.0**-bits


@pytest.mark.parametrize("law", sorted(LAWS))
def test_of_streams(law: str) -> None:
    digits = KeyedDigits(SeededBits(1), N)
    noise, bound = stream_noise(LAWS[law], digits, 1, np.arange(N), 2.0**-FILTER_BITS)
    assert np.allclose(bound, 2.0**-FILTER_BITS * (1.0 + np.abs(noise)), rtol=1e-12, atol=0)


@pytest.mark.parametrize(
    "word", [0, 1, 2, 2**52 + 1, 2**62 + 2**9 - 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1]
)
def test_of_few_items(word: int) -> None:
    """4·2^-53 of 2^79·u relatively from 2^52 on, and 2^-44 of its logarithm, whatever digits are left out."""
    first = np.array([1, 2, 3, 255, 256, 32_767, 32_768, 65_535, *([0] if word >= 2**53 else [])])
    words = np.array([[word, 0]] * len(first), dtype=np.uint64)
    found = scaled(first.astype(np.uint16), words)
    assert found.min() >= 2.0**52
    logs = np.log(found)
    for digits, near, log in zip(first.tolist(), found.tolist(), logs.tolist(), strict=True):
        for further in (Fraction(0), Fraction(2**64 - 1, 2**64)):
            exact = Fraction(digits << 64 | word, 2) + further / 2
            assert abs(Fraction(near) - exact) <= 4 * exact / 2**53
            assert at_precision(200, partial(_log_is_near, exact, log))


def _log_is_near(exact: Fraction, log: float) -> bool:
    return bool(abs(arb(log) - arb(fmpq(*exact.as_integer_ratio())).log()) < 2.0**-44)


def test_the_exponent_that_is_proved() -> None:
    assert FILTER_BITS == 44


def test_certain_bounds_lie_on_either_side() -> None:
    places, noise = np.arange(3), np.array([1.0, 2.0, 0.0])
    error = np.array([0.25, 0.5, np.inf])
    found = Candidates(places, places + 1, noise, noise + 10, error)
    assert found.low.tolist() == [10.75, 11.5, -np.inf]
    assert found.high.tolist() == [11.25, 12.5, np.inf]
    turned = found.take([2, 0])
    assert (turned.items.tolist(), turned.ranks.tolist()) == ([2, 0], [3, 1])
    assert (turned.noise.tolist(), turned.noisy.tolist()) == ([0.0, 1.0], [10.0, 11.0])
    assert turned.error.tolist() == [np.inf, 0.25]
    both = turned.joined(found.take([1]))
    assert (both.items.tolist(), both.ranks.tolist()) == ([2, 0, 1], [3, 1, 2])
    assert (both.noise.tolist(), both.noisy.tolist()) == ([0.0, 1.0, 2.0], [10.0, 11.0, 12.0])
    assert both.error.tolist() == [np.inf, 0.25, 0.5]
    assert len(both) == 3


def test_where_the_machine_is_measured() -> None:
    """The arguments for which the proofs assume something of exp, expm1, log and log1p."""
    assert [(f.name, f.low, f.high, f.sign, f.unit) for f in SINGLE_FUNCTIONS] == [
        ("exp", 2.0**-30, 80.0, 1, 2.0**-23),
        ("exp", 2.0**-30, 80.0, -1, 2.0**-23),
        ("expm1", 2.0**-80, 128.0, -1, 2.0**-23),
        ("log", 2.0**-4, 4.0, 1, 2.0**-23),
    ]
    assert [(f.name, f.low, f.high, f.sign, f.unit) for f in DOUBLE_FUNCTIONS] == [
        ("log", 2.0**-75, 2.0**79, 1, 2.0**-53),
        ("log1p", 2.0**-75, 0.5, -1, 2.0**-53),
        ("expm1", 2.0**-140, 64.0, -1, 2.0**-53),
    ]


def run_of(
    bits: int,
    further: Fraction = Fraction(0),
    *,
    threshold_scale: int = 3,
    scale: int = 5,
    shift: int = 2**41,
    margin: int = 7,
) -> tuple[BatchedThreshold, _Runs]:
    """One run of forty questions, at a distance from the threshold where every term counts."""
    values, constant = np.arange(N, dtype=np.int64) * 2**40, 2**44 + further
    bars = BatchedThreshold(
        Batch.flat(values, np.array([0, N])).with_thresholds(),
        Offsets(values, Fraction(1), constant, constant),
        law=LAPLACE,
        threshold_scale=Fraction(threshold_scale),
        branches=[Branch(Fraction(1), scale=Fraction(scale), shift=Fraction(shift), margin=Fraction(margin))],
        resolution=Fraction(1),
        digits=KeyedDigits(SeededBits(1), 0),
        filter_bits=bits,
    )
    return bars, _Runs(bars, np.zeros(1, np.int64), N)


@pytest.mark.parametrize("bits", [FILTER_BITS, 20])
def test_of_gaps_in_many_runs(bits: int) -> None:
    """That of the noise, that of the bar, 2^-50 of all sizes, and 2^-48·(1 + |d|) for the offset."""
    bars, block = run_of(bits)
    lines, places = np.zeros(N, np.int64), np.arange(N)
    noise, of_noise = bars.noise(block._words[0][lines, places + 1], 5.0)
    (bar,), (of_bar,) = block._bar, block._bar_bound
    product = (5.0 + np.abs(noise)) * 2.0**-bits + np.abs(noise) * 2.0**-50  # and the two roundings of it
    assert np.allclose(of_noise, product, rtol=1e-9, atol=0)
    _, bound = block._values(lines, places, 0)
    sizes = np.abs(noise) + abs(bar) + 2.0**41 + 7.0
    offsets = np.abs(np.arange(N) * 2.0**40 - 2.0**44)
    wanted = of_noise + of_bar + sizes * 2.0**-50 + (1.0 + offsets) * 2.0**-48
    assert np.allclose(bound, wanted, rtol=1e-12, atol=0)
    assert of_bar >= 3.0 * 2.0**-bits


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    "large",
    [
        {"shift": 2**41},
        {"margin": 2**41},
        {"scale": 2**44},
        {"threshold_scale": 2**44},
        {"shift": -(2**41), "margin": 2**41},
    ],
    ids=str,
)
def test_of_16_digits_in_many_runs(sign: int, large: dict[str, int]) -> None:
    """2^-46·(1 + |d| + |bar| + |shift| + |margin| + 13s) and that of the bar: within it nothing is said.

    In each case other terms are the larger ones; a fiftieth less or more than all together decides.
    """
    given = {"threshold_scale": 3, "scale": 5, "shift": 0, "margin": 0} | large
    at = 18
    for part, clear in ((Fraction(49, 50), False), (Fraction(51, 50), True)):
        further = Fraction(0)
        for _ in range(4):
            _, block = run_of(FILTER_BITS, further, **given)
            place = int(block._words[0].view(np.uint16).reshape(1, -1, 8)[0, 1 + at, 3])
            end = _scaled_ends(LAPLACE, float(given["scale"]), whole=False)[0 if sign > 0 else 1][place]
            offset, bar = block._offsets[0, at], block._bar[0]
            reached = (offset - float(given["shift"] + given["margin"])) - bar + end
            sizes = (
                1.0 + abs(offset) + abs(bar) + abs(given["shift"]) + given["margin"] + 13.0 * given["scale"]
            )
            slack = sizes * 2.0**-46 + block._bar_bound[0]
            above, unclear = block._by_first_digits(0)
            further += Fraction(float(reached)) - sign * part * Fraction(float(slack))
        assert reached == pytest.approx(sign * float(part) * slack, rel=0.01)
        assert (bool(above[0, at]), bool(unclear[0, at])) == (clear and sign > 0, not clear)


@pytest.mark.parametrize("bits", [FILTER_BITS, 20])
def test_of_gaps_in_many_populations(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in many runs, with two roundings more; the bar of each population has a stream of its own."""
    seen = []

    def told(values: Any, bounds: Any) -> Any:
        seen.append(bounds)
        return certain_floor(values, bounds)

    monkeypatch.setattr(batched_hybrid, "certain_floor", told)
    plan = ThresholdPlan.read("hybrid_sparse_vector", k=1, epsilon=1, resolution=1)
    values = np.arange(N, dtype=np.int64)
    draw_largest_above(plan, values, np.arange(N + 1), Fraction(3), SeededBits(1), filter_bits=bits)
    digits, slack, law = KeyedDigits(SeededBits(1), N), 2.0**-bits, plan.law.continuous
    items = DoubleNoise(law, digits, digits.first(), None, bits).of_items(values, np.zeros(N))
    bar, of_bar = stream_noise(law, digits, 1, range(N, 2 * N), slack)
    scale, bar_scale = float(plan.branches[-1].scale), float(plan.threshold_scale)
    sizes = np.abs(items.noise) * scale + np.abs(bar) * bar_scale + abs(float(plan.branches[-1].shift))
    offsets = np.abs(values - 3.0)
    wanted = items.error * scale + of_bar * bar_scale + sizes * 2.0**-49 + (1.0 + offsets) * 2.0**-48
    assert np.allclose(seen[0], wanted, rtol=1e-12, atol=0)


@pytest.mark.parametrize("variance", [Fraction(35, 9), Fraction(123456789), Fraction(10**33)])
def test_of_exponents(variance: Fraction) -> None:
    """h·(2|d| + h)/2σ² and 2^-50 of the exponent, h = 2^-50·(|z| + σ²/t)."""
    t = math.isqrt(math.floor(variance)) + 1
    sizes = [0, 1, 5 * t + 1, 40 * t]
    exponents, errors = _exponents(variance, t, sizes)
    for size, exponent, error in zip(sizes, exponents.tolist(), errors.tolist(), strict=True):
        h, distance = Fraction(size + variance / t) / 2**50, abs(size - variance / t)
        wanted = h * (2 * distance + h) / (2 * variance) + Fraction(exponent) / 2**50
        assert error == pytest.approx(float(wanted), rel=1e-12, abs=0)


def single_threshold() -> NoisyThreshold:
    """Two branches; noise and threshold are small beside most offsets."""
    shared: dict[str, Any] = {"shift": Fraction(1, 3), "margin": Fraction(2, 7)}
    return NoisyThreshold(
        law=LAPLACE,
        threshold_scale=Fraction(5, 3),
        branches=[
            Branch(Fraction(1, 2), scale=Fraction(9), **shared),
            Branch(Fraction(1), Fraction(4), **shared),
        ],
        resolution=Fraction(1),
        digits=KeyedDigits(SeededBits(4), 0),
    )


def test_of_questions_that_are_above(monkeypatch: pytest.MonkeyPatch) -> None:
    """That of all noise, and 2^-48·(1 + |d|) for the offset, one by one and of many at once."""
    seen: list[tuple[int, float]] = []

    def told(self: Any, question: int, number: int, offset: Any, value: float, bound: float) -> int:
        seen.append((question, bound))
        return 0

    monkeypatch.setattr(NoisyThreshold, "_gap", told)
    offsets = np.array([2.0**place for place in range(5, 50)])
    bar = single_threshold()
    _, of_noise = bar._as_doubles(range(1, len(offsets) + 1), 0)
    wanted = of_noise + (1.0 + offsets) * 2.0**-48
    for question, offset in enumerate(offsets.tolist()):
        assert bar.one(question, Fraction(offset))[0] == 0
    where, _, gap = bar.many(0, offsets, lambda place: Fraction(offsets[place]))
    assert where.tolist() == list(range(len(offsets)))
    for place in where.tolist():
        gap(place)
    for part in (seen[: len(offsets)], seen[len(offsets) :]):
        assert [question for question, _ in part] == where.tolist()
        assert np.allclose([bound for _, bound in part], wanted, rtol=1e-12, atol=0)


def test_of_cuts() -> None:
    """sum − 2^-46·(1 + |sum|), sum the margin less noise, its bound and 2^-48: the least of branches."""
    bar, number = single_threshold(), 60
    cuts = []
    for branch in (0, 1):
        noise, bound = bar._as_doubles(range(1, number + 1), branch)
        sums = 2 / 7 - noise - bound - 2.0**-48
        cuts.append(sums - (1.0 + np.abs(sums)) * 2.0**-46)
    assert np.abs(bar.below(0, number) - np.minimum(*cuts)).max() < 2.0**-49
    assert np.array_equal(_certain_cut(np.zeros(1)), [-(2.0**-46)])


# Of populations, in units of the noise scale: e(x) = 2^-36·(256 + |x|) ---------------------------


def is_decided(distances: list[Fraction], top: int) -> bool:
    """Whether 16 digits decide on items of which each high lies so far below the low of the one before."""
    first = [30_000 - 1000 * place for place in range(len(distances) + 1)]  # smaller digits, larger noise
    low, high = ends(EXPONENTIAL)
    unit, values = 2**45, [0]
    for place, distance in enumerate(distances):
        wanted = Fraction(values[-1], unit) + Fraction(low[first[place]]) - distance
        values.append(math.floor((wanted - Fraction(high[first[place + 1]])) * unit))
    digits = GivenWords(0, [(one << 128) + 5 for one in first], first=True)
    ranking = BatchedRanking(
        Batch.flat(np.array(values, np.int64), np.array([0, len(values)])),
        grain=Fraction(1),
        scale=Fraction(unit),
        resolution=Fraction(1),
        law=EXPONENTIAL,
        digits=digits,
    )
    block = _Block(ranking._batch, np.zeros(1, np.int64), digits.first(), top)
    places = np.empty((1, top), np.int64)
    (decided,) = ranking._decided(block, top, places, None, refined=False)
    assert places[0].tolist() == list(range(top))
    return bool(decided)


def test_of_items_out_of_reach() -> None:
    """The high of all others is below the least low by more than e, here 2^-28."""
    assert is_decided([Fraction(3, 2**29)], 1)
    assert not is_decided([Fraction(1, 2**29)], 1)


def test_of_items_in_order() -> None:
    """Each low is above the next high by more than e of both."""
    far = Fraction(1, 10)
    assert is_decided([Fraction(5, 2**29), far], 2)
    assert not is_decided([Fraction(3, 2**29), far], 2)


def test_of_144_digits_and_of_gaps_between_items() -> None:
    """2^-42·(1 + |x|) to either side; and 2^-44·(1 + |x|) for each of two in a gap."""
    digits = KeyedDigits(SeededBits(6), N)
    batch = Batch.flat(np.arange(N, dtype=np.int64), np.array([0, N]))
    block = _Block(batch, np.zeros(1, np.int64), digits.first(), 1)
    noise, usable = block.noise(LAPLACE, digits, np.zeros((1, 1), np.int64), np.arange(N)[None, :])
    assert usable.all()
    low, high = block.refined_ends(LAPLACE, digits)
    margin = (1.0 + np.abs(noise)) * 2.0**-42
    assert np.allclose(noise - low, margin, rtol=2.0**-6, atol=0)
    assert np.allclose(high - noise, margin, rtol=2.0**-6, atol=0)


@pytest.mark.parametrize("bits", [FILTER_BITS, 20])
def test_of_steps_between_items(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def told(values: Any, bounds: Any) -> Any:
        seen.append(bounds)
        return certain_floor(values, bounds)

    monkeypatch.setattr(batched_ranking, "certain_floor", told)
    ranking = BatchedRanking(
        Batch.flat(np.zeros(3, np.int64), np.array([0, 3])),
        grain=Fraction(1),
        scale=Fraction(3),
        resolution=Fraction(1, 8),
        law=LAPLACE,
        digits=KeyedDigits(SeededBits(6), 3),
        filter_bits=bits,
    )
    ranking._steps(np.array([[5.0, 0.0, -7.0]]))
    assert np.allclose(seen[0], np.array([[6.0 + 1.0, 1.0 + 8.0]]) * 24 * 2.0**-bits, rtol=1e-12, atol=0)
