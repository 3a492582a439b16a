"""The page: its structure, what it must not load, and how a browser shows it."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import pytest

from freegap.report.pictures import save, svg
from freegap.tables.results import ItemsAbove, PrivacyUnit, TableRelease, TopItems
from freegap.values.chart import draw
from freegap.values.measures import Pure
from freegap.values.page import page
from freegap.values.plans import PlainPlan

# Kept after the run, for people to look at.
ARTEFACTS = Path(__file__).parents[2] / "out" / "artefacts"
HOSTILE = ("<script>alert(1)</script>", "a $x$ & b \x1b[31m\x00", "x" * 500)
PRIVACY = PrivacyUnit("one value of the column 'c<'", "tables that differ by one person", "9 public items")
TOP = TopItems(
    plan=PlainPlan("top_k", Pure(Fraction(1)), {"k": 3, "scale": Fraction(3)}),
    labels=HOSTILE,
    gap_multiples=(5000, 100, 7),
    resolution=Fraction(1, 1024),
    estimates=(Fraction(900), Fraction(600), Fraction(-3)),
    standard_errors=(9.0, 9.0, 9.0),
    intervals=((880.0, 921.0), (580.0, 621.0), (-23.0, 18.0)),
    privacy=PRIVACY,
    spent=Fraction(1),
    private=True,
)
GAPS = replace(TOP, estimates=None, standard_errors=None, intervals=None, private=False)
ABOVE = ItemsAbove(
    **({name: getattr(TOP, name) for name in TOP.__dataclass_fields__} | {"complete": True}),
    threshold=Fraction(500),
)
NOTHING = replace(
    ABOVE, labels=(), gap_multiples=(), estimates=(), standard_errors=(), intervals=(), spent=Fraction(1, 9)
)
RELEASES = {"top": TOP, "gaps": GAPS, "above": ABOVE, "nothing": NOTHING}


@pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES)
def test_the_page_stands_alone(release: TableRelease) -> None:
    text = page(release, version="1.2", when=datetime(2026, 1, 2, tzinfo=UTC))
    assert "freegap 1.2, 2026-01-02 00:00 UTC" in text
    assert "<script" not in text
    assert "\x00" not in text
    assert "\x1b" not in text
    # What a browser would fetch: none of it. Namespaces are names, not addresses.
    assert not re.findall(r"""(?:src|href)\s*=\s*["'](?!#)""", text)
    assert "url(" not in text.replace("url(#", "")
    assert "@import" not in text
    assert text.count("<tr>") == 1 + len(release.labels)
    assert '<div class="wide"><table>' in text  # a narrow screen scrolls it, and breaks no word
    assert text.count(release.title) == 2  # in the head and above; not in the chart again
    assert ("NOT PRIVATE" in text) == (not release.private)
    assert "one value of the column &#x27;c&lt;&#x27;" in text


@pytest.mark.parametrize("release", RELEASES.values(), ids=RELEASES)
def test_the_chart_is_well_formed_and_repeats(release: TableRelease) -> None:
    drawn = svg(draw(release))
    root = ElementTree.fromstring(drawn)  # noqa: S314
    texts = "".join(root.itertext())
    if release.labels:
        assert "<script>alert(1)</script>" in texts
        assert "a $x$ & b" in texts
    assert drawn == svg(draw(release))


def test_charts_as_files(tmp_path: Path) -> None:
    for suffix in ("svg", "png", "pdf"):
        path = tmp_path / f"chart.{suffix}"
        save(draw(TOP), path)
        assert path.stat().st_size > 3000


def _chromium() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.skipif(_chromium() is None, reason="no Chromium on this machine to look at the page with")
def test_a_browser_shows_it(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    target.write_text(page(TOP, version="1.2"), encoding="utf-8")
    with tempfile.TemporaryDirectory() as profile:
        base = [
            str(_chromium()),
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
            *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
            f"--user-data-dir={profile}",
            "--window-size=1000,1400",
        ]
        shown = subprocess.run(  # noqa: S603
            [*base, "--dump-dom", target.as_uri()], capture_output=True, text=True, timeout=60, check=True
        ).stdout
        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        picture = ARTEFACTS / "page.png"
        picture.unlink(missing_ok=True)
        subprocess.run(  # noqa: S603
            [*base, f"--screenshot={picture}", target.as_uri()], capture_output=True, timeout=60, check=True
        )
    assert shown.count("<tr>") == 4
    assert "<svg" in shown
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert not (tmp_path / "alert").exists()
    from matplotlib.image import imread

    pixels = imread(picture)[..., :3]
    assert pixels.shape[:2] == (1400, 1000)
    # White paper, dark text, and the blue of the marks: the chart and the table are really there.
    assert pixels.min() < 0.2
    assert pixels.max() == 1
    blue = abs(pixels - [0, 0x72 / 255, 0xB2 / 255]).max(axis=2) < 0.05
    assert blue.sum() > 50


def test_intervals_are_shown_rounded_outwards() -> None:
    """A whole number at either end must not make the interval narrower than it is."""
    release = replace(TOP, intervals=((880.2, 921.2), (580.9, 620.01), (-23.5, 18.0)))
    shown = {column.title: column.cells for column in release.columns()}["95 % interval"]
    assert shown == ("880 to 922", "580 to 621", "-24 to 18")
