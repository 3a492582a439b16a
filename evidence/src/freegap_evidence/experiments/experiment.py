"""What an experiment is, and what it is given when it runs."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from freegap_evidence.experiments.data.sets import DataSet
from freegap_evidence.experiments.table import Table

PAPERS_SAY: Mapping[str, Any] = tomllib.loads(
    Path(__file__).with_name("papers.toml").read_text(encoding="utf-8")
)
"""What the papers state of each figure and table, and the numbers that they print."""

T = TypeVar("T")
Track = Callable[[str, Sequence[Any]], Iterable[Any]]
"""Shows progress: given a title and the points of a computation, hands out the points one by one."""


def _silently(title: str, points: Sequence[Any]) -> Iterable[Any]:
    return points


@dataclass(frozen=True, kw_only=True)
class ExperimentSetting:
    """What a computation may use: the numbers of runs, the seed, the data, a progress bar.

    runs: how often each point of a curve is simulated; the papers have 10,000.
    """

    name: str
    runs: int
    seed: int
    parameters: Mapping[str, Any]
    data: tuple[DataSet, ...] = ()
    show: Track = field(default=_silently)

    def rng(self, *point: str | int | float) -> np.random.Generator:
        """The generator of one point: the same for the same seed, whatever ran before. Not for releases."""
        label = repr((self.seed, self.name, *point)).encode()
        return np.random.default_rng(int.from_bytes(hashlib.sha256(label).digest(), "big"))

    def track(self, points: Iterable[T]) -> Iterator[T]:
        """The points, one by one, with progress."""
        yield from self.show(self.name, list(points))


def _runs_per_point(runs: int) -> str:
    return f"{runs:,} runs per point"


@dataclass(frozen=True, kw_only=True)
class Computation:
    """Numbers that one or several experiments show.

    data: the names of the data sets it needs, of `freegap_evidence.experiments.data.sets`.
    timed: it measures time, so that its numbers are not the same twice.
    counted: how often what was run, in words, for so many runs asked for: not every computation repeats
        each of its points that often.
    """

    name: str
    compute: Callable[[ExperimentSetting], Table]
    parameters: Mapping[str, Any]
    data: tuple[str, ...] = ()
    timed: bool = False
    counted: Callable[[int], str] = _runs_per_point


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """What was measured, beside what the paper states.

    holds: whether the statement holds on the numbers of this run.
    text: one line: the measured numbers; where the statement does not hold, by how much and why.
    shown: what the paper shows as a table, ours beside it.
    """

    holds: bool
    text: str
    shown: Table | None = None


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A figure or a table of a paper, or one beyond them.

    id: what `freegap experiment run` calls it.
    family: the chapter or paper it belongs to.
    source: where it stands.
    states: what the paper says of it (for figures beyond the papers: what is expected).
    """

    id: str
    family: str
    title: str
    source: str
    states: str
    computation: Computation
    draw: Callable[[Table], Any]
    compare: Callable[[Table], Comparison]

    @classmethod
    def of(
        cls,
        name: str,
        computation: Computation,
        draw: Callable[[Table], Any],
        compare: Callable[[Table], Comparison],
    ) -> Experiment:
        """The figure or table of this id, with what `papers.toml` says of it."""
        said = PAPERS_SAY["experiments"][name]
        return cls(id=name, **said, computation=computation, draw=draw, compare=compare)
