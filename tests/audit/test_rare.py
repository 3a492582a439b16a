"""What shows only in many runs: rare outputs of one input alone, and cuts that patience can show."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import special, stats

import freegap as fg
from freegap.auditor import stages
from freegap.auditor.confirm import Confirmation, confirm
from freegap.auditor.events import Between, Clause, Event, OneOf
from freegap.auditor.families import Finding
from freegap.auditor.features import Component
from freegap.auditor.inputs import Pair, SearchCandidate, table_pairs
from freegap.auditor.mechanism import Mechanism
from freegap.auditor.one_sided import MORE, Sorted, one_sided, one_sided_leads, plain_candidates
from freegap.auditor.outputs import Outputs, join
from freegap.auditor.plan import Plan
from freegap.auditor.reading import from_batch, from_objects
from freegap.auditor.sampling import OutputSource, Workers
from freegap.auditor.search import Lead
from freegap.auditor.shrink import MOST_RUNS, shrink
from freegap.auditor.statistics import EventCounts, Look, PureClaim

Rng = np.random.Generator


def marked(answers: list[float], epsilon: float, rng: Rng, size: int) -> Any:
    """Once in ten thousand runs a number that only large inputs have."""
    noisy = np.round(answers[0] + rng.laplace(0, 1 / epsilon, size))
    return np.where((rng.random(size) < 1e-4) & (sum(answers) > len(answers)), -999.0, noisy)


def exact_now_and_then(answers: list[float], epsilon: float, rng: Rng, size: int) -> Any:
    noisy = np.round(8 * (answers[0] + rng.laplace(0, 1 / epsilon, size))) / 8 + 1 / 16
    return np.where(rng.random(size) < 1e-4, answers[0], noisy)


def marked_alike(answers: list[float], epsilon: float, rng: Rng, size: int) -> Any:
    """The right twin: the number says nothing of the input."""
    noisy = np.round(answers[0] + rng.laplace(0, 1 / epsilon, size))
    return np.where(rng.random(size) < 1e-4, -999.0, noisy)


@pytest.mark.parametrize("mechanism", [marked, exact_now_and_then])
def test_a_leak_of_one_in_ten_thousand_is_found_without_a_pair(mechanism: Any) -> None:
    report = fg.audit(mechanism, epsilon=1, seed=3, jobs=1, leave_out=["floating-point"], shrink=False)
    assert report.violated
    assert report.counterexample is not None
    assert report.counterexample.counts.hits2 == 0


@pytest.mark.parametrize("leak", [0.0, 7e-4, 1e-3])
def test_a_second_half_is_drawn_where_the_first_has_shown_something(leak: float) -> None:
    samples, made = 10_000, [0]
    seed = 4  # with which the first half alone does not show the smaller leak

    def counted(answers: list[float], rng: Rng, size: int) -> Any:
        made[0] += size
        leaked = (rng.random(size) < leak) & (sum(answers) > len(answers))
        return np.where(leaked, -999.0, answers[0] + rng.laplace(0, 1, size))

    pair = Pair((1, 1), (2, 2), "all above")
    workers = Workers(1, threads=False, run_limit=None)
    leads = one_sided_leads(
        OutputSource(Mechanism.of(counted, claimed={}), seed, None),
        workers,
        [SearchCandidate(pair, ())],
        Plan(samples, confirm=5 * samples, z=4.9, claim=PureClaim(1.0), patience=16),
        lambda *told: None,
    )
    assert workers.runs == made[0]
    if not leak:
        assert not leads
        assert made[0] == 2 * samples // 2
        return
    assert made[0] == 2 * samples + 2 * (samples + MORE * samples)  # looked at, then weighed
    assert {lead.finding.swapped for lead in leads} == {True}


@pytest.mark.parametrize("everywhere", [True, False])
def test_a_rare_finding_is_shrunk_by_so_many_runs_at_most(everywhere: bool) -> None:
    samples, made = 20_000, [0]

    def leaky(answers: list[float], rng: Rng, size: int) -> Any:
        made[0] += size
        here = sum(answers) > len(answers) if everywhere else answers == [1, 2, 1, 2, 1]
        leaked = (rng.random(size) < 1e-3) & here
        return np.where(leaked, -999.0, np.round(answers[0] + rng.laplace(0, 1, size)))

    event = Event.of(Component(()), OneOf((-999.0,)))
    pair = Pair((1, 2, 1, 2, 1), (1, 1, 1, 1, 1), "some")
    found = shrink(
        OutputSource(Mechanism.of(leaky, claimed={}), 1, None),
        Workers(1, threads=False, run_limit=None),
        Lead(SearchCandidate(pair, ()), Finding(event, False, 20, 0, 1.0)),
        plan=Plan(samples, confirm=5 * samples, z=4.9, claim=PureClaim(1.0), patience=16),
        scale=1.0,
        pairs=table_pairs("each"),
        first_look={},
        rate=1e-3,
    )
    smallest = ((1,), (2,)) if everywhere else (pair.first, pair.second)
    assert (found.candidate.pair.first, found.candidate.pair.second) == smallest
    assert samples < made[0] <= MOST_RUNS * samples


def test_what_is_rare_on_both_inputs_is_no_leak() -> None:
    assert not fg.audit(marked_alike, epsilon=1, seed=3, jobs=1, leave_out=["floating-point"]).violated


def seen(first: Outputs, second: Outputs) -> set[tuple[str, int, int]]:
    """What happens on one side alone, of two batches."""
    found = one_sided(Sorted(first), Sorted(second), 0.5)
    return {(f.event.text, f.hits1, f.hits2) for f in found}


def test_values_labels_tails_and_whole_outputs_of_one_side() -> None:
    plain = [float(i % 10) for i in range(1000)]
    odd = [*plain[:-12], *[50.0] * 12]
    numbers = [from_batch(np.array(part), 1000) for part in (odd, plain)]
    assert seen(*numbers) >= {("output = 50", 12, 0), ("output ≥ 30", 12, 0)}
    assert seen(*reversed(numbers)) >= {("output = 50", 0, 12)}
    labels = [["no"] * 1000, [*["no"] * 988, *["yes"] * 12]]
    assert ("output = 'yes'", 0, 12) in seen(*map(from_objects, labels))
    pairs = [
        [[i % 2, i % 2] for i in range(1000)],
        [[i % 2, i % 2 if i > 11 else 1 - i % 2] for i in range(1000)],
    ]
    assert any(hits1 == 0 and hits2 == 6 for _, hits1, hits2 in seen(*map(from_objects, pairs)))
    none: list[list[Any]] = [[1.5] * 1000, [None] * 988 + [1.5] * 12]
    assert ("output = None", 0, 988) in seen(*map(from_objects, none))


def test_chance_among_many_values_is_no_lead() -> None:
    """On a fine grid some value always occurs on one side alone."""
    rng = np.random.default_rng(1)
    sides = [np.floor(1000 * rng.laplace(0, 1, 20_000)) / 1000 for _ in range(2)]
    alone = [
        value for value in np.unique(sides[0]) if (sides[0] == value).sum() >= 6 and value not in sides[1]
    ]
    assert alone  # so that there is something not to be taken for a lead
    leads = seen(*(from_batch(side, 20_000) for side in sides))
    assert all(max(hits1, hits2) > 10 for _, hits1, hits2 in leads)  # rarer than by chance, about
    assert len(leads) <= 1


def test_the_pairs_that_are_looked_at_are_few_and_plain() -> None:
    pairs = [
        Pair((1, 1), (2, 1), "one above"),
        Pair((1, 1), (2, 0), "one above rest below"),
        Pair((1, 1), (2, 2), "all above"),
        Pair((1,), (2,), "one above"),
    ]
    candidates = [SearchCandidate(pair, (("threshold", t),)) for t in (1.0, 2.0) for pair in pairs]
    chosen = plain_candidates(candidates, [candidates[0]])
    assert [(c.pair.second, c.parameters) for c in chosen] == [
        ((2, 2), (("threshold", 1.0),)),
        ((2, 1), (("threshold", 2.0),)),
    ]
    given = [SearchCandidate(Pair((1, 1, 1), (2, 1, 1), "given"), ())]
    assert plain_candidates(given, []) == given


# The level, and what a verdict rests on ------------------------------------------------------------------


def test_the_confirmations_of_an_audit_share_the_level() -> None:
    shares = [
        stages.BOUND_SHARE,
        stages.HOPE_SHARE,
        stages.DEEP_SHARE,
        stages.SHRUNK_SHARE,
        stages.LOGIC_SHARE,
        stages.RARE_SHARE,
    ]
    assert math.fsum(shares) <= 1 + 1e-12


def gaussian(scale: float) -> Any:
    def noisy(answers: list[float], rng: Rng, size: int) -> Any:
        return np.floor(64 * (answers[0] + rng.normal(0, scale, size))) / 64

    return noisy


def delta_of(epsilon: float, scale: float) -> float:
    """Of Gaussian noise of this scale (Balle and Wang 2018, theorem 8)."""
    cut, half = epsilon * scale, 1 / (2 * scale)
    return float(special.ndtr(half - cut) - math.exp(epsilon) * special.ndtr(-half - cut))


def test_another_cut_of_what_was_confirmed_is_confirmed_with_patience(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A Gaussian of 0.7 of the noise for (1/2, 10⁻⁵): its best cut is too rare for the search. Every
    confirmation has runs of its own."""
    right = 7.0318
    assert 0.99e-5 < delta_of(0.5, right) < 1.01e-5
    numbers: list[int] = []

    def counted(*given: Any, **named: Any) -> Any:
        numbers.append(named["number"])
        return confirm(*given, **named)

    monkeypatch.setattr(stages, "confirm", counted)
    settings: dict[str, Any] = {
        "epsilon": "1/2",
        "delta": "1e-5",
        "seed": 1,
        "jobs": 1,
        "shrink": False,
    }
    assert fg.audit(gaussian(0.7 * right), **settings).violated
    assert len(numbers) == len(set(numbers)) == 2
    assert not fg.audit(gaussian(1.001 * right), **settings).violated


def uneven_values(answers: list[float], epsilon: float, rng: Rng, size: int) -> Any:
    """Many rare values, each of which loses exactly ε, one way or the other; some are seen on one side."""
    rates = 0.04 * np.exp([epsilon * (i % 2 == (sum(answers) > 1)) for i in range(8)])
    return rng.choice(9, size, p=[*rates, 1 - rates.sum()])


def test_false_alarms_of_what_is_rare_stay_below_their_level() -> None:
    levels, alarms = (0.05, 0.01, 0.001), []
    settings: dict[str, Any] = {
        "samples": 600,
        "search_samples": 200,
        "confidence": 0.95,
        "shrink": False,
        "jobs": 1,
    }
    for seed in range(150):
        inputs = [([1], [2]), ([0], [1])]
        report = fg.audit(uneven_values, epsilon=0.7, inputs=inputs, seed=seed, run_limit=None, **settings)
        alarms.append(report.p_value)
    for level in levels:
        assert (np.array(alarms) <= level).sum() <= stats.binom.isf(1e-9, len(alarms), level)
    report = fg.audit(
        lambda answers, rng, size: uneven_values(answers, 1.4, rng, size),
        epsilon=0.7,
        inputs=inputs,
        seed=1,
        run_limit=None,
        **{**settings, "samples": 20_000, "search_samples": 5000},
    )
    assert report.violated


def test_patience_ends_where_counts_lean_less_than_it_can_show() -> None:
    event = Event((Clause(Component(), Between(low=1.0)),))
    lead = Lead(SearchCandidate(Pair((0,), (1,), "given"), ()), Finding(event, False, 2, 1, 1.0))

    def leaning(deviations: float, trials: int) -> bool:
        """Whether counts that are so many of their own deviations above the claim are promising."""
        half = trials // 2
        second = 0.1 * half
        first = math.e * second
        result = Confirmation(lead)
        first += deviations * math.sqrt(first * (1 + math.e))
        result.latest = Look(EventCounts(int(first), int(second), half, half), 1.0)
        return result.promising(PureClaim(1.0), 1_000_000, expected=True)

    assert leaning(1.5, 1_000_000)
    assert not leaning(0.3, 1_000_000)
    assert not leaning(1.5, 16_000_000)
    assert leaning(5.0, 16_000_000)


def test_parts_are_joined_at_their_places() -> None:
    parts = [from_objects([[1, "a"], [2]]), from_objects([["a", 2.5, None]])]
    places = [np.array([2, 0]), np.array([1])]
    found, plain = join(parts, places), join(parts)
    again = plain.rows_at(np.array([1, 2, 0]))
    assert found.rows(3) == again.rows(3)
    single = join(parts[:1], [np.array([1, 0])])
    assert single.rows(2) == parts[0].rows_at(np.array([1, 0])).rows(2)
