from __future__ import annotations

import doctest
from pathlib import Path


def test_the_examples_of_the_page_run() -> None:
    page = Path(__file__).parents[2] / "docs" / "base2.md"
    failed, tried = doctest.testfile(
        str(page), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8"
    )
    assert tried > 10
    assert failed == 0
