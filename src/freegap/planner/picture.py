"""The curves of a plan: what is right, and how exact it is, against the budget."""

from __future__ import annotations

from typing import Any

from freegap.planner.budget_plan import BudgetPlan, budget_text
from freegap.planner.questions import GOALS
from freegap.report.pictures import BLUE, GREEN, INK, ORANGE, PURPLE, panels

_COLOURS = (BLUE, ORANGE, GREEN, PURPLE)


def draw(plan: BudgetPlan) -> Any:
    """Chances and shares on the left, standard errors on the right; a line at the budget."""
    figure, (chances, errors) = panels(1, 2, size=(5.2, 3.8))
    budgets = [float(release.asked.spent) for release in plan.curve]
    symbol = plan.curve[0].asked.symbol
    names = [name for name, goal in GOALS.items() if goal.rising]
    drawn = [name for name in names if any(getattr(release, name) is not None for release in plan.curve)]
    for name, colour in zip(drawn, _COLOURS, strict=False):
        values = [getattr(release, name) for release in plan.curve]
        chances.plot(budgets, values, color=colour, marker=".", label=name)
    if plan.target is not None and GOALS[plan.goal].rising:
        chances.axhline(float(plan.target), color=INK, linewidth=0.8, linestyle=":")
    lines = (("gap", "standard error of a gap", BLUE), ("width", "width of a 95 % interval", ORANGE))
    for name, title, colour in lines:
        values = [getattr(release, name) for release in plan.curve]
        if None not in values:
            errors.plot(budgets, values, color=colour, marker=".", label=title)
    for own in (chances, errors):
        own.set(xscale="log", xlabel=symbol)
        own.xaxis.set_major_formatter("{x:g}")
        if plan.at is not None:
            own.axvline(float(plan.at.asked.spent), color=INK, linewidth=0.8, linestyle="--")
        own.legend(frameon=False)
    at = "" if plan.at is None else f" ({budget_text(plan.at.asked)} dashed)"
    chances.set(ylim=(0, 1.02), title=f"{plan.title}: what is right{at}")
    chances.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
    errors.set(yscale="log", ylabel="people", title="how exact")
    errors.yaxis.set_major_formatter("{x:g}")
    return figure
