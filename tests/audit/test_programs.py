"""Programs of labelled noise: many runs at once are the runs one by one; one text is audited and proved."""

from __future__ import annotations

import inspect
import math
import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from freegap_evidence.catalogue import CATALOGUE, CatalogueEntry
from scipy import stats

import freegap as fg
from freegap.auditor import columns
from freegap.auditor.columns import run_batch
from freegap.auditor.mechanism import Mechanism
from freegap.auditor.outputs import INTEGER, REAL, Label
from freegap.auditor.programs import DrawnNoise, run_singly

PROGRAMS = [e for e in CATALOGUE.values() if list(inspect.signature(e.mechanism).parameters)[1] == "noise"]


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.fixture
def all_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run is made again by itself, on the draws that it had in its group."""
    monkeypatch.setattr(columns, "REPEATED", 10**9)


def arguments_of(entry: CatalogueEntry, seed: int) -> dict[str, Any]:
    values = {"threshold": 0.5 * (seed % 4), "bound": 1 + seed % 3, "epsilon": (0.3, 1.0, 4.0)[seed % 3]}
    return {name: values[name] for name in inspect.signature(entry.mechanism).parameters if name in values}


@pytest.mark.usefixtures("all_repeated")
@pytest.mark.parametrize("entry", PROGRAMS, ids=lambda entry: entry.name)
def test_many_runs_at_once_are_the_runs_one_by_one_on_the_same_draws(entry: CatalogueEntry) -> None:
    for seed in range(4):
        answers = [float(x) for x in rng(seed).integers(-2, 3, 2 + seed)]
        outputs = run_batch(entry.mechanism, answers, arguments_of(entry, seed), 150, rng(seed))
        assert outputs is not None
        assert len(outputs) == 150


class Found(NamedTuple):
    place: int
    gap: Any


def odd(answers: Any, noise: Any) -> Any:
    """Every kind of output, comparison and operation that columns know."""
    first, second = noise.geometric(2, resolution=0.5), noise.discrete_laplace(1)
    drawn = abs(-(2 * first - second / 4)) + noise.uniform(2) - 1
    if not drawn:
        return "zero"
    if drawn == second or second < drawn <= 1:
        return {"sum": +drawn, "above": drawn > 1, "both": (1, None)}
    least = min(first, second, 0)
    return Found(min([1, 0], key=lambda i: (first, drawn)[i]), [max(first, 1), least, first != second])


@pytest.mark.usefixtures("all_repeated")
def test_outputs_of_every_kind_are_the_same() -> None:
    outputs = run_batch(odd, [1.0], {}, 600, rng())
    assert outputs is not None
    assert {Label("str", "'Found'"), Label("str", "'dict'"), Label("bool", "True")} <= set(outputs.labels)
    assert {REAL, INTEGER} <= set(outputs.codes.ravel().tolist())


@pytest.mark.usefixtures("all_repeated")
def test_many_answers_are_compared_at_once() -> None:
    def largest(answers: Any, noise: Any) -> Any:
        noisy = [answer + noise.laplace(1) for answer in answers]
        return max(noisy), min(noisy, key=abs), max(range(len(noisy)), key=noisy.__getitem__)

    outputs = run_batch(largest, [0.0] * 70, {}, 300, rng())
    assert outputs is not None
    assert len(outputs) == 300
    assert run_batch(largest, [0.0], {}, 0, rng()) is not None


@pytest.mark.parametrize("name", ["gap_sparse_vector", "adaptive_sparse_vector", "sparse_vector"])
def test_more_paths_than_repeated_runs_are_run_at_once(name: str) -> None:
    keywords = {"epsilon": 0.7, "threshold": 1.0, "bound": 1}
    parts = list(columns.by_paths(CATALOGUE[name].mechanism, [1.0] * 10, keywords, 2000, rng()))
    assert len(parts) > columns.REPEATED
    outputs = run_batch(CATALOGUE[name].mechanism, [1.0] * 10, keywords, 2000, rng())
    assert outputs is not None
    assert len(outputs) == 2000


@pytest.mark.usefixtures("all_repeated")
def test_what_was_drawn_first_is_known_after_many_partings() -> None:
    def walk(answers: Any, noise: Any) -> Any:
        first = noise.laplace(1)
        steps = 1 if first > 0 else 0
        for _ in range(1200):
            if noise.exponential(1) > 7:  # one run in a thousand parts from the others
                steps = steps + 1
        return [steps, first]

    outputs = run_batch(walk, [], {}, 300, rng())
    assert outputs is not None
    assert len(outputs) == 300


def test_a_program_that_goes_another_way_when_it_is_called_again_is_run_one_by_one() -> None:
    calls: list[int] = []

    def forgetful(answers: Any, noise: Any) -> Any:
        calls.append(1)
        if len(calls) > 15:  # when no run is repeated any more
            noise.laplace(1)
        place = 0
        while place < 20 and noise.exponential(1) < 1.6:
            place = place + 1
        return place

    assert run_batch(forgetful, [], {}, 10_000, rng()) is None


def test_the_order_of_the_runs_tells_nothing_of_their_paths() -> None:
    """The rows stand as they were drawn, not path by path: parts of a sample are samples."""

    def sign(answers: Any, noise: Any) -> int:
        return 1 if noise.laplace(1) >= 0.5 else 0

    outputs = run_batch(sign, [0.0], {}, 4000, rng())
    assert outputs is not None
    halves = outputs.numbers[:, 0].reshape(2, -1).mean(axis=1)
    assert abs(halves[0] - halves[1]) < 6 * math.sqrt(0.3 * 0.7 / 1000)
    one_by_one = run_singly(sign, [[0.0]] * 4000, {}, rng(2))
    assert abs(one_by_one.numbers.mean() - outputs.numbers.mean()) < 6 * math.sqrt(0.3 * 0.7 / 2000)


def test_every_run_stands_at_its_place() -> None:
    """What is put together of all paths is what each path came to: texts, truths, numbers and infinities."""

    def boundless(answers: Any, noise: Any) -> Any:
        first, second = noise.laplace(1), noise.laplace(1)
        if first > 1:
            return [first, second > 0, second * 1e308 * 10]
        return (second, "low") if second > 0 else [second * 1e308 * 10 - 5, None]

    for program in (odd, boundless):
        parts = list(columns.by_paths(program, [1.0], {}, 700, columns._Columnwise(rng().bit_generator)))
        outputs = run_batch(program, [1.0], {}, 700, rng())
        assert outputs is not None
        assert len(parts) >= 3
        for part in parts:
            alone = part.rows(part.size)
            for row, run in enumerate(part.runs):
                assert columns._cells(outputs, run) == columns._cells(alone, row)


@pytest.mark.parametrize("size", [0, 1, columns.VECTORISED_FROM - 1, columns.VECTORISED_FROM, 20_000])
def test_columns_of_laplace_noise_are_those_of_numpy(size: int) -> None:
    ours, numpys = columns._Columnwise(rng(3).bit_generator), rng(3)
    for place, scale in ((0.0, 1.0), (-7.0, 0.01), (0.5, 300.0)):
        found = ours.laplace(place, scale, size)
        assert len(found) == size
        np.testing.assert_allclose(found, numpys.laplace(place, scale, size), rtol=0, atol=1e-9 * scale)
    assert ours.integers(2**63) == numpys.integers(2**63)  # no more and no fewer bits were taken


@pytest.mark.parametrize("scale", [-1.0, -1e-300])
def test_a_negative_scale_is_refused_in_columns_too(scale: float) -> None:
    def backwards(answers: Any, noise: Any) -> Any:
        return answers[0] + noise.laplace(scale)

    assert run_batch(backwards, [1.0], {}, 2 * columns.VECTORISED_FROM, rng()) is None
    with pytest.raises(ValueError, match="scale"):
        run_singly(backwards, [[1.0]], {}, rng())
    assert run_batch(lambda answers, noise: noise.laplace(0.0), [1.0], {}, 1000, rng()) is not None


def test_the_tails_of_columns_of_laplace_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """The least uniform is 0, the largest 1 - 2^-53: both ends are finite, and equally far away."""
    ours = columns._Columnwise(rng().bit_generator)
    ends = np.resize([0.0, 1 - 2.0**-53, 0.5], 3 * columns.VECTORISED_FROM)
    monkeypatch.setattr(ours, "random", lambda size: ends[:size].copy())
    found = ours.laplace(0.0, 2.0, len(ends))[:3]
    assert found[1] == -found[0] == pytest.approx(2 * 53 * math.log(2))
    assert found[2] == pytest.approx(2 * 2.0**-53)


LAWS: dict[str, Callable[[Any, float], Any]] = {
    "laplace": lambda x, scale: stats.laplace.cdf(x, scale=scale),
    "exponential": lambda x, scale: stats.expon.cdf(x, scale=scale),
    "geometric": lambda x, scale: -np.expm1(-(np.floor(x) + 1) / scale) * (x >= 0),
    "discrete_laplace": lambda x, scale: stats.dlaplace.cdf(x, 1 / scale),
    "gumbel": lambda x, scale: stats.gumbel_r.cdf(x, scale=scale),
    "logistic": lambda x, scale: stats.logistic.cdf(x, scale=scale),
    "normal": lambda x, scale: stats.norm.cdf(x, scale=scale),
    "uniform": lambda x, scale: np.clip(x / scale, 0, 1),
}


@pytest.mark.parametrize("law", LAWS)
def test_noise_is_of_its_law(law: str) -> None:
    """Dvoretzky, Kiefer and Wolfowitz at level 1e-9: accepted, and a scale fifteen per cent off is not."""
    size = 60_000
    drawn = np.sort(getattr(DrawnNoise(rng(), lambda sample: sample(size)), law)(3.0))
    steps = np.arange(1, size + 1) / size
    last = np.append(drawn[1:] > drawn[:-1], True)  # where a value occurs for the last time
    band = math.sqrt(math.log(2 / 1e-9) / (2 * size))

    def distance(scale: float) -> float:
        return float(np.abs(steps - LAWS[law](drawn, scale))[last].max())

    assert distance(3.0) < band
    assert distance(3.0 * 1.15) > band


def hides_a_type(answers: Any, noise: Any) -> Any:
    return 1 if isinstance(noise.laplace(1), float) else 0


def own_randomness(answers: Any, noise: Any) -> Any:
    return random.random() + noise.laplace(1)


def exponentiated(answers: Any, noise: Any) -> Any:
    return math.exp(-noise.exponential(1))


def written_down(answers: Any, noise: Any) -> Any:
    return f"{noise.uniform(1):.1f}"


def compared_by_identity(answers: Any, noise: Any) -> Any:
    return (noise.laplace(1) > 0) is True


@pytest.mark.parametrize(
    "program", [hides_a_type, own_randomness, exponentiated, written_down, compared_by_identity]
)
def test_what_columns_cannot_do_is_run_one_by_one(program: Callable[..., Any]) -> None:
    assert run_batch(program, [0.0], {}, 500, rng()) is None
    mechanism = Mechanism.of(program, claimed={"epsilon": 1.0})
    assert not mechanism.tried((0.0,), (), None).vectorized
    assert len(mechanism.call((0.0,), (), 50, rng())) == 50


def test_only_a_second_parameter_without_a_default_is_labelled_noise() -> None:
    assert Mechanism.of(fg.noisy_max, claimed={"epsilon": 1.0}).noise is None
    assert Mechanism.of(lambda answers, rng, noise: 0, claimed={"epsilon": 1.0}).noise == "rng"
    assert Mechanism.of(odd, claimed={"epsilon": 1.0}).noise == "noise"
    assert Mechanism.of(odd, claimed={"epsilon": 1.0}).tried((1.0,), (), None).vectorized


def test_an_audit_of_a_program_is_replayed_from_its_seed() -> None:
    settings: dict[str, Any] = {"samples": 2000, "search_samples": 500, "seed": 5}
    program = CATALOGUE["noisy_max_value_laplace"].mechanism
    one, other = (fg.audit(program, epsilon=1, jobs=jobs, **settings).to_dict() for jobs in (1, 2))
    assert {**one, "seconds": 0} == {**other, "seconds": 0}


SMALL: dict[str, Any] = {"samples": 50_000, "search_samples": 8_000, "seed": 3, "jobs": 1, "shrink": False}


def winner_keeps_its_lead(answers: Any, neighbour: Any, output: Any, noise: Any) -> Any:
    """The alignment of noisy max (Ding 2020, lemma 5.1): only the winner's noise moves, by at most 2."""
    return {**noise, output: noise[output] + 1 + answers[output] - neighbour[output]}


@pytest.mark.parametrize(
    ("name", "alignment", "given", "holds"),
    [
        ("noisy_max_laplace", winner_keeps_its_lead, {}, True),
        ("noisy_max_half_noise", winner_keeps_its_lead, {}, False),
        ("noisy_max_with_gap", None, {}, True),
        ("sparse_vector", None, {"threshold": 1, "bound": 1}, True),
    ],
)
def test_one_text_is_audited_and_proved(
    name: str, alignment: Any, given: dict[str, Any], holds: bool
) -> None:
    program = CATALOGUE[name].mechanism
    proof = fg.prove(program, alignment, epsilon=1, queries=2, parameters=given, tightness=False)
    assert (proof.holds, proof.refutation is None) == (holds, holds)
    report = fg.audit(program, epsilon=1, parameters=given, **SMALL)
    assert report.violated != holds
