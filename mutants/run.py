"""Try generated mutants on the ordinary tests that reach them.

    python -m mutants.run                             all of them: many hours
    python -m mutants.run --sample 100 exact tables   at most 100 of each of these packages, by a fixed seed
    python -m mutants.run --seed 15 --sample 30       another sample
    python -m mutants.run --tests tests/tables        on these tests alone: less to record
    python -m mutants.run --seed 15 --whole           those of it that survived, on the rest of `make test`
    python -m mutants.run --again                     once more those that survived: more tests, or new ones
    python -m mutants.run --page                      write docs/mutants.md from what is known

Results are kept in out/mutants/results.jsonl as they come: an interrupted run goes on where it was. A change
of a file makes new mutants of it. Which tests reach which lines is recorded first, and again after a change.
What `--whole` notices counts as noticed at first only if no test has changed since: run it before adding one.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate, zip_longest
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from mutants.generate import PACKAGES, Mutant, files, mutants
from mutants.page import explained, named, written
from mutants.reach import TESTS, Reach, recorded
from mutants.whole import checked, fingerprint, other_tests

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "out" / "mutants"
RESULTS = PLACE / "results.jsonl"
SEED = 14
LONGEST = 60.0  # seconds of tests for one mutant; the slowest are left out beyond that


class Worker:
    """A process of `mutants.worker`, with a copy of the tree of its own."""

    def __init__(self, directory: Path, *, checks: bool = False) -> None:
        self.root = directory
        command = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)  # noqa: S603
        for name in listed.stdout.decode().split("\0"):
            if name and (ROOT / name).is_file():
                (directory / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, directory / name)
        if checks:  # which keeps the types of all files for those that follow
            rule = checked(directory, "bits.py", (ROOT / "src" / "freegap" / "bits.py").read_text("utf-8"))
            if rule:
                raise SystemExit(f"without a mutant: {rule}")
        self.process = subprocess.Popen(  # noqa: S603 (our own interpreter)
            [sys.executable, "-m", "mutants.worker", str(directory)], cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip

    def tried(self, mutant: Mutant, reach: Reach, *, whole: bool = False) -> dict[str, str] | None:
        """What became of a mutant, by the quick tests or by `make test` as a whole; None where it is none."""
        code = mutant.code(ROOT / "src")
        if code is None:
            return None
        if whole and (rule := checked(self.root, mutant.file, code)):
            return {"outcome": "killed", "by": rule}
        tests = reaching(mutant, reach) if whole else chosen(mutant, reach)
        while tests:
            result = self._on(mutant.file, code, tests, reach)
            failed = result["by"].partition(" ")[2]
            # One that fails in a copy of the tree without a mutant too (no Git there) says nothing.
            if not whole or failed not in tests or self._passes(mutant.file, failed, reach):
                return result
            tests.remove(failed)
        return {"outcome": "survived", "by": "no test reaches it"}

    def _passes(self, file: str, test: str, reach: Reach) -> bool:
        before = (ROOT / "src" / "freegap" / file).read_text(encoding="utf-8")
        return self._on(file, before, [test], reach)["outcome"] == "survived"

    def _on(self, file: str, code: str, tests: list[str], reach: Reach) -> dict[str, str]:
        usual = {test: reach.seconds[test] for test in tests}
        limit = 60 + 20 * sum(usual.values())  # by the clock, for what hangs without using a processor
        job = {"file": file, "code": code, "tests": usual, "seconds": limit}
        print(json.dumps(job), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline() if self.process.stdout else ""
        return dict(json.loads(answer))

    def close(self) -> None:
        """No more jobs."""
        if self.process.stdin:
            self.process.stdin.close()
        self.process.wait()


def reaching(mutant: Mutant, reach: Reach) -> list[str]:
    """All tests that may notice a mutant, the quickest first."""
    return reach.tests(mutant.file, mutant.first, mutant.last, on_import=mutant.on_import)


def chosen(mutant: Mutant, reach: Reach) -> list[str]:
    """The quickest of them, up to a limit; one at least."""
    tests = reaching(mutant, reach)
    totals = accumulate(reach.seconds[test] for test in tests)
    return tests[: max(1, sum(total <= LONGEST for total in totals))]


def known() -> dict[str, dict[str, Any]]:
    """The results so far."""
    return joined(RESULTS.read_text(encoding="utf-8").splitlines()) if RESULTS.exists() else {}


def joined(lines: list[str]) -> dict[str, dict[str, Any]]:
    """What became of each mutant at last; and at first, in which sample and by which tests.

    What `make test` as a whole made of it is kept beside that, under "whole".
    """
    found: dict[str, dict[str, Any]] = {}
    for line in map(json.loads, lines):
        before = found.get(line["key"], {})
        if line.get("step") == "whole":
            found[line["key"]] = before | {"whole": _with_first(before.get("whole", {}), line)}
        else:
            found[line["key"]] = before | _with_first(before, line)
    return found


def _with_first(before: dict[str, Any], line: dict[str, Any]) -> dict[str, Any]:
    first = before or {"first": line["outcome"], "seed": line["seed"], "tests": line.get("tests")}
    return line | {name: first[name] for name in ("first", "seed", "tests")}


def is_open(result: dict[str, Any]) -> bool:
    """Whether it survived all that it was tried on, and nobody has said why it may."""
    outcomes = {result["outcome"], result.get("whole", result)["outcome"]}
    return outcomes == {"survived"} and named(result) not in explained()


def is_wanted(result: dict[str, Any] | None, asked: argparse.Namespace) -> bool:
    """Whether a mutant with this result so far is to be tried."""
    if result is None:
        return not asked.whole
    if asked.whole:
        return is_open(result) and result["seed"] == asked.seed and (asked.again or "whole" not in result)
    return asked.again and is_open(result)


def drawn(packages: tuple[str, ...], sample: int | None, seed: int) -> list[Mutant]:
    """The mutants of these packages, or a sample of each: the first of an order that the seed fixes.

    One of each package in turn, so that a run that is stopped has seen something of all of them.
    """
    columns = []
    for package in packages:
        those = [mutant for file in files(ROOT / "src", (package,)) for mutant in mutants(ROOT / "src", file)]
        random.Random(seed).shuffle(those)  # noqa: S311 (which mutants are tried, not privacy)
        columns.append(those[:sample])
    return [mutant for row in zip_longest(*columns) for mutant in row if mutant is not None]


def main() -> int:
    """Run those that are asked for and have no result yet."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("packages", nargs="*", help=f"of {', '.join(PACKAGES)}; all unless given")
    parser.add_argument("--sample", type=int, help="at most so many of each package")
    parser.add_argument("--seed", type=int, default=SEED, help="of the order in which a package's are tried")
    parser.add_argument(
        "--tests", nargs="+", default=TESTS, help="folders and files of tests; all unless given"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--again", action="store_true", help="those that survived once more")
    parser.add_argument(
        "--whole", action="store_true", help="those of the seed that survived, on the rest of `make test`"
    )
    parser.add_argument("--page", action="store_true", help="write docs/mutants.md and stop")
    asked = parser.parse_args()
    packages = tuple(asked.packages) or PACKAGES
    if asked.page:
        written(ROOT, known())
        return 0
    PLACE.mkdir(parents=True, exist_ok=True)
    # Some tests start what is installed beside this interpreter.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as open_files:
        tests = (*asked.tests, *other_tests(ROOT)) if asked.whole else tuple(asked.tests)
        reach = recorded(ROOT, PLACE / "reach", asked.jobs, tests)
        results = known()
        wanted = [
            mutant
            for mutant in drawn(packages, asked.sample, asked.seed)
            if is_wanted(results.get(mutant.key), asked)
        ]
        of_tests = fingerprint(ROOT)
        workers: SimpleQueue[Worker] = SimpleQueue()
        for number in range(asked.jobs):
            workers.put(Worker(Path(directory) / str(number), checks=asked.whole))
        kept = open_files.enter_context(RESULTS.open("a", encoding="utf-8"))
        columns = (TextColumn("mutants"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        bar = open_files.enter_context(Progress(*columns))
        task = bar.add_task("mutants", total=len(wanted))

        def one(mutant: Mutant) -> None:
            worker = workers.get()
            try:
                result = worker.tried(mutant, reach, whole=asked.whole)
            finally:
                workers.put(worker)
            bar.advance(task)
            if result is None:
                result = {"outcome": "none", "by": ""}
            old, new = mutant.change(ROOT / "src") if result["outcome"] != "none" else ("", "")
            line = {
                "key": mutant.key,
                "seed": asked.seed,
                "tests": of_tests,
                "package": mutant.package,
                "file": mutant.file,
                "line": mutant.first,
                "within": mutant.within,
                "old": old,
                "new": new,
                **result,
                **({"step": "whole"} if asked.whole else {}),
            }
            print(json.dumps(line, ensure_ascii=False), file=kept, flush=True)
            if result["outcome"] in ("survived", "untested"):
                bar.console.print(
                    f"{result['outcome']}  {mutant.file}:{mutant.first}\n  - {old}\n  + {new}", markup=False
                )

        with ThreadPoolExecutor(asked.jobs) as pool:
            for _ in pool.map(one, wanted):
                pass
        while not workers.empty():
            workers.get().close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
