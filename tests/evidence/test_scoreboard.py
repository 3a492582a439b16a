"""The scoreboard on a library of our own making, whose faults are known, and the page that it writes."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from freegap_evidence import scoreboard
from freegap_evidence.environments import Library, environment
from freegap_evidence.scoreboard.run import FOLDER, LIBRARIES, command
from freegap_evidence.scoreboard.subjects import SUBJECTS, Subject
from typer.testing import CliRunner

from freegap.cli import app
from freegap.errors import InvalidArgument

ROOT = Path(__file__).parents[2]
QUICK: dict[str, Any] = {"samples": 2000, "search_samples": 400, "patience": 1, "seed": 1, "jobs": 1}

TOY = """
import numpy as np
rng = np.random.default_rng(1)

def noisy(times, digits):
    def make(epsilon):
        def run(answers):
            value = sum(answers) + rng.laplace(scale=times / epsilon)
            return value if digits is None else round(value, digits)
        return run
    return make

def broken(epsilon):
    raise RuntimeError("out of order")

MECHANISMS = {"right": noisy(1, 1), "narrow": noisy(0.2, 1), "textbook": noisy(1, None),
              "broken": broken}
"""


@pytest.fixture
def toy(tmp_path: Path) -> Library:
    (tmp_path / "toy.py").write_text(TOY, encoding="utf-8")
    return Library("toy", names=("freegap",), more={"worker": str(tmp_path / "toy")})


def subject(name: str, known: str | None = None, library: str = "toy") -> Subject:
    return Subject(library, name, name.capitalize(), known=known, settings={"lengths": (1,)})


def test_verdicts_keep_logic_and_floating_point_apart(toy: Library, tmp_path: Path) -> None:
    gone = Library("gone", requires=("gone==1.0",), names=("gone",))
    subjects = [
        subject("right"),
        subject("narrow", known="https://example.org/1"),
        subject("textbook"),
        subject("broken"),
        subject("x", library="gone"),
    ]
    told: list[str] = []
    result = scoreboard.run(
        folder=tmp_path / "none",
        subjects=subjects,
        libraries=[toy, gone],
        install=False,
        settings=QUICK,
        told=lambda row: told.append(row["name"]),
    )
    rows = {row["name"]: row for row in result["rows"]}
    verdicts = {name: row["verdict"] for name, row in rows.items()}
    assert verdicts == {
        "right": "no violation found",
        "narrow": "violated",
        "textbook": "floating point",
        "broken": "not audited",
        "x": "not audited",
    }
    assert not rows["narrow"]["floating_point"]
    assert rows["narrow"]["lower_bound"] > 1 >= rows["right"]["lower_bound"]
    assert "out of order" in rows["broken"]["reason"]
    assert told == list(rows)
    json.dumps(result)
    text = scoreboard.page(result, command="freegap audit --libraries")
    assert "3 mechanisms were audited. Of 1 with a known fault, 1 were found; 0 others were violated" in text
    assert "| violated (known) |" in text
    assert "Known: https://example.org/1." in text
    assert "To be reported to its authors first." not in text
    rows["narrow"] |= {"known": None, "floating_point": True}
    changed = scoreboard.page(result, command="freegap audit --libraries")
    assert changed.count("To be reported to its authors first.") == 1
    assert "| violated, and floating point |" in changed
    assert "- gone: is not installed, and installing was not asked for" in text


def test_a_worker_answers_over_the_line_protocol(toy: Library, tmp_path: Path) -> None:
    words = command(environment(toy, tmp_path), "right")
    done = subprocess.run(  # noqa: S603
        words, input="3 7 1.0 2 1 2\n1 8 1.0 1 5\n", capture_output=True, text=True, check=True
    )
    assert words[0] == sys.executable
    assert len(done.stdout.splitlines()) == 4
    assert all(isinstance(json.loads(line), float) for line in done.stdout.splitlines())


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
def test_every_subject_has_its_mechanism(library: Library) -> None:
    path = FOLDER / "workers" / f"{library.more['worker']}.py"
    spec = importlib.util.spec_from_file_location("worker", path)
    assert spec is not None
    assert spec.loader is not None
    worker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(worker)  # imports its library only when a mechanism is made
    names = {subject.name for subject in SUBJECTS if subject.library == library.name}
    assert names
    assert names <= set(worker.MECHANISMS)


def test_there_are_controls_of_both_kinds() -> None:
    assert {subject.library for subject in SUBJECTS} == {library.name for library in LIBRARIES}
    assert sum(subject.known is not None for subject in SUBJECTS) >= 2
    assert sum(subject.known is None for subject in SUBJECTS) >= 15
    assert len({subject.title for subject in SUBJECTS}) == len(SUBJECTS)


def test_the_command_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    chosen: list[Subject] = []
    row = {
        "library": "diffprivlib",
        "version": "1",
        "mechanism": "M",
        "claim": "ε = 1",
        "known": "a link",
        "verdict": "no violation found",
        "floating_point": False,
        "lower_bound": 0.5,
        "runs": 10,
        "seconds": 1.0,
        "example": None,
    }

    def run(*, folder: Path, subjects: list[Subject], told: Any) -> dict[str, Any]:
        chosen.extend(subjects)
        told(row)
        settings = {"samples": 10, "patience": 1}
        return {"date": "d", "python": "3", "settings": settings, "libraries": [], "rows": [row]}

    monkeypatch.setattr(scoreboard, "run", run)
    page = tmp_path / "page.md"
    options = ["audit", "--libraries", "--entries", "python-dp", "--page", str(page)]
    result = CliRunner().invoke(app, options)
    assert result.exit_code == 1, "a known fault was not found"
    assert {subject.library for subject in chosen} == {"python-dp"}
    assert "| diffprivlib 1 | M | ε = 1 | no violation found | 0.500 | 10 | 1 |" in page.read_text("utf-8")
    wrong = CliRunner().invoke(app, ["audit", "--libraries", "--entries", "nobody"])
    assert isinstance(wrong.exception, InvalidArgument)


def test_the_page_of_the_docs_has_the_pinned_versions() -> None:
    """`freegap audit --libraries --page docs/audited-libraries.md` after a pin or a subject was changed."""
    written = (ROOT / "docs" / "audited-libraries.md").read_text(encoding="utf-8")
    pins = {library.name: library.requires[0].partition("==")[2] for library in LIBRARIES}
    for one in SUBJECTS:
        name = one.library if pins[one.library] in one.library else f"{one.library} {pins[one.library]}"
        assert (
            f"| {name} | {one.what} | {one.claim} |" in written
            or f"| {one.library} | {one.what} |" in written
        )
