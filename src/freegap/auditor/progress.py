"""The progress bar of an audit, with the best bound so far."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any

from freegap.auditor.sampling import Workers

__all__ = ["Progress"]


class Progress:
    """Shows the stage, how far it is and the best bound; silent where nobody looks."""

    def __init__(self, wanted: bool | None, workers: Workers) -> None:
        self._wanted = sys.stderr.isatty() if wanted is None else wanted
        self._workers = workers
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> Progress:
        if self._wanted:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                TextColumn("{task.fields[best]}"),
                TimeElapsedColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task("audit", total=1, best="")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, stage: str, done: int, total: int, best: float) -> None:
        """Say where the audit is."""
        if self._bar is not None:
            shown = f"{self._workers.runs:,} runs, best so far ε ≥ {max(0.0, best):.3f}"
            self._bar.update(self._task, description=stage, completed=done, total=total, best=shown)
