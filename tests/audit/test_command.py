"""Programs in other languages, over the line protocol."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import freegap as fg
from freegap.auditor.programs import Command

# A counting mechanism in C that adds two-sided geometric noise; SCALE is what it divides ε by.
PROGRAM = r"""
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

static double uniform(void) {
    state += 0x9E3779B97F4A7C15ULL;
    uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return ((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static long geometric(double epsilon) { return (long)floor(-log(1 - uniform()) / epsilon); }

int main(void) {
    char line[4096];
    while (fgets(line, sizeof line, stdin)) {
        long runs = strtol(strtok(line, " \n"), NULL, 10);
        state = strtoull(strtok(NULL, " \n"), NULL, 10);
        double epsilon = strtod(strtok(NULL, " \n"), NULL) * SCALE;
        int count = atoi(strtok(NULL, " \n"));
        double total = 0;
        for (int i = 0; i < count; i++) total += strtod(strtok(NULL, " \n"), NULL);
        for (long i = 0; i < runs; i++)
            printf("%ld\n", (long)total + geometric(epsilon) - geometric(epsilon));
        fflush(stdout);
    }
    return 0;
}
"""

compiler = shutil.which("cc") or shutil.which("gcc")
needs_compiler = pytest.mark.skipif(compiler is None, reason="no C compiler on this machine")


def compiled(folder: Path, scale: str) -> str:
    source = folder / "count.c"
    source.write_text(PROGRAM)
    target = folder / f"count-{scale}"
    subprocess.run(  # noqa: S603
        [str(compiler), "-O2", f"-DSCALE={scale}", str(source), "-o", str(target), "-lm"], check=True
    )
    return str(target)


@needs_compiler
def test_a_program_in_c_is_audited_and_replayed(tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "neighbours": "one",
        "samples": 40_000,
        "search_samples": 8000,
        "seed": 5,
        "jobs": 1,
    }
    right = fg.audit(Command(compiled(tmp_path, "1"), seeded=True), epsilon=1, **settings)
    assert not right.violated
    assert right.epsilon_lower_bound > 0.8
    wrong = fg.audit(Command(compiled(tmp_path, "2"), seeded=True), epsilon=1, **settings)
    again = fg.audit(Command(compiled(tmp_path, "2"), seeded=True), epsilon=1, **settings)
    assert wrong.violated
    assert wrong.replayable
    assert wrong.counterexample is not None
    assert again.counterexample is not None
    assert wrong.counterexample.counts == again.counterexample.counts
    assert wrong.counterexample.to_dict()["seed"] == "5"


def test_a_shell_program_that_tells_everything(tmp_path: Path) -> None:
    script = tmp_path / "tell.sh"
    script.write_text('while read runs seed rest; do yes "$rest" | head -n "$runs"; done\n')
    report = fg.audit(
        Command(["sh", str(script)]), epsilon=1, samples=2000, search_samples=500, jobs=1, seed=1
    )
    assert report.violated
    assert not report.replayable


@pytest.mark.parametrize(
    ("script", "limit", "message"),
    [
        ("read line; echo 1; exit 3", None, "ended with exit status 3"),
        ("read line; echo trouble >&2; exit 1", None, r"exit status 1 \(trouble\)"),
        ("while read line; do :; done", 0.5, r"within 0\.5 s"),  # it never answers
        ("while read line; do seq 1 5000; done", None, "more than"),
    ],
)
def test_a_program_that_fails_is_named_with_the_input(script: str, limit: float | None, message: str) -> None:
    command = Command(["sh", "-c", script], run_limit=limit)
    with pytest.raises(fg.MechanismFailed, match=message) as caught:
        fg.audit(command, epsilon=1, inputs=[([1], [2])], samples=1000, search_samples=500, jobs=1)
    assert caught.value.answers in ([1], [2])


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(fg.MechanismFailed, match="could not be started"):
        fg.audit(Command("./no-such-program"), epsilon=1, samples=1000, search_samples=500, jobs=1)
    with pytest.raises(fg.InvalidArgument):
        Command("")
