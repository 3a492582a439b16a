"""The work that is compared: the data, and how far a release is from the truth."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from freegap_evidence.bench.top_k import heavy_tailed

Job = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """title: what is asked. error: of a release, as `errors` names it; `more_is_better` says which way.

    note: what a reader should know to judge the lines fairly.
    """

    name: str
    title: str
    errors: str
    more_is_better: bool
    job: Callable[..., Job]
    error: Callable[[Job, Any], float]
    note: str


@dataclass(frozen=True)
class Case:
    """A task at one size."""

    task: Task
    sizes: tuple[tuple[str, int], ...]

    @property
    def title(self) -> str:
        """Its sizes, as a reader reads them."""
        return ", ".join(f"{name.replace('_', ' ')} = {size:,}" for name, size in self.sizes)

    def job(self, folder: Path) -> Job:
        """What a worker is told; files that it is to read are put into the folder."""
        return {"task": self.task.name, **self.task.job(folder, **dict(self.sizes))}


def _counted(folder: Path, n: int, k: int) -> Job:
    return {"data": heavy_tailed(n).tolist(), "k": k, "epsilon": 0.1}


def _crowded(folder: Path, n: int) -> Job:
    """Counts of which many are near the largest."""
    return {"data": np.random.default_rng(1).integers(0, 1000, n).tolist(), "epsilon": 0.1}


def _cells(folder: Path, n: int) -> Job:
    return {"data": heavy_tailed(n).tolist(), "epsilon": 1.0}


def _named(folder: Path, items: int) -> Job:
    counts = heavy_tailed(items, largest=20_000).tolist()
    return {
        "data": {f"item {i}": count for i, count in enumerate(counts) if count},
        "epsilon": 1.0,
        "delta": 1e-6,
    }


def _incomes(folder: Path, n: int) -> Job:
    drawn = np.random.default_rng(1).lognormal(10.5, 0.7, n)
    return {"data": np.clip(drawn, 0, 500_000).astype(int).tolist(), "bounds": [0, 500_000], "epsilon": 1.0}


_PER_PERSON = 20


def _baskets(folder: Path, rows: int, items: int, k: int) -> Job:
    """Rows of an item and a person; each person has twenty, the items by a power law."""
    generator = np.random.default_rng(1)
    drawn = (items * generator.random(rows) ** 3).astype(int).tolist()
    path = folder / "baskets.csv"
    people: dict[int, set[int]] = defaultdict(set)
    with path.open("w", newline="") as lines:
        out = csv.writer(lines)
        out.writerow(["item", "person"])
        for i, item in enumerate(drawn):
            out.writerow([item, i // _PER_PERSON])
            people[item].add(i // _PER_PERSON)
    largest = sorted(people, key=lambda item: len(people[item]), reverse=True)[:k]
    facts = {"items": items, "rows": rows, "per_person": _PER_PERSON, "k": k}
    return {"path": str(path), **facts, "epsilon": 1.0, "truth": largest}


def _found(job: Job, chosen: Sequence[int]) -> float:
    """The share of the true top k, in any order."""
    truth = job.get("truth") or np.argsort(-np.array(job["data"]), kind="stable")[: job["k"]].tolist()
    return float(len(set(truth) & set(chosen)) / job["k"])


def _regret(job: Job, chosen: int) -> float:
    return float(max(job["data"]) - job["data"][chosen])


def _root_mean_square(job: Job, noisy: Sequence[float]) -> float:
    return float(np.sqrt(np.mean((np.array(noisy) - np.array(job["data"])) ** 2)))


def _named_items(job: Job, labels: Sequence[str]) -> float:
    return float(len(labels))


def _places_off(job: Job, value: float) -> float:
    data = np.sort(job["data"])
    low, high = np.searchsorted(data, value, side="left"), np.searchsorted(data, value, side="right")
    return float(max(0.0, low - len(data) / 2, len(data) / 2 - high))


TOP_K = Task(
    "top-k",
    "The k largest of n counts, ε = 0.1",
    "share of the true top k",
    True,
    _counted,
    _found,
    "freegap adds noise once and gives the gaps as well; the others choose one after the other, k times.",
)
CHOICE = Task(
    "choice",
    "One of n candidates, ε = 0.1",
    "mean distance from the best count",
    False,
    _crowded,
    _regret,
    "`noisy_max`, `make_noisy_max` and `PermuteAndFlip` choose by one law, the two exponential mechanisms by "
    "another, which is a little worse: within a law the errors differ by chance only.",
)
HISTOGRAM = Task(
    "histogram",
    "Every one of n counts, of which a person may be in all, ε = 1",
    "root mean square error",
    False,
    _cells,
    _root_mean_square,
    "All add noise of the scale n/ε, so the errors are equal but for chance.",
)
THRESHOLD = Task(
    "threshold",
    "Names and counts of the frequent items, which nobody listed, one for each person, ε = 1, δ = 10⁻⁶",
    "items named",
    True,
    _named,
    _named_items,
    "python-dp selects first and counts then, each at half of ε; the others do both with one noise. OpenDP's "
    "threshold is the lowest for which it states this δ; what it states is too small by a factor e here "
    "(its issue 2922), so it names more than it should.",
)
MEDIAN = Task(
    "median",
    "The median of n incomes, ε = 1",
    "mean places off",
    False,
    _incomes,
    _places_off,
    "freegap chooses on a grid of tens; OpenDP among a thousand public candidates; diffprivlib "
    "in the intervals between the data; "
    "python-dp searches by noisy counts.",
)
TABLE = Task(
    "table",
    "The k items with the most people, from a CSV file, twenty rows a person, ε = 1",
    "share of the true top k",
    True,
    _baskets,
    _found,
    "freegap selects, and counts a person for any number of items. The others release a noisy count of every "
    "item, of which the k largest are taken: they say more, each person counts for twenty items at most, "
    "and the noise is made for that.",
)
CASES = (
    Case(TOP_K, (("n", 1_000), ("k", 10))),
    Case(TOP_K, (("n", 41_270), ("k", 100))),
    Case(CHOICE, (("n", 1_000),)),
    Case(CHOICE, (("n", 41_270),)),
    Case(HISTOGRAM, (("n", 1_000),)),
    Case(HISTOGRAM, (("n", 41_270),)),
    Case(THRESHOLD, (("items", 10_000),)),
    Case(MEDIAN, (("n", 10_000),)),
    Case(TABLE, (("rows", 100_000), ("items", 1_000), ("k", 10))),
)
QUICK = (
    Case(TOP_K, (("n", 200), ("k", 5))),
    Case(CHOICE, (("n", 200),)),
    Case(HISTOGRAM, (("n", 50),)),
    Case(THRESHOLD, (("items", 100),)),
    Case(MEDIAN, (("n", 200),)),
    Case(TABLE, (("rows", 2_000), ("items", 50), ("k", 3))),
)
