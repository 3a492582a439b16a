"""The audit on a device, by NumPy and by a library that follows the array API standard to the letter."""

from __future__ import annotations

import gc
import math
from collections import Counter
from typing import Any

import array_api_strict
import numpy as np
import pytest
from freegap_evidence.bench.audit_device import chosen, leaks, names
from freegap_evidence.catalogue import CATALOGUE
from scipy import stats

import freegap as fg
from freegap.auditor.column_values import Group, Left, RunValues, Waiting
from freegap.auditor.columns import OnePath, run_batch
from freegap.auditor.confirm import Confirmation, Test, confirm_there
from freegap.auditor.device import Device, DeviceRng
from freegap.auditor.device_moves import lengths_from, reshaped, with_numbers_cut
from freegap.auditor.device_runs import DeviceSource, EventHits, _apart, countable
from freegap.auditor.device_stages import DeviceStages
from freegap.auditor.device_tally import OutputTally, events_of_outputs
from freegap.auditor.events import Between, Event, OneOf
from freegap.auditor.families import Finding
from freegap.auditor.features import (
    Component,
    Difference,
    Distance,
    Greatest,
    KindOf,
    Least,
    Length,
    Mean,
    Whole,
    WholeOfLabels,
)
from freegap.auditor.inputs import Pair, SearchCandidate, own_pairs, table_pairs
from freegap.auditor.mechanism import Mechanism
from freegap.auditor.outputs import Label, Path, join
from freegap.auditor.plan import Plan
from freegap.auditor.reading import from_objects
from freegap.auditor.search import Lead
from freegap.auditor.statistics import PureClaim, Spending

LAWS = {
    "laplace": ((0.0, 2.0), stats.laplace(0, 2)),
    "exponential": ((2.0,), stats.expon(0, 2)),
    "gumbel": ((0.0, 2.0), stats.gumbel_r(0, 2)),
    "logistic": ((0.0, 2.0), stats.logistic(0, 2)),
    "normal": ((0.0, 2.0), stats.norm(0, 2)),
    "uniform": ((0.0, 2.0), stats.uniform(0, 2)),
}


@pytest.mark.parametrize("law", LAWS)
def test_noise_is_of_its_law_and_of_no_other(law: str) -> None:
    given, expected = LAWS[law]
    drawn = getattr(DeviceRng(Device.of("cpu"), 5, (1,)), law)(*given, 100_000)
    assert stats.kstest(drawn, expected.cdf).pvalue > 1e-9
    assert stats.kstest(drawn * 1.1, expected.cdf).pvalue < 1e-9


def test_geometric_noise_counts_tosses() -> None:
    drawn = DeviceRng(Device.of("cpu"), 5, (2,)).geometric(0.25, 100_000)
    seen = np.bincount(drawn.astype(np.int64))[1:12]
    expected = 100_000 * stats.geom(0.25).pmf(np.arange(1, 12))
    assert stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), 11) > 1e-9
    assert drawn.min() == 1


def test_uniforms_are_of_more_than_single_precision_and_never_zero() -> None:
    drawn = DeviceRng(Device.of("cpu"), 5, (3,)).random(2**20)
    single = drawn * 2.0**24
    assert np.count_nonzero(single == np.floor(single)) == 0
    assert len(np.unique(drawn)) == len(drawn)
    assert 0 < drawn.min() < 1e-5


def test_batches_have_noise_of_their_own() -> None:
    one, two, again = (DeviceRng(Device.of("cpu"), 5, key).random(1000) for key in ((1,), (2,), (1,)))
    assert len(np.intersect1d(one, two)) == 0
    assert (one == again).all()
    rng = DeviceRng(Device.of("cpu"), 5, (1,))
    assert len(np.intersect1d(rng.random(1000), rng.random(1000))) == 0


@pytest.mark.parametrize("law", ["geometric", "discrete_laplace", "gumbel", "logistic", "uniform", "normal"])
def test_labelled_noise_is_drawn_by_any_library(law: str) -> None:
    def program(answers: Any, noise: Any) -> Any:
        return answers[0] + getattr(noise, law)(2)

    mechanism = Mechanism.of(program, claimed={})
    cuts = [Event.of(Component(()), Between(cut)) for cut in (0.0, 1.0, 2.0, 4.0)]
    size = 20_000
    counts = DeviceSource(mechanism, Device.of(array_api_strict), 1).count((1,), (), cuts, size, (1,))
    here = run_batch(program, [1], {}, size, np.random.default_rng(1))
    assert here is not None
    for event, hits in zip(cuts, counts, strict=True):
        table = [[event.hits(here), size - event.hits(here)], [hits, size - hits]]
        assert min(map(min, table)) == 0 or stats.chi2_contingency(table).pvalue > 1e-9


def _source(name: str, device: Any, **fixed: Any) -> DeviceSource:
    mechanism = Mechanism.of(CATALOGUE[name].batch, claimed={"epsilon": 1.0}, parameters=fixed)
    return DeviceSource(mechanism, Device.of(device), 7)


PARAMETERS = {"threshold": 1.5, "bound": 1}


def _given(name: str) -> dict[str, Any]:
    code = CATALOGUE[name].mechanism.__code__
    return {key: value for key, value in PARAMETERS.items() if key in code.co_varnames}


@pytest.mark.parametrize("name", [name for name in names() if "parallel" not in name])
def test_the_catalogue_runs_unchanged_and_by_the_same_law(name: str) -> None:
    size, answers = 40_000, (1, 2, 1)
    source = _source(name, "cpu", **_given(name))
    paths = list(source.run(answers, (), size, (1,)))
    assert sum(path.size for path in paths) == size
    there = join([path.rows(size) for path in paths])
    rng = np.random.default_rng(3)
    here = run_batch(CATALOGUE[name].mechanism, answers, {"epsilon": 1.0, **_given(name)}, size, rng)
    assert here is not None
    assert set(there.paths) == set(here.paths)
    for path in here.paths:
        for feature in (Component(path), Mean(), Length()):
            one, two = feature.read(here), feature.read(there)
            for label in {*one.labels, *two.labels}:
                _same_rate(Event.of(feature, OneOf((label,))), here, there)
            if one.is_number.any():
                for cut in np.quantile(one.numbers[one.is_number], [0.1, 0.5, 0.9]):
                    _same_rate(Event.of(feature, Between(float(cut))), here, there)


def _same_rate(event: Event, here: Any, there: Any) -> None:
    table = [[event.hits(part), len(part) - event.hits(part)] for part in (here, there)]
    if min(map(min, table)) > 20:
        assert stats.chi2_contingency(table).pvalue > 1e-9


@pytest.mark.parametrize("name", ["sparse_vector", "noisy_max_with_gap", "laplace_clamped", "smart_sum"])
def test_the_standard_to_the_letter_gives_the_same_counts(name: str) -> None:
    events = [
        Event.of(Component((0,)), Between(0.0)),
        Event.of(Mean(), Between(0.5, 2.0)),
        Event.of(Difference((1,), (0,)), Between(-1.0, 3.0)),
        Event.of(Least(), Between(high=1.0)),
        Event.of(Greatest(), Between(1.0)),
        Event.of(Length(), OneOf((2.0,))),
    ]
    counts = [
        _source(name, device, **_given(name)).count((1, 2), (), events, 5000, (4,))
        for device in ("cpu", array_api_strict)
    ]
    assert counts[0] == counts[1]
    assert any(counts[0])


@pytest.mark.parametrize("name", names())
def test_events_on_a_device_are_those_of_the_host(name: str) -> None:
    source = _source(name, "cpu", **_given(name))
    paths = list(source.run((1, 2, 1), (), 3000, (1,)))
    for path in paths:
        rows = path.rows(3000)
        events = (
            Event.of(Component((0,)), Between(0.0)),
            Event.of(Component(()), Between(high=2.0)),
            Event.of(Mean(), Between(0.5, 2.0)),
            Event.of(Difference((1,), (0,)), Between(-1.0, 3.0)),
            Event.of(Least(), Between(high=1.0)),
            Event.of(Greatest(), Between(1.0)),
            Event.of(Length(), OneOf((2.0,))),
            Event.of(Component((0,)), OneOf((2.0, 0.0))),
        )
        assert all(map(countable, events))
        for event in events:
            assert _hits(event, path) == event.hits(rows), event.text
    hits = EventHits(events, np)
    for path in paths:
        hits.add(path)
    whole = join([path.rows(3000) for path in paths])
    assert hits.totals() == [event.hits(whole) for event in events]


def _hits(event: Event, path: OnePath) -> int:
    found = EventHits([event], np)
    found.add(path)
    return found.totals()[0]


def noisy_max(answers: Any, epsilon: float, rng: Any, size: int, xp: Any) -> Any:
    noisy = xp.stack([answer + rng.laplace(scale=1 / epsilon, size=size) for answer in answers])
    return xp.argmax(noisy, axis=0)


def no_numbers(answers: Any, epsilon: float, rng: Any, size: int, xp: Any) -> Any:
    uniform = rng.random(size)
    return xp.where(uniform < 0.25, math.nan, xp.where(uniform < 0.5, math.inf, uniform))


SETTINGS: dict[str, Any] = {
    "epsilon": 1,
    "samples": 40_000,
    "search_samples": 5000,
    "seed": 1,
    "jobs": 1,
    "shrink": False,
}


@pytest.mark.parametrize("device", ["cpu", array_api_strict])
def test_a_vectorised_mechanism_is_audited_by_the_library_it_is_given(device: Any) -> None:
    report = fg.audit(noisy_max, neighbours="each", device=device, lengths=(2, 3), **SETTINGS)
    assert report.violated
    assert report.lower_bound < 2
    assert report.counterexample is not None
    assert report.counterexample.counts.runs1 > 0


def test_the_same_seed_gives_the_same_report() -> None:
    one, two = (
        fg.audit(noisy_max, neighbours="each", device="cpu", lengths=(2,), **SETTINGS) for _ in range(2)
    )
    assert one.looks == two.looks


def test_what_is_no_finite_number_is_told_apart() -> None:
    mechanism = Mechanism.of(no_numbers, claimed={"epsilon": 1.0})
    source = DeviceSource(mechanism, Device.of("cpu"), 1)
    paths = list(source.run((1,), (), 10_000, (1,)))
    assert len(paths) == 3
    texts = {str(value) for path in paths for _, value in path.one.rows(1)[0]}
    assert texts == {"NaN", "inf", "a number"}


def test_a_correct_mechanism_is_not_violated() -> None:
    entry = CATALOGUE["sparse_vector"]
    report = fg.audit(
        entry.batch,
        neighbours="each",
        device="cpu",
        parameters={"bound": 1},
        lengths=(3,),
        stop_early=False,
        **SETTINGS,
    )
    assert not report.violated
    assert 0.2 < report.lower_bound < 1


@pytest.mark.parametrize("name", ["marked", "exact", "place"])
def test_a_rare_leak_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("freegap_evidence.bench.audit_device.LEAK", 2e-4)
    settings = SETTINGS | {"samples": 1_000_000, "search_samples": 500_000}
    report = fg.audit(
        leaks()[name],
        neighbours="each" if name == "place" else "one",
        device="cpu",
        deep=True,
        lengths=(1,),
        **settings,
    )
    assert report.violated


@pytest.mark.parametrize("name", ["marked", "exact", "place"])
def test_the_look_for_what_is_rare_finds_a_leak_by_itself(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Among numbers, and among outputs that are counted as wholes."""
    monkeypatch.setattr("freegap_evidence.bench.audit_device.LEAK", 2e-4)
    leads: list[Lead] = []
    look = DeviceStages.search_rare

    def noted(stages: DeviceStages, progress: Any) -> list[Lead]:
        leads.extend(look(stages, progress))
        return leads

    monkeypatch.setattr(DeviceStages, "search_rare", noted)
    settings = SETTINGS | {"samples": 1_000_000, "search_samples": 500_000}
    fg.audit(
        leaks()[name],
        neighbours="each" if name == "place" else "one",
        device="cpu",
        deep=True,
        lengths=(1,),
        **settings,
    )
    assert max(lead.finding.score for lead in leads) > 1


def test_a_release_without_noise_is_proposed_beside_those_with_it() -> None:
    """It is known in full, they are a column in which the same number may stand."""
    tally = OutputTally()
    for value, runs in ((3, 500), (7, 4), (8, 3), (9, 2), (10, 1)):
        tally.add(value, from_objects([value]), 0, runs)
    forecast = Plan(samples=10**6, confirm=10**7, z=5.0, claim=PureClaim(1.0)).forecast(10**6, 1.5)
    found = {f.event.text: (f.hits1, f.hits2) for f in events_of_outputs(tally, forecast, alone=False)}
    assert found["output = 3"] == (500, 0)
    assert not any("10" in text for text in found)  # of the rare ones, that may well be luck, a few
    source = _source("laplace_rare_leak", "cpu")
    event = Event.of(Component(()), OneOf((3.0,)))
    hits = source.count((1, 2), (), [event], 1_000_000, (1,))[0]
    assert 800 < hits < 1200  # 500 without noise, and of the others one in 2048


def in_heaps(answers: Any, epsilon: float, rng: Any, size: int, xp: Any) -> Any:
    several = xp.where(rng.random(1) < 0.5, 0.3, 0.7) * (1 + 0.5 * (answers[0] > 1))
    return xp.astype(rng.random(size) < several, xp.float64)


def test_runs_that_depend_on_each_other_are_refused() -> None:
    with pytest.raises(fg.MechanismFailed, match="independent"):
        fg.audit(in_heaps, device="cpu", **SETTINGS)


def one_by_one(answers: Any, epsilon: float, rng: Any) -> Any:
    return sum(answers) + rng.laplace(scale=1 / epsilon)


def of_numpy_alone(answers: Any, epsilon: float, rng: Any, size: int) -> Any:
    return np.hypot(rng.laplace(scale=1 / epsilon, size=size), "one")


def test_what_cannot_be_run_there_is_said() -> None:
    with pytest.raises(fg.InvalidArgument, match="many runs at once"):
        fg.audit(one_by_one, device="cpu", **SETTINGS)
    with pytest.raises(fg.InvalidArgument, match="is no device"):
        fg.audit(noisy_max, device=3, **SETTINGS)
    with pytest.raises(fg.InvalidArgument, match="device_memory"):
        fg.audit(noisy_max, device="cpu", device_memory=3, **SETTINGS)
    with pytest.raises(fg.MechanismFailed):
        fg.audit(of_numpy_alone, device=array_api_strict, **SETTINGS)


def test_the_sides_are_tossed_and_so_is_their_order() -> None:
    calls: list[tuple[int, int, tuple[int, ...]]] = []

    class Watched(DeviceSource):
        def count(
            self, answers: Any, parameters: Any, events: Any, size: int, key: tuple[int, ...]
        ) -> list[int]:
            calls.append((int(answers[0]), size, key))
            return [size // 2]

    mechanism = Mechanism.of(noisy_max, claimed={"epsilon": 1.0})
    source = Watched(mechanism, Device.of("cpu"), 3)
    candidate = SearchCandidate(Pair((1,), (2,), "one above"), ())
    finding = Finding(Event.of(Component(()), Between(0.0)), False, 1, 1, 1.0)
    result = Confirmation(Lead(candidate, finding))
    spending = Spending.of(64_000)
    confirm_there(
        source,
        result,
        spending,
        Test(PureClaim(1.0), 1e-6),
        number=0,
        settled=lambda so_far: False,
        promising=lambda so_far: False,
    )
    blocks = [[call for call in calls if call[2][2] == piece] for piece in {call[2][2] for call in calls}]
    pairs = [(block[0], block[1]) for block in blocks if len(block) == 2]  # a few have one side alone
    assert {one[0] for one, _ in pairs} == {1, 2}  # each comes first now and then
    assert all({one[0], two[0]} == {1, 2} for one, two in pairs)
    assert len({key for _, _, key in calls}) == len(calls)  # noise of its own
    assert any(abs(one[1] - two[1]) > 1 for one, two in pairs)
    assert sum(size for _, size, _ in calls) == 64_000
    first = sum(size for side, size, _ in calls if side == 1)
    assert stats.binomtest(first, 64_000).pvalue > 1e-9
    assert [look.counts.trials for look in result.fixed] == list(spending.trials)


class _SinglePrecision:
    """A library whose doubles are none, as JAX's by default."""

    __name__ = "single"
    float64 = np.float32
    asarray = staticmethod(np.asarray)

    def __array_namespace_info__(self) -> None: ...


def test_a_device_without_doubles_is_refused_by_name() -> None:
    with pytest.raises(fg.InvalidArgument, match="double precision"):
        Device.of(_SinglePrecision())


def test_a_batch_keeps_to_the_memory() -> None:
    small, large = (Device.of("cpu", memory).batch(10) for memory in (2**24, 2**30))
    assert small < large
    assert small * 8 * 12 <= 2**24


def test_a_whole_output_with_numbers_in_it_is_no_event() -> None:
    assert not countable(Event.of(Whole(), OneOf((0.0,))))
    assert not countable(Event.of(KindOf(), OneOf((Label("type", "int"),))))


def test_which_path_a_run_took_is_no_part_of_its_output() -> None:
    column = np.array([5.0, 4.5, 5.0, 3.0, 7.0, 5.0, 1.0, 2.0, 5.0])
    paths = [
        OnePath(9, None, from_objects([[True, 0.0]]), {(1,): column}),
        OnePath(4, None, from_objects([[True, 5]]), {}),
        OnePath(3, None, from_objects([[True, 5.0]]), {}),
        OnePath(2, None, from_objects([[True, False]]), {}),
    ]
    five, number = (from_objects([[True, value]]).rows(1)[0] for value in (5, 5.0))
    labels = WholeOfLabels().read(paths[3].one).numbers[0]
    for event, hits in (
        (Event.of(Component((1,)), OneOf((5.0,))), [4, 4, 3, 0]),
        (Event.of(Distance(five), OneOf((0.0,))), [4, 4, 3, 0]),
        (Event.of(Distance(number), OneOf((0.0,))), [9, 4, 3, 0]),
        (Event.of(Distance(five), OneOf((1.0,))), [5, 0, 0, 2]),
        (Event.of(WholeOfLabels(), OneOf((float(labels),))), [0, 0, 0, 2]),
    ):
        assert [_hits(event, path) for path in paths] == hits, event.text
        assert [event.hits(path.rows(9)) for path in paths] == hits  # as on the host


def test_the_bound_of_a_leak_on_the_grid_stays_below_its_loss() -> None:
    entry = CATALOGUE["laplace_rare_leak"]
    settings = SETTINGS | {"epsilon": 0.7, "samples": 1_000_000, "search_samples": 50_000}
    report = fg.audit(
        entry.batch, neighbours="one", device="cpu", lengths=(1, 5), stop_early=False, **settings
    )
    assert 0.6 < report.lower_bound < entry.loss(0.7, 10, {})


def test_the_bench_makes_each_audit_once() -> None:
    parts = [chosen([], (0.2, 0.7), (i, 3)) for i in (1, 2, 3)]
    every = [task for part in parts for task in part]
    assert len(every) == len(set(every)) == 2 * len(names()) + len(leaks())
    assert "sparse_vector" in names()
    assert "noisy_max_value_laplace" not in names()  # its loss grows with the input


def test_sets_of_labels_and_single_numbers_are_found() -> None:
    found = fg.audit(two_labels, neighbours="one", device="cpu", **SETTINGS).counterexample
    assert found is not None
    names = set(getattr(found.event.clauses[0].condition, "names", ()))
    assert found.event.text == "number of False in output = 1" or names == {"[True, False]", "[False, True]"}
    entry = CATALOGUE["noisy_max_half_noise"]
    report = fg.audit(entry.batch, neighbours="each", device="cpu", lengths=(2, 5), **SETTINGS)
    assert report.counterexample is not None
    assert report.counterexample.event.text == "output = 0"


def two_labels(answers: Any, epsilon: float, rng: Any, size: int, xp: Any) -> Any:
    """What it lets out once in twenty runs, the first of them alone would not tell."""
    leak = (rng.random(size) < 0.05) & (rng.random(size) < answers[0] / 2)
    coin = rng.random(size) < 0.5
    return coin, xp.where(leak, ~coin, coin)


@pytest.mark.parametrize("neighbours", ["each", "monotonic", "one"])
def test_reshaped_inputs_are_neighbours_still(neighbours: str) -> None:
    moved = [one for pair in table_pairs(neighbours, lengths=[2, 5]) for one in reshaped(pair, [6])]
    assert bool(moved) == (neighbours != "one")
    for pair in moved:
        changes = [b - a for a, b in zip(pair.first, pair.second, strict=True)]
        assert max(map(abs, changes)) <= 1
        assert len(changes) <= 6
        if neighbours == "monotonic":
            assert min(changes) >= 0 or max(changes) <= 0


def test_inputs_are_made_longer_than_the_patterns_where_nobody_said_how_long_they_are() -> None:
    assert lengths_from(10, table_pairs("each")) == (10, 13, 16)
    assert lengths_from(5, table_pairs("each", lengths=[2, 5])) == (5,)
    (pair,) = [pair for pair in table_pairs("each", lengths=[4]) if pair.category == "half half"]
    found = {(one.first, one.second) for one in reshaped(pair, (4, 6))}
    assert ((1,) * 6, (0, 0, 0, 0, 2, 2)) in found
    assert ((1,) * 6, (0, 0, 2, 2, 2, 2)) in found


def test_inputs_that_were_given_are_not_reshaped() -> None:
    given = own_pairs([([1, 1, 1], [2, 2, 0])], neighbours="each", sensitivity=1, seed=1)
    assert [reshaped(pair, [9]) for pair in given] == [[]]


def test_the_numbers_of_a_kind_of_outputs_are_cut_at_the_answers_and_far_out() -> None:
    kind = from_objects([[False, 2.5]]).rows(1)[0]
    known = [(Event.of(Distance(kind), OneOf((0.0,))), True)]
    found = with_numbers_cut(known, Pair((1, 3), (1, 2), "some"), 5.0)
    rows = from_objects([[False, 2.5], [False, 0.5], [False, 41.0], [True], [2.5, False]])
    assert [event.holds(rows).tolist()[:3] for event, _ in found] == [
        [True, False, True],  # at least 1
        [False, True, False],
        [True, False, True],  # at least 2
        [False, True, False],
        [False, False, True],  # at least 3
        [True, True, False],
        [True, True, False],  # below 8 scales of the noise
        [True, True, True],  # and below 16
    ]
    assert not any(event.holds(rows)[3:].any() for event, _ in found)
    assert all(swapped for _, swapped in found)


def test_a_batch_leaves_no_columns_behind() -> None:
    source = _source("adaptive_sparse_vector", "cpu", **PARAMETERS)
    gc.collect()
    gc.disable()
    try:
        for _ in source.run((1, 2, 1), (), 10_000, (1,)):
            pass
        assert not [found for found in gc.get_objects() if isinstance(found, Group | RunValues)]
    finally:
        gc.enable()


@pytest.mark.parametrize("truth", [[True, False, False, True], [False, False, True], [True], [False] * 3])
def test_runs_are_parted_by_places_and_not_where_all_go_one_way(truth: list[bool]) -> None:
    group = Group(Waiting(len(truth), None, Left()), None, [], np)
    true, others = group.apart(np.array(truth))
    assert true.tolist() == [i for i, here in enumerate(truth) if here]
    assert others.shape[0] == truth.count(False)
    if len(set(truth)) == 2:  # else nobody asks where
        assert others.tolist() == [i for i, here in enumerate(truth) if not here]


@pytest.mark.parametrize("xp", [np, array_api_strict])
def test_truth_values_are_told_apart_all_at_once(xp: Any) -> None:
    rng = np.random.default_rng(1)
    columns: dict[Path, Any] = {(i,): rng.random(1000) < 0.3 + i / 10 for i in (0, 2, 3)}
    one = from_objects([[False, "same", False, False]])
    whole = OnePath(1000, None, one, columns)
    there = OnePath(1000, None, one, {at: xp.asarray(column) for at, column in columns.items()})
    parts = list(_apart(there, xp))
    assert len(parts) == 8
    assert not any(part.columns for part in parts)
    seen: Counter[Any] = Counter()
    for part in parts:
        seen[part.one.rows(1)[0]] += part.size
    assert seen == Counter(whole.rows(1000).rows(1000))
