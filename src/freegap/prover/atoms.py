"""Conditions on noise alone, where the answers are known: linear forms and their relation to zero."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Atom:
    """A linear form of the noise, a constant, and its relation to zero: <, <=, == or !=."""

    relation: str
    noise: tuple[tuple[int, Fraction], ...]
    constant: Fraction

    @property
    def known(self) -> bool:
        """Its truth, if no noise is left in it."""
        value = self.constant
        return {"<": value < 0, "<=": value <= 0, "==": value == 0, "!=": value != 0}[self.relation]

    def given(self, place: int, value: Fraction) -> Atom:
        """What is left of it, where the draw at this place has this value."""
        constant = self.constant + sum((c * value for p, c in self.noise if p == place), Fraction(0))
        return Atom(self.relation, tuple((p, c) for p, c in self.noise if p != place), constant)


def exclude_each_other(atoms: Sequence[Atom]) -> bool:
    """Whether two of the conditions want one form of the noise below a number, and above a larger one."""
    ends: dict[tuple[tuple[int, Fraction], ...], Fraction] = {}
    for atom in atoms:
        if atom.relation in ("<", "<="):
            noise = sorted(atom.noise)
            size = abs(noise[0][1])
            form = tuple((place, c / size) for place, c in noise)
            ends[form] = max(atom.constant / size, ends.get(form, atom.constant / size))
    opposites = ((end, ends.get(tuple((place, -c) for place, c in form))) for form, end in ends.items())
    return any(other is not None and end + other > 0 for end, other in opposites)


def groups_of(atoms: Sequence[Atom], given: int | None = None) -> list[tuple[list[int], list[Atom]]]:
    """The draws that occur, in groups that share no condition, with the conditions of each.

    given: a draw whose value is known, and which ties nothing together.
    """
    groups: list[tuple[set[int], list[Atom]]] = []
    for atom in atoms:
        places, own = {place for place, _ in atom.noise if place != given}, [atom]
        apart = []
        for group, theirs in groups:
            if group & places:
                places |= group
                own = theirs + own
            else:
                apart.append((group, theirs))
        groups = [*apart, (places, own)]
    return [(sorted(places), own) for places, own in groups]
