"""Results of the ranking mechanisms: the selected items from the largest down, with gaps."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from freegap.values.columns import Column, items, one_each, ranks
from freegap.values.plans import ReleasePlan
from freegap.values.results import Release
from freegap.values.written import as_double, jsonable, plain


@dataclass(frozen=True, kw_only=True)
class TopK(Release):
    """The selected items from the largest down, each with its gap to the next.

    labels: the selected items (by position, where the answers are a list or an array).
    indices: their positions in a list or an array. There are none for labelled answers and for `Counts`,
        whose order or grouping can be private.
    gap_multiples: the gaps as whole multiples of `resolution`, or None without gaps.
    gaps: the gaps as exact rationals; the last one is the gap to the first item not selected, where that was
        asked for.
    """

    indices: tuple[int, ...]
    labels: tuple[Any, ...]
    gap_multiples: tuple[int, ...] | None
    resolution: Fraction

    @classmethod
    def noted(
        cls,
        plan: ReleasePlan,
        places: NDArray[np.intp] | list[int],
        steps: NDArray[np.int64] | list[int] | None,
        *,
        spent: Fraction,
        resolution: Fraction,
        private: bool,
    ) -> Self:
        """The record of answers without names, its fields written down when somebody first looks at one.

        Numbers become objects one by one, which for hundreds of them takes a tenth of a release. They are
        copied, so that the record holds what was released and nothing beside it: no more of an array, and not
        how the numbers were found.
        """
        release = object.__new__(cls)
        noted = np.array(places, np.intp), None if steps is None else _copied(steps)
        vars(release).update(plan=plan, spent=spent, private=private, resolution=resolution, _noted=noted)
        return release

    def _write_down(self) -> None:
        fields = vars(self)
        noted = fields.get("_noted")
        if noted is not None:
            places, steps = noted
            by_position = tuple(places.tolist())
            multiples = steps.tolist() if isinstance(steps, np.ndarray) else steps
            fields.update(
                indices=by_position,
                labels=by_position,
                gap_multiples=None if multiples is None else tuple(multiples),
            )
            fields.pop("_noted", None)  # last: another thread finds either of them

    def __getstate__(self) -> dict[str, Any]:
        """What a copy is made of: the fields."""
        self._write_down()
        return vars(self).copy()

    @cached_property
    def gaps(self) -> tuple[Fraction, ...]:
        """The gap of each selected item to the next in rank, rounded down to the resolution; or none."""
        return tuple(multiple * self.resolution for multiple in self.gap_multiples or ())

    @property
    def title(self) -> str:
        """One line that says what this is."""
        return f"Private top {len(self.labels)}" + (" with gaps" if self.gap_multiples is not None else "")

    def columns(self) -> list[Column]:
        """Rank, label and gap."""
        rows = len(self.labels)
        columns = [ranks(rows), items(self.labels)]
        if self.gap_multiples is not None:
            columns.append(Column("gap to next", one_each(self.gaps, rows), float, "gap"))
        return columns

    def to_dict(self) -> dict[str, Any]:
        """The release as plain values."""
        return {
            "mechanism": "noisy_top_k",
            "indices": [jsonable(index) for index in self.indices],
            "labels": [jsonable(label) for label in self.labels],
            "gaps": None if self.gap_multiples is None else [as_double(gap) for gap in self.gaps],
            "resolution": plain(self.resolution),
            **self._common(),
        }


def _copied(steps: NDArray[np.int64] | list[int]) -> NDArray[np.int64] | list[int]:
    """In an array where they fit, whatever they were in."""
    try:
        return np.array(steps, np.int64)
    except OverflowError:
        return list(steps)


class _WhenAsked:
    """Stands in a class for a field of it, and is asked where a record does not have the field yet."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, release: TopK | None, _: type | None = None) -> Any:
        if release is not None:
            release._write_down()
            if self._name in vars(release):
                return vars(release)[self._name]
        raise AttributeError(f"there is no {self._name!r} here")


for _name in ("indices", "labels", "gap_multiples"):
    setattr(TopK, _name, _WhenAsked(_name))  # after the class was made: no default value of the field


@dataclass(frozen=True, kw_only=True)
class HybridTopK(TopK):
    """The largest items above a threshold.

    gaps: of each item to the next; one more where the threshold was reached, its own gap to the next item.

    reached: whether the threshold was reached, so that no further items are above it.
    """

    threshold: Fraction
    reached: bool

    @cached_property
    def estimates(self) -> tuple[Fraction, ...] | None:
        """The threshold plus the gaps down to it: an estimate of each answer; None if it was not reached."""
        if not self.reached:
            return None
        estimates: list[Fraction] = []
        total = self.threshold
        for gap in reversed(self.gaps[:-1]):
            total += gap
            estimates.append(total)
        return tuple(reversed(estimates))

    @property
    def title(self) -> str:
        """One line that says what this is."""
        below = "all that are" if self.reached else "the first"
        return f"{len(self.labels)} above the threshold {self.threshold} ({below}), with gaps"

    def columns(self) -> list[Column]:
        """Rank, label and gap, and estimates where the threshold was reached."""
        own = len(self.labels)
        columns = [
            ranks(own),
            items(self.labels),
            Column("gap to next", self.gaps[:own], float, "gap"),
        ]
        if self.estimates is not None:
            columns.append(Column("estimate", self.estimates, float))
        return columns

    def to_dict(self) -> dict[str, Any]:
        """The release as plain values."""
        estimates = None if self.estimates is None else [as_double(e) for e in self.estimates]
        return super().to_dict() | {
            "mechanism": "hybrid_top_k",
            "threshold": str(self.threshold),
            "reached": self.reached,
            "estimates": estimates,
        }
