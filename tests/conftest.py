"""No test leans on time: Hypothesis would otherwise fail one on a busy machine."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("freegap", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("freegap")
