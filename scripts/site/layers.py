"""The layers as a picture and a table, made from the import linter's contracts in pyproject.toml.

    python scripts/site/layers.py    writes docs/figures/layers.svg, and the table in docs/architecture.md

A test fails when the contracts say something else than the two files.
"""

from __future__ import annotations

import ast
import tomllib
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

__all__ = ["Contracts", "picture", "read_contracts", "table", "with_table", "write"]

ROOT = Path(__file__).resolve().parents[2]
SOURCES = {"freegap": ROOT / "src", "freegap_evidence": ROOT / "evidence" / "src"}
BEGIN, END = "<!-- layers: begin -->", "<!-- layers: end -->"

_WIDTH, _ROW, _GAP, _MARGIN, _LINE = 420, 34, 8, 16, 22


@dataclass(frozen=True)
class Contracts:
    """layers: of each distribution, the names in each layer, the uppermost first. rules: what else holds."""

    layers: dict[str, list[list[str]]]
    rules: list[str]


def read_contracts(text: str) -> Contracts:
    """What the linter is told: contracts of layers, and the names of the others."""
    contracts: list[dict[str, Any]] = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    layers: dict[str, list[list[str]]] = {}
    for contract in contracts:
        if contract["type"] == "layers":
            rows = [[name.strip() for name in row.split("|")] for row in contract["layers"]]
            layers[rows[0][0].split(".")[0]] = rows
    return Contracts(layers, [contract["name"] for contract in contracts if contract["type"] != "layers"])


def picture(contracts: Contracts) -> str:
    """An SVG: one house a distribution, side by side, layers from the top down; the rules above the last."""
    step = _ROW + _GAP
    heights = [len(rows) * step for rows in contracts.layers.values()]
    heights[-1] += _LINE * (len(contracts.rules) + 2)
    ground = 3 * _MARGIN + max(heights)
    width, height = _MARGIN + len(heights) * (_WIDTH + _MARGIN), ground + _MARGIN - _GAP
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        'font-size="13" role="img" aria-label="The layers; imports point down">',
        f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>',
    ]
    for house, (name, rows) in enumerate(contracts.layers.items()):
        left = _MARGIN + house * (_WIDTH + _MARGIN)
        top = ground - len(rows) * step
        parts.append(_text(left, top - _GAP, name, weight="bold"))
        for row, names in enumerate(rows):
            share = (_WIDTH - (len(names) - 1) * _GAP) / len(names)
            for place, module in enumerate(names):
                x, y = left + place * (share + _GAP), top + row * step
                parts.append(_box(x, y, share, module.removeprefix(f"{name}."), house))
    said = ["Imports point down. And beyond that:", *(f"– {rule}" for rule in contracts.rules)]
    for number, line in enumerate(said):
        y, weight = 3 * _MARGIN - _GAP + _LINE * number, "normal" if number else "bold"
        parts.append(_text(width - _MARGIN - _WIDTH, y, line, weight=weight))
    return "\n".join([*parts, "</svg>", ""])


def _box(x: float, y: float, width: float, name: str, house: int) -> str:
    fill, line = (("#e3e8f8", "#3f51b5"), ("#e6f2ec", "#2e7d5b"))[house % 2]
    label = _text(x + width / 2, y + _ROW / 2 + 5, name, anchor="middle")
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{_ROW}" rx="4" fill="{fill}" stroke="{line}"/>'
        f"{label}"
    )


def _text(x: float, y: float, text: str, *, weight: str = "normal", anchor: str = "start") -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" font-weight="{weight}" text-anchor="{anchor}" fill="#1b1f33">'
        f"{escape(text)}</text>"
    )


def table(contracts: Contracts) -> str:
    """A Markdown table: each layer from the top down, what is in it, and what its own docstring says."""
    lines = ["| layer | module | what it is |", "|---|---|---|"]
    for rows in contracts.layers.values():
        for number, names in zip(range(len(rows), 0, -1), rows, strict=True):
            lines += [f"| {number} | `{name}` | {_said_of(name)} |" for name in names]
    return "\n".join(lines)


def _said_of(module: str) -> str:
    """The first line of a module's docstring."""
    path = SOURCES[module.split(".")[0]].joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    said = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8")))
    if not said:
        raise SystemExit(f"{module} has no docstring to show")
    return said.splitlines()[0]


def with_table(page: str, rows: str) -> str:
    """The page with this table between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        raise SystemExit(f"the page lacks {BEGIN} or {END}")
    return f"{before}{BEGIN}\n{rows}\n{END}{after}"


def write() -> None:
    """Both files anew."""
    contracts = read_contracts((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    page = ROOT / "docs" / "architecture.md"
    (ROOT / "docs" / "figures" / "layers.svg").write_text(picture(contracts), encoding="utf-8")
    page.write_text(with_table(page.read_text(encoding="utf-8"), table(contracts)), encoding="utf-8")


if __name__ == "__main__":
    write()
