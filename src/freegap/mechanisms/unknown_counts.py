"""All items that stand out, with noisy counts, where nobody knows which items there are and nobody has many.

Input    for each item that occurs its count, the number of people who have it; a person has at most m items
Noise    each count: X on {−K, …, K} with P(X = x) proportional to e^(−θ|x|), θ = ε/m; K is the least number
         with P(X = K) ≤ δ/m
Release  the items with h + X > K, and these noisy counts
Charge   ε and δ
Theorem  Desfontaines, Voss, Gipson and Mandayam 2022 for m = 1; docs/mathematics/unknown.md has the proof. An
         item's law with h people and with h + 1: let the noise fall by 1, and the noisy count is the same.
         That is e^θ less likely at most, and impossible for X = −K alone, which has probability at most δ/m;
         the other way with X = K. So each item is (ε/m, δ/m)-private, and the m items of a person, with
         independent noise, (ε, δ)-private. With no people h + X ≤ K: an item that does not occur never
         comes out, and needs no noise.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Self

from freegap.bits import BitSource, source_or_system
from freegap.charges import LedgerAndDataset, charged
from freegap.exact.integers import FLAT, bounded_geometric
from freegap.exact.many import MANY, many_bounded_geometric
from freegap.laws import DISCRETE_LAPLACE, Law
from freegap.mechanisms.unknown_domain import delta_argument
from freegap.mechanisms.unknown_slots import occurring, read_counts
from freegap.values.balls import as_ball, at_precision
from freegap.values.columns import Column, items
from freegap.values.measures import Approximate
from freegap.values.rationals import Rational, count_argument, positive_rational, require_scale
from freegap.values.results import Release
from freegap.values.written import jsonable


@dataclass(frozen=True, kw_only=True)
class UnknownCountsPlan:
    """θ = ε/m and K; see the module."""

    mechanism: str = field(default="unknown_counts", compare=False)
    epsilon: Fraction
    delta: Fraction
    items_per_person: int
    touched: int = 1
    """In groups, in how many of them a person counts for so many items: m is the product of the two."""

    @classmethod
    def read(cls, *, epsilon: Any, delta: Any, items_per_person: Any, people: Any = None) -> Self:
        """Read the arguments; an error names the one that cannot be used."""
        plan = cls(
            epsilon=positive_rational("epsilon", epsilon),
            delta=delta_argument(delta, people),
            items_per_person=count_argument("items_per_person", items_per_person),
        )
        require_scale(1 / plan.rate, epsilon)
        return plan

    def in_parts(self, touched: int, part: Fraction) -> Self:
        """The same in groups, of which a person counts in so many; part: of ε and of δ."""
        plan = replace(self, epsilon=self.epsilon * part, delta=self.delta * part, touched=touched)
        require_scale(1 / plan.rate, self.epsilon)
        return plan

    @property
    def rate(self) -> Fraction:
        """θ."""
        return self.epsilon / self.most

    @property
    def most(self) -> int:
        """m: how many counts one person can change."""
        return self.items_per_person * self.touched

    @cached_property
    def reach(self) -> int:
        """K: with q = e^−θ and d = δ/m, the least with (1 − q)·q^K ≤ d·(1 + q − 2q^(K+1)).

        That is q^K·(1 − q + 2dq) ≤ d·(1 + q), so K ≥ ln((1 − q + 2dq)/(d(1 + q)))/θ, from above.
        """
        chance = self.delta / self.most

        def bound() -> Any:
            q, d = as_ball(-self.rate).exp(), as_ball(chance)
            rest = -as_ball(-self.rate).expm1()
            return ((rest + 2 * d * q) / (d * (1 + q))).log() / as_ball(self.rate)

        digits = sum(
            part.bit_length() for part in (*self.rate.as_integer_ratio(), *chance.as_integer_ratio())
        )
        mantissa, exponent = at_precision(256 + 2 * digits, bound).upper().man_exp()
        return math.ceil(Fraction(int(mantissa)) * Fraction(2) ** int(exponent))

    law: ClassVar[Law] = DISCRETE_LAPLACE

    @property
    def standard_error(self) -> float:
        """Of the noise before it is bounded: two-sided geometric of scale m/ε."""
        return math.sqrt(self.law.variance(float(1 / self.rate)))

    @property
    def asked(self) -> Approximate:
        """What the release is charged."""
        return Approximate(self.epsilon, self.delta)

    @property
    def parameters(self) -> dict[str, Any]:
        """The public parameters, for the record."""
        return {"items_per_person": self.items_per_person, "scale": 1 / self.rate, "least": self.reach + 1}


@dataclass(frozen=True, kw_only=True)
class UnknownCounts(Release):
    """Items that stand out, from the largest noisy count down.

    labels: the items. counts: how many people each has, with noise; none is below `parameters["least"]`.
    standard_error: of each count, at most. An item is named because its noise did not make it too small, so
        that the counts of rare ones are too large on average.
    """

    plan: UnknownCountsPlan
    labels: tuple[Any, ...]
    counts: tuple[int, ...]

    @property
    def standard_error(self) -> float:
        """Of each count, at most."""
        return self.plan.standard_error

    @property
    def title(self) -> str:
        """One line that says what this is."""
        return f"{len(self.labels)} items of an unknown domain that stand out, with noisy counts"

    def columns(self) -> list[Column]:
        """Item and count."""
        return [
            items(self.labels),
            Column("people", self.counts, int, form=",d"),
        ]

    def footnotes(self) -> list[str]:
        """What was spent, and what of everything else."""
        least = self.parameters["least"]
        rest = f"Everything else: items whose noisy count is below {least:,}; how many there are is not said."
        return [rest, *super().footnotes()]

    def to_dict(self) -> dict[str, Any]:
        """The release as plain values."""
        return {
            "mechanism": "unknown_counts",
            "labels": [jsonable(label) for label in self.labels],
            "counts": [jsonable(count) for count in self.counts],
            **self._common(),
        }


def unknown_counts(
    counts: Any,
    *,
    epsilon: Rational,
    delta: Rational,
    items_per_person: int,
    people: int | None = None,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> UnknownCounts:
    """All items that enough people have, with noisy counts, where the set of items is private too.

    Under (ε, δ)-differential privacy for one person more or less, who has at most `items_per_person` items.
    Where people have few items each, this names far rarer ones than `unknown_top_k`, and all of them.

    counts: a dict or a Series from each item that occurs to how many people have it.
    items_per_person: your statement that nobody has more items than this: count each person for so many only.
    delta, people: as in `unknown_top_k`.
    ledger: a ledger and the name of a dataset in it, (fg.Ledger(), "shop"): charged there, reserved first.
    bits: leave out for a private release; a seeded source (`SeededBits(7)`) for tests.

    >>> import freegap as fg
    >>> homes = {"Oslo": 720, "Bergen": 301, "Narvik": 35, "a hut": 1}
    >>> found = fg.unknown_counts(homes, epsilon=1, delta="1e-6", items_per_person=1, bits=fg.SeededBits(7))
    >>> found.labels, abs(found.counts[0] - 720) < 15, found.parameters["least"]
    (('Oslo', 'Bergen', 'Narvik'), True, 15)
    """
    plan = UnknownCountsPlan.read(
        epsilon=epsilon, delta=delta, items_per_person=items_per_person, people=people
    )
    found = occurring(zip(*read_counts(counts), strict=True))
    source = source_or_system(bits)
    return charged(ledger, plan, lambda: draw_counts(plan, found, plan.reach, source))


def draw_counts(
    plan: UnknownCountsPlan, found: Mapping[tuple[Any, ...], tuple[int, Any]], bar: int, source: BitSource
) -> UnknownCounts:
    """The items with h + X > bar ≥ K. What cannot get there, h ≤ bar − K, needs no noise."""
    keys = sorted(key for key, (count, _) in found.items() if count > bar - plan.reach)
    noise = _bounded_noise(len(keys), plan, source)
    noisy = [(found[key][0] + x, key) for key, x in zip(keys, noise, strict=True)]
    named = sorted(((-count, key) for count, key in noisy if count > bar))
    return UnknownCounts(
        plan=plan,
        labels=tuple(found[key][1] for _, key in named),
        counts=tuple(-count for count, _ in named),
        spent=plan.epsilon,
        private=source.private,
    )


def _bounded_noise(n: int, plan: UnknownCountsPlan, source: BitSource) -> list[int]:
    """X on {−K, …, K} with P(x) proportional to e^(−θ|x|), n times."""
    if n >= MANY and plan.rate * plan.reach >= FLAT:
        return many_bounded_geometric(n, plan.rate, plan.reach, source)
    return [bounded_geometric(plan.rate, plan.reach, source) for _ in range(n)]
