"""An audit goes on where it stopped: later, elsewhere, and with what others have counted."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import freegap as fg
from freegap.auditor.computed import LearnedScore, LowestBit, Term
from freegap.auditor.events import Between, Event, Histogram, OneOf
from freegap.auditor.features import Component, CountOf, Difference, Distance, Mean, Whole
from freegap.auditor.outputs import Label
from freegap.auditor.saved import event_of
from freegap.auditor.tradeoff import errors

SETTINGS: dict[str, Any] = {"samples": 200, "search_samples": 300, "patience": 1, "seed": 1, "jobs": 1}


def uneven(answers: list[float], epsilon: float, rng: np.random.Generator, size: int) -> Any:
    """Loses ln 1.5 = 0.405, whatever is claimed."""
    return rng.random(size) < (0.6 if answers[0] > 0 else 0.4)


@pytest.fixture(scope="module")
def close() -> fg.AuditReport:
    report = fg.audit(uneven, epsilon=0.3, inputs=[([0], [1])], **SETTINGS)
    assert not report.violated
    return report


def test_an_audit_goes_on_until_it_is_certain(close: fg.AuditReport) -> None:
    later = close.resume(runs=2_000_000, seed=5)
    assert later.violated
    assert 0.3 < later.lower_bound < math.log(1.5)
    assert later.counterexample is not None
    assert close.runs < later.runs < 400_000  # it stopped
    right = fg.audit(uneven, epsilon=0.41, inputs=[([0], [1])], **SETTINGS).resume(runs=50_000, seed=5)
    assert not right.violated
    assert right.closest is not None
    assert right.closest.counts.trials >= 50_000


def test_it_goes_on_tomorrow(close: fg.AuditReport) -> None:
    read = fg.AuditReport.from_json(close.to_json(), uneven)
    assert read.closest is not None
    assert close.closest is not None
    assert read.closest.looks == close.closest.looks
    assert read.to_dict() | {"errors": None} == close.to_dict() | {"errors": None}
    one, other = close.resume(runs=5000, seed=5), read.resume(runs=5000, seed=5)
    assert one.closest is not None
    assert other.closest is not None
    assert one.closest.counts == other.closest.counts
    with pytest.raises(fg.InvalidArgument, match="mechanism"):
        fg.AuditReport.from_json(close.to_json(), lambda answers, rng: 0)


def test_machines_are_put_together_and_nothing_counts_twice(close: fg.AuditReport) -> None:
    parts = [close.resume(runs=4000, seed=seed) for seed in (5, 6, 7)]
    together = parts[0].combine(*parts[1:], parts[1], close)
    assert together.closest is not None
    assert close.closest is not None
    started = close.closest.parts[0][1].trials
    assert together.closest.counts.trials == started + 3 * 4000
    assert together.lower_bound >= max(part.lower_bound for part in parts)
    with pytest.raises(fg.InvalidArgument, match="twice"):
        parts[0].resume(runs=100, seed=5)
    with pytest.raises(fg.InvalidArgument, match="differently"):
        parts[0].combine(close.resume(runs=1000, seed=5))
    other = fg.audit(uneven, epsilon=0.35, inputs=[([0], [1])], **SETTINGS)
    with pytest.raises(fg.InvalidArgument, match="another claim"):
        close.combine(other)


def test_every_event_is_read_back() -> None:
    label = Label("bool", "True")
    score = LearnedScore((Term((0,), "label", label), Term((1,), "distance", 2.5)), (0.5, -1.0))
    for event in (
        Event.of(Component((0, "key")), OneOf((1.0, label, math.inf))),
        Event.of(Difference((0,), (1,)), Between(low=0.5)),
        Event.of(Distance((((0,), label), ((1,), 2.0))), OneOf((0.0,))),
        Event.of(CountOf(label), OneOf((2.0,), ("two",))),
        Event.of(Whole(), OneOf((0.25,), ("[1]",))),
        Event.of(score, Between(0.5, 2.0)),
        Event.of(LowestBit(()), Between(high=-3.0)),
        Event.of(Mean(), Between()),
    ):
        assert event_of(json.loads(json.dumps(event.to_dict()))) == event


def test_the_band_of_errors_holds_at_all_times() -> None:
    """Coins of 0.6 and 0.4, watched for long: the band lets go of the truth hardly ever."""
    rng = np.random.default_rng(3)
    missed = 0
    for _ in range(12):
        first, second = rng.random(600) < 0.6, rng.random(600) < 0.4
        for n in (60, 600):
            hits = int(first[:n].sum()), int(second[:n].sum())
            found = errors(
                Histogram((), (hits[0], n - hits[0]), (hits[1], n - hits[1]), (n, n), (0, 1)), 0.05
            )
            assert found is not None
            inside = found.alarm_bounds[0][1] <= 0.4 <= found.alarm_bounds[1][1]
            inside = inside and found.miss_bounds[0][1] <= 0.4 <= found.miss_bounds[1][1]
            missed += not inside
            if not inside:
                break
    assert missed <= 2
    assert errors(Histogram((), (), ()), 0.05) is None


def test_what_can_be_told_apart_lies_above_what_is_claimed(close: fg.AuditReport) -> None:
    assert close.errors is not None
    low, high = close.errors.at(np.array([0.4]))
    assert low[0] < 0.4 < high[0]
    assert close.claim.least_error([0.4])[0] == pytest.approx(1 - 0.4 * math.exp(0.3), abs=1e-6)
    blank = replace(close, closest=None)
    assert blank.errors is None
    with pytest.raises(fg.InvalidArgument, match="nothing"):
        blank.resume()
