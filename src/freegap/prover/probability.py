"""The probability of an event, for a program on answers that are known: a ball that is certain to hold it.

An event is a kind of output with an interval for each of its numbers. Each path of that kind is a set of
linear conditions on the noise once the answers are known. Draws that share no condition are independent, so a
path's probability is a product over groups of draws:

    one draw                  the chance of an interval, in closed form
    several continuous ones   an integral in closed form (`freegap.prover.exponentials`)
    one on a lattice          its values are gone through, up to those of which less than 2^-62 is left,
                              and what is left over is in the width of the ball

`NotDecided` where a condition is not linear, or a law has no such form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from flint import arb, ctx

from freegap.laws import DISCRETE_LAPLACE, EXPONENTIAL, GEOMETRIC, LAPLACE, LOGISTIC, NORMAL, UNIFORM, Law
from freegap.prover.atoms import Atom, exclude_each_other, groups_of
from freegap.prover.classes import OutputClass
from freegap.prover.exponentials import Density, exponential, integral, laplace, uniform
from freegap.prover.prices import scale_of
from freegap.symbolic import Condition, Draw, Limits, NotDecided, Path, Symbol
from freegap.values.balls import as_ball, at_precision

Interval = tuple[Fraction | None, Fraction | None]
"""Both ends belong to it; None for no end."""

_PRECISIONS = (192, 768, 3072)
_SHARP = Fraction(1, 2**40)
_REST_BITS = 64
_MOST_VALUES = 20_000
_NO_LIMITS = Limits()


@dataclass(frozen=True)
class _Linear:
    """Σ answers·a + Σ noise·h + constant, by the places of the answers and of the draws."""

    answers: tuple[tuple[int, Fraction], ...]
    noise: tuple[tuple[int, Fraction], ...]
    constant: Fraction

    def at(self, answers: Sequence[Fraction]) -> Fraction:
        return self.constant + sum((c * answers[i] for i, c in self.answers), Fraction(0))


@dataclass(frozen=True)
class LinearPath:
    """One path of a kind of output, as linear forms."""

    draws: tuple[Draw, ...]
    conditions: tuple[tuple[str, _Linear], ...]
    numbers: tuple[_Linear, ...]

    def atoms(self, answers: Sequence[Fraction], box: Sequence[Interval]) -> list[Atom]:
        """What the noise has to meet, for these answers and with the numbers within the box."""
        found = [Atom(relation, form.noise, form.at(answers)) for relation, form in self.conditions]
        for form, (low, high) in zip(self.numbers, box, strict=True):
            value = form.at(answers)
            if high is not None:
                found.append(Atom("<=", form.noise, value - high))
            if low is not None:
                found.append(Atom("<=", tuple((p, -c) for p, c in form.noise), low - value))
        return found


def linear_paths(output: OutputClass) -> list[LinearPath]:
    """The paths of one kind of output."""
    return [
        _linear_path(output, path, numbers)
        for path, numbers in zip(output.paths, output.numbers, strict=True)
    ]


def _linear_path(output: OutputClass, path: Path, numbers: Sequence[Symbol]) -> LinearPath:
    places = {v: ("answers", i) for i, q in enumerate(output.problem.answers) for v in q.variables}
    places |= {v: ("noise", j) for j, draw in enumerate(path.draws) for v in draw.value.variables}
    conditions = tuple((c.relation, _linear(_symbol(c), places)) for c in path.conditions)
    return LinearPath(path.draws, conditions, tuple(_linear(number, places) for number in numbers))


def _symbol(condition: Condition) -> Symbol:
    if condition.symbol is None:
        raise NotDecided("a path has a condition with an alternative in it")
    return condition.symbol


def _linear(symbol: Symbol, places: Mapping[Any, tuple[str, int]]) -> _Linear:
    parts: dict[str, list[tuple[int, Fraction]]] = {"answers": [], "noise": []}
    constant = Fraction(0)
    for monomial, c in symbol.terms.items():
        if not monomial:
            constant = c
        elif len(monomial) == 1 and monomial[0] in places:
            side, place = places[monomial[0]]
            parts[side].append((place, c))
        else:
            raise NotDecided("a condition or a released number is not linear")
    return _Linear(tuple(parts["answers"]), tuple(parts["noise"]), constant)


# A path --------------------------------------------------------------------------------------------------


def probability_of(
    paths: Iterable[LinearPath],
    answers: Sequence[Fraction],
    box: Sequence[Interval],
    limits: Limits = _NO_LIMITS,
) -> Any:
    """The probability that one of these paths is taken on these answers, with its numbers within the box.

    A ball whose radius is at most 2^-40 of its middle, unless the noise on a lattice leaves more open.
    """
    ways = [(path.draws, path.atoms(answers, box)) for path in paths]

    def total() -> Any:
        return sum((_chance(draws, atoms, limits) for draws, atoms in ways), arb(0))

    for bits in _PRECISIONS:
        found = at_precision(bits, total)
        if found.rad() <= as_ball(_SHARP) * abs(found.mid()):
            break
    return found


def _chance(draws: Sequence[Draw], atoms: Sequence[Atom], limits: Limits) -> Any:
    """The probability that the noise of these draws meets all of these conditions."""
    limits.require_time()
    met: list[Atom] = []
    for atom in atoms:
        if not atom.noise:
            if not atom.known:
                return arb(0)
        elif any(draws[place].resolution is None for place, _ in atom.noise):
            # Given all other noise, one value of continuous noise has the chance 0.
            if atom.relation == "==":
                return arb(0)
            if atom.relation != "!=":
                met.append(atom)
        else:
            met.append(atom)
    if exclude_each_other(met):
        return arb(0)
    chance = arb(1)
    for group, own in groups_of(met):
        if chance == 0:
            break
        chance *= _group_chance(draws, group, own, limits)
    return chance


def _group_chance(draws: Sequence[Draw], group: Sequence[int], atoms: Sequence[Atom], limits: Limits) -> Any:
    lattice = [place for place in group if draws[place].resolution is not None]
    if not lattice:
        return _continuous_chance(draws, group, atoms, limits)
    if len(group) == 1:
        return _lattice_chance(draws[group[0]], group[0], atoms)
    most = max(lattice, key=lambda place: sum(any(p == place for p, _ in atom.noise) for atom in atoms))
    return _summed(draws, most, atoms, limits)


def _summed(draws: Sequence[Draw], most: int, atoms: Sequence[Atom], limits: Limits) -> Any:
    """The values of one draw on a lattice are gone through, and each leaves groups of the other draws.

    They end where what is left over is less than 2^-62, and a small part of the sum: an improbable event lies
    far out itself.
    """
    draw, unit = draws[most], draws[most].resolution or Fraction(1)
    own = [atom for atom in atoms if [place for place, _ in atom.noise] == [most]]
    low, high = _ends(own, unit)
    if draw.law.one_sided:
        low = max(0, low or 0)
    not_at = {-atom.constant / atom.noise[0][1] / unit for atom in own if atom.relation == "!="}
    parts = groups_of([atom for atom in atoms if atom not in own], given=most)
    total, seen = arb(0), range(0)
    for far in _reaches(draw):
        values = range(-far if low is None else max(-far, low), (far if high is None else min(far, high)) + 1)
        for k in values:
            if k in seen or k in not_at:
                continue
            limits.require_time()
            chance = _mass(draw, k, k)
            for group, theirs in parts:
                if chance == 0:
                    break
                given = [atom.given(most, k * unit) for atom in theirs]
                chance *= _group_chance(draws, group, given, limits)
            total += chance
        seen = values
        ended = low is not None and low >= -far and high is not None and high <= far
        rest = arb(0) if ended else _rest(draw, far)
        if not total > 0 or rest < as_ball(_SHARP) * total:
            break
    return total + arb(0).union(rest)


# One law -------------------------------------------------------------------------------------------------

_DENSITIES: dict[Law, Callable[[Fraction], Density]] = {
    LAPLACE: laplace,
    EXPONENTIAL: exponential,
    UNIFORM: uniform,
}


def _continuous_chance(
    draws: Sequence[Draw], group: Sequence[int], atoms: Sequence[Atom], limits: Limits
) -> Any:
    if len(group) == 1 and draws[group[0]].law in _TAILS:
        return _line_chance(draws[group[0]], atoms)
    densities = []
    for place in group:
        law = draws[place].law
        if law not in _DENSITIES:
            raise NotDecided(f"the density of {law} noise is not a piecewise exponential")
        densities.append(_DENSITIES[law](scale_of(draws[place])))
    forms = []
    for atom in atoms:  # a form ≤ 0 is its opposite ≥ 0
        coefficients = dict(atom.noise)
        form = (*(-coefficients.get(place, Fraction(0)) for place in group), -atom.constant)
        forms.append(form)
    return integral(densities, forms, limits)


def _normal_tail(x: Any) -> Any:
    return (x / arb(2).sqrt()).erfc() / 2


_TAILS: dict[Law, Callable[[Any], Any]] = {
    NORMAL: _normal_tail,
    LOGISTIC: lambda x: 1 / (1 + x.exp()),
}
"""P(X > x) at scale 1, for laws that are symmetric."""


def _line_chance(draw: Draw, atoms: Sequence[Atom]) -> Any:
    """The chance of an interval of symmetric noise, without cancellation in its tails."""
    low: Fraction | None = None
    high: Fraction | None = None
    for atom in atoms:
        ((_, c),) = atom.noise
        end = -atom.constant / c
        if c > 0:
            high = end if high is None else min(high, end)
        else:
            low = end if low is None else max(low, end)
    if low is not None and high is not None and low >= high:
        return arb(0)
    if low is None or (high is not None and low < 0 and -low > high):
        low, high = (None if high is None else -high), (None if low is None else -low)
    scale, tail = scale_of(draw), _TAILS[draw.law]
    above = arb(1) if low is None else tail(as_ball(low / scale))
    return above if high is None else above - tail(as_ball(high / scale))


def _lattice_chance(draw: Draw, place: int, atoms: Sequence[Atom]) -> Any:
    unit = draw.resolution or Fraction(1)
    low, high = _ends(atoms, unit)
    chance = _mass(draw, low, high)
    for k in {-a.constant / a.noise[0][1] / unit for a in atoms if a.relation == "!="}:
        if k.denominator == 1 and (low is None or low <= k) and (high is None or k <= high):
            chance -= _mass(draw, int(k), int(k))
    return chance


def _ends(atoms: Sequence[Atom], unit: Fraction) -> tuple[int | None, int | None]:
    """The least and the largest multiple of the unit that the conditions allow, those with != aside."""
    low: int | None = None
    high: int | None = None
    for atom in atoms:
        ((_, c),) = atom.noise
        at = -atom.constant / c / unit
        least: int | None = None
        largest: int | None = None
        if atom.relation == "==":
            least, largest = math.ceil(at), math.floor(at)
        elif atom.relation in ("<", "<="):
            strict = atom.relation == "<"
            if c > 0:
                largest = math.ceil(at) - 1 if strict else math.floor(at)
            else:
                least = math.floor(at) + 1 if strict else math.ceil(at)
        if least is not None:
            low = least if low is None else max(low, least)
        if largest is not None:
            high = largest if high is None else min(high, largest)
    return low, high


def _base(draw: Draw) -> Any:
    """e^(−resolution/scale)."""
    return _power(-(draw.resolution or Fraction(1)) / scale_of(draw), ctx.prec)


@lru_cache(maxsize=256)
def _power(exponent: Fraction, bits: int) -> Any:
    """e^exponent at the precision that is set, by which it is known."""
    return as_ball(exponent).exp()


def _reaches(draw: Draw) -> Iterator[int]:
    """The multiples that are gone through, up to more and more."""
    steps = scale_of(draw) / (draw.resolution or Fraction(1))
    far = math.ceil(_REST_BITS * Fraction(7, 10) * steps) + 1  # ln 2 < 7/10
    if far > _MOST_VALUES:
        raise NotDecided(f"the lattice of the draw {draw.label!r} is too fine to go through")
    yield from (times * far for times in (1, 2, 4) if times * far <= _MOST_VALUES)


def _rest(draw: Draw, far: int) -> Any:
    """A bound on the chance of all multiples beyond."""
    return 2 * _base(draw) ** (far + 1)


def _mass(draw: Draw, low: int | None, high: int | None) -> Any:
    """The chance of low … high."""
    if low is not None and high is not None and low > high:
        return arb(0)
    p = _base(draw)
    if draw.law is GEOMETRIC:
        start = max(low or 0, 0)
        if high is not None and high < start:
            return arb(0)
        return p**start if high is None else p**start * (1 - p ** (high + 1 - start))
    if draw.law is not DISCRETE_LAPLACE:
        raise NotDecided(f"the probabilities of {draw.law} noise are not known here")
    if high is not None and high < 0:
        low, high = -high, (None if low is None else -low)
    if low is not None and low > 0:
        above = p**low / (1 + p)
        return above if high is None else above * (1 - p ** (high + 1 - low))
    # from low ≤ 0 to high ≥ 0
    outside = arb(0)
    if high is not None:
        outside += p ** (high + 1) / (1 + p)
    if low is not None:
        outside += p ** (1 - low) / (1 + p)
    return 1 - outside
