"""Integrals of piecewise exponentials over polyhedra, in closed form and ball arithmetic.

A function is a sum of cells. A cell is a polyhedron, the set where some linear forms are not negative, with a
sum of terms c·x^p·e^(s·x) on it: p powers of the variables, s rational slopes, c a ball. The densities of
Laplace, exponential and uniform noise are such functions, and so is what comes of integrating one variable
out: in the cell where L is the largest of its lower bounds and U the smallest of its upper ones, the integral
of a term is its antiderivative at U less that at L, again a sum of terms. Variables go one at a time, the one
that meets the fewest others first, and only the factors in which it occurs are multiplied.

Polyhedra and slopes are exact; only the coefficients are balls, so that the result is a ball that holds the
integral, as narrow as the precision that is set makes it. Boundaries of cells are null sets: < and ≤ are the
same here.

>>> half = integral([laplace(Fraction(2))], [(1, 0)])                           # P(x ≥ 0)
>>> half.contains(0.5), float(half.rad()) < 1e-12
(True, True)
>>> one = exponential(Fraction(1))
>>> tail = integral([one, one], [(1, -1, -3)])                                  # P(x ≥ y + 3) = e^-3/2
>>> print(f"{float(tail.mid()):.6f}")
0.024894
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import arb, fmpq

from freegap.symbolic import Limits, NotDecided

Number = int | Fraction
"""Whole where it can be: whole numbers are compared and hashed much faster."""

Form = tuple[Number, ...]
"""A linear form: the coefficients of the variables, then the constant."""

_Terms = dict[tuple[tuple[int, ...], Form], Any]
"""(powers, slopes) → coefficient."""

_MOST_CELLS = 4000
_NO_LIMITS = Limits()


@dataclass(frozen=True)
class _Cell:
    where: tuple[Form, ...]
    terms: _Terms


@dataclass(frozen=True)
class Density:
    """A density in pieces: (lower end, upper end, factor, rate) for factor·e^(rate·x) between the ends."""

    pieces: tuple[tuple[Number | None, Number | None, Fraction, Fraction], ...]


def laplace(scale: Fraction) -> Density:
    """e^(−|x|/scale)/(2·scale)."""
    height = 1 / (2 * scale)
    return Density(((None, 0, height, 1 / scale), (0, None, height, -1 / scale)))


def exponential(scale: Fraction) -> Density:
    """e^(−x/scale)/scale on x ≥ 0."""
    return Density(((0, None, 1 / scale, -1 / scale),))


def uniform(scale: Fraction) -> Density:
    """1/scale on (0, scale)."""
    return Density(((0, scale, 1 / scale, Fraction(0)),))


def integral(densities: Sequence[Density], where: Iterable[Form], limits: Limits = _NO_LIMITS) -> Any:
    """The integral of the product of densities over the points where all of these forms are not negative."""
    count = len(densities)
    forms = list(where)
    # In units of length and slope in which all ends and slopes are whole numbers.
    length = math.lcm(*(_below(form[-1]) for form in forms), *map(_ends_below, densities))
    conditions = {_normal((*form[:-1], form[-1] * length)) for form in forms}
    slope = math.lcm(*((rate / length).denominator for d in densities for *_, rate in d.pieces))
    factors = [_cells(density, place, count, length, slope) for place, density in enumerate(densities)]
    unit: _Terms = {((0,) * count, (0,) * count): arb(1)}
    left = set(range(count))
    while left:
        place = min(left, key=lambda p: (_meets(p, count, conditions, factors), p))
        left.discard(place)
        cells = [_Cell(tuple(form for form in conditions if form[place]), unit)]
        conditions = {form for form in conditions if not form[place]}
        touched = [factor for factor in factors if _occurs(place, factor)]
        factors = [factor for factor in factors if not _occurs(place, factor)]
        for factor in touched:
            limits.require_time()
            cells = [cell for one in cells for other in factor if (cell := _product(one, other)) is not None]
            _require_few(cells)
        parts: list[_Cell] = []
        for cell in cells:
            limits.require_time()
            parts += _eliminated(cell, place, slope)
        factors.append(_merged(parts, count))
        _require_few(factors[-1])
    if any(form[-1] < 0 for form in conditions):
        return arb(0)
    total = arb(1)
    for factor in factors:  # without variables; `_pruned` has decided the conditions of its cells
        total *= sum((c for cell in factor for c in cell.terms.values()), arb(0))
    return total


def _require_few(cells: Sequence[_Cell]) -> None:
    if len(cells) > _MOST_CELLS:
        raise NotDecided(f"an integral has more than {_MOST_CELLS} pieces")


def _below(number: Number) -> int:
    return number.denominator


def _ends_below(density: Density) -> int:
    return math.lcm(
        *(_below(end) for low, high, *_ in density.pieces for end in (low, high) if end is not None)
    )


def _over(number: Number, divisor: Number) -> Number:
    """The quotient, as a whole number if it is one."""
    if isinstance(number, int) and isinstance(divisor, int) and number % divisor == 0:
        return number // divisor
    quotient = Fraction(number) / divisor
    return quotient.numerator if quotient.denominator == 1 else quotient


def _ball(number: Number) -> Any:
    return arb(number) if isinstance(number, int) else arb(fmpq(number.numerator, number.denominator))


def _cells(density: Density, place: int, count: int, length: int, slope: int) -> list[_Cell]:
    cells = []
    for low, high, factor, rate in density.pieces:
        ends = (None if end is None else _over(end * length, 1) for end in (low, high))
        slopes = tuple(_over(rate / length * slope, 1) if p == place else 0 for p in range(count))
        cells.append(_Cell(_span(count, place, *ends), {((0,) * count, slopes): _ball(factor / length)}))
    return cells


def _span(count: int, place: int, low: Number | None, high: Number | None) -> tuple[Form, ...]:
    """The conditions low ≤ x ≤ high on one variable; None for no end."""
    where = []
    for end, sign in ((low, 1), (high, -1)):
        if end is not None:
            where.append((*(sign if p == place else 0 for p in range(count)), -sign * end))
    return tuple(where)


def _normal(form: Form) -> Form:
    """The form divided by the size of its first coefficient, so that equal conditions are equal."""
    for coefficient in form[:-1]:
        if coefficient:
            size: Number = coefficient if coefficient > 0 else -coefficient
            return form if size == 1 else tuple(_over(c, size) for c in form)
    return form


def _occurs(place: int, factor: list[_Cell]) -> bool:
    return any(
        any(form[place] for form in cell.where)
        or any(powers[place] or slopes[place] for powers, slopes in cell.terms)
        for cell in factor
    )


def _meets(place: int, count: int, conditions: Iterable[Form], factors: list[list[_Cell]]) -> int:
    """How many variables share a condition or a factor with this one."""
    met: set[int] = set()
    for form in conditions:
        if form[place]:
            met |= {p for p in range(count) if form[p]}
    for factor in factors:
        if _occurs(place, factor):
            met |= {p for p in range(count) if _occurs(p, factor)}
    return len(met)


def _product(one: _Cell, other: _Cell) -> _Cell | None:
    where = _pruned((*one.where, *other.where))
    if where is None:
        return None
    terms: _Terms = {}
    for (p, s), a in one.terms.items():
        for (q, t), b in other.terms.items():
            key = tuple(map(int.__add__, p, q)), tuple(x + y for x, y in zip(s, t, strict=True))
            terms[key] = terms[key] + a * b if key in terms else a * b
    return _Cell(where, terms)


def _pruned(where: Iterable[Form]) -> tuple[Form, ...] | None:
    """The conditions, the strongest of those that differ by a constant; None if they exclude each other."""
    strongest: dict[Form, Number] = {}
    for form in where:
        normal = _normal(form)
        direction, constant = normal[:-1], normal[-1]
        if not any(direction):
            if constant < 0:
                return None
            continue
        if direction not in strongest or constant < strongest[direction]:
            strongest[direction] = constant
    for direction, constant in strongest.items():
        opposite = strongest.get(tuple(-c for c in direction))
        if opposite is not None and constant + opposite <= 0:  # empty, or a null set
            return None
    return tuple((*direction, constant) for direction, constant in strongest.items())


def _eliminated(cell: _Cell, place: int, unit: int) -> list[_Cell]:
    """The cell's function integrated over one variable."""
    lower: list[Form] = []
    upper: list[Form] = []
    rest: list[Form] = []
    for form in cell.where:
        coefficient = form[place]
        if not coefficient:
            rest.append(form)
            continue
        bound = tuple(0 if p == place else _over(-c, coefficient) for p, c in enumerate(form))
        (lower if coefficient > 0 else upper).append(bound)
    found = []
    lows: list[Form | None] = [*lower] or [None]
    highs: list[Form | None] = [*upper] or [None]
    for low in lows:
        for high in highs:
            where = [*rest]
            if low is not None:
                where += [_difference(low, other) for other in lower if other is not low]
            if high is not None:
                where += [_difference(other, high) for other in upper if other is not high]
            if low is not None and high is not None:
                where.append(_difference(high, low))
            pruned = _pruned(where)
            if pruned is not None:
                found.append(_Cell(pruned, _between(cell.terms, place, low, high, unit)))
    return found


def _difference(one: Form, other: Form) -> Form:
    return tuple(a - b for a, b in zip(one, other, strict=True))


def _between(terms: _Terms, place: int, low: Form | None, high: Form | None, unit: int) -> _Terms:
    """The integral between the ends; slopes are in parts of the unit."""
    total: _Terms = {}
    for (powers, slopes), factor in terms.items():
        slope = slopes[place]
        for end, sign in ((high, 1), (low, -1)):
            if end is None:  # x^power·e^(slope·x) at the infinite end: 0 where it falls
                if slope * sign >= 0:
                    raise NotDecided("an integral over an unbounded region has a term that does not fall")
                continue
            moved = tuple(
                0 if p == place else s + slope * e
                for p, (s, e) in enumerate(zip(slopes, end[:-1], strict=True))
            )
            height = sign * factor * _ball(Fraction(slope * end[-1]) / unit).exp()
            for power, coefficient in _antiderivative(powers[place], Fraction(slope) / unit):
                for monomial, c in _expanded(powers, place, power, end):
                    key = monomial, moved
                    value = height * _ball(coefficient * c)
                    total[key] = total[key] + value if key in total else value
    return total


@lru_cache(maxsize=4096)
def _antiderivative(power: int, slope: Fraction) -> tuple[tuple[int, Fraction], ...]:
    """Of x^power·e^(slope·x): (k, c) for each c·x^k·e^(slope·x)."""
    if slope == 0:
        return ((power + 1, Fraction(1, power + 1)),)
    found, coefficient = [], 1 / slope
    for k in range(power, -1, -1):
        found.append((k, coefficient))
        coefficient *= -k / slope
    return tuple(found)


def _expanded(
    powers: tuple[int, ...], place: int, power: int, end: Form
) -> Iterable[tuple[tuple[int, ...], Number]]:
    """x^powers with the linear form `end`, to this power, in the place of the variable at `place`."""
    found: dict[tuple[int, ...], Number] = {tuple(0 if p == place else q for p, q in enumerate(powers)): 1}
    for _ in range(power):
        larger: dict[tuple[int, ...], Number] = {}
        for monomial, c in found.items():
            for p, e in enumerate(end):
                if e:
                    last = p == len(powers)
                    key = monomial if last else (*monomial[:p], monomial[p] + 1, *monomial[p + 1 :])
                    larger[key] = larger.get(key, 0) + c * e
        found = larger
    return found.items()


def _merged(cells: list[_Cell], count: int) -> list[_Cell]:
    """The same function in fewer cells: those of one polyhedron as one, and on a line without overlaps."""
    occurring = [p for p in range(count) if _occurs(p, cells)]
    if len(occurring) == 1:
        return _on_a_line(cells, occurring[0], count)
    joined: dict[frozenset[Form], _Terms] = {}
    for cell in cells:
        _add(joined.setdefault(frozenset(cell.where), {}), cell.terms)
    return [_Cell(tuple(where), terms) for where, terms in joined.items()]


def _add(total: _Terms, terms: _Terms) -> None:
    for key, c in terms.items():
        total[key] = total[key] + c if key in total else c


def _on_a_line(cells: list[_Cell], place: int, count: int) -> list[_Cell]:
    spans = [(_end(cell, place, 1), _end(cell, place, -1), cell.terms) for cell in cells]
    ends = sorted({end for low, high, _ in spans for end in (low, high) if end is not None})
    found = []
    for low, high in zip([None, *ends], [*ends, None], strict=True):
        terms: _Terms = {}
        for start, stop, part in spans:
            starts = start is None or (low is not None and start <= low)
            stops = stop is None or (high is not None and stop >= high)
            if starts and stops:
                _add(terms, part)
        if terms:
            found.append(_Cell(_span(count, place, low, high), terms))
    return found


def _end(cell: _Cell, place: int, sign: int) -> Number | None:
    ends = [_over(-form[-1], form[place]) for form in cell.where if form[place] * sign > 0]
    best: Callable[[list[Number]], Number] = max if sign > 0 else min
    return best(ends) if ends else None
