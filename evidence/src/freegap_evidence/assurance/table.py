"""The assurance table: all checks of all rows, in processes side by side, and the page made from them."""

from __future__ import annotations

import datetime
import multiprocessing
import platform
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from time import monotonic
from typing import Any

import freegap
from freegap.values.processes import processes
from freegap_evidence.assurance.checks import (
    check_audit,
    check_distribution,
    check_divergence,
    check_proof,
    check_regimes,
    effort_of,
)
from freegap_evidence.assurance.machine import machine_text
from freegap_evidence.assurance.row import Proved
from freegap_evidence.assurance.rows import ROWS

_EXPLAINED = """
Every mechanism with every noise that the library releases with has a row. A test fails when one is missing.

- **Proof**: the claims that `freegap prove --library` proves for it, at exactly the charge. They are about
  the form that the release is a faster way to compute; that it is, the regimes compare. The twin is the same
  program with noise a tenth too narrow, and must be refuted. Where alignment does not apply, the proof is
  cited below the table.
- **Distribution**: releases of the public function on a tiny case against the exact law, worked out without
  the library's formulas; a p-value below 1e-9 is a failure. The twin has noise a fifth too narrow (a quarter
  for tables), and its p-value must be below 1e-9.
- **Audit**: the certified lower bound on ε (confidence 1 − 1e-6) against what is charged. The bound must not
  be above the charge. Every audit looks at a million releases and more of the released code: `size=`, a table
  of as many groups, each with people of its own, or as many calls; a test compares single ones on the same
  bits. What stays below 85 % of the charge is listed below, with what is known of the reason. The
  neighbours were chosen by exact laws or with another seed than the audit's. The twin has noise a quarter as
  wide (a sixteenth for intervals of quantiles) and must be caught; its audit ends as soon as it is.
- **Divergence**, of rows in ρ: the Rényi divergences of several orders between the exact laws at neighbouring
  answers, each divided by its order, against what is charged. None may be above it; with noise a quarter as
  wide one must be.
- **Regimes**: the release, which computes in doubles where a bound on their error decides, against the
  paper's program on exact reals, bit for bit on the same bits. So many cases: items and groups, few and more
  than are screened, groups of up to 2^62 items, answers at the edges of int64 and beyond, grids from 1 to
  10^-60, noise of scales from 10^-90 to 10^90, every k, every kind of input, with the filter's precision as
  released and lower. Every two levels that can go together meet in some case. The twin is the same program
  in double precision with the noise subtracted (in base 2: with the sign of answers turned) and must differ
  somewhere. Where a release runs the program itself there is nothing to compare; the reasons are below.

How many mistakes the ordinary tests notice, of those that a program makes: [mutants](mutants.md).
"""

CHECKS = {
    "proof": check_proof,
    "distribution": check_distribution,
    "audit": check_audit,
    "divergence": check_divergence,
    "regimes": check_regimes,
}

Shown = Callable[[str, int, int], None]


def assured(*, quick: bool = False, jobs: int = 0, progress: Shown | None = None) -> list[dict[str, Any]]:
    """One record per row: what it is, what each check found, and whether all is well."""
    records: list[dict[str, Any]] = [
        {
            "mechanism": row.title,
            "function": row.function,
            "noise": row.noise,
            "theorem": row.theorem,
            "checks": {},
        }
        for row in ROWS
    ]
    total = len(ROWS) * len(CHECKS)
    done = 0
    for places, name, found in _results(quick, processes(jobs)):
        for place in places:
            records[place]["checks"][name] = found
        done += len(places)
        if progress is not None:
            progress(f"{name} of {ROWS[places[0]].title}", done, total)
    for record in records:
        record["ok"] = all(found["ok"] for found in record["checks"].values())
    return records


def _results(quick: bool, jobs: int) -> Iterator[tuple[list[int], str, dict[str, Any]]]:
    """The places of the rows, the check and what it found; rows that rest on the same proof share it."""
    tasks: dict[tuple[str, Any], list[int]] = {}
    for name, place in product(CHECKS, range(len(ROWS))):
        shared = name == "proof" and isinstance(ROWS[place].proof, Proved)
        key = (str(ROWS[place].proof), ROWS[place].noise) if shared else place
        tasks.setdefault((name, key), []).append(place)
    # Not forked: z3 keeps global state that does not survive it.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as pool:
        running = {
            pool.submit(_checked, places[0], name, quick): (places, name)
            for (name, _), places in tasks.items()
        }
        for task in as_completed(running):
            yield *running[task], task.result()


def _checked(place: int, name: str, quick: bool) -> dict[str, Any]:
    """One check of one row, in a process of its own."""
    start = monotonic()
    found = CHECKS[name](ROWS[place], effort_of(ROWS[place], quick=quick))
    return found | {"seconds": round(monotonic() - start, 1)}


def summarised(name: str, found: dict[str, Any]) -> str:
    """One check in a few words."""
    if "cited" in found:
        return "cited"
    if "left_out" in found or "no_fast_path" in found:
        return "–"
    if name == "proof":
        sizes = ", for all n, k, ε and Δ" if found["for_all"] else ""
        return f"{found['proved']} of {found['claims']} proved{sizes}, twin {_caught(found['twin_refuted'])}"
    if name == "distribution":
        return f"p {found['p']:.2g}, twin {found['twin_p']:.0e}"
    if name == "divergence":
        return f"ρ ≥ {found['divergence']:.3f} of {found['charge']:.3f}"
    if name == "regimes":
        wrong = found["number_of_disagreements"]
        differ = f"{wrong} DIFFER, " if wrong else ""
        return f"{found['cases']} cases, {differ}twin {_caught(found['twin_caught'])}"
    bound = f"{found['symbol']} ≥ {found['lower_bound']:.2f} of {found['charge']:.2f}"
    return f"{bound}, twin {_caught(found['twin_caught'])}"


def _caught(caught: bool) -> str:
    return "caught" if caught else "NOT caught"


def markdown(
    records: list[dict[str, Any]], *, machine: list[dict[str, Any]], command: str, seconds: float
) -> str:
    """`docs/assurance.md`; machine: what `machine_checks` found."""
    good = sum(record["ok"] for record in records)
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    python = platform.python_version()
    made = f"Made by `{command}` on {today} with freegap {freegap.__version__}, Python {python}"
    lines = [
        "# Assurance",
        "",
        f"{made}, in {seconds / 60:.0f} minutes. **{good} of {len(records)} rows are green.**",
        "",
        *_EXPLAINED.strip().splitlines(),
        "",
        f"| mechanism | theorem | {' | '.join(CHECKS)} | |",
        f"|---|---|{'---|' * len(CHECKS)}---|",
    ]
    for record in records:
        cells = [summarised(name, record["checks"][name]) for name in CHECKS]
        lines.append(
            f"| {record['mechanism']} | {record['theorem']} | {' | '.join(cells)} | "
            f"{'green' if record['ok'] else '**red**'} |"
        )
    for title, check, key in (
        ("Cited proofs", "proof", "cited"),
        ("Without a fast path", "regimes", "no_fast_path"),
    ):
        lines += ["", f"## {title}", "", *_reasons(records, check, key)]
    lines += ["", "## Audits that stay below", "", *_below(records)]
    lines += ["", "## The machine", "", machine_text(machine)]
    return "\n".join(lines) + "\n"


NEAR = 0.85


def _below(records: list[dict[str, Any]]) -> list[str]:
    """The audits whose bound is not near the charge, and by how much it can be."""
    lines = []
    for record in records:
        found = record["checks"]["audit"]
        if "left_out" in found or found["tightness"] >= NEAR:
            continue
        said = [f"{found['tightness']:.0%} of the charge in {found['runs']:,} runs"]
        loss, divergence = found["loss_of_pairs"], record["checks"]["divergence"]
        if loss is not None:
            share = min(loss / found["charge"], 1)
            said.append(f"by the exact laws, with numbers in cells, the neighbours lose {share:.0%}")
        if "divergence" in divergence:
            share = divergence["divergence"] / divergence["charge"]
            said.append(f"by the exact laws their divergences are {share:.0%}")
        lines.append(f"- {record['mechanism']}: {'; '.join(said)}.")
    return lines


def _reasons(records: list[dict[str, Any]], check: str, key: str) -> list[str]:
    """Which rows have this key in this check, by the reason that they give."""
    reasons: dict[str, list[str]] = {}
    for record in records:
        if key in record["checks"][check]:
            reasons.setdefault(record["checks"][check][key], []).append(record["mechanism"])
    return [f"- {'; '.join(names)}: {reason}." for reason, names in reasons.items()]
