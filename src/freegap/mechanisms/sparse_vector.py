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

`form` is the mechanism as in the paper, for any kind of number, with its proof. The releases compute the same
function of the same noise by `freegap.exact.noisy_threshold`, here for all answers at once and in `online`
one by one; tests compare them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypedDict, Unpack, overload

from freegap.bits import BitSource, source_or_system
from freegap.charges import LedgerAndDataset, charged
from freegap.exact.digits import KeyedDigits
from freegap.exact.noisy_threshold import NoisyThreshold
from freegap.forms import Stream
from freegap.laws import NoiseName
from freegap.laws.labelled import LabelledNoise
from freegap.mechanisms.arguments import DEFAULT_RESOLUTION
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.values.above import AboveThreshold
from freegap.values.answers import Answers, read_answers
from freegap.values.batches import AboveBatch
from freegap.values.rationals import Rational
from freegap.values.thresholds import Offsets, subtract_threshold

_FIRST_CHUNK, _LARGEST_CHUNK = 1 << 10, 1 << 16


def form(plan: ThresholdPlan) -> Stream:
    """Ding 2020, algorithm 16, with any number of branches (one: algorithm 17), and equation 5.1.

    Answers are those less their thresholds. One entry for each question answered: None, or (gap or True,
    budget of the branch); gaps are not rounded. The state is what was spent, how many were above (where that
    matters), and the noisy threshold.
    """

    def start(noise: LabelledNoise[Any]) -> tuple[Fraction, int, Any]:
        return (
            plan.threshold_budget,
            0,
            getattr(noise, plan.law.name)(plan.threshold_scale, label="threshold"),
        )

    def step(
        state: tuple[Fraction, int, Any], answer: Any, noise: LabelledNoise[Any]
    ) -> tuple[Any, Any, bool]:
        spent, above, bar = state
        draw = getattr(noise, plan.law.name)
        noisy = [answer + draw(b.scale, label=j) - b.shift for j, b in enumerate(plan.branches)]
        entry = None
        for value, branch in zip(noisy, plan.branches, strict=True):
            if value - bar >= branch.margin:
                entry = (value - bar if plan.gap else True, branch.budget)
                above += 0 if plan.stop_after is None else 1
                break
        spent += entry_charge(entry)
        return (spent, above, bar), entry, plan.ends(spent, above)

    def start_shifts(direction: str) -> dict[str, Fraction]:
        return {"threshold": threshold_lift(plan, direction)}

    def step_shifts(direction: str, state: Any, entry: Any, answer: Any, neighbour: Any) -> dict[int, Any]:
        if entry is None:
            return {}
        branch = [branch.budget for branch in plan.branches].index(entry[1])
        return {branch: threshold_lift(plan, direction) + answer - neighbour}

    return Stream(
        start,
        step,
        start_shifts,
        step_shifts,
        direction="monotonic" if plan.monotonic else "each",
        start_charge=plan.threshold_budget,
        entry_charge=entry_charge,
    )


def entry_charge(entry: tuple[Any, Fraction] | None) -> Fraction:
    """⊥ is free; ⊤ costs the budget of its branch."""
    return Fraction(0) if entry is None else entry[1]


def threshold_lift(plan: ThresholdPlan, direction: str) -> Fraction:
    """By how much the threshold's noise rises: Δ; 0 if monotonic and no answer rises (Ding 2020, footnote
    5)."""
    return Fraction(0) if plan.monotonic and direction == "decreasing" else plan.sensitivity


class _ThresholdArguments(TypedDict, total=False):
    """The further arguments that both mechanisms have."""

    epsilon: Rational | None
    rho: Rational | None
    sensitivity: Rational
    monotonic: bool
    noise: NoiseName
    resolution: Rational
    ledger: LedgerAndDataset | None
    bits: BitSource | None


class _PlainArguments(_ThresholdArguments, total=False):
    """The further arguments of `sparse_vector`."""

    share: Rational | None
    gap: bool


class _AdaptiveArguments(_ThresholdArguments, total=False):
    """The further arguments of `adaptive_sparse_vector`."""

    branches: int
    margin: Rational
    stop_after: int | None
    share: Rational | str | None


@overload
def sparse_vector(
    answers: Any, threshold: Any, *, k: int, size: None = None, **further: Unpack[_PlainArguments]
) -> AboveThreshold: ...
@overload
def sparse_vector(
    answers: Any, threshold: Any, *, k: int, size: int, **further: Unpack[_PlainArguments]
) -> AboveBatch: ...
def sparse_vector(
    answers: Any,
    threshold: Any,
    *,
    k: int,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    sensitivity: Rational = 1,
    monotonic: bool = False,
    noise: NoiseName = "exponential",
    share: Rational | None = None,
    gap: bool = True,
    resolution: Rational = DEFAULT_RESOLUTION,
    size: int | None = None,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> AboveThreshold | AboveBatch:
    """The first k questions whose answers are above a threshold, each with its gap to the threshold.

    answers: as in `noisy_top_k`. They are taken in order, until k were above the threshold. Labelled ones are
        taken in the order of their labels; pass a list to choose the order yourself.
    threshold: a number, or one for each answer: a list for a list, a dict or a Series for labelled answers.
        One for each is rounded down to the resolution, as the answers are.
    epsilon: the most that may be spent; less is charged where fewer than k were above (`spent`).
    rho: the budget in zero-concentrated privacy instead: noise for the ε that it allows, √(2ρ), and the whole
        charge whatever is found.
    noise: "exponential" (least noise), "laplace", or "geometric" (whole numbers: gaps are whole numbers).
    share: the part θ of ε that goes to the threshold; left out, the one that makes gaps most accurate.
    gap: False to release only which questions were above.
    size: so many independent runs over the same answers, as one `AboveBatch`; what each has spent adds up, at
        most to `size` times ε. For one run over each of many populations see `sparse_vector_each`.
    ledger: a ledger and the name of a dataset in it, (fg.Ledger(), "shop"): charged there, reserved first.

    >>> import freegap as fg
    >>> r = fg.sparse_vector([2, 950, 3, 990], 500, k=2, epsilon=1, monotonic=True, bits=fg.SeededBits(1))
    >>> r.above, r.spent
    ((False, True, False, True), Fraction(1, 1))
    """
    plan = ThresholdPlan.read(
        "sparse_vector",
        k=k,
        epsilon=epsilon,
        rho=rho,
        sensitivity=sensitivity,
        monotonic=monotonic,
        noise=noise,
        resolution=resolution,
        share=share,
        gap=gap,
    )
    return _released(plan, answers, threshold, size, ledger, bits)


@overload
def adaptive_sparse_vector(
    answers: Any, threshold: Any, *, k: int, size: None = None, **further: Unpack[_AdaptiveArguments]
) -> AboveThreshold: ...
@overload
def adaptive_sparse_vector(
    answers: Any, threshold: Any, *, k: int, size: int, **further: Unpack[_AdaptiveArguments]
) -> AboveBatch: ...
def adaptive_sparse_vector(
    answers: Any,
    threshold: Any,
    *,
    k: int,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    branches: int = 1,
    margin: Rational = 2,
    stop_after: int | None = None,
    sensitivity: Rational = 1,
    monotonic: bool = False,
    noise: NoiseName = "exponential",
    share: Rational | str | None = None,
    resolution: Rational = DEFAULT_RESOLUTION,
    size: int | None = None,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> AboveThreshold | AboveBatch:
    """Sparse vector that spends less on answers far above the threshold, and so finds more of them.

    Each question is first tried with a fraction of the budget (ε₁/2^branches, …, ε₁/2), and is above by such
    a branch only if it is above by `margin` standard deviations of that branch's noise; then with ε₁.

    k: how many answers above the threshold the budget suffices for in any case.
    branches: how often the budget is halved; the paper has 1.
    margin: in standard deviations, rounded up: to 2^-20 for Laplace noise, to whole numbers for geometric.
    stop_after: stop after this many answers above, and keep the rest of the budget.
    share: the part θ of ε for the threshold, or "middle" or "top" for the best one for that branch.
    size, ledger: as in `sparse_vector`.

    >>> import freegap as fg
    >>> r = fg.adaptive_sparse_vector([900] * 9, 100, k=2, epsilon=1, monotonic=True, bits=fg.SeededBits(1))
    >>> len(r.indices), set(r.branches)
    (3, {1})
    """
    plan = ThresholdPlan.read(
        "adaptive_sparse_vector",
        k=k,
        epsilon=epsilon,
        rho=rho,
        sensitivity=sensitivity,
        monotonic=monotonic,
        noise=noise,
        resolution=resolution,
        share=share,
        branches=branches,
        margin=margin,
        stop_after=stop_after,
    )
    return _released(plan, answers, threshold, size, ledger, bits)


def _released(
    plan: ThresholdPlan,
    answers: Any,
    threshold: Any,
    size: int | None,
    ledger: LedgerAndDataset | None,
    bits: BitSource | None,
) -> AboveThreshold | AboveBatch:
    if size is not None:
        from freegap.mechanisms.many_populations import repeated_runs

        return repeated_runs(plan, answers, threshold, size, ledger, bits)
    read, offsets = read_offsets(plan, answers, threshold)
    source = source_or_system(bits)
    return charged(ledger, plan, lambda: draw_above(plan, read, offsets, source)[0])


def read_offsets(plan: ThresholdPlan, answers: Any, threshold: Any) -> tuple[Answers, Offsets]:
    """The answers, and how far they are above the threshold; nothing that comes later can be refused."""
    read = read_answers(answers, plan.resolution)
    return read, subtract_threshold(read, threshold, plan.resolution, discrete=plan.law.lattice)


def noisy_threshold(plan: ThresholdPlan, digits: KeyedDigits) -> NoisyThreshold:
    """The noisy threshold of a plan."""
    return NoisyThreshold(
        law=plan.law,
        threshold_scale=plan.threshold_scale,
        branches=plan.branches,
        resolution=plan.resolution,
        digits=digits,
    )


@dataclass(frozen=True, slots=True)
class RunAbove:
    """The questions above, their branches and gaps, how many questions were answered, and what that costs."""

    places: list[int]
    numbers: list[int]
    gaps: list[int]
    answered: int
    spent: Fraction


def found_above(plan: ThresholdPlan, digits: KeyedDigits, offsets: Offsets) -> RunAbove:
    """Compare questions with the noisy threshold of these digits, in order, until the plan ends."""
    bar = noisy_threshold(plan, digits)
    spent = plan.threshold_budget
    places: list[int] = []
    numbers: list[int] = []
    gaps: list[int] = []
    begin, size, n = 0, _FIRST_CHUNK, len(offsets.values)
    done = False
    while begin < n and not done:
        doubles = offsets.doubles(begin, begin + size)
        passed, branches, gap_of = bar.many(begin, doubles, lambda j, b=begin: offsets.exact(b + j))  # type: ignore[misc]
        for j, (place, number) in enumerate(zip(passed.tolist(), branches.tolist(), strict=True)):
            places.append(begin + place)
            numbers.append(number)
            if plan.gap:
                gaps.append(gap_of(j))
            spent += entry_charge((True, plan.branches[number].budget))
            done = plan.ends(spent, len(places))
            if done:
                break
        begin += len(doubles)
        size = min(2 * size, _LARGEST_CHUNK)
    return RunAbove(places, numbers, gaps, places[-1] + 1 if done else n, spent)


def draw_above(
    plan: ThresholdPlan, read: Answers, offsets: Offsets, source: BitSource
) -> tuple[AboveThreshold, list[int]]:
    """The release of both mechanisms, and the places of what was above among the answers."""
    found = found_above(plan, KeyedDigits(source, 0), offsets)
    last = len(plan.branches) - 1
    release = AboveThreshold(
        plan=plan,
        questions=read.questions(found.answered),
        indices=read.indices(found.places),
        labels=read.labels(found.places),
        gap_multiples=tuple(found.gaps) if plan.gap else None,
        branches=tuple(last - number for number in found.numbers),
        thresholds=tuple(offsets.threshold(i) for i in found.places),
        resolution=plan.resolution,
        among=len(read),
        spent=plan.charge(found.spent),
        private=source.private,
    )
    return release, found.places
