"""What follows from public parameters alone is computed once, and releases alike share it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from freegap import base2
from freegap.base2.batch import _table
from freegap.estimate.intervals import _error_bars
from freegap.estimate.noise_laws import GapNoise
from freegap.exact.batched_ranking import ends
from freegap.exact.batched_threshold import _scaled_ends
from freegap.exact.logarithms import _half_log
from freegap.exact.ranking import _factors
from freegap.laws import EXPONENTIAL, LAPLACE
from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.mechanisms.top_k_plan import TopKPlan, _scale_and_charge
from freegap.values.rationals import _bits_of

HALF = Fraction(1, 2)
COMPUTED: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "ends of noise": (ends, lambda f: f(LAPLACE)),
    "ends in many runs": (_scaled_ends, lambda f: f(LAPLACE, 3.0, whole=False)),
    "logarithms": (_half_log, lambda f: f(Fraction(7, 5), 64)),
    "factors": (_factors, lambda f: f(1, 2, 3, 4, 1, 8)),
    "error bars": (_error_bars, lambda f: f(GapNoise(EXPONENTIAL, HALF, HALF), HALF, HALF, False)),
    "the scale under ρ": (_scale_and_charge, lambda f: f(3, HALF)),
    "words of a threshold": (_table, lambda f: f(HALF, 3, 2, 64, 128)),
    "the bits of some digits": (_bits_of, lambda f: f(500)),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_it_is_computed_once(name: str) -> None:
    function, call = COMPUTED[name]
    call(function)
    before = function.cache_info()
    assert call(function) is call(function)
    after = function.cache_info()
    assert (after.hits - before.hits, after.misses) == (2, before.misses)
    assert after.maxsize is None or after.maxsize > 4


@pytest.mark.parametrize("plan", [TopKPlan, ThresholdPlan])
def test_releases_alike_have_the_same_plan(plan: Any) -> None:
    given: dict[str, Any] = {"k": 3, "epsilon": HALF}
    assert plan.read("m", **given) is plan.read("m", **given)
    assert plan.read("m", **given) is not plan.read("m", **given | {"k": 4})
    assert plan.read("m", resolution=HALF, **given) is plan.read("m", resolution=HALF, **given)
    assert plan.read("m", resolution=HALF, **given) != plan.read("m", **given)
    # It is still what it was to whoever looks at it.
    assert plan.read.__name__ == "read"
    assert plan.read.__doc__.startswith("Read the arguments")
    assert "monotonic" in inspect.signature(plan.read).parameters


def test_smaller_and_larger_in_all_four_ways() -> None:
    """Of η, whose order is that of the privacy that is lost."""
    less, more = base2.Eta(1, 1, 1), base2.Eta(1, 1, 2)
    assert (less < more, less <= more, less > more, less >= more) == (True, True, False, False)
    assert (more < less, more <= less, more > less, more >= less) == (False, False, True, True)
    again = base2.Eta(1, 2, 1)
    assert (more < again, more <= again, more > again, more >= again) == (False, True, False, True)
    for other in (3, "x"):
        with pytest.raises(TypeError):
            _ = less < other  # type: ignore[operator]
