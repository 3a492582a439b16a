"""What README and documentation say is proved is what is proved: neither more nor less."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from freegap_evidence.assurance.library import LIBRARY
from freegap_evidence.assurance.row import Cited, Proved
from freegap_evidence.assurance.rows import ROWS

from freegap.mechanisms.threshold_plan import ThresholdPlan
from freegap.prover.registry import LibraryEntry, PrivacyClaim

ROOT = Path(__file__).parents[3]
HALVED = ("", ", halved once", ", halved twice")
NOISE = {
    "measure": "laplace",
    "histogram": "discrete laplace",
    "base-2 sparse vector with gap": "discrete laplace",
}
Line = tuple[str, ...]


def text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["README.md", "docs/prove.md"])
def test_the_numbers_of_proved_and_cited_rows(page: str) -> None:
    said = re.findall(r"(\d+) of (?:its|the) (\d+) rows.*?the other (\d+)", text(page), re.DOTALL | re.I)
    proved = sum(isinstance(row.proof, Proved) for row in ROWS)
    cited = sum(isinstance(row.proof, Cited) for row in ROWS)
    assert said == [(str(proved), str(len(ROWS)), str(cited))]


def test_the_assurance_page_has_every_row_with_the_kind_of_proof_that_it_has() -> None:
    lines = [line.split(" | ") for line in text("docs/assurance.md").splitlines() if line.startswith("| ")]
    on_the_page = {cells[0].removeprefix("| "): "cited" in cells for cells in lines[1:]}
    rows = {row.title: isinstance(row.proof, Cited) for row in ROWS}
    assert on_the_page == rows, "make the page again: freegap assure --page docs/assurance.md"


def kind(entry: LibraryEntry, claim: PrivacyClaim) -> tuple[str, str, int | str | None]:
    """Mechanism, noise and k of a claim, in the words of the documentation."""
    plan = claim.parameters.get("plan")
    name = entry.name + (HALVED[len(plan.branches) - 1] if isinstance(plan, ThresholdPlan) else "")
    if plan and not plan.gap:
        name = name.removesuffix(" with gap") + ", without gap"
    if claim.parameters.get("width", 3) is None:
        name = name.removesuffix(" with gap") + ", not clamped"
    name += ", at half of ε" if claim.epsilon * 2 == 1 else ""
    noise = plan.law.name if plan else NOISE[entry.name]
    k = "any" if claim.every_parameter else plan.k if plan else claim.parameters.get("k")
    return name, noise, k


def listed(values: set[Any]) -> str:
    """In the order of the documentation: numbers as they rise, then what is for any number."""
    numbers = sorted(value for value in values if isinstance(value, int))
    return ", ".join([*map(str, numbers), *sorted(v for v in values if isinstance(v, str))])


def claimed() -> Iterator[tuple[Line, str]]:
    """For each mechanism and noise: what stands in the other columns."""
    for entry in LIBRARY:
        groups: dict[tuple[str, str], list[PrivacyClaim]] = {}
        for claim in entry.claims:
            groups.setdefault(kind(entry, claim)[:2], []).append(claim)
        for (name, noise), claims in groups.items():
            relations = listed({claim.neighbours for claim in claims})
            sizes = listed({"any" if claim.queries is None else claim.queries for claim in claims})
            ks = listed({kind(entry, claim)[2] for claim in claims})
            yield (name, relations, ks, sizes), noise


def test_the_table_of_what_is_proved() -> None:
    section = text("docs/prove.md").split("## What is proved of freegap itself")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    said: set[tuple[Line, str]] = set()
    for line in lines:
        name, noises, *rest = (cell.strip() for cell in line.strip("|").split("|"))
        said |= {((name, *rest), noise) for noise in noises.split(", ")}
    assert said == set(claimed())


def test_no_claim_is_for_some_k_only() -> None:
    """A line of that table speaks of every k in it with every relation: no hole is hidden by the union."""
    for entry in LIBRARY:
        seen: dict[tuple[str, str, str], set[Any]] = {}
        for claim in entry.claims:
            name, noise, k = kind(entry, claim)
            size = "any" if claim.queries is None else "bounded"
            seen.setdefault((name, noise, size), set()).add((k, claim.neighbours))
        for found in seen.values():
            parts = [{part[i] for part in found} for i in range(2)]
            assert len(found) == len(parts[0]) * len(parts[1])
