"""Noisy top-k with gap (Ding 2020, algorithms 18 and 26; Ding et al. 2023, algorithms 1 and 2).

Input    answers q_1 … q_n, each of sensitivity Δ, rounded down to the grid γ (Ding et al. 2023, lemma 4.2)
Noise    each answer: exponential or Laplace of scale cΔk/ε; c = 1 if monotonic, else 2
Release  the positions j_1 … j_k of the k largest noisy answers, in order, and the k gaps between
         each and the next one (the last to place k+1), rounded down to the grid
Charge   ε
Theorem  Laplace: Ding 2020, theorem 5.7 with the alignment of equation 5.2; exponential: section 5.5.2, with
         equation 5.4 corrected (see `shifts`). Rounding the gaps is post-processing (Ding et al. 2023,
         theorem 4.3).

Under ρ (`rho=`), of the same answers:

Noise    each answer: Gumbel of scale b ≥ cΔ·√(K/8ρ), K = k + 1, or k where the last gap is not released
Release  the same; with `last_gap=False` less the gap to place k+1
Charge   K·(cΔ/b)²/8 in ρ, a public number, at most ρ
Theorem  docs/mathematics/concentrated.md, which is ours: the K largest in order with the K − 1 gaps between
         them are K·r²/8-zCDP, for logarithms of weights that move within a range r = cΔ/b. For K = k + 1 the
         name of the last is not released. Rounding is post-processing, as above.

Without the last gap k = n is allowed: under ρ the theorem has K ≤ n. Under ε, by one answer more, −B, that
nobody moves: the release on the n + 1 is ε-private, and the chance that the added one is not the last goes to
0 as B grows, so that the release on the n is a limit of ε-private ones.

Without gaps (`gap=False`) the same, less the gaps, in either measure; K is then k. Then k = n is allowed as
well: the last place follows from the others, and the noise is wider than that of k = n − 1. And under ε noise
may be geometric, with ties broken by coin:

Input    whole answers q_1 … q_n of whole sensitivity Δ
Noise    each answer: Y_i on {0, 1, …} with P(Y_i ≥ m) = e^(−m/b), b = cΔk/ε (Geo(1 − e^(−ε/2)) in the lemma)
Release  the positions of the k largest q_i + Y_i in order, those that are equal in a uniformly random order
Charge   ε
Theorem  Ding et al. 2023, lemma 4.1, which has k = 1, c = 2, Δ = 1; for any k by the same argument: the law
         of the output is that of exponential noise. Let X_i be exponential of scale b, Y_i = ⌊X_i⌋ and R_i =
         X_i − Y_i. P(Y_i ≥ m) = P(X_i ≥ m) = e^(−m/b), and given Y_i = m, R_i has the law of X_i given X_i <
         1, whatever m is (the exponential law has no memory). So the R_i are independent of all Y and alike:
         any order of them is equally likely. As the q_i are whole, q_i + X_i > q_j + X_j if and only if
         q_i + Y_i > q_j + Y_j, or these are equal and R_i > R_j: to order by q + X is to order by q + Y with
         ties broken by a uniformly random order. By hand, n = 2, k = 1, q_1 − q_2 = d ≥ 0, p = e^(−1/b):
         P(Y_2 − Y_1 > d) + P(Y_2 − Y_1 = d)/2 = p^d·(p/(1+p) + (1−p)/(1+p)/2) = p^d/2 = P(X_2 − X_1 > d).
         So the fast core draws exponential noise and releases the order. Directly, too: given the coins, ties
         are broken by a fixed order, for which `tied_form` has a proof. The lemma's own program is
         `freegap.mechanisms.reference.coin_top_k`; tests compare the two.

`form` is the mechanism as in the paper, for any kind of number, with its proof. The release computes the same
function of the same noise by the fast core (`freegap.exact.ranking`); tests compare the two.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypedDict, Unpack, overload

from freegap.bits import BitSource, source_or_system
from freegap.charges import LedgerAndDataset, charged
from freegap.exact.digits import KeyedDigits
from freegap.forms import Change, Ranking, Selection
from freegap.laws import Law, RankingNoiseName
from freegap.mechanisms.arguments import DEFAULT_RESOLUTION
from freegap.mechanisms.population import Population, read_population
from freegap.mechanisms.top_k_plan import TopKPlan
from freegap.values.batches import TopKBatch
from freegap.values.ranking import TopK
from freegap.values.rationals import Rational

_WRITTEN_LATER = 8  # from so many selected items on


def form(plan: TopKPlan) -> Selection:
    """Ding 2020, algorithm 18, on any numbers: the k largest noisy answers and their gaps, not rounded."""
    release = _gap if plan.gap else None
    return Selection(plan.k, plan.law.name, plan.scale, release, *shifts(plan.law), last=plan.last_gap)


def _gap(value: Any, following: Any) -> Any:
    return value - following


def shifts(law: Law) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """How far the noise of a selected answer and of the runner-up moves, for the same output.

    `best` is the largest unselected noisy answer of the neighbour, on the same noise. All other noise stays.

    Laplace: Ding 2020, equation 5.2. Each selected item makes up for its own change and for the change of the
    best unselected noisy answer. Exponential: the same where all these shifts are ≥ 0 (equation 5.3).
    Otherwise the smallest of them is taken off every selected item, and the runner-up *s on the side of the
    answers* makes up for it: η'_s = η_s + (q_s − q'_s) − min_i (q_i − q'_i).

    Equation 5.4 moves t instead, the runner-up on the neighbour's side. Where s ≠ t, η_t then enters the
    aligned noise nowhere: it is not one-to-one, so lemma 5.1 does not apply, and `freegap prove` refutes it.
    With s, the largest unselected noisy answer of the neighbour is s itself, so that s and its shift can
    be read off the aligned noise; the bound on the cost is the same.
    """

    def shift(item: Change, least: Any, runner_up: Change, best: Any) -> Any:
        move = best - (runner_up.answer + runner_up.noise)
        if law.one_sided and least + move < 0:
            return item.answer - item.neighbour - least
        return item.answer - item.neighbour + move

    def last_shift(least: Any, runner_up: Change, best: Any) -> Any:
        move = best - (runner_up.answer + runner_up.noise)
        if law.one_sided and least + move < 0:
            return runner_up.answer - runner_up.neighbour - least
        return 0

    return shift, last_shift


def tied_form(plan: TopKPlan) -> Ranking:
    """The order alone, where ties are possible and are broken by place (or any order fixed beforehand).

    Each selected item makes up for its own change, and all of them rise by Δ, or not at all if no answer
    rises. Selected noisy answers keep their differences, ties included; an unselected one rises by no more.
    No shift is below 0, so that the noise may be one-sided, and none is above cΔ.
    """

    def shift(direction: str, answer: Any, neighbour: Any) -> Any:
        return answer - neighbour + (0 if direction == "decreasing" else plan.sensitivity)

    return Ranking(
        plan.k,
        plan.law.name,
        plan.scale,
        shift,
        item_charge=plan.charge / plan.k,
        direction="monotonic" if plan.monotonic else "each",
    )


class _TopKArguments(TypedDict, total=False):
    """The further arguments of `noisy_top_k` and `noisy_max`."""

    epsilon: Rational | None
    rho: Rational | None
    sensitivity: Rational
    monotonic: bool
    noise: RankingNoiseName | None
    gap: bool
    last_gap: bool
    resolution: Rational
    ledger: LedgerAndDataset | None
    bits: BitSource | None


@overload
def noisy_top_k(answers: Any, k: int, *, size: None = None, **further: Unpack[_TopKArguments]) -> TopK: ...
@overload
def noisy_top_k(answers: Any, k: int, *, size: int, **further: Unpack[_TopKArguments]) -> TopKBatch: ...
def noisy_top_k(
    answers: Any,
    k: int,
    *,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    sensitivity: Rational = 1,
    monotonic: bool = False,
    noise: RankingNoiseName | None = None,
    gap: bool = True,
    last_gap: bool = True,
    resolution: Rational = DEFAULT_RESOLUTION,
    size: int | None = None,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> TopK | TopKBatch:
    """The k items with the largest answers, privately, each with its gap to the next.

    answers: a list, a NumPy array, a dict or a Series of numbers, or `Counts` for a huge domain.
    k: how many items to select; there must be at least k + 1 of them (k without the last gap).
    epsilon: the privacy budget to spend, as an int, a Fraction or a decimal string.
    rho: the budget in zero-concentrated privacy instead. Noise is then Gumbel, and grows with √k, not with k.
    sensitivity: how much one person can change each answer at most. `value_counts()` counts rows, of which a
        person may have many: count distinct people, or use `top_k`, which does.
    monotonic: True is your statement that one person moves all answers in the same direction, as
        with counts. It halves the noise.
    noise: under ε "exponential" (less noise, and the default) or "laplace"; without gaps also "geometric":
        whole numbers, with ties broken by coin, which selects exactly as "exponential" does. Under ρ it is
        "gumbel".
    gap: whether gaps are released. They are free, but for the last one under ρ.
    last_gap: whether the gap from the last item to the first not selected is among them. Under ρ it costs as
        much as one item more.
    resolution: gaps are rounded down to a multiple of this reciprocal of a whole number.
    size: so many independent releases of the same answers, as one `TopKBatch`; each is charged, so that all
        cost `size` times ε. For one release of each of many populations see `noisy_top_k_each`.
    ledger: a ledger and the name of a dataset in it, (fg.Ledger(), "shop"): charged there, reserved first.
    bits: leave out for a private release; a seeded source (`SeededBits(7)`) for tests.

    >>> import freegap as fg
    >>> counts = {"flu": 812, "cold": 790, "measles": 31, "mumps": 12}
    >>> r = fg.noisy_top_k(counts, k=2, epsilon=1, monotonic=True, bits=fg.SeededBits(7))
    >>> sorted(r.labels), r.spent
    (['cold', 'flu'], Fraction(1, 1))
    >>> r = fg.noisy_top_k(counts, k=2, rho="3/8", monotonic=True, bits=fg.SeededBits(7))
    >>> r.measure, r.spent, r.parameters["scale"]
    ('rho', Fraction(3, 8), Fraction(1, 1))
    """
    plan = TopKPlan.read(
        "noisy_top_k",
        k=k,
        epsilon=epsilon,
        rho=rho,
        sensitivity=sensitivity,
        monotonic=monotonic,
        noise=noise,
        gap=gap,
        last_gap=last_gap,
        resolution=resolution,
    )
    return _released(plan, answers, size, ledger, bits)


@overload
def noisy_max(answers: Any, *, size: None = None, **further: Unpack[_TopKArguments]) -> TopK: ...
@overload
def noisy_max(answers: Any, *, size: int, **further: Unpack[_TopKArguments]) -> TopKBatch: ...
def noisy_max(
    answers: Any,
    *,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    sensitivity: Rational = 1,
    monotonic: bool = False,
    noise: RankingNoiseName | None = None,
    gap: bool = True,
    last_gap: bool = True,
    resolution: Rational = DEFAULT_RESOLUTION,
    size: int | None = None,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> TopK | TopKBatch:
    """The item with the largest answer, and its gap to the runner-up: `noisy_top_k` with k = 1.

    The arguments are those of `noisy_top_k`, `size` and `ledger` among them.

    >>> import freegap as fg
    >>> fg.noisy_max([3, 900, 5], epsilon=1, bits=fg.SeededBits(7)).indices
    (1,)
    """
    plan = TopKPlan.read(
        "noisy_max",
        k=1,
        epsilon=epsilon,
        rho=rho,
        sensitivity=sensitivity,
        monotonic=monotonic,
        noise=noise,
        gap=gap,
        last_gap=last_gap,
        resolution=resolution,
    )
    return _released(plan, answers, size, ledger, bits)


def _released(
    plan: TopKPlan,
    answers: Any,
    size: int | None,
    ledger: LedgerAndDataset | None,
    bits: BitSource | None,
) -> TopK | TopKBatch:
    if size is not None:
        from freegap.mechanisms.many_populations import repeated_top_k

        return repeated_top_k(plan, answers, size, ledger, bits)
    population = read_population(answers, plan.resolution)
    plan.require_enough(population.items)
    source = source_or_system(bits)
    return charged(ledger, plan, lambda: draw_top_k(plan, population, source)[0])


def draw_top_k(plan: TopKPlan, population: Population, source: BitSource) -> tuple[TopK, Sequence[int]]:
    """The release, and the places of the selected answers among the answers.

    For `Counts` the places are private, as a group's number goes with its answer; for whoever measures next.
    """
    digits = KeyedDigits(source, len(population.values))
    ranking = population.ranking(plan.law.continuous, plan.scale, plan.resolution, digits)
    ranked = ranking.largest(plan.places)
    found: Any = ranked.places[: plan.k]
    spent, resolution = plan.written
    # By what is public: how the places were found would tell whether doubles could decide.
    if population.named_by_place and plan.k >= _WRITTEN_LATER:
        steps = ranked.steps if plan.gap else None
        noted = TopK.noted(plan, found, steps, spent=spent, resolution=resolution, private=source.private)
        return noted, found
    if population.counts is None:
        found = tuple(ranked.items[: plan.k])  # which positions and labels by position then share
    release = TopK(
        plan=plan,
        indices=population.indices(found),
        labels=population.labels(found, source),
        gap_multiples=tuple(ranked.gaps) if plan.gap else None,
        resolution=resolution,
        spent=spent,
        private=source.private,
    )
    return release, found
