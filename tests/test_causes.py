"""No error about private data carries what was being handled when it was raised: that holds the data."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import freegap

ROOT = Path(freegap.__file__).parent
PACKAGES = ["exact", "mechanisms", "base2", "estimate", "tables", "values", "budget"]
# A database error says which statement failed, and a ledger holds nothing private.
SHOWN = {"budget/faults.py", "budget/store.py"}


def raised_while_handling(tree: ast.AST) -> Iterator[ast.Raise]:
    for handler in (node for node in ast.walk(tree) if isinstance(node, ast.ExceptHandler)):
        for node in ast.walk(handler):
            if isinstance(node, ast.Raise) and node.exc is not None:
                yield node


@pytest.mark.parametrize("package", PACKAGES)
def test_errors_raised_while_handling_another_hide_it(package: str) -> None:
    for path in sorted((ROOT / package).rglob("*.py")):
        if str(path.relative_to(ROOT)) in SHOWN:
            continue
        for node in raised_while_handling(ast.parse(path.read_text(encoding="utf-8"))):
            hidden = isinstance(node.cause, ast.Constant) and node.cause.value is None
            assert hidden, f"{path.relative_to(ROOT)}:{node.lineno} must end with `from None`"
