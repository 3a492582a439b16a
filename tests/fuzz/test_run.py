"""`make fuzz` itself: a target whose inputs are never examples tests nothing, and must not pass for clean."""

from __future__ import annotations

import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from fuzz import run

TARGETS = run.names()


@pytest.mark.parametrize("target", TARGETS)
def test_a_starting_input_is_an_example(target: str, tmp_path: Path) -> None:
    run.sow(tmp_path)
    check = import_module(f"tests.fuzz.{TARGETS[target]}").TARGETS[target].hypothesis.fuzz_one_input
    starts = sorted(tmp_path.iterdir(), key=lambda path: -path.stat().st_size)
    assert any(check(start.read_bytes()) is not None for start in starts)


@pytest.mark.parametrize(
    ("code", "inputs", "good"), [(0, [b"example"], True), (0, [b""], False), (1, [b"example"], False)]
)
def test_a_target_without_examples_has_failed(
    code: int, inputs: list[bytes], good: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "ROOT", tmp_path)
    corpus = run.place("made up")
    corpus.mkdir(parents=True)
    tried = run.counting(lambda data: data or None, corpus.with_suffix(".examples"))
    for data in inputs:
        tried(data)
    done: subprocess.CompletedProcess[Any] = subprocess.CompletedProcess([], code, "", "#1 cov: 3")
    assert run.report("made up", 1, done) is good
