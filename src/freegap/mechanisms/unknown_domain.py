"""The largest counts where nobody knows which items there are (after Durfee and Rogers 2019).

Input    for each item that occurs its count, the number of people who have it; a person may have any number
         of items, or at most m
Order    by count, falling, and then by the label of the item: an order that no data changes
Slots    the first k̄ items (the *pool*); a slot of count 0 without a name for each that is missing; and the
         *bar*, without a name either, at t + 1 + c, where t is the count in place k̄ + 1, or 0
Noise    each slot: exponential of scale s = k/ε;  c = s·ln(r/2δ), rounded up to the grid;  r = min(m, k̄)
         or Gumbel of scale s ≥ √((k + 1)/8ρ), where ρ-zCDP is (ε, δ/2)-private;  c = s·ln(2r/δ)
Release  the k largest noisy slots in order, as far as they have names: the name of each, and its gap to the
         next slot, rounded down to the grid
Charge   ε and δ
Theorem  docs/mathematics/unknown.md. In short: take one person away. Each item that stays in the pool loses
         at most 1, and so does the bar. Of what enters and what leaves the pool there are equally many, at
         most r, nothing of it is above t + 1, and paired in any way each pair differs by at most 1 in the
         same direction. So the slots of neighbours are monotonic answers of sensitivity 1, and the k largest
         with their gaps are ε-private (Ding 2020, section 5.5.2), but for the names of pairs. Such a name
         comes out only where one of r slots beats the bar from c below: of probability at most r·e^(−c/s)/2.
         With Gumbel noise the k largest with their gaps are (k + 1)/8s²-zCDP (docs/mathematics/
         concentrated.md), so (ε, δ/2)-private, and such a name has probability at most r·e^(−c/s) ≤ δ/2.

Exponential noise is the better for few items, Gumbel noise for many: without `noise`, the lower bar decides.
Only the k̄ + 1 largest counts are ever looked at.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, cached_property
from math import ceil
from typing import Any, Literal, Self, get_args

from freegap.bits import BitSource, source_or_system
from freegap.charges import LedgerAndDataset, charged
from freegap.errors import InvalidArgument
from freegap.exact.digits import KeyedDigits
from freegap.exact.logarithms import log_bounds
from freegap.laws import EXPONENTIAL, GUMBEL, ExactLaw, Law
from freegap.mechanisms.arguments import DEFAULT_RESOLUTION, flag_argument, noise_argument
from freegap.mechanisms.measurement import measured_law, measured_scale
from freegap.mechanisms.population import read_population
from freegap.mechanisms.unknown_slots import Slots, read_slots
from freegap.values.answers import MOST_ITEMS
from freegap.values.counts import Counts
from freegap.values.measures import (
    Approximate,
    ApproximateConcentrated,
    Measure,
    Pure,
    ZeroConcentrated,
    rho_within,
)
from freegap.values.ranking import TopK
from freegap.values.rationals import (
    Rational,
    count_argument,
    positive_rational,
    proper_fraction,
    require_scale,
    resolution_argument,
    root_above,
)

UnknownNoiseName = Literal["exponential", "gumbel"]
UNKNOWN_NOISES: tuple[UnknownNoiseName, ...] = get_args(UnknownNoiseName)

DEFAULT_POOL = 1000
LARGEST_DELTA = Fraction(1, 10**6)
"""Where nobody says how many people there are: what would be one in a million of them."""


_rho_within = cache(rho_within)


@dataclass(frozen=True, kw_only=True)
class UnknownPlan:
    """The scale of the noise in each slot, and how far the bar is above the first count outside the pool."""

    mechanism: str = field(default="unknown_top_k", compare=False)
    k: int
    epsilon: Fraction
    delta: Fraction
    pool: int
    items_per_person: int | None
    resolution: Fraction
    law: ExactLaw
    measured: bool = False
    """Whether half of the budget measures what comes out."""
    touched: int = 1
    """m: in how many populations one person can change counts; ε (or ρ) and δ are divided among so many."""

    @classmethod
    def read(
        cls,
        *,
        noise: Any = None,
        k: Any,
        epsilon: Any,
        delta: Any,
        people: Any = None,
        pool: Any = None,
        items_per_person: Any = None,
        resolution: Any = DEFAULT_RESOLUTION,
        measured: Any = False,
    ) -> Self:
        """Read the arguments; an error names the one that cannot be used."""
        k = count_argument("k", k)
        given = noise if noise is None else noise_argument(noise, UNKNOWN_NOISES)
        plan = cls(
            law=GUMBEL if given is GUMBEL else EXPONENTIAL,
            k=k,
            epsilon=positive_rational("epsilon", epsilon),
            delta=delta_argument(delta, people),
            pool=max(DEFAULT_POOL, k) if pool is None else count_argument("pool", pool),
            items_per_person=(
                None if items_per_person is None else count_argument("items_per_person", items_per_person)
            ),
            resolution=resolution_argument(resolution),
            measured=flag_argument("measure", measured),
        )
        if not k <= plan.pool < MOST_ITEMS:
            raise InvalidArgument(
                "pool",
                pool,
                f"must be at least k = {k} and below 2^62: it is how many items can be selected from",
                f"Pass pool={max(DEFAULT_POOL, k)}, or leave it out.",
            )
        if given is None:
            plan = plan._with_lower_bar()
        require_scale(plan.scale, epsilon)
        return plan

    def _with_lower_bar(self) -> Self:
        laws = [replace(self, law=EXPONENTIAL)]
        with suppress(InvalidArgument):  # there is no ρ for so small an ε and δ
            laws.append(replace(self, law=GUMBEL))
            return min(laws, key=lambda either: either.lift)
        return laws[0]

    def in_parts(self, touched: int, noise: Any, part: Fraction = Fraction(1)) -> Self:
        """The same in each of several groups, of which one person can change so many.

        noise: as it was given to `read`. part: of ε and of δ, where the rest of both names the groups.
        """
        plan = replace(self, epsilon=self.epsilon * part, delta=self.delta * part, touched=touched)
        plan = plan if noise is not None else plan._with_lower_bar()
        require_scale(plan.scale, self.epsilon)
        return plan

    @cached_property
    def share(self) -> Pure | ZeroConcentrated:
        """What the names and gaps take: all that the noise promises, or half, where the other half measures;
        in groups, those of one.

        With exponential noise that is ε; with Gumbel noise a ρ such that ρ-zCDP is (ε, δ/2)-private.
        """
        parts = self.touched * (2 if self.measured else 1)
        if self.law is EXPONENTIAL:
            return Pure(self.epsilon / parts)
        return ZeroConcentrated(_rho_within(self.epsilon, self.delta / 2) / parts)

    @cached_property
    def scale(self) -> Fraction:
        """Of the noise in each slot."""
        if self.law is EXPONENTIAL:
            return self.k / self.share.spent
        return root_above(Fraction(self.k + 1) / (8 * self.share.spent))

    def measuring(self, found: int) -> tuple[Law, Fraction]:
        """The noise in each of so many counts that are measured, of which one person changes at most m."""
        changing = found if self.items_per_person is None else min(found, self.items_per_person)
        return measured_law(self.share), measured_scale(self.share, changing, Fraction(1))[0]

    @property
    def changing(self) -> int:
        """r: how many items one person can bring into the pool, or take out of it."""
        return self.pool if self.items_per_person is None else min(self.items_per_person, self.pool)

    @cached_property
    def lift(self) -> Fraction:
        """1 + c: how far the bar is above the first count outside the pool.

        Exponential: r/2·e^(−c/s) ≤ δ, since c ≥ s·ln(r/2δ). Gumbel: r·e^(−c/s) ≤ δ/2. Of m groups each has
        δ/m. The logarithm is
        rounded up, and c again, to the grid. A c below 0 is not used: there the bound on the chance of an
        exponential difference does not hold.
        """
        chance = self.delta / self.touched
        odds = self.changing / (2 * chance if self.law is EXPONENTIAL else chance / 2)
        _, at_least = log_bounds(odds)
        return 1 + max(ceil(self.scale * at_least / self.resolution), 0) * self.resolution

    @property
    def asked(self) -> Approximate:
        """What the release is charged."""
        return Approximate(self.epsilon, self.delta)

    @property
    def price(self) -> Measure:
        """What it costs a budget that is kept in ρ: with Gumbel noise less than ε²/2 and δ.

        Names and gaps are (k + 1)/8s²-zCDP but for names of pairs, which have half of δ (docs/mathematics/
        unknown.md); what is measured costs no more than its share, whatever came out.
        """
        if self.law is EXPONENTIAL:
            return self.asked
        selecting = Fraction(self.k + 1) / (8 * self.scale**2)
        each = selecting + (self.share.spent if self.measured else 0)
        return ApproximateConcentrated(self.touched * each, self.delta / 2)

    @property
    def parameters(self) -> dict[str, Any]:
        """The public parameters, for the record."""
        return {
            "k": self.k,
            "pool": self.pool,
            **({"measure": True} if self.measured else {}),
            "items_per_person": self.items_per_person,
            "noise": self.law.name,
            "scale": self.scale,
            "lift": self.lift,
        }


def delta_argument(delta: Any, people: Any) -> Fraction:
    """δ, and not so large that a release could give a person away as a matter of course.

    To release the rows of one person in n, chosen at random, is private with δ = 1/n: a δ above that promises
    nothing. How many people there are is private, so that it is not looked at: the caller may say a number
    that is public, and else there is a fixed one.
    """
    remedy = 'Pass for example delta="1e-8".'
    if delta is None:
        raise InvalidArgument("delta", None, "is needed where the items are not known beforehand", remedy)
    chance = proper_fraction("delta", delta, remedy)
    most = LARGEST_DELTA if people is None else Fraction(1, count_argument("people", people))
    if chance > most:
        raise InvalidArgument(
            "delta",
            delta,
            f"must be at most {most}, one over the number of people: it is the chance with which an item of "
            "one person alone may come out",
            'Pass a smaller one, such as delta="1e-8"; or, with people=…, a public number of people that the '
            "data may have.",
        )
    return chance


@dataclass(frozen=True, kw_only=True)
class UnknownTopK(TopK):
    """The items that were found, from the largest down, each with its gap to the next slot.

    complete: fewer than k were found. The last gap is then the one to the bar, whose place is private.
    """

    complete: bool

    @property
    def title(self) -> str:
        """One line that says what this is."""
        return f"Private top {len(self.labels)} of an unknown domain, with gaps"

    def footnotes(self) -> list[str]:
        """What was spent, and what of everything else."""
        rest = everything_else(self.complete, self.plan.parameters["k"])
        return [f"Everything else: {rest}", *super().footnotes()]

    def to_dict(self) -> dict[str, Any]:
        """The release as plain values."""
        return super().to_dict() | {"mechanism": "unknown_top_k", "complete": self.complete}


def everything_else(complete: bool, k: int) -> str:
    """About what was not released: it says no more than the number of items that were."""
    if complete:
        return (
            f"fewer than {k} items stood out; all others do not occur, or are too rare to be told from what "
            "one person alone has."
        )
    return f"no more than {k} items were asked for; how many others there are is not said."


def unknown_top_k(
    counts: Any,
    k: int,
    *,
    epsilon: Rational,
    delta: Rational,
    people: int | None = None,
    pool: int | None = None,
    items_per_person: int | None = None,
    noise: UnknownNoiseName | None = None,
    resolution: Rational = DEFAULT_RESOLUTION,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> UnknownTopK:
    """The k items with the largest counts, where the set of items is private too; each with its gap.

    Under (ε, δ)-differential privacy for one person more or less, whose items change each count by at most
    one. Fewer than k come out where the others are too rare to be named: an item of one person alone comes
    out with probability at most δ.

    counts: a dict or a Series from each item that occurs to how many people have it.
    delta: the chance with which privacy may fail. At most one in a million, or one over `people`.
    people: a public number of people that the data may have, if you know one. How many there are is private,
        and is not looked at.
    pool: how many of the largest counts are selected from: 1000, or k if that is more. A larger pool lowers
        the bar where there are many items of almost equal counts, and raises it by the logarithm of its size.
    items_per_person: your statement that nobody has more items than this. It lowers the bar a little.
    noise: "exponential" or "gumbel"; left out, the one with the lower bar: exponential for small k.
    resolution: gaps are rounded down to a multiple of this reciprocal of a whole number.
    ledger: a ledger and the name of a dataset in it, (fg.Ledger(), "shop"): charged there, reserved first.
    bits: leave out for a private release; a seeded source (`SeededBits(7)`) for tests.

    >>> import freegap as fg
    >>> searches = {"flu": 8120, "cold": 7900, "rash": 2500, "the name of a patient": 1}
    >>> found = fg.unknown_top_k(searches, k=10, epsilon=1, delta="1e-8", bits=fg.SeededBits(7))
    >>> found.labels, found.complete, found.spent, found.delta
    (('flu', 'cold', 'rash'), True, Fraction(1, 1), Fraction(1, 100000000))
    """
    plan = UnknownPlan.read(
        k=k,
        epsilon=epsilon,
        delta=delta,
        people=people,
        pool=pool,
        items_per_person=items_per_person,
        noise=noise,
        resolution=resolution,
    )
    slots = read_slots(counts, plan.pool)
    source = source_or_system(bits)
    return charged(ledger, plan, lambda: draw_unknown(plan, slots, source))


def draw_unknown(plan: UnknownPlan, slots: Slots, source: BitSource) -> UnknownTopK:
    """The release, from the pool."""
    named = len(slots.labels)
    answers, sizes = list(slots.counts), [1] * named
    if plan.pool > named:
        answers, sizes = [*answers, 0], [*sizes, plan.pool - named]
    population = read_population(
        Counts(answers, sizes, name=lambda group, _: slots.labels[group]), plan.resolution
    )
    digits = KeyedDigits(source, len(population.values) + 1)
    bar = slots.outside + plan.lift
    ranking = population.ranking(plan.law, plan.scale, plan.resolution, digits, threshold=bar)
    ranked = ranking.largest(plan.k + 1)
    # The first k, as far as they have names: what comes after them is the bar, and what is missing.
    stop = next((place for place, item in enumerate(ranked.items[: plan.k]) if item >= named), plan.k)
    return UnknownTopK(
        plan=plan,
        indices=(),
        labels=tuple(slots.labels[item] for item in ranked.items[:stop]),
        gap_multiples=tuple(ranked.gaps[:stop]),
        resolution=plan.resolution,
        complete=stop < plan.k,
        spent=plan.epsilon,
        private=source.private,
    )
