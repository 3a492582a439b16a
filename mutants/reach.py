"""Which ordinary tests reach which lines, and how long each takes: a mutant is tried on those tests alone.

As a pytest plugin (`-p mutants.reach`) it records one process's tests with coverage.py, a context for each;
the variable MUTANTS_REACH names the file for what was seen.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import coverage
import pytest

from mutants.generate import PACKAGES
from mutants.worker import sources

# The tests of the packages that are mutated, and quick ones that look at all of them. The others of
# `make test` (audits, experiments, most of the command line) kill some more: `--whole` (mutants/whole.py).
# Spark's are left out of both: a start of it takes as long as many mutants.
TESTS = (
    "tests/tables", "tests/budget", "tests/values", "tests/exact", "tests/base2", "tests/bits",
    "tests/estimate", "tests/laws", "tests/mechanisms", "tests/prove", "tests/recorded",
    "tests/cli/test_tables.py", "tests/cli/test_budget.py", "tests/test_padding.py",
    "tests/test_private_candidates.py", "tests/test_private_facts.py", "tests/test_no_unpaid_outputs.py",
    "tests/test_records.py", "tests/test_causes.py", "tests/test_errors.py", "tests/test_public_surface.py",
    "tests/test_computed_once.py",
    "src/freegap/bits.py",
    *(f"src/freegap/{name}" for name in PACKAGES if name != "bits"),
)  # fmt: skip
WANTED = "not long and not spark"
READ_THE_SOURCES = ("tests/test_causes.py",)
"""They reach no line, and concern every mutant."""
LOOK_AT_ALL = ("tests/test_records.py", "tests/test_public_surface.py")
"""At every class and every name, which were imported before: they concern what runs on import."""
ENDED = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


@dataclass(frozen=True)
class Reach:
    """Tests by the lines that they reach, and their seconds."""

    lines: dict[str, dict[int, list[str]]]  # below src/freegap
    seconds: dict[str, float]

    def tests(self, file: str, first: int, last: int, *, on_import: bool) -> list[str]:
        """The tests that reach one of these lines, the quickest first.

        What runs on import was seen in whatever test came first, and concerns all that reach the file. So may
        lines that no test was seen to reach: they may run in a process that a test starts.
        """
        known = self.lines.get(file, {})
        found = {test for line in range(first, last + 1) for test in known.get(line, ())}
        if on_import or not found:
            found = {test for tests in known.values() for test in tests}
        reading = READ_THE_SOURCES + (LOOK_AT_ALL if on_import else ())
        found |= {test for test in self.seconds if test.startswith(reading)}
        # These first: others may be left out where there are too many.
        return sorted(found, key=lambda test: (not test.startswith(reading), self.seconds.get(test, 0), test))


class Recorder:
    """The pytest plugin."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.seconds: dict[str, float] = {}
        self.coverage = coverage.Coverage(data_file=None, include=["*/src/freegap/*"])
        self.coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """One context for each test, its fixtures included."""
        self.coverage.switch_context(item.nodeid)
        start = time.process_time()
        result = yield
        self.seconds[item.nodeid] = time.process_time() - start
        self.coverage.switch_context("")
        return result

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Write down what was seen, unless it was broken off."""
        self.coverage.stop()
        if exitstatus not in ENDED:
            return
        data = self.coverage.get_data()
        lines = {
            file.split("/src/freegap/")[1]: {
                line: [test for test in tests if test]
                for line, tests in data.contexts_by_lineno(file).items()
            }
            for file in data.measured_files()
        }
        self.place.write_text(json.dumps({"lines": lines, "seconds": self.seconds}), encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    """Start recording."""
    config.pluginmanager.register(Recorder(Path(os.environ["MUTANTS_REACH"])))


def recorded(root: Path, place: Path, jobs: int, tests: tuple[str, ...] = TESTS) -> Reach:
    """Run the tests of this tree, in as many processes, or read what an earlier run of the same wrote.

    A file of tests at a time: a new one costs what it takes itself.
    """
    place.mkdir(parents=True, exist_ok=True)

    def one(test: str) -> Path:
        written = place / f"{test.replace('/', '-')}-{_fingerprint(root, test)}.json"
        if not written.exists():
            print(f"which lines do the tests of {test} reach?", flush=True)
            command = [sys.executable, "-m", "pytest", "-q", "-p", "mutants.reach", "-p", "no:cacheprovider"]
            environment = os.environ | {
                "MUTANTS_REACH": str(written), "PYTHONPATH": os.pathsep.join(sources(root)),
            }  # fmt: skip
            done = subprocess.run(  # noqa: S603 (our own interpreter)
                [*command, "-n", "0", "-m", WANTED, test],
                cwd=root, env=environment, capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode not in ENDED:
                raise SystemExit(f"{test} does not pass without a mutant:\n{done.stdout[-3000:]}")
        return written

    with ThreadPoolExecutor(jobs) as pool:
        files = [file for test in tests for file in _files(root, test)]
        return joined([json.loads(path.read_text(encoding="utf-8")) for path in pool.map(one, files)])


def _files(root: Path, test: str) -> list[str]:
    """The files of a folder of tests; a package, whose examples are its tests, as it is."""
    if not test.startswith("tests") or not (root / test).is_dir():
        return [test]
    return sorted(str(path.relative_to(root)) for path in (root / test).rglob("test_*.py"))


def _fingerprint(root: Path, test: str) -> str:
    """Of the sources, this file of tests and what it may import: lines move with every change of them."""
    tests = [*(root / "tests").glob("*.py"), *(root / test).parent.glob("*.py")]
    helpers = [path for path in tests if not path.name.startswith("test_")]
    files = sorted({*(root / "src").rglob("*.py"), *helpers, root / test})
    return hashlib.sha256(b"".join(path.read_bytes() for path in files if path.is_file())).hexdigest()[:12]


def joined(parts: list[dict[str, Any]]) -> Reach:
    """What several processes saw."""
    lines: dict[str, dict[int, list[str]]] = {}
    seconds: dict[str, float] = {}
    for part in parts:
        seconds.update(part["seconds"])
        for file, found in part["lines"].items():
            for line, tests in found.items():
                lines.setdefault(file, {}).setdefault(int(line), []).extend(tests)
    return Reach(lines, seconds)
