"""The README's examples run as printed."""

from __future__ import annotations

import doctest
from pathlib import Path

ROOT = Path(__file__).parent.parent


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
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        for target in page.read_text(encoding="utf-8").split("](")[1:]:
            path = target.split(")", 1)[0].partition("#")[0]
            if "://" not in path and path:
                assert (page.parent / path).exists(), f"{page.name}: {path}"
