"""The report as an HTML page that stands alone: no network, no scripts, the pictures inside as SVG."""

from __future__ import annotations

import html
import io
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from freegap.auditor.mechanism import answers_text
from freegap.auditor.plots import draw

if TYPE_CHECKING:
    from freegap.auditor.report import AuditReport, Counterexample

__all__ = ["body", "page", "write"]

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1b1b1b; background: #fff; max-width: 52rem;
       margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.verdict { padding: .8rem 1rem; border-left: .4rem solid #009E73; background: #eef8f4; font-weight: 600; }
.verdict.violated { border-color: #B00020; background: #fdf0f2; }
table { border-collapse: collapse; } th { text-align: left; font-weight: 600; }
th, td { padding: .25rem 1rem .25rem 0; vertical-align: top; }
code { background: #f3f3f3; padding: 0 .2rem; overflow-wrap: anywhere; }
svg { max-width: 100%; height: auto; }
footer { color: #555; font-size: .9rem; margin-top: 2rem; }
@media (prefers-color-scheme: dark) {
  body { color: #eee; background: #161616; } code { background: #2a2a2a; }
  .verdict { background: #12352a; } .verdict.violated { background: #431018; }
  svg { background: #fff; } footer { color: #aaa; }
}
"""


def write(report: AuditReport, path: Any) -> None:
    """Write the page into a file."""
    Path(path).write_text(page(report), encoding="utf-8")


def page(report: AuditReport) -> str:
    """The whole page."""
    title = html.escape(f"Audit of {report.mechanism}")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style></head>"
        f"<body><h1>{title}</h1>{body(report)}</body></html>\n"
    )


def body(report: AuditReport) -> str:
    """What stands between the tags of the body; notebooks show this."""
    verdict = "verdict violated" if report.violated else "verdict"
    shown = report.counterexample or report.closest
    parts = [f'<p class="{verdict}">{html.escape(report.title)}</p>']
    if shown is not None:
        heading = "Counterexample" if report.counterexample else "The closest that the search came"
        parts.append(f"<h2>{heading}</h2>{_counterexample(shown)}")
        if shown.histogram is not None:
            parts.append(f"<h2>Outputs on the two inputs</h2>{_svg(report, 'outputs')}")
        parts.append(f"<h2>p-value for every ε</h2>{_svg(report, 'curve')}")
        parts.append(
            "<p>Below the certain bound the p-value is practically zero: the mechanism is not private for "
            "those ε. Where the curve has risen, nothing was found against it. One set of samples, none of "
            "which took part in the search, serves the whole curve.</p>"
        )
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in report.notes)
    parts.append(f"<ul>{notes}</ul>" if notes else "")
    parts.append(
        f"<footer>{report.candidates} inputs tried, {report.runs:,} runs in {report.seconds:.1f} s; "
        f"neighbours: {html.escape(report.neighbours)}; seed {report.seed}; freegap audit</footer>"
    )
    return "".join(parts)


def _counterexample(shown: Counterexample) -> str:
    ratio = "never on the second input" if math.isinf(shown.ratio) else f"{shown.ratio:.4g}"
    parameters = ", ".join(f"{name}={value!r}" for name, value in shown.parameters)
    rows = [
        ("First input", f"<code>{html.escape(answers_text(shown.first))}</code>"),
        ("Second input", f"<code>{html.escape(answers_text(shown.second))}</code>"),
        *([("Parameters", f"<code>{html.escape(parameters)}</code>")] if parameters else []),
        ("Event", f"<code>{html.escape(shown.event.text)}</code>"),
        ("On the first input", f"{shown.counts.hits1:,} of {shown.counts.runs1:,} runs"),
        ("On the second input", f"{shown.counts.hits2:,} of {shown.counts.runs2:,} runs"),
        ("Ratio", f"{ratio}; e<sup>ε</sup> allows {math.exp(shown.epsilon):.4g}"),
        ("Certain", f"ε ≥ {shown.epsilon_lower_bound:.4f}, confidence 1 − {1 - shown.confidence:.0e}"),
        ("p-value of the claim", f"{shown.p_value:.3g}"),
        ("Replay", f"seed {shown.seed}" if shown.replayable else "not possible"),
    ]
    cells = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in rows)
    return f"<table>{cells}</table>"


def _svg(report: AuditReport, what: str) -> str:
    """The picture as an SVG element, without the XML prologue, which refers to a DTD on the network."""
    out = io.StringIO()
    draw(report, what).savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue()
    return text[text.index("<svg") :]
