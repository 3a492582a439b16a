"""The arithmetic of this machine is looked at by `freegap assure`."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from freegap_evidence.assurance import machine
from freegap_evidence.assurance.machine import machine_checks, machine_text

from freegap.exact import screening
from freegap.exact.arithmetic import DOUBLE_FUNCTIONS, SINGLE_FUNCTIONS


def test_every_function_is_looked_at() -> None:
    checks = machine_checks(sample=500)
    assert {(check["function"], check["precision"]) for check in checks} == {
        ("exp", "single"),
        ("expm1", "single"),
        ("log", "single"),
        ("log", "double"),
        ("log1p", "double"),
        ("expm1", "double"),
    }
    assert all(check["ok"] for check in checks)
    assert "the proofs of the exact core allow 8" in machine_text(checks)


def test_a_machine_whose_exp_errs_too_much_is_red(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = dataclasses.replace(
        SINGLE_FUNCTIONS[0], computed=lambda x: np.exp(x) * np.float32(1 + 12 * 2.0**-23)
    )
    monkeypatch.setattr(machine, "SINGLE_FUNCTIONS", (wrong,))
    checks = machine_checks(sample=500)
    assert [check["ok"] for check in checks] == [False, True, True, True]


def test_functions_are_looked_at_wherever_they_are_used() -> None:
    """The ranges that the proofs of `laws`, `screening`, `doubles` and `few_items` speak of, and no less."""
    single = {(each.name, each.sign): (each.low, each.high) for each in SINGLE_FUNCTIONS}
    assert single == {
        ("exp", 1): (2.0**-30, screening._CEILING),
        ("exp", -1): (2.0**-30, -screening._FLOOR),
        ("expm1", -1): (2.0**-80, 128.0),
        ("log", 1): (2.0**-4, 4.0),
    }
    double = {(each.name, each.sign): (each.low, each.high) for each in DOUBLE_FUNCTIONS}
    assert double == {
        ("log", 1): (2.0**-75, 2.0**79),
        ("log1p", -1): (2.0**-75, 0.5),
        ("expm1", -1): (2.0**-140, 64.0),
    }
