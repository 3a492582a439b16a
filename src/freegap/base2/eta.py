"""The base-2 privacy parameter η = −z·log2(x/2^y) (Ilvento 2020, definition 2.2 and section 4).

A mechanism is η-private in base 2 if P(O | D) ≤ 2^η·P(O | D') for every event O and neighbours D, D'.
That is ε-differential privacy with ε = η·ln 2. For the η of this form 2^−η = (x/2^y)^z is a finite binary
number, and so is everything that is computed from it.

Noise on a grid of resolution γ needs 2^(−ηγ), noise for answers of sensitivity Δ needs η/Δ, and so on:
η times some rational f. With x/2^y in lowest terms and z·f = a/b in lowest terms, (x/2^y)^(a/b) is a
finite binary number exactly if b divides y and x is a b-th power. (Ilvento 2020, section 4, asks that z or y
be a multiple of γ. It must be a multiple of 1/γ: with γ = 1/2 every z is a multiple of γ, but
2^(−ηγ) is then the square root of x/2^y for z = 1, which need not be binary.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache, total_ordering

from freegap.errors import InvalidArgument
from freegap.exact.logarithms import log_bounds
from freegap.values.rationals import Rational, count_argument, positive_rational, whole

_CHARGE_BITS = 64
_LEAST_EPSILON = Fraction(1, 1 << 60)
_MOST_DIGITS = 4096
_MOST_PRECISION = 1 << 24  # of 2^−η, in bits; far beyond what any noise may need


@total_ordering
@dataclass(frozen=True, eq=False)
class Eta:
    """η = −z·log2(x/2^y), for whole numbers x, y, z ≥ 1 with x < 2^y.

    >>> eta = Eta(1, 1, 2)          # (1/2)^2: η = 2
    >>> eta.ratio, float(eta.epsilon)
    (Fraction(4, 1), 1.3862943611198906)
    >>> eta == Eta(1, 2, 1), eta.divided(2)
    (True, Eta(x=1, y=1, z=1))
    """

    x: int
    y: int
    z: int

    def __post_init__(self) -> None:
        for name in ("y", "z"):
            object.__setattr__(self, name, count_argument(name, getattr(self, name)))
        if self.y > _MOST_DIGITS:
            raise InvalidArgument(
                "y", self.y, f"must be at most {_MOST_DIGITS}", "Take fewer digits: y = 16 is common."
            )
        # x may be larger than anything that is counted.
        x = whole(self.x)
        object.__setattr__(self, "x", count_argument("x", self.x) if x is None or x < 1 else x)
        if self.x >= 1 << self.y:
            raise InvalidArgument(
                "x", self.x, f"must be less than 2^y, which is 2^{self.y}", "η must be greater than 0."
            )

    @classmethod
    def from_epsilon(
        cls, epsilon: Rational, *, resolution: Rational = 1, divisor: Rational = 1, digits: int | None = None
    ) -> Eta:
        """The largest representable η whose ε is not above the wanted one.

        resolution, divisor: 2^(−η·resolution/divisor) will be exact, so that the noise can be drawn on
            that grid after η is divided. The divisor is Δ for the noise of a threshold, 2kΔ for the
            noise of answers.
        digits: y, the binary digits of x/2^y. Left out: enough to lose less than one part in 100.

        With resolution/divisor = p/q in lowest terms, z = q; then x/2^y is the least fraction of y
        digits with −q·ln(x/2^y) ≤ ε, found by bisection on the charge itself, so that the charge
        (`epsilon`, rounded up) is never above what was wanted.

        >>> eta = Eta.from_epsilon(1, divisor=6)
        >>> eta, float(eta.epsilon)
        (Eta(x=867, y=10, z=6), 0.9985969729134675)
        >>> eta.divided(6).base
        Fraction(867, 1024)
        """
        wanted = positive_rational("epsilon", epsilon)
        if wanted < _LEAST_EPSILON:
            raise InvalidArgument(
                "epsilon",
                epsilon,
                "must be at least 2^-60: charges are multiples of 2^-64",
                "Pass a larger epsilon.",
            )
        step = positive_rational("resolution", resolution) / positive_rational("divisor", divisor)
        z = step.denominator
        y = _enough_digits(wanted / z) if digits is None else count_argument("digits", digits)
        return cls(*_largest(wanted, y, z), z)

    @property
    def base(self) -> Fraction:
        """2^−η, exactly: the weight ratio of neighbouring noise values."""
        if self.y * self.z > _MOST_PRECISION:
            raise InvalidArgument(
                "eta", self, f"needs more than {_MOST_PRECISION} bits for 2^-η", "Take a smaller y or z."
            )
        return Fraction(self.x, 1 << self.y) ** self.z

    @property
    def ratio(self) -> Fraction:
        """2^η, exactly: the largest ratio of probabilities that η allows."""
        return 1 / self.base

    def epsilon_bounds(self, bits: int = _CHARGE_BITS) -> tuple[Fraction, Fraction]:
        """Rationals with low ≤ η·ln 2 ≤ high and high − low ≤ 2^−bits.

        >>> low, high = Eta(1, 1, 1).epsilon_bounds()
        >>> low < high <= low + Fraction(1, 2**64)
        True
        """
        low, high = log_bounds(Fraction(1 << self.y, self.x), bits + self.z.bit_length())
        return self.z * low, self.z * high

    @cached_property
    def epsilon(self) -> Fraction:
        """ε = η·ln 2, rounded up by less than 2^−63 to a multiple of 2^−64: what is charged."""
        scale = 1 << _CHARGE_BITS
        return Fraction(math.ceil(self.epsilon_bounds()[1] * scale), scale)

    def divided(self, by: Rational) -> Eta:
        """η/by, for a sensitivity or a count, where 2^(−η/by) is exact; else an error.

        >>> Eta(9, 8, 1).divided(2)
        Eta(x=3, y=4, z=1)
        """
        return self._times("divisor", by, 1 / positive_rational("divisor", by))

    def adjusted(self, resolution: Rational) -> Eta:
        """η·γ, for noise on the grid of resolution γ, where 2^(−ηγ) is exact; else an error.

        >>> Eta(3, 2, 1024).adjusted("1/1024").base
        Fraction(3, 4)
        """
        return self._times("resolution", resolution, positive_rational("resolution", resolution))

    def _times(self, argument: str, given: object, factor: Fraction) -> Eta:
        reduced = Fraction(self.x, 1 << self.y)
        digits = reduced.denominator.bit_length() - 1
        power = self.z * factor
        root = power.denominator
        x = _exact_root(reduced.numerator, root)
        if x is None or digits % root:
            raise InvalidArgument(
                argument,
                given,
                f"does not keep 2^η exact: {self!r} times {factor} would be ({reduced})^({power})",
                f"Build it with Eta.from_epsilon(..., resolution=γ, divisor=d), or with z a multiple of "
                f"{factor.denominator}.",
            )
        return Eta(x, digits // root, power.numerator)

    def __float__(self) -> float:
        """η as a double, for looking at."""
        low_two, _ = log_bounds(Fraction(2))
        return float(self.epsilon_bounds()[1] / low_two)

    def __eq__(self, other: object) -> bool:
        return self.base == other.base if isinstance(other, Eta) else NotImplemented

    def __lt__(self, other: Eta) -> bool:
        return self.base > other.base if isinstance(other, Eta) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.base)


@lru_cache(maxsize=64)  # of public parameters, which runs alike share
def _largest(wanted: Fraction, y: int, z: int) -> tuple[int, int]:
    """x and y, without trailing zeros, of the largest −z·log2(x/2^y) whose ε is not above the wanted one."""
    too_strong, good = 0, (1 << y) - 1
    if Eta(good, y, z).epsilon > wanted:
        raise InvalidArgument(
            "digits",
            y,
            f"are too few: the smallest η of this form has ε > {wanted}",
            f"Pass digits={_enough_digits(wanted / z)}, or leave it out.",
        )
    while good - too_strong > 1:
        middle = (good + too_strong) // 2
        if Eta(middle, y, z).epsilon > wanted:
            too_strong = middle
        else:
            good = middle
    spare = (good & -good).bit_length() - 1  # trailing zeros would only cost precision
    return good >> spare, y - spare


def _enough_digits(rate: Fraction) -> int:
    """Digits y with which −ln(x/2^y) comes within one part in 128 of a rate, from below.

    Rounding x up to a whole number loses at most 1/x, and 2^y ≥ 128·e^rate/min(rate, 1) makes x = 2^y·e^−rate
    at least 128/min(rate, 1).
    """
    digits = int(128 / min(rate, Fraction(1))).bit_length() + math.ceil(rate * 3 / 2)
    return min(digits, _MOST_DIGITS)


def _exact_root(x: int, degree: int) -> int | None:
    """The degree-th root of x where it is a whole number."""
    low, high = 0, 1 << (x.bit_length() // degree + 1)
    while high - low > 1:
        middle = (low + high) // 2
        if middle**degree <= x:
            low = middle
        else:
            high = middle
    return low if low**degree == x else None
