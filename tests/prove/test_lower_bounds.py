"""Losses that are certain: what is found is what a hand computes, and never more than what is proved."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import pytest
from freegap_evidence.assurance.meeting import MEETINGS, Meeting, Met, page
from freegap_evidence.catalogue import broken, correct
from typer.testing import CliRunner

import freegap as fg
from freegap.cli import app


def _laplace(answers: Any, noise: Any, *, epsilon: Any) -> Any:
    return answers[0] + noise.laplace(1 / epsilon)


def test_one_answer_by_hand() -> None:
    """P(a + Lap ≥ x) for a ≤ x − 1 falls by e^(ε·Δ), exactly."""
    found = fg.lower_bound(_laplace, epsilon="1/2", queries=1)
    assert found.witness is not None
    assert Fraction(99, 200) <= found.loss <= Fraction(1, 2)
    ((low, high),) = found.witness.event.box
    here, there = found.witness.answers[0], found.witness.neighbour[0]
    assert low is not None
    assert high is None
    assert abs(here - there) == 1
    for answer, chance in (
        (here, found.witness.probability),
        (there, found.witness.probability_of_neighbour),
    ):
        assert float(chance.lower) == pytest.approx(math.exp(-float(low - answer) / 2) / 2, rel=1e-9)


def test_the_exponential_mechanism_by_its_softmax() -> None:
    found = fg.lower_bound(correct.exponential_mechanism, epsilon="3/2", queries=2)
    assert found.witness is not None
    place = {"the output is 0": 0, "the output is 1": 1}[str(found.witness.event)]
    sides = []
    for answers in (found.witness.answers, found.witness.neighbour):
        behind = float(answers[1 - place] - answers[place])
        sides.append(1 / (1 + math.exp(0.75 * behind)))
    assert float(found.witness.probability.lower) == pytest.approx(sides[0], rel=1e-9)
    assert float(found.loss) == pytest.approx(math.log(sides[0] / sides[1]), rel=1e-9)
    assert 0.99 <= found.share <= 1


@pytest.mark.parametrize(
    "name",
    [
        "catalogue: laplace",
        "catalogue: noisy_max_laplace",
        "catalogue: exponential_mechanism",
        "catalogue: noisy_max_with_gap",
        "hybrid sparse vector, k = 1, laplace, monotonic",
        "sparse vector with gap, k = 1, geometric, each",
        "noisy top-k with gap, k = 1, laplace, monotonic, then measure",
        "sparse vector with gap, k = 1, laplace, monotonic, then measure (charged 4/3 of it)",
    ],
)
def test_proof_and_attack_meet(name: str) -> None:
    (meeting,) = (meeting for meeting in MEETINGS if meeting.name == name)
    epsilon = Fraction(7, 10)
    met = Met(meeting, epsilon, *meeting.bound(epsilon))
    assert met.met, met.row
    assert meeting.name in page([met])


def test_a_measurement_after_a_monotonic_sparse_vector_costs_three_quarters_of_the_sum() -> None:
    """Which the table of meetings takes for granted."""
    (meeting,) = (
        m for m in MEETINGS if m.name.startswith("sparse vector with gap, k = 1, lap") and "4/3" in m.name
    )
    program = meeting.make(Fraction(3, 4)).program  # charged 1
    assert fg.prove(program, epsilon="3/4", neighbours="monotonic", queries=2).holds
    assert not fg.prove(program, epsilon="37/50", neighbours="monotonic", queries=2).holds


def test_a_loss_beyond_the_claim_is_told_as_one() -> None:
    found = fg.lower_bound(broken.noisy_max_half_noise, epsilon=1, queries=2, share="0.99")
    assert found.loss > found.claimed
    assert "more than is claimed" in str(found)


def test_an_event_that_the_neighbour_never_shows() -> None:
    def told(answers: Any, noise: Any) -> Any:
        return answers[0] > 0, noise.laplace(1)

    found = fg.lower_bound(told, epsilon=1, queries=1)
    assert found.loss == math.inf
    assert str(found).startswith("the loss is infinite")
    json.dumps(found.to_dict())


def test_a_constant_tells_nothing() -> None:
    found = fg.lower_bound(lambda answers, noise: noise.laplace(1), epsilon=1, queries=2)
    assert found.loss == 0
    assert found.witness is None
    assert "nothing larger was found on 2 answers" in str(found)


def test_more_noise_than_is_needed_is_seen() -> None:
    """The power of it: with a tenth more noise, 99 % cannot be reached, and is not claimed."""

    def careful(answers: Any, noise: Any, *, epsilon: Any) -> Any:
        return answers[0] + noise.laplace(Fraction(11, 10) / epsilon)

    found = fg.lower_bound(careful, epsilon=1, queries=1)
    assert Fraction(9, 10) < found.loss <= Fraction(10, 11)


def test_what_cannot_be_followed_says_why() -> None:
    def unknown(answers: Any, noise: Any) -> Any:
        return str(noise.laplace(1))

    found = fg.lower_bound(unknown, epsilon=1, queries=1)
    assert found.loss == 0
    assert found.reason


def test_forms_are_tried_at_sizes_of_their_own() -> None:
    meeting = next(m for m in MEETINGS if m.name.startswith("measure"))
    found, _ = meeting.bound(Fraction(1, 5))
    assert found.queries == 1
    assert found.share >= 0.99


@pytest.mark.parametrize(
    ("argument", "given"),
    [
        ("share", {"share": 1}),
        ("epsilon", {"epsilon": 0}),
        ("queries", {"queries": 0}),
        ("neighbours", {"neighbours": "all"}),
    ],
)
def test_arguments(argument: str, given: dict[str, Any]) -> None:
    with pytest.raises(fg.InvalidArgument) as error:
        fg.lower_bound(_laplace, **({"epsilon": 1} | given))
    assert error.value.argument == argument


def test_on_the_command_line(tmp_path: Any) -> None:
    runner = CliRunner()
    name = "freegap_evidence.catalogue.correct:laplace"
    done = runner.invoke(app, ["prove", name, "--lower", "--queries", "1", "--neighbours", "one", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["share"] > 0.99
    half = "freegap_evidence.catalogue.broken:laplace_half_noise"
    done = runner.invoke(app, ["prove", half, "--lower", "--queries", "1", "--neighbours", "one"])
    assert done.exit_code == 1
    assert "more than is claimed" in done.output


def test_a_meeting_that_loses_too_little_or_too_much_has_not_met() -> None:
    entry = Meeting("half the noise", lambda epsilon: broken.laplace_half_noise, "one")
    assert not Met(entry, Fraction(1), *entry.bound(Fraction(1))).met
