"""What the base-2 sparse vectors return."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from freegap.base2.eta import Eta
from freegap.base2.setting import Setting
from freegap.values.results import Column, Release, aligned

__all__ = ["AboveThreshold"]


@dataclass(frozen=True, kw_only=True)
class AboveThreshold(Release):
    """Which of the questions were answered "above", and how far, as far as was asked.

    asked: how many questions were answered; those after the k-th "above" were not.
    positions: the positions of the answers above the noisy threshold.
    reached: for each of them the largest of the public gaps that it reached, 0 for none; None where no
        gaps were asked for.
    eta: (η₁, η₂); `spent` is (η₁ + η₂·found/k)·ln 2, rounded up.
    """

    asked: int
    positions: tuple[int, ...]
    reached: tuple[Fraction, ...] | None
    eta: tuple[Eta, Eta]

    @cached_property
    def above(self) -> tuple[bool, ...]:
        """One entry for each question that was answered."""
        found = set(self.positions)
        return tuple(i in found for i in range(self.asked))

    @cached_property
    def gaps(self) -> tuple[Fraction | None, ...] | None:
        """One entry for each question that was answered: its gap, or None below the threshold."""
        if self.reached is None:
            return None
        found = dict(zip(self.positions, self.reached, strict=True))
        return tuple(found.get(i) for i in range(self.asked))

    @property
    def title(self) -> str:
        """One line that says what this is."""
        return f"{len(self.positions)} of {self.asked} answers above the threshold (base 2)"

    def columns(self) -> list[Column]:
        """Position, and gap where gaps were asked for."""
        positions = Column("question", tuple(map(str, self.positions)), numeric=True)
        if self.reached is None:
            return [positions]
        return [positions, Column("gap of at least", aligned(self.reached), numeric=True)]

    def to_dict(self) -> dict[str, Any]:
        """The release as plain values."""
        return {
            "mechanism": "base2.sparse_vector" + ("" if self.reached is None else "_with_gap"),
            "asked": self.asked,
            "positions": list(self.positions),
            "gaps": None if self.reached is None else [float(gap) for gap in self.reached],
            **self._common(),
        }


def released(
    setting: Setting, found: list[tuple[int, int]], asked: int, *, with_gaps: bool, private: bool
) -> AboveThreshold:
    """The record of a run, from the positions above and how many gaps each reached."""
    ladder = [Fraction(0), *(gap * setting.granularity for gap in setting.gaps)]
    return AboveThreshold(
        asked=found[-1][0] + 1 if len(found) == setting.k else asked,
        positions=tuple(position for position, _ in found),
        reached=tuple(ladder[reached] for _, reached in found) if with_gaps else None,
        eta=setting.eta,
        epsilon=setting.epsilon,
        spent=setting.charge(len(found)),
        private=private,
        parameters=setting.public,
    )
