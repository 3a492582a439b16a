"""The measure of what time tells; the measurement itself is `freegap bench timing`."""

from __future__ import annotations

import json
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

from freegap.bench.side_channel import Contest, advantage, contests, critical, draw
from freegap.cli import app


def test_the_advantage_and_what_chance_gives() -> None:
    rng = np.random.default_rng(1)
    same = [rng.exponential(size=4000) for _ in range(2)]
    assert advantage(*same) < critical(4000, 4000)
    assert advantage(same[0], 1.15 * same[1]) > critical(4000, 4000)
    assert advantage(same[0], same[0]) == 0


def test_a_release_that_tells_all_and_the_same_padded() -> None:
    """Sleeps of 1 and 4 ms: bare, the shorter ones end first; padded, none ends before its time."""
    contest = Contest("sleep", "1 or 4 ms", lambda: time.sleep(0.001), lambda: time.sleep(0.004))
    first, second = draw(contest, 60)
    assert min(second) >= 0.004
    assert np.median(first) < np.median(second)
    for side in draw(contest, 60, padded=Fraction(1, 50)):
        assert min(side) >= 0.02


def test_every_contest_runs_and_is_drawn(tmp_path: Path) -> None:
    assert len({contest.title for contest in contests()}) == 8
    picture = tmp_path / "timing.svg"
    command = ["bench", "timing", "--trials", "100", "--padded-trials", "100", "--pad-to", "0.005"]
    done = CliRunner().invoke(app, [*command, "--json", "--plot", str(picture)])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["rows"]
    assert {row["mechanism"] for row in rows} == {contest.mechanism for contest in contests()}
    assert all(row["padded"]["median_ms"][0] >= 5 for row in rows)
    assert "<svg" in picture.read_text(encoding="utf-8")
