"""What may come of a call: a result that can be shown, or a `FreegapError`; nothing else, and soon."""

from __future__ import annotations

import io
import json
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from typing import Any

from hypothesis import HealthCheck, settings
from rich.console import Console

from freegap.errors import FreegapError, SpellingWarning
from freegap.values.results import Release

__all__ = ["FEW", "FEWER", "attempt", "require_harmless", "require_shown_safely", "soon"]

FEW = settings(
    derandomize=True, max_examples=25, deadline=None, database=None, suppress_health_check=list(HealthCheck)
)
"""A few examples, the same each time; `make fuzz` tries many more."""

FEWER = settings(FEW, max_examples=10)
"""For what takes long."""

_SECONDS = 60  # far beyond what any of these takes; a hang fails instead of blocking the suite


class Hangs(AssertionError):
    """The call did not come back."""


@contextmanager
def soon() -> Iterator[None]:
    """Fail if the block takes very long."""

    def stop(*_: Any) -> None:
        raise Hangs(f"not back after {_SECONDS} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def attempt(call: Callable[..., Any], *arguments: Any, **keywords: Any) -> tuple[Any, FreegapError | None]:
    """The result, or the error that freegap raised on purpose; any other error is passed on, and fails."""
    with soon(), warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", SpellingWarning)  # of the public domain
        try:
            return call(*arguments, **keywords), None
        except FreegapError as error:
            refused = error
    require_harmless(str(refused))
    assert len(str(refused)) < 6000
    return None, refused


def require_shown_safely(release: Release) -> None:
    """In a terminal, in a notebook and as JSON, without anything that steers them."""
    with soon():
        require_harmless(str(release))
        written = io.StringIO()
        Console(file=written, force_terminal=False, width=100).print(release)
        require_harmless(written.getvalue())
        page = release._repr_html_()
        require_harmless(page)
        _Inert().feed(page)
        text = release.to_json()
        require_harmless(text)
        assert json.loads(text)["spent"] == str(release.spent)
        text.encode()  # what is printed must have an encoding


def require_harmless(text: str) -> None:
    """Nothing in a text that a terminal would obey."""
    bad = {c for c in text if not c.isprintable() and c != "\n"}
    assert not bad, f"control characters {sorted(map(ascii, bad))} in {text!a:.300}"


class _Inert(HTMLParser):
    """A page has only the elements that freegap writes."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"}, tag
        assert {name for name, _ in attrs} <= {"style"}
