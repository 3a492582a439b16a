"""Coverage-guided fuzzing of the targets in `tests/fuzz`, one process for each.

    python fuzz/run.py                     all targets, RUNS runs each (2,000 unless the variable is set)
    python fuzz/run.py noisy_top_k bits    these
    python fuzz/run.py --list              their names

The targets are hypothesis tests. atheris changes the bytes that hypothesis makes its examples from, and keeps
those that reach new code of freegap; inputs that found something stay in out/fuzz/ and are tried again first.
The first failure of a target ends it, and is printed with the arguments that caused it. The exit code is the
number of targets that failed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MODULES = ("test_mechanisms", "test_tables", "test_ledger", "test_audit_and_prove", "test_command_line")
# What takes long for each run gets fewer of them.
SLOW = {"test_tables": 10, "test_ledger": 5, "test_audit_and_prove": 10, "test_command_line": 10}


def names() -> dict[str, str]:
    """Every target, and the module that has it."""
    from importlib import import_module

    return {target: module for module in MODULES for target in import_module(f"tests.fuzz.{module}").TARGETS}


def fuzz(module: str, target: str, runs: int) -> None:
    """Run one target in this process, which libFuzzer then ends."""
    import atheris

    with atheris.instrument_imports(include=["freegap"]):
        from importlib import import_module

        found = import_module(f"tests.fuzz.{module}").TARGETS[target]
    corpus = ROOT / "out" / "fuzz" / re.sub(r"\W+", "-", target)
    corpus.mkdir(parents=True, exist_ok=True)
    arguments = [sys.argv[0], f"-runs={runs}", "-max_len=8192", "-rss_limit_mb=8192", "-timeout=120"]
    arguments += ["-print_final_stats=1", f"-artifact_prefix={corpus.parent}/", "-seed=1", str(corpus)]
    atheris.Setup(arguments, found.hypothesis.fuzz_one_input)
    atheris.Fuzz()


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
        command = [sys.executable, __file__, "--one", module, target, str(share)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace")  # noqa: S603
        coverage = re.findall(r"cov: (\d+)", done.stderr)
        print(f"{'ok' if done.returncode == 0 else 'FAILED':<7}{target:<34}{share:>8} runs", end="")
        print(f"  {coverage[-1]} edges" if coverage else "", flush=True)
        if done.returncode:
            failed += 1
            print(done.stdout[-3000:], done.stderr[-3000:], sep="\n", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
