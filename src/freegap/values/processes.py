"""How many processes share some work: the one meaning of `jobs`."""

from __future__ import annotations

import os

from freegap.values.rationals import count_argument


def processes(jobs: object) -> int:
    """So many; for 0, one per processor.

    >>> processes(3), processes(0) >= 1
    (3, True)
    """
    return count_argument("jobs", jobs, least=0) or os.cpu_count() or 1
