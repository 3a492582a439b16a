"""Figures 4-2 to 4-4 of Ding 2020, and its tables 4-2 and 4-3 as bars."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from freegap.report.pictures import BLUE, GREEN, GREY, INK, ORANGE, legend, panels
from freegap_evidence.experiments.experiment import PAPERS_SAY
from freegap_evidence.experiments.table import Table

__all__ = ["TITLES", "draw_counterexamples", "draw_curves", "draw_times"]

TITLES: dict[str, str] = PAPERS_SAY["names"]
"""What the paper calls the mechanisms of the catalogue."""

_LOOKS = ((BLUE, "-"), (ORANGE, "--"), (GREEN, "-."))


def draw_curves(table: Table) -> Any:
    """p-values against the test ε, one panel a mechanism; vertical lines at the claims."""
    names = table.distinct("mechanism")
    columns = 2 if len(names) != 5 else 3
    figure, axes = panels(math.ceil(len(names) / columns), columns, size=(4.4, 3.1), sharex=True, sharey=True)
    for own, name, letter in zip(axes, names, "abcdef", strict=False):
        for claim, (colour, line) in zip(table.distinct("claimed_epsilon"), _LOOKS, strict=True):
            rows = table.where(mechanism=name, claimed_epsilon=claim)
            own.plot(
                rows.numbers("test_epsilon"),
                rows.numbers("p_value"),
                line,
                color=colour,
                linewidth=2,
                label=f"ε₀ = {claim:g}",
            )
            own.axvline(claim, color=colour, linestyle=":", linewidth=1.2)
        own.set_title(f"({letter}) {TITLES[name]}", fontsize=9.5)
        own.set(ylim=(-0.03, 1.05), xlim=(0, max(table.distinct("test_epsilon"))))
    for own in axes[len(names) :]:
        own.set_visible(False)
    for place, own in enumerate(axes[: len(names)]):
        if place % columns == 0:
            own.set_ylabel("p-value")
        if place + columns >= len(names):
            own.set_xlabel("test ε")
            own.tick_params(labelbottom=True)
    legend(figure, axes[0], columns=3)
    return figure


def draw_counterexamples(table: Table) -> Any:
    """The ε that each counterexample certifies, beside the claim, with the event and the inputs."""
    figure, (axes,) = panels(1, 1, size=(9.6, 4.2))
    places = np.arange(len(table.rows))[::-1]
    axes.barh(
        places, table.numbers("epsilon_lower_bound"), height=0.42, color=ORANGE, label="certified: ε at least"
    )
    axes.plot(
        table.numbers("claimed_epsilon"),
        places,
        "|",
        color=BLUE,
        markersize=22,
        markeredgewidth=3,
        label="claimed ε₀",
    )
    for place, row in zip(places, table.records(), strict=True):
        found = f"{_fit(row['event'])}   on {_inputs(row)}" if row["violated"] else "none found"
        axes.annotate(
            found, (0, place), xytext=(4, 12), textcoords="offset points", va="bottom", fontsize=8, color=INK
        )
    axes.set_yticks(
        places, [TITLES[str(name)].replace(": ", ":\n") for name in table.column("mechanism")], fontsize=9
    )
    axes.set(
        xlabel="ε",
        ylim=(-0.5, len(places) - 0.3),
        xlim=(0, max(table.numbers("epsilon_lower_bound").max() * 1.15, 4)),
    )
    axes.grid(axis="y", visible=False)
    legend(figure, axes, columns=2)
    return figure


def _inputs(row: dict[str, Any]) -> str:
    return f"[{row['first']}] and [{row['second']}]"


def _fit(text: str) -> str:
    return text if len(text) <= 70 else text[:69] + "…"


def draw_times(table: Table) -> Any:
    """Table 4-3 as bars."""
    figure, (axes,) = panels(1, 1, size=(8.4, 4.6))
    places = np.arange(len(table.rows))[::-1]
    axes.barh(
        places + 0.2,
        table.numbers("paper_seconds"),
        height=0.38,
        color=GREY,
        label="paper: one test ε, 32 logical cores",
    )
    axes.barh(
        places - 0.2,
        table.numbers("processor_seconds"),
        height=0.38,
        color=BLUE,
        label="freegap: whole audit, one core",
    )
    axes.set_yticks(places, [TITLES[str(name)] for name in table.column("mechanism")], fontsize=9)
    axes.set_xlabel("seconds")
    axes.grid(axis="y", visible=False)
    legend(figure, axes, columns=2)
    return figure
