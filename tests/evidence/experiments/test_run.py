"""Running, caching and writing: the same seed gives the same bytes, and nothing is computed twice."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import freegap_evidence
import numpy as np
import pytest
from freegap_evidence.experiments import adaptivity, error_reduction
from freegap_evidence.experiments.cache import program_digest
from freegap_evidence.experiments.data.sets import DataSet, data_sets
from freegap_evidence.experiments.experiment import Computation, Experiment, ExperimentSetting
from freegap_evidence.experiments.registry import EXPERIMENTS, FAMILIES, find
from freegap_evidence.experiments.run import Finished, run
from freegap_evidence.experiments.table import Table

import freegap
from freegap.errors import InvalidArgument

BY_ID = {e.id: e for e in EXPERIMENTS}
# One of each computation that is neither timed nor an audit; few points, so that the whole takes seconds.
FEWER: dict[str, dict[str, Any]] = {
    "fig-5-1": {"k": [1, 5, 50]},
    "fig-5-2": {"k": [2, 10]},
    "fig-5-3": {"epsilon": ["0.3", "1.1"]},
    "fig-5-4": {"k": [2, 12]},
    "fig-5-7": {"k": [2, 14, 16]},
    "fig-5-9": {"epsilon_millionths": [1, 7]},
    "branches": {"k": [2], "branches": [0, 1, 2]},
    "split": {"percent": [20, 50]},
    "measures": {"k": [1, 10, 100], "releases": 3},
    "choosing": {"above": [2, 6, 12, 24]},
    "threshold-shift": {"epsilon": ["0.02"], "above": [12, 48], "threshold": ["as it is", "1"]},
    "pvldb-any-queries": {"k": [2, 10]},
    "pvldb-fig-3": {"k": [2, 12]},
    "arxiv-fig-1": {"k": [2, 10]},
    "arxiv-fig-2": {"epsilon": ["0.3", "1.1"]},
    "arxiv-fig-3": {"k": [2, 10]},
    "coverage": {"k": 5, "epsilon": [0.05, 5.0]},
}


def small(name: str) -> Experiment:
    experiment = BY_ID[name]
    parameters = {**experiment.computation.parameters, **FEWER.get(name, {})}
    return replace(experiment, computation=replace(experiment.computation, parameters=parameters))


def flat(names: tuple[str, ...]) -> tuple[DataSet, ...]:
    """A data set that is made in no time, under every name."""
    counts = np.unique((20_000 / np.arange(1, 260) ** 0.9).astype(np.int64))[::-1]
    return tuple(DataSet(name, "made for a test", counts, 20_000) for name in names)


def go(experiment: Experiment, out: Path, *, runs: int = 40, seed: int = 1) -> Finished:
    return run(experiment, find_data=flat, out=out, runs=runs, seed=seed)


def computed(experiment: Experiment, seed: int) -> Table:
    setting = ExperimentSetting(
        name=experiment.computation.name,
        runs=40,
        seed=seed,
        parameters=experiment.computation.parameters,
        data=flat(experiment.computation.data),
    )
    return experiment.computation.compute(setting)


@pytest.mark.parametrize("name", sorted(FEWER))
def test_the_same_seed_gives_the_same_numbers(name: str, tmp_path: Path) -> None:
    experiment = small(name)
    go(experiment, tmp_path)  # draws it, too
    written = (tmp_path / f"{name}.csv").read_text(encoding="utf-8")
    assert written == computed(experiment, 1).to_csv()
    if name != "fig-5-1":  # which draws nothing at random
        assert written != computed(experiment, 2).to_csv()


def test_the_same_numbers_give_the_same_bytes(tmp_path: Path) -> None:
    for folder in "ab":
        done = go(small("fig-5-7"), tmp_path / folder)
        assert not done.cached
    for ending in ("csv", "svg", "png"):
        first, second = ((tmp_path / folder / f"fig-5-7.{ending}").read_bytes() for folder in "ab")
        assert first == second


def test_a_second_run_only_draws(tmp_path: Path) -> None:
    computed = []

    def compute(setting: ExperimentSetting) -> Table:
        computed.append(setting.seed)
        return BY_ID["fig-5-1"].computation.compute(setting)

    parameters = {"k": [1, 2], "epsilon": 0.7}
    experiment = replace(
        BY_ID["fig-5-1"], computation=Computation(name="shares", compute=compute, parameters=parameters)
    )
    first, second = go(experiment, tmp_path), go(experiment, tmp_path)
    assert (first.cached, second.cached) == (False, True)
    assert first.table == second.table
    go(experiment, tmp_path, seed=2)
    go(experiment, tmp_path, runs=41)
    longer = {**parameters, "k": [1, 2, 3]}
    go(replace(experiment, computation=replace(experiment.computation, parameters=longer)), tmp_path)
    assert computed == [1, 2, 1, 1]  # another seed, number of runs or parameter computes again


def test_other_data_computes_again(tmp_path: Path) -> None:
    experiment = small("fig-5-7")
    go(experiment, tmp_path)
    real = run(experiment, find_data=lambda names: data_sets(names[:1]), out=tmp_path, runs=40)
    assert not real.cached


def test_experiments_with_the_same_numbers_share_them(tmp_path: Path) -> None:
    parameters = small("fig-5-4").computation
    for name in ("fig-5-4", "fig-5-5", "fig-5-6"):
        done = go(replace(BY_ID[name], computation=parameters), tmp_path)
        assert done.cached == (name != "fig-5-4")


def test_a_damaged_cache_is_computed_again(tmp_path: Path) -> None:
    experiment = small("fig-5-1")
    first = go(experiment, tmp_path)
    (kept,) = (tmp_path / "cache").iterdir()
    kept.write_text('{"columns": ["k"]', encoding="utf-8")
    again = go(experiment, tmp_path)
    assert not again.cached
    assert again.table == first.table


def test_the_record_says_how_it_was_made(tmp_path: Path) -> None:
    go(small("fig-5-7"), tmp_path, runs=30, seed=9)
    record = json.loads((tmp_path / "fig-5-7.json").read_text(encoding="utf-8"))
    assert (record["runs"], record["seed"], record["parameters"]["k"]) == (30, 9, [2, 14, 16])
    assert record["repeated"] == "30 runs per point"
    assert record["data"][0]["items"] == len(flat(("x",))[0].counts)
    assert {"freegap", "program", "python", "numpy", "scipy", "matplotlib"} <= set(record["versions"])
    assert isinstance(record["holds"], bool)
    table = (tmp_path / "fig-5-7.csv").read_text(encoding="utf-8")
    assert table.startswith("data,algorithm,k,")


def test_an_audit_figure(tmp_path: Path) -> None:
    experiment = BY_ID["fig-4-3"]
    parameters = {"mechanisms": ["histogram_inverted_scale"], "claims": [0.2, 0.7, 1.5]}
    computation = replace(experiment.computation, parameters=parameters)
    done = go(replace(experiment, computation=computation), tmp_path, runs=100)
    assert done.comparison.holds
    assert "not up to 3.2, 1." in done.comparison.text  # 1/0.2 is beyond the axis; 1/0.7 = 1.43 is within


def test_what_was_repeated_how_often_is_said_truly() -> None:
    said = {name: experiment.computation.counted(10_000) for name, experiment in BY_ID.items()}
    assert said["fig-5-4"] == said["pvldb-fig-3"] == "10,000 runs per point"
    assert said["arxiv-fig-1"] == said["arxiv-fig-3"] == "20,000 runs per point"
    assert said["fig-5-9"] == "100,000 runs per point"
    assert said["branches"] == "2,500 runs per point"
    assert said["fig-4-2"] == "500,000 samples to confirm with, 100,000 to search with"
    assert "3 at n = 41,270, where the paper has 1,000 (table 4) and 100 (table 5)" in said["secure-table-4"]
    assert said["exact-accuracy"].endswith("exact and 10,000 insecure runs per point")
    assert said["fig-5-1"] == "computed, without runs"


@pytest.mark.parametrize(
    ("name", "times"), [("arxiv-fig-1", 2), ("branches", Fraction(1, 4)), ("fig-5-4", 1)]
)
def test_so_many_runs_are_made(name: str, times: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    made = set()
    for module in (adaptivity, error_reduction):
        asking = module.asked

        def counting(*arguments: Any, asking: Any = asking, **options: Any) -> Any:
            made.add(options["runs"])
            return asking(*arguments, **options)

        monkeypatch.setattr(module, "asked", counting)
    computed(small(name), 1)
    assert made == {40 * times}


def test_a_run_on_base_2_has_all_columns(tmp_path: Path) -> None:
    experiment = BY_ID["base2-clamping"]
    parameters = {"k": 3, "widths": ["0.1", "12"], "resolutions": ["1/2"], "around": 300, "epsilon": "7/10"}
    computation = replace(experiment.computation, parameters=parameters)
    done = go(replace(experiment, computation=computation), tmp_path, runs=400)
    assert done.comparison.holds
    assert done.table.numbers("most_spent").max() <= 0.7
    assert done.record["repeated"] == "20 releases per point"


def test_every_experiment_is_complete() -> None:
    papers = {f"fig-{n}" for n in ("4-2", "4-3", "4-4", *(f"5-{i}" for i in range(1, 10)))}
    papers |= {"table-4-2", "table-4-3", "secure-table-4", "secure-table-5", "secure-table-6"}
    papers |= {
        "pvldb-any-queries",
        "pvldb-fig-3",
        "pvldb-fig-3-d",
        "pvldb-fig-4",
        "arxiv-fig-1",
        "arxiv-fig-2",
        "arxiv-fig-3",
        "base2-clamping",
    }
    beyond = {"exact-accuracy", "exact-time", "branches", "split", "choosing", "measures"}
    beyond |= {"threshold-shift", "coverage"}
    assert set(BY_ID) == papers | beyond
    assert {e.family for e in EXPERIMENTS} == set(FAMILIES)
    assert find(["all"]) == list(EXPERIMENTS)
    assert [e.id for e in find(["fig-5-4", "fig-5-4"])] == ["fig-5-4"]
    with pytest.raises(InvalidArgument, match=r"fig-9-9.*The experiments are: fig-4-2"):
        find(["fig-9-9"])


def test_runs_must_be_positive(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="at least 1"):
        go(small("fig-5-1"), tmp_path, runs=0)


def test_tables() -> None:
    table = Table.of([{"k": np.int64(2), "x": np.float64(0.1), "y": None}])
    assert table.to_csv() == "k,x,y\n2,0.1,\n"
    assert table.rows == ((2, 0.1, None),)
    assert Table.of([]).rows == ()


@pytest.mark.parametrize("package", [freegap, freegap_evidence], ids=lambda package: package.__name__)
def test_what_is_kept_is_of_a_program(package: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another text of either package is another digest; what only shows numbers may change."""
    digest = program_digest.__wrapped__
    folder = tmp_path / package.__name__
    monkeypatch.setattr(package, "__file__", str(folder / "__init__.py"))
    for part in ("values", "experiments", "report", "commands"):
        (folder / part).mkdir(parents=True)
    shown = "report" if package is freegap else "commands"
    seen = [digest()]
    for part in ("values", "experiments", shown):
        (folder / part / "numbers.py").write_text("2 + 2")
        seen.append(digest())
    assert len(set(seen)) == 3
    assert seen[-1] == seen[-2]
