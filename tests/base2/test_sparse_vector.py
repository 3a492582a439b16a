"""Both sparse vectors: exact output probabilities, and P(out | D) ≤ 2^cost·P(out | D') on all neighbours.

The library's program is enumerated choice by choice (`paths`) and compared, as rationals, with Ilvento 2020's
algorithm 4 on infinite noise, written out independently (`ideal`).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from fractions import Fraction
from itertools import product

import pytest
from freegap_evidence.assurance import base2_law as ideal

import freegap.base2.questions as questions
from freegap.base2 import Eta
from freegap.base2.arguments import array_units
from freegap.base2.draws import Draws
from freegap.base2.plan import Base2Plan
from freegap.base2.questions import Run
from freegap.base2.samplers import conditional_lazy_threshold_at
from freegap.base2.weights import Weights
from tests.base2.paths import Path, distribution, largest_ratio

Law = dict[Hashable, Fraction]


def plan_of(k: int, low: int, high: int, width: int, gaps: tuple[int, ...] = (), delta: int = 1) -> Base2Plan:
    """η₁ = Δ·log2(4/3), η₂ = 2kΔ·log2(4/3): after the divisions both noises have the base 3/4."""
    eta = (Eta(3, 2, delta), Eta(3, 2, 2 * k * delta))
    return Base2Plan.read(
        0, k=k, eta=eta, low=low, high=high, width=width, gaps=gaps, sensitivity=delta, resolution=1
    )


def program_law(plan: Base2Plan, answers: tuple[int, ...]) -> Law:
    def program(path: Path) -> tuple[int | None, ...]:
        run = Run(plan, path)
        released = []
        for answer in answers:
            if run.exhausted:
                break
            released.append(run.ask(answer))
        return tuple(released)

    return distribution(program)


def ideal_law(plan: Base2Plan, answers: tuple[int, ...]) -> Law:
    bases = (plan.threshold_weights.base, plan.answer_weights.base)
    law = ideal.sparse_vector(answers, k=plan.k, w=plan.width, gaps=plan.gaps, bases=bases)
    return dict(law.items())


def cost(plan: Base2Plan, output: Hashable) -> Fraction:
    """2^(η₁ + η₂·t/k) for t times ⊤, exactly: η₂/k is a whole multiple of log2(4/3) here."""
    assert isinstance(output, tuple)
    found = sum(outcome is not None for outcome in output)
    one, two = plan.eta
    return one.ratio * Fraction(two.divided(plan.k).ratio) ** found


def worst(plan: Base2Plan, laws: dict[tuple[int, ...], Law], delta: int) -> Fraction:
    """The largest P(output | D)/(2^cost·P(output | D')) over all neighbours: at most 1 if private."""
    return max(
        p / (cost(plan, output) * laws[other][output])
        for answers, law in laws.items()
        for other in neighbours(answers, laws, delta)
        for output, p in law.items()
    )


def neighbours(
    answers: tuple[int, ...], among: dict[tuple[int, ...], Law], delta: int
) -> Iterator[tuple[int, ...]]:
    """All answers that differ by at most Δ in each place."""
    for shift in product(range(-delta, delta + 1), repeat=len(answers)):
        other = tuple(a + s for a, s in zip(answers, shift, strict=True))
        if other in among:
            yield other


CASES = [
    # (k, low, high, width, gaps, Δ, number of questions)
    (1, -2, 2, 1, (), 1, 1),
    (1, -2, 2, 2, (), 1, 2),
    (2, -1, 1, 2, (), 1, 3),
    (1, -1, 2, 2, (), 1, 3),
    (1, -2, 2, 3, (), 2, 2),
    (1, -3, 3, 2, (1, 2), 1, 1),
    (1, -2, 2, 1, (1, 3, 4), 2, 1),
    (2, -1, 1, 2, (1, 2), 1, 2),
    (1, -1, 2, 2, (2,), 1, 3),
    (2, -1, 1, 1, (1,), 1, 3),
]


LONG_CASES = [(2, -2, 2, 3, (1, 2), 1, 3), (3, -2, 2, 2, (), 2, 3), (1, -4, 4, 6, (1, 2, 4, 7), 3, 2)]


@pytest.mark.parametrize(
    ("k", "low", "high", "width", "gaps", "delta", "n"),
    [*CASES, *(pytest.param(*case, marks=pytest.mark.long) for case in LONG_CASES)],
)
def test_exact_probabilities_and_exact_privacy(
    k: int, low: int, high: int, width: int, gaps: tuple[int, ...], delta: int, n: int
) -> None:
    plan = plan_of(k, low, high, width, gaps, delta)
    laws = {answers: program_law(plan, answers) for answers in product(range(low, high + 1), repeat=n)}
    for answers, law in laws.items():
        assert law == ideal_law(plan, answers)
    bound = worst(plan, laws, delta)
    assert bound <= 1
    # The bound bites: with a quarter less budget for each part it would be exceeded.
    assert bound > Fraction(9, 16)


def printed_reached_gap(weights: Weights, tau: int, gaps: tuple[int, ...], draws: Draws) -> int:
    """Ilvento 2020, algorithm 5, lines 8–13 as printed: every gap is tested given ν ≥ τ alone. Wrong."""
    for j, gap in enumerate(gaps):
        if not conditional_lazy_threshold_at(weights, tau + gap, tau, draws):
            return j
    return len(gaps)


def test_the_printed_algorithm_5_has_another_law(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_of(1, -2, 2, 3, gaps=(1, 2, 3, 4))
    right = program_law(plan, (0,))
    monkeypatch.setattr(questions, "reached_gap", printed_reached_gap)
    printed = program_law(plan, (0,))
    assert right == ideal_law(plan, (0,))
    assert printed != ideal_law(plan, (0,))
    # Its gaps are too small: every tail P(gap ≥ g_j), j ≥ 2, is below the true one.
    for j in (2, 3, 4):
        assert _at_least(printed, j) < _at_least(right, j)
    assert _at_least(printed, 1) == _at_least(right, 1)


def test_the_printed_algorithm_5_is_not_private(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each passed test costs anew, so that its loss grows with the number of gaps, past η₁ + η₂.

    Two questions below the threshold hold ρ up while they rise; the third falls, towards the threshold.
    """
    losses = []
    for count in (1, 2, 4):
        plan = plan_of(1, 0, 4, 5, gaps=tuple(range(4, 4 + count)))
        inputs: list[tuple[int, ...]] = [(0, 0, 4), (1, 1, 3)]
        assert worst(plan, {answers: program_law(plan, answers) for answers in inputs}, 1) <= 1
        with monkeypatch.context() as patch:
            patch.setattr(questions, "reached_gap", printed_reached_gap)
            losses.append(worst(plan, {answers: program_law(plan, answers) for answers in inputs}, 1))
    assert losses[-1] > Fraction(5, 4)  # beyond 2^(η₁ + η₂) by a quarter, with four gaps
    assert losses[1] < losses[2]


def _at_least(law: Law, gap: int) -> Fraction:
    return sum((p for output, p in law.items() if output != (None,) and output >= (gap,)), Fraction(0))  # type: ignore[operator]


def test_a_threshold_clamped_for_itself_is_not_private() -> None:
    """What the symmetric clamp is for: clamp ρ to a largest value instead, and a long run of ⊥ leaks."""
    plan = plan_of(1, -2, 2, 2)
    ratios = []
    for questions_asked in (1, 4, 8):
        laws = []
        for answer in (1, 2):
            law: Law = {}
            bases = (plan.threshold_weights.base, plan.answer_weights.base)
            for rho, p in ideal.discrete_laplace(bases[0], 2).items():
                limit = max(-2, min(2, rho))  # a largest value, whatever the answer is
                below = sum(q for nu, q in ideal.discrete_laplace(bases[1], 9).items() if answer + nu < limit)
                law["all ⊥"] = law.get("all ⊥", Fraction(0)) + p * Fraction(below) ** questions_asked
            laws.append(law)
        ratio = largest_ratio(laws[0], laws[1])
        assert ratio is not None
        ratios.append(ratio)
        ours = [
            program_law(plan, (answer,) * questions_asked)[(None,) * questions_asked] for answer in (1, 2)
        ]
        assert ours[0] <= plan.eta[0].ratio * ours[1]
    assert ratios[0] < ratios[1] < ratios[2]
    assert ratios[2] > plan.eta[0].ratio * plan.eta[1].ratio


def test_answers_off_the_grid_and_out_of_range_are_private_as_well() -> None:
    plan = plan_of(1, -1, 1, 2)
    halves = [Fraction(n, 2) for n in range(-5, 6)]  # beyond [−1, 1] on both sides
    laws: dict[tuple[Fraction, ...], Law] = {}
    for raw in product(halves, repeat=2):
        read, _ = array_units(list(raw), plan.resolution, plan.low, plan.high)
        laws[raw] = program_law(plan, tuple(read.tolist()))
    for (a, b), law in laws.items():
        for (c, d), other in laws.items():
            if abs(a - c) <= 1 and abs(b - d) <= 1:
                assert all(p <= cost(plan, output) * other[output] for output, p in law.items())


def test_the_noise_is_scaled_by_sensitivity_count_and_resolution() -> None:
    """2^(−η₁γ/Δ) and 2^(−η₂γ/(2kΔ)), as in Ilvento 2020, algorithm 2, lines 3 and 7."""
    one, two = Eta(3, 2, 2 * 5), Eta(5, 3, 2 * 3 * 2 * 5)
    plan = Base2Plan.read(
        "5/4", k=3, eta=(one, two), low=0, high=10, width="5/2", sensitivity="5/2", resolution="1/4"
    )
    delta, grid = Fraction(5, 2), Fraction(1, 4)
    assert plan.threshold_weights.base ** int(delta / grid) == one.base
    assert plan.answer_weights.base ** int(2 * 3 * delta / grid) == two.base
    # |ρ̂| is at most max(|0 − 5/4 − 5/2|, |10 − 5/4 + 5/2|) = 45/4, which is 45 steps; |τ| at most 10.
    assert (plan.threshold_weights.reach, plan.answer_weights.reach) == (45, 10)
