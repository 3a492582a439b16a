"""freegap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Job = dict[str, Any]
Release = Callable[[], Any]


def noisy_top_k(job: Job) -> Release:
    """`noisy_top_k`, with gaps."""
    import numpy as np

    import freegap as fg

    counts, k, epsilon = np.array(job["data"]), job["k"], job["epsilon"]
    return lambda: [int(i) for i in fg.noisy_top_k(counts, k, epsilon=epsilon, monotonic=True).indices]


def noisy_max(job: Job) -> Release:
    """`noisy_max`, with its gap."""
    import numpy as np

    import freegap as fg

    counts, epsilon = np.array(job["data"]), job["epsilon"]
    return lambda: int(fg.noisy_max(counts, epsilon=epsilon, monotonic=True).indices[0])


def exponential_mechanism(job: Job) -> Release:
    """`exponential_mechanism`, with its gap."""
    import numpy as np

    import freegap as fg

    counts, epsilon = np.array(job["data"]), job["epsilon"]
    return lambda: fg.exponential_mechanism(counts, epsilon=epsilon, monotonic=True).index


def measure(job: Job) -> Release:
    """`measure`."""
    import numpy as np

    import freegap as fg

    counts, epsilon = np.array(job["data"]), job["epsilon"]
    return lambda: [float(value) for value in fg.measure(counts, epsilon=epsilon, resolution=1).values]


def unknown_counts(job: Job) -> Release:
    """`unknown_counts`."""
    import freegap as fg

    counts, epsilon, delta = job["data"], job["epsilon"], job["delta"]

    def release() -> list[Any]:
        return list(fg.unknown_counts(counts, epsilon=epsilon, delta=delta, items_per_person=1).labels)

    return release


def quantiles(job: Job) -> Release:
    """`quantiles` of a list, at 0.5."""
    import numpy as np

    import freegap as fg

    data, (low, high) = np.array(job["data"]), job["bounds"]

    def release() -> float:
        found = fg.quantiles(data, q=0.5, low=low, high=high, resolution=10, epsilon=job["epsilon"])
        return float(found.values[0])

    return release


def top_k_of_a_table(job: Job) -> Release:
    """`top_k` of a CSV file: a selection, at any number of items for each person."""
    import freegap as fg

    domain = range(job["items"])

    def release() -> list[int]:
        found = fg.top_k(
            job["path"], item="item", person="person", k=job["k"], epsilon=job["epsilon"], domain=domain
        )
        return [int(label) for label in found.labels]

    return release


WAYS: dict[str, dict[str, Callable[[Job], Release]]] = {
    "top-k": {"noisy_top_k": noisy_top_k},
    "choice": {"noisy_max": noisy_max, "exponential_mechanism": exponential_mechanism},
    "histogram": {"measure": measure},
    "threshold": {"unknown_counts": unknown_counts},
    "median": {"quantiles": quantiles},
    "table": {"top_k": top_k_of_a_table},
}
