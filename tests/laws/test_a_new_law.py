"""A new law is a record, an entry in the list and a method of the noise interface; the rest asks it."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import freegap as fg
from freegap.bits import SeededBits
from freegap.errors import FreegapError
from freegap.estimate.intervals import error_bars
from freegap.estimate.noise_laws import GapNoise
from freegap.exact.digits import KeyedDigits
from freegap.exact.ranking import NoisyRanking
from freegap.exact.reals import LazyNoise
from freegap.laws import EXPONENTIAL, GUMBEL, LAWS, ExactLaw
from freegap.laws.labelled import LabelledNoise

ROOT = Path(__file__).parents[2]


@pytest.fixture
def waiting(monkeypatch: pytest.MonkeyPatch) -> ExactLaw:
    """Exponential noise by another name, made as the page on laws says."""
    law = replace(EXPONENTIAL, name="waiting")
    monkeypatch.setitem(LAWS, law.name, law)

    def method(self: LabelledNoise[Any], scale: Any, label: Any = None) -> Any:
        return self.draw(law, scale, label)

    monkeypatch.setattr(LabelledNoise, "waiting", method, raising=False)
    return law


def program(answers: Any, noise: Any, *, scale: Any) -> Any:
    return max(range(len(answers)), key=lambda i: answers[i] + noise.waiting(scale, label=i))


def test_exact_draws(waiting: ExactLaw) -> None:
    drawn, known = (getattr(LazyNoise(SeededBits(3)), law)(2) for law in ("waiting", "exponential"))
    assert drawn.floor(Fraction(1, 2**90)) == known.floor(Fraction(1, 2**90))
    ranked = [
        NoisyRanking(
            np.arange(5000) % 40,
            grain=Fraction(1),
            scale=Fraction(3),
            resolution=Fraction(1, 1024),
            law=law,
            digits=KeyedDigits(SeededBits(5), 5000),
        ).largest(7)
        for law in (waiting, EXPONENTIAL)
    ]
    assert ranked[0] == ranked[1]


def test_estimates(waiting: ExactLaw) -> None:
    both = [GapNoise(law, Fraction(3), Fraction(2)) for law in (waiting, EXPONENTIAL)]
    assert both[0].quantile(0.95) == both[1].quantile(0.95)
    assert both[0].variance == 13
    assert error_bars(both[0]) == error_bars(both[1])


def test_proofs(waiting: ExactLaw) -> None:
    def alignment(answers: Any, neighbour: Any, output: Any, noise: Any) -> Any:
        return {output: noise[output] + 1 + answers[output] - neighbour[output]}

    options: dict[str, Any] = {"epsilon": 1, "queries": 3, "tightness": False}
    assert fg.prove(program, alignment, parameters={"scale": 2}, **options).holds is True
    assert fg.prove(program, alignment, parameters={"scale": 1}, **options).holds is False


def test_gumbel_noise_in_estimates() -> None:
    """Its moments are irrational: a mechanism subtracts rationals near them, and the rest is known."""
    gap = GapNoise(GUMBEL, Fraction(3), Fraction(2))
    assert gap.shift == pytest.approx(np.euler_gamma, abs=2.0**-20)
    assert gap.mean == pytest.approx(np.euler_gamma - gap.shift, abs=1e-12)
    assert gap.variance == pytest.approx(math.pi**2 / 6 * 13)
    equal = GapNoise(GUMBEL, Fraction(3), Fraction(3))  # the difference is logistic
    assert equal.over(0.01) == pytest.approx(3 * math.log(99), rel=1e-7)
    with pytest.raises(FreegapError, match="equal scales alone"):
        gap.over(0.01)


def test_gumbel_noise_is_not_decided() -> None:
    def noisy_max(answers: Any, noise: Any) -> Any:
        return max(range(len(answers)), key=lambda i: answers[i] + noise.gumbel(2, label=i))

    proof = fg.prove(noisy_max, lambda answers, neighbour, output, noise: {}, epsilon=1, queries=2)
    assert proof.holds is None
    assert "gumbel noise is not log-Lipschitz" in str(proof.reason)


def test_gumbel_stands_in_three_files_and_where_it_is_used() -> None:
    named = {
        str(path.relative_to(ROOT / "src" / "freegap"))
        for path in ROOT.glob("src/**/*.py")
        if "gumbel" in path.read_text(encoding="utf-8").lower()
    }
    made = {"laws/gumbel.py", "laws/__init__.py", "laws/labelled.py"}
    used = {"mechanisms/exponential.py", "mechanisms/quantiles_node.py", "mechanisms/top_k_plan.py"}
    told = {  # in the words of their arguments
        "mechanisms/top_k.py",
        "mechanisms/hybrids.py",
        "mechanisms/unknown_domain.py",
        "estimate/selection.py",
        "tables/quantiles.py",
        "tables/releases.py",
        "tables/unknown_groups.py",
        "planner/questions.py",
        "serve/questions.py",
        "symbolic/subset/methods.py",
    }
    proved = {
        "prover/largest.py",
        "prover/kinds.py",
        "prover/softmax.py",
        "prover/concentrated.py",
    }  # its place
    numpy_s = {
        "symbolic/draws.py",
        "auditor/mechanism.py",
        "auditor/programs.py",
        "auditor/device.py",
        "auditor/recorded.py",
        "auditor/trace.py",
    }  # replaced
    assert made <= named
    assert named - made - used - told - proved - numpy_s == set()
