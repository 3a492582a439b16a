"""IBM's diffprivlib, by its mechanisms and tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Job = dict[str, Any]
Release = Callable[[], Any]


def _chosen(mechanism: str) -> Callable[[Job], Release]:
    def prepared(job: Job) -> Release:
        from diffprivlib import mechanisms

        made = getattr(mechanisms, mechanism)
        utility, epsilon = job["data"], job["epsilon"]

        def release() -> int:
            return int(made(epsilon=epsilon, sensitivity=1, utility=utility, monotonic=True).randomise())

        return release

    prepared.__doc__ = f"`mechanisms.{mechanism}`."
    return prepared


def peeled(job: Job) -> Release:
    """k times `PermuteAndFlip` at ε/k, each without what was chosen before."""
    from diffprivlib.mechanisms import PermuteAndFlip

    k, epsilon = job["k"], job["epsilon"]

    def release() -> list[int]:
        left, places, chosen = list(job["data"]), list(range(len(job["data"]))), []
        for _ in range(k):
            i = PermuteAndFlip(epsilon=epsilon / k, sensitivity=1, utility=left, monotonic=True).randomise()
            chosen.append(places.pop(i))
            del left[i]
        return chosen

    return release


def geometric(job: Job) -> Release:
    """`mechanisms.Geometric`, cell by cell."""
    from diffprivlib.mechanisms import Geometric

    counts = job["data"]

    def release() -> list[int]:
        noisy = Geometric(epsilon=job["epsilon"], sensitivity=len(counts))
        return [int(noisy.randomise(count)) for count in counts]

    return release


def median(job: Job) -> Release:
    """`tools.median`."""
    import numpy as np
    from diffprivlib import tools

    data, bounds = np.array(job["data"], dtype=float), tuple(job["bounds"])
    return lambda: float(tools.median(data, epsilon=job["epsilon"], bounds=bounds))


WAYS: dict[str, dict[str, Callable[[Job], Release]]] = {
    "top-k": {"PermuteAndFlip, k times": peeled},
    "choice": {"PermuteAndFlip": _chosen("PermuteAndFlip"), "Exponential": _chosen("Exponential")},
    "histogram": {"Geometric": geometric},
    "median": {"tools.median": median},
}
