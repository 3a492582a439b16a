"""Forms that are not private are not proved for all n."""

from __future__ import annotations

from typing import Any

import pytest

import freegap as fg
from freegap import Composition

from .form_attacks import FORM_ATTACKS


@pytest.mark.parametrize("name", FORM_ATTACKS)
def test_forms_that_are_not_private(name: str) -> None:
    form, options = FORM_ATTACKS[name]
    claim: dict[str, Any] = {"epsilon": 2 if isinstance(form, Composition) else 1} | options
    proof = fg.prove(form, counterexample=False, **claim)
    assert proof.holds is not True, str(proof)
    assert proof.refutation is not None or proof.reason
