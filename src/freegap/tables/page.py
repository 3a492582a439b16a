"""A release from a table as a page that stands alone: no script, no style sheet, no font, no network."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from freegap.report.pictures import svg
from freegap.report.shell import safe, shell
from freegap.tables.chart import draw
from freegap.tables.results import TableRelease, readable
from freegap.values.remarks import remarks_on
from freegap.values.results import NOT_PRIVATE, Column, jsonable

__all__ = ["page"]


def page(release: TableRelease, *, version: str, when: datetime | None = None) -> str:
    """The page as text. It shows what was released and public parameters, and nothing else."""
    moment = (when or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M UTC")
    warning = "" if release.private else f'<p class="warning">{safe(NOT_PRIVATE)}</p>'
    facts = {
        f"{release.asked.symbol} asked": readable(release.asked.spent),
        f"{release.asked.symbol} spent": readable(release.spent),
        **dict(zip(["Remark"], remarks_on(release.asked), strict=False)),
        **({} if release.delta is None else {"δ": readable(release.delta)}),
        "One person": release.privacy.unit,
        "Neighbours": release.privacy.neighbours,
        "Domain": release.privacy.domain,
        **({} if release.everything_else is None else {"Everything else": release.everything_else}),
    }
    parameters = {name: str(jsonable(value)) for name, value in release.parameters.items()}
    return shell(
        release.title,
        f"{warning}\n<figure>{svg(draw(release))}</figure>\n{_table(release.columns())}\n"
        f"<h2>What is protected, and what it cost</h2>\n{_facts(facts)}\n"
        f"<h2>Parameters</h2>\n{_facts(parameters)}\n"
        f"<footer>freegap {safe(version)}, {moment}</footer>",
    )


def _table(columns: list[Column]) -> str:
    def cell(tag: str, column: Column, text: str) -> str:
        kind = ' class="number"' if column.numeric else ""
        return f"<{tag}{kind}>{safe(text)}</{tag}>"

    head = "".join(cell("th", column, column.title) for column in columns)
    rows = "".join(
        "<tr>" + "".join(cell("td", c, text) for c, text in zip(columns, row, strict=True)) + "</tr>\n"
        for row in zip(*(column.cells for column in columns), strict=True)
    )
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>"


def _facts(facts: dict[str, Any]) -> str:
    entries = "".join(f"<dt>{safe(name)}</dt><dd>{safe(str(value))}</dd>\n" for name, value in facts.items())
    return f"<dl>\n{entries}</dl>"
