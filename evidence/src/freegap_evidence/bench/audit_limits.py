"""How many runs any audit of a black box needs, whatever its events and its statistics.

Where a mechanism loses all of its ε on what hardly ever happens, a mechanism that never loses as much looks
nearly the same. A bound that holds for both cannot tell them apart before there are enough runs:
docs/mathematics/black-boxes.md has the theorem. Here it is worked out for the sums that the catalogue
releases many times over, whose loss is a sum of independent parts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from freegap_evidence.bench.audit_device import EPSILONS, WANTED
from freegap_evidence.catalogue import CATALOGUE
from freegap_evidence.catalogue.correct import RELEASES

Floats = NDArray[np.float64]

CELLS = 2000  # of the loss of one release, between none and the largest
CONFIDENCE = 0.999999  # as audits have it by default
SPLITS = np.linspace(0, 1, 101)
PARALLEL = ("laplace_parallel", "laplace_parallel_each_alone")


@dataclass(frozen=True)
class LossLaw:
    """The law of the privacy loss ln(P/Q) of a pair whose sides are mirror images of each other.

    values: a grid of losses; chances: of each on the first side; on the second they are those of -values.
    off: by how much a loss was rounded to the grid, at most.
    """

    values: Floats
    chances: Floats
    off: float

    def cost(self, bound: float) -> float:
        """An upper bound for the smallest E[e^W - 1 - W], which bounds the divergence of each side from that
        of a pair that loses at most `bound`: the pair with P·e^W and Q·e^W', made to sum up to 1, where W
        takes away a part of what is lost beyond the bound and W' adds the rest."""
        beyond = self.values + self.off > bound
        values, chances = self.values[beyond], self.chances[beyond]
        excess, rarer = values + self.off - bound, np.exp(self.off - values)
        return min(
            float((chances * (_curved(-a * excess) + rarer * _curved((1 - a) * excess))).sum())
            for a in SPLITS
        )


def _curved(w: Floats) -> Floats:
    """e^w - 1 - w; where that cancels, its series, cut above."""
    series = w * w / 2 * (1 + np.abs(w))
    found: Floats = np.where(np.abs(w) < 1e-3, series, np.expm1(w) - w)
    return found


def laplace_releases(count: int, loss: float, cells: int = CELLS) -> LossLaw:
    """A number with Laplace noise, released so many times on two neighbours, each time with a largest loss of
    `loss`.

    On the first side, x of the way from its answer to the other's, a release loses loss·(1 - 2x): all of it
    below (half of the time), the opposite beyond the other answer.

    >>> one = laplace_releases(1, 0.5, 50)
    >>> bool(np.isclose(one.chances[-1], 0.5, atol=0.01) and np.isclose(one.chances.sum(), 1))
    True
    """
    step = loss / cells
    edges = np.clip((np.arange(-cells, cells + 2) - 0.5) * step, -loss, loss)
    below = 0.5 * np.exp(-(loss - edges) / 2)  # the chance to lose less, but for the ends
    one = np.diff(below)
    one[0] += 0.5 * math.exp(-loss)
    one[-1] += 0.5
    size = 2 * cells * count + 1
    spectrum = np.fft.rfft(one, 1 << (size - 1).bit_length())
    chances = np.maximum(np.fft.irfft(spectrum**count)[:size], 0.0)
    values: Floats = np.arange(-cells * count, cells * count + 1, dtype=np.float64) * step
    return LossLaw(values, chances, count * step / 2)


def least_runs(law: LossLaw, bound: float, *, confidence: float = CONFIDENCE, chance: float = 0.5) -> float:
    """The runs on each side that any audit needs to report a loss of more than `bound` with this chance, if
    it does so with a chance of at most 1 - confidence where the loss is not more.

    >>> law = laplace_releases(20, 0.01)
    >>> least_runs(law, 0.97 * 0.2) > least_runs(law, 0.9 * 0.2) > 10**10
    True
    """
    wrong = 1 - confidence
    apart = chance * math.log(chance / wrong) + (1 - chance) * math.log((1 - chance) / (1 - wrong))
    return apart / (2 * law.cost(bound))


def rows(names: Iterable[str] = PARALLEL, epsilons: Iterable[float] = EPSILONS) -> Iterator[dict[str, Any]]:
    """What these entries need at each ε, for the share of their loss that is wanted."""
    for name in names:
        for epsilon in epsilons:
            loss = CATALOGUE[name].loss(epsilon, 10**9, {})
            law = laplace_releases(RELEASES, loss / RELEASES)
            yield {
                "name": name,
                "epsilon": epsilon,
                "true_loss": loss,
                "share": WANTED,
                "least_runs": least_runs(law, WANTED * loss),
            }
