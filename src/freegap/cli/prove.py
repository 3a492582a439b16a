"""`freegap prove`: check a mechanism, the user's or all of this library's."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from fractions import Fraction
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from freegap.cli.evidence import evidence
from freegap.cli.lower import show_lower_bound, show_meetings
from freegap.cli.options import JOBS, NEIGHBOURS, load, name_and_value
from freegap.cli.terminal import print_json, progress_bar
from freegap.errors import InvalidArgument
from freegap.forms import Composition, Ranking, Selection, Stream
from freegap.prover import prove as run
from freegap.prover.registry import LibraryEntry, PrivacyClaim
from freegap.values.neighbours import DIRECTIONS, Neighbours
from freegap.values.processes import processes
from freegap.values.rationals import rational

if TYPE_CHECKING:
    from freegap.prover.report import Proof


def prove(
    mechanism: str = typer.Argument(None, help="package.module:function, or file.py:function."),
    alignment: str = typer.Option(None, help="Its alignment, named likewise; found if left out."),
    epsilon: str = typer.Option("1", help="The claim, such as 1, 0.5 or 1/2."),
    rho: str = typer.Option(None, help="The claim in ρ, in place of ε: for sums with Gaussian noise."),
    queries: int = typer.Option(3, help="How many answers; a form is proved for all."),
    sensitivity: str = typer.Option("1", help="How far one person moves each answer at most."),
    neighbours: str = typer.Option("each", help=f"{NEIGHBOURS} For one direction: increasing or decreasing."),
    charge: str = typer.Option(None, help="What an output is charged, a function named likewise."),
    parameter: Annotated[
        list[str] | None, typer.Option(help="A parameter of the mechanism, as name=value.")
    ] = None,
    resolution: str = typer.Option(None, help="Answers are whole multiples of this."),
    growth: bool = typer.Option(
        True, help="Try all n first, else one answer more, and warn if that costs more."
    ),
    counterexample: bool = typer.Option(True, help="Where it is not proved, look for an exact violation."),
    seconds: str = typer.Option("120", help="For the whole claim; what is left then is not decided."),
    certificate: Path = typer.Option(None, help="A new folder for the SMT-LIB files of the proof."),
    check: str = typer.Option(None, help="Have cvc5 (or z3 again) confirm each of them."),
    samples: int = typer.Option(None, help="Do not prove, but try so many inputs, of any size."),
    audited: bool = typer.Option(
        False, "--audit", help="Where it is refuted, look for a statistical counterexample there."
    ),
    library: bool = typer.Option(False, "--library", help="Prove what this library claims of itself."),
    gallery: bool = typer.Option(False, "--gallery", help="Decide the benchmarks of other provers."),
    lower: bool = typer.Option(
        False, "--lower", help="How much is lost at least, in place of a proof; of --library, beside it."
    ),
    page: Path = typer.Option(None, help="Of --gallery or --library --lower: the file to write a page to."),
    only: str = typer.Option("", help="Of --library or --gallery only what has this in its name."),
    jobs: int = typer.Option(0, help=f"For --library. {JOBS}"),
    as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),
) -> None:
    """Prove that a mechanism is private, for all inputs of a bounded size, or show where it is not."""
    if check is not None:
        _require_checker(check)
    if library and lower:
        raise typer.Exit(show_meetings(only, processes(jobs), as_json, page))
    if library:
        raise typer.Exit(_prove_library(only, processes(jobs), as_json, check))
    if gallery:
        raise typer.Exit(_show_gallery(only, as_json, page))
    if mechanism is None:
        raise InvalidArgument(
            "mechanism", None, "is missing", "Pass module:function, or --library for all of freegap's."
        )
    target = load("mechanism", mechanism)
    given = dict(map(name_and_value, parameter or []))
    if lower:
        claim = {"epsilon": epsilon, "sensitivity": sensitivity, "neighbours": neighbours, "seconds": seconds}
        sized = {} if isinstance(target, Composition | Ranking | Selection | Stream) else {"queries": queries}
        raise typer.Exit(
            show_lower_bound(target, as_json, **claim, **sized, parameters=given, resolution=resolution)
        )
    if check is not None and certificate is None:
        raise InvalidArgument(
            "check", check, "has nothing to confirm", "Pass a folder for --certificate too."
        )
    with progress_bar(as_json) as bar:
        proof = run(
            target,
            None if alignment is None else load("alignment", alignment),
            epsilon=epsilon if rho is None else None,
            rho=rho,
            queries=None if isinstance(target, Composition | Ranking | Selection | Stream) else queries,
            sensitivity=sensitivity,
            neighbours=cast("Neighbours", neighbours),
            parameters=given,
            charge=None if charge is None else load("charge", charge),
            resolution=resolution,
            growth=growth,
            counterexample=counterexample,
            seconds=seconds,
            certificate=certificate,
            samples=samples,
            progress=_shown(bar),
        )
    confirmed = None if check is None or not proof.holds else _confirmed(certificate, check)
    context = {"epsilon": rational("epsilon", epsilon), "sensitivity": rational("sensitivity", sensitivity)}
    found = _audited(proof, target, given, context, neighbours) if audited else None
    if as_json:
        record = proof.to_dict() | ({} if found is None else {"audit": found.to_dict()})
        print_json(record | ({} if confirmed is None else {"confirmed": confirmed}))
    else:
        typer.echo(str(proof))
        if confirmed is not None:
            typer.echo(
                f"  {check} {'confirms' if confirmed else 'does NOT confirm'} every file of {certificate}"
            )
        if found is not None:
            typer.echo(f"\nThe mechanism at these inputs, audited:\n{found}")
    raise typer.Exit(0 if proof.holds and confirmed is not False else 1)


def _require_checker(check: str) -> None:
    """Who lacks the other solver hears of it before anything is proved."""
    from freegap.symbolic import checker_named

    checker_named(check)


def _confirmed(folder: Path, check: str) -> bool:
    from freegap.symbolic import checker_named

    says_unsat = checker_named(check)
    return all(says_unsat(file.read_text(encoding="utf-8")) for file in sorted(folder.glob("*.smt2")))


def _audited(
    proof: Proof, program: Any, given: dict[str, Any], context: dict[str, Fraction], neighbours: str
) -> Any:
    """Does the mechanism itself leak where the alignment fails? None where there is no such point."""
    if proof.refutation is None or not proof.refutation.answers:
        return None
    from freegap.auditor import audit
    from freegap.auditor.inputs import pairs_around

    change = float(context["sensitivity"])
    point = [[float(a) for a in side] for side in (proof.refutation.answers, proof.refutation.neighbour)]
    return audit(
        program,
        parameters=given,
        epsilon=float(context["epsilon"]),
        sensitivity=change,
        neighbours="monotonic" if neighbours in DIRECTIONS else cast("Neighbours", neighbours),
        inputs=pairs_around(point[0], point[1], change, neighbours),
        samples=100_000,
        search_samples=20_000,
        seed=1,
        jobs=1,  # a mechanism that is being written may not be importable in another process
    )


def _shown(bar: Progress) -> Callable[[str, int, int], None]:
    tasks: dict[str, Any] = {}

    def show(what: str, done: int, total: int) -> None:
        if what not in tasks:
            tasks[what] = bar.add_task(what, total=total or None)
        bar.update(tasks[what], completed=done, total=total or None)

    return show


# The library --------------------------------------------------------------------------------------------


def _entries() -> list[LibraryEntry]:
    entries: list[LibraryEntry] = evidence("assurance.library").LIBRARY
    return entries


def _claims() -> list[tuple[LibraryEntry, PrivacyClaim]]:
    return [(entry, claim) for entry in _entries() for claim in entry.claims]


def _prove_one(place: int, check: str | None) -> dict[str, Any]:
    """One claim, in a process of its own: what it was and what came out."""
    from freegap.prover.routes import prove_claim
    from freegap.symbolic import Certificate, checker_named

    entry, claim = _claims()[place]
    start = monotonic()
    certificate = None if check is None else Certificate()
    proof = prove_claim(entry, claim, certificate=certificate)
    found = proof.tightness.epsilon if proof.tightness is not None else None
    as_claimed = bool(proof.holds) and (claim.tight is None or claim.tight == found)
    if check is not None and certificate is not None:
        says_unsat = checker_named(check)
        as_claimed &= all(says_unsat(statement.text) for statement in certificate.statements.values())
    return {
        "claim": entry.title(claim),
        "as_claimed": as_claimed,
        "seconds": round(monotonic() - start, 2),
        "proof": proof.to_dict(),
    }


def _results(places: list[int], jobs: int, check: str | None) -> Iterator[dict[str, Any]]:
    # Not forked: z3 keeps global state that does not survive it.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(places)), mp_context=context) as pool:
        for done in as_completed([pool.submit(_prove_one, place, check) for place in places]):
            yield done.result()


def _prove_library(only: str, jobs: int, as_json: bool, check: str | None) -> int:
    start = monotonic()
    places = [place for place, (entry, claim) in enumerate(_claims()) if only in entry.title(claim)]
    if not places:
        names = ", ".join(entry.name for entry in _entries())
        raise InvalidArgument("only", only, "is not part of any name", f"The names are: {names}.")
    results = []
    with progress_bar(as_json) as bar:
        task = bar.add_task("claims", total=len(places))
        for result in _results(places, jobs, check):
            results.append(result)
            bar.update(task, advance=1, description=result["claim"])
    results.sort(key=lambda result: str(result["claim"]))
    proved = all(result["as_claimed"] for result in results)
    if as_json:
        print_json({"proved": proved, "claims": results})
    else:
        Console().print(_table(results))
        typer.echo(f"{sum(r['as_claimed'] for r in results)} of {len(results)}, {monotonic() - start:.0f} s")
    return 0 if proved else 1


def _show_gallery(only: str, as_json: bool, page: Path | None) -> int:
    shown = evidence("assurance.gallery")
    entries = [entry for entry in shown.GALLERY if only in entry.name]
    if not entries:
        names = ", ".join(entry.name for entry in shown.GALLERY)
        raise InvalidArgument("only", only, "is not part of any name", f"The names are: {names}.")
    results = []
    with progress_bar(as_json) as bar:
        task = bar.add_task("programs", total=len(entries))
        for entry in entries:
            results.append(shown.Shown.of(entry))
            bar.update(task, advance=1, description=entry.name)
    if page is not None:
        page.write_text(shown.page(results), encoding="utf-8")
    if as_json:
        print_json([{"program": r.entry.name, "right": r.right, "proof": r.proof.to_dict()} for r in results])
    else:
        for result in results:
            name, _, size, epsilon, verdict, found, seconds = result.row
            answers = "1 answer" if str(size) == "1" else f"{size} answers"
            typer.echo(f"{verdict.strip('*'):12}{name}, {answers}, ε = {epsilon}, {seconds} s")
            if found:
                typer.echo(f"{'':12}{found}")
        typer.echo(f"{sum(result.right for result in results)} of {len(results)} are decided, and rightly")
    return 0 if all(result.right for result in results) else 1


def _table(results: list[dict[str, Any]]) -> Table:
    table = Table("claim", "", "smallest ε", "paths", "outputs", "pieces", "s")
    for result in results:
        proof = result["proof"]
        tight = proof["tightness"]["epsilon"] if proof["tightness"] else "–"
        verdict = proof["verdict"] if result["as_claimed"] else f"{proof['verdict']}, not as claimed"
        style = "green" if result["as_claimed"] else "red"
        counts = [str(proof[name] or "–") for name in ("paths", "outputs", "pieces")]
        table.add_row(result["claim"], Text(verdict, style=style), tight, *counts, f"{result['seconds']:.1f}")
    return table
