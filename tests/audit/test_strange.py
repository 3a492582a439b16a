"""Slow mechanisms, inputs that are no lists of answers, and state between calls."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

import freegap as fg
from freegap.auditor.carried import BY_LAST, BY_NUMBER, NOT_REPLAYED, in_order
from freegap.auditor.plan import BoundForecast
from freegap.auditor.prospect import prospect, smallest_loss
from freegap.auditor.reading import from_objects
from freegap.auditor.whole_inputs import WholeInput, handed_over

SMALL: dict[str, Any] = {"samples": 2000, "search_samples": 500, "seed": 1, "jobs": 1, "epsilon": 1}


def row_more(one: Any, other: Any) -> bool:
    return abs(len(one) - len(other)) == 1


def noisy_size(rows: Any, rng: np.random.Generator, *, scale: float = 1.0) -> int:
    return int(len(rows) + round(rng.laplace(scale=scale)))


def too_little(rows: Any, rng: np.random.Generator) -> int:
    return noisy_size(rows, rng, scale=0.2)


# Inputs -------------------------------------------------------------------------------------------------


def table(rows: int) -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"ward": ["a"] * rows, "days": range(rows)})


PAIRS: dict[str, tuple[Any, Any]] = {
    "text": ("abc", "abcd"),
    "set": ({1, 2}, {1, 2, 3}),
    "dict": ({"a": 1}, {"a": 1, "b": 2}),
    "records": ([{"ward": "a"}] * 60, [{"ward": "a"}] * 61),
}


@pytest.mark.parametrize("kind", [*PAIRS, "table"])
def test_any_input_can_be_audited_by_a_relation(kind: str) -> None:
    pair = (table(2), table(3)) if kind == "table" else PAIRS[kind]
    right = fg.audit(noisy_size, neighbours=row_more, inputs=[pair], **SMALL)
    assert not right.violated
    assert right.neighbours == "row_more"
    wrong = fg.audit(too_little, neighbours=row_more, inputs=[pair], **SMALL)
    assert wrong.violated
    assert wrong.counterexample is not None
    shown = wrong.counterexample.to_dict()
    expected = {str(side) if kind == "table" else repr(side) for side in pair}
    assert {shown["first"], shown["second"]} == expected
    assert wrong.counterexample.check(runs=400, seed=2).lower_bound > 1


@st.composite
def texts_and_one_letter_less(draw: Any, least: int = 1) -> tuple[str, str]:
    text = draw(st.text(alphabet="abc", min_size=least, max_size=80))
    return text, text[1:]


def counts_a(text: str, rng: np.random.Generator) -> int:
    return text.count("a") + int(rng.integers(2)) if len(text) > 50 else int(rng.integers(2))


def test_pairs_come_from_a_strategy_and_the_smallest_is_shown() -> None:
    report = fg.audit(too_little, neighbours=row_more, inputs=texts_and_one_letter_less(), **SMALL)
    assert report.violated
    assert report.counterexample is not None
    assert len(repr(report.counterexample.first)) < 12
    long = fg.audit(counts_a, neighbours=row_more, inputs=texts_and_one_letter_less(60), **SMALL)
    assert long.violated


def test_a_pair_that_is_none_is_refused() -> None:
    with pytest.raises(fg.InvalidArgument, match="are no neighbours by the relation"):
        fg.audit(noisy_size, neighbours=row_more, inputs=[("a", "abc")], **SMALL)
    with pytest.raises(fg.InvalidArgument, match="is not a pair of inputs"):
        fg.audit(noisy_size, neighbours=row_more, inputs=["abc"], **SMALL)
    with pytest.raises(fg.InvalidArgument, match="is missing where `neighbours` is a relation"):
        fg.audit(noisy_size, neighbours=row_more, **SMALL)
    with pytest.raises(fg.InvalidArgument, match="cannot be copied for a run"):
        fg.audit(noisy_size, neighbours=row_more, inputs=[([], [lambda: 0])], **SMALL)


def test_a_mechanism_that_changes_its_input_gets_a_fresh_one() -> None:
    given = WholeInput.of({"rows": [1]})
    handed_over(given)["rows"].append(2)
    assert handed_over(given) == {"rows": [1]}
    assert handed_over((1, 2)) == [1, 2]
    assert given != (1, 2)
    assert len({given, WholeInput.of({"rows": [1]}), WholeInput.of({"rows": [2]})}) == 2


def test_parameters_are_found_beside_inputs_without_numbers() -> None:
    def above(rows: list[int], threshold: float, rng: np.random.Generator) -> bool:
        return bool(len(rows) + rng.laplace(scale=0.1) > threshold)

    report = fg.audit(above, neighbours=row_more, inputs=[([], [1])], **SMALL)
    assert report.violated
    assert any("the inputs are no lists of answers" in note for note in report.notes)


def test_a_program_of_labelled_noise_takes_any_input() -> None:
    def program(rows: Any, noise: Any) -> Any:
        return len(rows["a"]) + noise.laplace(0.2)

    pair: tuple[Any, Any] = ({"a": [1]}, {"a": []})
    report = fg.audit(program, neighbours=lambda one, other: True, inputs=[pair], **SMALL)
    assert report.violated


# State --------------------------------------------------------------------------------------------------


def report_of(mechanism: Any, **settings: Any) -> Any:
    return fg.audit(mechanism, **{**SMALL, "samples": 400, "search_samples": 100, "lengths": (1,)} | settings)


def test_a_mechanism_that_counts_its_calls_is_noticed() -> None:
    calls = itertools.count()

    def drifts(answers: list[float], rng: np.random.Generator) -> float:
        return next(calls) / 100 + rng.laplace()

    notes = report_of(drifts).notes
    assert NOT_REPLAYED in notes
    assert BY_NUMBER in notes

    def in_turns(answers: list[float]) -> bool:
        return next(calls) % 2 == 0

    assert BY_NUMBER in report_of(in_turns).notes


def test_a_mechanism_that_remembers_inputs_is_noticed() -> None:
    seen: list[float] = [0.0]

    def remembers(answers: list[float], rng: np.random.Generator) -> float:
        seen[0] += sum(answers)
        return seen[0] % 7 + rng.laplace(scale=100)

    assert NOT_REPLAYED in report_of(remembers).notes


def test_a_walk_is_noticed_by_the_output_before() -> None:
    last = [0.0]
    noise = np.random.default_rng(1)

    def walks(answers: list[float]) -> float:
        last[0] = 0.9 * last[0] + noise.normal()
        return last[0]

    assert BY_LAST in report_of(walks).notes or BY_NUMBER in report_of(walks).notes


def test_a_mechanism_without_state_is_not_accused() -> None:
    def clean(answers: list[float], rng: np.random.Generator) -> list[Any]:
        return [bool(rng.integers(2)), rng.laplace(), "a" if rng.random() < 0.1 else None]

    report = report_of(clean)
    assert report.replayable
    assert not any("carries" in note for note in report.notes)
    own = np.random.default_rng(1)
    assert not any("carries" in note for note in report_of(lambda answers: own.normal()).notes)
    texts = report_of(lambda answers, rng: f"{rng.random()}")  # each is new, and the first is no smaller
    assert not any("carries" in note for note in texts.notes)
    assert in_order(from_objects([f"{i:03}" for i in range(60)])) == [BY_NUMBER]


def test_outputs_in_order_by_hand() -> None:
    assert in_order(from_objects(list(range(60)))) == [BY_NUMBER]
    assert in_order(from_objects([True, False] * 30)) == [BY_NUMBER]
    assert in_order(from_objects([5] * 60)) == []
    walk = np.repeat(np.random.default_rng(3).random(40), 5)
    assert in_order(from_objects(walk.tolist())) == [BY_LAST]


# Few runs -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.5, 0.05])
def test_the_smallest_loss_is_where_the_forecast_passes_the_claim(rate: float) -> None:
    loss = smallest_loss(1.0, rate=rate, runs=5000, z=4.9)
    assert loss is not None
    forecast = BoundForecast(grow=1.0, caution=1.3, z=4.9)
    for moved, above in ((1.001, True), (0.999, False)):
        hits = rate * 5000
        assert (forecast.bound(hits, hits * np.exp(-moved * loss)) > 1) == above


def test_what_is_promised_is_kept() -> None:
    """An event with the loss that 1000 runs are said to show is confirmed by 1000 runs, most of the time."""
    from freegap.auditor.statistics import EventCounts, PureClaim

    loss = smallest_loss(1.0, rate=0.5, runs=1000, z=4.9)
    assert loss is not None
    draw = np.random.default_rng(1)
    claim = PureClaim(1.0)
    kept = sum(
        claim.p_value(
            EventCounts(
                int(draw.binomial(1000, 0.5)), int(draw.binomial(1000, 0.5 * np.exp(-loss))), 1000, 1000
            ),
            np.array(1.0),
        )
        < 5e-7
        for _ in range(300)
    )
    assert 240 < kept < 300


def test_a_plan_says_beforehand_what_it_can_find() -> None:
    (text,) = prospect(1.0, runs=3000, level=1e-6, pace=0.01, seconds=60.0)
    assert text.startswith("In 60 s at 10 ms a run: 3,000 samples on each input confirm a finding.")
    assert "in what happens in half of the runs; a loss of" in text
    assert prospect(1.0, runs=30_000, level=1e-6, pace=0.01, seconds=60.0) == []
    (few,) = prospect(1.0, runs=100, level=1e-6, pace=0.01, seconds=None)
    assert few.startswith("100 samples on each input")
    assert "a tenth" not in few
