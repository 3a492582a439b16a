"""Figures 5-1, 5-2, 5-3 and 5-9 of Ding 2020; figures 1 and 2 of Ding et al. 2019 (arXiv)."""

from __future__ import annotations

from typing import Any

from freegap.laws import law_named
from freegap.report.pictures import BLUE, GREEN, INK, ORANGE, legend, panels
from freegap_evidence.experiments.figures import curve, with_errors
from freegap_evidence.experiments.table import Table

_LABELS = {"k": "k", "epsilon": "Privacy budget ε"}
_NOISES = {
    "laplace": ("Laplace", BLUE, "o"),
    "exponential": ("Exponential", ORANGE, "s"),
    "geometric": ("Geometric", GREEN, "x"),
}


def draw_reductions(table: Table, *, column: str) -> Any:
    """Figures 5-2 and 5-3: one panel a mechanism, on the paper's data set (the first)."""
    name = table.distinct("data")[0]
    shown = table.where(data=name)
    figure, axes = panels(1, 2, size=(4.8, 3.6), sharey=True)
    for place, (own, mechanism) in enumerate(zip(axes, shown.distinct("mechanism"), strict=True)):
        rows = shown.where(mechanism=mechanism)
        for noise in rows.distinct("noise"):
            some = rows.where(noise=noise)
            title, colour, mark = _NOISES[noise]
            style = {"markersize": 5, "linestyle": "none", "linewidth": 1, "label": f"{title}, measured"}
            with_errors(own, some, column, "reduction_percent", colour, mark, **style)
            if not law_named(noise).lattice:  # its theory cannot be told from that of exponential noise
                theory = some.numbers("theory_percent")
                own.plot(some.numbers(column), theory, color=colour, label=f"{title}, theory")
        own.set_title(f"({'ab'[place]}) {mechanism}, {name}")
        own.set(xlabel=_LABELS[column], ylim=(0, 75))
        if column == "k":
            own.set_xticks(rows.distinct("k"))
    axes[0].set_ylabel("% improvement in MSE")
    legend(figure, axes[0], columns=3)
    return figure


def draw_grid(table: Table, *, column: str) -> Any:
    """Figures 1 and 2 of Ding et al. 2019 (arXiv): a row for each mechanism, a column for each data set; one
    noise."""
    names, mechanisms = table.distinct("data"), table.distinct("mechanism")
    figure, axes = panels(len(mechanisms), len(names), size=(3.9, 2.8), sharex=True, sharey=True)
    least = float(table.numbers("reduction_percent").min())
    for place, own in enumerate(axes):
        name, mechanism = names[place % len(names)], mechanisms[place // len(names)]
        rows = table.where(data=name, mechanism=mechanism)
        style = {"markersize": 4, "linestyle": "none", "label": "Laplace, measured"}
        with_errors(own, rows, column, "reduction_percent", BLUE, "o", **style)
        own.plot(rows.numbers(column), rows.numbers("theory_percent"), color=ORANGE, label="theory")
        own.axhline(20, color=INK, linestyle=":", linewidth=1, label="limit for large k")
        own.set_title(f"({'abcdef'[place]}) {mechanism.split(' with Gap')[0]}, {name}", fontsize=9.5)
        own.set(ylim=(min(0.0, least - 3), 26))
        if place % len(names) == 0:
            own.set_ylabel("% improvement in MSE")
        if place >= len(axes) - len(names):
            own.set_xlabel(_LABELS[column])
    legend(figure, axes[0], columns=3)
    return figure


def draw_shares(table: Table) -> Any:
    """Figure 5-1."""
    figure, (axes,) = panels(1, 1, size=(6.4, 3.8))
    k = table.numbers("k")
    curve(axes, table, "k", "best_share", "o", BLUE, 4, label=r"$\theta_{\min}$ for geometric noise (L-BFGS)")
    axes.plot(k, table.numbers("closed_form"), color=ORANGE, label=r"$\theta = 1/(1+\sqrt[3]{k^2})$")
    axes.set(xlabel="k", ylabel="share θ of ε for the threshold", ylim=(0, 0.55))
    axes.legend(frameon=False)
    return figure


def draw_type_one(table: Table) -> Any:
    """Figure 5-9."""
    figure, (axes,) = panels(1, 1, size=(6.4, 3.8))
    for alpha, colour, mark in zip(table.distinct("alpha"), (BLUE, ORANGE), "os", strict=False):
        rows = table.where(alpha=alpha)
        x = 1e6 * rows.numbers("epsilon")
        title = f"P(p ≤ {alpha:g} | not optimal)"
        axes.plot(x, rows.numbers("type_one_error"), mark + "-", color=colour, label=title)
        axes.axhline(alpha, color=colour, linestyle="--", linewidth=1.2, label=f"α = {alpha:g}")
    axes.set(xlabel="ε (× 10⁻⁶)", ylabel="Type I error", ylim=(0, 0.06))
    axes.set_xticks(sorted({round(1e6 * e) for e in table.distinct("epsilon")}))
    axes.legend(frameon=False, ncols=2, loc="upper center", bbox_to_anchor=(0.5, 0.8), labelcolor=INK)
    return figure
