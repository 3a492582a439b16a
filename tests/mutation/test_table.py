"""The table of mutants fits the sources; `make mutants` shows that each is killed."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
MUTANTS = tomllib.loads((ROOT / "tests" / "mutation" / "mutants.toml").read_text(encoding="utf-8"))["mutant"]


def test_there_are_at_least_forty_of_them_with_names_of_their_own() -> None:
    assert len({mutant["name"] for mutant in MUTANTS}) == len(MUTANTS) >= 40


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant["name"] for mutant in MUTANTS])
def test_every_edit_fits(mutant: dict[str, Any]) -> None:
    text = (ROOT / "src" / "freegap" / mutant["file"]).read_text(encoding="utf-8")
    for old, new in mutant["edits"]:
        assert text.count(old) == 1
        assert old != new
    for test in mutant["killed_by"]:
        path, _, name = test.partition("::")
        assert (ROOT / path).is_file()
        assert not name or f"def {name}(" in (ROOT / path).read_text(encoding="utf-8")


SURVIVORS = tomllib.loads((ROOT / "mutants" / "survivors.toml").read_text(encoding="utf-8"))["survivor"]


@pytest.mark.parametrize("survivor", SURVIVORS, ids=lambda survivor: survivor["change"][0][:60])
def test_every_survivor_is_a_change_of_the_sources_as_they_are_and_has_a_reason(
    survivor: dict[str, Any],
) -> None:
    old, new = survivor["change"]
    text = (ROOT / "src" / "freegap" / survivor["file"]).read_text(encoding="utf-8")
    assert old != new
    assert " ".join(old.split()) in " ".join(text.split())
    assert survivor["kind"] in ("equal", "tuning")
    assert survivor["why"].endswith(".")
