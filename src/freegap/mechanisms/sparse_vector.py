"""Sparse vector with gap (Ding 2020, algorithm 17) and its adaptive form (Ding 2020, algorithm 16; Ding et
al. 2019, algorithm 2).

Input    answers q_1, q_2, … of sensitivity Δ, rounded down to the grid γ; a public threshold T, or one each
Noise    threshold: scale Δ/ε₀; answers: scale cΔ/ε₁ in the base branch, cΔ/(ε₁/2^j) in the branch that halves
         j times. Laplace; exponential less its mean; or geometric less a whole number near its mean
Release  for each question ⊥, or ⊤ with the gap q̃_i − T̃ (and the branch), until less than ε₁ is left
Charge   ε₀ + the budgets of the branches that answered ⊤; ⊥ is free
Theorem  Ding 2020, theorem 5.3 with the alignment of equation 5.1 (footnote 5 if monotonic); for exponential
         and geometric noise section 5.4.2. Algorithm 16's mean of a geometric variable is one too large,
         which changes nothing in a comparison; a gap that is a whole number is shifted by a whole number.

`program` is the mechanism as in the paper, for any kind of number, and `alignment` its proof. The releases
compute the same function of the same noise by `freegap.exact.comparing`; a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from freegap.bits import BitSource, source_or_system
from freegap.charging import LedgerAndDataset, charged
from freegap.exact.comparing import NoisyThreshold
from freegap.exact.digits import KeyedDigits
from freegap.laws import NoiseName
from freegap.laws.labelled import LabelledNoise
from freegap.mechanisms.arguments import DEFAULT_RESOLUTION, flag_argument
from freegap.mechanisms.threshold_plan import ThresholdPlan, plan_threshold
from freegap.values.above import AboveThreshold
from freegap.values.answers import Answers, read_answers
from freegap.values.rationals import Rational, count_argument
from freegap.values.thresholds import Offsets, subtract_threshold

__all__ = [
    "adaptive_sparse_vector",
    "alignment",
    "charge",
    "draw_above",
    "noisy_threshold",
    "program",
    "read_offsets",
    "sparse_vector",
    "threshold_lift",
]

_FIRST_CHUNK, _LARGEST_CHUNK = 1 << 10, 1 << 16


def program(
    answers: Sequence[Any],
    noise: LabelledNoise[Any],
    *,
    plan: ThresholdPlan,
    threshold: Any = 0,
    gap: bool = True,
) -> list[Any]:
    """Ding 2020, algorithm 16, with any number of branches (one: algorithm 17); gaps not rounded.

    One entry for each question answered: None, or (gap or True, budget of the branch).
    """
    draw = getattr(noise, plan.law.name)
    bar = threshold + draw(plan.threshold_scale, label="threshold")
    spent = plan.threshold_budget
    output: list[Any] = []
    for i, answer in enumerate(answers):
        entry = None
        noisy = [answer + draw(b.scale, label=(i, j)) - b.shift for j, b in enumerate(plan.branches)]
        for value, branch in zip(noisy, plan.branches, strict=True):
            if value - bar >= branch.margin:
                entry = (value - bar if gap else True, branch.budget)
                spent += branch.budget
                break
        output.append(entry)
        if spent > plan.epsilon - plan.answer_budget:
            break
    return output


def charge(output: Sequence[Any], *, plan: ThresholdPlan) -> Fraction:
    """ε₀ and the budget of each branch that answered ⊤."""
    return plan.threshold_budget + sum((entry[1] for entry in output if entry), Fraction(0))


def threshold_lift(answers: Sequence[Any], neighbour: Sequence[Any], plan: ThresholdPlan) -> Fraction:
    """By how much the threshold's noise rises: Δ; 0 if monotonic and no answer rises (Ding 2020, footnote
    5)."""
    falling = plan.monotonic and all(a >= b for a, b in zip(answers, neighbour, strict=True))
    return Fraction(0) if falling else plan.sensitivity


def alignment(
    answers: Sequence[Any],
    neighbour: Sequence[Any],
    output: Sequence[Any],
    noise: Mapping[Any, Any],
    *,
    plan: ThresholdPlan,
) -> dict[Any, Any]:
    """Ding 2020, equation 5.1: raise the threshold, and with it what was above it by the branch that had
    it."""
    lift = threshold_lift(answers, neighbour, plan)
    budgets = [branch.budget for branch in plan.branches]
    moved: dict[Any, Any] = {"threshold": noise["threshold"] + lift}
    for i, entry in enumerate(output):
        if entry is not None:
            label = (i, budgets.index(entry[1]))
            moved[label] = noise[label] + lift + answers[i] - neighbour[i]
    return moved


def sparse_vector(
    answers: Any,
    threshold: Any,
    *,
    k: int,
    epsilon: Rational,
    sensitivity: Rational = 1,
    monotonic: bool = False,
    noise: NoiseName = "exponential",
    share: Rational | None = None,
    gap: bool = True,
    resolution: Rational = DEFAULT_RESOLUTION,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> AboveThreshold:
    """The first k questions whose answers are above a threshold, each with its gap to the threshold.

    answers: as in `noisy_top_k`. They are taken in order, until k were above the threshold. Labelled ones are
        taken in the order of their labels; pass a list to choose the order yourself.
    threshold: a number, or one for each answer: a list for a list, a dict or a Series for labelled answers.
        One for each is rounded down to the resolution, as the answers are.
    epsilon: the most that may be spent; less is charged where fewer than k were above (`spent`).
    noise: "exponential" (least noise), "laplace", or "geometric" (whole numbers: gaps are whole numbers).
    share: the part θ of ε that goes to the threshold; left out, the one that makes gaps most accurate.
    gap: False to release only which questions were above.
    ledger: a ledger and the name of a dataset in it, (fg.Ledger(), "shop"): charged there, reserved first.

    >>> import freegap as fg
    >>> r = fg.sparse_vector([2, 950, 3, 990], 500, k=2, epsilon=1, monotonic=True, bits=fg.SeededBits(1))
    >>> r.above, r.spent
    ((False, True, False, True), Fraction(1, 1))
    """
    plan = plan_threshold(
        k=k,
        epsilon=epsilon,
        sensitivity=sensitivity,
        monotonic=monotonic,
        noise=noise,
        resolution=resolution,
        share=share,
    )
    wants_gap = flag_argument("gap", gap)
    read, offsets = read_offsets(answers, threshold, plan)
    source = source_or_system(bits)
    return charged(
        ledger,
        "sparse_vector",
        plan.epsilon,
        plan.parameters(),
        lambda: draw_above(read, offsets, plan, "sparse_vector", source, gap=wants_gap)[0],
    )


def adaptive_sparse_vector(
    answers: Any,
    threshold: Any,
    *,
    k: int,
    epsilon: Rational,
    branches: int = 1,
    margin: Rational = 2,
    stop_after: int | None = None,
    sensitivity: Rational = 1,
    monotonic: bool = False,
    noise: NoiseName = "exponential",
    share: Rational | str | None = None,
    resolution: Rational = DEFAULT_RESOLUTION,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> AboveThreshold:
    """Sparse vector that spends less on answers far above the threshold, and so finds more of them.

    Each question is first tried with a fraction of the budget (ε₁/2^branches, …, ε₁/2), and is above by such
    a branch only if it is above by `margin` standard deviations of that branch's noise; then with ε₁.

    k: how many answers above the threshold the budget suffices for in any case.
    branches: how often the budget is halved; the paper has 1.
    margin: in standard deviations, rounded up: to 2^-20 for Laplace noise, to whole numbers for geometric.
    stop_after: stop after this many answers above, and keep the rest of the budget.
    share: the part θ of ε for the threshold, or "middle" or "top" for the best one for that branch.
    ledger: as in `sparse_vector`.

    >>> import freegap as fg
    >>> r = fg.adaptive_sparse_vector([900] * 9, 100, k=2, epsilon=1, monotonic=True, bits=fg.SeededBits(1))
    >>> len(r.indices), set(r.branches)
    (3, {1})
    """
    plan = plan_threshold(
        k=k,
        epsilon=epsilon,
        sensitivity=sensitivity,
        monotonic=monotonic,
        noise=noise,
        resolution=resolution,
        share=share,
        halvings=branches,
        margin=margin,
    )
    stop = None if stop_after is None else count_argument("stop_after", stop_after)
    read, offsets = read_offsets(answers, threshold, plan)
    source = source_or_system(bits)
    return charged(
        ledger,
        "adaptive_sparse_vector",
        plan.epsilon,
        plan.parameters(),
        lambda: draw_above(read, offsets, plan, "adaptive_sparse_vector", source, stop_after=stop)[0],
    )


def noisy_threshold(plan: ThresholdPlan, source: BitSource) -> NoisyThreshold:
    """The noisy threshold of a plan, with fresh digits from a source."""
    return NoisyThreshold(
        law=plan.law,
        threshold_scale=plan.threshold_scale,
        branches=plan.branches,
        resolution=plan.resolution,
        digits=KeyedDigits(source, 0),
    )


def read_offsets(answers: Any, threshold: Any, plan: ThresholdPlan) -> tuple[Answers, Offsets]:
    """The answers, and how far they are above the threshold; nothing that comes later can be refused."""
    read = read_answers(answers, plan.resolution)
    return read, subtract_threshold(read, threshold, plan.resolution, discrete=plan.law.lattice)


def draw_above(
    read: Answers,
    offsets: Offsets,
    plan: ThresholdPlan,
    mechanism: str,
    source: BitSource,
    *,
    gap: bool = True,
    stop_after: int | None = None,
) -> tuple[AboveThreshold, list[int]]:
    """The release of both mechanisms, and the places of what was above among the answers."""
    bar = noisy_threshold(plan, source)
    spent = plan.threshold_budget
    places: list[int] = []
    numbers: list[int] = []
    gaps: list[int] = []
    begin, size = 0, _FIRST_CHUNK
    done = False
    while begin < len(read) and not done:
        doubles = offsets.doubles(begin, begin + size)
        passed, branches, gap_of = bar.many(begin, doubles, lambda j, b=begin: offsets.exact(b + j))  # type: ignore[misc]
        for j, (place, number) in enumerate(zip(passed.tolist(), branches.tolist(), strict=True)):
            places.append(begin + place)
            numbers.append(number)
            if gap:
                gaps.append(gap_of(j))
            spent += plan.branches[number].budget
            done = spent > plan.epsilon - plan.answer_budget or len(places) == stop_after
            if done:
                break
        begin += len(doubles)
        size = min(2 * size, _LARGEST_CHUNK)
    last = len(plan.branches) - 1
    release = AboveThreshold(
        questions=read.questions(places[-1] + 1 if done else len(read)),
        indices=read.indices(places),
        labels=read.labels(places),
        gap_multiples=tuple(gaps) if gap else None,
        branches=tuple(last - number for number in numbers),
        thresholds=tuple(offsets.threshold(i) for i in places),
        resolution=plan.resolution,
        mechanism=mechanism,
        epsilon=plan.epsilon,
        spent=spent,
        private=source.private,
        parameters=plan.parameters(),
    )
    return release, places
