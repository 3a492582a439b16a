"""Where the search on a device would end, without one: by exact laws, with counts that are drawn by chance,
and a clock that goes by the pace of an H200.

A GPU sees in a second what a CPU sees in an hour, so that its search cannot be tried here by running it. But
of a sparse vector every output has a probability that is one integral. So `weigh` is told what a device would
have counted, and the clock how long that takes there; all else is the code that runs.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from freegap_evidence.bench.audit_device import WANTED, measure
from freegap_evidence.catalogue import CATALOGUE
from numpy.typing import NDArray

from freegap.auditor import device_pace, device_stages, sampling
from freegap.auditor.device_pace import PacedStages
from freegap.auditor.device_stages import END, DeviceStages
from freegap.auditor.device_weighed import CAUTION, SeenThere, Weighed
from freegap.auditor.outputs import Outputs
from freegap.auditor.reading import from_objects

OVERHEAD, HERE = 0.06, 6.5  # seconds of a weighing whatever its size, and of the search in this process
LEAST = 2**24
DEVIATIONS = 5.02  # by which a confirmed bound stays below

Floats = NDArray[np.float64]


def laplace_below(x: Any, scale: float) -> Any:
    """P(Laplace noise ≤ x)."""
    tail = 0.5 * np.exp(-np.abs(x) / scale)
    return np.where(np.asarray(x) < 0, tail, 1 - tail)


@dataclass
class SparseVectorLaw:
    """The outputs of a sparse vector of the catalogue with bound 1, and their exact probabilities.

    number: what an answer that is above says: the "answer" with noise, its "gap", or only that it is.
    """

    epsilon: float
    pace: float
    number: str | None = None
    seen: dict[Any, Floats] = field(default_factory=dict)

    @cached_property
    def _threshold(self) -> tuple[Floats, Floats]:
        scale = 2 / self.epsilon
        at = np.linspace(-30, 30, 1501) * scale
        return at, np.exp(-np.abs(at) / scale) / (2 * scale) * (at[1] - at[0])

    @cached_property
    def cells(self) -> Floats:
        """Where numbers are told apart: at whole numbers, and at parts and multiples of the noise's scale."""
        parts = np.round(np.arange(-80, 81) / 4 / self.epsilon, 5)
        return np.array(sorted({-1e9, 1e9, *map(float, range(-90, 91)), *parts.tolist()}))

    def outputs(self, n: int) -> Outputs:
        """All of them, a number being in the middle of its cell."""
        none = [False] * n
        if self.number is not None:
            middles = ((self.cells[:-1] + self.cells[1:]) / 2).tolist()
            return from_objects([none, *([False] * j + [m] for j in range(n) for m in middles)])
        pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
        return from_objects(
            [none, *([k == i for k in range(n)] for i in range(n))]
            + [[k in pair for k in range(pair[1] + 1)] for pair in pairs]
        )

    def probabilities(self, answers: Sequence[float], threshold: float) -> Floats:
        """Of these outputs, in their order."""
        key = (*answers, threshold)
        if key not in self.seen:
            at, weights = self._threshold
            below = [laplace_below(threshold + at - a, 4 / self.epsilon) for a in answers]
            find = self._two if self.number is None else self._numbered
            self.seen[key] = np.maximum(find(answers, at + threshold, weights, below), 0)
        return self.seen[key]

    def _two(self, answers: Sequence[float], bar: Floats, weights: Floats, below: list[Floats]) -> Floats:
        """Up to two are above."""
        found = [float((weights * np.prod(below, axis=0)).sum())]
        for i in range(len(answers)):
            rest = [b for k, b in enumerate(below) if k != i]
            found.append(
                float((weights * (1 - below[i]) * np.prod([np.ones_like(bar), *rest], axis=0)).sum())
            )
        for i in range(len(answers)):
            so_far = weights * np.prod([np.ones_like(bar), *below[:i]], axis=0) * (1 - below[i])
            for j in range(i + 1, len(answers)):
                found.append(float((so_far * (1 - below[j])).sum()))
                so_far = so_far * below[j]
        return np.array(found)

    def _numbered(
        self, answers: Sequence[float], bar: Floats, weights: Floats, below: list[Floats]
    ) -> Floats:
        """One is above, with a number: the answer with noise of its own, or by how much it is above."""
        so_far, parts = weights, []
        for answer, b in zip(answers, below, strict=True):
            if self.number == "answer":
                share = np.diff(laplace_below(self.cells - answer, 1 / self.epsilon))
                parts.append((so_far * (1 - b)).sum() * share)
                so_far = so_far * b
                continue
            top, middle = 8 / self.epsilon, 4 / self.epsilon  # the scales of the two tries
            margin = 2 * 1.4142 * top
            first, second = (
                np.diff(laplace_below(bar + np.maximum(self.cells, least)[:, None] - answer, scale), axis=0)
                for least, scale in ((margin, top), (0.0, middle))
            )
            not_first = laplace_below(bar + margin - answer, top)
            parts.append(((first + not_first * second) * so_far).sum(axis=1))
            so_far = so_far * not_first * laplace_below(bar - answer, middle)
        return np.concatenate([[so_far.sum()], *parts])


LAWS = {
    "sparse_vector_one_true_too_many": {"pace": 1.8e9},
    "adaptive_sparse_vector": {"pace": 2e9, "number": "gap"},
    "numerical_sparse_vector_numbers_free": {"pace": 3.5e9, "number": "answer"},
}


class Ended(Exception):
    """The search has: this is the share of the true loss that a confirmation would come to."""


def simulate(name: str, epsilon: float, seconds: float, seed: int, patch: pytest.MonkeyPatch) -> float:
    """Where a search of so many seconds ends."""
    law, rng = SparseVectorLaw(epsilon, **LAWS[name]), np.random.default_rng(seed)  # type: ignore[arg-type]
    now = [0.0]
    clock = SimpleNamespace(monotonic=lambda: now[0], perf_counter=lambda: now[0])

    def runs_a_second(n: int) -> float:
        return float(law.pace * (10 / n) ** 1.4)

    def expected(candidate: Any, pair: Any) -> list[Floats]:
        threshold = float(dict(candidate.parameters)["threshold"])
        return [law.probabilities(tuple(map(float, side)), threshold) for side in (pair.first, pair.second)]

    def weigh(
        stages: Any, candidate: Any, known: Any, runs: int, caution: float = CAUTION, times: int = 1
    ) -> Weighed:
        pair = candidate.pair if times == 1 else candidate.pair.stretched(times)
        n = len(pair.first)
        outputs = law.outputs(n)
        sides = [rng.poisson(p * runs) for p in expected(candidate, pair)]
        now[0] += 2 * runs / runs_a_second(n) + OVERHEAD
        stages.paces[n] = 1 / runs_a_second(n) + OVERHEAD / (2 * runs)
        held = [event.holds(outputs) for event, _ in known]
        seen = SeenThere(known, [[int(side[hit].sum()) for side in sides] for hit in held])
        for number, side in enumerate(sides):
            whole = 1 if law.number else len(side)
            for i in range(whole):
                seen.outputs.add(i, outputs.part(i, i + 1), number, int(side[i]))
            for j, runs_of in enumerate(side[whole:].reshape(n, -1) if law.number else ()):
                kind = from_objects([[False] * j + [0.0]])
                seen.kinds.add(kind.rows(1)[0], kind, number, int(runs_of.sum()))
        return seen.weighed(candidate, stages._forecast(candidate, runs, caution, times))

    def try_out(stages: Any, candidate: Any) -> None:
        n = len(candidate.pair.first)
        stages.least, stages.paces[n] = LEAST, 1 / runs_a_second(n)
        stages.shortest = 2 * LEAST / runs_a_second(n)
        stages.started = now[0] - HERE

    def confirm(stages: Any, progress: Any) -> None:
        lead = stages.state.leads[0]
        n = len(lead.first)
        runs = (END - stages._elapsed) * seconds * runs_a_second(n) / 2
        hit = lead.finding.event.holds(law.outputs(n))
        p, q = (float(side[hit].sum()) for side in expected(lead.candidate, lead))
        bound = math.log(p / q) - DEVIATIONS * math.sqrt(1 / (runs * p) + 1 / (runs * q))
        raise Ended(bound / CATALOGUE[name].loss(epsilon, 10**9, {"bound": 1}))

    patch.setattr(DeviceStages, "weigh", weigh)
    patch.setattr(PacedStages, "_try_out", try_out)
    patch.setattr(DeviceStages, "confirm", confirm)
    for module in (device_pace, device_stages):
        patch.setattr(module, "time", clock)
    # by which an audit ends that is out of time: however long this machine takes, the device does not
    patch.setattr(
        sampling, "time", SimpleNamespace(monotonic=clock.monotonic, perf_counter=time.perf_counter)
    )
    with pytest.raises(Ended) as ended:
        measure(name, epsilon, device="cpu", seconds=seconds, seed=seed)
    return float(ended.value.args[0])


@pytest.mark.parametrize("name", LAWS)
def test_the_exact_laws_are_those_of_the_catalogue(name: str) -> None:
    """Each output as often as in runs of the entry itself, and all of them together certain."""
    law = SparseVectorLaw(0.7, **LAWS[name])  # type: ignore[arg-type]
    answers, runs = (1.0, 0.0, 2.0), 8_000
    exact = law.probabilities(answers, 0.5)
    assert exact.sum() == pytest.approx(1, abs=2e-3)
    rng = np.random.default_rng(1)
    noise = SimpleNamespace(laplace=lambda scale, label=None: rng.laplace(scale=scale))
    seen: dict[tuple[bool, ...], int] = {}
    for _ in range(runs):
        output = CATALOGUE[name].mechanism(answers, noise, threshold=0.5, bound=1, epsilon=0.7)
        key = tuple(not isinstance(part, bool | np.bool_) or bool(part) for part in output)
        seen[key] = seen.get(key, 0) + 1
    outputs: Any = law.outputs(3).rows(len(exact))
    rows = [tuple(value.text != "False" for _, value in output) for output in outputs]
    for key, count in seen.items():
        p = sum(chance for row, chance in zip(rows, exact, strict=True) if row == key)
        assert abs(count - runs * p) < 7 * math.sqrt(runs * p) + 7


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 7))
@pytest.mark.parametrize(
    ("name", "epsilon", "seconds"),
    [
        ("adaptive_sparse_vector", 0.2, 54),
        ("sparse_vector_one_true_too_many", 0.2, 54),
        ("sparse_vector_one_true_too_many", 0.7, 40),
        ("numerical_sparse_vector_numbers_free", 0.2, 50),
        ("numerical_sparse_vector_numbers_free", 0.7, 30),
    ],
)
def test_where_the_search_ends(
    name: str, epsilon: float, seconds: float, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert simulate(name, epsilon, seconds, seed, monkeypatch) > WANTED
