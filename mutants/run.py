"""Try generated mutants on the ordinary tests that reach them.

    python -m mutants.run                             all of them: many hours
    python -m mutants.run --sample 100 exact tables   at most 100 of each of these packages, by a fixed seed
    python -m mutants.run --seed 15 --sample 30       another sample
    python -m mutants.run --tests tests/tables        on these tests alone: less to record
    python -m mutants.run --again                     once more those that survived: more tests, or new ones
    python -m mutants.run --page                      write docs/mutants.md from what is known

Results are kept in out/mutants/results.jsonl as they come: an interrupted run goes on where it was. A change
of a file makes new mutants of it. Which tests reach which lines is recorded first, and again after a change.
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
from itertools import zip_longest
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from mutants.generate import PACKAGES, Mutant, files, mutants
from mutants.page import explained, named, written
from mutants.reach import TESTS, Reach, recorded

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "out" / "mutants"
RESULTS = PLACE / "results.jsonl"
SEED = 14
LONGEST = 60.0  # seconds of tests for one mutant; the slowest are left out beyond that


class Worker:
    """A process of `mutants.worker`, with a copy of the tree of its own."""

    def __init__(self, directory: Path) -> None:
        self.root = directory
        command = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)  # noqa: S603
        for name in listed.stdout.decode().split("\0"):
            if name and (ROOT / name).is_file():
                (directory / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(ROOT / name, directory / name)
        self.process = subprocess.Popen(  # noqa: S603 (our own interpreter)
            [sys.executable, "-m", "mutants.worker", str(directory)], cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip

    def tried(self, mutant: Mutant, reach: Reach) -> dict[str, str] | None:
        """What became of a mutant; None where it is none."""
        code = mutant.code(ROOT / "src")
        if code is None:
            return None
        tests, seconds = chosen(mutant, reach)
        if not tests:
            return {"outcome": "survived", "by": "no test reaches it"}
        usual = {test: reach.seconds[test] for test in tests}
        limit = 60 + 20 * seconds  # by the clock, for what hangs without using a processor
        job = {"file": mutant.file, "code": code, "tests": usual, "seconds": limit}
        print(json.dumps(job), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline() if self.process.stdout else ""
        return dict(json.loads(answer))

    def close(self) -> None:
        """No more jobs."""
        if self.process.stdin:
            self.process.stdin.close()
        self.process.wait()


def chosen(mutant: Mutant, reach: Reach) -> tuple[list[str], float]:
    """The tests for a mutant, the quickest first, up to a limit, and how long they take."""
    tests: list[str] = []
    total = 0.0
    for test in reach.tests(mutant.file, mutant.first, mutant.last, on_import=mutant.on_import):
        total += reach.seconds[test]
        if total > LONGEST and tests:
            break
        tests.append(test)
    return tests, min(total, LONGEST)


def known() -> dict[str, dict[str, Any]]:
    """The results so far."""
    if not RESULTS.exists():
        return {}
    found: dict[str, dict[str, Any]] = {}
    for text in RESULTS.read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        # Of one that was tried again: what became of it at first, and in which sample.
        first = found.get(line["key"], line)
        found[line["key"]] = line | {"first": first.get("first", first["outcome"]), "seed": first["seed"]}
    return found


def is_open(result: dict[str, Any]) -> bool:
    """Whether it survived, and nobody has said why it may."""
    return result["outcome"] == "survived" and named(result) not in explained()


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
    parser.add_argument("--page", action="store_true", help="write docs/mutants.md and stop")
    asked = parser.parse_args()
    packages = tuple(asked.packages) or PACKAGES
    if asked.page:
        written(ROOT, known())
        return 0
    PLACE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as open_files:
        reach = recorded(ROOT, PLACE / "reach", asked.jobs, tuple(asked.tests))
        results = known()
        wanted = [
            mutant
            for mutant in drawn(packages, asked.sample, asked.seed)
            if mutant.key not in results or (asked.again and is_open(results[mutant.key]))
        ]
        workers: SimpleQueue[Worker] = SimpleQueue()
        for number in range(asked.jobs):
            workers.put(Worker(Path(directory) / str(number)))
        kept = open_files.enter_context(RESULTS.open("a", encoding="utf-8"))
        columns = (TextColumn("mutants"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        bar = open_files.enter_context(Progress(*columns))
        task = bar.add_task("mutants", total=len(wanted))

        def one(mutant: Mutant) -> None:
            worker = workers.get()
            try:
                result = worker.tried(mutant, reach)
            finally:
                workers.put(worker)
            bar.advance(task)
            if result is None:
                result = {"outcome": "none", "by": ""}
            old, new = mutant.change(ROOT / "src") if result["outcome"] != "none" else ("", "")
            line = {
                "key": mutant.key,
                "seed": asked.seed,
                "package": mutant.package,
                "file": mutant.file,
                "line": mutant.first,
                "within": mutant.within,
                "old": old,
                "new": new,
            } | result
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
