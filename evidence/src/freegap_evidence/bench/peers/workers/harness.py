"""Runs one way of doing one task, whenever it is told to, and says how long that took.

It is started as a script by the interpreter of the library's environment, with the path of a worker:

    first line in   the job as JSON: task, way, data, and what else the task has
    first line out  {"ready": true}, after the library was imported and the job prepared
    "run"           one release is made and timed: {"seconds": …, "processor": …, "result": …}; the processor
                    time of all its threads and processes does not depend on what else the machine does
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


def family() -> list[dict[str, str]]:
    """What Linux says of this process, and of those that it started and that still run."""
    known: dict[str, dict[str, str]] = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            lines = dict(line.split(":", 1) for line in status.read_text(encoding="utf-8").splitlines())
            stat = (status.parent / "stat").read_text(encoding="utf-8")
        except (OSError, ValueError):  # it ended meanwhile
            continue
        known[lines["Pid"].strip()] = lines | {"stat": stat}
    ours = [str(os.getpid())]
    for process in ours:  # grows by the children of each
        ours += [child for child, lines in known.items() if lines["PPid"].strip() == process]
    return [known[process] for process in ours if process in known]


def peak_mb() -> float:
    """The most memory that this process held, and those that it started.

    Linux keeps it for the program that runs now; `getrusage` there includes the one that started it.
    """
    if not Path("/proc/self/status").exists():
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return used / (1024 * 1024 if sys.platform == "darwin" else 1024)
    return sum(int(lines.get("VmHWM", "0 kB").split()[0]) for lines in family()) / 1024


def children_seconds() -> float:
    """The processor time of the processes that this one started."""
    ticks = [sum(map(int, lines["stat"].rpartition(")")[2].split()[11:13])) for lines in family()[1:]]
    return sum(ticks) / os.sysconf("SC_CLK_TCK") if ticks else 0.0


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
            of_children, processor, begin = children_seconds(), time.process_time(), time.perf_counter()
            result = release()
            seconds, processor = time.perf_counter() - begin, time.process_time() - processor
            processor += children_seconds() - of_children
        except Exception as error:
            say({"error": f"{type(error).__name__}: {error}"})
            return
        if before is None:
            forget_peak()
            before = peak_mb()
        say({"seconds": seconds, "processor": processor, "result": result})
    say({"before_mb": before, "peak_mb": peak_mb()})


if __name__ == "__main__":
    private = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    serve(sys.argv[1], sys.stdin, private)
