"""`freegap experiment`: the papers' figures and tables, computed again and compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.progress import MofNCompleteColumn
from rich.table import Table
from rich.text import Text

from freegap.cli.terminal import print_json, progress_bar
from freegap.report.tables import TitledTable

if TYPE_CHECKING:
    from freegap_evidence.experiments.run import Finished

OUT = Path("out/experiments")

app = typer.Typer(
    name="experiment", help="Reproduce the figures and tables of the papers.", no_args_is_help=True
)


@app.callback()
def _experiment() -> None:
    """Reproduce the figures and tables of the papers."""


@app.command("list")
def show_list(as_json: bool = typer.Option(False, "--json", help="Print JSON instead of a table.")) -> None:
    """All experiments, with what the papers state."""
    from freegap_evidence.experiments.registry import EXPERIMENTS

    if as_json:
        rows = [
            {"id": e.id, "family": e.family, "title": e.title, "source": e.source, "states": e.states}
            for e in EXPERIMENTS
        ]
        print_json(rows)
        return
    table = Table()
    for heading in ("id", "family", "title", "where it stands"):
        table.add_column(heading, no_wrap=heading in ("id", "family"))
    for e in EXPERIMENTS:
        table.add_row(e.id, e.family, e.title, e.source)
    Console().print(TitledTable("Experiments: `freegap experiment run ID`, a family, or all", table))


@app.command("run")
def run(
    ids: list[str] = typer.Argument(..., metavar="ID...", help="Experiments, a family, or all; see `list`."),
    data: Path | None = typer.Option(
        None, help="A file (FIMI .dat or .dat.gz, item,count, any table), or a folder with the papers' files."
    ),
    item: str | None = typer.Option(None, help="The item column, if the file is a table."),
    person: str | None = typer.Option(None, help="The person column, if the file is a table."),
    runs: int = typer.Option(10_000, help="Runs of each point; the papers have 10,000.", min=1),
    seed: int = typer.Option(1, help="The same seed gives the same numbers."),
    out: Path = typer.Option(OUT, help="Where figures and numbers go."),
    as_json: bool = typer.Option(False, "--json", help="Print JSON instead of lines."),
) -> None:
    """Run experiments: figure (SVG, PNG), numbers (CSV, JSON), and one line that compares with the paper."""
    from freegap_evidence.experiments.data.sets import data_sets
    from freegap_evidence.experiments.registry import find
    from freegap_evidence.experiments.run import run as run_one

    chosen = find(ids)
    console = Console()
    finished = []
    with progress_bar(as_json, MofNCompleteColumn()) as progress:
        whole = progress.add_task("experiments", total=len(chosen))

        def show(title: str, points: Sequence[Any]) -> Iterable[Any]:
            task = progress.add_task(f"  {title}", total=len(points))
            for point in points:
                yield point
                progress.advance(task)
            progress.remove_task(task)

        for experiment in chosen:
            done = run_one(
                experiment,
                find_data=lambda names: data_sets(names, data, item=item, person=person),
                out=out,
                runs=runs,
                seed=seed,
                show=show,
            )
            finished.append(done)
            progress.advance(whole)
            if not as_json:
                console.print(_line(done))
    if as_json:
        print_json([done.record for done in finished])
    else:
        console.print(f"Written to {out}: {len(finished)} × .svg, .png, .csv, .json")


@app.command("report")
def report(
    out: Path = typer.Option(OUT, help="Where `run` wrote, and where the page goes."),
    docs: Path | None = typer.Option(
        None, help="A folder for reproduction.md and its figures; without it, they go beside the page."
    ),
    figures: list[str] = typer.Option(
        ["all"], "--figure", help="Which figures the document shows: ids or families, one at a time."
    ),
    as_json: bool = typer.Option(False, "--json", help="Print what was written, and what it says, as JSON."),
) -> None:
    """Gather what was run in one stand-alone page (report.html) and one document (reproduction.md)."""
    from freegap_evidence.experiments.registry import EXPERIMENTS, find
    from freegap_evidence.experiments.report import gather, markdown, page

    written = gather(out, EXPERIMENTS)
    shown = [e.id for e in find(figures) if any(e is experiment for experiment, _ in written)]
    (out / "report.html").write_text(page(out, written), encoding="utf-8")
    folder = docs or out
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    for name in shown:
        (folder / "figures" / f"{name}.svg").write_bytes((out / f"{name}.svg").read_bytes())
    text = markdown(written, command=_command(written), figures=shown)
    (folder / "reproduction.md").write_text(text, encoding="utf-8")
    if as_json:
        paths = {"page": str(out / "report.html"), "document": str(folder / "reproduction.md")}
        print_json(paths | {"experiments": [record for _, record in written]})
    else:
        Console().print(f"Written: {out / 'report.html'}, {folder / 'reproduction.md'}")


def _command(written: list[tuple[Any, dict[str, Any]]]) -> str:
    record = written[0][1]
    return f"freegap experiment run all --runs {record['runs']} --seed {record['seed']}"


def _line(done: Finished) -> Text:
    verdict = ("holds", "green") if done.comparison.holds else ("does not hold as stated", "yellow")
    origin = "from the cache" if done.cached else f"{done.seconds:.1f} s"
    return Text.assemble(
        (done.experiment.id, "bold"), " ", (f"({origin}) ", "dim"), verdict, f": {done.comparison.text}."
    )
