"""One worker: a process that has imported what the tests need, and forks a child for each mutant.

It reads a job a line from its standard input and answers with a line: the file with its new text, the tests
and the seconds; whether the tests failed, and the first that did.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import sys
import time
import traceback
from collections.abc import Generator
from pathlib import Path

import pytest

# Without freegap, which each child imports anew, and without what starts threads when it is imported.
PRELOADED = (
    "numpy flint pytest hypothesis.strategies sqlalchemy.orm pandas narwhals rich.console typer scipy.stats"
)
PASSED, INTERNAL, USAGE, NOTHING = 0, 3, 4, 5  # pytest's exit codes


class Stopwatch:
    """A pytest plugin that ends the process where a test takes much longer than it did without a mutant.

    In processor time, so that a busy machine kills nothing.
    """

    def __init__(self, usual: dict[str, float]) -> None:
        self._usual = usual

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Set before a test, taken off after it."""

        def over(number: int, frame: object) -> None:
            os.write(1, f"FAILED {item.nodeid} - it does not end\n".encode())
            os._exit(1)

        signal.signal(signal.SIGPROF, over)
        signal.setitimer(signal.ITIMER_PROF, 10 + 10 * self._usual.get(item.nodeid, 0.0))
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)


def sources(root: Path) -> list[str]:
    """Where what the tests import lies."""
    return [str(root / "src"), str(root), str(root / "evidence" / "src")]


def in_child(root: Path, tests: dict[str, float], said: Path) -> None:
    """Run these tests, given with the seconds that they usually take, and end."""
    os.setsid()
    output = os.open(said, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    code = INTERNAL
    try:
        sys.path[:0] = sources(root)
        options = ["-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not long"]
        options += [
            "-W",
            "ignore:Module already imported:pytest.PytestAssertRewriteWarning",
        ]  # preloaded ones
        code = int(pytest.main([*options, *tests], plugins=[Stopwatch(tests)]))
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def ended(child: int, seconds: float) -> int | None:
    """The exit code of a child; None if it did not end in time."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def tried(root: Path, job: dict[str, object]) -> dict[str, str]:
    """Whether the tests notice."""
    path = root / "src" / "freegap" / str(job["file"])
    before = path.read_text(encoding="utf-8")
    said = root / "said"
    path.write_text(str(job["code"]), encoding="utf-8")
    try:
        child = os.fork()
        if not child:
            in_child(root, dict(job["tests"]), said)  # type: ignore[call-overload]
        code = ended(child, float(str(job["seconds"])))
    finally:
        path.write_text(before, encoding="utf-8")
    if code is None:
        return {"outcome": "killed", "by": "it does not end"}
    if code == PASSED:
        return {"outcome": "survived", "by": ""}
    text = said.read_text(encoding="utf-8", errors="replace")
    failed = [line for line in text.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    if code in (INTERNAL, USAGE) and "src/freegap/" in text and re.search(r"^(E +)?\w+Error: ", text, re.M):
        return {"outcome": "killed", "by": "it cannot be imported"}
    if code in (INTERNAL, NOTHING) or (not failed and code == USAGE):
        return {"outcome": "untested", "by": text[-300:]}
    return {"outcome": "killed", "by": failed[0].split(" - ")[0][:200] if failed else f"exit code {code}"}


def main() -> None:
    """Answer jobs until there are no more."""
    root = Path(sys.argv[1])
    os.chdir(root)
    os.environ["PYTHONPATH"] = os.pathsep.join(sources(root))
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(root / ".hypothesis")
    for name in PRELOADED.split():
        importlib.import_module(name)
    for line in sys.stdin:
        print(json.dumps(tried(root, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
