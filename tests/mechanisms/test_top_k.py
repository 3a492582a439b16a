from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import freegap as fg
from freegap.bits import SeededBits
from freegap.errors import InvalidArgument

COUNTS = {"flu": 812, "cold": 790, "measles": 31, "mumps": 12}


class NoBits:
    """A source that must not be touched."""

    private = True

    def bits(self, n: int) -> int:
        raise AssertionError("drawn before validation ended")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "k = 0: must be at least 1. Pass for example k=1."),
        ({"k": -2}, "k = -2: must be at least 1"),
        ({"k": 1.0}, "k = 1.0: must be a whole number"),
        (
            {"k": 4},
            "k = 4: must be smaller than the number of answers, which is 4: the last gap is to a runner-up",
        ),
        ({"answers": [1]}, "k = 2: must be smaller than the number of answers, which is 1"),
        ({"answers": []}, "answers: must not be empty"),
        ({"answers": [1.0, float("nan"), 2.0]}, "answers: must not contain NaN, infinity or missing values"),
        ({"answers": [1.0, float("inf"), 2.0]}, "answers: must not contain NaN, infinity or missing values"),
        ({"epsilon": 0}, "epsilon = 0: must be greater than 0. Pass for example epsilon=1."),
        ({"epsilon": -1}, "epsilon = -1: must be greater than 0"),
        ({"epsilon": float("nan")}, "epsilon = nan: must be finite"),
        ({"epsilon": "much"}, "epsilon = 'much': is not a number"),
        ({"sensitivity": 0}, "sensitivity = 0: must be greater than 0"),
        ({"sensitivity": "0.3"}, "sensitivity = '0.3': must be a multiple of the resolution 1/1024"),
        ({"resolution": "2/3"}, "resolution = '2/3': must be the reciprocal of a whole number"),
        (
            {"noise": "gaussian"},
            "noise = 'gaussian': is not a known noise. Pass one of 'exponential', 'laplace'.",
        ),
        ({"noise": 3}, "noise = 3: is not a known noise"),
        ({"noise": "geometric"}, "noise = 'geometric': has ties, and a gap would tell how they were broken"),
        ({"noise": "gumbel"}, "noise = 'gumbel': has no theorem here for the measure epsilon"),
        ({"rho": 1}, "epsilon = 1: exactly one of epsilon and rho must be given, and both are given"),
        ({"epsilon": None}, "epsilon = None: exactly one of epsilon and rho must be given, and neither is"),
        ({"last_gap": 1}, "last_gap = 1: must be True or False"),
        ({"k": 5, "last_gap": False}, "k = 5: must be at most the number of answers, 4. Pass k=4."),
        ({"monotonic": "yes"}, "monotonic = 'yes': must be True or False"),
        ({"bits": 7}, "bits = 7: must be a source of bits"),
    ],
)
def test_bad_input_is_refused_before_anything_is_drawn(options: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"answers": COUNTS, "k": 2, "epsilon": 1, "bits": NoBits(), **options}
    with pytest.raises(InvalidArgument) as caught:
        fg.noisy_top_k(arguments.pop("answers"), arguments.pop("k"), **arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("options", "scale"),
    [
        ({}, Fraction(6)),
        ({"monotonic": True}, Fraction(3)),
        ({"epsilon": "1/2"}, Fraction(12)),
        ({"sensitivity": 5}, Fraction(30)),
        ({"noise": "laplace"}, Fraction(6)),
    ],
)
def test_the_scale_is_c_delta_k_over_epsilon(options: dict[str, Any], scale: Fraction) -> None:
    release = fg.noisy_top_k(COUNTS, 3, **{"epsilon": 1, "bits": SeededBits(1), **options})
    assert release.parameters["scale"] == scale
    assert release.spent == release.epsilon == Fraction(options.get("epsilon", 1))


def test_noisy_max_is_top_one() -> None:
    for seed in range(5):
        assert fg.noisy_max(COUNTS, epsilon=1, bits=SeededBits(seed)) == fg.noisy_top_k(
            COUNTS, 1, epsilon=1, bits=SeededBits(seed)
        )


def test_lists_arrays_dicts_and_series_give_the_same_release() -> None:
    values = [812, 790, 31, 12]
    names = ["a", "b", "c", "d"]  # in this order they are asked
    inputs: list[Any] = [
        values,
        np.array(values),
        np.array(values, dtype=float),
        dict(zip(names, values, strict=True)),
        pd.Series(values, index=names),
    ]
    releases = [fg.noisy_top_k(answers, 3, epsilon=1, bits=SeededBits(5)) for answers in inputs]
    assert len({r.gaps for r in releases}) == 1
    assert releases[0].indices == releases[1].indices == releases[2].indices == releases[0].labels
    assert releases[3].labels == releases[4].labels == tuple(names[i] for i in releases[0].indices)
    assert releases[3].indices == releases[4].indices == ()


def test_floats_are_rounded_down_to_the_grid() -> None:
    exact = fg.noisy_top_k([2.5, 1.25, 0.0], 2, epsilon=1, resolution="1/4", bits=SeededBits(1))
    above = fg.noisy_top_k([2.6, 1.49, 0.2], 2, epsilon=1, resolution="1/4", bits=SeededBits(1))
    assert exact == above


def test_a_recorded_release_replays() -> None:
    recorder = fg.RecordedBits(fg.SystemBits())
    release = fg.noisy_top_k(COUNTS, 3, epsilon=1, bits=recorder)
    assert not release.private
    assert fg.noisy_top_k(COUNTS, 3, epsilon=1, bits=fg.ReplayedBits(recorder.record)) == release


def test_gaps_are_near_the_truth_when_noise_is_small() -> None:
    release = fg.noisy_top_k([1000, 700, 300, 0], 3, epsilon=1000, bits=SeededBits(1))
    assert release.indices == (0, 1, 2)
    assert all(abs(gap - truth) < 1 for gap, truth in zip(release.gaps, (300, 400, 300), strict=True))


@pytest.mark.skipif(sys.platform == "win32", reason="peak memory is read from getrusage")
def test_ten_million_answers_fit_in_a_gibibyte() -> None:
    script = (
        "import pathlib, resource, sys, numpy as np, freegap as fg\n"
        "answers = np.arange(10_000_000, dtype=np.int64)\n"
        "release = fg.noisy_top_k(answers, 100, epsilon=1)\n"
        "assert min(release.indices) > 9_900_000\n"
        # On Linux ru_maxrss begins with what the process had before it became this program: pytest's memory.
        "status = pathlib.Path('/proc/self/status')\n"
        "words = status.read_text().split() if sys.platform == 'linux' else []\n"
        "most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print(words[words.index('VmHWM:') + 1] if words else most)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)  # noqa: S603
    kibibytes = int(done.stdout) // (1024 if sys.platform == "darwin" else 1)
    assert kibibytes < 1024 * 1024


@pytest.mark.parametrize("resolution", ["1/4", Fraction(1, 4), Fraction(1, 1024), "1/1024", 1])
def test_the_resolution_is_the_one_that_was_asked_for(resolution: Any) -> None:
    """A plan that was read before is used again where nothing differs."""
    for _ in range(2):
        usual = fg.noisy_max([5, 9], epsilon=1, bits=fg.SeededBits(1))
        release = fg.noisy_max([5, 9], epsilon=1, resolution=resolution, bits=fg.SeededBits(1))
        assert (usual.resolution, release.resolution) == (Fraction(1, 1024), Fraction(resolution))
        assert release.gaps[0] % Fraction(resolution) == 0
