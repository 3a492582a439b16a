"""The five checks of a row, each with a twin that is wrong on purpose and must be caught.

The twin of a proof is the same program with all noise a tenth too narrow, at the same charge. The twin of the
releases is the public function itself, asked for more than it then claims: noise a fifth too narrow for the
test of the distribution (a quarter for tables, whose releases are few), and a quarter as wide for the audit
(less for intervals of quantiles, whose parts cost most of what is charged where there are more people).
(Smaller mistakes are for the tests of each mechanism, which make many more releases.) The twin of the program
is the same program in double precision with the noise subtracted; in base 2, where nothing is a double, its
answers have the other sign.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from freegap.auditor import audit
from freegap.bits import SeededBits
from freegap.laws import Law
from freegap.laws.labelled import LabelledNoise
from freegap.prover.registry import LibraryEntry, PrivacyClaim
from freegap.prover.routes import prove_any, prove_claim
from freegap.symbolic.subset import MODELS
from freegap.values.measures import ZeroConcentrated
from freegap_evidence.assurance.fit import ALPHA, fit_p
from freegap_evidence.assurance.library import LIBRARY
from freegap_evidence.assurance.regimes.matrix import walk
from freegap_evidence.assurance.row import ENOUGH, EPSILON, MILLION, Cited, NoFastPath, Proved, Row

NARROW = Fraction(9, 10)
MOST_SHOWN = 5


@dataclass(frozen=True)
class CheckEffort:
    """How much is run: everything, or the short form.

    claims: at most so many proofs per row; None for all.
    draws: releases for the test of the distribution.
    narrow: how much too narrow the noise is of the twin in that test.
    audited: releases on each input that confirm what an audit finds; 0 to leave it out.
    first, more: cases of the regime matrix: so many of those that visit every cell (None for all), and how
        many whose levels are drawn.
    """

    claims: int | None
    draws: int
    narrow: Fraction
    audited: int
    first: int | None
    more: int


FULL = CheckEffort(
    claims=None,
    draws=16_000,
    narrow=Fraction(4, 5),
    audited=1_050_000,
    first=None,
    more=300,
)
COSTLY = replace(FULL, draws=2_000, narrow=Fraction(3, 4))
QUICK = CheckEffort(claims=1, draws=800, narrow=Fraction(1, 3), audited=0, first=0, more=8)
COSTLY_QUICK = replace(QUICK, draws=400)


def effort_of(row: Row, *, quick: bool) -> CheckEffort:
    """Fewer releases where each takes milliseconds."""
    if quick:
        return COSTLY_QUICK if row.costly else QUICK
    return COSTLY if row.costly else FULL


# Proof ----------------------------------------------------------------------------------------


class _NarrowNoise(LabelledNoise[Any]):
    """The noise of a program, with every scale too small."""

    def __init__(self, noise: LabelledNoise[Any]) -> None:
        self._noise = noise

    def draw(self, law: Law, scale: Any, label: Any = None, **options: Any) -> Any:
        return self._noise.draw(law, scale * NARROW, label, **options)


def _narrowed(machine: Any, noise: Any) -> Any:
    """What `_NarrowNoise` means to the prover's interpreter."""
    return replace(machine.noise(noise), factor=NARROW)


MODELS[_NarrowNoise] = _narrowed


def claims_of(row: Row) -> list[tuple[LibraryEntry, PrivacyClaim]]:
    """What the library claims of this row's mechanism with this noise."""
    if isinstance(row.proof, Cited):
        return []
    (entry,) = [entry for entry in LIBRARY if entry.name == row.proof.entry]
    return [(entry, claim) for claim in entry.claims if _is_about(claim, row.proof, row.noise)]


def _is_about(claim: PrivacyClaim, proof: Proved, noise: str) -> bool:
    given, wanted = _given(claim), proof.selected or {}
    return str(given.get("law", noise)) == noise and all(given.get(n) == v for n, v in wanted.items())


def _given(claim: PrivacyClaim) -> Mapping[str, Any]:
    """What a claim is about: the fields of its plan, or its parameters."""
    return vars(claim.parameters["plan"]) if "plan" in claim.parameters else claim.parameters


def check_proof(row: Row, effort: CheckEffort) -> dict[str, Any]:
    """Every claim proved at the charge, and the twin of a small one refuted."""
    if isinstance(row.proof, Cited):
        return {"cited": row.proof.reason, "ok": True}
    found = claims_of(row)
    proofs = [(claim, prove_claim(entry, claim)) for entry, claim in found[: effort.claims]]
    held = [
        bool(proof.holds)
        and (claim.tight is None or (proof.tightness is not None and proof.tightness.epsilon == claim.tight))
        for claim, proof in proofs
    ]
    bounded = [(entry, claim) for entry, claim in found if claim.queries is not None]
    twin = _prove_twin(*min(bounded, key=lambda pair: (pair[1].queries, _given(pair[1]).get("k", 1))))
    return {
        "claims": len(held),
        "proved": sum(held),
        "for_all": any(claim.every_parameter for claim, _ in proofs),
        "twin_refuted": twin.holds is False,
        "ok": bool(held) and all(held) and twin.holds is False,
    }


def _prove_twin(entry: LibraryEntry, claim: PrivacyClaim) -> Any:
    form = entry.form(**claim.parameters)

    def narrow(answers: Sequence[Any], noise: LabelledNoise[Any]) -> Any:
        return form.program(answers, _NarrowNoise(noise))

    return prove_any(
        narrow,
        form.alignment,
        epsilon=claim.epsilon,
        queries=claim.queries,
        sensitivity=claim.sensitivity,
        neighbours=claim.neighbours,
        parameters=None,
        charge=form.charge,
        resolution=claim.resolution,
        tightness=False,
        growth=False,
        counterexample=False,
        seconds=120,
        certificate=None,
        samples=None,
        progress=None,
    )


# Distribution ---------------------------------------------------------------------------------


def check_distribution(row: Row, effort: CheckEffort) -> dict[str, Any]:
    """Releases fit the exact law; releases with too little noise do not."""
    law = row.law()
    draws = effort.draws
    most = row.charge(EPSILON)
    seen, spent = _drawn(row, EPSILON, draws)
    twin, _ = _drawn(row, EPSILON / effort.narrow, draws)
    p, twin_p = fit_p(seen, law), fit_p(twin, law)
    return {
        "draws": draws,
        "p": p,
        "twin_p": twin_p,
        "most_spent": str(spent),
        "charge": str(most),
        "ok": p > ALPHA and twin_p < ALPHA and spent <= most,
    }


def _drawn(row: Row, epsilon: Fraction, draws: int) -> tuple[Counter[Any], Fraction]:
    bits = SeededBits(f"assurance of {row.title} at {epsilon}")
    seen: Counter[Any] = Counter()
    most = Fraction(0)
    for _ in range(draws):
        released = row.release(row.answers, epsilon, bits)
        seen[released.output] += 1
        most = max(most, released.spent)
    return seen, most


# Audit ----------------------------------------------------------------------------------------


def check_audit(row: Row, effort: CheckEffort) -> dict[str, Any]:
    """At the charge no violation is found, in a million releases; with noise a quarter as wide, one is."""
    if not effort.audited:
        return {"left_out": "the short form makes no audits", "ok": True}
    charge = row.charge(EPSILON)
    honest = _audited(row, EPSILON, charge, effort, tight=True)
    twin = _audited(row, row.blatant * EPSILON, charge, effort, tight=False)
    return {
        "symbol": row.measure.symbol,
        "charge": float(charge),
        "lower_bound": honest.lower_bound,
        "tightness": honest.lower_bound / float(charge),
        "loss_of_pairs": loss_of_pairs(row),
        "runs": honest.runs,
        "twin_bound": twin.lower_bound,
        "twin_caught": twin.violated,
        "ok": not honest.violated and twin.violated and honest.runs >= MILLION,
    }


SEARCHED = 14
"""One release is searched with for so many that confirm."""
CALL_SECONDS = 1_200
"""A call that makes tens of thousands of releases may take so long, however busy the machine is."""


def _audited(
    row: Row, epsilon: Fraction, claimed: Fraction, effort: CheckEffort, *, tight: bool, seed: int = 1
) -> Any:
    def many(answers: Sequence[float], rng: np.random.Generator, size: int) -> Any:
        bits = SeededBits(rng.bytes(16))
        if row.at_once is not None:
            return row.at_once(answers, epsilon, bits, size)
        return [row.release(answers, epsilon, bits).output for _ in range(size)]

    claim: dict[str, Any] = row.measure.of(claimed, row.delta).arguments()
    usual = effort.audited if row.at_once is not None else ENOUGH
    samples = min(effort.audited, row.most_at_once or usual)
    return audit(
        many,
        **claim,
        neighbours="each",
        inputs=list(row.pairs),
        samples=samples,
        search_samples=samples // SEARCHED,
        stop_early=not tight,
        shrink=False,
        jobs=1,
        seed=seed,
        progress=False,
        run_limit=CALL_SECONDS,
    )


def loss_of_pairs(row: Row) -> float | None:
    """The most that a pair of the audit loses, by the exact laws: no audit can say more than about that.

    With a δ the least ε at which the laws are (ε, δ)-close; without one, one of 10^-9 for rounding errors.
    """
    if row.law_at is None or row.measure is ZeroConcentrated:
        return None
    laws = [[row.law_at(answers, EPSILON) for answers in pair] for pair in row.pairs]
    return max(
        _loss(*some, float(row.delta) or 1e-9) for one, other in laws for some in ((one, other), (other, one))
    )


def _loss(law: Mapping[Any, float], other: Mapping[Any, float], delta: float) -> float:
    cells = list(law)
    p, q = (np.array([of.get(cell, 0.0) for cell in cells]) for of in (law, other))
    low, high = 0.0, 40.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        close = np.maximum(p - math.exp(middle) * q, 0.0).sum() <= delta
        low, high = (low, middle) if close else (middle, high)
    return high


# Divergence -----------------------------------------------------------------------------------

ORDERS = (1.05, 1.5, 2.0, 4.0, 16.0)


def check_divergence(row: Row, effort: CheckEffort) -> dict[str, Any]:
    """No Rényi divergence between the laws at neighbours is above the charge, per order; the twin's is."""
    if row.measure is not ZeroConcentrated:
        return {"left_out": "the charge is in ε", "ok": True}
    charge = float(row.charge(EPSILON))
    worst, twin = (_worst_divergence(row, asked) for asked in (EPSILON, row.blatant * EPSILON))
    return {
        "charge": charge,
        "divergence": worst,
        "twin_divergence": twin,
        "ok": worst <= charge * (1 + 1e-9) and twin > charge,
    }


def _worst_divergence(row: Row, epsilon: Fraction) -> float:
    """The largest D_α(P‖Q)/α over the pairs, either way, and some orders."""
    if row.law_at is None:
        raise AssertionError("only for rows in ρ")
    worst = 0.0
    for pair in row.pairs:
        one, other = (row.law_at(answers, epsilon) for answers in pair)
        for p, q in ((one, other), (other, one)):
            cells = [cell for cell in p if p[cell] > 0]
            logs = np.log([p[cell] for cell in cells])
            with np.errstate(divide="ignore"):  # what is only possible here is infinitely far away
                ratios = logs - np.log([q[cell] for cell in cells])
            for alpha in ORDERS:
                moment = float(np.logaddexp.reduce(logs + (alpha - 1) * ratios))
                worst = max(worst, moment / (alpha - 1) / alpha)
    return worst


# Regimes --------------------------------------------------------------------------------------


def check_regimes(row: Row, effort: CheckEffort) -> dict[str, Any]:
    """The fast path equals the program on the same bits, wherever it was looked; the twin does not."""
    if isinstance(row.regimes, NoFastPath):
        return {"no_fast_path": row.regimes.reason, "ok": True}
    seen = walk(row.regimes, f"regimes of {row.title}", first=effort.first, more=effort.more)
    return {
        "cases": seen.cases,
        "cells": len(seen.visited),
        "cells_not_visited": seen.missing,
        "disagreements": seen.disagreements[:MOST_SHOWN],
        "number_of_disagreements": len(seen.disagreements),
        "twin_caught": seen.twin_caught,
        "ok": not seen.disagreements and seen.twin_caught and not (effort.first is None and seen.missing),
    }
