"""Figures 4-2 to 4-4 of Ding 2020, and its tables 4-2 and 4-3 as bars."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from freegap.report.pictures import BLUE, GREEN, GREY, INK, ORANGE, legend, panels
from freegap_evidence.experiments.experiment import PAPERS_SAY
from freegap_evidence.experiments.table import Table

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
            x, y = rows.numbers("test_epsilon"), rows.numbers("p_value")
            own.plot(x, y, line, color=colour, linewidth=2, label=f"ε₀ = {claim:g}")
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
        found = "none found"
        if row["violated"]:
            found = f"{_fit(row['event'])}   on [{row['first']}] and [{row['second']}]"
        where = {"xytext": (4, 12), "textcoords": "offset points", "va": "bottom"}
        axes.annotate(found, (0, place), fontsize=8, color=INK, **where)
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


def _fit(text: str) -> str:
    return text if len(text) <= 70 else text[:69] + "…"


def draw_times(table: Table) -> Any:
    """Table 4-3 as bars."""
    figure, (axes,) = panels(1, 1, size=(8.4, 4.6))
    places = np.arange(len(table.rows))[::-1]
    for shift, column, colour, label in (
        (0.2, "paper_seconds", GREY, "paper: one test ε, 32 logical cores"),
        (-0.2, "processor_seconds", BLUE, "freegap: whole audit, one core"),
    ):
        axes.barh(places + shift, table.numbers(column), height=0.38, color=colour, label=label)
    axes.set_yticks(places, [TITLES[str(name)] for name in table.column("mechanism")], fontsize=9)
    axes.set_xlabel("seconds")
    axes.grid(axis="y", visible=False)
    legend(figure, axes, columns=2)
    return figure
