from __future__ import annotations

import subprocess
import sys

import pytest
from freegap_evidence.bench.timing import keep_freed_memory

FAULTS = """
import resource, sys
import numpy as np
from freegap_evidence.bench.timing import keep_freed_memory
if sys.argv[1] == "kept":
    keep_freed_memory()
for _ in range(3):
    arrays = [np.ones(10**6) for _ in range(3)]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    del arrays
    arrays = [np.ones(10**6) for _ in range(3)]
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def test_memory_that_is_kept_is_not_asked_for_again() -> None:
    """Three arrays of eight megabytes are some thousands of pages, or a few huge ones."""
    if not keep_freed_memory():
        pytest.skip("the C library is another than glibc")
    pages = {
        way: int(subprocess.check_output([sys.executable, "-c", FAULTS, way], text=True))  # noqa: S603
        for way in ("kept", "given back")
    }
    assert pages["kept"] == 0
    assert pages["given back"] > 0
