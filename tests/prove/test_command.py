"""The command line, and what the library claims of itself."""

from __future__ import annotations

import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from freegap_evidence.assurance.library import LIBRARY
from typer.testing import CliRunner

import freegap as fg
from freegap.cli import app
from freegap.forms import Ranking, Selection
from freegap.prover.registry import LibraryEntry, PrivacyClaim
from freegap.prover.routes import prove_claim

from . import plain_top_k

TOP_K = "tests.prove.plain_top_k:program"
OPTIONS = ["--epsilon", "1", "--queries", "3", "--parameter", "k=1", "--parameter", "scale=2", "--no-growth"]


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["prove", *arguments])


def test_a_mechanism_and_its_alignment() -> None:
    done = run(TOP_K, "--alignment", "tests.prove.plain_top_k:alignment", *OPTIONS)
    assert done.exit_code == 0, done.output
    assert done.output.startswith(
        "proved for n = 3 only: program(k=1, scale=2) on 3 answers is private at ε = 1"
    )


def test_json_and_synthesis() -> None:
    done = run(TOP_K, *OPTIONS, "--parameter", "law=laplace", "--json")
    assert done.exit_code == 0, done.output
    result = json.loads(done.output)
    assert result["verdict"] == "proved"
    assert result["tightness"]["epsilon"] == "1"
    assert result["alignment_source"].startswith("def alignment(")


FORM = Selection(
    1,
    "laplace",
    2,
    lambda value, following: value - following,
    lambda item, least, runner_up, best: (
        item.answer - item.neighbour + best - runner_up.answer - runner_up.noise
    ),
)


def test_a_form_is_proved_for_all_n() -> None:
    done = run("tests.prove.test_command:FORM", "--epsilon", "1")
    assert done.exit_code == 0, done.output
    assert "for all n > k ≥ 1" in done.output


def test_progress_goes_by_path() -> None:
    seen: list[tuple[str, int, int]] = []
    parameters = {"k": 1, "scale": 2, "law": "laplace"}
    fg.prove(
        plain_top_k.program,
        plain_top_k.alignment,
        epsilon=1,
        queries=3,
        parameters=parameters,
        growth=False,
        progress=lambda *step: seen.append(step),
    )
    assert seen[:6] == [("paths", n, 0) for n in range(1, 7)]
    assert seen[-1] == ("outputs", 3, 3)


def test_a_refutation_has_its_own_exit_code() -> None:
    alignment = ["--alignment", "tests.prove.plain_top_k:alignment"]
    done = run(TOP_K, *alignment, "--epsilon", "3/4", "--parameter", "k=1", "--parameter", "scale=2")
    assert done.exit_code == 1
    assert "refuted by:" in done.output


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["top_k"],
        ["freegap.no_such_module:program"],
        [TOP_K, "--parameter", "k"],
        [TOP_K, "--epsilon", "-1"],
        [TOP_K, "--neighbours", "near"],
    ],
)
def test_mistakes_are_named(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.exit_code != 0
    assert done.exception is not None
    assert " = " in str(done.exception)


def claims() -> list[Any]:
    return [pytest.param(entry, claim, id=entry.title(claim)) for entry in LIBRARY for claim in entry.claims]


@pytest.mark.long
@pytest.mark.parametrize(("entry", "claim"), claims())
def test_the_library_s_claims(entry: LibraryEntry, claim: PrivacyClaim) -> None:
    proof = prove_claim(entry, claim)
    assert proof.holds, str(proof)
    if claim.tight is not None:
        assert proof.tightness is not None
        assert proof.tightness.epsilon == claim.tight


def test_a_part_of_the_library() -> None:
    """The whole takes minutes and is a long test; ordinary ones prove a claim of each row (assurance)."""
    done = run("--library", "--only", "· scale ", "--json", "--jobs", "2")
    assert done.exit_code == 0, done.output
    record = json.loads(done.output)
    assert record["proved"]
    assert {claim["claim"].partition(" ·")[0] for claim in record["claims"]} == {"histogram", "measure"}
    assert len(record["claims"]) == 6


def test_a_part_that_is_not_there() -> None:
    done = run("--library", "--only", "laplacian")
    assert done.exit_code != 0
    assert "is not part of any name" in done.output + str(done.exception)


@pytest.mark.long
def test_the_library_command() -> None:
    """As the README prints it: every claim."""
    done = run("--library", "--json", "--jobs", "2")
    assert done.exit_code == 0, done.output
    record = json.loads(done.output)
    assert record["proved"]
    assert len(record["claims"]) == len(claims())


def test_a_refuted_mechanism_is_handed_to_the_audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The point where the alignment fails is where the audit looks, and it finds the leak."""
    (tmp_path / "leaky.py").write_text(
        "def nearly_exact(answers, noise, *, epsilon):\n"
        "    return answers[0] + noise.laplace(1 / (8 * epsilon), label='sum')\n"
        "def shift(answers, neighbour, output, noise):\n"
        "    return {'sum': noise['sum'] + answers[0] - neighbour[0]}\n"
    )
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(
        app,
        ["prove", "leaky:nearly_exact", "--alignment", "leaky:shift", "--queries", "1", "--audit", "--json"],
    )
    assert done.exit_code == 1, done.output
    record = json.loads(done.stdout)
    assert record["holds"] is False
    assert record["audit"]["violated"] is True
    assert record["audit"]["epsilon_lower_bound"] > 1


def test_a_file_that_is_another_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python would import the one that it knows by the name, and that one would be proved."""
    for folder, told in (("one", "0"), ("two", "answers[0]")):
        (tmp_path / folder).mkdir()
        text = f"def program(answers, noise):\n    return {told}\n"
        (tmp_path / folder / "of_two_folders.py").write_text(text, encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path / folder)
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.delitem(sys.modules, "of_two_folders", raising=False)
    options = ["--epsilon", "1/1000", "--queries", "1", "--no-growth", "--no-counterexample"]
    done = [run(f"{tmp_path / folder}/of_two_folders.py:program", *options) for folder in ("two", "one")]
    assert [one.exit_code == 0 for one in done] == [False, False]
    assert "another module" in str(done[1].exception)


RANKED = Ranking(2, "laplace", 4, lambda direction, answer, neighbour: answer - neighbour + 1, Fraction(1, 2))


def test_every_form_is_proved_for_all_n() -> None:
    done = run("tests.prove.test_command:RANKED", "--epsilon", "1")
    assert done.exit_code == 0, done.output
