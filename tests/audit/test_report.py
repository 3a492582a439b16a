"""The record, the pictures and the page."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from freegap_evidence.catalogue import CATALOGUE

import freegap as fg
from freegap.auditor import sampling
from freegap.auditor.computed import LearnedScore, Term
from freegap.auditor.events import Bar, Between, Event, Histogram
from freegap.auditor.features import Component
from freegap.auditor.mechanism import Mechanism
from freegap.values.written import json_text

SMALL: dict[str, Any] = {"samples": 20_000, "search_samples": 4000, "seed": 1, "jobs": 1}


@pytest.fixture(scope="module")
def violated() -> fg.AuditReport:
    return fg.audit(CATALOGUE["noisy_max_value_laplace"].batch, epsilon=1.5, **SMALL)


@pytest.fixture(scope="module")
def passed() -> fg.AuditReport:
    return fg.audit(CATALOGUE["histogram"].batch, epsilon=0.7, neighbours="one", **SMALL)


def test_the_text_has_everything_that_a_reader_needs(violated: fg.AuditReport) -> None:
    text = str(violated)
    assert text.startswith("VIOLATED: noisy_max_value_laplace claims ε = 1.5")
    for word in ("inputs", "event", "happens", "ratio", "e^ε allows 4.48", "confidence 1 − 1e-06", "seed=1"):
        assert word in text
    assert max(len(line) for line in text.splitlines()) < 160


def test_the_record_is_json(violated: fg.AuditReport, passed: fg.AuditReport) -> None:
    for report in (violated, passed):
        read = json.loads(report.to_json())
        assert read["violated"] == report.violated
        assert read["closest"]["runs"][0] > 0
        assert (read["counterexample"] is None) == (not report.violated)
        assert len(read["curve"]["amount"]) == len(read["curve"]["p_value"])


def test_the_curve_rises_after_the_bound(passed: fg.AuditReport) -> None:
    levels, p_values = passed.curve()
    assert (np.diff(p_values) >= 0).all()
    assert (p_values[levels < passed.epsilon_lower_bound] <= 1e-6).all()
    assert p_values[levels >= 0.9].min() > 0.9
    assert passed.p_value == pytest.approx(float(passed.p_values([0.7])[0]))


@pytest.mark.parametrize("what", ["curve", "outputs", "tradeoff"])
@pytest.mark.parametrize("ending", ["svg", "png"])
def test_pictures_are_drawn(passed: fg.AuditReport, tmp_path: Path, what: str, ending: str) -> None:
    path = tmp_path / f"{what}.{ending}"
    passed.plot(path, what=what)
    assert path.stat().st_size > 5000


def test_a_picture_that_does_not_exist_is_refused(passed: fg.AuditReport, tmp_path: Path) -> None:
    with pytest.raises(fg.InvalidArgument, match="not a picture"):
        passed.plot(tmp_path / "x.svg", what="sunset")
    with pytest.raises(fg.InvalidArgument, match="path"):
        passed.plot(tmp_path / "x.nonsense")


def test_the_histograms_count_the_event(violated: fg.AuditReport) -> None:
    found = violated.counterexample
    assert found is not None
    assert found.histogram is not None
    shaded = [i for i, bar in enumerate(found.histogram.bars) if bar.shaded]
    assert sum(found.histogram.first[i] for i in shaded) == found.counts.hits1
    assert sum(found.histogram.second[i] for i in shaded) == found.counts.hits2


def test_an_event_is_written_in_full(violated: fg.AuditReport) -> None:
    found = violated.counterexample
    assert found is not None
    score = LearnedScore(tuple(Term((i,), "number") for i in range(20)), tuple(map(float, range(1, 21))))
    event = Event.of(score, Between(low=0.5))
    assert "more terms" in event.text
    (clause,) = json.loads(json_text(event.to_dict()))
    assert len(clause["feature"]["terms"]) == len(clause["feature"]["weights"]) == 20
    assert clause["condition"] == {"kind": "Between", "low": 0.5, "high": "inf"}
    assert found.to_dict()["event_in_full"]


def test_a_counterexample_can_be_run_again(violated: fg.AuditReport) -> None:
    found = violated.counterexample
    assert found is not None
    again, other = found.check(runs=40_000, seed=5), found.check(runs=40_000, seed=5)
    assert again.counts == other.counts != found.counts
    assert again.counts.runs1 + again.counts.runs2 == 40_000
    assert again.lower_bound > 1.5
    right = Mechanism.of(lambda answers: 0, claimed={})
    honest = replace(found, source=replace(found.source, mechanism=right)).check(runs=2000, seed=5)
    assert honest.lower_bound == 0


def test_two_bounds_are_explained() -> None:
    """The strongest event is about a far tail, the smallest counterexample about a plain one."""
    report = fg.audit(CATALOGUE["noisy_max_value_laplace"].batch, epsilon=0.5, **SMALL)
    assert report.counterexample is not None
    assert report.closest is not None
    small, strong = report.counterexample.lower_bound, report.closest.lower_bound
    assert report.lower_bound == max(small, strong)
    assert ("before it was made small" in str(report)) == (strong > small)


def test_low_digits_do_not_hide_a_mistake() -> None:
    def half_noise(answers: list[float], epsilon: float, rng: np.random.Generator, size: int) -> Any:
        return answers[0] + rng.laplace(scale=0.5 / epsilon, size=size)

    settings = {**SMALL, "inputs": [([0], [1])], "shrink": False}
    both = fg.audit(half_noise, epsilon=1, **settings)
    assert both.counterexample is not None
    assert "lowest set bit" in both.counterexample.event.text
    assert both.logic is not None
    assert both.logic.lower_bound > 1
    assert "lowest set bit" not in both.logic.event.text
    assert "Apart from the low digits" in str(both)
    only = fg.audit(lambda answers, rng, size: half_noise(answers, 0.5, rng, size), epsilon=1, **settings)
    assert only.violated
    assert only.logic is None
    assert any("Apart from the low digits" in note for note in only.notes)


def test_an_interrupted_search_leaves_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(self: Any, stage: str, done: int, total: int, best: float) -> None:
        if stage == "search, round 1 of 4" and done > 30:
            raise KeyboardInterrupt

    monkeypatch.setattr(sampling.Progress, "update", stop)
    report = fg.audit(CATALOGUE["noisy_max_value_laplace"].batch, epsilon=1.5, **SMALL)
    assert report.interrupted
    assert report.candidates > 30
    assert report.lower_bound > 0.1


def test_an_empty_range_between_others_is_drawn() -> None:
    bars = tuple(Bar(str(i), float(i), float(i + 1), shaded=False) for i in range(6))
    histogram = Histogram(bars, (0, 5, 0, 0, 5, 0), (0, 5, 0, 0, 0, 0))
    axes: Any = MagicMock()
    histogram.draw(axes, Event.of(Component(), Between()), (10, 10))
    assert len(axes.bar.call_args_list[0].args[1]) == 4


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.found += [value or "" for name, value in attrs if name in ("src", "href", "xlink:href")]


def test_the_page_stands_alone(violated: fg.AuditReport, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    violated.to_html(path)
    text = path.read_text()
    links = _Links()
    links.feed(text)
    assert all(link.startswith("#") for link in links.found)
    assert "script" not in links.tags
    assert not re.search(r"url\((?!#)", text)
    assert text.count("<svg") == 3
    assert "content=\"default-src 'none'" in text


def test_a_hostile_name_cannot_get_into_the_page(tmp_path: Path) -> None:
    def named(answers: list[float]) -> str:
        return f"<script>alert({sum(answers)})</script>"

    named.__qualname__ = "<img src=x onerror=alert(1)>"
    report = fg.audit(named, epsilon=1, samples=500, search_samples=100, seed=1, jobs=1)
    report.to_html(tmp_path / "r.html")
    links = _Links()
    links.feed((tmp_path / "r.html").read_text())
    assert "script" not in links.tags
    assert "img" not in links.tags


chromium = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.mark.skipif(chromium is None, reason="Chromium is not installed, so the page cannot be opened")
def test_the_page_opens_in_a_browser(violated: fg.AuditReport, tmp_path: Path) -> None:
    page, picture = tmp_path / "report.html", tmp_path / "page.png"
    violated.to_html(page)
    flags = [
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={tmp_path / 'profile'}",
    ]  # fmt: skip
    dump = subprocess.run(  # noqa: S603
        [str(chromium), *flags, "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    ).stdout  # fmt: skip
    assert "VIOLATED" in dump
    assert dump.count("<svg") == 3
    subprocess.run(  # noqa: S603
        [str(chromium), *flags, f"--screenshot={picture}", "--window-size=900,1500", page.as_uri()],
        capture_output=True, timeout=120, check=True,
    )  # fmt: skip
    from matplotlib import image

    pixels = image.imread(picture)
    assert pixels.shape[:2] == (1500, 900)
    assert pixels[..., :3].std() > 0.05  # something is drawn
