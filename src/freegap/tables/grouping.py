"""Into which groups a release is divided, how many of them one person can touch, and what each may spend.

Write m for the number of groups whose counts one person can change.

Release  the groups one by one, each with noise of its own and the budget asked/m, in ε or in ρ
Charge   in ε the sum of the m largest amounts that groups have spent; in ρ m times what each group costs
Theorem  docs/mathematics/groups.md. One person more or less changes the counts of at most m groups, and the
         releases of all others have the same law. The noise of the groups is independent, so that the odds of
         an output are a product over groups, in which at most m factors are not 1, and each of these is at
         most e^spent for what that group released; Rényi divergences add up likewise (Bun and Steinke 2016).

m is 1 where each person is in one group: declared by the caller, or enforced, as is any other bound
(`freegap.tables.groups`). Else it is the number of all groups.

Where nobody has listed the groups, half of ε, and δ, name those that enough people are in, by
`freegap.mechanisms.unknown_counts` with groups for items; then the above with the other half, in the groups
that were named. The charge is (ε, δ): each is private by itself, the second whatever the first has named, so
that ε and δ add up (Dwork and Roth 2014, theorem 3.16).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate
from typing import Any, Self

from freegap.errors import InvalidArgument
from freegap.mechanisms.arguments import flag_argument
from freegap.mechanisms.unknown_counts import UnknownCountsPlan
from freegap.tables.domains import UNKNOWN
from freegap.values.columns import Column
from freegap.values.measures import Approximate, Measure, Pure, ZeroConcentrated
from freegap.values.rationals import count_argument
from freegap.values.written import jsonable


@dataclass(frozen=True)
class Grouping:
    """The public groups of a release, and what one person can do to them.

    column: of the table.
    labels: the groups, as they were listed; each is released, whether it occurs or not.
    touched: m, in how many of them one person's rows can change counts.
    declared: whether that is the caller's statement, which nothing has checked.
    enforced: whether rows were left out so that it holds.
    least: of groups that nobody has listed, the least noisy number of people with which one is named.
    sizes: how many items came out in each group.
    """

    column: str
    labels: Sequence[Any] = field(hash=False)
    touched: int
    declared: bool
    enforced: bool
    least: int | None = None
    sizes: tuple[int, ...] = field(default=(), repr=False)

    def share(self, asked: Pure | ZeroConcentrated) -> Pure | ZeroConcentrated:
        """What each group may spend."""
        return asked.of(asked.spent / self.touched)

    def charge(self, spent: Sequence[Fraction]) -> Fraction:
        """What the whole release costs, by what each group has spent."""
        return sum(sorted(spent, reverse=True)[: self.touched], Fraction(0))

    @property
    def parameters(self) -> dict[str, Any]:
        """For the record."""
        rule = "declared" if self.declared else "enforced" if self.enforced else "any"
        return {
            "group": self.column,
            "groups": len(self.labels) if self.least is None else UNKNOWN,
            "groups_per_person": self.touched,
            "groups_of_a_person": rule,
        }

    def divided(self, rows: list[Any]) -> dict[Any, list[Any]]:
        """The rows of each group, of a list in which they come one group after the other."""
        ends = list(accumulate(self.sizes))
        parts = zip(self.labels, ends, self.sizes, strict=True)
        return {label: rows[end - size : end] for label, end, size in parts}

    def columns(self) -> list[Column]:
        """The group of each row, and its rank there."""
        pairs = list(zip(self.labels, self.sizes, strict=True))
        return [
            Column("group", tuple(label for label, size in pairs for _ in range(size))),
            Column("rank", tuple(rank for size in self.sizes for rank in range(1, size + 1)), int, form="d"),
        ]

    def spread(self, gaps: tuple[Any, ...]) -> tuple[Any, ...]:
        """A gap for each row: None for the last of a group, where its gap was not released."""
        if len(gaps) == sum(self.sizes):
            return gaps
        of_rows = iter(gaps)
        return tuple(
            None if rank == size else next(of_rows) for size in self.sizes for rank in range(1, size + 1)
        )

    def line(self, asked: Measure) -> str:
        """What is said of it to people."""
        values = "value" if len(self.labels) == 1 else "values"
        known, rest = f"{len(self.labels):,} public {values} of the column {self.column!r}", asked.symbol
        if self.least is not None:
            known = (
                f"{UNKNOWN}; those values of the column {self.column!r} are named whose noisy number of "
                f"people is {self.least:,} or more, with half of ε and δ"
            )
            rest = "the other half of ε"
        if self.declared:
            rule = "each person is in one of them only, which was declared and not checked"
        elif self.enforced:
            rule = (
                f"each person counts in at most {self.touched:,} of them, those with the smallest digests of "
                "person and group, and their rows in others are left out"
            )
        elif self.touched < len(self.labels):
            rule = "a row is in one of them"
        else:
            rule = "a person may be in all of them"
        part = "all" if self.touched == 1 else f"1/{self.touched:,}"
        return f"{known}; {rule}; each has noise of its own and {part} of {rest}"

    def to_dict(self) -> dict[str, Any]:
        """For programs."""
        said = {name: getattr(self, name) for name in ("column", "touched", "declared", "enforced")}
        said |= {} if self.least is None else {"least": self.least}
        return said | {"labels": [jsonable(label) for label in self.labels], "sizes": list(self.sizes)}


def whole_of(asked: Pure | ZeroConcentrated, naming: UnknownCountsPlan | None) -> Measure:
    """What a release in groups may cost: with a δ, where the groups are named first."""
    return asked if naming is None else Approximate(asked.spent, naming.delta)


@dataclass(frozen=True)
class GroupArguments:
    """What a caller says of groups: their column, which are public, and how many of them a person touches."""

    group: str | None = None
    groups: Any = None
    groups_per_person: int | None = None
    one_group_per_person: bool = False
    domain_group: str | None = None

    @classmethod
    def read(
        cls,
        group: Any,
        groups: Any,
        groups_per_person: Any,
        one_group_per_person: Any,
        domain_group: Any = None,
    ) -> Self:
        """What can be refused without the groups is refused here; without a column, whatever is given."""
        of = cls(group, groups, groups_per_person, one_group_per_person, domain_group)
        if group is None:
            cls._refuse_alone(of)
        if domain_group is not None and not isinstance(domain_group, str):
            raise InvalidArgument(
                "domain_group", f"<{type(domain_group).__name__}>", "must name a column", "Pass a text."
            )
        declared = flag_argument("one_group_per_person", one_group_per_person)
        if groups_per_person is not None:
            count_argument("groups_per_person", groups_per_person)
            if declared:
                raise InvalidArgument(
                    "groups_per_person",
                    groups_per_person,
                    "is enforced, and one_group_per_person=True declares what nothing enforces",
                    "Pass one of the two. groups_per_person=1 enforces one group of each person.",
                )
        return of

    @staticmethod
    def _refuse_alone(of: GroupArguments) -> None:
        for argument, usual in vars(GroupArguments()).items():
            given = getattr(of, argument)
            if given is not usual:
                raise InvalidArgument(
                    argument,
                    given if isinstance(given, int | str) else f"<{type(given).__name__}>",
                    "has a meaning only with groups",
                    "Leave it out, or name the column of groups with group='…'.",
                )

    @property
    def unknown(self) -> bool:
        """Whether nobody has listed the groups."""
        return isinstance(self.groups, str) and self.groups == UNKNOWN

    def naming(self, asked: Pure | ZeroConcentrated, delta: Any, people: Any) -> UnknownCountsPlan | None:
        """How groups that nobody has listed are named: with half of ε; None where they are listed."""
        if not self.unknown:
            return None
        if not isinstance(asked, Pure):
            raise InvalidArgument(
                "rho", asked.spent, "cannot go with unknown groups, which have a δ", "Pass epsilon and delta."
            )
        if self.groups_per_person is None and not self.one_group_per_person:
            raise InvalidArgument(
                "groups_per_person",
                None,
                "is needed where nobody has listed the groups: without it a person could bring in any number",
                "Pass groups_per_person=1, or as many as a person may count in.",
            )
        most = self.groups_per_person or 1
        half = asked.epsilon / 2
        return UnknownCountsPlan.read(epsilon=half, delta=delta, items_per_person=most, people=people)

    def touched(self, number: int) -> int:
        """m, of so many groups in all."""
        most = number if self.groups_per_person is None else min(self.groups_per_person, number)
        return 1 if self.one_group_per_person else most

    def grouping(self, labels: Sequence[Any], *, by_row: bool) -> Grouping:
        """Of these groups. by_row: whether each row is protected by itself, and so is in one of them."""
        if not len(labels):
            raise InvalidArgument("groups", labels, "must not be empty", "Pass a list of the public groups.")
        if by_row:
            return Grouping(str(self.group), labels, touched=1, declared=False, enforced=False)
        touched, declared = self.touched(len(labels)), self.one_group_per_person
        return Grouping(str(self.group), labels, touched, declared, not declared and touched < len(labels))
