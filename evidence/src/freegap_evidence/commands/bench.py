"""`freegap bench`: speed, as ratios measured in one run, and what the time of a release tells."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import typer
from rich.console import Console
from rich.table import Table

from freegap.cli.terminal import print_json, progress_bar, shown_in
from freegap.report.tables import TitledTable
from freegap_evidence.commands.bench_audits import audit_device, audit_limits, audit_runs, bench_audit
from freegap_evidence.commands.bench_serve import bench_serve
from freegap_evidence.commands.shown import Record, Tables, show, table_of

app = typer.Typer(
    name="bench", help="Measure speed against a peer or a baseline, in one run.", no_args_is_help=True
)

_JSON = typer.Option(False, "--json", help="Print JSON instead of a table.")


app.command("serve")(bench_serve)
app.command("audit")(bench_audit)
app.command("audit-device")(audit_device)
app.command("audit-limits")(audit_limits)
app.command("audit-runs")(audit_runs)


@app.callback()
def _bench() -> None:
    """Measure speed against a peer or a baseline, in one run."""


@app.command("base2")
def base2(
    as_json: bool = _JSON, rounds: int = typer.Option(5, help="How often each mechanism runs.", min=1)
) -> None:
    """Base-2 sparse vectors: threshold questions per second, all at once and one at a time."""
    from freegap_evidence.bench.base2 import run

    columns = {
        "k": "{k}",
        "width": "{width:,}",
        "resolution": "{resolution}",
        "bits": "{precision_bits:,}",
        "⊤": "{found}",
        "batch": "{batch_per_second:,}",
        "with gaps": "{gap_per_second:,}",
        "online": "{online_per_second:,}",
    }

    def tables(result: Record) -> Tables:
        title = (
            f"Base-2 sparse vectors, {result['questions']:,} questions: questions per second "
            f"(wanted: {result['target_per_second']:,})"
        )
        return [table_of(title, result["rows"], columns)]

    show(lambda progress: run(rounds=rounds, progress=progress), as_json, tables)


@app.command("top-k")
def top_k(
    as_json: bool = _JSON,
    rounds: int = typer.Option(40, help="How often each contestant runs.", min=1),
    reference: bool = typer.Option(
        True, help="Time the paper's algorithm as well (seconds per run at n = 41,270)."
    ),
) -> None:
    """Noisy top-k: ours, the paper's algorithm, and an insecure NumPy baseline."""
    from freegap_evidence.bench.top_k import run

    columns = {
        "n": "{n:,}",
        "k": "{k}",
        "freegap": "{secure_ms:.3f}",
        "reference": "{reference_ms:,.1f}" if reference else "–",
        "insecure": "{insecure_ms:.3f}",
        "ratio": "{ratio:.2f}",
        "in ρ": "{gumbel_ms:.3f}",
        "to ε": "{gumbel_ratio:.2f}",
    }
    few = {name: columns[name] for name in ("n", "k", "freegap", "insecure", "ratio")} | {
        "least": "{least_ms:.3f}",
        "to insecure": "{least_ratio:.2f}",
    }
    within = {
        "k": "{k}",
        "freegap": "{secure_ms:.2f}",
        "insecure": "{insecure_ms:.2f}",
        "ratio": "{ratio:.2f}",
        "within the domain": "{domain_ms:.2f}",
        "to explicit": "{domain_ratio:.2f}",
    }

    def tables(result: Record) -> Tables:
        n, domain = result["large"][0]["n"], result["large"][0]["domain"]
        large = f"{n:,} answers, and the same within a domain of {domain:,}: milliseconds per release"
        title = "Noisy top-k, ε = 1, monotonic: milliseconds per release"
        return [
            table_of(title, result["rows"], columns),
            table_of("Other sizes, and the least that a fresh key takes", result["small"], few),
            table_of(large, result["large"], within),
        ]

    show(lambda progress: run(rounds=rounds, reference=reference, progress=progress), as_json, tables)


@app.command("sparse-vector")
def sparse_vector(as_json: bool = _JSON) -> None:
    """Sparse vector: questions per second, in batch and online, against an insecure NumPy loop."""
    from freegap_evidence.bench.sparse_vector import run

    columns = {
        "form": "{form}",
        "noise": "{noise}",
        "freegap": "{per_second:,.0f}",
        "insecure": "{insecure:,.0f}",
        "ratio of times": "{ratio:.2f}",
    }

    def tables(result: Record) -> Tables:
        title = "Sparse vector: questions per second on one core"
        rows = [row | {"insecure": row["per_second"] * row["ratio"]} for row in result["rows"]]
        return [table_of(title, rows, columns, left=("form", "noise"))]

    show(run, as_json, tables)


@app.command("start")
def start(
    as_json: bool = _JSON, rounds: int = typer.Option(7, help="How often each is started.", min=1)
) -> None:
    """How long imports and commands take to start, each in a process of its own."""
    from freegap_evidence.bench.start import run

    columns = {"start": "{start}", "ms": "{ms:.0f}", "to import numpy": "{to_numpy:.2f}"}

    def tables(result: Record) -> list[TitledTable]:
        return [table_of("From start to end: milliseconds", result["rows"], columns, left=("start",))]

    show(lambda progress: run(rounds=rounds, progress=progress), as_json, tables)


@app.command("batches")
def batches(
    as_json: bool = _JSON, rounds: int = typer.Option(5, help="How often each contestant runs.", min=1)
) -> None:
    """Many releases at once, against insecure vectorised NumPy programs."""
    from freegap_evidence.bench.batches import run

    columns = {
        "form": "{form}",
        "releases": "{releases:,}",
        "n": "{n}",
        "k": "{k}",
        "freegap": "{secure_ms:,.0f}",
        "insecure": "{insecure_ms:,.0f}",
        "ratio": "{ratio:.2f}",
        "releases per second": "{per_second:,.0f}",
    }

    def tables(result: Record) -> list[TitledTable]:
        return [table_of("Batches: milliseconds for all releases", result["rows"], columns, left=("form",))]

    show(lambda progress: run(rounds=rounds, progress=progress), as_json, tables)


@app.command("tables")
def tables(
    as_json: bool = _JSON,
    cases: str = typer.Option(
        "", help="ROWSxITEMS, separated by commas, such as 1e8x1e6.", show_default="1e5x1e3 to 1e7x1e7"
    ),
) -> None:
    """Private top-k from Parquet: how time, memory and traffic grow."""
    from freegap_evidence.bench.tables import CASES, run

    chosen = tuple(_case(case) for case in cases.split(",")) if cases else CASES
    columns = {
        "rows": "{rows:,}",
        "items": "{items:,}",
        "s": "{seconds:.2f}",
        "outside": "{outside_share:.1%}",
        "left engine": "{bytes_left:,} B",
        "driver": "{driver_mb:.1f} MB",
        "process": "{process_mb:,.0f} MB",
    }

    def shown(result: Record) -> Tables:
        return [table_of(f"Private top 10 from Parquet, {result['cores']} cores", result["rows"], columns)]

    show(lambda progress: run(cases=chosen, progress=progress), as_json, shown)


@app.command("quantiles")
def bench_quantiles(
    as_json: bool = _JSON,
    rows: str = typer.Option("1e7", help="How many rows."),
    of: str = typer.Option(
        "largest,median,rows,rows in tenths", help="Of which numbers: of each person, or of rows."
    ),
    rounds: int = typer.Option(3, help="Runs of each, of which the median counts.", min=1),
) -> None:
    """Nine quantiles from Parquet, against the engine's own query for the histogram: processor time."""
    from freegap_evidence.bench.quantiles import FORMS, run

    forms = of.split(",")
    if not set(forms) <= set(FORMS):
        raise typer.BadParameter(f"{of!r} is not some of {', '.join(FORMS)}")
    number, _ = _case(f"{rows}x0")
    columns = {
        "numbers": "{of}",
        "engine": "{engine_ms:,.0f}",
        "quantiles": "{quantiles_ms:,.0f}",
        "ratio": "{ratio:.3f}",
    }

    def shown(result: Record) -> Tables:
        title = f"Nine quantiles of {result['rows']:,} rows, {result['cores']} cores: milliseconds"
        return [table_of(title, result["measured"], columns, left=("numbers",))]

    show(lambda progress: run(rows=number, forms=forms, rounds=rounds, progress=progress), as_json, shown)


def _case(text: str) -> tuple[int, int]:
    try:
        rows, items = (int(float(part)) for part in text.split("x"))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not ROWSxITEMS, such as 1e7x1e6") from None
    return rows, items


@app.command("timing")
def bench_timing(
    trials: int = typer.Option(20_000, help="Releases of each contest, bare.", min=100),
    padded_trials: int = typer.Option(5_000, help="Releases of each contest, padded.", min=100),
    pad_to: float | None = typer.Option(
        None, help="Seconds to pad to; four times the usual time if left out."
    ),
    plot: Path | None = typer.Option(None, help="Draw the bare times to this file, .svg or .png."),
    as_json: bool = typer.Option(False, "--json", help="Print the record as JSON."),
) -> None:
    """Time releases on inputs that should not be told apart, bare and padded (`freegap.pad_to`)."""
    from freegap_evidence.bench.side_channel import chart, run

    with progress_bar(as_json) as bar:
        result = run(
            trials=trials,
            padded_trials=padded_trials,
            seconds=None if pad_to is None else Fraction(str(pad_to)),
            progress=shown_in(bar, "timing"),
        )
    if plot is not None:
        chart(result["rows"], plot)
    if as_json:
        print_json(result)
        return
    for row in result["rows"]:
        bare, padded = row["bare"], row["padded"]
        one, other = bare["median_ms"]
        typer.echo(f"{row['mechanism']}: {row['pair']}")
        typer.echo(f"  bare       {_told(bare)}, medians {one:.3f} and {other:.3f} ms")
        late = f", {padded['late']} late" if padded["late"] else ""
        typer.echo(f"  {1000 * padded['pad_to']:>5g} ms   {_told(padded)}{late}")


def _told(record: Record) -> str:
    """Whether, and the advantage against what chance would give."""
    verdict = "told apart" if record["told_apart"] else "not told apart"
    chance = f"{record['critical']:.4f} by chance, {record['trials']:,} trials"
    return f"{verdict:<14}  advantage {record['advantage']:.4f} ({chance})"


@app.command("peers")
def peers(
    environments: Path | None = typer.Option(
        None, help="Where the libraries' environments are kept.", show_default="the user's cache"
    ),
    only: list[str] = typer.Option([], help="Compare only this library; may be given several times."),
    install: bool = typer.Option(True, help="Install libraries that are not there yet; the network is used."),
    quick: bool = typer.Option(False, "--quick", help="Small sizes, few rounds and no audits."),
    rounds: int = typer.Option(100, help="How often each contestant runs.", min=1),
    seconds: float = typer.Option(20.0, help="A contestant stops after so many seconds in all.", min=0.0),
    page: Path | None = typer.Option(None, help="Write the page to this file, and its figure beside it."),
    as_json: bool = _JSON,
) -> None:
    """Other libraries on the same work and data: time, memory, error at equal ε, and what each cannot do."""
    from freegap_evidence.bench.peers.comparison import LIBRARIES, OURS, run
    from freegap_evidence.bench.peers.page import TASKS, cells, chart
    from freegap_evidence.bench.peers.page import page as written
    from freegap_evidence.bench.peers.tasks import CASES, QUICK
    from freegap_evidence.environments import cache_folder

    unknown = set(only) - {library.name for library in LIBRARIES}
    if unknown:
        names = ", ".join(library.name for library in LIBRARIES)
        raise typer.BadParameter(f"{', '.join(sorted(unknown))} is none of {names}", param_hint="--only")
    with progress_bar(as_json) as bar:
        result = run(
            folder=environments or cache_folder(),
            libraries=[one for one in LIBRARIES if not only or one.name in (OURS, *only)],
            cases=QUICK if quick else CASES,
            rounds=min(rounds, 5) if quick else rounds,
            seconds=seconds,
            install=install,
            audited=not quick,
            progress=shown_in(bar, "peers"),
        )
    if page is not None:
        command = "freegap bench peers" + (" --quick" if quick else "")
        _write_page(page, "peers", result, chart, written, command)
    if as_json:
        print_json(result)
        return
    for task in TASKS:
        rows = [row for row in result["rows"] if row["task"] == task.name]
        table = Table("", "library", "way", title=task.title, title_justify="left")
        for heading in ("ms", "processor ms", "to freegap", "memory, MB", task.errors):
            table.add_column(heading, justify="right")
        for row in rows:
            table.add_row(row["case"], row["library"], row["way"], *cells(row))
        if rows:
            Console().print(table)
    for library in result["libraries"]:
        if "skipped" in library:
            typer.echo(f"{library['name']} {library['skipped']}")


@app.command("growth")
def growth(
    largest: str = typer.Option("", help="Leave out sizes above, such as 1e6."),
    page: Path | None = typer.Option(None, help="Write the page to this file, and its figure beside it."),
    as_json: bool = _JSON,
) -> None:
    """How time and memory grow with answers, k, distinct counts, groups and rows; with fitted exponents."""
    from freegap_evidence.bench.growth import run
    from freegap_evidence.bench.growth_page import chart
    from freegap_evidence.bench.growth_page import page as written
    from freegap_evidence.bench.timing import number

    try:
        most = int(float(largest)) if largest else None
    except (ValueError, OverflowError):
        raise typer.BadParameter(f"{largest!r} is not a size, such as 1e6") from None
    with progress_bar(as_json) as bar:
        result = run(largest=most, progress=shown_in(bar, "growth"))
    if page is not None:
        _write_page(page, "growth", result, chart, written, "freegap bench growth")
    if as_json:
        print_json(result)
        return
    columns = {"size": "{size:,}", "ms": "{ms}", "processor ms": "{processor_ms}"}
    columns["added MB"] = "{added_mb:,.1f}"
    for row in result["rows"]:
        exponents = (row[f"{what}_exponent"] for what in ("time", "memory"))
        time, memory = ("–" if one is None else f"{one:.2f}" for one in exponents)
        title = f"{row['title']}: exponents {time} of time (theory {row['theory']:g}), {memory} of memory"
        points = [
            point | {name: number(point[name]) for name in ("ms", "processor_ms")} for point in row["points"]
        ]
        Console().print(table_of(title, points, columns))


def _write_page(
    page: Path,
    name: str,
    result: Record,
    chart: Callable[[Record, Path], None],
    written: Callable[..., str],
    command: str,
) -> None:
    """The page, and the figure in the folder `figures` beside it."""
    figure = Path("figures") / f"{name}.svg"
    (page.parent / figure.parent).mkdir(parents=True, exist_ok=True)
    chart(result, page.parent / figure)
    page.write_text(written(result, command=command, figure=figure.as_posix()), encoding="utf-8")
