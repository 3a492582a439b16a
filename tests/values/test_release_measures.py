"""A release says in which measure it speaks: as attributes, as JSON, as text and in a notebook."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import freegap as fg
from freegap.charges import charged
from freegap.errors import InvalidArgument
from freegap.values.measures import Approximate, Measure, Pure, ZeroConcentrated
from freegap.values.plans import PlainPlan

HALF, TINY = Fraction(1, 2), Fraction(1, 10**6)


def released(asked: Measure, spent: Fraction = HALF) -> fg.TopK:
    return fg.TopK(
        plan=PlainPlan("noisy_top_k", asked, {"k": 1}),
        indices=(0,),
        labels=("tea",),
        gap_multiples=(3,),
        resolution=Fraction(1),
        spent=spent,
        private=True,
    )


@pytest.mark.parametrize(
    ("asked", "attributes", "plain", "text"),
    [
        (Pure(Fraction(1)), ("epsilon", 1, None), {"epsilon": "1"}, "ε asked 1, spent 1/2"),
        (ZeroConcentrated(Fraction(2)), ("rho", None, None), {"rho": "2"}, "ρ asked 2, spent 1/2"),
        (
            Approximate(Fraction(1), TINY),
            ("epsilon-delta", 1, TINY),
            {"epsilon": "1", "delta": "1/1000000"},
            "ε asked 1, spent 1/2, δ 1/1000000",
        ),
    ],
    ids=lambda value: value.name if isinstance(value, Measure) else "",
)
def test_a_release_names_its_measure(
    asked: Measure, attributes: tuple[Any, ...], plain: dict[str, str], text: str
) -> None:
    release = released(asked)
    assert (release.measure, release.epsilon, release.delta) == attributes
    told = json.loads(release.to_json())
    amounts = {name: told[name] for name in ("epsilon", "rho", "delta") if name in told}
    assert (told["measure"], told["spent"], amounts) == (attributes[0], "1/2", plain)
    assert text in str(release).splitlines()
    assert f"<p>{text}</p>" in release._repr_html_()


def test_a_ledger_journals_the_measure_of_the_plan(tmp_path: Path) -> None:
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("shop", rho=1)
    release = released(ZeroConcentrated(Fraction(3, 4)))
    assert charged((ledger, "shop"), release.plan, lambda: release) is release
    account = ledger.account("shop")
    assert (account.spent, account.reserved) == (HALF, Fraction(0))  # what is public beforehand comes back
    with pytest.raises(InvalidArgument, match="rho"):
        ledger.charge(
            "shop", lambda: charged(None, release.plan, lambda: release), rho="1/4", what="too much"
        )
    assert ledger.account("shop").spent == HALF


def test_what_a_release_in_delta_asked_stays_charged(tmp_path: Path) -> None:
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("shop", epsilon=8, delta="1e-4")
    release = released(Approximate(Fraction(1), TINY), spent=Fraction(1))
    charged((ledger, "shop"), release.plan, lambda: release)
    ledger.create("pure", epsilon=8)
    with pytest.raises(InvalidArgument, match="epsilon-delta"):
        charged((ledger, "pure"), release.plan, lambda: release)
    assert ledger.account("pure").spent == 0
