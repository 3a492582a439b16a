"""Run an experiment: compute or take from the cache, draw, compare, write."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import freegap
from freegap.errors import InvalidArgument
from freegap.report.pictures import save
from freegap_evidence.experiments.cache import Cache, program_digest
from freegap_evidence.experiments.data.sets import DataSet
from freegap_evidence.experiments.experiment import Comparison, Experiment, ExperimentSetting, Track
from freegap_evidence.experiments.table import Table

RUNS = 10_000
SEED = 1

FindData = Callable[[tuple[str, ...]], tuple[DataSet, ...]]


@dataclass(frozen=True, kw_only=True)
class Finished:
    """An experiment that has run.

    cached: its numbers came from the cache.
    seconds: processor time of the computation, now or when it was cached; shared by the experiments that
        show the same numbers.
    record: what the JSON file holds.
    """

    experiment: Experiment
    table: Table
    comparison: Comparison
    cached: bool
    seconds: float
    record: dict[str, Any]


def run(
    experiment: Experiment,
    *,
    find_data: FindData,
    out: Path,
    runs: int = RUNS,
    seed: int = SEED,
    show: Track | None = None,
) -> Finished:
    """Run one experiment and write ID.svg, ID.png, ID.csv and ID.json into a folder, which has the cache."""
    if runs < 1:
        raise InvalidArgument("runs", runs, "must be at least 1", "The papers have 10000.")
    computation = experiment.computation
    setting = ExperimentSetting(
        name=computation.name,
        runs=runs,
        seed=seed,
        parameters=computation.parameters,
        data=find_data(computation.data),
        **({} if show is None else {"show": show}),
    )
    cache = Cache(out / "cache")
    kept = cache.load(computation, setting)
    if kept is None:
        begin = time.process_time()
        table = computation.compute(setting)
        seconds = time.process_time() - begin
        cache.store(computation, setting, table, seconds)
    else:
        table, seconds = kept
    comparison = experiment.compare(table)
    record = _record(experiment, setting, comparison, seconds)
    _write(out, experiment, table, record)
    return Finished(
        experiment=experiment,
        table=table,
        comparison=comparison,
        cached=kept is not None,
        seconds=seconds,
        record=record,
    )


def _record(
    experiment: Experiment, setting: ExperimentSetting, comparison: Comparison, seconds: float
) -> dict[str, Any]:
    return {
        "id": experiment.id,
        "family": experiment.family,
        "title": experiment.title,
        "source": experiment.source,
        "paper_states": experiment.states,
        "holds": comparison.holds,
        "measured": comparison.text,
        "shown": None if comparison.shown is None else comparison.shown.records(),
        "runs": setting.runs,
        "repeated": experiment.computation.counted(setting.runs),
        "seed": setting.seed,
        "parameters": dict(setting.parameters),
        "data": [data.describe() for data in setting.data],
        "timed": experiment.computation.timed,
        "processor_seconds": round(seconds, 2),
        "versions": {
            "freegap": freegap.__version__,
            "program": program_digest(),
            "python": platform.python_version(),
            **{name: version(name) for name in ("numpy", "scipy", "matplotlib")},
        },
    }


def _write(out: Path, experiment: Experiment, table: Table, record: dict[str, Any]) -> None:
    figure = experiment.draw(table)
    out.mkdir(parents=True, exist_ok=True)
    for form in ("svg", "png"):
        save(figure, out / f"{experiment.id}.{form}")
    (out / f"{experiment.id}.csv").write_text(table.to_csv(), encoding="utf-8")
    text = json.dumps(record, indent=2, ensure_ascii=False)
    (out / f"{experiment.id}.json").write_text(text + "\n", encoding="utf-8")


def read_record(out: Path, experiment: Experiment) -> dict[str, Any] | None:
    """What an earlier run wrote about an experiment, or nothing."""
    path = out / f"{experiment.id}.json"
    if not path.is_file():
        return None
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        raise InvalidArgument(
            "out", str(path), "is not what freegap wrote", "Run the experiment again."
        ) from None
    return record
