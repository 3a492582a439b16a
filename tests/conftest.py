"""No test leans on time: Hypothesis would otherwise fail one on a busy machine."""

from __future__ import annotations

import gc

from hypothesis import HealthCheck, settings

settings.register_profile("freegap", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("freegap")


def pytest_collection_finish() -> None:
    """Look for garbage less often, and never among what was loaded: a twentieth of the time of proofs."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
