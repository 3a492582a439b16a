"""`python -m freegap` is the command; a release loads neither flint nor what writes files."""

from __future__ import annotations

import subprocess
import sys

import freegap


def printed(*arguments: str) -> str:
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603


def test_the_package_runs_as_the_command() -> None:
    assert printed("-m", "freegap", "--version") == f"freegap {freegap.__version__}\n"


def test_a_release_loads_little() -> None:
    program = (
        "import sys, freegap as fg; fg.noisy_max([3, 900, 5], epsilon=1); "
        "fg.sparse_vector([3, 900], 50, k=1, epsilon=1); print(*sys.modules)"
    )
    loaded = set(printed("-c", program).split())
    assert "freegap.exact.ranking" in loaded
    assert not loaded & {"flint", "numpy.ma", "csv", "html", "rich", "typer", "sqlalchemy", "narwhals"}
