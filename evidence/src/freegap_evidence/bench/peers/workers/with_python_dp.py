"""Google's library through python-dp (PyDP)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Job = dict[str, Any]
Release = Callable[[], Any]


def laplace(job: Job) -> Release:
    """`LaplaceMechanism.add_noise`, cell by cell."""
    from pydp.algorithms.numerical_mechanisms import LaplaceMechanism

    counts = job["data"]
    noisy = LaplaceMechanism(job["epsilon"], float(len(counts)))
    return lambda: [noisy.add_noise(float(count)) for count in counts]


def partitions(job: Job) -> Release:
    """Truncated geometric partition selection at ε/2 and δ, and a Laplace count of what is kept at ε/2."""
    from pydp.algorithms.numerical_mechanisms import LaplaceMechanism
    from pydp.algorithms.partition_selection import create_truncated_geometric_partition_strategy

    strategy = create_truncated_geometric_partition_strategy(job["epsilon"] / 2, job["delta"], 1)
    noisy = LaplaceMechanism(job["epsilon"] / 2, 1.0)

    def release() -> list[str]:
        kept = {item: noisy.add_noise(float(n)) for item, n in job["data"].items() if strategy.should_keep(n)}
        return list(kept)

    return release


def median(job: Job) -> Release:
    """`Median`."""
    from pydp.algorithms.laplacian import Median

    low, high = job["bounds"]
    data = job["data"]

    def release() -> float:
        found = Median(epsilon=job["epsilon"], lower_bound=low, upper_bound=high, dtype="int")
        return float(found.quick_result(data))

    return release


WAYS: dict[str, dict[str, Callable[[Job], Release]]] = {
    "histogram": {"LaplaceMechanism": laplace},
    "threshold": {"partition selection and count": partitions},
    "median": {"Median": median},
}
