"""What privacy is measured in: ε, ρ or (ε, δ), as exact values; how they add up, and which converts to which.

For neighbouring data, with P and Q the laws of the release on the one and on the other:

    Pure(ε)              P(S) ≤ e^ε·Q(S) for every set S of outputs
    ZeroConcentrated(ρ)  the Rényi divergence D_α(P‖Q) is at most ρ·α for every α > 1 (Bun and Steinke 2016)
    Approximate(ε, δ)    P(S) ≤ e^ε·Q(S) + δ for every S
    ApproximateConcentrated(ρ, δ)  there are measures p ≤ P and q ≤ Q, each of mass 1 − δ at least, and
                         ∫ p^α·q^(1−α) is at most e^(α(α−1)ρ) for every α > 1 (docs/budget.md)

Values of one measure add up, also where each release is chosen after the outputs of those before it. Between
measures there are the conversions of `CONVERSIONS`, each by the theorem that it names; where there is none,
`converted` is an error. What needs a root or a logarithm is computed with balls and rounded in the safe
direction: a conversion is never below what its theorem says.

Another measure is a class here with its conversions: nothing else knows how many there are.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Self, TypeVar, overload

from freegap.errors import InvalidArgument
from freegap.values.balls import as_ball, at_precision
from freegap.values.rationals import MOST_DIGITS, Rational, positive_rational, proper_fraction, root_below

_PRECISION = 256
_LARGE = Fraction(10) ** 200  # beyond it, doubles are of no use
_DIGITS = 12  # significant decimal digits that a conversion keeps when it is rounded


class Measure(ABC):
    """How much privacy a release asks for, or has spent."""

    name: ClassVar[str]
    """Of the measure, for results, the ledger and people: "epsilon", "rho", "epsilon-delta", "rho-delta"."""

    symbol: ClassVar[str]
    """What people call the amount: ε or ρ."""

    delta: Fraction
    """The δ beside it; 0 where the measure has none."""

    @property
    @abstractmethod
    def spent(self) -> Fraction:
        """The amount: ε or ρ."""

    @classmethod
    def of(cls, amount: Fraction, delta: Fraction = Fraction(0)) -> Self:
        """The measure with these amounts; δ where it has one."""
        return cls(*(amount, delta)[: len(cls.name.split("-"))])

    def __add__(self, other: Self) -> Self:
        """What two releases cost together, the second chosen after the first: each of the amounts adds up."""
        self._require_like(other)
        return self.of(self.spent + other.spent, self.delta + other.delta)

    def __le__(self, other: Self) -> bool:
        """Whether this is no more, in every part. Two of (ε, δ) may be neither way."""
        self._require_like(other)
        return self.spent <= other.spent and self.delta <= other.delta

    def arguments(self) -> dict[str, Fraction]:
        """The amounts by the names of the arguments that ask for them: epsilon, rho, delta."""
        return dict(zip(self.name.split("-"), (self.spent, self.delta), strict=False))

    def __str__(self) -> str:
        symbols = zip((self.symbol, "δ"), self.arguments().values(), strict=False)
        return ", ".join(f"{symbol} = {amount}" for symbol, amount in symbols)

    def to_dict(self) -> dict[str, str]:
        """For JSON: the measure, and exact amounts as text."""
        parts = {"measure": self.name, "spent": str(self.spent)}
        return parts | ({"delta": str(self.delta)} if self.delta else {})

    def _require_like(self, other: Measure) -> None:
        if type(other) is not type(self):
            raise InvalidArgument(
                "measure",
                other.name,
                f"is not {self.name}: amounts of two measures cannot be added or compared",
                "Convert one of them first.",
            )


@dataclass(frozen=True)
class Pure(Measure):
    """ε-differential privacy.

    >>> Pure(Fraction(1, 2)) + Pure(Fraction(1, 3))
    Pure(epsilon=Fraction(5, 6))
    """

    epsilon: Fraction
    delta: Fraction = field(default=Fraction(0), init=False, repr=False)
    name: ClassVar[str] = "epsilon"
    symbol: ClassVar[str] = "ε"

    @property
    def spent(self) -> Fraction:
        """ε."""
        return self.epsilon


@dataclass(frozen=True)
class ZeroConcentrated(Measure):
    """ρ-zero-concentrated differential privacy, zCDP; sums by Bun and Steinke 2016, lemma 2.3.

    >>> ZeroConcentrated(Fraction(1, 8)) + ZeroConcentrated(Fraction(1, 8))
    ZeroConcentrated(rho=Fraction(1, 4))
    """

    rho: Fraction
    delta: Fraction = field(default=Fraction(0), init=False, repr=False)
    name: ClassVar[str] = "rho"
    symbol: ClassVar[str] = "ρ"

    @property
    def spent(self) -> Fraction:
        """ρ."""
        return self.rho


@dataclass(frozen=True)
class Approximate(Measure):
    """(ε, δ)-differential privacy; ε and δ each add up (Dwork and Roth 2014, theorem 3.16).

    >>> print(Approximate(Fraction(1), Fraction(1, 10**6)) + Approximate(Fraction(1), Fraction(1, 10**6)))
    ε = 2, δ = 1/500000
    """

    epsilon: Fraction
    delta: Fraction
    name: ClassVar[str] = "epsilon-delta"
    symbol: ClassVar[str] = "ε"

    @property
    def spent(self) -> Fraction:
        """ε."""
        return self.epsilon


@dataclass(frozen=True)
class ApproximateConcentrated(Measure):
    """ρ-zCDP but for outputs of probability δ: what a budget given as (ε, δ) is kept in. Both add up."""

    rho: Fraction
    delta: Fraction
    name: ClassVar[str] = "rho-delta"
    symbol: ClassVar[str] = "ρ"

    @property
    def spent(self) -> Fraction:
        """ρ."""
        return self.rho


@overload
def measure_argument(
    *, epsilon: Rational | None = None, rho: Rational | None = None
) -> Pure | ZeroConcentrated: ...


@overload
def measure_argument(
    *,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    delta: Rational | None,
    digits: int = MOST_DIGITS,
) -> Measure: ...


def measure_argument(
    *,
    epsilon: Rational | None = None,
    rho: Rational | None = None,
    delta: Rational | None = None,
    digits: int = MOST_DIGITS,
) -> Measure:
    """What a caller asks for, in exactly one measure.

    >>> print(measure_argument(epsilon=1, delta="1e-6"))
    ε = 1, δ = 1/1000000
    """
    if (epsilon is None) == (rho is None):
        given = "both are given" if rho is not None else "neither is given"
        raise InvalidArgument(
            "epsilon",
            epsilon,
            f"exactly one of epsilon and rho must be given, and {given}",
            "Pass for example epsilon=1 or rho='1/8'.",
        )
    chance = None if delta is None else proper_fraction("delta", delta, 'Pass for example delta="1e-6".')
    if rho is not None:
        amount = positive_rational("rho", rho, digits=digits)
        return ZeroConcentrated(amount) if chance is None else ApproximateConcentrated(amount, chance)
    amount = positive_rational("epsilon", epsilon, digits=digits)
    return Pure(amount) if chance is None else Approximate(amount, chance)


@dataclass(frozen=True)
class Conversion:
    """From one measure to another: what is promised in the one, promised in the other."""

    source: type[Measure]
    target: type[Measure]
    theorem: str
    convert: Callable[[Any, Fraction | None], Measure]
    """Of the value and, where the target needs one, a δ."""


M = TypeVar("M", bound=Measure)


def converted(value: Measure, target: type[M], *, delta: Rational | None = None) -> M:
    """The same promise, or a weaker one, in another measure.

    delta: for the way from ρ to (ε, δ), which has an ε for every δ.

    >>> converted(Pure(Fraction(1, 2)), ZeroConcentrated)
    ZeroConcentrated(rho=Fraction(1, 8))
    >>> float(converted(ZeroConcentrated(Fraction(1, 8)), Approximate, delta="1e-6").epsilon)
    2.419...
    """
    chance = None if delta is None else proper_fraction("delta", delta, 'Pass for example delta="1e-6".')
    if isinstance(value, target):
        return value
    for way in CONVERSIONS:
        if way.source is type(value) and way.target is target:
            result = way.convert(value, chance)
            assert isinstance(result, target)  # noqa: S101 (by the table; for the type checker)
            return result
    raise InvalidArgument(
        "measure",
        value.name,
        f"has no proved conversion to {target.name}",
        "Ask for the release in the measure of the budget.",
    )


def _pure_to_concentrated(value: Pure, delta: Fraction | None) -> ZeroConcentrated:
    """ρ = ε²/2; above 2 it is ε, since no Rényi divergence of an ε-private release is above ε."""
    return ZeroConcentrated(min(value.epsilon**2 / 2, value.epsilon))


def _to_approximate_concentrated(value: Measure, delta: Fraction | None) -> ApproximateConcentrated:
    """All but δ of an (ε, δ)-private release is ε-private (Kairouz, Oh and Viswanath 2015)."""
    kept = value if isinstance(value, ZeroConcentrated) else _pure_to_concentrated(Pure(value.spent), None)
    return ApproximateConcentrated(kept.rho, value.delta)


def _pure_to_approximate(value: Pure, delta: Fraction | None) -> Approximate:
    return Approximate(value.epsilon, Fraction(0))


def _concentrated_to_approximate(value: ZeroConcentrated, delta: Fraction | None) -> Approximate:
    """For every α > 1, ε(α) = ρα + ln(1 − 1/α) + (ln(1/δ) − ln α)/(α − 1), or 0 where that is negative.

    Each α is a proof of its own: a good one is looked for in doubles, and its ε computed with balls.
    """
    if delta is None:
        raise InvalidArgument(
            "delta", None, "is missing: ρ gives an ε for every δ", 'Pass for example delta="1e-6".'
        )
    if value.rho == 0:
        return Approximate(Fraction(0), delta)
    order = _best_order(float(min(value.rho, _LARGE)), delta)
    return Approximate(max(_rounded_up(_epsilon_at(order, value.rho, delta)), Fraction(0)), delta)


def _best_order(rho: float, delta: Fraction) -> Fraction:
    """An α at which ε(α) is about least: any one is a proof, so doubles may choose it."""
    log_delta = float(at_precision(_PRECISION, lambda: as_ball(delta).log()))

    def epsilon(log_beta: float) -> float:
        beta = math.exp(log_beta)
        return rho * (1 + beta) - math.log1p(1 / beta) + (-log_delta - math.log1p(beta)) / beta

    low, high = math.log(1e-9), math.log(1e12)
    for _ in range(120):
        third = (high - low) / 3
        if epsilon(low + third) <= epsilon(high - third):
            high -= third
        else:
            low += third
    return 1 + Fraction(math.exp(low)).limit_denominator(10**12)


def _epsilon_at(order: Fraction, rho: Fraction, delta: Fraction) -> Any:
    """A ball around ε(α)."""

    def computed() -> Any:
        alpha = as_ball(order)
        return as_ball(rho) * alpha + (1 - 1 / alpha).log() - (as_ball(delta) * alpha).log() / (alpha - 1)

    return at_precision(_PRECISION, computed)


def _rounded_up(ball: Any) -> Fraction:
    """A rational of few digits that is not below anything in the ball."""
    mantissa, exponent = ball.upper().man_exp()
    number = Fraction(int(mantissa)) * Fraction(2) ** int(exponent)
    if number <= 0:
        return number
    digits = _DIGITS - math.floor(math.log10(number)) if number > Fraction(1, 10**300) else 320
    unit = Fraction(10) ** -max(digits, 0)
    return math.ceil(number / unit) * unit


CONVERSIONS = (
    Conversion(Pure, ZeroConcentrated, "Bun and Steinke 2016, proposition 1.4", _pure_to_concentrated),
    Conversion(Pure, Approximate, "by definition, with δ = 0", _pure_to_approximate),
    Conversion(
        ZeroConcentrated,
        Approximate,
        "Canonne, Kamath and Steinke 2020, proposition 12, at one order α",
        _concentrated_to_approximate,
    ),
    *(
        Conversion(source, ApproximateConcentrated, "docs/budget.md", _to_approximate_concentrated)
        for source in (Pure, ZeroConcentrated, Approximate)
    ),
)


def pure_within(asked: Pure | ZeroConcentrated) -> Pure:
    """About the largest ε such that every ε-private release costs at most what is asked, by the conversion.

    It is what a mechanism that has a theorem in ε alone works with under ρ.

    >>> pure_within(ZeroConcentrated(Fraction(1, 8)))
    Pure(epsilon=Fraction(1, 2))
    """
    if isinstance(asked, Pure):
        return asked
    return Pure(max(root_below(2 * asked.rho), asked.rho))  # either one costs at most ρ


def rho_within(epsilon: Rational, delta: Rational) -> Fraction:
    """A ρ such that every ρ-zCDP release is (ε, δ)-private: about the largest, rounded down.

    It is what a budget given as (ε, δ) is kept as.

    >>> rho = rho_within(1, "1e-6")
    >>> float(rho)
    0.0243...
    >>> converted(ZeroConcentrated(rho), Approximate, delta="1e-6").epsilon <= 1
    True
    """
    most = min(positive_rational("epsilon", epsilon), _LARGE)  # a smaller ε promises more
    chance = proper_fraction("delta", delta, 'Pass for example delta="1e-6".')

    def within(rho: Fraction) -> bool:
        return _concentrated_to_approximate(ZeroConcentrated(rho), chance).epsilon <= most

    low, high = Fraction(0), most
    while within(high):
        low, high = high, 2 * high
    for _ in range(60):
        middle = _few_digits((low + high) / 2)
        if not low < middle < high:
            break
        low, high = (middle, high) if within(middle) else (low, middle)
    if low == 0:
        raise InvalidArgument(
            "epsilon",
            epsilon,
            "is too small for this delta: no ρ above 0 was found that stays within",
            "Pass a larger epsilon or a larger delta.",
        )
    return low


def _few_digits(number: Fraction) -> Fraction:
    """Rounded down to a dozen significant digits."""
    if number < 1 / _LARGE:
        return number
    unit = Fraction(10) ** (math.floor(math.log10(number)) - _DIGITS)
    return number // unit * unit
