"""Random reals with lazily drawn digits, in ordinary arithmetic.

A `Real` is a rational plus rational multiples of independent noise variables. It adds, subtracts and
compares like a number; a comparison draws digits of the variables involved until it is decided.

Why this is exact: let each variable be a function of its whole infinite stream of uniform digits. The
ideal output is then a function of all streams, and a program that reads digits only until the output
is determined returns that function's value. Two things suffice, and they are what this module keeps:
every enclosure contains the variable whatever the unread digits are, and a comparison answers only
when the enclosures decide it. Ties have probability zero, so each comparison ends with probability one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import total_ordering
from typing import Any, Protocol

from freegap.bits import BitSource
from freegap.errors import FreegapError, InvalidArgument
from freegap.laws import ExactLaw, Law
from freegap.laws.labelled import LabelledNoise
from freegap.values.balls import as_ball, at_precision

START_DIGITS = 64
"""How many digits a variable shows at first. Any number gives the same outputs; 64 rarely refines."""

# A comparison still undecided at this many digits means that two equal quantities were compared (for
# instance a variable with itself through two objects), or that the source is broken.
_MOST_DIGITS = 1 << 16

ReadDigits = Callable[[int], int]


class Noise(Protocol):
    """A random real of which more can be learned."""

    @property
    def digits(self) -> int:
        """How many digits are known of each underlying uniform variable."""

    def refine(self) -> None:
        """Draw as many digits again as are known."""

    def enclosure(self) -> Any:
        """A ball that contains the value, or None while it is unbounded."""


class _Uniform:
    """The known digits of a uniform variable on (0, 1)."""

    __slots__ = ("_read", "value", "width")

    def __init__(self, read: ReadDigits, start: int) -> None:
        self._read = read
        self.width = start
        self.value = read(start)

    def refine(self) -> None:
        self.value = (self.value << self.width) | self._read(self.width)
        self.width *= 2

    def ends(self) -> tuple[Any, Any]:
        scale = as_ball(Fraction(2)) ** -self.width
        return self.value * scale, (self.value + 1) * scale


class _Monotone:
    """A real that falls with each of the uniform variables that it is made of.

    So it lies between its values where all of them are at the lower, and at the upper end of what is known.
    """

    __slots__ = ("_ball", "_uniforms")

    def __init__(self, reads: Sequence[ReadDigits], start: int) -> None:
        self._uniforms = [_Uniform(read, start) for read in reads]
        self._ball: Any = None

    @property
    def digits(self) -> int:
        """How many digits are known of each uniform variable."""
        return self._uniforms[0].width

    def refine(self) -> None:
        """Draw as many digits again as are known, of every uniform variable."""
        for uniform in self._uniforms:
            uniform.refine()
        self._ball = None

    def enclosure(self) -> Any:
        """A ball that contains the value, or None while it is unbounded."""
        if self._ball is None:
            ball = at_precision(self.digits + 64 + self._guard_digits(), self._between_ends)
            self._ball = ball if ball.is_finite() else None
        return self._ball

    def _between_ends(self) -> Any:
        low, high = zip(*(uniform.ends() for uniform in self._uniforms), strict=True)
        return self._value(low).union(self._value(high))

    def _value(self, uniforms: Sequence[Any]) -> Any:
        """The value in ball arithmetic, given those of the uniform variables."""
        raise NotImplementedError

    def _guard_digits(self) -> int:
        """Digits that the computation of the value loses."""
        return 0


class Variable(_Monotone):
    """A noise variable Q(U) with scale 1, known through the first digits of U."""

    __slots__ = ("_law",)

    def __init__(self, law: ExactLaw, read: ReadDigits, *, start: int = START_DIGITS) -> None:
        super().__init__([read], start)
        self._law = law

    def _value(self, uniforms: Sequence[Any]) -> Any:
        return self._law.quantile(uniforms[0])


class OrderStatistic(_Monotone):
    """The r-th largest of m independent noise variables, from r uniform variables U₁ … U_r.

    With L_r = Σ_{i≤r} −ln(1 − U_i)/(m − i + 1), the numbers e^−L₁ > e^−L₂ > … are distributed as the order
    statistics of m uniform variables from the largest down (Rényi), so Q(1 − e^−L_r) is the r-th largest.
    """

    __slots__ = ("_law", "_size")

    def __init__(
        self, law: ExactLaw, size: int, reads: Sequence[ReadDigits], *, start: int = START_DIGITS
    ) -> None:
        super().__init__(reads, start)
        self._law = law
        self._size = size

    def _value(self, uniforms: Sequence[Any]) -> Any:
        total = as_ball(Fraction(0))
        for i, u in enumerate(uniforms):
            total -= (1 - u).log() / (self._size - i)
        return self._law.quantile(-((-total).expm1()))

    def _guard_digits(self) -> int:
        return self._size.bit_length()  # lost where e^−L is close to 1


class TruncatedLogistic(_Monotone):
    """A logistic variable with location θ, conditioned on being positive (Ding 2020, algorithm 21).

    P(X > x) = (1 + w)/(1 + w·e^x) with w = e^−θ, so X = ln(1 + (1 + w)(1 − U)/(w·U)) has that law. `odds`
    computes w in ball arithmetic, at whatever precision is set when it is called.
    """

    __slots__ = ("_odds",)

    def __init__(self, odds: Callable[[], Any], read: ReadDigits, *, start: int = START_DIGITS) -> None:
        super().__init__([read], start)
        self._odds = odds

    def _value(self, uniforms: Sequence[Any]) -> Any:
        (u,) = uniforms
        w = self._odds()
        return (1 + (1 + w) * (1 - u) / (w * u)).log()


Number = int | Fraction


@total_ordering
class Real:
    """A rational plus rational multiples of noise variables; compares exactly, drawing digits as needed.

    >>> from freegap.bits import SeededBits
    >>> noise = LazyNoise(SeededBits(1))
    >>> x, y = noise.laplace(2), noise.laplace(2)
    >>> (x + 1000 > y), (x - x + 1 == 1)
    (True, True)
    """

    __slots__ = ("constant", "terms")

    def __init__(self, constant: Number, terms: Mapping[Noise, Fraction] | None = None) -> None:
        self.constant = Fraction(constant)
        self.terms = {v: c for v, c in (terms or {}).items() if c}

    def __add__(self, other: Real | Number) -> Real:
        if not isinstance(other, Real):
            return Real(self.constant + other, self.terms)
        terms = dict(self.terms)
        for variable, coefficient in other.terms.items():
            terms[variable] = terms.get(variable, Fraction(0)) + coefficient
        return Real(self.constant + other.constant, terms)

    __radd__ = __add__

    def __mul__(self, factor: Number) -> Real:
        return Real(self.constant * factor, {v: c * factor for v, c in self.terms.items()})

    __rmul__ = __mul__

    def __truediv__(self, divisor: Number) -> Real:
        return self * (1 / Fraction(divisor))

    def __neg__(self) -> Real:
        return self * -1

    def __sub__(self, other: Real | Number) -> Real:
        return self + (-other)

    def __rsub__(self, other: Number) -> Real:
        return -self + other

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Real | int | Fraction):
            return NotImplemented
        return (self - other).sign() == 0

    def __lt__(self, other: Real | Number) -> bool:
        return (self - other).sign() < 0

    __hash__ = None  # type: ignore[assignment]

    def sign(self) -> int:
        """−1, 0 or 1; zero only where no noise is left."""
        if not self.terms:
            return (self.constant > 0) - (self.constant < 0)
        for ball, _ in self._refined():
            if ball > 0:
                return 1
            if ball < 0:
                return -1
        raise AssertionError("unreachable")  # pragma: no cover

    def floor(self, grid: Fraction = Fraction(1)) -> int:
        """The largest integer j with j·grid ≤ this number."""
        if not self.terms:
            return int(self.constant // grid)
        for ball, precision in (self / grid)._refined():
            # At a lower precision the floor itself would be rounded.
            floor = at_precision(precision, ball.floor).unique_fmpz()
            if floor is not None:
                return int(floor)
        raise AssertionError("unreachable")  # pragma: no cover

    def __float__(self) -> float:
        """A double near this number, for looking at; never for a decision."""
        if not self.terms:
            return float(self.constant)
        return next(float(ball.mid()) for ball, _ in self._refined() if ball.rad() < 1e-9)

    def __repr__(self) -> str:
        return f"Real({float(self):.6g}…)"

    def _refined(self) -> Iterator[tuple[Any, int]]:
        """Ever tighter enclosures of this number, each with the precision that it was computed at."""
        while True:
            least = min(variable.digits for variable in self.terms)
            if least > _MOST_DIGITS:
                raise FreegapError(
                    f"a comparison is undecided after {_MOST_DIGITS} digits: either two equal "
                    "quantities are compared, or the source of bits is broken"
                )
            most = max(variable.digits for variable in self.terms)
            precision = most + 64 + abs(self.constant.numerator).bit_length()
            ball = self._enclosure(precision)
            if ball is not None:
                yield ball, precision
            # Only those that are known least: a threshold that is compared often must not grow each time.
            for variable in self.terms:
                if variable.digits == least:
                    variable.refine()

    def _enclosure(self, precision: int) -> Any:
        balls = [(variable.enclosure(), c) for variable, c in self.terms.items()]
        if any(enclosure is None for enclosure, _ in balls):
            return None
        return at_precision(
            precision, lambda: sum((enclosure * as_ball(c) for enclosure, c in balls), as_ball(self.constant))
        )


class LazyNoise(LabelledNoise[Real]):
    """The noise that a mechanism's program draws, as exact reals."""

    def __init__(
        self,
        source: BitSource | None = None,
        *,
        start: int = START_DIGITS,
        reader: Callable[[Any], ReadDigits] | None = None,
    ) -> None:
        if reader is None:
            if source is None:
                raise InvalidArgument("source", source, "is missing", "Pass a source of bits.")
            reader = lambda label: source.bits  # noqa: E731
        self._reader = reader
        self._start = start

    def draw(
        self,
        law: Law,
        scale: Number,
        label: Any = None,
        *,
        resolution: Number | None = None,
        step: Any = None,
    ) -> Real:
        """A fresh variable of this law and scale, rounded down to the resolution if the law is."""
        noise = Real(0, {self._variable(law.continuous, label): Fraction(scale)})
        if law.floor_of is None:
            return noise
        unit = Fraction(1 if resolution is None else resolution)
        return Real(noise.floor(unit) * unit)

    def _variable(self, law: ExactLaw, label: Any) -> Noise:
        return Variable(law, self._reader(label), start=self._start)
