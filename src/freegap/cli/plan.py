"""`freegap plan`: which budget a release needs, before anything is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from freegap.cli import release as shared
from freegap.cli.terminal import print_json
from freegap.errors import InvalidArgument, printable


def plan(
    k: int = typer.Option(..., "-k", "--k", help="How many items come out at most.", show_default=False),
    items: int | None = typer.Option(
        None, help="How many items the public domain has; with --largest, a power law.", show_default=False
    ),
    largest: str | None = typer.Option(
        None, help="Assume a power law: so many people at the first item.", show_default=False
    ),
    exponent: str = typer.Option("1", help="Of the power law: how fast the counts fall."),
    counts: str | None = typer.Option(
        None, help="Assume these counts, such as 900,700,650.", show_default=False
    ),
    release: Path | None = typer.Option(
        None, help="Assume what an old release tells: its JSON.", show_default=False
    ),
    public_file: Path | None = typer.Option(
        None,
        help="Assume the counts of a file that ANYBODY MAY KNOW; with --item and --person, or "
        "--count-column. Never a private one.",
        show_default=False,
    ),
    item: str | None = typer.Option(None, help="The public file's column of items.", show_default=False),
    person: str | None = typer.Option(None, help="The public file's column of persons.", show_default=False),
    count: str | None = typer.Option(
        None, "--count-column", help="The public file's column of counts, instead.", show_default=False
    ),
    threshold: str | None = typer.Option(
        None, help="Plan for `above` this number of people, instead of `top-k`.", show_default=False
    ),
    measure: bool = typer.Option(False, "--measure", help="Plan for `top-k --measure`."),
    goal: str | None = typer.Option(
        None,
        help="What is to be reached: exact, share or first; with --threshold recall, precision or exact; "
        "width for that of 95 % intervals.",
        show_default=False,
    ),
    target: str | None = typer.Option(
        None, help="How good: a chance or share, or a number of people. 0.95 if left out.", show_default=False
    ),
    epsilon: str | None = typer.Option(None, help="Show what this ε buys.", show_default=False),
    rho: str | None = typer.Option(None, help="Show what this ρ buys.", show_default=False),
    delta: str | None = typer.Option(
        None, help="A δ that could be accepted, to compare ε and ρ by; 1e-6 if left out.", show_default=False
    ),
    budget: str = typer.Option("epsilon", help="The measure to look for a budget in: epsilon or rho."),
    domain: str | None = typer.Option(
        None, help="'unknown', where nobody has a list of the items; with --delta.", show_default=False
    ),
    noise: str | None = shared.NOISE,
    as_json: bool = shared.JSON,
    out: Path | None = typer.Option(
        None, help="Write the curves here: .svg, .png or .pdf; or all as a page, .html.", show_default=False
    ),
) -> None:
    """Find the ε that a release needs, and what it buys, from public assumptions; free."""
    import freegap

    options: dict[str, Any] = {
        "threshold": threshold,
        "measure": measure,
        "goal": goal,
        "target": target,
        "epsilon": epsilon,
        "rho": rho,
        "delta": delta,
        "budget": budget,
        "domain": domain,
        "noise": noise,
        "item": item,
        "person": person,
        "count": count,
    }
    given = {
        "largest": largest,
        "counts": counts,
        "release": release,
        "public_file": public_file,
    }
    sources = [name for name, value in given.items() if value is not None]
    if len(sources) != 1:
        raise InvalidArgument(
            "largest",
            largest,
            f"exactly one assumption must be given, and {len(sources)} are",
            "Pass --items with --largest, or --counts, or --release, or --public-file.",
        )
    assumed: Any = public_file or release
    if largest is not None:
        if items is None:
            raise InvalidArgument(
                "items", None, "is missing: how many items?", "Pass for example items=1000."
            )
        assumed, items = freegap.PowerLaw(items, largest, exponent), None
    elif counts is not None:
        assumed = counts.split(",")
    made = freegap.plan(assumed, k=k, items=items, public=public_file is not None, **options)
    if as_json:
        print_json(made.to_dict())
    else:
        Console().print(made)
    if out is not None:
        _write(made, out)
        typer.echo(printable(f"Written: {out}"), err=True)


def _write(made: Any, out: Path) -> None:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        if out.suffix.lower() == ".html":
            out.write_text(made.page(), encoding="utf-8")
        else:
            made.plot(out)
    except OSError as error:
        raise InvalidArgument(
            "out", str(out), f"cannot be written ({error.strerror})", "Choose another place."
        ) from None
