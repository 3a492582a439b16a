"""Noisy counts of an unknown domain: the whole law of small cases, exactly, in balls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import flint
import numpy as np
import pytest
from flint import arb, fmpq
from freegap_evidence.assurance.fit import fit_p

import freegap as fg
from freegap.bits import SeededBits
from freegap.errors import InvalidArgument
from freegap.mechanisms.unknown_counts import UnknownCountsPlan
from freegap.values.measures import Approximate


def _plan(**given: Any) -> UnknownCountsPlan:
    return UnknownCountsPlan.read(**{"epsilon": 1, "delta": "1e-6", "items_per_person": 1} | given)


def _ball(number: Fraction | int) -> Any:
    exact = Fraction(number)
    return arb(fmpq(exact.numerator, exact.denominator))


def _noise(rate: Fraction, reach: int) -> dict[int, Any]:
    """P(x) proportional to e^(−θ|x|) on {−K, …, K}, by adding up."""
    weights = {x: _ball(-rate * abs(x)).exp() for x in range(-reach, reach + 1)}
    total = sum(weights.values(), arb(0))
    return {x: weight / total for x, weight in weights.items()}


def _law(plan: UnknownCountsPlan, people: int, reach: int) -> dict[Any, Any]:
    """P(noisy count), and P(None) where the item is not named."""
    law: dict[Any, Any] = {None: arb(0)}
    for x, p in _noise(plan.rate, reach).items():
        noisy = people + x if people + x > reach else None
        law[noisy] = law.get(noisy, arb(0)) + p
    return law


def _excess(p: Mapping[Any, Any], q: Mapping[Any, Any], epsilon: Fraction) -> Any:
    factor = _ball(epsilon).exp()
    differences = [p[o] - factor * q.get(o, arb(0)) for o in p]
    return sum((d for d in differences if not d <= 0), arb(0)).upper()


@pytest.mark.parametrize(
    ("epsilon", "delta", "m"), [("1", "1e-6", 1), ("1/3", "1/10", 1), ("5", "1e-9", 3), ("2", "1e-3", 4)]
)
def test_an_item_of_one_person_comes_out_with_probability_at_most_delta(
    epsilon: str, delta: str, m: int
) -> None:
    """Exactly P(X = K), for each of m items; with a K one smaller it would be more."""
    plan = _plan(epsilon=epsilon, delta=delta, items_per_person=m, people=10)
    with flint.ctx.workprec(300):
        for reach, fits in ((plan.reach, True), (plan.reach - 1, False)):
            named = 1 - _law(plan, 1, reach)[None]
            assert bool(m * named <= _ball(plan.delta)) == fits
        assert _law(plan, 0, plan.reach)[None] >= 1 - arb(2) ** -200


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1/10"), ("1/3", "1/50"), ("3", "1e-4")])
def test_no_set_of_outputs_has_more_than_its_share(epsilon: str, delta: str) -> None:
    """One item with every number of people up to beyond 2K, both ways; a K one smaller is noticed."""
    plan = _plan(epsilon=epsilon, delta=delta, people=10)
    most = []
    with flint.ctx.workprec(300):
        for people in range(2 * plan.reach + 4):
            p, q = _law(plan, people, plan.reach), _law(plan, people + 1, plan.reach)
            most += [_excess(p, q, plan.epsilon), _excess(q, p, plan.epsilon)]
        assert all(excess <= _ball(plan.delta) for excess in most)
        nobody, somebody = (_law(plan, people, plan.reach - 1) for people in (0, 1))
        assert _excess(somebody, nobody, plan.epsilon) > _ball(plan.delta)


def test_a_person_with_two_items() -> None:
    """Both at once, by the product of the laws of the two."""
    plan = _plan(epsilon=2, delta="1/10", items_per_person=2, people=10)
    with flint.ctx.workprec(200):
        for a, b in ((0, 0), (1, 3), (4, 9)):
            p, q = (
                {
                    (x, y): u * v
                    for (x, u), (y, v) in product(
                        _law(plan, a + more, plan.reach).items(), _law(plan, b + more, plan.reach).items()
                    )
                }
                for more in (0, 1)
            )
            assert _excess(p, q, plan.epsilon) <= _ball(plan.delta)
            assert _excess(q, p, plan.epsilon) <= _ball(plan.delta)


def test_releases_have_that_law() -> None:
    """Two items, against the product of their laws; noise half as wide is noticed."""
    asked: dict[str, Any] = {"delta": "1/10", "items_per_person": 1, "people": 10}
    plan = _plan(epsilon="1/2", **asked)
    laws = [_law(plan, people, plan.reach) for people in (5, 3)]
    law = {(x, y): float(u * v) for (x, u), (y, v) in product(*(one.items() for one in laws))}

    def drawn(epsilon: str) -> Counter[Any]:
        bits = SeededBits(f"counts at {epsilon}")
        seen: Counter[Any] = Counter()
        for _ in range(1000):
            found = fg.unknown_counts({"a": 5, "b": 3}, epsilon=epsilon, bits=bits, **asked)
            named = dict(zip(found.labels, found.counts, strict=True))
            seen[named.get("a"), named.get("b")] += 1
        return seen

    assert fit_p(drawn("1/2"), law) > 1e-9
    assert fit_p(drawn("1"), law) < 1e-9


def test_they_come_in_order_and_never_as_they_came() -> None:
    counts: dict[Any, int] = {9: 500, "b": 900, "a": 500, object(): 900, 10: 0}
    asked: dict[str, Any] = {"epsilon": 40, "delta": "1e-6", "items_per_person": 1}
    found = fg.unknown_counts(counts, bits=SeededBits(1), **asked)
    again = fg.unknown_counts(dict(reversed(counts.items())), bits=SeededBits(1), **asked)
    assert found == again
    assert (found.labels[0], set(found.labels)) == ("b", {9, "b", "a"})
    assert list(found.counts) == sorted(found.counts, reverse=True)
    assert "items whose noisy count is below" in str(found)
    plain = found.to_dict()
    assert (plain["mechanism"], plain["measure"]) == ("unknown_counts", "epsilon-delta")
    assert found.standard_error < 0.1


def test_the_standard_error_is_that_of_the_noise() -> None:
    plan = _plan(epsilon="1/2", delta="1e-9", items_per_person=2)
    noise = _noise(plan.rate, plan.reach)
    variance = float(sum((x * x * p for x, p in noise.items()), arb(0)))
    found = fg.unknown_counts({}, epsilon="1/2", delta="1e-9", items_per_person=2)
    assert found.labels == ()
    assert np.sqrt(variance) <= found.standard_error < 1.0001 * np.sqrt(variance)


def test_huge_and_tiny_parameters() -> None:
    assert _plan(epsilon="1e90", delta="1e-400").reach == 1
    assert _plan(epsilon="1e-90", delta="1e-400").reach > 10**92
    found = fg.unknown_counts({"a": 2**70}, epsilon="1e-3", delta="1e-6", items_per_person=1)
    assert found.labels == ("a",)


def test_the_ledger_is_charged(tmp_path: Path) -> None:
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("shop", epsilon=2, delta="1e-5")
    asked: dict[str, Any] = {"epsilon": "1/4", "delta": "1e-6", "items_per_person": 1}
    fg.unknown_counts({"a": 5000}, ledger=(ledger, "shop"), **asked)
    assert ledger.entries("shop")[-1].asked == Approximate(Fraction(1, 4), Fraction(1, 10**6))


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ({"delta": "1e-3"}, "delta"),
        ({"items_per_person": 0}, "items_per_person"),
        ({"items_per_person": None}, "items_per_person"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": "1e-200"}, "epsilon"),
        ({"counts": [1, 2]}, "counts"),
    ],
)
def test_arguments_that_cannot_be_used(arguments: dict[str, Any], names: str) -> None:
    call: dict[str, Any] = {
        "counts": {"a": 3},
        "epsilon": 1,
        "delta": "1e-8",
        "items_per_person": 1,
    } | arguments
    with pytest.raises(InvalidArgument, match=names):
        fg.unknown_counts(**call)
