"""The scoreboard as a page."""

from __future__ import annotations

from typing import Any

Record = dict[str, Any]

_HEAD = """# Other libraries, audited

Written by `{command}` on {date}, with Python {python}. Mechanisms of
other libraries, in the pinned versions of PyPI, each in a virtual environment of its own, run as their
documentation says and audited by [`freegap audit`](audit.md) at what they claim ({samples:,} runs on each
input to confirm, up to {patience} times as many for what looks like a violation; confidence 1 − 10⁻⁶).

- **no violation found** is not a proof of privacy. The bound says how much is lost at least.
- **floating point**: the low digits of a double tell neighbours apart, as Mironov 2012 showed of the textbook
  mechanism. Apart from these, no violation was found. Whether that matters depends on who sees all digits.
- **violated**: a fault apart from the low digits, with its counterexample below. Faults that are publicly
  known are named as such, and serve as controls: the audit must find them. Any other is to be reported to its
  authors first, and nothing here replaces their answer: the fault may lie in how we call the library.

{found}
"""


def page(result: Record, *, command: str) -> str:
    """The whole page, in Markdown."""
    rows = result["rows"]
    settings = result["settings"]
    head = _HEAD.format(
        command=command,
        date=result["date"],
        python=result["python"],
        samples=settings["samples"],
        patience=settings["patience"],
        found=_summary(rows),
    )
    table = "| library | mechanism | claims | verdict | certain loss ≥ | runs | seconds |\n"
    table += "|---|---|---|---|---:|---:|---:|\n"
    table += "".join(f"| {' | '.join(_cells(row))} |\n" for row in rows)
    parts = [head, table, _examples(rows), _skipped(result)]
    return "\n".join(part.rstrip() + "\n" for part in parts if part)


def _summary(rows: list[Record]) -> str:
    audited = [row for row in rows if row["verdict"] != "not audited"]
    known = [row for row in audited if row["known"]]
    caught = [row for row in known if row["verdict"] == "violated"]
    others = [row for row in audited if not row["known"] and row["verdict"] == "violated"]
    text = f"{len(audited)} mechanisms were audited. Of {len(known)} with a known fault, {len(caught)}"
    return text + f" were found; {len(others)} others were violated apart from the low digits."


def _cells(row: Record) -> list[str]:
    name = f"{row['library']} {row['version']}" if row["version"] not in row["library"] else row["library"]
    first = [name.strip(), row["mechanism"], row["claim"]]
    if row["verdict"] == "not audited":
        return [*first, f"not audited: {row['reason'].replace('|', '/')}", "", "", ""]
    verdict = row["verdict"] + (" (known)" if row["known"] and row["verdict"] == "violated" else "")
    if row["verdict"] == "violated" and row["floating_point"]:
        verdict += ", and floating point"
    return [*first, verdict, f"{row['lower_bound']:.3f}", f"{row['runs']:,}", f"{row['seconds']:.0f}"]


def _examples(rows: list[Record]) -> str:
    text = ""
    for row in rows:
        if row["verdict"] in ("violated", "floating point"):
            known = (
                f"Known: {row['known']}." if row["known"] else "Not known to be public: to be reported first."
            )
            if row["verdict"] == "floating point":
                known = "Low digits of doubles (Mironov 2012)."
            text += f"### {row['library']}: {row['mechanism']}\n\n{known}\n\n```\n{row['example']}\n```\n\n"
    return f"## Counterexamples\n\n{text}" if text else ""


def _skipped(result: Record) -> str:
    lines = [f"- {one['name']}: {one['skipped']}" for one in result["libraries"] if one["skipped"]]
    return "## Libraries that could not be had\n\n" + "\n".join(lines) if lines else ""
