"""The audit, its line protocol, and the prover: strange arguments, and programs that answer anything."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import freegap as fg
from freegap.auditor.programs import Command
from tests.fuzz.outcome import FEWER, attempt, require_harmless, soon
from tests.fuzz.strategies import anything, hostile_texts, numbers, spoiled


def noisy(answers: list[float], epsilon: float, rng: Any) -> int:
    return int(answers[0] + rng.laplace(scale=1 / epsilon))


def mechanism(answers: Any, noise: Any, *, epsilon: Any) -> Any:
    return answers[0] + noise.laplace(1 / epsilon, label=0)


def alignment(answers: Any, neighbour: Any, output: Any, noise: Any) -> Any:
    return {0: noise[0] + answers[0] - neighbour[0]}


AUDIT: dict[str, Any] = {
    "mechanism": noisy,
    "epsilon": 1.0,
    "neighbours": "one",
    "sensitivity": 1,
    "parameters": None,
    "inputs": [([1], [2])],
    "lengths": (1,),
    "vectorized": None,
    "confidence": 0.9,
    "delta": 0.0,
    "stop_early": True,
    "deep": False,
    "shrink": True,
    "run_limit": 10.0,
    "seed": 1,
    "progress": False,
    "scalar": None,
    "samples": 100,
    "search_samples": 50,
    "jobs": 1,
}
PROVE: dict[str, Any] = {
    "mechanism": mechanism,
    "alignment": alignment,
    "epsilon": 1,
    "queries": 1,
    "sensitivity": 1,
    "neighbours": "each",
    "parameters": None,
    "charge": None,
    "resolution": None,
    "tightness": True,
    "seconds": 10,
    "samples": None,
    "progress": None,
}
# How much work is done is what was asked for; impossible amounts are tried.
impossible: st.SearchStrategy[Any] = st.sampled_from([0, -1, None, "x", 1.5, float("nan"), True, [], 2**70])
few = {
    "samples": impossible.filter(lambda n: n != 2**70),
    "search_samples": impossible,
    "jobs": impossible,
    "lengths": st.one_of(impossible, st.lists(st.one_of(impossible, st.just(2)), max_size=2)),
    "queries": impossible,
    "seconds": impossible,
    "run_limit": impossible,
    "deep": impossible,
}


@FEWER
@given(spoiled(AUDIT, **{name: few[name] for name in few if name in AUDIT}))
def audit(arguments: dict[str, Any]) -> None:
    """A verdict, or an error; a mechanism that fails is an error as well."""
    report, _ = attempt(fg.audit, **arguments)
    if report is not None:
        shown(report)


@FEWER
@given(spoiled(PROVE, **{name: few[name] for name in few if name in PROVE}))
def prove(arguments: dict[str, Any]) -> None:
    """Proved, refuted, not decided, or an error."""
    proof, _ = attempt(fg.prove, **arguments)
    if proof is not None:
        with soon():
            require_harmless(str(proof))
            json.dumps(proof.to_dict(), default=str)


def shown(report: Any) -> None:
    with soon():
        require_harmless(str(report))
        require_harmless(report.to_json())


# Answers with the lines that it was given, over and over.
ECHO = """
import base64, itertools, sys
lines = itertools.cycle(base64.b64decode(sys.argv[1]).split(b"\\n"))
for request in sys.stdin:
    for _ in range(int(request.split()[0])):
        sys.stdout.buffer.write(next(lines) + b"\\n")
    sys.stdout.flush()
"""
reply = st.one_of(
    st.binary(max_size=20),
    hostile_texts.map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.sampled_from(
        [
            b"NaN",
            b"Infinity",
            b"-1e999",
            b"1e-999",
            b"9" * 5000,
            b"[" * 5000,
            b"[" * 300 + b"]" * 300,
            b"{}",
            b'{"a": [1, {"b": null}]}',
            b"[]",
            b'[1, true, "x"]',
            b"null",
            b"",
            b"true",
            b"1",
            b"2.5",
            b'{"\\u001b[31m": 1}',
            b'"\\ud800"',
            b'"<script>"',
            b"[" + b"1," * 3000 + b"1]",
        ]
    ),
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    ).map(lambda value: json.dumps(value).encode()),
)


@FEWER
@given(st.lists(reply, min_size=1, max_size=4).map(b"\n".join))
def line_protocol(lines: bytes) -> None:
    """A program that answers anything is audited, or its answers are refused."""
    program = Command([sys.executable, "-c", ECHO, base64.b64encode(lines).decode()], run_limit=20)
    report, _ = attempt(
        fg.audit,
        program,
        epsilon=1,
        inputs=[([1], [2])],
        samples=200,
        search_samples=100,
        jobs=1,
        seed=1,
        progress=False,
    )
    if report is not None:
        shown(report)


@FEWER
@given(st.one_of(anything, hostile_texts, st.lists(hostile_texts, max_size=2)), st.one_of(numbers, anything))
def program(words: Any, argument: Any) -> None:
    """A program that is none, and an argument that would be more than one line."""
    command, _ = attempt(Command, words, run_limit=5)
    if command is not None and words not in ("yes", ["yes"]):
        _, error = attempt(command.run_many, [1.0], 1, 1, {"epsilon": 1.0, "x": argument})
        assert error is not None


TARGETS: dict[str, Callable[[], None]] = {
    "audit": audit,
    "prove": prove,
    "line protocol": line_protocol,
    "program": program,
}


@pytest.mark.parametrize("name", TARGETS)
def test_only_errors_of_freegap(name: str) -> None:
    TARGETS[name]()
