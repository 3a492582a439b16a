"""What a proof rests on, as files that another solver can read: complete, and nothing else is confirmed."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from freegap_evidence.assurance.library import LIBRARY
from typer.testing import CliRunner

import freegap as fg
from freegap.cli import app
from freegap.errors import InvalidArgument, MissingExtra
from freegap.prover.routes import prove_claim
from freegap.symbolic import Certificate, Limits, checker_named, real, z3

NOISY = "tests.prove.test_certificates:noisy"


def noisy(answers: Any, noise: Any) -> Any:
    return answers[0] + noise.laplace(1, label="sum")


def make_up(answers: Any, neighbour: Any, output: Any, noise: Any) -> Any:
    return {"sum": noise["sum"] + answers[0] - neighbour[0]}


def test_files_and_what_they_say(tmp_path: Path) -> None:
    proof = fg.prove(noisy, make_up, epsilon=1, queries=1, growth=False, certificate=tmp_path / "new")
    assert proof.holds
    files = sorted((tmp_path / "new").glob("*.smt2"))
    index = (tmp_path / "new" / "README.md").read_text(encoding="utf-8")
    assert proof.claim in index
    for file in files:
        text = file.read_text(encoding="utf-8")
        assert text.isascii()
        assert f"`{file.name}`: {text.splitlines()[0].removeprefix('; ')}" in index
        assert checker_named("z3")(text)
    assert any("a cost above the charge" in file.read_text(encoding="utf-8") for file in files)
    with pytest.raises(InvalidArgument, match="not an empty folder"):
        fg.prove(noisy, make_up, epsilon=1, queries=1, growth=False, certificate=tmp_path / "new")


def test_nothing_is_written_without_a_proof(tmp_path: Path) -> None:
    assert not fg.prove(noisy, make_up, epsilon="1/2", queries=1, certificate=tmp_path / "new").holds
    assert not (tmp_path / "new").exists()


NAMES = (
    "noisy top-k with gap",
    "hybrid sparse vector",
    "sparse vector, then measure",
    "adaptive sparse vector",
    "base-2 sparse vector with gap",
)
CLAIMS = [(entry, entry.claims[0]) for entry in LIBRARY if entry.name in NAMES]


@pytest.mark.parametrize(("entry", "claim"), CLAIMS, ids=lambda part: getattr(part, "name", ""))
def test_the_library_s_statements_stand_alone(entry: Any, claim: Any) -> None:
    """z3 reads each from its text, without anything else of the proof, and answers the same."""
    certificate = Certificate()
    assert claim.every_parameter
    assert prove_claim(entry, claim, certificate=certificate).holds
    assert len(certificate.statements) > 3
    assert all(checker_named("z3")(statement.text) for statement in certificate.statements.values())


def test_every_unsat_is_there_once() -> None:
    certificate = Certificate()
    x = real("Δ").z3
    solver = Limits(certificate=certificate).solver("no number is above and below")
    solver.add(x > 1)
    assert solver.check(x > 2) == z3.sat
    assert solver.check(x < 1) == solver.check(x < 1) == z3.unsat
    (statement,) = certificate.statements.values()
    assert statement.text.startswith("; no number is above and below\n(set-logic ALL)\n")
    assert "Delta" in statement.text
    assert not checker_named("z3")(statement.text.replace("(< |Delta| 1.0)", "(< |Delta| 3.0)"))


def test_empty_conjunctions_are_written_as_truth_values() -> None:
    certificate = Certificate()
    certificate.add("nothing", [z3.And([]), z3.Or([])])
    (statement,) = certificate.statements.values()
    assert statement.smt2.split("(assert")[1:] == ["\n true)\n", "\n false)\n(check-sat)\n"]


def test_solvers_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidArgument, match="is not a solver"):
        checker_named("yices")
    monkeypatch.setitem(sys.modules, "cvc5", None)
    with pytest.raises(MissingExtra, match=r"freegap\[check\]"):
        checker_named("cvc5")("(check-sat)")


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["prove", *arguments])


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = [NOISY, "--alignment", "tests.prove.test_certificates:make_up", "--queries", "1", "--no-growth"]
    done = run(*given, "--certificate", str(tmp_path / "a"), "--check", "z3")
    assert done.exit_code == 0, done.output
    assert "z3 confirms every file" in done.output
    monkeypatch.setattr("freegap.symbolic.certificate._CHECKERS", {"z3": lambda text: "cost" not in text})
    done = run(*given, "--certificate", str(tmp_path / "b"), "--check", "z3", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["confirmed"] is False
    assert "has nothing to confirm" in str(run(*given, "--check", "z3").exception)


def test_the_library_can_be_confirmed() -> None:
    done = run("--library", "--only", "measure · n = 1", "--check", "z3", "--json", "--jobs", "1")
    assert done.exit_code == 0, done.output
    assert [claim["as_claimed"] for claim in json.loads(done.output)["claims"]] == [True]


def test_a_search_is_no_part_of_a_proof() -> None:
    certificate = Certificate()
    from freegap.prover.check import problem_of
    from freegap.prover.synthesis import synthesise

    problem = problem_of(noisy, epsilon=1, queries=1)
    recorded = replace(problem, limits=replace(problem.limits, certificate=certificate))
    assert synthesise(recorded, tightness=False).holds
    assert {statement.meaning.split(":")[0] for statement in certificate.statements.values()} == {
        "neighbours each"
    }


def test_a_missing_solver_is_said_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is proved, which takes a minute."""
    monkeypatch.setitem(sys.modules, "cvc5", None)
    monkeypatch.setattr("freegap.cli.prove._results", lambda *given: pytest.fail("something was proved"))
    found = CliRunner().invoke(app, ["prove", "--library", "--check", "cvc5"])
    assert found.exit_code != 0
    assert isinstance(found.exception, MissingExtra)
