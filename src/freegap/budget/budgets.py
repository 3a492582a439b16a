"""How a budget in each measure is kept, what a release costs it, and how both are written down.

| declared | kept as | a release of ε | of ρ | of (ε, δ) | of (ρ, δ) |
|---|---|---|---|---|---|
| ε | ε | ε | – | – | – |
| ρ | ρ | min(ε²/2, ε) | ρ | – | – |
| (ε, δ) | ρ, and a sum of δ | min(ε²/2, ε) | ρ | min(ε²/2, ε), and δ | ρ, and δ |

Why the sums suffice, whatever is asked next and at what price, chosen from all earlier outputs, as long as
the total is fixed beforehand (a *filter*):

- ε: the odds between neighbours change by a factor of at most e^ε with each output, and factors multiply.
- ρ: for neighbours and an order α > 1, let Lᵢ be the privacy loss of the i-th release and ρᵢ its price, which
  earlier outputs decide. E[exp((α−1)(Lᵢ − αρᵢ)) | earlier outputs] ≤ 1 says that it is ρᵢ-zCDP. So the
  product of these over all releases has an expectation of at most 1, and where Σρᵢ ≤ ρ on every path,
  E[exp((α−1)ΣLᵢ)] ≤ exp((α−1)αρ): together they are ρ-zCDP (Feldman and Zrnic 2021; Whitehouse et al. 2023).
- (ε, δ): a release that is (εᵢ, δᵢ)-private is, for two neighbours, one that gives all away with probability
  δᵢ and is εᵢ-private otherwise (Kairouz, Oh and Viswanath 2015). That any of them gives all away has a
  probability of at most Σδᵢ; the others are ρ-zCDP together. `docs/budget.md` has the whole proof: the
  budget is kept where ρ is within (ε, δ − d) and Σδᵢ ≤ d. It is δ-approximate zCDP, Bun and Steinke 2016,
  section 8.

A ρ filter needs prices that are known before a release draws. What a release in ε has spent may depend on its
output (a sparse vector's does): in ε that is allowed, since the odds are bounded for each output by itself,
and in ρ there is no such theorem. So a release in another measure than the budget is kept in is settled in
full.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from fractions import Fraction

from freegap.budget.accounting import NOTHING, BrokenRule, Cost, amount_text, parsed_amount, shown
from freegap.errors import InvalidArgument
from freegap.values.measures import (
    Approximate,
    ApproximateConcentrated,
    Measure,
    Pure,
    ZeroConcentrated,
    converted,
    rho_within,
)

_KEPT: dict[type[Measure], type[Measure]] = {
    Pure: Pure,
    ZeroConcentrated: ZeroConcentrated,
    Approximate: ZeroConcentrated,
}
_MEASURES: tuple[type[Measure], ...] = (*_KEPT, ApproximateConcentrated)
_BY_NAME = {measure.name: measure for measure in _MEASURES}
_SIGNS = {"epsilon": "ε", "rho": "ρ", "delta": "δ"}


@dataclass(frozen=True)
class Budget:
    """What a dataset may spend in all: as it was declared, and as it is kept.

    >>> Budget.of(ZeroConcentrated(Fraction(1, 8))).cost(Pure(Fraction(1, 10)))
    Cost(amount=Fraction(1, 200), delta=Fraction(0, 1))
    """

    declared: Measure
    total: Cost

    @staticmethod
    def of(declared: Measure, own_delta: Fraction | None = None) -> Budget:
        """A budget, with `own_delta` of its δ for releases that have one of their own; half without it."""
        if type(declared) not in _KEPT:
            raise InvalidArgument(
                "delta",
                shown(declared.delta),
                "has no meaning with rho in a budget",
                "Pass rho alone, or epsilon and delta.",
            )
        if not isinstance(declared, Approximate):
            return Budget(declared, Cost(declared.spent))
        own = declared.delta / 2 if own_delta is None else own_delta
        return Budget(declared, Cost(rho_within(declared.epsilon, declared.delta - own), own))

    @property
    def kept(self) -> type[Measure]:
        """The measure in which it is kept."""
        return _KEPT[type(self.declared)]

    @property
    def sign(self) -> str:
        """Of that measure, for people."""
        return _SIGNS[self.kept.name]

    def cost(self, asked: Measure) -> Cost:
        """What a release costs at most. An error where no theorem says."""
        if isinstance(self.declared, Approximate):
            kept = converted(asked, ApproximateConcentrated)
            return Cost(kept.rho, kept.delta)
        if type(asked) is not self.kept and (asked.delta or self.kept is Pure):
            raise InvalidArgument(
                "measure",
                asked.name,
                f"cannot be charged to a budget in {self.declared.name}: no theorem says what it costs there",
                "Ask for the release in the measure of the budget, or declare the budget in "
                + ("epsilon and delta." if asked.delta else "rho, or in epsilon and delta."),
            )
        return Cost(converted(asked, self.kept).spent)

    def closing(self, held: Cost, asked: Measure, spent: Fraction | None) -> tuple[Cost, Measure]:
        """What a release costs that has spent so much, and for what; None where nothing was drawn.

        In full where it is in another measure than the budget is kept in: see the last paragraph above.
        """
        if spent is None:
            return NOTHING, asked.of(Fraction(0))
        if type(asked) is self.kept:
            return Cost(spent), asked.of(spent)
        return held, asked

    def left_in_words(self, left: Cost) -> str:
        """How much is left of how much, for people."""
        words = f"{shown(left.amount)} of {self.sign} = {shown(self.total.amount)}"
        if isinstance(self.declared, Approximate):
            words += f" and {shown(left.delta)} of δ = {shown(self.total.delta)}"
        return words

    def asked_in_words(self, asked: Measure, cost: Cost) -> str:
        """What a release asks for, and what that costs where it is in another measure, for people."""
        if type(asked) is self.kept:
            return f"{shown(cost.amount)} was asked for"
        return f"{in_words(asked)} was asked for, which costs {self.cost_in_words(cost)}"

    def cost_in_words(self, cost: Cost) -> str:
        """What is taken from it, for people."""
        beside = f", δ = {shown(cost.delta)}" if cost.delta else ""
        return f"{self.sign} = {shown(cost.amount)}{beside}"

    def check(self) -> None:
        """Whether what is kept stays within what was declared."""
        if isinstance(self.declared, Approximate):
            own, kept = self.total.delta, ZeroConcentrated(self.total.amount)
            try:
                within = converted(kept, Approximate, delta=self.declared.delta - own)
            except InvalidArgument:  # a δ of 0, or of 1 and more
                within = None
            if within is None or not within <= self.declared:
                raise BrokenRule("what a budget is kept as must be within what was declared")

    def check_charge(self, cost: Cost, asked: Measure) -> None:
        """Whether a stored cost is the one of what was asked for, or rounded up from it."""
        try:
            exact = self.cost(asked)
        except InvalidArgument:
            raise BrokenRule("a charge must be in a measure that the budget can be charged in") from None
        if not exact <= cost <= exact.rounded_up:
            raise BrokenRule("what is charged must be the cost of what was asked for")

    # As stored. Budgets in ε and their charges are bare numbers, as they were before there were measures.

    def text(self) -> str:
        """The budget in the columns of a line.

        >>> Budget.of(Pure(Fraction(5))).text(), Budget.of(ZeroConcentrated(Fraction(1, 8))).text()
        ('5/1', '1/8 rho')
        """
        if not isinstance(self.declared, Approximate):
            return self.cost_text(self.total)
        return f"{self.cost_text(self.total)} within {_measure_text(self.declared)}"

    def cost_text(self, cost: Cost) -> str:
        """An amount in the columns of a line."""
        if self.kept is Pure:
            return amount_text(cost.amount)
        beside = f" + {amount_text(cost.delta)} delta" if isinstance(self.declared, Approximate) else ""
        return f"{amount_text(cost.amount)} {self.kept.name}{beside}"

    def charge_text(self, cost: Cost, asked: Measure) -> str:
        """What a line charges, and for what."""
        text = self.cost_text(cost)
        return text if self.kept is Pure else f"{text} for {_measure_text(asked)}"

    @staticmethod
    @functools.lru_cache(maxsize=256)  # the total of a dataset is in each of its lines
    def parsed(text: str) -> Budget:
        """The inverse of `text`."""
        kept, _, declared = text.partition(" within ")
        if declared:
            budget = Budget(_parsed_measure(declared), Cost(*_parts(kept).values()))
        else:
            measure = _parsed_measure(kept if " " in kept else f"{kept} epsilon")
            budget = Budget(measure, Cost(measure.spent))
        if type(budget.declared) not in _KEPT or budget.text() != text:
            raise BrokenRule("a budget must be stored as it was declared and as it is kept")
        return budget

    def parsed_cost(self, text: str) -> Cost:
        """The inverse of `cost_text`."""
        cost = Cost(*_parts(text).values()) if self.kept is not Pure else Cost(parsed_amount(text))
        if self.cost_text(cost) != text:
            raise BrokenRule("an amount must be stored in the measure in which the budget is kept")
        return cost

    def parsed_charge(self, text: str) -> tuple[Cost, Measure]:
        """The inverse of `charge_text`."""
        if self.kept is Pure:
            cost = self.parsed_cost(text)
            return cost, Pure(cost.amount)
        cost_text, _, asked_text = text.partition(" for ")
        return self.parsed_cost(cost_text), _parsed_measure(asked_text)


def _measure_text(measure: Measure) -> str:
    return " + ".join(f"{amount_text(amount)} {word}" for word, amount in measure.arguments().items())


def _parsed_measure(text: str) -> Measure:
    """A measure as it is stored, such as "1/2 epsilon + 1/1000000 delta"."""
    parts = _parts(text)
    measure = _BY_NAME.get("-".join(parts))
    if measure is None:
        raise BrokenRule("a measure must be epsilon, rho, or epsilon and delta")
    return measure.of(*parts.values())


def _parts(text: str) -> dict[str, Fraction]:
    parts: dict[str, Fraction] = {}
    for part in text.split(" + "):
        amount, _, word = part.partition(" ")
        if word not in _SIGNS or word in parts:
            raise BrokenRule("an amount must be stored with its measure")
        parts[word] = parsed_amount(amount)
    if len(parts) > 2:
        raise BrokenRule("an amount must be stored with one measure, and a delta beside it at most")
    return parts


def in_words(measure: Measure) -> str:
    """For people, in a few characters: ε = 1/2, δ = 1/1000000."""
    return ", ".join(f"{_SIGNS[word]} = {shown(amount)}" for word, amount in measure.arguments().items())
