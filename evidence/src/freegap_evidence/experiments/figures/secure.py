"""Tables 4 to 6 of Ding et al. 2023 as figures, with our fast core beside the paper's algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np

from freegap.report.pictures import BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, legend, panels
from freegap_evidence.experiments.figures import curve
from freegap_evidence.experiments.table import Table

_TIMES = (
    ("secure_ms", "Secure (Ding et al. 2023)", ORANGE, "o-"),
    ("optimized_ms", "Opt. Secure (Ding et al. 2023, algorithm 4)", PURPLE, "s-"),
    ("baseline_ms", "Baseline (insecure, one by one)", GREY, "^-"),
    ("freegap_ms", "freegap (exact)", BLUE, "D-"),
    ("insecure_ms", "insecure, vectorised NumPy", GREEN, "v-"),
    ("paper_optimized_ms", "Opt. Secure as printed", PURPLE, ":"),
    ("paper_baseline_ms", "Baseline as printed", GREY, ":"),
)
_PARTS = (("Possible top-k", SKY), ("Resolve ties", ORANGE), ("Find gaps", GREEN))


def draw_times(table: Table) -> Any:
    """Table 4: milliseconds against k, both axes logarithmic."""
    names = table.distinct("data")
    figure, axes = panels(1, len(names), size=(4.2, 4.0), sharey=True)
    for own, name in zip(axes, names, strict=True):
        rows = table.where(data=name)
        for column, title, colour, line in _TIMES:
            if None not in rows.column(column):
                curve(own, rows, "k", column, line, colour, 5, label=title)
        own.set(xscale="log", yscale="log", xlabel="k")
        own.set_title(f"{name}, n = {rows.column('n')[0]:,}")
        own.set_xticks(rows.distinct("k"), [str(k) for k in rows.distinct("k")])
        own.minorticks_off()
    axes[0].set_ylabel("Running time (milliseconds)")
    legend(figure, axes[0], columns=4)
    return figure


def draw_breakdown(table: Table) -> Any:
    """Table 5: the three parts as bars on top of each other; freegap in its own row, on its own scale."""
    names = table.distinct("data")
    figure, axes = panels(2, len(names), size=(4.2, 2.9))
    grid = np.array(axes).reshape(2, len(names))
    rows_of = (
        ("Opt. Secure (Ding et al. 2023)", ("possible_top_k_ms", "resolve_ties_ms", "find_gaps_ms")),
        ("freegap", ("freegap_possible_ms", "freegap_order_ms", "freegap_gaps_ms")),
    )
    for column, name in enumerate(names):
        rows = table.where(data=name)
        places = np.arange(len(rows.rows))
        for row, (title, parts) in enumerate(rows_of):
            own = grid[row][column]
            bottom = np.zeros(len(places))
            for part, (label, colour) in zip(parts, _PARTS, strict=True):
                own.bar(places, rows.numbers(part), bottom=bottom, color=colour, width=0.7, label=label)
                bottom += rows.numbers(part)
            own.set_xticks(places, [str(k) for k in rows.distinct("k")])
            own.grid(axis="x", visible=False)
            if column == 0:
                own.set_ylabel(f"{title}\nmilliseconds")
        grid[0][column].set_title(f"{name}, n = {rows.column('n')[0]:,}")
        grid[1][column].set_xlabel("k")
    legend(figure, axes[0], columns=3)
    return figure


def draw_calls(table: Table) -> Any:
    """Table 6: how often each sampler ran, ours and as printed, and the random bits of both programs."""
    titles = {
        "geometric": "Geometric distribution sampling",
        "bernoulli": "Bernoulli sampling",
        "uniform": "Uniform sampling over\nbounded integers",
        "sort": "Identifying top noisy\nqueries (argsort)",
    }
    figure, axes = panels(1, 2, size=(5.4, 3.8))
    calls = dict(zip(table.column("routine"), table.numbers("calls"), strict=True))
    printed = dict(zip(table.column("routine"), table.column("paper_calls"), strict=True))
    places = np.arange(len(titles))[::-1]
    for shift, values, colour, label in (
        (0.2, [printed[name] for name in titles], GREY, "as printed"),
        (-0.2, [calls[name] for name in titles], PURPLE, "our transcription of algorithm 4"),
    ):
        bars = axes[0].barh(places + shift, values, height=0.38, color=colour, label=label)
        axes[0].bar_label(bars, [f"{value:,.0f}" for value in values], padding=3, fontsize=8)
    axes[0].set_yticks(places, list(titles.values()), fontsize=9)
    axes[0].set(xscale="log", xlim=(1, 5e6), xlabel="number of calls")
    axes[0].set_title("Calls in one run")
    axes[0].legend(frameon=False, loc="lower right", fontsize=8)
    bits = [calls["bits"], calls["freegap: bits"]]
    bars = axes[1].bar(["algorithm 4", "freegap"], bits, color=(PURPLE, BLUE), width=0.5)
    axes[1].bar_label(bars, [f"{count:,.0f}" for count in bits], padding=3, fontsize=9)
    axes[1].set_ylabel("random bits in one run")
    axes[1].set_yticks([])
    axes[1].set_title("Randomness")
    for own in axes:
        own.grid(visible=False)
    return figure
