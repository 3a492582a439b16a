"""The shell of every page that freegap writes: it stands alone, and its policy lets nothing be loaded."""

from __future__ import annotations

import html
from collections.abc import Iterable

from freegap.errors import printable

# Nothing is loaded from anywhere; styles stand in the page itself.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; max-width: 60rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2rem; } h3 { font-size: 1.05rem; }
table { border-collapse: collapse; }
th, td { padding: .3rem .6rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }
.wide { overflow-x: auto; } .wide td:not(.number) { min-width: 10rem; }
td, code { overflow-wrap: anywhere; } code { background: #f3f3f3; padding: 0 .2rem; }
figure { margin: 1rem 0; } svg { max-width: 100%; height: auto; background: #fff; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.line { border-left: .3rem solid #0072B2; background: #eef5fa; padding: .5rem 1rem; }
.warning { border-left: .3rem solid #D55E00; background: #fdf1ea; padding: .5rem 1rem; font-weight: 600; }
dt { font-weight: 600; } dd { margin: 0 0 .6rem 0; } a { color: #0b5a8a; }
footer, .small { color: #555; font-size: .9rem; } footer { margin-top: 2rem; }
@media (prefers-color-scheme: dark) {
  body { color: #eee; background: #161616; } code { background: #2a2a2a; } a { color: #7cc0ea; }
  .line { background: #12303f; } .warning { background: #43200f; } footer, .small { color: #aaa; }
}
"""


def shell(title: str, body: str) -> str:
    """The whole page: its head, its title as a heading, and what is to stand below.

    >>> "<h1>a &lt; b</h1>" in shell("a < b", "<p>text</p>")
    True
    """
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{safe(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{safe(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def facts(rows: Iterable[tuple[str, str]]) -> str:
    """A table of names and what is to be said of each.

    >>> facts([("a", "1 < 2")])
    '<table><tr><th>a</th><td>1 &lt; 2</td></tr></table>'
    """
    cells = (f"<tr><th>{safe(name)}</th><td>{safe(value)}</td></tr>" for name, value in rows)
    return f"<table>{''.join(cells)}</table>"


def safe(text: str) -> str:
    """Text as a page may carry it, whatever is in it."""
    return html.escape(printable(text))
