"""The plan as a record that a person can look at and a program can read."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from freegap.planner.questions import GOALS, Goal, PlannedRelease
from freegap.report.shell import safe, shell
from freegap.values.measures import Measure
from freegap.values.written import json_text

_BAR = 16
_HEADS = {"found": "come out", "gap": "gap ±"}
_WIDTH = 110  # of the plain text
ACCURACY = (
    "Chances and shares are integrals over the noise, within 2 percentage points of what releases do if the "
    "counts are as assumed."
)
FREE = "Nothing private was looked at, and nothing is charged."


@dataclass(frozen=True, kw_only=True)
class BudgetPlan:
    """What a budget buys, and how much is needed; from public assumptions alone.

    title, assumed: what is planned, and what of the counts is assumed.
    goal, target: the figure that matters, and how good it is to be; None where nothing is looked for.
    suggested: the least budget, of two digits, that reaches it; None where there is none: `reason` says why.
    at: the release at the budget that was given, or at the suggested one.
    curve: releases at smaller and larger budgets.
    alternatives: other ways to spend as much as at `at`, the best for the goal first.
    delta: by which ε and ρ are compared in these.
    remarks: what ought to be known beside it.
    """

    title: str
    assumed: str
    goal: str
    target: Fraction | None
    suggested: Measure | None
    reason: str | None
    at: PlannedRelease | None
    curve: tuple[PlannedRelease, ...]
    alternatives: tuple[PlannedRelease, ...]
    delta: Fraction
    remarks: tuple[str, ...]

    @property
    def best(self) -> PlannedRelease | None:
        """The best of the alternatives, for the goal."""
        return self.alternatives[0] if self.alternatives else None

    @property
    def answer(self) -> str:
        """What was asked for, in a sentence."""
        goal = GOALS[self.goal]
        if self.reason is not None:
            return self.reason
        if self.suggested is not None and self.target is not None:
            return f"{budget_text(self.suggested)} is enough: {goal.wanted(self.target)}."
        figure = None if self.at is None else getattr(self.at, goal.name)
        if self.at is None or figure is None:
            return "Nothing is above the threshold, so that nothing can be found."
        return f"At {budget_text(self.at.asked)}, {goal.meaning}: {goal.text(figure)}."

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values: exact amounts as text."""
        return {
            "plan": self.title,
            "assumed": self.assumed,
            "goal": self.goal,
            "target": None if self.target is None else str(self.target),
            "suggested": None if self.suggested is None else self.suggested.to_dict(),
            "reason": self.reason,
            "at": None if self.at is None else self.at.to_dict(),
            "curve": [release.to_dict() for release in self.curve],
            "alternatives": [release.to_dict() for release in self.alternatives],
            "delta": str(self.delta),
            "remarks": list(self.remarks),
        }

    def to_json(self, *, indent: int | None = None) -> str:
        """The plan as JSON."""
        return json_text(self.to_dict(), indent=indent)

    def plot(self, path: Any = None) -> Any:
        """The curves, as a figure of matplotlib; with a path also in a file, .svg, .png or .pdf."""
        from freegap.planner.picture import draw
        from freegap.report.pictures import require_drawable, save

        require_drawable(None if path is None else Path(path))
        figure = draw(self)
        if path is not None:
            save(figure, Path(path))
        return figure

    def page(self) -> str:
        """The plan as a page that stands alone, with the curves."""
        from freegap.planner.picture import draw
        from freegap.report.pictures import svg

        return shell(self.title, f"{self._body()}\n<figure>{svg(draw(self))}</figure>")

    def _tables(self) -> list[tuple[str, list[str], list[list[str]]]]:
        """For each table its title, its headings, and its rows."""
        goal = GOALS[self.goal]
        tables = [("By budget", *_table(self.curve, goal, self.at, ways=False))]
        if len(self.alternatives) > 1:
            other = _table(self.alternatives, goal, self.at, ways=True)
            tables.append(
                (f"Other ways to spend as much (ε and ρ compared at δ = {float(self.delta):g})", *other)
            )
        return tables

    @property
    def _notes(self) -> list[str]:
        shown = [name for name in GOALS if any(getattr(release, name) is not None for release in self.curve)]
        meanings = [f"{_HEADS.get(name, name)}: {GOALS[name].meaning}." for name in shown]
        return [*self.remarks, *meanings, ACCURACY, FREE]

    def __rich__(self) -> Any:
        """Tables for the terminal."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        from freegap.report.tables import TitledTable

        shown: list[Any] = [
            Text(self.title, style="bold"),
            Text(f"Assumed: {self.assumed}."),
            Text(self.answer, style="bold"),
        ]
        for title, heads, rows in self._tables():
            table = Table(box=None, pad_edge=False)
            for place, head in enumerate(heads):
                text = place == 0 or not head
                table.add_column(head, justify="left" if text else "right", overflow="fold")
            for row in rows:
                table.add_row(*map(Text, row))
            shown += [Text(), TitledTable(title, table)]
        return Group(*shown, Text(), *(Text(note, style="dim") for note in self._notes))

    def __str__(self) -> str:
        """The same as plain text."""
        from rich.console import Console

        text = io.StringIO()
        Console(file=text, width=_WIDTH, color_system=None, force_terminal=False).print(self)
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())

    def _body(self) -> str:
        parts = [f"<p>Assumed: {safe(self.assumed)}.</p>", f"<p><strong>{safe(self.answer)}</strong></p>"]
        for title, heads, rows in self._tables():
            head = "".join(f"<th>{safe(text)}</th>" for text in heads)
            body = "".join("<tr>" + "".join(f"<td>{safe(c)}</td>" for c in row) + "</tr>" for row in rows)
            parts.append(
                f"<p>{safe(title)}</p>\n<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            )
        return "\n".join([*parts, *(f"<p>{safe(note)}</p>" for note in self._notes)])

    def _repr_html_(self) -> str:
        """The same for a notebook."""
        return f"<div><p><strong>{safe(self.title)}</strong></p>{self._body()}</div>"


def budget_text(asked: Measure) -> str:
    """A budget for people, in decimals."""
    amounts = zip((asked.symbol, "δ"), asked.arguments().values(), strict=False)
    return ", ".join(f"{symbol} = {float(amount):.4g}" for symbol, amount in amounts)


def _table(
    releases: Sequence[PlannedRelease], goal: Goal, at: PlannedRelease | None, *, ways: bool
) -> tuple[list[str], list[list[str]]]:
    """Headings and rows: the budget, a curve of the figure that matters, and the figures that there are."""
    names = [*GOALS] if ways else [*(name for name in GOALS if name != "width"), "found", "gap", "width"]
    shown = [name for name in names if any(getattr(release, name) is not None for release in releases)]
    largest = max((getattr(release, goal.name) or 0.0 for release in releases), default=0.0) or 1.0
    rows = []
    for release in releases:
        value = getattr(release, goal.name) or 0.0
        full = round(_BAR * (value if goal.rising else value / largest))
        mark = "▸ " if at is not None and release.asked == at.asked else ""
        curve = [f"{mark}{float(release.asked.spent):.4g}", "█" * full + "░" * (_BAR - full)]
        way = [f"{release.call} ({release.noise})", budget_text(release.asked)]
        rows.append([*(way if ways else curve), *(_cell(name, getattr(release, name)) for name in shown)])
    heads = ["release (noise)", "budget"] if ways else [releases[0].asked.symbol, ""]
    return [*heads, *(_HEADS.get(name, name) for name in shown)], rows


def _cell(name: str, value: float | None) -> str:
    if value is None:
        return ""
    return GOALS[name].text(value) if name in GOALS else f"{value:,.1f}"
