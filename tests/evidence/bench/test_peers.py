"""The comparison with other libraries, on libraries made up here: nothing is installed, no time is judged."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from freegap_evidence import environments
from freegap_evidence.bench.peers import comparison, contestant
from freegap_evidence.bench.peers.contestant import Contestant, NoAnswer
from freegap_evidence.bench.peers.page import TASKS, cells, chart, page
from freegap_evidence.bench.peers.tasks import CASES, CHOICE, HISTOGRAM, MEDIAN, QUICK, TABLE, TOP_K, Case
from freegap_evidence.bench.timing import number
from freegap_evidence.bench.top_k import heavy_tailed
from freegap_evidence.environments import Environment, Library, environment, read_libraries
from typer.testing import CliRunner

from freegap.cli import app

ROOT = Path(__file__).parents[3]
HERE = Path(sys.executable)
PEERS = Path(comparison.__file__).parent

WORKER = """
import sys
def largest(job):
    data, k = job["data"], job["k"]
    return lambda: sorted(range(len(data)), key=lambda i: -data[i])[:k]
def broken(job):
    import a_library_that_is_not_there
def breaking(job):
    print("noise on standard output")
    return lambda: [][0]
def ending(job):
    return lambda: sys.exit(3)
def endless(job):
    def release():
        while True:
            pass
    return release
WAYS = {"top-k": {w.__name__: w for w in (largest, broken, breaking, ending, endless)}}
"""


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """A library whose worker is in a folder of this test, beside the real harness."""
    shutil.copy(PEERS / "workers" / "harness.py", tmp_path)
    (tmp_path / "with_made_up.py").write_text(WORKER)
    monkeypatch.setattr(contestant, "WORKERS", tmp_path)
    return Library("made up", names=("pip",), more={"worker": "with_made_up"})


def made_up_in() -> Path:
    return contestant.WORKERS


def job(way: str) -> dict[str, Any]:
    return {"task": "top-k", "way": way, "data": [3, 9, 1, 7], "k": 2}


def test_a_contestant_releases_and_says_what_it_took(made_up: Library) -> None:
    with Contestant(Environment(made_up, HERE), job("largest"), folder=made_up_in(), limit=60) as one:
        one.ready()
        for _ in range(2):
            taken, processor, result = one.run()
            assert result == [1, 3]
            assert taken > 0
            assert processor >= 0
        before, peak = one.end()
    assert 0 < before <= peak


@pytest.mark.parametrize(
    ("way", "said"),
    [
        ("broken", "ModuleNotFoundError"),
        ("breaking", "IndexError"),
        ("ending", "its process ended"),
    ],
)
def test_what_fails_is_said(made_up: Library, way: str, said: str) -> None:
    with pytest.raises(NoAnswer, match=said):
        released(Contestant(Environment(made_up, HERE), job(way), folder=made_up_in(), limit=60))


def test_what_does_not_end_is_given_up(made_up: Library) -> None:
    with pytest.raises(NoAnswer, match=r"more than 0.05 s"):
        released(Contestant(Environment(made_up, HERE), job("endless"), folder=made_up_in(), limit=0.05))


def released(one: Contestant) -> object:
    with one:
        one.ready()
        return one.run()


def test_a_comparison_of_what_can_be_had(
    made_up: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours and another take turns; one fails and one is not there, and the rest goes on."""
    offered = {"freegap": ("largest",), "made up": ("largest", "breaking")}
    monkeypatch.setattr(comparison, "ways", lambda library, task: offered.get(library.name, ()))
    ours = Library("freegap", more=made_up.more)
    absent = Library("absent", requires=("absent==1.0",), names=("absent",))
    result = comparison.run(
        folder=tmp_path,
        libraries=[ours, made_up, absent],
        cases=[Case(TOP_K, (("n", 30), ("k", 3)))],
        rounds=2,
        install=False,
        audited=False,
    )
    assert [row.get("failed", row["way"]) for row in result["rows"]] == [
        "largest",
        "largest",
        "IndexError: list index out of range",
    ]
    first, second, failed = result["rows"]
    assert first["ratio"] == 1
    assert second["ratio"] == second["processor_ms"] / first["processor_ms"]
    assert (first["error"], first["error_deviation"], first["rounds"]) == (1, 0, 2)
    assert cells(failed)[0].startswith("failed: IndexError")
    assert result["libraries"][2]["skipped"].startswith("is not installed")
    assert result["libraries"][1]["versions"]["pip"]
    assert json.loads(json.dumps(result)) == result
    text = page(result, command="freegap bench peers", figure="figures/peers.svg")
    assert "| n = 30, k = 3 | freegap | largest |" in text
    assert "| absent | is not installed" in text
    chart(result, tmp_path / "peers.svg")
    assert "top-k" in (tmp_path / "peers.svg").read_text()


def test_rounds_stop_with_the_time(made_up: Library, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(comparison, "ways", lambda library, task: ("largest",))
    result = comparison.run(
        folder=tmp_path, libraries=[made_up], cases=QUICK[:1], rounds=50, seconds=0, audited=False
    )
    (row,) = result["rows"]
    assert row["rounds"] == 1
    assert row["error_deviation"] is None
    assert "ratio" not in row


def test_what_an_error_is() -> None:
    counts = {"data": [5, 9, 1, 7], "k": 2}
    assert TOP_K.error(counts, [1, 3]) == 1
    assert TOP_K.error(counts, [1, 0]) == 0.5
    assert CHOICE.error(counts, 0) == 4
    assert HISTOGRAM.error(counts, [5, 9, 1, 11]) == 2
    incomes = {"data": [10, 20, 20, 30]}
    assert [MEDIAN.error(incomes, value) for value in (20, 25, 5, 10, 30, 31)] == [0, 1, 2, 1, 1, 2]


def test_the_table_knows_its_top(tmp_path: Path) -> None:
    case = Case(TABLE, (("rows", 400), ("items", 20), ("k", 3)))
    made = case.job(tmp_path)
    rows = [line.split(",") for line in Path(made["path"]).read_text().split()[1:]]
    people: dict[int, set[str]] = {}
    for item, person in rows:
        people.setdefault(int(item), set()).add(person)
    assert len(rows) == 400
    assert max(len([1 for _, person in rows if person == each]) for _, each in rows[:1]) == made["per_person"]
    least = min(len(people[item]) for item in made["truth"])
    assert all(len(who) <= least for item, who in people.items() if item not in made["truth"])
    assert TABLE.error(made, made["truth"]) == 1


def test_our_own_ways_do_every_task(tmp_path: Path) -> None:
    """In this process, on the small sizes: each gives what its task's error reads, and not far off."""
    from freegap_evidence.bench.peers.workers.with_freegap import WAYS

    for case in QUICK:
        made = case.job(tmp_path)
        for way in WAYS.get(case.task.name, {}).values():
            error = case.task.error(made, way(made)())
            assert error >= 0.3 if case.task.more_is_better else error < 1000


def test_ways_are_of_tasks_and_say_what_they_are() -> None:
    names = {task.name for task in TASKS}
    assert names == {case.task.name for case in CASES} == {case.task.name for case in QUICK}
    for library in comparison.LIBRARIES:
        for task in names:
            comparison.ways(library, task)
        if worker := library.more.get("worker"):
            module = __import__(f"freegap_evidence.bench.peers.workers.{worker}", fromlist=["WAYS"])
            assert set(module.WAYS) <= names
            assert all(way.__doc__ for ways in module.WAYS.values() for way in ways.values())


def test_every_library_is_pinned(tmp_path: Path) -> None:
    listed = {library.name for library in comparison.LIBRARIES}
    assert {"freegap", "OpenDP", "diffprivlib", "python-dp", "Tumult Analytics"} <= listed
    (tmp_path / "loose.toml").write_text('[loose]\nrequires = ["loose>=1"]\n')
    with pytest.raises(ValueError, match="loose: not pinned by ==: loose>=1"):
        read_libraries(tmp_path / "loose.toml")


def test_the_page_is_of_the_pinned_versions() -> None:
    """`freegap bench peers --page docs/peers.md` after a pin was changed."""
    written = (ROOT / "docs" / "peers.md").read_text(encoding="utf-8")
    for library in comparison.LIBRARIES:
        (line,) = (line for line in written.splitlines() if line.startswith(f"| {library.name} | "))
        pins = dict(one.split("==") for one in library.requires)
        pinned = [f"{name} {pins[name]}" for name in library.names if name in pins]
        assert all(pin in line for pin in pinned) or "could not be installed" in line
        assert library.cannot in line


def test_another_pin_is_another_environment() -> None:
    folders = {Library("a", requires=(f"a=={version}",)).folder for version in (1, 2)}
    assert len(folders) == 2


def ran(returncode: int, stderr: str = "", stdout: str = "{}") -> Callable[..., Any]:
    def run(command: list[str], **options: Any) -> Any:
        assert "PYTHONPATH" not in options["env"]
        if "venv" in command:
            Path(command[-1]).mkdir(parents=True)
        return subprocess.CompletedProcess(command, returncode, stdout, stderr)

    return run


def test_what_cannot_be_installed_is_an_outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = Library("absent", requires=("absent==1.0",), names=("absent",))
    monkeypatch.setenv("PYTHONPATH", "ours")
    says = (
        "WARNING: looked\nERROR: Could not find a version\nERROR: No matching distribution found for absent"
    )
    monkeypatch.setattr("freegap_evidence.environments.subprocess.run", ran(1, says))
    found = environment(library, tmp_path)
    assert found.python is None
    assert found.reason == "could not be installed: No matching distribution found for absent"
    assert not (tmp_path / library.folder).exists()
    monkeypatch.setattr("freegap_evidence.environments.subprocess.run", ran(0, stdout='{"absent": ""}'))
    assert environment(library, tmp_path).reason == "absent is not in its environment"
    monkeypatch.setattr("freegap_evidence.environments.subprocess.run", ran(0, stdout='{"absent": "1.0"}'))
    assert environment(library, tmp_path, install=False).versions == {"absent": "1.0"}


def test_where_environments_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("freegap_evidence.environments.sys.platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert environments.cache_folder() == tmp_path / "freegap" / "environments"


def test_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: dict[str, Any] = {}
    row = {"task": "top-k", "case": "n = 5", "library": "freegap", "way": "noisy_top_k", "rounds": 1}
    row |= {
        "median_ms": 2.5,
        "processor_ms": 1.5,
        "error": 1.0,
        "error_deviation": None,
        "before_mb": 50.0,
        "peak_mb": 62.0,
        "ratio": 1.0,
    }
    result: dict[str, Any] = {"date": "2026-01-01", "cores": 2, "processor": "x", "load": 1.0}
    result |= {"machine": {"python": "3", "numpy": "2"}, "rows": [row], "audits": [], "published": []}
    ours = {"name": "freegap", "cannot": "little", "versions": {"freegap": "0"}}
    absent = {"name": "absent", "cannot": "much", "versions": {}, "skipped": "is not installed"}
    result["libraries"] = [ours, absent]

    def run(**options: Any) -> dict[str, Any]:
        asked.update(options)
        return result

    monkeypatch.setattr(comparison, "run", run)
    written = tmp_path / "docs" / "peers.md"
    command = ["bench", "peers", "--quick", "--only", "OpenDP", "--page", str(written)]
    done = CliRunner().invoke(app, command, env={"COLUMNS": "140"})
    assert done.exit_code == 0, done.output
    assert "noisy_top_k" in done.output
    assert "62 (12)" in done.output
    assert "absent is not installed" in done.output
    assert [library.name for library in asked["libraries"]] == ["freegap", "OpenDP"]
    assert asked["cases"] == QUICK
    assert "`freegap bench peers --quick` on 2026-01-01" in written.read_text()
    assert (tmp_path / "docs" / "figures" / "peers.svg").exists()
    assert json.loads(CliRunner().invoke(app, ["bench", "peers", "--json"]).stdout) == result
    assert "is none of" in CliRunner().invoke(app, ["bench", "peers", "--only", "OpenFP"]).output


def test_numbers_of_three_digits() -> None:
    assert [number(value) for value in (0.01234, 99.96, 1234.5)] == ["0.0123", "100", "1,234"]
    assert len(heavy_tailed(5)) == 5
