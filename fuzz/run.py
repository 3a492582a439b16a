"""Coverage-guided fuzzing of the targets in `tests/fuzz`, one process for each.

    python fuzz/run.py                     all targets, RUNS runs each (2,000 unless the variable is set)
    python fuzz/run.py noisy_top_k bits    these
    python fuzz/run.py --list              their names

The targets are hypothesis tests. atheris changes the bytes that hypothesis makes its examples from, and keeps
those that reach new code of freegap; inputs that found something stay in out/fuzz/ and are tried again first.
Bytes that hypothesis can make no example from are runs too; how many were examples is said, and a target
without any has failed. The first failure of a target ends it, and is printed with the arguments that caused
it. The exit code is the number of targets that failed.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULES = ("test_mechanisms", "test_tables", "test_ledger", "test_audit_and_prove", "test_command_line")
# What takes long for each run gets fewer of them.
SLOW = {"test_tables": 10, "test_ledger": 5, "test_audit_and_prove": 10, "test_command_line": 10}
# Imported by freegap when first used, which would be too late to be watched.
WATCHED = ("audit", "budget", "cli", "prove", "report", "symbolic", "tables")
LONGEST = 8192  # bytes of an input


def names() -> dict[str, str]:
    """Every target, and the module that has it."""
    from importlib import import_module

    return {target: module for module in MODULES for target in import_module(f"tests.fuzz.{module}").TARGETS}


def place(target: str) -> Path:
    """Where the inputs of a target are kept; the number of its examples is in a file next to it."""
    return ROOT / "out" / "fuzz" / re.sub(r"\W+", "-", target)


def sow(corpus: Path) -> None:
    """Inputs to start with: from nothing, libFuzzer tries a few bytes, too few for most examples.

    Zeros are the simplest example, mostly a correct call; the more of them are changed, the wilder it gets.
    """
    corpus.mkdir(parents=True, exist_ok=True)
    seeded = random.Random(1)  # noqa: S311 (not for privacy)
    for length in (64, 256, 1024, 4096, LONGEST):
        for changed in (0, 1 / 16, 1 / 4, 1):
            start = bytes(byte if seeded.random() < changed else 0 for byte in seeded.randbytes(length))
            (corpus / f"start-{length}-{changed}").write_bytes(start)


def counting(check: Callable[[bytes], bytes | None], count: Path) -> Callable[[bytes], None]:
    """The check of one input; what was an example is counted, in a file: libFuzzer ends the process."""
    examples = 0

    def run(data: bytes) -> None:
        nonlocal examples
        if check(data) is not None:
            examples += 1
            count.write_text(str(examples), encoding="utf-8")

    return run


def fuzz(module: str, target: str, runs: int) -> None:
    """Run one target in this process, which libFuzzer then ends."""
    import atheris

    with atheris.instrument_imports(include=["freegap"]):
        from importlib import import_module
        from pkgutil import walk_packages

        for package in WATCHED:
            found = import_module(f"freegap.{package}")
            for part in walk_packages(found.__path__, f"freegap.{package}."):
                import_module(part.name)
        check = import_module(f"tests.fuzz.{module}").TARGETS[target].hypothesis.fuzz_one_input
    corpus = place(target)
    sow(corpus)
    arguments = [sys.argv[0], f"-runs={runs}", f"-max_len={LONGEST}", "-len_control=0", "-rss_limit_mb=8192"]
    arguments += ["-timeout=120", "-print_final_stats=1", f"-artifact_prefix={corpus.parent}/", "-seed=1"]
    atheris.Setup([*arguments, str(corpus)], counting(check, corpus.with_suffix(".examples")))
    atheris.Fuzz()


def report(target: str, runs: int, done: subprocess.CompletedProcess[str]) -> bool:
    """Print what came of a target; whether it was good."""
    count = place(target).with_suffix(".examples")
    examples = int(count.read_text(encoding="utf-8")) if count.exists() else 0
    coverage = re.findall(r"cov: (\d+)", done.stderr)
    executed = re.findall(r"number_of_executed_units: (\d+)", done.stderr)
    shown = executed[-1] if executed else runs  # libFuzzer may do a few more than it was told
    good = done.returncode == 0 and examples > 0
    print(f"{'ok' if good else 'FAILED':<7}{target:<34}{shown:>8} runs{examples:>8} examples", end="")
    print(f"{coverage[-1]:>6} edges" if coverage else "", flush=True)
    if not good:
        print(done.stdout[-3000:], done.stderr[-3000:], sep="\n", flush=True)
    return good


def main() -> int:
    """Fuzz what was asked for; how many targets failed."""
    sys.path.insert(0, str(ROOT))
    if len(sys.argv) == 5 and sys.argv[1] == "--one":
        fuzz(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    known = names()
    if sys.argv[1:] == ["--list"]:
        print("\n".join(known))
        return 0
    unknown = [name for name in sys.argv[1:] if name not in known]
    if unknown:
        print(f"no such target: {unknown[0]}; --list names them", file=sys.stderr)
        return 1
    runs = int(os.environ.get("RUNS", "2000"))
    failed = 0
    for target in sys.argv[1:] or known:
        module = known[target]
        share = max(1, runs // SLOW.get(module, 1))
        place(target).with_suffix(".examples").unlink(missing_ok=True)
        command = [sys.executable, __file__, "--one", module, target, str(share)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace")  # noqa: S603
        failed += not report(target, share, done)
    return failed


if __name__ == "__main__":
    sys.exit(main())
