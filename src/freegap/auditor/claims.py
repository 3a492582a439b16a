"""What can be claimed beside ε: (ε, δ), ρ, a divergence of Rényi, μ of a Gaussian, any trade-off curve.

Each claim says how much privacy an event with probabilities (P1, P2) on two neighbours takes at least, in its
own measure. That this is a lower bound for the mechanism, and that it grows with the share of side 1 and with
the rate of hits, has one reason: an event is what is left of the outputs by processing them, and a rarer
event with the same ratio is a more frequent one followed by a coin of its own, which is processing again.

    (ε, δ)  P1 ≤ e^ε·P2 + δ, by definition
    ρ       the divergence of Rényi between two coins at an order α is at most ρ·α, for every α > 1: data
            processing (van Erven and Harremoës 2014, theorem 9)
    Rényi   the same at one order (Mironov 2017)
    μ       Φ⁻¹(P1) - Φ⁻¹(P2) ≤ μ: no test tells the inputs apart better than 0 and μ can be told apart
            through noise of standard deviation 1 (Dong, Roth and Su 2022, definition 2.6 and lemma 2.9)
    f       1 - P1 ≥ f(P2): a test that says "first input" on the event errs with P2 and with 1 - P1
            (definition 2.3 there). f is convex, so that P1 - (1 - f(P2)) grows with the rate where it is
            above 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from freegap.auditor.betting import Bets
from freegap.auditor.statistics import EventCounts, Floats, PureClaim, TestedClaim, log_wealth_against
from freegap.errors import InvalidArgument
from freegap.values.measures import Approximate, ZeroConcentrated, measure_argument
from freegap.values.rationals import double, positive_rational

MOST_AMOUNT = 500
LEAST_ORDER, MOST_ORDER = 1.01, 10_000
MOST_EPSILON = 200.0  # that a bound by bets looks at: a ratio beyond the doubles
CERTAIN, ROUNDING = 1e-9, 1e-10  # so far from 1, rounding errors of a divergence are smaller than this
QUANTILE_ROUNDING = 1e-7  # of Φ⁻¹, so far from 1
GRID = np.linspace(0, 1, 201)
SLACK = 1e-9


@dataclass(frozen=True)
class ApproximateClaim(TestedClaim):
    """ε at a given δ, and δ at a given ε. At any time the bets are on the difference itself, which is sharp
    where δ decides; at fixed looks it is the corner."""

    amount: float
    delta: float
    measure: ClassVar[str] = "epsilon-delta"
    symbol: ClassVar[str] = "ε"

    @property
    def claimed(self) -> dict[str, float | None]:
        """ε and δ."""
        return {"epsilon": self.amount, "delta": self.delta}

    def value(self, p1: ArrayLike, p2: ArrayLike, *, fine: bool = True) -> Floats:
        """ln((P1 - δ)/P2); where P1 is below δ and a search asks, how far from the claim it is, below 0."""
        over = np.asarray(p1) - self.delta
        found = PureClaim(self.amount).value(np.maximum(over, 0.0), p2)
        if fine:
            return found
        return np.where(over > 0, found, over - math.exp(self.amount) * np.asarray(p2))

    def lower_bound(self, counts: EventCounts, alpha: float, bets: Bets | None = None) -> float:
        """By the corner, or the largest ε of those that the wealth refutes: it falls in ε."""
        if bets is None:
            return super().lower_bound(counts, alpha)
        low, high, wanted = 0.0, MOST_EPSILON, -math.log(alpha)
        if log_wealth_against(counts, 1.0, self.delta) < wanted:
            return 0.0
        for _ in range(60):
            middle = (low + high) / 2
            refuted = log_wealth_against(counts, math.exp(middle), self.delta) >= wanted
            low, high = (middle, high) if refuted else (low, middle)
        return low

    def against(self, counts: EventCounts, level: float, bets: Bets | None = None) -> float:
        """By the corner, or how far the wealth is beyond what is needed."""
        if bets is None:
            return super().against(counts, level)
        wealth = float(log_wealth_against(counts, math.exp(self.amount), self.delta))
        return max(wealth, -1e300) + math.log(level)

    def p_value(self, counts: EventCounts, amounts: ArrayLike, bets: Bets | None = None) -> Any:
        """By the corner, or what the wealth says."""
        if bets is None:
            return super().p_value(counts, amounts)
        ratio = np.exp(np.minimum(np.asarray(amounts, dtype=np.float64), MOST_EPSILON))
        found = np.exp(-np.maximum(0.0, log_wealth_against(counts, ratio, self.delta)))
        return found if found.ndim else float(found)


ORDERS, FEW_ORDERS = 1 + np.geomspace(1e-3, 1e3, 145), 1 + np.geomspace(1e-2, 1e2, 9)


@dataclass(frozen=True)
class ConcentratedClaim(TestedClaim):
    """ρ, by the divergence of Rényi between two coins.

    >>> claim = ConcentratedClaim(0.125)  # a Gaussian of standard deviation 2, cut at its middle
    >>> bool(0.07 < claim.value(0.5987, 0.4013) < 0.125)
    True
    """

    amount: float
    measure: ClassVar[str] = "rho"
    symbol: ClassVar[str] = "ρ"

    @property
    def epsilon(self) -> float | None:
        """None."""
        return None

    @property
    def scale(self) -> float:
        """The ε that is ρ-private by Bun and Steinke 2016, proposition 1.4."""
        return math.sqrt(2 * self.amount)

    def value(self, p1: ArrayLike, p2: ArrayLike, *, fine: bool = True) -> Floats:
        """The largest of the divergence at an order, over the order; each order is a proof."""
        orders = ORDERS if fine else FEW_ORDERS
        return _divergence(p1, p2, orders, orders)


def _divergence(p1: ArrayLike, p2: ArrayLike, orders: Floats, share: ArrayLike) -> Floats:
    """The largest, over the orders, of the divergence of Rényi between two coins, both ways, divided by its
    share.

    A smaller P1 or a larger P2 takes less. So P1 is taken as at most 1 - 1e-9 and P2 as at least 1e-300,
    which keeps the digits of what is left to 1; a P2 beyond that takes nothing.
    """
    first = np.clip(np.asarray(p1, dtype=np.float64), 1e-300, 1 - CERTAIN)
    second = np.clip(np.asarray(p2, dtype=np.float64), 1e-300, 1 - CERTAIN)
    shape = (-1, *[1] * first.ndim)
    order, part = orders.reshape(shape), np.broadcast_to(share, orders.shape).reshape(shape)
    logs = np.log(first), np.log(second), np.log1p(-first), np.log1p(-second)
    best: Floats = np.zeros_like(first)
    for a, b, c, d in (logs, (logs[1], logs[0], logs[3], logs[2])):
        moment = np.logaddexp(order * a + (1 - order) * b, order * c + (1 - order) * d)
        best = np.maximum(best, (moment / (part * (order - 1))).max(axis=0))
    return np.where((first > second) & (second < 1 - CERTAIN), best - ROUNDING, 0.0)


@dataclass(frozen=True)
class RenyiClaim(TestedClaim):
    """The divergence of Rényi at one order α.

    >>> claim = RenyiClaim(1.0, 8.0)  # a Gaussian of standard deviation 2, where 8/(2·4) is right
    >>> bool(0.4 < claim.value(special.ndtr(-1), special.ndtr(-1.5)) < 1.0)
    True
    """

    amount: float
    order: float
    measure: ClassVar[str] = "renyi"

    @property
    def symbol(self) -> str:
        """The divergence, with its order."""
        return f"D_{self.order:g}"

    @property
    def claimed(self) -> dict[str, float | None]:
        """The amount, and the order."""
        return {"renyi": self.amount, "alpha": self.order}

    @property
    def epsilon(self) -> float | None:
        """None."""
        return None

    @property
    def scale(self) -> float:
        """The ε of which a divergence at this order is about as much: ε²·α/2, and never above ε."""
        return max(self.amount, math.sqrt(2 * self.amount / self.order))

    def value(self, p1: ArrayLike, p2: ArrayLike, *, fine: bool = True) -> Floats:
        """The divergence of Rényi between two coins, both ways."""
        return _divergence(p1, p2, np.array([self.order]), 1.0)


@dataclass(frozen=True)
class GaussianClaim(TestedClaim):
    """μ: as private as noise of standard deviation 1 on answers that are μ apart.

    >>> round(float(GaussianClaim(0.5).value(special.ndtr(0.75), special.ndtr(0.25))), 6)
    0.5
    """

    amount: float
    measure: ClassVar[str] = "mu"
    symbol: ClassVar[str] = "μ"

    @property
    def epsilon(self) -> float | None:
        """None."""
        return None

    def value(self, p1: ArrayLike, p2: ArrayLike, *, fine: bool = True) -> Floats:
        """Φ⁻¹(P1) - Φ⁻¹(P2); P1 is taken as at most 1 - 1e-9 and P2 as at least 1e-300, which takes less."""
        first = np.minimum(np.asarray(p1, dtype=np.float64), 1 - CERTAIN)
        second = np.clip(np.asarray(p2, dtype=np.float64), 1e-300, 1.0)
        found = special.ndtri(np.maximum(first, 1e-300)) - special.ndtri(second)
        return np.where(first > 0, found - QUANTILE_ROUNDING, -np.inf)


@dataclass(frozen=True)
class CurveClaim(TestedClaim):
    """A trade-off curve f. What an event takes is how far its power is beyond the curve: P1 - (1 - f(P2)).

    about: the μ of the curve at one of its points.
    """

    curve: Callable[[float], float]
    about: float = 1.0
    amount: float = field(default=0.0, init=False)
    measure: ClassVar[str] = "tradeoff"
    symbol: ClassVar[str] = "power beyond f"

    @property
    def claimed(self) -> dict[str, float | None]:
        """Nothing that could be passed on."""
        return {}

    @property
    def epsilon(self) -> float | None:
        """None."""
        return None

    @property
    def scale(self) -> float:
        """About the μ of the curve."""
        return self.about

    @cached_property
    def _table(self) -> tuple[Floats, Floats]:
        """The curve at many points, for a search."""
        at = np.concatenate([[0.0], np.geomspace(1e-9, 0.05, 300), np.linspace(0.05, 1, 301)[1:]])
        return at, np.array([float(self.curve(float(x))) for x in at])

    @classmethod
    def of(cls, curve: Any) -> CurveClaim:
        """A curve that is one: convex, falling, at most 1 - x."""
        if not callable(curve):
            raise _no_curve(curve, "must be a function of the chance of a false alarm")
        try:
            at = np.array([float(curve(float(x))) for x in GRID])
        except (TypeError, ValueError, ArithmeticError) as error:
            raise _no_curve(curve, f"has no number at some chance from 0 to 1 ({error})") from error
        if not np.isfinite(at).all() or (at < -SLACK).any() or (at > 1 - GRID + SLACK).any():
            raise _no_curve(curve, "must be from 0 to 1 - x at every chance x")
        if (np.diff(at) > SLACK).any() or (np.diff(at, 2) < -SLACK).any():
            raise _no_curve(curve, "must fall and be convex, as every trade-off curve does")
        middle = float(special.ndtri(np.clip(1 - at[50], 1e-6, 1 - 1e-6)) - special.ndtri(GRID[50]))
        return cls(curve, min(max(middle, 0.01), 10.0))

    def value(self, p1: ArrayLike, p2: ArrayLike, *, fine: bool = True) -> Floats:
        """P1 - (1 - f(P2)), less what rounding could do."""
        second = np.clip(np.asarray(p2, dtype=np.float64), 0.0, 1.0)
        if fine:
            below = np.array([float(self.curve(float(x))) for x in second.ravel()]).reshape(second.shape)
        else:
            below = np.interp(second, *self._table)
        found: Floats = np.asarray(p1, dtype=np.float64) - 1 + below - ROUNDING
        return found

    def text(self, amount: float) -> str:
        """The claim by its name."""
        name = getattr(self.curve, "__name__", "f")
        return f"the trade-off curve {name}" if amount == 0 else f"{self.symbol} = {amount:g}"


def _no_curve(curve: Any, what: str) -> InvalidArgument:
    return InvalidArgument(
        "tradeoff", str(curve), what, "Pass for example tradeoff=lambda x: max(0, 1 - 2 * x, (1 - x) / 2)."
    )


def claim_argument(
    *,
    epsilon: Any = None,
    delta: Any = None,
    rho: Any = None,
    alpha: Any = None,
    renyi: Any = None,
    mu: Any = None,
    tradeoff: Any = None,
) -> TestedClaim:
    """What is claimed, in exactly one measure; a δ of 0 is none.

    >>> claim_argument(mu="1/2").text(0.5), claim_argument(alpha=8, renyi=1).text(1.0)
    ('μ = 0.5', 'D_8 = 1')
    """
    amounts = {"epsilon": epsilon, "rho": rho, "renyi": renyi, "mu": mu, "tradeoff": tradeoff}
    given = [name for name, amount in amounts.items() if amount is not None]
    if len(given) != 1:
        said = f"{' and '.join(given)} are" if given else "none is"
        raise InvalidArgument(
            given[-1] if given else "epsilon",
            str(amounts[given[-1]]) if given else None,
            f"exactly one of {', '.join(amounts)} must be given, and {said}",
            "Pass for example epsilon=1, rho='1/8' or mu='1/2'.",
        )
    name = given[0]
    if delta is not None and name != "epsilon":
        raise InvalidArgument("delta", delta, f"is claimed beside epsilon, not {name}", "Leave it out.")
    if (alpha is None) != (renyi is None):
        raise InvalidArgument(
            "alpha", alpha, "is the order of a Rényi divergence: alpha and renyi go together", "Pass both."
        )
    if tradeoff is not None:
        return CurveClaim.of(tradeoff)
    amount = double(positive_rational(name, amounts[name]))
    if not 0 < amount <= MOST_AMOUNT:
        raise InvalidArgument(
            name,
            amounts[name],
            f"must be at most {MOST_AMOUNT}, and a double",
            "A larger one claims nothing at all.",
        )
    if mu is not None:
        return GaussianClaim(amount)
    if renyi is not None:
        order = double(positive_rational("alpha", alpha))
        if not LEAST_ORDER <= order <= MOST_ORDER:
            raise InvalidArgument(
                "alpha", alpha, f"must be from {LEAST_ORDER} to {MOST_ORDER}", "Pass for example alpha=8."
            )
        return RenyiClaim(amount, order)
    measure = measure_argument(epsilon=epsilon, rho=rho, delta=delta if delta != 0 else None)
    if isinstance(measure, Approximate):
        return ApproximateClaim(amount, float(measure.delta))
    return ConcentratedClaim(amount) if isinstance(measure, ZeroConcentrated) else PureClaim(amount)
