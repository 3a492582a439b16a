"""The pytest plugin: a marker and a fixture.

    @pytest.mark.private(epsilon=0.7, neighbours="one")
    def noisy_count(answers, epsilon, rng):          # the mechanism itself: collected, audited, never called
        return answers[0] + rng.laplace(scale=1 / epsilon)

    def test_release(assert_private):                # or the fixture, inside a test
        assert_private(my_mechanism, epsilon=0.7)

pytest imports this module in every environment that has freegap, so it imports the audit, and with it the
`audit` extra, only where one of the two is used.

Both audit with a fixed seed unless one is given, so that a test does not change its mind.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

SEED = 20_260_101


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers", "private(epsilon or rho, **settings): audit the marked mechanism with freegap.audit"
    )


@pytest.fixture(name="assert_private")
def assert_private() -> Callable[..., Any]:
    """`freegap.assert_private` with a fixed seed."""
    from freegap.auditor.run import assert_private as run

    def check(mechanism: Callable[..., Any], **settings: Any) -> Any:
        return run(mechanism, **{"seed": SEED, **settings})

    return check


def pytest_pycollect_makeitem(collector: Any, name: str, obj: object) -> pytest.Item | None:
    """Collect a marked function as an audit of itself, whatever its name."""
    marks = [mark for mark in getattr(obj, "pytestmark", []) if mark.name == "private"]
    if not marks or not inspect.isfunction(obj):
        return None
    item: pytest.Item = _AuditItem.from_parent(collector, name=name, mechanism=obj, settings=marks[0].kwargs)
    item.add_marker("private")
    return item


class _AuditItem(pytest.Item):
    """An audit of a marked function."""

    def __init__(self, *, mechanism: Callable[..., Any], settings: dict[str, Any], **rest: Any) -> None:
        super().__init__(**rest)
        self.mechanism = mechanism
        self.settings = settings

    def runtest(self) -> None:
        """Audit; a counterexample fails the test."""
        from freegap.auditor.run import assert_private as run

        if not {"epsilon", "rho"} & self.settings.keys():
            raise pytest.UsageError(f"{self.nodeid}: pytest.mark.private needs epsilon=… or rho=…")
        run(self.mechanism, **{"seed": SEED, **self.settings})

    def repr_failure(self, excinfo: Any, style: Any = None) -> Any:
        """The counterexample itself, without a traceback through the auditor."""
        from freegap.errors import FreegapError

        if isinstance(excinfo.value, FreegapError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        """Where the mechanism stands."""
        return self.path, inspect.getsourcelines(self.mechanism)[1], f"audit of {self.name}"
