"""What the site does to its pages, as MkDocs hooks.

Formulas become MathML here, when the site is built, so that a reader's browser needs neither a script nor a
network to show them. A formula that cannot be converted stops the build.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

__all__ = ["on_config", "on_page_content", "on_page_markdown"]

# What pymdownx.arithmatex leaves: \(inline\) in a span, \[display\] in a div.
_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
# The letter is raised already: as a superscript it would float.
_PRIME = "<mi>&#x02032;</mi>"
_SESSION = re.compile(r"^```python\n(?=>>> )", re.MULTILINE)


def on_config(config: Any) -> Any:
    """Add the pages that nobody listed to the last section: reports are written by commands, or not yet."""
    folder = Path(config["docs_dir"])
    listed = set(_pages(config["nav"]))
    found = sorted(page.relative_to(folder).as_posix() for page in folder.rglob("*.md"))
    (last,) = config["nav"][-1].values()
    last += [page for page in found if page not in listed]
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Colour blocks that show a Python session as one; the tests read them as Python."""
    return _SESSION.sub("```pycon\n", markdown)


def on_page_content(content: str, **_: Any) -> str:
    """Formulas as MathML."""
    return _FORMULA.sub(_mathml, content)


def _mathml(found: re.Match[str]) -> str:
    tag, formula = found[1], html.unescape(found[2]).strip()
    display = "block" if tag == "div" else "inline"
    mathml: str = convert(formula, display=display)
    if "\\" in mathml:  # what the converter does not know, it passes on
        raise PluginError(f"not converted to MathML: {formula}")
    mathml = mathml.replace(_PRIME, f'<mpadded voffset="-0.45em" height="0.4em">{_PRIME}</mpadded>')
    return f'<div class="formula">{mathml}</div>' if tag == "div" else mathml


def _pages(entries: Any) -> Iterator[str]:
    """The pages that a navigation names, however deep."""
    if isinstance(entries, str):
        yield entries
    else:
        for entry in entries.values() if isinstance(entries, dict) else entries:
            yield from _pages(entry)
