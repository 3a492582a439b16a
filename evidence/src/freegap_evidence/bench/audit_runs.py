"""How many runs a verdict takes: the audits of the catalogue against those of the audit before evidence could
grow, which made a fixed number of runs.

`runs_before.json` has what that one took until its verdict, at three ε, each with the seeds 1, 2 and 3: the
sources of commit 596263b6, on today's catalogue, every run counted that its search and confirmations drew.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator, Sequence
from importlib import resources
from typing import Any

from freegap.auditor import audit
from freegap_evidence.catalogue import CATALOGUE

SEEDS = (1, 2, 3)
MEDIAN, MOST = 1 / 3, 1.2
"""What is asked for: of what it took before, in the median, and never more than."""

Row = dict[str, Any]


def before() -> dict[str, dict[str, list[int]]]:
    """Runs until the verdict, by entry and ε, one for each seed."""
    text = (resources.files("freegap_evidence.bench") / "runs_before.json").read_text(encoding="utf-8")
    found: dict[str, dict[str, list[int]]] = json.loads(text)
    return found


def until_verdict(name: str, epsilon: float, seed: int) -> tuple[int, bool]:
    """The runs of one audit until its verdict, and whether that is as it should be."""
    entry = CATALOGUE[name]
    report = audit(
        entry.batch,
        scalar=entry.mechanism,
        epsilon=epsilon,
        neighbours=entry.neighbours,
        shrink=False,
        seed=seed,
        progress=False,
    )
    loss = entry.true_epsilon(epsilon)
    wrong = entry.mistake is not None and (loss is None or loss > epsilon)
    return report.runs - report.runs_after, report.violated == wrong


def rows(names: Iterable[str] = (), seeds: Sequence[int] = SEEDS) -> Iterator[Row]:
    """An entry at an ε: what it takes now, in the mean of the seeds, and before."""
    for name, taken in before().items():
        if names and name not in names:
            continue
        for epsilon, runs in taken.items():
            made = [until_verdict(name, float(epsilon), seed) for seed in seeds]
            now = statistics.mean(count for count, _ in made)
            was = statistics.mean(runs[SEEDS.index(seed)] for seed in seeds)
            yield {
                "name": name,
                "epsilon": float(epsilon),
                "private": CATALOGUE[name].mistake is None,
                "runs": round(now),
                "runs_before": round(was),
                "ratio": round(now / was, 4),
                "as_expected": sum(right for _, right in made),
                "audits": len(made),
            }


def summary(found: Sequence[Row]) -> Row:
    """The median of the ratios and the largest, of all and of each kind."""
    kinds = {
        "all": found,
        "right": [r for r in found if r["private"]],
        "wrong": [r for r in found if not r["private"]],
    }
    ratios = {kind: [row["ratio"] for row in those] for kind, those in kinds.items() if those}
    return {
        kind: {"median": round(statistics.median(some), 4), "most": max(some), "entries": len(some)}
        for kind, some in ratios.items()
    }
