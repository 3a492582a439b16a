"""Every mechanism and noise that the library releases with has a row, and every check can fail."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from freegap_evidence.assurance import checks
from freegap_evidence.assurance.checks import (
    FULL,
    QUICK,
    check_audit,
    check_distribution,
    check_divergence,
    check_proof,
    claims_of,
    loss_of_pairs,
)
from freegap_evidence.assurance.library import LIBRARY
from freegap_evidence.assurance.machine import machine_checks
from freegap_evidence.assurance.row import Cited, Proved, Released, Row
from freegap_evidence.assurance.rows import ROWS
from freegap_evidence.assurance.table import markdown, summarised
from typer.testing import CliRunner

import freegap as fg
from freegap import base2
from freegap.cli import app
from freegap.tables.watch import watch

# They take a privacy parameter, and release nothing about data.
NOT_RELEASES = {
    "audit": "audits a mechanism of the user's",
    "lower_bound": "attacks a mechanism of the user's",
    "prove": "proves a mechanism of the user's",
    "noisy_top_k_each": "releases of noisy_top_k, each bit for bit the single one, which has rows",
    "sparse_vector_each": "releases of sparse_vector, each bit for bit the single one, which has rows",
    "NoisyScore": "a part of the private candidates, whose rows have it",
    "base2.clamped_laplace": "a sampler that sees no data",
    "base2.conditional_lazy_threshold": "a sampler that sees no data",
    "base2.lazy_threshold": "a sampler that sees no data",
    "base2.share_epsilon": "arithmetic on public parameters",
    "plan": "arithmetic on public parameters",
    "threshold_shift": "arithmetic on public parameters",
}
NOISES = (
    "laplace",
    "exponential",
    "geometric",
    "gumbel",
    "logistic",
    "staircase",
    "discrete_laplace",
    "normal",
)


def functions() -> Iterator[tuple[str, Any]]:
    """Everything public that is told how private to be; and what the command `freegap watch` runs."""
    yield "watch", watch
    for prefix, module in (("", fg), ("base2.", base2)):
        for name in module.__all__:
            thing = getattr(module, name)
            made = isinstance(thing, type) and (hasattr(thing, "spent") or issubclass(thing, Exception))
            if not callable(thing) or (made and not hasattr(thing, "ask")):
                continue
            try:
                parameters = inspect.signature(thing).parameters
            except ValueError:
                continue
            told = {"epsilon", "eta"} & set(parameters)
            record = "spent" in parameters  # a result that is made by a release
            if (told and not record) or name == "audit":
                yield prefix + name, thing


def accepted_noises(name: str, function: Any) -> list[str]:
    """Which noises the function takes, found by asking it; one nameless noise if it has no such argument."""
    if "noise" not in inspect.signature(function).parameters:
        return []
    given: dict[str, Any] = {
        "table": {"item": ["a", "b"], "person": [1, 2]},
        "answers": [3, 1, 2],
        "threshold": 1,
        "k": 1,
        "epsilon": 1,
        "domain": ["a", "b"],
        "item": "item",
        "person": "person",
    }
    if name in ("top_k", "above"):
        import pyarrow as pa

        given["table"] = pa.table(given["table"])
    taken = {key: value for key, value in given.items() if key in inspect.signature(function).parameters}
    if name == "unknown_top_k":
        taken |= {"counts": {"a": 3}, "delta": "1e-6"}
    if name == "select_and_measure":  # with a threshold it takes all that a sparse vector does
        taken["threshold"] = 1
    forms: list[dict[str, Any]] = [{}]
    if "gap" in inspect.signature(function).parameters:  # without gaps more noises may be allowed
        forms.append({"gap": False})
    found = []
    for noise in NOISES:
        for form in forms:
            try:
                function(**taken, **form, noise=noise, bits=fg.SeededBits(1))
            except fg.InvalidArgument as error:
                if "noise" not in str(error):
                    raise
                continue
            found.append(noise)
    return found


def test_nothing_that_releases_is_without_a_row() -> None:
    found = dict(functions())
    assert set(NOT_RELEASES) <= set(found)
    rows = {(row.function, row.noise) for row in ROWS}
    with_rows = {name for name, _ in rows}
    assert with_rows == set(found) - set(NOT_RELEASES)
    for name in with_rows:
        noises = accepted_noises(name, found[name])
        assert noises or "noise" not in inspect.signature(found[name]).parameters
        for noise in noises:
            assert (name, noise) in rows, f"{name} with {noise} noise has no row in assurance.rows"


def test_titles_are_unique_and_every_alignment_of_the_library_is_used() -> None:
    assert len({row.title for row in ROWS}) == len(ROWS)
    assert {row.proof.entry for row in ROWS if isinstance(row.proof, Proved)} == {e.name for e in LIBRARY}
    assert all(claims_of(row) for row in ROWS if isinstance(row.proof, Proved))
    assert all(len(row.proof.reason) > 20 for row in ROWS if isinstance(row.proof, Cited))


@pytest.mark.long
def test_the_short_form_is_green(tmp_path: Path) -> None:
    """`freegap assure --quick --json`: all proofs and distributions, each with a twin that is caught."""
    page = tmp_path / "assurance.md"
    result = CliRunner().invoke(app, ["assure", "--quick", "--json", "--page", str(page)])
    assert result.exit_code == 0, result.output
    record = json.loads(result.stdout)
    assert record["green"]
    assert all(check["ok"] for check in record["machine"])
    assert [row["mechanism"] for row in record["rows"]] == [row.title for row in ROWS]
    text = page.read_text(encoding="utf-8")
    assert all(row.title in text for row in ROWS)
    assert f"{len(ROWS)} of {len(ROWS)} rows are green" in text
    compared = [row["checks"]["regimes"] for row in record["rows"] if "cases" in row["checks"]["regimes"]]
    assert all(found["cases"] == QUICK.more and found["twin_caught"] for found in compared)
    assert len(compared) > 40


def row_named(title: str) -> Row:
    return next(row for row in ROWS if row.title == title)


MAX = row_named("noisy_max, exponential")


def test_a_wrong_distribution_is_red() -> None:
    def narrow(answers: Any, epsilon: Fraction, bits: Any) -> Released:
        return MAX.release(answers, 3 * epsilon, bits)._replace(spent=epsilon)

    found = check_distribution(replace(MAX, release=narrow), QUICK)
    assert found["p"] < 1e-9
    assert not found["ok"]


def test_spending_above_the_charge_is_red() -> None:
    def dear(answers: Any, epsilon: Fraction, bits: Any) -> Released:
        released = MAX.release(answers, epsilon, bits)
        return released._replace(spent=released.spent + Fraction(1, 10**9))

    assert not check_distribution(replace(MAX, release=dear), QUICK)["ok"]


def test_a_claim_that_is_not_proved_is_red() -> None:
    row = replace(MAX, proof=Proved("noisy top-k with gap", {"k": 1}))
    assert check_proof(row, QUICK)["ok"]
    entry, claim = next(pair for pair in claims_of(row) if pair[1].queries is not None)
    with pytest.MonkeyPatch.context() as patch:
        wrong = replace(entry, claims=(replace(claim, epsilon=Fraction(99, 100), tight=None),))
        patch.setattr(checks, "LIBRARY", (wrong,))
        found = check_proof(row, QUICK)
    assert (found["proved"], found["ok"]) == (0, False)


def test_the_audit_of_a_row() -> None:
    """Honest: no violation, and a bound near the charge. With too little noise: red."""
    effort = replace(FULL, audited=2_000)
    measured = replace(row_named("measure, laplace"), at_once=None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checks, "MILLION", 4_000)
        found = check_audit(measured, effort)
        assert found["ok"]
        assert 0.5 < found["tightness"] <= 1

        def narrow(answers: Any, epsilon: Fraction, bits: Any) -> Released:
            return measured.release(answers, 4 * epsilon, bits)

        assert not check_audit(replace(measured, release=narrow), effort)["ok"]


def test_an_audit_of_less_than_a_million_releases_is_red() -> None:
    found = check_audit(replace(row_named("measure, laplace"), most_at_once=100_000), FULL)
    assert found["runs"] < 1_000_000
    assert found["twin_caught"]
    assert found["lower_bound"] < found["charge"]
    assert not found["ok"]


IN_RHO = row_named("exponential_mechanism, in ρ, Gumbel")


def test_permute_and_flip_is_refused_at_the_price_of_bounded_range() -> None:
    """Of two, the worse one by x is taken with probability e^(−x)/2: up to ε²/2 in ρ, and not ε²/8."""

    def law_at(answers: Any, epsilon: Fraction) -> dict[Any, float]:
        worse = math.exp(-abs(answers[0] - answers[1]) * float(epsilon) / 2) / 2
        return {0: 1 - worse, 1: worse} if answers[0] >= answers[1] else {0: worse, 1: 1 - worse}

    row = replace(IN_RHO, law_at=law_at, pairs=(((0, 0), (1, -1)),))
    cheap = check_divergence(replace(row, charge=lambda epsilon: epsilon**2 / 8), QUICK)
    assert not cheap["ok"]
    assert cheap["divergence"] > 1.2 * cheap["charge"]
    assert check_divergence(replace(row, charge=lambda epsilon: epsilon**2 / 2), QUICK)["ok"]


def test_a_row_in_rho_without_power_is_red() -> None:
    """A charge that even a quarter of the noise stays within says nothing."""
    assert check_divergence(IN_RHO, QUICK)["ok"]
    assert not check_divergence(replace(IN_RHO, charge=lambda epsilon: 100 * epsilon), QUICK)["ok"]


def test_what_stays_below_is_on_the_page_with_its_reason() -> None:
    """A bound far from the charge; not one that is near."""
    audit: dict[str, Any] = {"symbol": "ε", "charge": 1.5, "lower_bound": 0.6, "tightness": 0.4, "runs": 9000}
    audit |= {"loss_of_pairs": 0.75, "twin_caught": True, "ok": True}
    near = audit | {"tightness": 0.9}
    rest = {"proof": {"cited": "", "ok": True}, "distribution": {"p": 1.0, "twin_p": 0.0}}
    rest |= {"divergence": {"left_out": ""}, "regimes": {"no_fast_path": "none"}}
    records = [
        {"mechanism": name, "theorem": "t", "checks": rest | {"audit": found}, "ok": True}
        for name, found in (("far", audit), ("near", near))
    ]
    page = markdown(records, machine=machine_checks(sample=50), command="freegap assure", seconds=60)
    known = "by the exact laws, with numbers in cells, the neighbours lose 50%"
    assert f"- far: 40% of the charge in 9,000 runs; {known}." in page
    assert "- near:" not in page


def test_the_loss_of_neighbours_is_that_of_their_laws() -> None:
    """Of unknown counts with half of the noise more than is charged, and of bins what is charged."""
    exact = row_named("histogram, of a table, discrete laplace")
    assert loss_of_pairs(exact) == pytest.approx(1.5, abs=1e-5)
    unknown = row_named("unknown_counts, bounded geometric")
    lost = loss_of_pairs(unknown)
    assert lost is not None
    assert 1.4 < lost < 1.5
    law_at = unknown.law_at
    assert law_at is not None
    twin = replace(unknown, law_at=lambda answers, epsilon: law_at(answers, 2 * epsilon))
    wider = loss_of_pairs(twin)
    assert wider is not None
    assert wider > 1.5
    assert loss_of_pairs(IN_RHO) is None


def test_a_red_row_is_seen_on_the_page() -> None:
    good: dict[str, dict[str, Any]] = {
        "proof": {"cited": "a reason", "ok": True},
        "distribution": {"p": 0.5, "twin_p": 1e-20, "ok": True},
        "audit": {"left_out": "", "ok": True},
        "divergence": {"left_out": "", "ok": True},
        "regimes": {"cases": 9, "number_of_disagreements": 1, "twin_caught": True, "ok": False},
    }
    records = [{"mechanism": "m", "theorem": "t", "checks": good, "ok": False}]
    assert summarised("regimes", good["regimes"]) == "9 cases, 1 DIFFER, twin caught"
    page = markdown(records, machine=machine_checks(sample=50), command="freegap assure", seconds=60)
    assert "**red**" in page
    assert "the proofs of the exact core allow 8" in page
