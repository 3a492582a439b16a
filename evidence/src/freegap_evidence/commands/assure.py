"""`freegap assure`: the library checks itself."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from freegap.cli.options import JOBS
from freegap.cli.terminal import print_json, progress_bar, shown_in


def assure(
    quick: bool = typer.Option(False, "--quick", help="Fewer proofs and releases, and no audits."),
    jobs: int = typer.Option(0, help=JOBS),
    page: Path = typer.Option(None, help="Write the table to this file, as Markdown."),
    as_json: bool = typer.Option(False, "--json", help="Print the records as JSON."),
) -> None:
    """Prove (or cite), test and audit every mechanism of the library; each check must be able to fail."""
    from freegap_evidence.assurance.machine import machine_checks, machine_text
    from freegap_evidence.assurance.table import CHECKS, assured, markdown, summarised

    start = monotonic()
    with progress_bar(as_json) as bar:
        records = assured(quick=quick, jobs=jobs, progress=shown_in(bar, "checks"))
    machine = machine_checks()
    seconds = monotonic() - start
    if page is not None:
        command = "freegap assure" + (" --quick" if quick else "")
        text = markdown(records, machine=machine, command=command, seconds=seconds)
        page.write_text(text, encoding="utf-8")
    good = sum(record["ok"] for record in records)
    green = good == len(records) and all(check["ok"] for check in machine)
    if as_json:
        found = {"green": green, "rows": records, "machine": machine}
        print_json(found)
    else:
        table = Table()
        for heading in ("mechanism", *CHECKS, ""):
            table.add_column(heading, overflow="fold")  # a name is never cut
        for record in records:
            verdict = Text("green", style="green") if record["ok"] else Text("red", style="bold red")
            cells = [summarised(name, record["checks"][name]) for name in CHECKS]
            table.add_row(record["mechanism"], *cells, verdict)
        Console().print(table)
        typer.echo(machine_text(machine))
        typer.echo(f"{good} of {len(records)} rows are green, {seconds:.0f} s")
    raise typer.Exit(0 if green else 1)
