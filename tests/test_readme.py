"""The README's examples run as printed."""

from __future__ import annotations

import doctest
import shlex
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from freegap.cli import app
from tests import reader

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

# Minutes each; tests of their own run them, `prove --library` in full, and here they are only read.
LONG = ("freegap prove --library", "freegap bench ", "freegap audit --catalogue", "freegap experiment")
QUICK_AUDIT = ("--samples", "2000", "--search-samples", "500", "--jobs", "1", "--neighbours", "one")


def test_examples_of_the_readme() -> None:
    result = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert result.attempted >= 5
    assert result.failed == 0


def test_the_first_example_runs() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = text.split("```python\n", 1)[1].split("```", 1)[0]
    scope: dict[str, object] = {}
    exec(block, scope)  # noqa: S102
    assert str(scope["release"]).startswith("Private top 2 with gaps\nrank  item  gap to next\n")


def test_every_link_to_a_file_leads_somewhere() -> None:
    for page in (ROOT / "docs").rglob("*.md"):
        for target in page.read_text(encoding="utf-8").split("](")[1:]:
            path = target.split(")", 1)[0].partition("#")[0]
            if "://" not in path and path:
                assert (page.parent / path).exists(), f"{page.name}: {path}"


@pytest.mark.parametrize("folder", [ROOT, ROOT / "evidence"], ids=lambda folder: folder.name)
def test_a_readme_is_read_far_from_the_files(folder: Path) -> None:
    """A package index shows it alone: its links are whole, and those into the repository lead somewhere."""
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    source = project["urls"]["Source"]
    text = (folder / "README.md").read_text(encoding="utf-8")
    links = [target.split(")", 1)[0].partition("#")[0] for target in text.split("](")[1:]]
    assert all(link.startswith("https://") for link in links if link)
    into = [link for link in links if link.startswith(f"{source}/")]
    assert folder != ROOT or len(into) > 10
    for link in into:
        kind, _, path = link.removeprefix(f"{source}/").partition("/main/")
        found = ROOT / path
        assert found.is_dir() if kind == "tree" else kind == "blob" and found.is_file(), link


def commands(page: Path) -> list[str]:
    """The freegap commands of a page, as a reader would paste them."""
    blocks = page.read_text(encoding="utf-8").split("```sh\n")[1:]
    lines = [line.strip() for block in blocks for line in block.split("```", 1)[0].splitlines()]
    return [line for line in lines if line.startswith("freegap ")]


def test_every_command_of_every_page_is_understood() -> None:
    """Read to the last option, and not run."""
    group = typer.main.get_group(app)
    found = [command for page in PAGES for command in commands(page)]
    assert len(found) >= 12
    for command in found:
        words = shlex.split(command.removesuffix(" &"), comments=True)[1:]
        with group.make_context("freegap", words) as context:
            rest, parent = [*context._protected_args, *context.args], context
            step: Any = group
            while rest and hasattr(step, "resolve_command"):
                name, step, rest = step.resolve_command(parent, rest)
                assert step is not None, command
                parent = step.make_context(name, rest, parent=parent)
                rest = [*parent._protected_args, *parent.args]
            assert rest == [], command


@pytest.mark.parametrize("page", ["README.md", "docs/tables.md"])
def test_the_commands_run_as_printed(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As printed, save that audits take fewer samples and that what takes minutes is left out."""
    reader.settle(tmp_path)
    monkeypatch.setenv("FREEGAP_LEDGER", f"sqlite:///{tmp_path}/ledger.db")
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    quick = [command for command in commands(ROOT / page) if not command.startswith(LONG)]
    assert len(quick) >= 2
    for command in quick:
        words = shlex.split(command.removesuffix(" &"), comments=True)[1:]
        done = CliRunner().invoke(app, [*words, *(QUICK_AUDIT if words[0] == "audit" else ())])
        assert done.exit_code == 0, (command, done.output, done.exception)
        assert done.stdout
    for name in [name for name in sys.modules if name.split(".")[0] == "shop"]:
        del sys.modules[name]
