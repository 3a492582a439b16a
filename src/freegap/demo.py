"""The demo: a synthetic shop, its private top ten with gaps, as a table, a chart and a page of facts.

The data set is generated here and is synthetic, so that the true counts may be shown beside what was
released. With real data the true counts would stay where they are.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from freegap.bits import BitSource, SeededBits
from freegap.mechanisms.top_k import noisy_top_k
from freegap.report.pictures import ORANGE, SKY, panels, save
from freegap.values.ranking import TopK

PRODUCTS = (
    "bananas milk bread eggs coffee tomatoes cheese apples butter yoghurt rice pasta chicken onions "
    "potatoes carrots tea chocolate salmon olives honey lemons spinach garlic oats beans lentils "
    "flour sugar salt pepper vinegar mustard basil cream ham grapes pears plums nuts"
).split(" ")

SYNTHETIC = "Synthetic demo data, made by a seeded generator; only therefore are true counts shown."


@dataclass(frozen=True)
class Demo:
    """What the demo made: the true counts (synthetic) and the release."""

    customers: int
    counts: dict[str, int]
    release: TopK


def generate_baskets(customers: int = 20_000, *, seed: int = 7) -> list[list[str]]:
    """One basket for each customer; popular products follow a power law."""
    cells = customers * len(PRODUCTS)
    words = np.frombuffer(SeededBits(seed).bits(16 * cells).to_bytes(2 * cells, "big"), dtype=">u2")
    weights = 1 / np.arange(2, len(PRODUCTS) + 2) ** 0.8
    chances = np.minimum(6 * weights / weights.sum(), 0.95)
    bought = words.reshape(customers, len(PRODUCTS)) < 65536 * chances
    return [[PRODUCTS[i] for i in np.flatnonzero(row)] for row in bought]


def run(*, k: int = 10, epsilon: int = 1, bits: BitSource | None = None) -> Demo:
    """Count in how many baskets each product is, and release the private top k with gaps."""
    baskets = generate_baskets()
    in_baskets = Counter(product for basket in baskets for product in set(basket))
    # The list of products is public, and a product nobody bought counts zero.
    counts = {product: in_baskets[product] for product in PRODUCTS}
    release = noisy_top_k(counts, k, epsilon=epsilon, monotonic=True, bits=bits)
    return Demo(len(baskets), counts, release)


def chart(demo: Demo, path: Path) -> None:
    """Bars of the true counts in the order of the release, with each released gap drawn to scale."""
    release = demo.release
    truth = [demo.counts[label] for label in release.labels]
    figure, (axes,) = panels(1, 1, size=(8, 4.5), lines="y")
    places = np.arange(len(truth))
    axes.bar(places, truth, color=SKY, label="true count (synthetic data)")
    for place, count, gap in zip(places, truth, release.gaps, strict=True):
        axes.plot(
            [place + 0.45, place + 0.45],
            [count, count - float(gap)],
            color=ORANGE,
            linewidth=3,
            solid_capstyle="butt",
            label="released gap to the next item" if place == 0 else None,
        )
        axes.annotate(
            f"{float(gap):.0f}",
            (place + 0.45, count),
            ha="center",
            va="bottom",
            color=ORANGE,
            fontsize=9,
        )
    axes.set_xticks(places, release.labels, rotation=30, ha="right")
    axes.set_ylabel("baskets")
    axes.set_title(f"Private top {len(truth)} at ε = {release.epsilon}, with free gaps")
    axes.legend()
    save(figure, path)
