"""The measure of what time tells; the measurement itself is `freegap bench timing`."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from freegap_evidence.bench.side_channel import Contest, advantage, contests, critical, draw
from typer.testing import CliRunner

from freegap.cli import app
from tests.clock import Clock

MILLISECOND = 10**6


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """What is measured and what is waited for, both by a clock that moves by 10 µs at each look."""
    given = Clock(tick=10_000)
    for module in ("freegap.padding", "freegap_evidence.bench.side_channel"):
        monkeypatch.setattr(f"{module}.time", given)
    return given


def test_the_advantage_and_what_chance_gives() -> None:
    rng = np.random.default_rng(1)
    same = [rng.exponential(size=4000) for _ in range(2)]
    assert advantage(*same) < critical(4000, 4000)
    assert advantage(same[0], 1.15 * same[1]) > critical(4000, 4000)
    assert advantage(same[0], same[0]) == 0


def test_a_release_that_tells_all_and_the_same_padded(clock: Clock) -> None:
    """Work of 1 and of 4 ms: bare, each takes its own time; padded, both take 20 ms and a chance of 2.5."""
    sides: list[int] = []

    def working(side: int, milliseconds: int) -> Callable[[], None]:
        def work() -> None:
            sides.append(side)
            clock.work(milliseconds * MILLISECOND)

        return work

    contest = Contest("work", "1 or 4 ms", working(0, 1), working(1, 4))
    first, second = draw(contest, 60)
    assert (len(first), len(second)) == (sides.count(0), sides.count(1))
    assert len(set(sides)) == 2
    assert sides != sorted(sides)  # in random order
    assert set(first.tolist()) == {(MILLISECOND + clock.tick) / 1e9}
    assert set(second.tolist()) == {(4 * MILLISECOND + clock.tick) / 1e9}
    assert advantage(first, second) == 1
    for side in draw(contest, 60, padded=Fraction(1, 50)):
        assert min(side) >= 0.02
        assert max(side) <= 0.0225 + 5 * clock.tick / 1e9  # the looks at the start and at the end


def test_every_contest_runs_and_is_drawn(tmp_path: Path, clock: Clock) -> None:
    assert len({contest.title for contest in contests()}) == 8
    picture = tmp_path / "timing.svg"
    command = ["bench", "timing", "--trials", "100", "--padded-trials", "100", "--pad-to", "0.005"]
    done = CliRunner().invoke(app, [*command, "--json", "--plot", str(picture)])
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)["rows"]
    assert {row["mechanism"] for row in rows} == {contest.mechanism for contest in contests()}
    assert all(row["padded"]["median_ms"][0] >= 5 for row in rows)
    assert {row["padded"]["late"] for row in rows} == {0}
    # Without work that moves it, the clock shows the two looks at it alone.
    assert all(row["bare"]["median_ms"] == [clock.tick / MILLISECOND] * 2 for row in rows)
    assert all(row["bare"]["advantage"] == 0 for row in rows)
    assert "<svg" in picture.read_text(encoding="utf-8")
