"""Generated mutants: what was tried, in which order, and what a page may say of it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("cosmic_ray", reason="needs the extra `mutants`")
pytest.importorskip("coverage", reason="needs the extra `mutants`")

from mutants import page, run, whole
from mutants.generate import Mutant
from mutants.reach import TESTS, Reach

ROOT = Path(__file__).resolve().parents[2]
MUTANT = Mutant("bits.py", "", "Opposite", 0, 7, 7, on_import=False, within="f")


def lines(*tries: dict[str, str]) -> dict[str, Any]:
    """What is known of one mutant after these."""
    common = {"key": "m", "seed": 1, "tests": "a", "file": "bits.py", "within": "f", "old": "x", "new": "y"}
    return run.joined([json.dumps(common | {"by": ""} | one) for one in tries])["m"]


SURVIVED = {"outcome": "survived"}
KILLED = {"outcome": "killed", "by": "FAILED tests/x.py::y"}
BY_TYPES = {"outcome": "killed", "by": "mypy arg-type", "step": "whole"}
SURVIVED_ALL = {"outcome": "survived", "step": "whole"}


@pytest.mark.parametrize(
    ("tries", "counts", "by"),
    [
        ([KILLED], ["tried", "killed"], "FAILED tests/x.py::y"),
        ([SURVIVED], ["tried", "open"], ""),
        ([SURVIVED, KILLED], ["tried", "since"], "FAILED tests/x.py::y"),
        ([SURVIVED, BY_TYPES], ["tried", "asked", "whole"], "mypy arg-type"),
        ([SURVIVED, SURVIVED_ALL], ["tried", "asked", "open"], ""),
        ([SURVIVED, SURVIVED_ALL, KILLED], ["tried", "asked", "since"], "FAILED tests/x.py::y"),
        ([SURVIVED, SURVIVED_ALL, BY_TYPES | {"tests": "b"}], ["tried", "asked", "since"], "mypy arg-type"),
        # A test was added in between: it was not noticed at first.
        ([SURVIVED, BY_TYPES | {"tests": "b"}], ["tried", "since"], "mypy arg-type"),
        ([{"outcome": "none"}], [], ""),
    ],
)
def test_what_a_mutant_counts_as(tries: list[dict[str, str]], counts: list[str], by: str) -> None:
    result = lines(*tries)
    assert page._verdict(result, {}) == counts
    assert page._by(result) == by
    reasons = {page.named(result): ("equal", "why")}
    same = result["outcome"] == "survived"
    assert page._verdict(result, reasons) == (["tried", "same"] if same else counts)


@pytest.mark.parametrize(
    ("tries", "first", "whole", "again"),
    [
        ([], True, False, False),
        ([KILLED], False, False, False),
        ([SURVIVED], False, True, True),
        ([SURVIVED, BY_TYPES], False, False, False),
        ([SURVIVED, SURVIVED_ALL], False, False, True),
    ],
)
def test_what_is_tried_in_which_step(
    tries: list[dict[str, str]], first: bool, whole: bool, again: bool
) -> None:
    result = lines(*tries) if tries else None

    def wanted(*, seed: int = 1, **steps: bool) -> bool:
        return run.is_wanted(
            result, argparse.Namespace(**({"seed": seed, "whole": False, "again": False} | steps))
        )

    assert wanted() is first
    assert wanted(whole=True) is whole
    assert wanted(whole=True, seed=2) is False
    assert wanted(whole=True, again=True) is again
    assert wanted(again=True) is (again or first)


def test_the_quick_tests_take_a_minute_and_all_of_them_what_they_take() -> None:
    reach = Reach({"bits.py": {7: ["slow", "long", "quick"]}}, {"quick": 1.0, "slow": 59.0, "long": 61.0})
    assert run.chosen(MUTANT, reach) == ["quick", "slow"]
    assert run.reaching(MUTANT, reach) == ["quick", "slow", "long"]
    assert run.chosen(MUTANT, Reach({"bits.py": {7: ["long"]}}, {"long": 61.0})) == ["long"]


def test_all_files_of_tests_are_quick_ones_or_others() -> None:
    others = whole.other_tests(ROOT)
    assert not set(others) & set(TESTS)
    for path in (ROOT / "tests").rglob("test_*.py"):
        file = str(path.relative_to(ROOT))
        quick = any(file == test or file.startswith(f"{test}/") for test in TESTS)
        assert quick != (file in others), file
    assert {"src/freegap/charges.py", "src/freegap/auditor", "evidence/src"} < set(others)
    assert not any((ROOT / test).name == "__pycache__" for test in others)


def test_the_linter_and_the_types_notice_mistakes_and_no_spaces(tmp_path: Path) -> None:
    for file in ("src/freegap/__init__.py", "src/freegap/one.py", "evidence/src/two.py", "tests/three.py"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    (tmp_path / "pyproject.toml").write_text(
        '[tool.ruff.lint]\nselect = ["E", "W", "F", "B"]\n[tool.mypy]\nstrict = true\n', encoding="utf-8"
    )

    def said(code: str) -> str:
        found = whole.checked(tmp_path, "one.py", code)
        assert not (tmp_path / "src" / "freegap" / "one.py").read_text(encoding="utf-8")
        return found

    spaces = f"x = [1, 2][ -1]  \ny = '{'long' * 50}'\n"
    assert said(spaces) == ""
    assert said("import os\n") == "ruff F401"
    assert said("z = zip([1], [2])\n") == "ruff B905"
    assert said("x: int = ''\n") == "mypy assignment"
    assert said("try:\n    x = 1\nexcept CosmicRayTestingException:\n    x = 2\n") == ""
    assert said("for x in []:\n    print(x)\n") == ""


def test_a_page_shows_both_scores() -> None:
    tally = {"all": 9, "tried": 5, "asked": 2, "killed": 2, "whole": 1, "same": 1, "open": 1}
    change = ["bits.py", "x", "y", "mypy arg-type"]
    sample = {"seed": 1, "sources": "", "rows": {"bits": tally}, "whole": [change], "since": [], "open": []}
    text = page.page([sample])
    assert "| `bits` | 9 | 5 | 2 | 1 | 0 | 1 | 1 | 50.0 % | 75.0 % | 75.0 % |" in text
    assert "Killed by the rest:\n\n- `bits.py`: `x` → `y`. mypy arg-type\n" in text
    older = {"all": 9, "tried": 4, "killed": 2, "since": 1, "open": 1}
    assert "| 4 | 2 | 0 | 1 | 0 | 1 | 50.0 % | – | 75.0 % |" in page.page(
        [sample | {"rows": {"bits": older}}]
    )
