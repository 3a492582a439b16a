"""The examples of a page: what its fenced blocks are, and how they are run.

    ```python with >>>     a session, checked as a doctest
    ```python without      a program, run
    ```sh                  each `freegap …` line is run; `# exit 1` at its end says which exit code is right

A comment on the line before a block says otherwise: `<!-- example: shown -->` is not run, and
`<!-- example: file NAME -->` is written to a file of that name. The blocks of a page share one scope and one
folder.
"""

from __future__ import annotations

import doctest
import linecache
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from freegap import cli
from freegap.errors import FreegapError

__all__ = ["Block", "blocks", "run"]

_BLOCK = re.compile(
    r"^(?:<!-- example: (?P<mark>[^\n]*?) -->\n)?```(?P<language>\w+)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_NOT_OURS = ("pip ", "make ", "scripts/", "#")  # lines of a shell block that set something up


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    language: str
    mark: str | None
    text: str
    line: int


def blocks(page: Path) -> Iterator[Block]:
    """The blocks of a page that have a language."""
    text = page.read_text(encoding="utf-8")
    for found in _BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("text"))
        yield Block(found["language"], found["mark"], found["text"], line)


def run(page: Path, folder: Path) -> int:
    """Run the examples of a page in a folder; how many statements and commands there were."""
    scope: dict[str, Any] = {"__name__": "__main__"}
    number = 0
    for block in blocks(page):
        if block.mark == "shown":
            continue
        if block.mark is not None:
            (folder / block.mark.removeprefix("file ")).write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            number += _shell(block, page)
        elif block.language == "python" and ">>> " in block.text:
            number += _session(block, page, scope)
        elif block.language == "python":
            exec(compile(block.text, f"{page.name}:{block.line}", "exec"), scope)  # noqa: S102
            number += 1
    return number


def _session(block: Block, page: Path, scope: dict[str, Any]) -> int:
    name = f"{page.name}:{block.line}"
    test = doctest.DocTestParser().get_doctest(block.text, scope, name, str(page), block.line)
    for place, example in enumerate(test.examples):  # for the prover, which reads the source
        lines = example.source.splitlines(keepends=True)
        file = f"<doctest {name}[{place}]>"
        linecache.cache[file] = (len(example.source), None, lines, file)
    # get_doctest copies the scope; what a block defines is for the blocks after it.
    test.globs = scope
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    complaints: list[str] = []
    runner.run(test, out=complaints.append, clear_globs=False)
    assert runner.failures == 0, "".join(complaints)
    return runner.tries


def _shell(block: Block, page: Path) -> int:
    number = 0
    for line in block.text.splitlines():
        if not line or line.startswith(_NOT_OURS):
            continue
        command, _, note = line.partition("#")
        program, *arguments = shlex.split(command)
        assert program == "freegap", f"{page.name}: {line}: mark the block as shown, or make it a command"
        wanted = re.search(r"exit (\d)", note)
        done = CliRunner().invoke(cli.app, arguments)
        code = 2 if isinstance(done.exception, FreegapError) else done.exit_code
        assert code == (int(wanted[1]) if wanted else 0), (
            f"{page.name}: {line}\n{done.output}{done.exception}"
        )
        number += 1
    return number
