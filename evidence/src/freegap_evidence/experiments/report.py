"""What was written, gathered: one page that stands alone, and one Markdown document for the documentation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from freegap.errors import InvalidArgument
from freegap.report.shell import safe, shell
from freegap_evidence.experiments.experiment import PAPERS_SAY, Experiment
from freegap_evidence.experiments.run import read_record

Written = tuple[Experiment, dict[str, Any]]

_YOURSELF = """## Run it yourself

<!-- example: shown -->
```sh
pip install ./evidence
freegap experiment list
freegap experiment run all --runs 200            # minutes; the papers have 10,000 runs per point
freegap experiment run fig-5-4 --data kosarak.dat.gz
freegap experiment run chapter-5 --data folder   # with kosarak.dat, bms-pos.dat or T40I10D100K.dat in it
freegap experiment run fig-5-2 --data sales.parquet --item product --person customer
freegap experiment report --docs docs
make reproduction                                # all of this page, from a checkout
```

Each run writes the figure (`.svg`, `.png`), the numbers (`.csv`) and how they were made (`.json`) into
`out/experiments`, and keeps what was computed: a second run only draws.""".splitlines()


def gather(out: Path, experiments: Sequence[Experiment]) -> list[Written]:
    """The experiments of which a folder holds results, with their records."""
    found = [(e, record) for e in experiments if (record := read_record(out, e)) is not None]
    if not found:
        raise InvalidArgument(
            "out", str(out), "holds no results of experiments", "Run `freegap experiment run all` first."
        )
    return found


def _stated(experiment: Experiment) -> str:
    who = "Expected" if experiment.family == "beyond" else "The paper"
    return f"{who}: {experiment.states}."


def _verdict(record: dict[str, Any]) -> str:
    return "holds" if record["holds"] else "does not hold as stated"


def _once(written: list[Written], name: str) -> str:
    """A value that all records share, or all that occur."""
    return ", ".join(dict.fromkeys(f"{record[name]}" for _, record in written))


def _facts(written: list[Written]) -> str:
    versions = written[0][1]["versions"]
    programs = ", ".join(dict.fromkeys(record["versions"]["program"] for _, record in written))
    # The seconds of one computation stand in the records of all experiments that show it.
    seconds = {e.computation.name: record["processor_seconds"] for e, record in written}
    counts = [record["holds"] for _, record in written]
    return (
        f"{len(written)} experiments, --runs {_once(written, 'runs')} (what that means for each stands with "
        f"it), seed "
        f"{_once(written, 'seed')}, freegap {versions['freegap']} (program {programs}), Python "
        f"{versions['python']}, NumPy {versions['numpy']}; {sum(seconds.values()):,.0f} processor seconds. "
        f"{sum(counts)} statements hold, {len(counts) - sum(counts)} do not hold as stated, with the "
        "reason beside them."
    )


def _data_lines(written: list[Written]) -> list[dict[str, Any]]:
    sets = {data["digest"]: data for _, record in written for data in record["data"]}
    return list(sets.values())


def _by_family(written: list[Written]) -> list[tuple[str, list[Written]]]:
    families = PAPERS_SAY["families"].items()
    grouped = [(title, [pair for pair in written if pair[0].family == name]) for name, title in families]
    return [(title, members) for title, members in grouped if members]


def page(out: Path, written: list[Written]) -> str:
    """The page as text: figures inside as SVG, no script, no network."""
    parts = [f"<p>{safe(_facts(written))}</p>\n", _data_table(written), _index(written)]
    for title, members in _by_family(written):
        parts.append(f"<h2>{safe(title)}</h2>\n")
        parts += [_section(out, e, record) for e, record in members]
    return shell("The papers' experiments, computed again", "".join(parts))


def _data_table(written: list[Written]) -> str:
    rows = "".join(
        f"<tr><td>{safe(d['name'])}</td><td>{safe(d['origin'])}</td>"
        f"<td>{_number(d['records'])}</td><td>{_number(d['items'])}</td><td>{_number(d['largest'])}</td></tr>\n"
        for d in _data_lines(written)
    )
    head = "<tr><th>data set</th><th>origin</th><th>records</th><th>items</th><th>largest count</th></tr>"
    return f"<table>\n{head}\n{rows}</table>\n" if rows else ""


def _index(written: list[Written]) -> str:
    rows = "".join(
        f'<tr><td><a href="#{e.id}">{e.id}</a></td><td>{safe(e.title)}</td><td>{_verdict(record)}</td></tr>\n'
        for e, record in written
    )
    return f"<h2>All experiments</h2>\n<table>\n{rows}</table>\n"


def _section(out: Path, experiment: Experiment, record: dict[str, Any]) -> str:
    drawn = (out / f"{experiment.id}.svg").read_text(encoding="utf-8")
    drawn = _own_names(drawn, experiment.id)
    kind = "line" if record["holds"] else "warning"
    return (
        f'<h3 id="{experiment.id}">{experiment.id}: {safe(experiment.title)}</h3>\n'
        f'<p class="small">{safe(experiment.source)}. '
        f"{safe(_stated(experiment))}</p>\n"
        f"<figure>{drawn}</figure>\n"
        f'<p class="{kind}"><b>{_verdict(record)}.</b> {safe(record["measured"])}. '
        f"({safe(_repeated(record))}.)</p>\n"
    )


def _own_names(drawn: str, prefix: str) -> str:
    """Names inside an SVG are names of the whole page: each figure gets its own."""
    drawn = re.sub(r'\bid="', f'id="{prefix}-', drawn)
    return re.sub(r'(href="#|url\(#)', rf"\g<1>{prefix}-", drawn)


def _repeated(record: dict[str, Any]) -> str:
    text: str = record["repeated"]
    return text[0].upper() + text[1:]


def _shown_lines(rows: list[dict[str, Any]] | None) -> list[str]:
    """A table of the record in Markdown."""
    if not rows:
        return []
    texts = [[_cell(value) for value in row.values()] for row in rows]
    lines = [" | ".join(rows[0]), " | ".join("---" for _ in rows[0]), *(" | ".join(row) for row in texts)]
    return ["", *(f"| {line} |" for line in lines)]


def _cell(value: Any) -> str:
    """As Markdown shows it: a bracket such as that of ω[9] would be taken for a link."""
    return str(value).replace("|", "\\|").replace("[", "&#91;")


def _number(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def markdown(written: list[Written], *, command: str, figures: Sequence[str] = ()) -> str:
    """The document as text; `figures` are the ids whose SVG lies in figures/ beside it."""
    lines = [
        "# The papers' experiments, computed again",
        "",
        "<!-- Written by `freegap experiment report`; do not edit by hand. -->",
        "",
        f"Made by `{command}`, then `freegap experiment report`. {_facts(written)}",
        "",
        "The [bibliography](bibliography.md) has the papers. Each line says what the paper states, "
        "what was measured here, and whether the one holds on "
        "the other; where it does not, by how much and why. Times are processor times and differ from "
        "machine to machine; all other numbers are the same for the same seed.",
        "",
        "| data set | origin | records | items | largest count |",
        "|---|---|---:|---:|---:|",
    ]
    lines += [
        f"| {d['name']} | {d['origin']} | {_number(d['records'])} | {_number(d['items'])} | "
        f"{_number(d['largest'])} |"
        for d in _data_lines(written)
    ]
    lines += ["", *_YOURSELF]
    for title, members in _by_family(written):
        lines += ["", f"## {title}"]
        for experiment, record in members:
            lines += ["", f"### {experiment.id}: {experiment.title}", ""]
            lines += [f"*{experiment.source}.* {_stated(experiment)}", ""]
            if experiment.id in figures:
                lines += [f"![{experiment.title}](figures/{experiment.id}.svg)", ""]
            lines += [f"**{_verdict(record).capitalize()}.** {record['measured']}. ({_repeated(record)}.)"]
            lines += _shown_lines(record["shown"])
    return "\n".join(lines) + "\n"
