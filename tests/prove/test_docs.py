"""The examples of the page on proofs are run."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "prove.md"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_page_on_proofs() -> None:
    text = PAGE.read_text(encoding="utf-8").replace("```python\n", "").replace("```\n", "\n")
    test = doctest.DocTestParser().get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    runner.run(test)
    assert runner.tries > 10
    assert runner.failures == 0
