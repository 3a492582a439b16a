"""Every example in the documentation is run, except those that say that they are only shown."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

from tests.docs.examples import blocks, run

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))
WITH_EXAMPLES = [
    name for name in PAGES if any(block.language in ("python", "sh") for block in blocks(DOCS / name))
]
# What cannot run in a test: it needs a mechanism or data of the reader's, another language, or many minutes.
SHOWN = {
    "audit.md": 2,
    "choosing.md": 2,
    "console.md": 1,
    "mathematics/error-bars.md": 1,
    "mcp.md": 1,
    "reproduction.md": 1,
    "serve.md": 3,  # they start the service: tests/serve/test_page.py runs the longest
}
COMMANDS_OF_A_CHECKOUT = {"supply-chain.md"}  # scripts/… alone


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that pages speak of, and a ledger; tea has 900 customers, milk 600, rice none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FREEGAP_LEDGER", f"sqlite:///{tmp_path}/ledger.db")
    monkeypatch.syspath_prepend(str(tmp_path))
    products = ["tea"] * 900 + ["milk"] * 600
    customers = [*range(900), *range(600)]
    pl.DataFrame({"product": products, "customer": customers}).write_parquet("baskets.parquet")
    names = ["tea", "milk", "rice", *(f"spice {i}" for i in range(20))]
    pl.DataFrame({"product": names}).write_csv("products.csv")
    return tmp_path


@pytest.mark.filterwarnings("ignore::DeprecationWarning:ast")
@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_of_a_page(name: str, shop: Path) -> None:
    loaded = set(sys.modules)
    try:
        number = run(DOCS / name, shop)
    finally:
        for module in set(sys.modules) - loaded:
            if (shop / f"{module}.py").exists():
                del sys.modules[module]
    shown = sum(block.mark == "shown" for block in blocks(DOCS / name))
    assert number > 0 or shown > 0 or name in COMMANDS_OF_A_CHECKOUT
    assert shown <= SHOWN.get(name, 0), "an example that is only shown is an exception; list it here"


def test_a_wrong_example_is_found(tmp_path: Path) -> None:
    for text in (">>> 1 + 1\n3\n", "assert 1 + 1 == 3\n"):
        page = tmp_path / "page.md"
        page.write_text(f"# Page\n\n```python\n{text}```\n", encoding="utf-8")
        with pytest.raises(AssertionError):
            run(page, tmp_path)
    page.write_text("```sh\nfreegap top-k nowhere.csv -k 1 --epsilon 1\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError):
        run(page, tmp_path)


def test_blocks_share_a_scope_and_marks_are_obeyed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    parts = [
        "```python\nx = 1\n```",
        "<!-- example: shown -->\n```python\n1 / 0\n```",
        "```python\n>>> x\n1\n>>> y = 2\n\n```",
        "<!-- example: file other.txt -->\n```python\nhello\n```",
        "```python\nassert y == 2\n```",
    ]
    page.write_text("\n\n".join(parts), encoding="utf-8")
    assert run(page, tmp_path) == 4
    assert (tmp_path / "other.txt").read_text() == "hello\n"
