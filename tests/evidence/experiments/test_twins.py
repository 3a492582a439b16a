"""The vectorised twins: on the same noise the same output as the mechanisms' programs, and the same law."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from freegap_evidence.assurance.fit import ALPHA
from freegap_evidence.experiments.coverage import lower_ends
from freegap_evidence.experiments.data.sets import DataSet
from freegap_evidence.experiments.experiment import ExperimentSetting
from freegap_evidence.experiments.simulate import estimates, ranked
from freegap_evidence.experiments.simulate.above import answer, draw_threshold_noise, plan
from freegap_evidence.experiments.simulate.noise import chunks, reach
from freegap_evidence.experiments.simulate.questions import asked

import freegap as fg
from freegap.bits import SeededBits
from freegap.estimate import fusion
from freegap.estimate.bounds import gap_noise
from freegap.estimate.intervals import error_bars
from freegap.laws import EXPONENTIAL, Law, law_named
from freegap.laws.labelled import LabelledNoise
from freegap.mechanisms import hybrids, sparse_vector, top_k
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k_plan import TopKPlan
from tests.distributions import same_distribution_p

RUNS = 60
ANSWERS = np.array([9.0, 7.0, 7.0, 4.0, 3.0, 1.0, 0.0])
EPSILON = Fraction(3, 2)


class Scripted(LabelledNoise[float]):
    """Noise that was drawn before, by label."""

    def __init__(self, values: dict[Any, float]) -> None:
        self._values = values

    def draw(
        self, law: Law, scale: Any, label: Any = None, *, resolution: Any = None, step: Any = None
    ) -> float:
        return self._values[label]


@pytest.mark.parametrize("noise", ["laplace", "exponential", "geometric"])
@pytest.mark.parametrize(("branches", "monotonic"), [(0, True), (1, True), (3, True), (0, False), (1, False)])
def test_sparse_vector_on_the_same_noise(noise: str, branches: int, monotonic: bool) -> None:
    rng = np.random.default_rng(7)
    budget = plan(2, EPSILON, noise=noise, branches=branches, monotonic=monotonic)
    drawn = draw_threshold_noise(budget, RUNS, len(ANSWERS), rng)
    threshold = 5.0
    made = answer(np.broadcast_to(ANSWERS - threshold, (RUNS, len(ANSWERS))), budget, drawn)
    stopped = 0
    for run in range(RUNS):
        values: dict[Any, float] = {"threshold": float(drawn.threshold[run])}
        for i in range(len(ANSWERS)):
            values |= {(i, j): float(own[run, i]) for j, own in enumerate(drawn.answers)}
        form = sparse_vector.form(budget)
        output = form.program([float(a) - threshold for a in ANSWERS], Scripted(values))
        above = [i for i, entry in enumerate(output) if entry]
        assert np.flatnonzero(made.above[run]).tolist() == above
        assert form.charge is not None
        assert made.spent()[run] == pytest.approx(float(form.charge(output)))
        for i in above:
            assert made.gap[run, i] == pytest.approx(output[i][0])
            assert budget.branches[made.branch[run, i]].budget == output[i][1]
        stopped += len(output) < len(ANSWERS)
    assert stopped  # runs that end early are among those compared


@pytest.mark.parametrize("law", ["laplace", "exponential"])
def test_top_k_and_its_hybrid_on_the_same_noise(law: str) -> None:
    rng = np.random.default_rng(8)
    k, threshold = 3, 4.5
    drawn = law_named(law).sample(rng, 4.0, (RUNS, len(ANSWERS) + 1))
    plain = ranked.top_k(ANSWERS, k, drawn[:, 1:])
    hybrid = ranked.hybrid_top_k(ANSWERS, threshold, k, drawn)
    answers = [float(a) for a in ANSWERS]
    assert hybrid.reached is not None
    assert 0 < hybrid.reached.sum() < RUNS
    budget = TopKPlan.read("noisy_top_k", k=k, epsilon=1, noise=law)
    for run in range(RUNS):
        noise = Scripted(dict(enumerate(drawn[run, 1:].tolist())))
        items, gaps = top_k.form(budget).program(answers, noise)
        assert plain.items[run].tolist() == items
        assert plain.gaps[run] == pytest.approx(gaps)
        noise = Scripted(dict(enumerate(drawn[run].tolist())))
        items, gaps = hybrids.top_k_form(budget, threshold).program(answers, noise)
        own = hybrid.items[run][hybrid.released[run]] + 1
        assert own.tolist() == [i for i in items if i]
        assert bool(hybrid.reached[run]) == (0 in items)
        assert hybrid.gaps[run][: len(own)] == pytest.approx(gaps[: len(own)])


@pytest.mark.parametrize("noise", ["laplace", "exponential"])
def test_hybrid_sparse_vector_on_the_same_noise(noise: str) -> None:
    rng = np.random.default_rng(9)
    budget = plan(3, EPSILON, noise=noise)
    drawn = draw_threshold_noise(budget, RUNS, len(ANSWERS), rng)
    made = ranked.hybrid_sparse_vector(ANSWERS, 4.5, budget, drawn)
    assert made.released.any()
    assert not made.released.all()
    for run in range(RUNS):
        values: dict[Any, float] = {"threshold": float(drawn.threshold[run])}
        values |= dict(enumerate(drawn.answers[-1][run].tolist()))
        form = hybrids.sparse_vector_form(budget, 4.5)
        items, gaps = form.program([float(a) for a in ANSWERS], Scripted(values))
        assert made.items[run][made.released[run]].tolist() == items
        assert made.gaps[run][made.released[run]] == pytest.approx(gaps)
        assert hybrids.sparse_vector_charge(budget, (items, gaps)) <= EPSILON


def test_fusion_is_the_library_s() -> None:
    rng = np.random.default_rng(10)
    measured, gaps = rng.normal(size=(20, 5)), rng.exponential(size=(20, 4))
    fused = estimates.blue(measured, gaps, 0.5)
    by_gap = estimates.inverse_variance(measured, 2.0, measured + 1, 3.0)
    for row in range(20):
        exact = fusion.blue(
            [Fraction(x) for x in measured[row]], [Fraction(g) for g in gaps[row]], Fraction(1, 2)
        )
        assert fused[row] == pytest.approx([float(x) for x in exact])
        one = fusion.inverse_variance(
            [(Fraction(measured[row, 0]), Fraction(2)), (Fraction(measured[row, 0] + 1), Fraction(3))]
        )
        assert by_gap[row, 0] == pytest.approx(float(one[0]))


def test_moving_towards_the_gaps_is_the_library_s() -> None:
    rng = np.random.default_rng(11)
    measured, best = rng.normal(size=(20, 5)), rng.normal(size=(20, 5))
    given: dict[str, Any] = {"weight": 0.5, "dimension": 4}
    moved = estimates.fused(measured, best, variance=2.0, **given)
    parts = set()
    for row in range(20):
        exact = fusion.fused(
            [Fraction(x) for x in measured[row]],
            [Fraction(x) for x in best[row]],
            variance=Fraction(2),
            weight=Fraction(1, 2),
            dimension=4,
        )
        assert moved[row] == pytest.approx([float(x) for x in exact.estimates])
        parts.add(moved[row] == pytest.approx(best[row]))
    assert parts == {True, False}


def test_error_bars_are_the_library_s() -> None:
    """Releases, and the lower ends that the experiment computes from their gaps."""
    bits, k = fg.SeededBits(12), 3
    seen = set()
    for threshold in (10, 60, 90):
        for _ in range(6):
            answers = [100, 80, 62, 61, 20, 5]
            found = fg.hybrid_sparse_vector(answers, threshold, k=k, epsilon=1, monotonic=True, bits=bits)
            assert isinstance(found.plan, ThresholdPlan)
            noise, number = gap_noise(found.plan, 0), len(found.labels)
            if not number:
                continue
            gaps = np.full((1, k), -1.0)
            gaps[0, :number] = [float(gap) for gap in found.selected_gaps]
            bars = error_bars(noise, found=number, among=6)
            floors = np.full(k + 1, bars.floor)
            low = lower_ends(threshold + gaps, gaps, gaps >= 0, k, bars, floors)
            expected = [end for end, _ in fg.confidence_intervals(found)]
            assert low[0, :number] == pytest.approx(expected, abs=1e-6)
            seen |= {(number == k, bool(end > threshold)) for end in low[0, :number]}
    assert seen == {(True, True), (True, False), (False, True), (False, False)}


def _cell(items: list[int], gaps: list[float]) -> tuple[Any, ...]:
    return (*items, *(min(int(gap // 2), 6) for gap in gaps))


def test_top_k_has_the_law_of_the_released_mechanism() -> None:
    """α = 1e-9; power: noise 25 % too wide is rejected."""
    answers, k, runs = [3, 2, 0], 2, 4_000
    source = SeededBits(11)
    exact: Counter[Any] = Counter()
    for _ in range(runs):
        made = fg.noisy_top_k(answers, k, epsilon=1, monotonic=True, bits=source)
        exact[_cell(list(made.indices), [float(g) for g in made.gaps])] += 1

    def p_value(wrong: float) -> float:
        drawn = EXPONENTIAL.sample(np.random.default_rng(12), wrong * k, (10 * runs, 3))
        twin = ranked.top_k(np.array(answers, dtype=float), k, drawn)
        seen = Counter(_cell(i, g) for i, g in zip(twin.items.tolist(), twin.gaps.tolist(), strict=True))
        return same_distribution_p(exact, seen)

    assert p_value(1.0) > ALPHA
    assert p_value(1.25) < ALPHA


def test_adaptive_sparse_vector_has_the_law_of_the_released_mechanism() -> None:
    """α = 1e-9; power: noise of the answers 30 % too wide is rejected."""
    answers, runs = [9, 3, -2, 12], 3_000
    source = SeededBits(13)
    exact: Counter[Any] = Counter()
    for _ in range(runs):
        made = fg.adaptive_sparse_vector(answers, 2, k=2, epsilon=1, monotonic=True, bits=source)
        exact[_cell([*made.indices, *made.branches], [float(g) / 4 for g in made.gaps if g is not None])] += 1

    def p_value(wrong: float) -> float:
        budget = plan(2, Fraction(1), branches=1)
        drawn = draw_threshold_noise(budget, 10 * runs, len(answers), np.random.default_rng(14))
        for own in drawn.answers:
            own *= wrong
        offsets = np.broadcast_to(np.array(answers) - 2.0, (10 * runs, len(answers)))
        twin = answer(offsets, budget, drawn)
        seen: Counter[Any] = Counter()
        for above, branch, gap in zip(twin.above, twin.branch, twin.gap, strict=True):
            places = np.flatnonzero(above)
            seen[_cell([*places.tolist(), *(1 - branch[places]).tolist()], (gap[places] / 4).tolist())] += 1
        return same_distribution_p(exact, seen)

    assert p_value(1.0) > ALPHA
    assert p_value(1.3) < ALPHA


def test_the_exponential_mechanism_chooses_by_the_exponents() -> None:
    rng = np.random.default_rng(15)
    exponents = np.array([0.0, 1.0, 2.0])
    runs = 200_000
    chosen, gaps = ranked.choose(exponents, rng.gumbel(size=(runs, 3)))
    wanted = np.exp(exponents) / np.exp(exponents).sum()
    assert np.bincount(chosen) / runs == pytest.approx(wanted, abs=6 / np.sqrt(runs))
    theta = exponents[2] - np.log(np.exp(exponents[:2]).sum())
    mean = gaps[chosen == 2].mean()
    assert mean == pytest.approx(fg.expected_gap(theta), abs=0.02)  # theorem 5.13; one ε off would be 0.3


def test_leaving_out_the_rest_changes_nothing_visible() -> None:
    """The law of the number of wrong answers, with the far items and without; power: too near is seen."""
    counts = np.concatenate([np.arange(300, 100, -10), np.full(400, 20)])
    budget = plan(3, Fraction(1, 2))
    lines = np.array([200.0])
    runs = 4000

    def answers(rng: np.random.Generator, kept: Any) -> Counter[Any]:
        seen: Counter[Any] = Counter()
        for some in asked(kept, budget, lines, runs=runs, rng=rng):
            false = (some.answered.above & (some.counts < 200)).sum(axis=1)
            seen.update(false.tolist())
        return seen

    whole = Counter[Any]()
    for size in chunks(runs, len(counts)):
        rng = np.random.default_rng(16)
        ordered = rng.permuted(np.broadcast_to(counts.astype(float), (size, len(counts))), axis=1)
        noise = draw_threshold_noise(budget, size, len(counts), rng)
        made = answer(ordered - 200, budget, noise)
        whole.update((made.above & (ordered < 200)).sum(axis=1).tolist())
    assert same_distribution_p(whole, answers(np.random.default_rng(17), counts)) > ALPHA
    assert same_distribution_p(whole, answers(np.random.default_rng(18), counts[counts >= 195])) < ALPHA
    assert reach(2.0, 3.0, chances=10) == pytest.approx(5 * np.log(2e7))


def test_asking_the_first_of_a_random_order_alone_changes_nothing() -> None:
    """Where a run has stopped long before: the law of the questions asked; too short a part is noticed."""
    counts = np.concatenate([np.full(300, 400), np.full(300, 160)])
    budget = plan(2, Fraction(1))

    def last(most: int | None, seed: int) -> Counter[Any]:
        seen: Counter[Any] = Counter()
        rng = np.random.default_rng(seed)
        for some in asked(counts, budget, np.array([200.0]), runs=4000, rng=rng, most=most):
            assert most is None or some.counts.shape[1] == most
            seen.update((some.answered.order < 2).sum(axis=1).tolist())
        return seen

    far = last(None, 1)
    asked_most = max(far)
    assert asked_most < 60
    assert same_distribution_p(far, last(60, 2)) > ALPHA
    assert same_distribution_p(far, last(4, 3)) < ALPHA


def test_a_point_has_its_own_generator() -> None:
    setting = ExperimentSetting(name="x", runs=1, seed=3, parameters={}, data=())
    assert setting.rng("a", 1).random() == setting.rng("a", 1).random()
    assert setting.rng("a", 1).random() != setting.rng("a", 2).random()


def test_data_sets_are_told_apart_by_their_counts() -> None:
    one, other = (DataSet("x", "made", np.array(c), 9) for c in ([3, 2], [3, 1]))
    assert one.digest != other.digest
