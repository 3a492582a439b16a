"""Docstrings as the reference shows them: this project's plain style, turned into Markdown.

A docstring here is plain text: `name: what it is` on a line for each argument, examples after `>>>`. Markdown
would run the arguments together and take `>>>` for a quotation.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

__all__ = ["PlainDocstrings", "as_markdown"]

_ARGUMENT = re.compile(r"([a-z_]\w*(?:, [a-z_]\w*)*): (.*)")


class PlainDocstrings(griffe.Extension):
    """Rewrite each docstring as it is read."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        """An object was read; an alias has the docstring of what it stands for."""
        if not obj.is_alias and obj.docstring:
            obj.docstring.value = as_markdown(obj.docstring.value)


def as_markdown(text: str) -> str:
    """The docstring with its arguments as a list and its examples in a block.

    >>> as_markdown("Do it.\\n\\nk: how many.\\n    At least one.\\n\\n>>> 1 + 1\\n2").splitlines()
    ['Do it.', '', '- `k`: how many.', '  At least one.', '', '```pycon', '>>> 1 + 1', '2', '```']
    """
    written: list[str] = []
    example = listed = False
    for line in text.splitlines():
        if line.startswith(">>> ") and not example:
            if written and written[-1]:
                written.append("")
            written.append("```pycon")
            example = True
        elif example and not line:
            written.append("```")
            example = False
        if example:
            written.append(line)
            continue
        argument = _ARGUMENT.fullmatch(line)
        if argument and (listed or not written or not written[-1]):
            names = ", ".join(f"`{name}`" for name in argument[1].split(", "))
            written.append(f"- {names}: {argument[2]}")
            listed = True
        elif listed and line.startswith("    "):
            written.append("  " + line.strip())
        else:
            listed = False
            written.append(line)
    return "\n".join([*written, "```"] if example else written)
