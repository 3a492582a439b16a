"""Top-k and max under ρ: the exact charge, the law of the release, and what is refused."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from freegap_evidence.assurance.fit import ALPHA, fit_p
from freegap_evidence.assurance.gumbel_law import gumbel_cells

import freegap as fg
from freegap.errors import InvalidArgument
from freegap.laws import GUMBEL
from freegap.mechanisms.top_k_plan import TopKPlan
from tests.mechanisms.test_top_k import NoBits

ANSWERS = [2, 0, 1, -1]
CELLS = 10


@pytest.mark.parametrize(
    ("k", "rho", "options", "scale"),
    [
        (2, "3/8", {"monotonic": True}, 1),
        (2, "3/8", {}, 2),
        (2, "3/8", {"sensitivity": 5}, 10),
        (1, "1/4", {}, 2),
        (3, "1/2", {"monotonic": True}, 1),
        (3, "1/200", {"monotonic": True}, 10),
        (2, "1/4", {"monotonic": True, "last_gap": False}, 1),
        (2, "1/4", {"monotonic": True, "gap": False}, 1),
        (4, "1/2", {"last_gap": False}, 2),
        (4, "1/2", {"gap": False}, 2),
    ],
)
def test_the_charge_is_what_the_scale_costs(k: int, rho: str, options: dict[str, Any], scale: int) -> None:
    """Where the root is rational, all of ρ: K·(cΔ/b)²/8 with the K and the c of the release."""
    release = fg.noisy_top_k(ANSWERS, k, rho=rho, **options, bits=fg.SeededBits(1))
    assert release.parameters["scale"] == scale
    assert release.parameters["noise"] == "gumbel"
    assert release.spent == release.asked.spent == Fraction(rho)
    assert (release.measure, release.epsilon, release.delta) == ("rho", None, None)
    gaps = 0 if not options.get("gap", True) else k - (not options.get("last_gap", True))
    assert (len(release.gaps), len(release.labels)) == (gaps, k)


@pytest.mark.parametrize("k", [1, 2, 3, 7, 100, 12345])
@pytest.mark.parametrize("rho", ["1", "1/3", "1e-9", "0.0243121", "700", "1e30"])
def test_an_irrational_scale_is_rounded_up(k: int, rho: str) -> None:
    plan = TopKPlan.read("noisy_top_k", k=k, rho=rho, monotonic=True)
    least = Fraction(k + 1) / (8 * Fraction(rho))  # the square of the least scale
    assert plan.scale**2 >= least
    assert (plan.scale * (1 - Fraction(1, 10**5))) ** 2 < least
    assert plan.charge == (k + 1) / (8 * plan.scale**2) <= Fraction(rho)
    assert plan.charge > Fraction(rho) * (1 - Fraction(3, 10**5))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": "exponential"}, "noise = 'exponential': has no theorem here for the measure rho"),
        ({"noise": "laplace"}, "noise = 'laplace': has no theorem here for the measure rho"),
        (
            {"noise": "geometric", "gap": False},
            "noise = 'geometric': has no theorem here for the measure rho",
        ),
        ({"noise": "gauss"}, "noise = 'gauss': is not a known noise. Pass one of 'gumbel'."),
        ({"rho": 0}, "rho = 0: must be greater than 0"),
        ({"rho": "1e-300"}, "rho = '1e-300': gives noise whose scale, about sensitivity/√rho, is not"),
        ({"k": 4}, "k = 4: must be smaller than the number of answers, which is 4: the last gap is to a"),
    ],
)
def test_what_has_no_theorem_is_refused(options: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"k": 2, "rho": 1, "bits": NoBits(), **options}
    with pytest.raises(InvalidArgument) as caught:
        fg.noisy_top_k(ANSWERS, **arguments)
    assert message in str(caught.value)


def fitted(draw: Callable[[fg.SeededBits], Any], law: dict[Any, float], runs: int = 3000) -> float:
    bits = fg.SeededBits("ρ")
    return fit_p(Counter(draw(bits) for _ in range(runs)), law)


def celled(release: fg.TopK) -> Any:
    return release.labels, tuple(min(multiple, CELLS - 1) for multiple in release.gap_multiples or ())


def test_two_items_by_hand() -> None:
    """n = 2, k = 1, monotonic, ρ = 1/4, so that b = 1: item 0 wins with probability e/(e + 1)."""
    law = gumbel_cells([1, 0], 1, 1.0, CELLS)
    assert sum(p for ((s,), _), p in law.items() if s == 0) == pytest.approx(math.e / (math.e + 1), rel=1e-12)

    def draw(rho: str, bits: fg.SeededBits) -> Any:
        return celled(fg.noisy_max([1, 0], rho=rho, monotonic=True, resolution=1, bits=bits))

    assert fitted(lambda bits: draw("1/4", bits), law) > ALPHA
    assert fitted(lambda bits: draw("9/16", bits), law) < ALPHA  # b = 2/3


def test_the_law_of_two_places_on_items_and_groups() -> None:
    answers = [2, 0, 1, 1]
    law = gumbel_cells(answers, 2, 2.0, CELLS)
    options: dict[str, Any] = {"rho": "3/8", "resolution": 1}
    names = {(0, 0): 0, (1, 0): 1, (2, 0): 2, (2, 1): 3}
    groups = fg.Counts([2, 0, 1], [1, 1, 2], name=lambda group, member: names[group, member])

    def of(given: Any, bits: fg.SeededBits) -> Any:
        return celled(fg.noisy_top_k(given, 2, **options, bits=bits))

    assert fitted(lambda bits: of(answers, bits), law) > ALPHA
    assert fitted(lambda bits: of(groups, bits), law) > ALPHA
    assert fitted(lambda bits: of([2, 0, 1, 3], bits), law) < ALPHA


def test_without_the_last_gap_the_rest_is_the_same() -> None:
    """At the same scale, on the same bits: less the last gap, and as cheap as one item fewer."""
    for seed in range(20):
        full = fg.noisy_top_k(ANSWERS, 3, rho="1/2", bits=fg.SeededBits(seed))
        less = fg.noisy_top_k(ANSWERS, 3, rho="3/8", last_gap=False, bits=fg.SeededBits(seed))
        assert (less.labels, less.gaps) == (full.labels, full.gaps[:-1])
        assert str(less).count("gap to next") == 1
        pure = fg.noisy_top_k(ANSWERS, 3, epsilon=1, bits=fg.SeededBits(seed))
        part = fg.noisy_top_k(ANSWERS, 3, epsilon=1, last_gap=False, bits=fg.SeededBits(seed))
        assert (part.labels, part.gaps, part.spent) == (pure.labels, pure.gaps[:-1], pure.spent)
    assert len(fg.noisy_top_k(ANSWERS, 4, epsilon=1, last_gap=False, bits=fg.SeededBits(1)).gaps) == 3


def test_no_charge_depends_on_the_output() -> None:
    for threshold in (-100, 0, 100):
        release = fg.hybrid_top_k(ANSWERS, threshold, k=2, rho="3/8", bits=fg.SeededBits(1))
        assert (release.spent, release.measure) == (Fraction(3, 8), "rho")
        assert release.parameters["scale"] == 2


def test_the_hybrid_is_a_top_k_in_which_the_threshold_takes_part() -> None:
    """The threshold is the last item there as it is here: the same digits, the same places, cut at it."""
    for seed in range(50):
        whole = fg.noisy_top_k([*ANSWERS, 0], 2, rho="3/8", bits=fg.SeededBits(seed))
        found = fg.hybrid_top_k(ANSWERS, 0, k=2, rho="3/8", bits=fg.SeededBits(seed))
        stop = whole.indices.index(4) + 1 if 4 in whole.indices else 2
        assert found.reached == (4 in whole.indices)
        assert found.indices == tuple(i for i in whole.indices[:stop] if i != 4)
        assert found.gaps == whole.gaps[:stop]


def renyi(first: dict[Any, float], second: dict[Any, float], alpha: float) -> float:
    return math.log(sum(p * (p / second[cell]) ** (alpha - 1) for cell, p in first.items() if p > 0)) / (
        alpha - 1
    )


@pytest.mark.parametrize("alpha", [1.05, 1.5, 2.0, 4.0, 20.0])
def test_no_renyi_divergence_is_above_the_charge(alpha: float) -> None:
    """On cells of the closed laws; some cases cost more than half of what is charged."""
    b, worst = 2.0, 0.0
    for k, last_gap in ((1, True), (2, True), (2, False)):
        for n in (2, 3, 5):
            for moved in range(1, n):
                after = [1.0 if i < moved else -1.0 for i in range(n)]
                laws = [
                    gumbel_cells(answers, k, b, CELLS, last_gap=last_gap) for answers in ([0.0] * n, after)
                ]
                price = alpha * (k + last_gap) * (2 / b) ** 2 / 8
                for one, other in (laws, laws[::-1]):
                    loss = renyi(one, other, alpha)
                    assert loss <= price
                    worst = max(worst, loss / price)
    assert worst > (0.5 if alpha < 20 else 0.2)


def test_gumbel_noise_alone_has_the_theorem() -> None:
    assert GUMBEL.bounded_range
    assert TopKPlan.read("noisy_top_k", k=2, rho=1).law is GUMBEL
