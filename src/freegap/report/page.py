"""A release from a table as a page that stands alone: no script, no style sheet, no font, no network."""

from __future__ import annotations

import html
from datetime import UTC, datetime
from typing import Any

from freegap.errors import printable
from freegap.report.chart import chart_svg
from freegap.tables.results import TableRelease, readable
from freegap.values.results import NOT_PRIVATE, Column, jsonable

__all__ = ["page"]

# Nothing is loaded from anywhere; styles stand in the page itself.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 60rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid #ddd; text-align: left; }
td { overflow-wrap: anywhere; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.warning { background: #fbe3de; border-left: 4px solid #c8553d; padding: .6rem 1rem; font-weight: bold; }
figure { margin: 1rem 0; } figure svg { max-width: 100%; height: auto; }
dt { font-weight: bold; } dd { margin: 0 0 .6rem 0; } footer { color: #666; margin-top: 2rem; }
"""


def page(release: TableRelease, *, version: str, when: datetime | None = None) -> str:
    """The page as text. It shows what was released and public parameters, and nothing else."""
    moment = (when or datetime.now(UTC)).strftime("%Y-%m-%d %H:%M UTC")
    warning = "" if release.private else f'<p class="warning">{_safe(NOT_PRIVATE)}</p>'
    facts = {
        "ε asked": readable(release.epsilon),
        "ε spent": readable(release.spent),
        "One person": release.privacy.unit,
        "Neighbours": release.privacy.neighbours,
        "Domain": release.privacy.domain,
    }
    parameters = {name: str(jsonable(value)) for name, value in release.parameters.items()}
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{_safe(release.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{_safe(release.title)}</h1>\n{warning}\n"
        f"<figure>{chart_svg(release)}</figure>\n"
        f"{_table(release.columns())}\n"
        f"<h2>What is protected, and what it cost</h2>\n{_facts(facts)}\n"
        f"<h2>Parameters</h2>\n{_facts(parameters)}\n"
        f"<footer>freegap {_safe(version)}, {moment}</footer>\n</body>\n</html>\n"
    )


def _table(columns: list[Column]) -> str:
    def cell(tag: str, column: Column, text: str) -> str:
        kind = ' class="number"' if column.numeric else ""
        return f"<{tag}{kind}>{_safe(text)}</{tag}>"

    head = "".join(cell("th", column, column.title) for column in columns)
    rows = "".join(
        "<tr>" + "".join(cell("td", c, text) for c, text in zip(columns, row, strict=True)) + "</tr>\n"
        for row in zip(*(column.cells for column in columns), strict=True)
    )
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>"


def _facts(facts: dict[str, Any]) -> str:
    entries = "".join(
        f"<dt>{_safe(name)}</dt><dd>{_safe(str(value))}</dd>\n" for name, value in facts.items()
    )
    return f"<dl>\n{entries}</dl>"


def _safe(text: str) -> str:
    return html.escape(printable(text))
