"""The pytest plugin, run on a small suite of its own."""

from __future__ import annotations

import pytest

pytest_plugins = ["pytester"]

SUITE = """
import pytest

SMALL = dict(samples=3000, search_samples=600, jobs=1, neighbours="one")

@pytest.mark.private(epsilon=1.0, **SMALL)
def right(answers, rng):
    return int(rng.geometric(0.5) - rng.geometric(0.5)) + answers[0] if len(answers) == 1 else 0

@pytest.mark.private(epsilon=1.0, **SMALL)
def wrong(answers, rng):
    return sum(answers)

@pytest.mark.private()
def unclaimed(answers):
    return 0

def test_with_the_fixture(assert_private):
    report = assert_private(lambda answers: 0, epsilon=1, **SMALL)
    assert report.deterministic

def test_that_fails(assert_private):
    assert_private(wrong, epsilon=1, **SMALL)
"""


def test_marker_and_fixture(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SUITE)
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-v", "--strict-markers")
    outcomes = result.parseoutcomes()
    assert outcomes == {"passed": 2, "failed": 3}
    result.stdout.fnmatch_lines(["*right PASSED*", "*wrong FAILED*", "*unclaimed FAILED*"])
    result.stdout.fnmatch_lines(["*VIOLATED: wrong claims*"])
    result.stdout.fnmatch_lines(["*needs epsilon=*"])
