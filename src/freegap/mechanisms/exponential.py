"""The exponential mechanism with gap (Ding 2020, algorithms 21 and 22).

Input    utilities u_1 … u_n, each of sensitivity Δ, rounded down to the grid γ (Ding et al. 2023, lemma 4.2)
Noise    x_i = ε·u_i/(cΔ) + Gumbel(0); c = 1 if monotonic, else 2
Release  s = argmax x_i, chosen with probability proportional to exp(ε·u_s/(cΔ)), and its gap to the next x_i,
         rounded down to a multiple of γ·ε/(cΔ), which is γ in units of the utility
Charge   ε
Theorem  Ding 2020, theorem 5.19 (its own proof, not an alignment): the density of (s, gap) is that of the
         logistic law with location θ_s = ε·u_s/(cΔ) − ln Σ_{j≠s} exp(ε·u_j/(cΔ)), and changes by at most a
         factor e^|θ_s − θ_s'| (lemma 5.18). Both terms of θ_s move by at most ε/c (lemma 5.17), which makes
         ε for c = 2. If monotonic, both move the same way, so that their difference moves by at most ε for c
         = 1.

Under ρ  x_i = r·u_i/(cΔ) + Gumbel(0) with r ≤ √(8ρ/K), K = 2 with the gap and 1 without, at the charge
         K·r²/8: the choice and its gap are two places of docs/mathematics/concentrated.md, less the second
         name. For the choice alone that is the price of bounded range (Cesar and Rogers 2021)

Black box (algorithm 21): any sampler chooses s with those probabilities; the gap is then drawn from the
logistic law with location θ_s, conditioned on being positive: the same distribution, by theorem 5.19.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import arb

from freegap.bits import BitSource, source_or_system
from freegap.charges import LedgerAndDataset, charged
from freegap.errors import REDACTED, InvalidArgument
from freegap.exact.digits import KeyedDigits
from freegap.exact.ranking import NoisyRanking
from freegap.exact.reals import Real, TruncatedLogistic
from freegap.laws import GUMBEL
from freegap.mechanisms.arguments import DEFAULT_RESOLUTION, flag_argument
from freegap.values.answers import Answers, read_answers
from freegap.values.balls import as_ball
from freegap.values.columns import Column, items
from freegap.values.measures import Pure, ZeroConcentrated, measure_argument
from freegap.values.plans import PlainPlan
from freegap.values.rationals import (
    Rational,
    double,
    require_scale,
    resolution_argument,
    root_below,
    sensitivity_argument,
)
from freegap.values.results import Release
from freegap.values.written import as_double, jsonable

Sampler = Callable[[Sequence[Fraction]], int]


@dataclass(frozen=True, kw_only=True)
class Choice(Release):
    """The chosen candidate, and how clearly it was chosen.

    label: the chosen candidate (its position, where the utilities are a list or an array).
    index: its position in a list or an array; None for labelled utilities, whose order can be private.
    gap: of its noisy exponent ε·u/(cΔ) to the next one; None without gaps.
    utility_gap: the same in units of the utility.
    """

    index: int | None
    label: Any
    gap: Fraction | None
    utility_gap: Fraction | None

    @property
    def p_value(self) -> float | None:
        """The chance of such a gap if the chosen one is not the best: at most 2/(1 + e^gap) (thm 5.14)."""
        if self.gap is None:
            return None
        return 2 / (1 + math.exp(self.gap)) if self.gap < 700 else 2 * math.exp(-double(self.gap))

    @property
    def title(self) -> str:
        """One line that says what this is."""
        return "Chosen by the exponential mechanism"

    def columns(self) -> list[Column]:
        """The chosen candidate."""
        columns = [items((self.label,))]
        if self.gap is not None:
            columns.append(Column("gap", (self.gap,), float))
            title = "p-value that it is not the best"
            columns.append(Column(title, (self.p_value,), float, "p_value", ".3g"))
        return columns

    def to_dict(self) -> dict[str, Any]:
        """The release as plain values."""
        return {
            "mechanism": "exponential_mechanism",
            "index": self.index,
            "label": jsonable(self.label),
            "gap": None if self.gap is None else as_double(self.gap),
            "utility_gap": None if self.utility_gap is None else as_double(self.utility_gap),
            "p_value": self.p_value,
            **self._common(),
        }


def exponential_mechanism(
    utilities: Any,
    *,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    sensitivity: Rational = 1,
    monotonic: bool = False,
    gap: bool = True,
    sampler: Sampler | None = None,
    resolution: Rational = DEFAULT_RESOLUTION,
    ledger: LedgerAndDataset | None = None,
    bits: BitSource | None = None,
) -> Choice:
    """Choose a candidate with probability proportional to exp(ε·utility/(2Δ)), and say how clearly.

    rho: the budget in zero-concentrated privacy instead; ε is then √(4ρ), and √(8ρ) without the gap.
    monotonic: True if one person moves all utilities in the same direction; the exponent is then ε·utility/Δ.
    gap: False to release only the choice. Under ε the gap is free.
    sampler: your own way to choose: a function of the exponents (a sequence of exact rationals, for labelled
        utilities in the order of their labels) that returns an index i with probability proportional to
        e^exponent_i. freegap then only draws the gap; that the choice has the right distribution is your
        statement.
    ledger: a ledger and the name of a dataset in it, (fg.Ledger(), "shop"): charged there, reserved first.

    >>> import freegap as fg
    >>> choice = fg.exponential_mechanism({"a": 10, "b": 90, "c": 5}, epsilon=1, bits=fg.SeededBits(1))
    >>> choice.label, choice.p_value < 0.05
    ('b', True)
    """
    asked = measure_argument(epsilon=epsilon, rho=rho)
    grid = resolution_argument(resolution)
    delta = sensitivity_argument(sensitivity, grid)
    flag = flag_argument("monotonic", monotonic)
    wants_gap = flag_argument("gap", gap)
    if sampler is not None and not callable(sampler):
        raise InvalidArgument(
            "sampler", REDACTED, "must be a function from exponents to an index", "Leave it out."
        )
    read = read_answers(utilities, grid)
    if len(read) < 2:
        raise InvalidArgument(
            "utilities", f"<{len(read)} utility>", "must be at least two", "Choosing needs alternatives."
        )
    spread, charge = _spread(asked, 2 if wants_gap else 1)
    rate = spread / ((1 if flag else 2) * delta)
    require_scale(1 / rate, rho if epsilon is None else epsilon, *asked.arguments())
    source = source_or_system(bits)
    parameters = {
        "sensitivity": delta,
        "monotonic": flag,
        "resolution": grid,
        "form": "Gumbel" if sampler is None else "black box",
    }
    plan = PlainPlan("exponential_mechanism", asked, parameters)

    def release() -> Choice:
        if sampler is None:
            place, multiple = _by_gumbel(read, rate, grid, source)
        else:
            place, multiple = _by_sampler(read, rate, grid, source, sampler)
        utility_gap = multiple * grid if wants_gap else None
        return Choice(
            plan=plan,
            index=next(iter(read.indices([place])), None),
            label=read.labels([place])[0],
            gap=None if utility_gap is None else utility_gap * rate,
            utility_gap=utility_gap,
            spent=charge,
            private=source.private,
        )

    return charged(ledger, plan, release)


def _spread(asked: Pure | ZeroConcentrated, places: int) -> tuple[Fraction, Fraction]:
    """By how much exponents may move apart between neighbours, r, and what that costs."""
    if isinstance(asked, Pure):
        return asked.epsilon, asked.epsilon
    spread = root_below(8 * asked.rho / places)
    return spread, places * spread**2 / 8


def _by_gumbel(read: Answers, rate: Fraction, grid: Fraction, source: BitSource) -> tuple[int, int]:
    """Algorithm 22, divided by the rate: u_i + Gumbel/rate."""
    ranking = NoisyRanking(
        read.values,
        grain=read.grain,
        scale=1 / rate,
        resolution=grid,
        law=GUMBEL,
        digits=KeyedDigits(source, len(read)),
    )
    ranked = ranking.largest(2)
    return ranked.items[0], ranked.gaps[0]


def _by_sampler(
    read: Answers, rate: Fraction, grid: Fraction, source: BitSource, sampler: Sampler
) -> tuple[int, int]:
    """Algorithm 21: the sampler chooses, then a truncated logistic."""
    exponents = [int(value) * read.grain * rate for value in read.values]
    index = sampler(exponents)
    if isinstance(index, bool) or not hasattr(index, "__index__") or not 0 <= index < len(exponents):
        raise InvalidArgument(
            "sampler",
            REDACTED,
            f"must return an index from 0 to {len(exponents) - 1}",
            "Return the position of the chosen utility.",
        )
    chosen = int(index)
    # Relative to the chosen one, so that only differences enter: no size of utility is too large.
    relative = [e - exponents[chosen] for i, e in enumerate(exponents) if i != chosen]

    def odds() -> Any:
        """Σ_{j≠s} e^(x_j − x_s) = e^−θ."""
        return sum((as_ball(e).exp() for e in relative), arb(0))

    gap = Real(0, {TruncatedLogistic(odds, source.bits): Fraction(1)})
    return chosen, gap.floor(grid * rate)
