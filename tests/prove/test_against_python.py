"""The interpreter of the subset and Python do the same, on random programs of its constructs."""

from __future__ import annotations

from typing import Any

import pytest

from freegap.symbolic import Limits, NotDecided, SymbolicNoise, real
from freegap.symbolic.subset import follow, methods
from freegap.symbolic.subset.values import View

from .generated_texts import program_of, program_text


def compared(seeds: range) -> tuple[list[str], int]:
    """The programs on which they do not agree, and how many were understood."""
    found, understood = [], 0
    for seed in seeds:
        program = program_of(seed)
        if program is None:
            continue
        try:
            follow(program, [[real("q"), real("r")], SymbolicNoise()], limits=Limits(paths=40).within(3))
            understood += 1
        except NotDecided as undecided:
            if "disagree" in str(undecided) or "to confirm a path" in str(undecided):
                found.append(f"{undecided}\n{program_text(seed)}")
    return found, understood


def test_they_agree() -> None:
    found, understood = compared(range(40))
    assert not found, found[0]
    assert understood >= 15


@pytest.mark.long
@pytest.mark.parametrize("start", range(1000, 9000, 1000))
def test_they_agree_among_many(start: int) -> None:
    found, _ = compared(range(start, start + 1000))
    assert not found, found[0]


def test_a_view_that_is_a_copy_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def copied(machine: Any, owner: dict[Any, Any]) -> View:
        return View(tuple(owner.values()))

    monkeypatch.setitem(methods.METHODS[dict], "values", copied)
    assert compared(range(40))[0]
