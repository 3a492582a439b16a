"""Results of batches: many releases as one table, in arrays; any of them can be had by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from freegap.values.above import AboveThreshold
from freegap.values.columns import Column, items
from freegap.values.measures import Measure
from freegap.values.plans import ReleasePlan
from freegap.values.ranking import TopK
from freegap.values.results import Release
from freegap.values.written import as_double, jsonable, plain

_SHOWN = 20  # releases that are shown to people; a program gets all of them


@dataclass(frozen=True)
class BatchPlan:
    """Many releases of one plan.

    each: the plan of every release.
    releases: how many there are.
    charged: for how many of them is paid: all, or as many as one person can be in.
    """

    each: ReleasePlan
    releases: int
    charged: int

    @property
    def mechanism(self) -> str:
        """The public name of what was asked."""
        return self.each.mechanism

    @property
    def asked(self) -> Measure:
        """The most that the releases may be charged together: so many times what each may be."""
        one = self.each.asked
        return one.of(self.charged * one.spent, self.charged * one.delta)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The public parameters, for the record."""
        return {**self.each.parameters, "releases": self.releases, "charged": self.charged}


@dataclass(frozen=True, kw_only=True, eq=False)
class ReleaseBatch(Release):
    """What all batches share.

    populations: what each population is called; None where all releases are of the same answers.
    hidden: how many further releases are not shown.
    """

    plan: BatchPlan = field(hash=False)
    populations: Sequence[Any] | None
    resolution: Fraction
    hidden: int = 0

    @property
    def releases(self) -> int:
        """How many releases there are."""
        raise NotImplementedError

    def first(self, number: int) -> Self:
        """The same, with so many releases of it, to look at."""
        raise NotImplementedError

    def _numbered(self, runs: NDArray[Any]) -> Column:
        """The column that tells whose release a row is of."""
        if self.populations is None:
            return Column("release", tuple(runs.tolist()), int, form="d")
        return Column("population", tuple(self.populations[run] for run in runs.tolist()))

    def _population_names(self) -> list[Any] | None:
        return None if self.populations is None else [jsonable(name) for name in self.populations]

    def footnotes(self) -> list[str]:
        """Lines below the table."""
        more = [f"… and {self.hidden:,} releases more"] if self.hidden else []
        number, charged = self.plan.releases, self.plan.charged
        of = f"{number:,} releases of the same answers, all of them charged"
        if self.populations is not None:
            of = f"{number:,} populations, of which one person can change at most {charged:,}"
        return [*more, of, *super().footnotes()]

    def _head(self) -> Self:
        return self if self.releases <= _SHOWN else self.first(_SHOWN)

    def __str__(self) -> str:
        return super(ReleaseBatch, self._head()).__str__()

    def __rich__(self) -> Any:
        return super(ReleaseBatch, self._head()).__rich__()

    def _repr_html_(self) -> str:
        return super(ReleaseBatch, self._head())._repr_html_()


@dataclass(frozen=True, kw_only=True, eq=False)
class TopKBatch(ReleaseBatch):
    """The selected items of many releases, one row each, from the largest down.

    labels: the selected items, in an array of as many rows as there are releases and k columns.
    indices: their positions, where the answers are a list or an array; None otherwise.
    gap_multiples: the gaps as whole multiples of `resolution`, one row for each release; None without gaps.
    """

    labels: NDArray[Any]
    indices: NDArray[np.int64] | None
    gap_multiples: NDArray[Any] | None

    @property
    def releases(self) -> int:
        """How many releases there are."""
        return len(self.labels)

    def release(self, number: int) -> TopK:
        """One of the releases, counted from 0, as if it had been made alone.

        >>> import freegap as fg
        >>> batch = fg.noisy_top_k([3, 900, 5], 1, epsilon=1, size=100, bits=fg.SeededBits(7))
        >>> batch.release(99).indices, batch.spent
        ((1,), Fraction(100, 1))
        """
        number = range(self.releases)[number]
        each: Any = self.plan.each
        return TopK(
            plan=each,
            indices=() if self.indices is None else tuple(self.indices[number].tolist()),
            labels=tuple(self.labels[number].tolist()),
            gap_multiples=None if self.gap_multiples is None else tuple(self.gap_multiples[number].tolist()),
            resolution=self.resolution,
            spent=each.charge,
            private=self.private,
        )

    def first(self, number: int) -> Self:
        """The same, with so many releases of it, to look at."""
        return replace(
            self,
            labels=self.labels[:number],
            indices=None if self.indices is None else self.indices[:number],
            gap_multiples=None if self.gap_multiples is None else self.gap_multiples[:number],
            hidden=self.hidden + self.releases - min(number, self.releases),
        )

    @property
    def title(self) -> str:
        """One line that says what this is."""
        gaps = "" if self.gap_multiples is None else " with gaps"
        return f"Private top {self.labels.shape[1]}{gaps}, {self.plan.releases:,} times"

    def columns(self) -> list[Column]:
        """Release or population, rank, label and gap."""
        number, k = self.labels.shape
        columns = [
            self._numbered(np.repeat(np.arange(number), k)),
            Column("rank", tuple(np.tile(np.arange(1, k + 1), number).tolist()), int, form="d"),
            items(tuple(self.labels.ravel().tolist())),
        ]
        if self.gap_multiples is not None:
            columns.append(Column("gap to next", self._gaps(k), float, "gap"))
        return columns

    def _gaps(self, k: int) -> tuple[Fraction | None, ...]:
        rows: list[list[int]] = [] if self.gap_multiples is None else self.gap_multiples.tolist()
        return tuple(
            row[place] * self.resolution if place < len(row) else None for row in rows for place in range(k)
        )

    def to_dict(self) -> dict[str, Any]:
        """The releases as plain values."""
        unit = self.resolution
        rows = None if self.gap_multiples is None else self.gap_multiples.tolist()
        return {
            "mechanism": self.plan.mechanism,
            "releases": self.releases,
            "populations": self._population_names(),
            "indices": None if self.indices is None else self.indices.tolist(),
            "labels": [[jsonable(label) for label in row] for row in self.labels.tolist()],
            "gaps": None if rows is None else [[as_double(gap * unit) for gap in row] for row in rows],
            "resolution": plain(self.resolution),
            **self._common(),
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class AboveBatch(ReleaseBatch):
    """The questions above the threshold in many runs of sparse vector, run after run.

    answered: how many questions of each run were answered.
    starts: where the questions above of each run begin in the arrays below, and the end of the last.
    labels: the questions above.
    indices: their positions, where the answers are a list or an array; None otherwise.
    gap_multiples: their gaps to the threshold as whole multiples of `resolution`; None without gaps.
    branches: for each, how often the budget ε₁ was halved to answer it.
    thresholds: of each question above, or one for all.
    names: what the questions that were answered are called, of each run or of all; None where they have
        positions.
    among: how many questions each run had, a public number.
    """

    answered: NDArray[np.int64]
    starts: NDArray[np.int64]
    labels: NDArray[Any]
    indices: NDArray[np.int64] | None
    gap_multiples: NDArray[Any] | None
    branches: NDArray[np.int64]
    thresholds: NDArray[Any] | Fraction
    names: Sequence[Sequence[Any] | None]
    among: NDArray[np.int64]

    @property
    def releases(self) -> int:
        """How many runs there are."""
        return len(self.answered)

    def release(self, number: int) -> AboveThreshold:
        """One of the runs, counted from 0, as if it had been made alone.

        >>> import freegap as fg
        >>> batch = fg.sparse_vector([2, 950], 500, k=1, epsilon=1, size=9, bits=fg.SeededBits(1))
        >>> batch.release(8).above
        (False, True)
        """
        number = range(self.releases)[number]
        own = slice(int(self.starts[number]), int(self.starts[number + 1]))
        each: Any = self.plan.each
        names = self.names[number if len(self.names) > 1 else 0]
        branches = tuple(self.branches[own].tolist())
        used = each.threshold_budget + sum(each.branches[-1 - halved].budget for halved in branches)
        answered = int(self.answered[number])
        return AboveThreshold(
            plan=each,
            questions=range(answered) if names is None else tuple(names[:answered]),
            indices=() if self.indices is None else tuple(self.indices[own].tolist()),
            labels=tuple(self.labels[own].tolist()),
            gap_multiples=None if self.gap_multiples is None else tuple(self.gap_multiples[own].tolist()),
            branches=branches,
            thresholds=tuple(self._thresholds(own)),
            resolution=self.resolution,
            among=int(self.among[number]),
            spent=each.charge(used),
            private=self.private,
        )

    def _thresholds(self, own: slice) -> list[Fraction]:
        if isinstance(self.thresholds, Fraction):
            return [self.thresholds] * len(self.labels[own])
        listed: list[Fraction] = self.thresholds[own].tolist()
        return listed

    def first(self, number: int) -> Self:
        """The same, with so many runs of it, to look at."""
        number = min(number, self.releases)
        end = int(self.starts[number])
        return replace(
            self,
            answered=self.answered[:number],
            starts=self.starts[: number + 1],
            labels=self.labels[:end],
            indices=None if self.indices is None else self.indices[:end],
            gap_multiples=None if self.gap_multiples is None else self.gap_multiples[:end],
            branches=self.branches[:end],
            hidden=self.hidden + self.releases - number,
        )

    @property
    def title(self) -> str:
        """One line that says what this is."""
        return f"Above the threshold, in {self.plan.releases:,} runs"

    def columns(self) -> list[Column]:
        """Release or population, label, gap and branch of the questions above."""
        runs = np.repeat(np.arange(self.releases), np.diff(self.starts))
        columns = [self._numbered(runs), items(tuple(self.labels.tolist()))]
        if self.gap_multiples is not None:
            gaps = tuple(gap * self.resolution for gap in self.gap_multiples.tolist())
            columns.append(Column("gap to threshold", gaps, float, "gap"))
            bars = self._thresholds(slice(None))
            estimates = tuple(bar + gap for bar, gap in zip(bars, gaps, strict=False))
            columns.append(Column("estimate", estimates, float))
        if self.branches.any():
            columns.append(Column("branch", tuple(self.branches.tolist()), int, form="d"))
        return columns

    def to_dict(self) -> dict[str, Any]:
        """The runs as plain values."""
        unit, gaps = self.resolution, self.gap_multiples
        return {
            "mechanism": self.plan.mechanism,
            "releases": self.releases,
            "populations": self._population_names(),
            "answered": self.answered.tolist(),
            "starts": self.starts.tolist(),
            "indices": None if self.indices is None else self.indices.tolist(),
            "labels": [jsonable(label) for label in self.labels.tolist()],
            "gaps": None if gaps is None else [as_double(gap * unit) for gap in gaps.tolist()],
            "branches": self.branches.tolist(),
            "resolution": plain(self.resolution),
            "among": self.among.tolist(),
            **self._common(),
        }
