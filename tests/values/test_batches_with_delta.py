"""What many releases may be charged together, in a measure of two parts."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest

from freegap.values.batches import BatchPlan
from freegap.values.measures import Approximate, ApproximateConcentrated, Measure, Pure


@pytest.mark.parametrize("kind", [Approximate, ApproximateConcentrated])
@pytest.mark.parametrize("times", [1, 3])
def test_delta_is_paid_as_often_as_the_rest(kind: type[Measure], times: int) -> None:
    each: Any = SimpleNamespace(asked=kind.of(Fraction(1, 2), Fraction(1, 10**6)))
    asked = BatchPlan(each, 7, times).asked
    assert asked == kind.of(Fraction(times, 2), Fraction(times, 10**6))


def test_where_there_is_no_delta_none_is_paid() -> None:
    each: Any = SimpleNamespace(asked=Pure.of(Fraction(1, 2)))
    assert BatchPlan(each, 7, 3).asked == Pure.of(Fraction(3, 2))
