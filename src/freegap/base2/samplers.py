"""Clamped discrete Laplace noise and thresholds on it (Ilvento 2020, algorithms 2 and 3).

DiscLap^γ(1/η) gives kγ the probability 2^(−ηγ|k|)/Σ_j 2^(−ηγ|j|), k whole (Ilvento 2020, equation 1).

The names with `_at` are the programs, in units of γ: they take the weights (`Weights`, which fix the
precision from public parameters) and the `Draws`. The names without are for callers.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from freegap.base2.arguments import answer_units, eta_argument, multiple_argument
from freegap.base2.draws import BitDraws, Draws
from freegap.base2.eta import Eta
from freegap.base2.weights import Weights
from freegap.bits import BitSource, source_or_system
from freegap.errors import REDACTED, InvalidArgument
from freegap.values.rationals import Rational, positive_rational, whole


def symmetric_clamp(rho: int, x: int, w: int) -> int:
    """ρ clamped to [x − w, x + w] (Ilvento 2020, algorithm 2, SYMMETRICCLAMP; equation 3).

    >>> [symmetric_clamp(rho, 10, 2) for rho in (-100, 9, 100)]
    [8, 9, 12]
    """
    for name, value in (("rho", rho), ("x", x), ("w", w)):
        if type(value) is not int and whole(value) is None:  # the first is the fast one
            # ρ comes from noise and x from the data.
            raise InvalidArgument(name, REDACTED, "must be a whole number", "Pass units of the resolution.")
    centre, width = int(x), int(w)  # Python's integers do not overflow
    return max(centre - width, min(centre + width, int(rho)))


def clamped_laplace_at(weights: Weights, low: int, high: int, draws: Draws) -> int:
    """Discrete Laplace noise k, clamped to [low, high] (Ilvento 2020, equation 2; algorithm 3,
    CLAMPEDDISCLAP).

    P(k) = B^|k|·(1 − B)/(1 + B) for low < k < high; each end has the whole tail beyond it as well.
    The paper draws a region first and a value inside it second; here the cumulative sums themselves
    are in closed form, and one draw is inverted through them.
    """

    def cumulative(i: int) -> int:
        return weights.total if low + i == high else weights.sum(None, low + i)

    return low + draws.index(cumulative, high - low + 1)


def laplace_at(weights: Weights, draws: Draws) -> int:
    """Discrete Laplace noise: P(k) = B^|k|·(1 − B)/(1 + B) for every whole k (Ilvento 2020, equation 1).

    A piece of the law at a time. Clamped to ±reach, an end stands for all that is there or beyond; given
    that, |k| − reach is geometric (P(j) = (1 − B)·B^j, which has no memory), and is drawn in pieces as well.
    """
    reach = weights.reach
    k = clamped_laplace_at(weights, -reach, reach, draws)
    if abs(k) < reach:
        return k

    def cumulative(i: int) -> int:
        return weights.one if i == reach else weights.one - weights.tail(i + 1)

    beyond = 0
    while (step := draws.index(cumulative, reach + 1)) == reach:
        beyond += reach
    return k + beyond + step if k > 0 else k - beyond - step


def lazy_threshold_at(weights: Weights, tau: int, draws: Draws) -> bool:
    """⊤ with probability P(ν ≥ τ), ν discrete Laplace (Ilvento 2020, algorithm 3, LAZYTHRESHOLD)."""
    return draws.index((weights.tail(tau), weights.total).__getitem__, 2) == 0


def conditional_lazy_threshold_at(weights: Weights, tau: int, condition: int, draws: Draws) -> bool:
    """⊤ with probability P(ν ≥ τ | ν ≥ τ^C), τ ≥ τ^C (Ilvento 2020, algorithm 3, CONDLAZYTHRESHOLD)."""
    if condition >= 0:  # B^τ/B^τ^C = B^(τ−τ^C): the same quotient of small numbers
        parts = weights.quotient(tau - condition)
    else:
        parts = weights.tail(tau), weights.tail(condition)
    return draws.index(parts.__getitem__, 2) == 0


def clamped_laplace(
    eta: Eta, low: Rational, high: Rational, *, resolution: Rational = 1, bits: BitSource | None = None
) -> Fraction:
    """Discrete Laplace noise on the grid γ, clamped to [low, high] (Ilvento 2020, equation 2).

    Added to an answer of sensitivity Δ that lies in [a, b], with low ≤ a − b and high ≥ b − a, and the sum
    clamped to [a, b]: this is the same as adding unbounded noise and clamping, and is ηΔ-private in
    base 2 (Ilvento 2020, lemma 6.1).

    eta: the privacy parameter; 2^(−ηγ) must be exact.
    low, high: the public range of the noise, multiples of the resolution.
    resolution: γ, the grid on which the noise lives.

    >>> from freegap import SeededBits
    >>> clamped_laplace(Eta(1, 1, 1), -8, 8, bits=SeededBits(3))
    Fraction(-1, 1)
    """
    grid = positive_rational("resolution", resolution)
    lowest, highest = multiple_argument("low", low, grid), multiple_argument("high", high, grid)
    if lowest > highest:
        raise InvalidArgument("low", low, f"must not be above high = {high}", "Swap them.")
    weights = Weights(eta_argument("eta", eta).adjusted(grid).base, max(abs(lowest), abs(highest)))
    return clamped_laplace_at(weights, lowest, highest, BitDraws(source_or_system(bits))) * grid


def lazy_threshold(
    eta: Eta, threshold: Any, *, reach: Rational, resolution: Rational = 1, bits: BitSource | None = None
) -> bool:
    """Whether discrete Laplace noise on the grid γ is at least `threshold`: True with probability P(ν ≥ τ).

    The noise itself is never drawn (Ilvento 2020, algorithm 3, LAZYTHRESHOLD).

    eta: the privacy parameter; 2^(−ηγ) must be exact.
    threshold: τ, typically a noisy threshold minus a private answer. Off the grid it is rounded up, which
        changes nothing about ν ≥ τ; beyond the reach it is clamped to it.
    reach: the public bound of |τ|, a multiple of γ. It fixes the precision.

    >>> from freegap import SeededBits
    >>> lazy_threshold(Eta(1, 1, 1), -30, reach=30, bits=SeededBits(3))
    True
    """
    weights, grid = _weights(eta, reach, resolution)
    tau = _threshold_units("threshold", threshold, grid, weights.reach)
    return lazy_threshold_at(weights, tau, BitDraws(source_or_system(bits)))


def conditional_lazy_threshold(
    eta: Eta,
    threshold: Any,
    condition: Any,
    *,
    reach: Rational,
    resolution: Rational = 1,
    bits: BitSource | None = None,
) -> bool:
    """Whether noise that is known to be at least `condition` is at least `threshold` as well.

    True with probability P(ν ≥ τ | ν ≥ τ^C) (Ilvento 2020, algorithm 3, CONDLAZYTHRESHOLD). Arguments as for
    `lazy_threshold`. A threshold below the condition is reached for certain.

    >>> from freegap import SeededBits
    >>> conditional_lazy_threshold(Eta(1, 1, 1), 5, 5, reach=30, bits=SeededBits(3))
    True
    """
    weights, grid = _weights(eta, reach, resolution)
    tau = _threshold_units("threshold", threshold, grid, weights.reach)
    given = _threshold_units("condition", condition, grid, weights.reach)
    # An error for τ < τ^C would tell how two private values lie.
    return conditional_lazy_threshold_at(weights, max(tau, given), given, BitDraws(source_or_system(bits)))


def _weights(eta: Any, reach: Any, resolution: Any) -> tuple[Weights, Fraction]:
    """Of noise on the grid γ as far as the public reach, and γ."""
    grid = positive_rational("resolution", resolution)
    units = multiple_argument("reach", reach, grid)
    if units < 0:
        raise InvalidArgument("reach", reach, "must be at least 0", "Pass the largest |τ| that can occur.")
    return Weights(eta_argument("eta", eta).adjusted(grid).base, units), grid


def _threshold_units(argument: str, value: Any, grid: Fraction, reach: int) -> int:
    """⌈value/γ⌉, clamped to the reach."""
    return -answer_units(value, grid, -reach, reach, sign=-1, argument=argument)
