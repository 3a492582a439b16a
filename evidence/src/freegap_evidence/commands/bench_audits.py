"""`freegap bench audit`, `audit-runs`, `audit-device` and `audit-limits`: how fast audits are, how many runs
they take, how near they come, and how near they can come."""

from __future__ import annotations

from collections.abc import Callable

import typer

from freegap.cli.terminal import print_json
from freegap_evidence.commands.shown import Record, Tables, show, table_of

_JSON = typer.Option(False, "--json", help="Print JSON instead of a table.")


def audit_device(
    as_json: bool = _JSON,
    device: str = typer.Option("cpu", help="Where the runs are made: cpu, cuda, cuda:1, …"),
    only: list[str] = typer.Option([], help="An entry of the catalogue, or leak_NAME; may be repeated."),
    epsilon: list[float] = typer.Option([], help="A claimed ε; may be repeated."),
    until: float = typer.Option(60.0, help="Seconds for each.", min=1.0),
    memory: int | None = typer.Option(None, help="Bytes that the arrays of a batch may take."),
) -> None:
    """The audit on a device: the bound that it reaches, as a share of the true loss."""
    from freegap_evidence.bench.audit_device import EPSILONS, WANTED, chosen, rows

    columns = {
        "mechanism": "{name}",
        "ε": "{epsilon:g}",
        "bound": "{lower_bound:.4f}",
        "of the loss": "{share}",
        "runs": "{runs:,}",
        "seconds": "{seconds:.1f}",
    }

    def tables(result: Record) -> Tables:
        return [table_of(f"Audits on {device}", result["rows"], columns, left=("mechanism",))]

    def run(progress: Callable[[str], None]) -> Record:
        found: list[Record] = []
        for name, claimed in chosen(only, epsilon or EPSILONS):
            progress(f"{name} at ε = {claimed:g}")
            found += rows([(name, claimed)], device=device, seconds=until, memory=memory)
        return {"device": device, "seconds": until, "wanted": WANTED, "rows": found}

    show(run, as_json, tables)


def audit_limits(as_json: bool = _JSON) -> None:
    """The runs that any audit of a black box needs, by a theorem, where a loss shows in hardly any run."""
    from freegap_evidence.bench.audit_limits import rows

    columns = {
        "mechanism": "{name}",
        "ε": "{epsilon:g}",
        "loss": "{true_loss:g}",
        "share": "{share:.0%}",
        "least runs": "{least_runs:.2g}",
    }

    def tables(result: Record) -> Tables:
        title = "Runs on each input, below which no audit of a black box shows so much"
        return [table_of(title, result["rows"], columns, left=("mechanism",))]

    def run(progress: Callable[[str], None]) -> Record:
        progress("laws of the loss")
        return {"rows": list(rows())}

    show(run, as_json, tables)


def audit_runs(
    as_json: bool = _JSON,
    only: list[str] = typer.Option([], help="An entry of the catalogue; may be repeated."),
    seed: list[int] = typer.Option(
        [], help="1, 2 or 3; may be repeated. All three unless given.", min=1, max=3
    ),
) -> None:
    """The runs until a verdict, against those of the audit before evidence could grow."""
    from freegap_evidence.bench.audit_runs import MEDIAN, MOST, SEEDS, rows, summary

    columns = {
        "mechanism": "{name}",
        "ε": "{epsilon:g}",
        "runs": "{runs:,}",
        "before": "{runs_before:,}",
        "ratio": "{ratio:.2f}",
        "verdicts": "{as_expected} of {audits}",
    }
    kinds = {"of": "{kind}", "entries": "{entries}", "median": "{median:.3f}", "most": "{most:.2f}"}

    def tables(result: Record) -> Tables:
        in_all = [{"kind": kind, **line} for kind, line in result["ratios"].items()]
        title = f"Asked for: at most {MEDIAN:.2f} in the median, never more than {MOST}"
        return [
            table_of("Runs until the verdict", result["rows"], columns, left=("mechanism",)),
            table_of(title, in_all, kinds, left=("of",)),
        ]

    def run(progress: Callable[[str], None]) -> Record:
        found: list[Record] = []
        for row in rows(only, tuple(dict.fromkeys(seed)) or SEEDS):
            progress(f"{row['name']} at ε = {row['epsilon']:g}: {row['ratio']:.2f}")
            found.append(row)
        return {"rows": found, "ratios": summary(found)}

    show(run, as_json, tables)


def bench_audit(
    epsilon: float = typer.Option(0.7, help="The claimed ε."),
    as_json: bool = typer.Option(False, "--json", help="Print the record as JSON."),
) -> None:
    """Time the audits that the dissertation timed, and the overhead on a scalar mechanism."""
    from freegap_evidence.bench.audit import measure, overhead, summary

    rows = []
    for row in measure(epsilon):
        rows.append(row)
        if not as_json:
            typer.echo(
                f"{row['name']:<36} {row['seconds']:6.2f} s  (processor {row['processor_seconds']:6.2f} s, "
                f"paper {row['paper_seconds']:5.2f} s)  ε ≥ {row['epsilon_lower_bound']:.3f}"
            )
    scalar = overhead()
    if as_json:
        print_json(summary(rows, scalar))
    else:
        typer.echo(
            f"scalar {scalar['name']}: {scalar['runs']:,} runs, overhead over merely calling it "
            f"{scalar['overhead']:+.1%} of processor time"
        )
