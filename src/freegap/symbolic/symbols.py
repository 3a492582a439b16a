"""Symbols: polynomials in named variables with rational coefficients.

A `Symbol` adds, subtracts and multiplies exactly; a comparison of symbols is a `Condition`. A condition
that is asked for its truth value (`if`, `sorted`, `max`, …) is decided by the exploration that is
running. Numbers that meet a symbol are read as the rationals that they are, floats and NumPy scalars too.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import z3

from freegap.symbolic.conditions import Condition, undecided
from freegap.symbolic.undecided import NotDecided


class SymbolicVariable:
    """A named unknown: a real, or a whole number times `resolution`. Equal ones are one object."""

    __slots__ = ("name", "resolution", "z3")
    _known: ClassVar[dict[tuple[str, Fraction | None], SymbolicVariable]] = {}

    name: str
    resolution: Fraction | None
    z3: Any
    """The variable as a z3 term of sort Real."""

    def __new__(cls, name: str, resolution: Fraction | None = None) -> SymbolicVariable:
        """The variable of this name and resolution."""
        known = cls._known.get((name, resolution))
        if known is None:
            known = super().__new__(cls)
            known.name = name
            known.resolution = resolution
            known.z3 = z3.Real(name) if resolution is None else z3.ToReal(z3.Int(name)) * _numeral(resolution)
            cls._known[name, resolution] = known
        return known

    def __repr__(self) -> str:
        return self.name


Monomial = tuple[SymbolicVariable, ...]


@lru_cache(maxsize=4096)
def _numeral(value: Fraction) -> Any:
    try:
        return z3.RealVal(str(value))
    except ValueError:  # more digits than Python writes
        raise NotDecided("a number with too many digits for a question to z3") from None


@lru_cache(maxsize=65536)
def _term(monomial: Monomial, coefficient: Fraction) -> Any:
    factors = [v.z3 for v in monomial]
    if coefficient != 1 or not factors:
        factors.insert(0, _numeral(coefficient))
    return z3.Product(factors) if len(factors) > 1 else factors[0]


def added(terms: list[Any]) -> Any:
    """z3.Sum without its conversions: most of a proof's time would be spent there. A sum of one is itself."""
    if len(terms) < 2:
        return terms[0] if terms else _numeral(Fraction(0))
    context = z3.main_ctx()
    arguments = (z3.Ast * len(terms))(*(term.as_ast() for term in terms))
    return z3.ArithRef(z3.Z3_mk_add(context.ref(), len(terms), arguments), context)


def real(name: str) -> Symbol:
    """A fresh real unknown.

    >>> x, y = real("x"), real("y")
    >>> print(2 * (x - y) + y)
    2*x - y
    """
    return Symbol({(SymbolicVariable(name),): Fraction(1)})


def integer(name: str, resolution: Fraction | int = 1) -> Symbol:
    """A fresh unknown on the lattice of multiples of `resolution`."""
    return Symbol({(SymbolicVariable(name, Fraction(resolution)),): Fraction(1)})


_PUBLIC = "parameter "


def public(name: str, *, whole: bool = False) -> Symbol:
    """An unknown that stands for a public parameter: a number that is the same in both runs."""
    return integer(_PUBLIC + name) if whole else real(_PUBLIC + name)


def reciprocal(symbol: Symbol) -> Symbol:
    """1/(c·x), for a public parameter x and a number c: an unknown stands for 1/x."""
    ((monomial, factor),) = symbol.terms.items() if len(symbol.terms) == 1 else [((), Fraction(0))]
    if len(monomial) != 1 or not is_public(symbol):
        raise undecided(f"the reciprocal of {symbol}, which is no multiple of one parameter")
    inverse: Symbol = public("1/" + monomial[0].name.removeprefix(_PUBLIC)) / factor
    return inverse


def is_public(symbol: Symbol) -> bool:
    """Whether nothing but parameters occurs."""
    return all(variable.name.startswith(_PUBLIC) for variable in symbol.variables)


def constant(value: Any) -> Fraction | None:
    """The rational that a number is, or None if it is not a finite number."""
    if isinstance(value, numbers.Rational):  # int, bool, Fraction, NumPy's integers
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, np.bool_):
        return Fraction(int(value))
    if isinstance(value, numbers.Real) and math.isfinite(float(value)):
        return Fraction(float(value))
    return None


class Symbol:
    """A polynomial with rational coefficients in unknowns; ordinary arithmetic, exact."""

    __slots__ = ("_z3", "terms")

    def __init__(self, terms: Mapping[Monomial, Fraction]) -> None:
        self.terms = {monomial: c for monomial, c in terms.items() if c}
        self._z3: Any = None

    @staticmethod
    def of(value: Any) -> Symbol:
        """A number or a symbol as a symbol."""
        if isinstance(value, Symbol):
            return value
        number = constant(value)
        if number is None:
            raise undecided(f"arithmetic of a symbol with {value!r}")
        return Symbol({(): number})

    # Arithmetic ------------------------------------------------------------------------------------

    def __add__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        terms = dict(self.terms)
        for monomial, c in Symbol.of(other).terms.items():
            terms[monomial] = terms.get(monomial, Fraction(0)) + c
        return Symbol(terms)

    __radd__ = __add__

    def __neg__(self) -> Symbol:
        return Symbol({monomial: -c for monomial, c in self.terms.items()})

    def __pos__(self) -> Symbol:
        return self

    def __sub__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else self + (-Symbol.of(other))

    def __rsub__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, np.ndarray) else Symbol.of(other) + (-self)

    def __mul__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        terms: dict[Monomial, Fraction] = {}
        for left, a in self.terms.items():
            for right, b in Symbol.of(other).terms.items():
                monomial = tuple(sorted(left + right, key=lambda v: v.name))
                terms[monomial] = terms.get(monomial, Fraction(0)) + a * b
        return Symbol(terms)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        divisor = Symbol.of(other).as_constant()
        if divisor is None:
            raise undecided("division by a symbol")
        if divisor == 0:
            raise ZeroDivisionError("division of a symbol by zero")
        return Symbol({monomial: c / divisor for monomial, c in self.terms.items()})

    def __rtruediv__(self, other: Any) -> Any:
        if self.as_constant() is None:
            raise undecided("division by a symbol")
        return Symbol.of(other) / self

    def __pow__(self, exponent: Any) -> Symbol:
        if not isinstance(exponent, int) or exponent < 0:
            raise undecided(f"a symbol to the power {exponent!r}")
        result = Symbol({(): Fraction(1)})
        for _ in range(exponent):
            result = result * self
        return result

    def __abs__(self) -> Symbol:
        return -self if self < 0 else self

    # Comparisons -----------------------------------------------------------------------------------

    def _compare(self, other: Any, relation: str, swap: bool) -> Any:
        if isinstance(other, np.ndarray):
            return NotImplemented
        if isinstance(other, float) and math.isinf(other):
            if relation in ("==", "!="):
                return relation == "!="
            return (other > 0) != swap
        if constant(other) is None and not isinstance(other, Symbol):
            if relation in ("==", "!="):  # a symbol is a number and differs from None, "⊤", a list, …
                return relation == "!="
            raise undecided(f"a symbol compared with {other!r}")
        difference = self - other
        return Condition.compare(-difference if swap else difference, relation)

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, "<", False)

    def __le__(self, other: Any) -> Any:
        return self._compare(other, "<=", False)

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, "<", True)

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, "<=", True)

    def __eq__(self, other: Any) -> Any:
        return self._compare(other, "==", False)

    def __ne__(self, other: Any) -> Any:
        return self._compare(other, "!=", False)

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        return bool(self != 0)

    # What has no meaning on symbols ------------------------------------------------------------------

    def _number(self, use: str) -> Fraction:
        value = self.as_constant()
        if value is None:
            raise undecided(f"{use} of a symbol")
        return value

    def __float__(self) -> float:
        return float(self._number("a float (math.exp, math.log, …)"))

    def __int__(self) -> int:
        return int(self._number("the whole part"))

    def __index__(self) -> int:
        value = self._number("an index, a length or a range")
        if value.denominator != 1:
            raise TypeError(f"{value} is not a whole number")
        return int(value)

    def __round__(self, digits: int | None = None) -> Any:
        return round(self._number("the rounding"), digits)

    def __floor__(self) -> int:
        return math.floor(self._number("the floor"))

    def __ceil__(self) -> int:
        return math.ceil(self._number("the ceiling"))

    def __trunc__(self) -> int:
        return math.trunc(self._number("the whole part"))

    def __floordiv__(self, other: Any) -> int:
        return self._number("the floor") // Symbol.of(other)._number("division by")

    def __mod__(self, other: Any) -> Fraction:
        return self._number("the remainder") % Symbol.of(other)._number("division by")

    # NumPy -------------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        """NumPy scalars and arrays meet symbols through the ordinary operators, element by element."""
        if method != "__call__" or options or ufunc.__name__ not in _UFUNCS:
            raise undecided(f"np.{ufunc.__name__} of a symbol")
        operation = _UFUNCS[ufunc.__name__]
        if any(isinstance(value, np.ndarray) for value in inputs):
            return np.frompyfunc(operation, len(inputs), 1)(*map(_boxed, inputs))
        return operation(*inputs)

    # What a proof asks -------------------------------------------------------------------------------

    def as_constant(self) -> Fraction | None:
        """The value, if no unknown is left."""
        if not self.terms:
            return Fraction(0)
        return self.terms[()] if set(self.terms) == {()} else None

    @property
    def variables(self) -> frozenset[SymbolicVariable]:
        """The unknowns that occur."""
        return frozenset(v for monomial in self.terms for v in monomial)

    def derivative(self, variable: SymbolicVariable) -> Symbol:
        """The partial derivative."""
        terms: dict[Monomial, Fraction] = {}
        for monomial, c in self.terms.items():
            power = monomial.count(variable)
            if power:
                at = monomial.index(variable)
                rest = monomial[:at] + monomial[at + 1 :]
                terms[rest] = terms.get(rest, Fraction(0)) + c * power
        return Symbol(terms)

    def substitute(self, values: Mapping[SymbolicVariable, Any]) -> Symbol:
        """With symbols or numbers put in the place of variables."""
        if not (self.variables & values.keys()):
            return self
        result = Symbol({})
        for monomial, c in self.terms.items():
            term = Symbol({(): c})
            for v in monomial:
                term = term * (values[v] if v in values else Symbol({(v,): Fraction(1)}))
            result = result + term
        return result

    @property
    def key(self) -> frozenset[tuple[Monomial, Fraction]]:
        """Equal for equal polynomials."""
        return frozenset(self.terms.items())

    @property
    def z3(self) -> Any:
        """As a z3 term of sort Real."""
        if self._z3 is None:
            self._z3 = added([_term(monomial, c) for monomial, c in self.terms.items()])
        return self._z3

    def __str__(self) -> str:
        text = ""
        for monomial, c in sorted(self.terms.items(), key=lambda t: (not t[0], [v.name for v in t[0]])):
            names = "*".join(v.name for v in monomial)
            size = names if abs(c) == 1 and names else "*".join(filter(None, (str(abs(c)), names)))
            sign = "-" if c < 0 else "+"
            text += f" {sign} {size}" if text else ("-" if c < 0 else "") + size
        return text or "0"

    __repr__ = __str__


def _boxed(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value
    box = np.empty((), dtype=object)
    box[()] = value
    return box


_UFUNCS: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: Symbol.of(a) + b,
    "subtract": lambda a, b: Symbol.of(a) - b,
    "multiply": lambda a, b: Symbol.of(a) * b,
    "divide": lambda a, b: Symbol.of(a) / b,
    "negative": lambda a: -Symbol.of(a),
    "absolute": lambda a: abs(Symbol.of(a)),
    "maximum": lambda a, b: a if Symbol.of(a) >= b else b,
    "minimum": lambda a, b: a if Symbol.of(a) <= b else b,
    "less": lambda a, b: a < b if isinstance(a, Symbol) else b > a,
    "less_equal": lambda a, b: a <= b if isinstance(a, Symbol) else b >= a,
    "greater": lambda a, b: a > b if isinstance(a, Symbol) else b < a,
    "greater_equal": lambda a, b: a >= b if isinstance(a, Symbol) else b <= a,
    "equal": lambda a, b: a == b if isinstance(a, Symbol) else b == a,
    "not_equal": lambda a, b: a != b if isinstance(a, Symbol) else b != a,
}
