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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from freegap.errors import InvalidArgument
from freegap.mechanisms.arguments import flag_argument
from freegap.values.measures import Measure, Pure, ZeroConcentrated
from freegap.values.rationals import count_argument


@dataclass(frozen=True)
class Grouping:
    """The public groups of a release, and what one person can do to them.

    column: of the table.
    labels: the groups, as they were listed; each is released, whether it occurs or not.
    touched: m, in how many of them one person's rows can change counts.
    declared: whether that is the caller's statement, which nothing has checked.
    enforced: whether rows were left out so that it holds.
    sizes: how many items came out in each group.
    """

    column: str
    labels: Sequence[Any] = field(hash=False)
    touched: int
    declared: bool
    enforced: bool
    sizes: tuple[int, ...] = field(default=(), repr=False)

    def share(self, asked: Pure | ZeroConcentrated) -> Pure | ZeroConcentrated:
        """What each group may spend."""
        return asked.of(asked.spent / self.touched)

    def charge(self, spent: Sequence[Fraction]) -> Fraction:
        """What the whole release costs, by what each group has spent."""
        return sum(sorted(spent, reverse=True)[: self.touched], Fraction(0))

    def line(self, asked: Measure) -> str:
        """What is said of it to people."""
        known = f"{len(self.labels):,} public values of the column {self.column!r}"
        if self.declared:
            rule = "each person is in one of them only, which was declared and not checked"
        elif self.enforced:
            rule = (
                f"each person counts in at most {self.touched:,} of them, those with the smallest digests of "
                "person and group, and their rows in others are left out"
            )
        else:
            rule = "a person may be in all of them"
        part = "all" if self.touched == 1 else f"1/{self.touched:,}"
        return f"{known}; {rule}; each has noise of its own and {part} of {asked.symbol}"

    def to_dict(self) -> dict[str, Any]:
        """For programs; the groups themselves are in the table."""
        said = {name: getattr(self, name) for name in ("column", "touched", "declared", "enforced")}
        return said | {"groups": len(self.labels), "sizes": list(self.sizes)}


def read_grouping(
    column: str, labels: Sequence[Any], groups_per_person: int | None, one_group_per_person: bool
) -> Grouping:
    """How many groups one person can touch, by what is declared, enforced, or known of all groups."""
    if not len(labels):
        raise InvalidArgument("groups", labels, "must not be empty", "Pass a list of the public groups.")
    if one_group_per_person:
        return Grouping(column, labels, touched=1, declared=True, enforced=False)
    most = len(labels) if groups_per_person is None else min(groups_per_person, len(labels))
    return Grouping(column, labels, touched=most, declared=False, enforced=most < len(labels))


def bound_arguments(groups_per_person: Any, one_group_per_person: Any) -> tuple[int | None, bool]:
    """What is said of the groups of one person: a bound to enforce, or a declaration, and not both."""
    declared = flag_argument("one_group_per_person", one_group_per_person)
    if groups_per_person is None:
        return None, declared
    if declared:
        raise InvalidArgument(
            "groups_per_person",
            groups_per_person,
            "is enforced, and one_group_per_person=True declares what nothing enforces",
            "Pass one of the two. groups_per_person=1 enforces one group of each person.",
        )
    return count_argument("groups_per_person", groups_per_person), False
