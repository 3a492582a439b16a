"""Charts as what a template draws: places in percent of the width, so that text keeps its size on a phone.

A browser that allows no style in a page draws them all the same: they are made of lines, bars and dots.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from freegap.values.chart import drawable, drawn_column
from freegap.values.results import Release

_MOST_BARS = 50
_LEFT, _RIGHT = 0.0, 97.0  # of a chart of bars, in percent
_TOP, _HEIGHT = 12.0, 180.0  # of a curve, in pixels
_CURVE_LEFT, _CURVE_RIGHT = 12.0, 96.0


@dataclass(frozen=True)
class DrawnBar:
    """One row: what it is of, the number for people, and where it and its interval stand."""

    label: str
    text: str
    at: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class BarChart:
    """Rows of bars over one scale. zero: where 0 is. line: a threshold, its place and its text."""

    title: str
    bars: tuple[DrawnBar, ...]
    ticks: tuple[tuple[float, str], ...]
    zero: float
    line: tuple[float, str] | None
    more: int


@dataclass(frozen=True)
class Curve:
    """One line of a chart: its name, its class of colour, its dots and the lines between them."""

    name: str
    number: int
    dots: tuple[tuple[float, float], ...]

    @property
    def lines(self) -> list[tuple[float, float, float, float]]:
        """From each dot to the next."""
        return [(*a, *b) for a, b in zip(self.dots, self.dots[1:], strict=False)]


@dataclass(frozen=True)
class CurveChart:
    """Curves over one budget. at: where the budget that is planned with stands. goal: a height to reach."""

    title: str
    curves: tuple[Curve, ...]
    xticks: tuple[tuple[float, str], ...]
    yticks: tuple[tuple[float, str], ...]
    at: float | None
    goal: float | None

    @property
    def bottom(self) -> float:
        """Where the axis is."""
        return _TOP + _HEIGHT


def bar_chart(release: Release) -> BarChart | None:
    """The chart of a release, where there is something to draw: as `Release.plot` has it."""
    columns = release.columns()
    values = drawn_column(columns)
    if values is None or not drawable(release):
        return None
    names = [column.cells for column in columns if not column.numeric]
    labels = [" · ".join(row) for row in zip(*names, strict=True)]
    intervals = next((column for column in columns if column.kind is tuple), None)
    sizes = [_finite(value) for value in values.values]
    ends = [(None, None)] * len(sizes) if intervals is None else [_ends(pair) for pair in intervals.values]
    threshold = None if values.name == "gap" else _finite(release.to_dict().get("threshold"))
    shown = range(min(len(sizes), _MOST_BARS))
    numbers = [n for i in shown for n in (sizes[i], *ends[i]) if n is not None]
    scale = _Scale([0.0, *numbers, *([] if threshold is None else [threshold])], _LEFT, _RIGHT)
    bars = tuple(
        DrawnBar(
            labels[i],
            values.cells[i],
            scale.of(sizes[i] or 0.0),
            *(None if end is None else scale.of(end) for end in ends[i]),
        )
        for i in shown
    )
    if values.name == "gap":
        title = f"How far each item is ahead ({values.title}, in {values.unit or 'people'}), not its size"
    else:
        title = f"{values.title.capitalize()}, estimated" + (
            "" if intervals is None else f", with {intervals.title}s"
        )
    line = None if threshold is None else (scale.of(threshold), f"{threshold:,.6g}")
    return BarChart(title, bars, scale.ticks(), scale.of(0.0), line, len(sizes) - len(bars))


def chance_chart(plan: Mapping[str, Any], measure: str) -> CurveChart | None:
    """What is right against the budget, of a plan as `BudgetPlan.to_dict` has it, in epsilon or rho."""
    names = {
        "exact": "exactly right",
        "share": "share right",
        "first": "first is right",
        "recall": "share found",
        "precision": "share of finds above",
    }
    goal = plan.get("target") if plan.get("goal") in names else None
    yticks = tuple((_height(share), f"{100 * share:.0f} %") for share in (0, 0.5, 1))
    height = None if goal is None else _height(_ratio(goal))
    return _curves("What is right", plan, measure, names, _height, yticks, height)


def error_chart(plan: Mapping[str, Any], measure: str) -> CurveChart | None:
    """How large errors are against the budget, in people."""
    names = {"gap": "standard error of a gap", "width": "width of a 95 % interval"}
    numbers = [point[name] for point in plan["curve"] for name in names if point.get(name) is not None]
    if not numbers:
        return None
    low, high = math.log10(min(numbers)), math.log10(max(numbers))

    def height(value: float) -> float:
        return _height((math.log10(value) - low) / ((high - low) or 1))

    powers = [10.0**power for power in range(math.ceil(low), math.floor(high) + 1)]
    marked = powers or [min(numbers), max(numbers)]
    yticks = tuple((height(n), f"{n:,.0f}" if n >= 1 else f"{n:.2g}") for n in dict.fromkeys(marked))
    return _curves("How large errors are, in people", plan, measure, names, height, yticks, None)


def _curves(
    title: str,
    plan: Mapping[str, Any],
    measure: str,
    names: Mapping[str, str],
    height: Any,
    yticks: tuple[tuple[float, str], ...],
    goal: float | None,
) -> CurveChart | None:
    points = [point for point in plan["curve"] if measure in point]
    if len(points) < 2:
        return None
    budgets = [_ratio(point[measure]) for point in points]
    low, high = math.log10(budgets[0]), math.log10(budgets[-1])

    def across(budget: float) -> float:
        part = (math.log10(budget) - low) / ((high - low) or 1)
        return round(_CURVE_LEFT + (_CURVE_RIGHT - _CURVE_LEFT) * part, 2)

    curves: list[Curve] = []
    for name, words in names.items():
        drawn = [(b, p[name]) for b, p in zip(budgets, points, strict=True) if p.get(name) is not None]
        if len(drawn) > 1:
            dots = tuple((across(budget), height(value)) for budget, value in drawn)
            curves.append(Curve(words, len(curves) + 1, dots))
    at = plan.get("at") or {}
    xticks = tuple((across(budget), f"{budget:.3g}") for budget in _few(budgets))
    place = across(_ratio(at[measure])) if measure in at else None
    titled = f"{title}, by {'ρ' if measure == 'rho' else 'ε'}"
    return CurveChart(titled, tuple(curves), xticks, yticks, place, goal)


class _Scale:
    """From numbers to percent of the width, with room to the right."""

    def __init__(self, numbers: Sequence[float], left: float, right: float) -> None:
        self._least, most = min(numbers), max(numbers)
        self._width = (most - self._least) or 1.0
        self._left, self._right = left, right

    def of(self, number: float) -> float:
        part = (number - self._least) / self._width
        return round(self._left + (self._right - self._left) * part, 2)

    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Three to five round numbers."""
        power = 10.0 ** math.floor(math.log10(self._width / 2))
        step = next(power * n for n in (1, 2, 5, 10) if self._width / (power * n) <= 4)
        first, last = math.ceil(self._least / step), math.floor((self._least + self._width) / step)
        return tuple((self.of(n * step), f"{n * step:,.6g}") for n in range(first, last + 1))


def _height(share: float) -> float:
    return round(_TOP + _HEIGHT * (1 - share), 1)


def _ratio(text: Any) -> float:
    above, _, below = str(text).partition("/")
    return float(above) / float(below or 1)


def _finite(value: Any) -> float | None:
    if value is None:
        return None
    number = _ratio(value) if isinstance(value, str) else float(value)
    return number if math.isfinite(number) else None


def _ends(pair: Any) -> tuple[float | None, float | None]:
    return (None, None) if pair is None else (_finite(pair[0]), _finite(pair[1]))


def _few(budgets: Sequence[float]) -> list[float]:
    """Five of them at most, the ends among them, none too near to another."""
    few = [budgets[0]]
    least = (math.log10(budgets[-1]) - math.log10(budgets[0])) / 5
    for budget in budgets[1:-1]:
        near = min(abs(math.log10(budget / other)) for other in (few[-1], budgets[-1]))
        if near >= least:
            few.append(budget)
    return [*few, budgets[-1]]
