"""A release as a page that stands alone: no script, no style sheet, no font, no network."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from freegap.report.pictures import svg
from freegap.report.shell import safe, shell
from freegap.values.chart import draw, drawable
from freegap.values.columns import Column
from freegap.values.remarks import remarks_on
from freegap.values.results import NOT_PRIVATE, Release
from freegap.values.written import jsonable, readable


def page(release: Release, *, version: str, when: datetime | None = None) -> str:
    """The page as text. It shows what was released and public parameters, and nothing else."""
    moment = (when or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M UTC")
    warning = "" if release.private else f'<p class="warning">{safe(NOT_PRIVATE)}</p>'
    figure = f"<figure>{svg(draw(release, titled=False))}</figure>" if drawable(release) else ""
    privacy = release.to_dict().get("privacy", {})
    facts = {
        f"{release.asked.symbol} asked": readable(release.asked.spent),
        f"{release.asked.symbol} spent": readable(release.spent),
        **dict(zip(["Remark"], remarks_on(release.asked), strict=False)),
        **({} if release.delta is None else {"δ": readable(release.delta)}),
        **{said: privacy[name] for name, said in _PRIVACY.items() if name in privacy},
        **dict(note.split(": ", 1) for note in release.footnotes() if note.startswith("Everything else: ")),
    }
    parameters = {name: str(jsonable(value)) for name, value in release.parameters.items()}
    return shell(
        release.title,
        f"{warning}\n{figure}\n{_table(release.columns())}\n"
        f"<h2>What is protected, and what it cost</h2>\n{_facts(facts)}\n"
        f"<h2>Parameters</h2>\n{_facts(parameters)}\n"
        f"<footer>freegap {safe(version)}, {moment}</footer>",
    )


_PRIVACY = {
    "unit": "One person",
    "neighbours": "Neighbours",
    "domain": "Domain",
    "groups": "Groups",
    "filter": "Rows",
}


def _table(columns: list[Column]) -> str:
    def cell(tag: str, column: Column, text: str) -> str:
        kind = ' class="number"' if column.numeric else ""
        return f"<{tag}{kind}>{safe(text)}</{tag}>"

    head = "".join(cell("th", column, column.title) for column in columns)
    rows = "".join(
        "<tr>" + "".join(cell("td", c, text) for c, text in zip(columns, row, strict=True)) + "</tr>\n"
        for row in zip(*(column.cells for column in columns), strict=True)
    )
    table = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>"
    return f'<div class="wide">{table}</div>'


def _facts(facts: dict[str, Any]) -> str:
    entries = "".join(f"<dt>{safe(name)}</dt><dd>{safe(str(value))}</dd>\n" for name, value in facts.items())
    return f"<dl>\n{entries}</dl>"
