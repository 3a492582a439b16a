"""Tuning under a stated total ε: which private random forest is best for the breast-cancer data?

A random forest whose trees are grown without looking at the data (Jagannathan and others 2009) needs
privacy only for the counts in its leaves. How deep the trees and how many of them are best depends on
the data, so choosing that by looking would cost privacy, and trying all nine settings and comparing
would cost nine times. `best_private_candidate` pays three times for one draw, however many it tries.

    each forest      ε_M = 0.75   a patient is in one leaf of each of t trees: counts get noise of ε_M/t
    each score       ε_q = 0.20   right predictions among the validation patients: sensitivity 1
    the hard stop    ε₀  = 0.05   at most 74 draws, 20 on average
    in all           3·(0.75 + 0.20) + 3·0.05 = 3

Needs scikit-learn: pip install 'freegap[examples]'

    python examples/tune_private_forest.py
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer
from sklearn.tree import ExtraTreeClassifier

import freegap as fg
from freegap import base2

FOREST_EPSILON, SCORE_EPSILON, HARD_STOP = Fraction("0.75"), Fraction("0.2"), Fraction("0.05")
STOP = Fraction(1, 20)
DEPTHS, TREES = (1, 3, 6), (1, 3, 9)
# Public knowledge, not taken from the data: five features and the range in which each is expected.
FEATURES = {20: (7.0, 37.0), 21: (12.0, 50.0), 24: (0.07, 0.23), 26: (0.0, 1.3), 27: (0.0, 0.3)}
MOST_PATIENTS = 1000

Array = NDArray[Any]


@dataclass(frozen=True)
class Patients:
    """Some patients: features and diagnosis (0 malignant, 1 benign)."""

    features: Array
    benign: Array


@dataclass(frozen=True)
class Forest:
    """Trees of public shape, and in each leaf how much a patient there is benign rather than malignant."""

    trees: tuple[ExtraTreeClassifier, ...]
    lean: tuple[Array, ...]

    def right(self, patients: Patients) -> int:
        """How many of the patients it gets right."""
        votes = sum(
            lean[tree.apply(patients.features)] for tree, lean in zip(self.trees, self.lean, strict=True)
        )
        return int(((votes > 0) == patients.benign).sum())


def load() -> tuple[Patients, Patients, Patients]:
    """Training, validation and test patients; who goes where does not depend on anybody's data."""
    data = load_breast_cancer()
    features = data.data[:, list(FEATURES)]
    part = np.random.default_rng(0).integers(0, 10, len(features))
    return (
        Patients(features[part < 6], data.target[part < 6]),
        Patients(features[(part >= 6) & (part < 8)], data.target[(part >= 6) & (part < 8)]),
        Patients(features[part >= 8], data.target[part >= 8]),
    )


def public_tree(depth: int, number: int) -> ExtraTreeClassifier:
    """A tree grown on points that have nothing to do with the data, within the public ranges."""
    generator = np.random.default_rng([depth, number])
    low, high = np.array(list(FEATURES.values())).T
    points = generator.uniform(low, high, (4096, len(FEATURES)))
    tree = ExtraTreeClassifier(max_depth=depth, max_features=1, random_state=number)
    return tree.fit(points, generator.integers(0, 2, len(points)))


def private_forest(patients: Patients, depth: int, trees: int) -> Callable[[fg.BitSource], Forest]:
    """A candidate: a forest that is ε_M-private.

    One patient changes one count of each tree by one. So counts with discrete Laplace noise of η/t,
    clamped to a public range, cost η/t a tree and η in all.
    """
    shapes = tuple(public_tree(depth, number) for number in range(trees))
    eta = base2.Eta.from_epsilon(FOREST_EPSILON, divisor=trees).divided(trees)
    exact = [_counts(shape, patients) for shape in shapes]

    def draw(bits: fg.BitSource) -> Forest:
        def noisy(count: float) -> float:
            noise = base2.clamped_laplace(eta, -MOST_PATIENTS, MOST_PATIENTS, bits=bits)
            return max(0.0, min(MOST_PATIENTS, count + float(noise)))  # whole numbers: exact in doubles

        counts = [np.vectorize(noisy, otypes=[float])(count) for count in exact]
        return Forest(shapes, tuple((c[:, 1] - c[:, 0]) / (c.sum(axis=1) + 1) for c in counts))

    return draw


def _counts(tree: ExtraTreeClassifier, patients: Patients) -> Array:
    """Malignant and benign patients in each node of a tree."""
    counts = np.zeros((tree.tree_.node_count, 2))
    np.add.at(counts, (tree.apply(patients.features), patients.benign), 1)
    return np.minimum(counts, MOST_PATIENTS)


def tune(bits: fg.BitSource | None = None) -> tuple[fg.Candidate, Patients]:
    """The best forest under a total of ε = 3, and the test patients to look at it with."""
    training, validation, test = load()
    candidates = {
        (depth, trees): private_forest(training, depth, trees) for depth, trees in product(DEPTHS, TREES)
    }
    score = fg.NoisyScore(lambda forest: forest.right(validation), epsilon=SCORE_EPSILON, low=0, high=200)
    chosen = fg.best_private_candidate(
        candidates, score, epsilon=FOREST_EPSILON, stop=STOP, hard_stop=HARD_STOP, bits=bits
    )
    return chosen, test


def main(bits: fg.BitSource | None = None) -> fg.Candidate:
    """Tune, and print what was spent and how good the result is."""
    chosen, test = tune(bits)
    depth, trees = chosen.label
    print(f"Chosen: depth {depth}, {trees} trees; total ε = {chosen.spent}")
    accuracy = chosen.output.right(test) / len(test.benign)
    print(f"Right on {accuracy:.1%} of the test patients (always benign: {test.benign.mean():.1%})")
    return chosen


if __name__ == "__main__":
    main()
