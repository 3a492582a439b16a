"""Traces: every planted fault is noticed, by its kind and line; clean mechanisms have no finding."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from freegap_evidence.catalogue import CATALOGUE
from typer.testing import CliRunner

import freegap as fg
from freegap.auditor.claims import claim_argument
from freegap.auditor.inputs import own_pairs, table_pairs
from freegap.auditor.mechanism import Mechanism
from freegap.auditor.recorded import RecordedNumber, RecordingGenerator, RunRecord
from freegap.auditor.statistics import PureClaim
from freegap.auditor.trace import trace
from freegap.auditor.traced import TraceFinding, trace_lines
from freegap.cli import app

Rng = np.random.Generator


def found(mechanism: Callable[..., Any], neighbours: str = "one", **settings: Any) -> list[TraceFinding]:
    claim = settings.pop("claim", PureClaim(1.0))
    wrapped = Mechanism.of(mechanism, claimed={"epsilon": 1.0}, **settings)
    return trace(wrapped, table_pairs(neighbours), 1.0, claim, 10.0)


def kinds(mechanism: Callable[..., Any], neighbours: str = "one", **settings: Any) -> set[str]:
    return {finding.kind for finding in found(mechanism, neighbours, **settings)}


# Planted faults -----------------------------------------------------------------------------------------


def scale_by_data(answers: list[float], epsilon: float, rng: Rng) -> float:
    return sum(answers) + rng.laplace(scale=max(1.0, max(answers)) / epsilon)


def scale_by_data_in_an_array(answers: list[float], epsilon: float, rng: Rng) -> Any:
    return np.array(answers) + rng.laplace(scale=1 + len({*answers}), size=len(answers))


def no_draw_for_zero(answers: list[float], epsilon: float, rng: Rng) -> list[float]:
    return [0.0 if answer == 0 else answer + rng.laplace(scale=1 / epsilon) for answer in answers]


def draws_by_data(answers: list[float], epsilon: float, rng: Rng) -> float:
    rng.random(int(sum(answers)))
    return sum(answers) + rng.laplace(scale=1 / epsilon)


def two_ways(answers: list[float], epsilon: float, rng: Rng) -> float:
    if max(answers) > 1:
        return sum(answers) + rng.laplace(scale=1 / epsilon)
    return sum(answers) + rng.laplace(scale=1 / epsilon)


def moves_too_far(answers: list[float], epsilon: float, rng: Rng) -> float:
    return 3 * sum(answers) + rng.laplace(scale=1 / epsilon)


def moves_too_far_by_location(answers: list[float], epsilon: float, rng: Rng) -> float:
    return float(rng.laplace(3 * sum(answers), 1 / epsilon))


def moves_too_far_in_an_array(answers: list[float], epsilon: float, rng: Rng) -> Any:
    return 3 * np.array(answers) + rng.laplace(scale=1 / epsilon, size=len(answers))


def moves_too_far_item_by_item(answers: list[float], epsilon: float, rng: Rng) -> list[float]:
    noise = rng.laplace(size=len(answers)) / (3 * epsilon)
    return [answer + drawn for answer, drawn in zip(answers, noise, strict=True)]


def moves_too_far_scaled(answers: list[float], epsilon: float, rng: Rng) -> float:
    return sum(answers) - 0.25 * rng.standard_exponential() / epsilon


def one_draw_for_all(answers: list[float], epsilon: float, rng: Rng) -> list[float]:
    drawn = rng.laplace(scale=1 / epsilon)
    return [answer + drawn for answer in answers]


def one_draw_for_an_array(answers: list[float], epsilon: float, rng: Rng) -> Any:
    return np.array(answers) + rng.laplace(scale=1 / epsilon, size=1)


def fixed_seed(answers: list[float], epsilon: float) -> float:
    return sum(answers) + np.random.default_rng(42).laplace(scale=1 / epsilon)


def seeded_again(answers: list[float], epsilon: float) -> list[float]:
    out = []
    for answer in answers:
        rng = np.random.default_rng(np.random.SeedSequence(7))
        out.append(answer + rng.laplace(scale=1 / epsilon))
    return out


def thrown_away(answers: list[float], epsilon: float, rng: Rng) -> float:
    total = sum(answers) + rng.laplace(scale=1 / epsilon)
    max(answers) + rng.laplace(scale=1 / epsilon)
    return total


PLANTED = {
    scale_by_data: "scale",
    scale_by_data_in_an_array: "scale",
    no_draw_for_zero: "draws",
    draws_by_data: "draws",
    two_ways: "control flow",
    moves_too_far: "sensitivity",
    moves_too_far_by_location: "sensitivity",
    moves_too_far_in_an_array: "sensitivity",
    moves_too_far_item_by_item: "sensitivity",
    moves_too_far_scaled: "sensitivity",
    one_draw_for_all: "reuse",
    one_draw_for_an_array: "reuse",
    fixed_seed: "seed",
    seeded_again: "seed",
    thrown_away: "unused",
}


def name_of(value: Any) -> str:
    return str(getattr(value, "__name__", value))


@pytest.mark.parametrize(("mechanism", "kind"), PLANTED.items(), ids=name_of)
def test_a_planted_fault_is_noticed_at_its_line(mechanism: Callable[..., Any], kind: str) -> None:
    findings = found(mechanism)
    assert {finding.kind for finding in findings} == {kind}
    first, last = (
        mechanism.__code__.co_firstlineno,
        max(line for *_, line in mechanism.__code__.co_lines() if line),
    )
    for finding in findings:
        name, _, line = finding.site.partition(":")
        assert name == "test_trace.py"
        assert first < int(line) <= last


def test_what_a_finding_says() -> None:
    (finding,) = found(moves_too_far)
    assert finding.text == "what is noised moves by 3; noise of scale 1 hides 1 at ε = 1"
    assert finding.first == "[1, 1, 1]"
    assert str(finding).startswith("Trace, sensitivity: what is noised moves by 3;")
    (scaled,) = found(moves_too_far_scaled)
    assert scaled.text == "what is noised moves by 1; noise of scale 0.25 hides 0.25 at ε = 1"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("laplace_half_noise", "sensitivity"),
        ("histogram_drops_empty_bins", "draws"),
        ("partial_sum_noise_per_answer", "sensitivity"),
        ("mean_exact_count", "scale"),
        ("noisy_max_half_noise", None),
    ],
)
def test_broken_programs_of_the_catalogue(name: str, kind: str | None) -> None:
    """Noisy max with half the noise moves each answer by what its noise hides: some faults leave no trace."""
    entry = CATALOGUE[name]
    assert kinds(entry.mechanism, entry.neighbours) == (set() if kind is None else {kind})


# Clean mechanisms ---------------------------------------------------------------------------------------


QUICK = ("histogram", "smart_sum", "noisy_max_with_gap", "sparse_vector", "truncated_geometric", "rappor")


@pytest.mark.parametrize(
    "name",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.long)
        for name, entry in CATALOGUE.items()
        if entry.correct
    ],
)
def test_a_correct_program_has_no_finding(name: str) -> None:
    entry = CATALOGUE[name]
    assert kinds(entry.mechanism, entry.neighbours) == set()


def noisy_max(answers: list[float], epsilon: float, rng: Rng) -> int:
    return int(np.argmax(np.array(answers) + rng.laplace(scale=2 / epsilon, size=len(answers))))


def vectorised(answers: list[float], epsilon: float, rng: Rng, size: int) -> Any:
    return (np.array(answers) + rng.exponential(2 / epsilon, (size, len(answers)))).argmax(axis=1)


def clamped(answers: list[float], epsilon: float, rng: Rng) -> int:
    return int(np.clip(round(sum(answers) + rng.laplace(scale=1 / epsilon)), 0, 5))


def drawn_until_positive(answers: list[float], epsilon: float, rng: Rng) -> float:
    noisy = [answer + rng.laplace(scale=1 / epsilon) for answer in answers]
    while rng.random() < 0.5:
        pass
    return noisy[0]


def scale_from_the_output(answers: list[float], epsilon: float, rng: Rng) -> list[Any]:
    above = bool(sum(answers) + rng.laplace(scale=2 / epsilon) > 0)
    return [above, sum(answers) + rng.laplace(scale=(2 if above else 4) / epsilon)]


def own_generator(answers: list[float], epsilon: float) -> float:
    return sum(answers) + np.random.default_rng().laplace(scale=1 / epsilon)


def old_functions(answers: list[float], epsilon: float) -> float:
    return sum(answers) + np.random.laplace(scale=1 / epsilon)


CLEAN = [
    (noisy_max, "each"),
    (vectorised, "each"),
    (clamped, "one"),
    (drawn_until_positive, "one"),
    (scale_from_the_output, "one"),
    (own_generator, "one"),
    (old_functions, "one"),
]


@pytest.mark.parametrize(("mechanism", "neighbours"), CLEAN, ids=name_of)
def test_a_clean_mechanism_has_no_finding(mechanism: Callable[..., Any], neighbours: str) -> None:
    assert found(mechanism, neighbours) == []


def test_gaussian_noise_is_judged_in_rho() -> None:
    def gaussian(answers: list[float], rng: Rng) -> float:
        return sum(answers) + rng.normal(scale=2.0)

    exact = claim_argument(rho="1/8")
    assert kinds(gaussian, claim=exact) == set()
    assert kinds(gaussian, claim=claim_argument(mu="1/2")) == set()
    assert kinds(gaussian, claim=claim_argument(mu="1/3")) == {"sensitivity"}
    assert kinds(gaussian, claim=claim_argument(alpha=8, renyi="1/10")) == set(), "not judged"
    less = claim_argument(rho="1/9")
    assert kinds(gaussian, claim=less) == {"sensitivity"}


# In an audit --------------------------------------------------------------------------------------------

SMALL: dict[str, Any] = {"samples": 200, "search_samples": 50, "lengths": (3,), "seed": 1, "jobs": 1}


def test_a_report_has_the_findings_and_says_what_they_mean(tmp_path: Path) -> None:
    report = fg.audit(thrown_away, epsilon=1, neighbours="one", trace=True, **SMALL)
    assert not report.violated
    assert report.trace is not None
    assert [finding.kind for finding in report.trace] == ["unused"]
    assert "Trace, unused: whatever is drawn here" in str(report)
    assert "it is no refutation" in str(report)
    assert report.to_dict()["trace"][0]["kind"] == "unused"
    report.to_html(tmp_path / "report.html")
    assert "Trace, unused" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert fg.audit(thrown_away, epsilon=1, neighbours="one", **SMALL).trace is None


def test_nothing_noticed_is_said() -> None:
    assert trace_lines(())[0] == "The trace noticed nothing."
    assert trace_lines(None) == []


def test_inputs_of_any_kind_are_traced() -> None:
    def size(rows: dict[str, int], rng: Rng) -> float:
        return 2 * len(rows) + rng.laplace()

    pairs = own_pairs([({"a": 1}, {})], neighbours=lambda one, other: True, sensitivity=1, seed=0)
    wrapped = Mechanism.of(size, claimed={"epsilon": 1.0})
    (finding,) = trace(wrapped, pairs, 1.0, PureClaim(1.0), 10.0)
    assert (finding.kind, finding.first, finding.second) == ("sensitivity", "{'a': 1}", "{}")


def test_the_command_line_traces() -> None:
    target = f"{__name__}:thrown_away"
    options = [
        "--epsilon",
        "1",
        "--neighbours",
        "one",
        "--trace",
        "--samples",
        "200",
        "--search-samples",
        "50",
    ]
    result = CliRunner().invoke(
        app, ["audit", target, *options, "--lengths", "3", "--seed", "1", "--jobs", "1"]
    )
    assert result.exit_code == 0
    assert "Trace, unused" in result.output.replace("\n", " ")


# The recording itself -----------------------------------------------------------------------------------


def test_the_values_are_those_of_the_plain_generator() -> None:
    plain, record = np.random.default_rng(5), RunRecord()
    recording = RecordingGenerator(np.random.default_rng(5).bit_generator, record)
    assert recording.laplace(1.0, 2.0) == plain.laplace(1.0, 2.0)
    assert (recording.normal(size=3) == plain.normal(size=3)).all()
    assert recording.integers(10) == plain.integers(10)
    assert [draw.method for draw in record.draws] == ["laplace", "normal", "integers"]
    assert record.draws[0].centres[0] == 1.0
    assert record.draws[1].shape == (3,)


def test_a_draw_knows_its_centre_and_its_width() -> None:
    record = RunRecord()
    rng = RecordingGenerator(np.random.default_rng(1).bit_generator, record)
    drawn = rng.laplace(scale=2.0)
    assert isinstance(drawn, RecordedNumber)
    assert type(5 + -3 * drawn / 2) is float
    assert record.draws[0].centres == [5.0]
    assert record.draws[0].width == 3.0
    rng.exponential(4.0) * 2.0 + drawn  # noise on noise is no centre
    assert record.draws[1].centres == []


# Other libraries, as far as their primitives are recorded: the same names, and no more --------------------


class FakeLaplace:
    def __init__(self, *, epsilon: float, sensitivity: float) -> None:
        self.epsilon, self.sensitivity = epsilon, sensitivity

    def randomise(self, value: float) -> float:
        return value + float(np.random.default_rng().laplace(scale=self.sensitivity / self.epsilon or 1e-9))


class FakeFolded(FakeLaplace):
    def randomise(self, value: float) -> float:
        return abs(super().randomise(value))


class FakeMeasurement:
    def __init__(self, loss: float, measure: str) -> None:
        self.loss, self.output_measure = loss, measure

    def map(self, moved: Any) -> float:
        if not isinstance(moved, int):
            raise TypeError
        return self.loss

    def __call__(self, value: Any) -> Any:
        return value


@pytest.mark.parametrize(
    ("sensitivity", "expected"), [(1.0, set()), (0.5, {"sensitivity"}), (0.0, {"sensitivity"})]
)
def test_a_primitive_of_diffprivlib_is_recorded(
    sensitivity: float, expected: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = SimpleNamespace(Laplace=FakeLaplace, LaplaceFolded=FakeFolded)
    monkeypatch.setitem(sys.modules, "diffprivlib.mechanisms", module)

    def noisy(answers: list[float], epsilon: float) -> float:
        return FakeFolded(epsilon=epsilon, sensitivity=sensitivity).randomise(sum(answers))

    findings = found(noisy)
    assert {finding.kind for finding in findings} == expected
    assert all(finding.site.endswith("diffprivlib.LaplaceFolded") for finding in findings)
    assert FakeFolded.randomise.__qualname__ == "FakeFolded.randomise"
    assert not hasattr(FakeFolded.randomise, "__wrapped__"), "left as it was"


@pytest.mark.parametrize(
    ("loss", "measure", "claim", "expected"),
    [
        (1.0, "MaxDivergence", None, set()),
        (2.0, "MaxDivergence", None, {"sensitivity"}),
        (1 / 8, "ZeroConcentratedDivergence", "1/8", set()),
        (1 / 4, "ZeroConcentratedDivergence", "1/8", {"sensitivity"}),
    ],
)
def test_a_measurement_of_opendp_is_recorded(
    loss: float, measure: str, claim: str | None, expected: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opendp.mod", SimpleNamespace(Measurement=FakeMeasurement))
    measurement = FakeMeasurement(loss, measure)
    given: dict[str, Any] = {} if claim is None else {"claim": claim_argument(rho=claim)}

    def noisy(answers: list[float]) -> float:
        return float(measurement(sum(answers))) * 0.0 + 1.5

    assert kinds(noisy, **given) == expected
