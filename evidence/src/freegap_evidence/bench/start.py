"""How long it takes until something happens: imports and commands, each in a process of its own.

The times are those that a person waits, the start of Python included. They take turns, so that what else the
machine does strikes all of them alike.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from freegap_evidence.bench.timing import interleaved_ms, record

_RELEASE = "import freegap; freegap.noisy_max([3, 900, 5], epsilon=1)"
_ROWS = ("item,person", *(f"{item},{person}" for person in range(100) for item in "abcd"[: 1 + person % 4]))


def run(*, rounds: int = 7, progress: Callable[[str], None] = lambda _: None) -> dict[str, Any]:
    """Time each start; the result is what `freegap bench start --json` prints."""
    with tempfile.TemporaryDirectory(prefix="freegap-bench-") as directory:
        table, domain = Path(directory) / "rows.csv", Path(directory) / "items.csv"
        table.write_text("\n".join(_ROWS) + "\n", encoding="utf-8")
        domain.write_text("item\na\nb\nc\nd\ne\n", encoding="utf-8")
        top_k = ["top-k", str(table), "--item", "item", "--person", "person"]
        commands = {
            "python": ["-c", "pass"],
            "import numpy": ["-c", "import numpy"],
            "import freegap": ["-c", "import freegap"],
            "the first release": ["-c", _RELEASE],
            "freegap --help": ["-m", "freegap", "--help"],
            "freegap top-k": ["-m", "freegap", *top_k, "--domain", str(domain), "-k", "2", "--epsilon", "1"],
        }
        progress(", ".join(commands))
        times = interleaved_ms({name: _process(command) for name, command in commands.items()}, rounds=rounds)
    numpy = times["import numpy"]
    rows = [{"start": name, "ms": ms, "to_numpy": ms / numpy} for name, ms in times.items()]
    return record("start", rows, rounds=rounds)


def _process(command: list[str]) -> Callable[[], object]:
    def start() -> None:
        subprocess.run([sys.executable, *command], check=True, capture_output=True)  # noqa: S603

    return start
