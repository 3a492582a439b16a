"""One worker: a process that has imported what the tests need, and forks a child for each mutant.

It reads a job a line from its standard input and answers with a line: the file with its new text, the tests
and the seconds; whether the tests failed, and the first that did.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import time
import traceback
from pathlib import Path

# Without freegap, which each child imports anew, and without what starts threads when it is imported.
PRELOADED = (
    "numpy flint pytest hypothesis.strategies sqlalchemy.orm pandas narwhals rich.console typer scipy.stats"
)
PASSED, INTERNAL, USAGE, NOTHING = 0, 3, 4, 5  # pytest's exit codes


def in_child(root: Path, tests: list[str], said: Path) -> None:
    """Run these tests and end."""
    os.setsid()
    output = os.open(said, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    code = INTERNAL
    try:
        import pytest

        sys.path[:0] = [str(root / "src"), str(root)]
        options = ["-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-p", "no:xdist", "-m", "not long"]
        options += [
            "-W",
            "ignore:Module already imported:pytest.PytestAssertRewriteWarning",
        ]  # preloaded ones
        code = int(pytest.main([*options, *tests]))
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
            in_child(root, list(job["tests"]), said)  # type: ignore[call-overload]
        code = ended(child, float(str(job["seconds"])))
    finally:
        path.write_text(before, encoding="utf-8")
    if code is None:
        return {"outcome": "killed", "by": "it does not end"}
    if code == PASSED:
        return {"outcome": "survived", "by": ""}
    text = said.read_text(encoding="utf-8", errors="replace")
    failed = [line for line in text.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    if code == INTERNAL and f"{root}/src/freegap/" in text:
        return {"outcome": "killed", "by": "it cannot be imported"}
    if code in (INTERNAL, NOTHING) or (not failed and code == USAGE):
        return {"outcome": "untested", "by": text[-300:]}
    return {"outcome": "killed", "by": failed[0].split(" - ")[0][:200] if failed else f"exit code {code}"}


def main() -> None:
    """Answer jobs until there are no more."""
    root = Path(sys.argv[1])
    os.chdir(root)
    os.environ["PYTHONPATH"] = f"{root / 'src'}{os.pathsep}{root}"
    os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(root / ".hypothesis")
    for name in PRELOADED.split():
        importlib.import_module(name)
    for line in sys.stdin:
        print(json.dumps(tried(root, json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
