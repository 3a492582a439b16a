"""The gallery: each program is decided, and rightly; its page names them all."""

from __future__ import annotations

from pathlib import Path

import pytest
from freegap_evidence.assurance.gallery import GALLERY, GalleryEntry, Shown
from typer.testing import CliRunner

from freegap.cli import app
from freegap.errors import InvalidArgument

PAGE = Path(__file__).parents[2] / "docs" / "gallery.md"
QUICK = ("BadSmartSum", "Randomised response, ε too small", "GapSVT", "BadNoisyMax, half the noise")


@pytest.mark.parametrize("entry", [e for e in GALLERY if e.name in QUICK], ids=lambda entry: entry.name)
def test_a_part_of_it(entry: GalleryEntry) -> None:
    assert Shown.of(entry).right


@pytest.mark.long
@pytest.mark.parametrize("entry", GALLERY, ids=lambda entry: entry.name)
def test_all_of_it(entry: GalleryEntry) -> None:
    assert Shown.of(entry).right


def test_the_page_has_every_program_with_its_verdict() -> None:
    rows = [row.split(" | ") for row in PAGE.read_text(encoding="utf-8").splitlines() if row.startswith("| ")]
    shown = {row[0].removeprefix("| "): row[4] for row in rows[1:]}
    assert shown == {e.name: "**proved**" if e.private else "**refuted**" for e in GALLERY}


def test_the_command(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    done = CliRunner().invoke(app, ["prove", "--gallery", "--only", "BadSmartSum", "--page", str(page)])
    assert done.exit_code == 0
    assert "refuted     BadSmartSum, 2 answers" in done.output
    assert "1 of 1 are decided, and rightly" in done.output
    assert "**refuted**" in page.read_text(encoding="utf-8")
    refused = CliRunner().invoke(app, ["prove", "--gallery", "--only", "nothing"])
    assert isinstance(refused.exception, InvalidArgument)
