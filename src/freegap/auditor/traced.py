"""What a trace of a mechanism noticed (`freegap.auditor.trace`), as a record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class TraceFinding:
    """What a trace noticed.

    kind: "draws", "control flow", "scale", "sensitivity", "reuse", "seed" or "unused".
    site: the line of the mechanism. text: what it is. first, second: the inputs, where there are two.
    """

    kind: str
    site: str
    text: str
    first: Any = None
    second: Any = None

    def __str__(self) -> str:
        where = "" if self.first is None else f", on {self.first} and {self.second}"
        return f"Trace, {self.kind}: {self.text} ({self.site}{where})."

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain values."""
        return {
            "kind": self.kind,
            "site": self.site,
            "text": self.text,
            "first": self.first,
            "second": self.second,
        }


def trace_lines(found: Sequence[TraceFinding] | None) -> list[str]:
    """For a report: what was noticed, that nothing was, or nothing where nobody asked."""
    if found is None:
        return []
    meaning = "What a trace notices is a place to look at: it is no refutation, and none is no proof."
    return [*map(str, found), meaning] if found else ["The trace noticed nothing.", meaning]
