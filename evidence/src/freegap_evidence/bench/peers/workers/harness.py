"""Runs one way of doing one task, whenever it is told to, and says how long that took.

It is started as a script by the interpreter of the library's environment, with the path of a worker:

    first line in   the job as JSON: task, way, data, and what else the task has
    first line out  {"ready": true}, after the library was imported and the job prepared
    "run"           one release is made and timed: {"seconds": …, "result": …}
    "end"           {"before_mb": …, "peak_mb": …}: memory after the first release, which loads what it needs,
                    and the peak from then on; processes that the library started (Java, for Spark) count too

What a library prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import time
from pathlib import Path
from typing import Any, TextIO


def peak_mb() -> float:
    """The most memory that this process held, and those that it started and that still run.

    Linux keeps it for the program that runs now; `getrusage` there includes the one that started it.
    """
    if not Path("/proc/self/status").exists():
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return used / (1024 * 1024 if sys.platform == "darwin" else 1024)
    parents, peaks = {}, {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = dict(line.split(":", 1) for line in status.read_text(encoding="utf-8").splitlines())
        except (OSError, ValueError):  # it ended meanwhile
            continue
        parents[status.parent.name] = lines["PPid"].strip()
        peaks[status.parent.name] = int(lines.get("VmHWM", "0 kB").split()[0])
    ours = [str(os.getpid())]
    for process in ours:  # grows by the children of each
        ours += [child for child, parent in parents.items() if parent == process]
    return sum(peaks[process] for process in ours) / 1024


def forget_peak() -> None:
    """From here on, Linux records the peak of this process anew."""
    own = Path("/proc/self/clear_refs")
    if own.exists():
        own.write_text("5", encoding="ascii")


def serve(worker: str, asked: TextIO, answers: TextIO) -> None:
    """Answer each line until the end."""

    def say(record: dict[str, Any]) -> None:
        answers.write(json.dumps(record) + "\n")
        answers.flush()

    job: dict[str, Any] = json.loads(asked.readline())
    try:
        ways = runpy.run_path(worker)["WAYS"]
        release = ways[job["task"]][job["way"]](job)
    except Exception as error:
        say({"error": f"{type(error).__name__}: {error}"})
        return
    before: float | None = None
    say({"ready": True})
    for line in asked:
        if line.strip() == "end":
            break
        try:
            begin = time.perf_counter()
            result = release()
            seconds = time.perf_counter() - begin
        except Exception as error:
            say({"error": f"{type(error).__name__}: {error}"})
            return
        if before is None:
            forget_peak()
            before = peak_mb()
        say({"seconds": seconds, "result": result})
    say({"before_mb": before, "peak_mb": peak_mb()})


if __name__ == "__main__":
    private = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(sys.argv[1], sys.stdin, private)
