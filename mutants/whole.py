"""What else `make test` does with a mutant that the quick tests have not noticed: linter, types, other tests.

`ruff format` does not count, nor does a rule about spaces, lines and their length: a mutant is written by a
program (`[ -1]`), and its spaces are no mistake of anybody. Nor does a name that nobody has defined, which is
how Cosmic Ray writes an `except` that catches nothing, nor that nobody knows what `for x in []` is a list of.
No operator changes an import, so that nothing is left for `lint-imports` to notice.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

from mutants.generate import PACKAGES
from mutants.reach import TESTS

OF_SPACES = "E1,E2,E3,E501,W"
PLACEHOLDER = "CosmicRayTestingException"
_RUFF = ("-m", "ruff", "check", "--no-cache", "--output-format", "concise", "--extend-ignore", OF_SPACES)
_MYPY = (
    "-m", "mypy", "--no-error-summary", "--cache-dir", ".mypy_cache", "--disable-error-code", "var-annotated",
    "src", "evidence/src", "tests",
)  # fmt: skip


def other_tests(root: Path) -> tuple[str, ...]:
    """The files of ordinary tests, and the packages with examples, that the quick tests leave out."""
    files = sorted(str(path.relative_to(root)) for path in (root / "tests").rglob("test_*.py"))
    quick = tuple(test if test.endswith(".py") else f"{test}/" for test in TESTS)
    examples = sorted(
        f"src/freegap/{path.name}"
        for path in (root / "src" / "freegap").iterdir()
        if path.stem not in PACKAGES and (path.suffix == ".py" or (path / "__init__.py").is_file())
    )
    return (*(file for file in files if not file.startswith(quick)), *examples, "evidence/src")


def fingerprint(root: Path) -> str:
    """Of everything below tests: a mutant that is noticed after a test was added was not noticed at first."""
    found = hashlib.sha256()
    for path in sorted((root / "tests").rglob("*")):
        if path.is_file() and not {".hypothesis", "__pycache__"} & set(path.parts):
            found.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:12]


def checked(root: Path, file: str, code: str) -> str:
    """What the linter or the type checker say of a file with this text: the rule; empty if nothing.

    In a copy of the tree, where the types of the other files are kept: only the first time takes minutes.
    """
    if PLACEHOLDER in code:
        return ""
    path = root / "src" / "freegap" / file
    before = path.read_text(encoding="utf-8")
    path.write_text(code, encoding="utf-8")
    try:
        return _first(root, (*_RUFF, str(path)), "ruff", r": ([A-Z]+\d+) ") or _first(
            root, _MYPY, "mypy", r": error: .*?(?:\[([a-z-]+)\])?$"
        )
    finally:
        path.write_text(before, encoding="utf-8")


def _first(root: Path, command: tuple[str, ...], name: str, rule: str) -> str:
    """The rule of the first thing that a tool has found; empty if it has found nothing."""
    done = subprocess.run(  # noqa: S603 (our own interpreter)
        [sys.executable, *command], cwd=root, capture_output=True, text=True, check=False
    )
    if not done.returncode:
        return ""
    found = re.search(rule, done.stdout, re.MULTILINE)
    return f"{name} {found[1] or ''}".strip() if found else f"{name}: {(done.stdout + done.stderr)[-300:]}"
