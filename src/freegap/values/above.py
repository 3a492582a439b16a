"""Results of the sparse-vector mechanisms: which questions were above the threshold, and by how much."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from freegap.values.columns import Column, items
from freegap.values.results import Release
from freegap.values.written import as_double, jsonable


@dataclass(frozen=True, kw_only=True)
class AboveThreshold(Release):
    """One entry for each question that was answered: above the threshold or not, and by how much.

    questions: what each question that was answered is called, in the order of asking, until the budget for
        answers above was used up. A list or an array has positions; a dict or a Series has its labels,
        sorted. For `Counts` there are none: the items are not listed.
    labels: the questions above the threshold, in the order of asking (hybrids: of rank).
    indices: their positions in a list or an array; none for labelled answers and `Counts`, whose order or
        grouping can be private.
    gap_multiples: their gaps to the threshold as whole multiples of `resolution`, or None without gaps.
    branches: for each, how often the budget ε₁ was halved to answer it (0 without adaptivity).
    thresholds: the public threshold of each.
    among: how many questions there were in all, answered or not, a public number; None if it is not known.
    largest: whether these are the largest of all questions, instead of the first that were above.
    """

    questions: Sequence[Any] = field(hash=False)
    indices: tuple[int, ...]
    labels: tuple[Any, ...]
    gap_multiples: tuple[int, ...] | None
    branches: tuple[int, ...]
    thresholds: tuple[Fraction, ...]
    resolution: Fraction
    among: int | None = None
    largest: bool = False

    @property
    def answered(self) -> int:
        """How many questions were answered."""
        return len(self.questions)

    @cached_property
    def above(self) -> tuple[bool, ...]:
        """For each of `questions`, whether it was above the threshold."""
        chosen = set(self.labels)
        return tuple(question in chosen for question in self.questions)

    @cached_property
    def gaps(self) -> tuple[Fraction | None, ...]:
        """For each of `questions`, its gap; None below the threshold or without gaps."""
        if self.gap_multiples is None:
            return (None,) * self.answered
        return tuple(map(dict(zip(self.labels, self.selected_gaps, strict=True)).get, self.questions))

    @cached_property
    def selected_gaps(self) -> tuple[Fraction, ...]:
        """The gaps of the questions above the threshold, as `labels` lists them."""
        return tuple(multiple * self.resolution for multiple in self.gap_multiples or ())

    @cached_property
    def estimates(self) -> tuple[Fraction, ...]:
        """Threshold plus gap: an estimate of each answer above the threshold, as `labels` lists them."""
        pairs = zip(self.thresholds, self.selected_gaps, strict=False)
        return tuple(threshold + gap for threshold, gap in pairs)

    @property
    def title(self) -> str:
        """One line that says what this is."""
        of = f", of {self.answered} answered" if self.answered else ""
        return f"{len(self.labels)} above the threshold{of}"

    def columns(self) -> list[Column]:
        """The questions above the threshold."""
        columns = [items(self.labels)]
        if self.indices:
            columns.insert(0, Column("question", self.indices, int, form="d"))
        if self.gap_multiples is not None:
            columns.append(Column("gap to threshold", self.selected_gaps, float, "gap"))
            columns.append(Column("estimate", self.estimates, float))
        if any(self.branches):
            columns.append(Column("branch", self.branches, int, form="d"))
        return columns

    def to_dict(self) -> dict[str, Any]:
        """The release as plain values; `questions` only where they have labels."""
        positions = isinstance(self.questions, range)
        return {
            "mechanism": self.plan.mechanism,
            "answered": self.answered,
            "questions": None if positions else [jsonable(question) for question in self.questions],
            "indices": [jsonable(index) for index in self.indices],
            "labels": [jsonable(label) for label in self.labels],
            "gaps": None if self.gap_multiples is None else [as_double(gap) for gap in self.selected_gaps],
            "branches": list(self.branches),
            "thresholds": [jsonable(threshold) for threshold in self.thresholds],
            "resolution": jsonable(self.resolution),
            "among": self.among,
            **self._common(),
        }
