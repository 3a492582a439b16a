"""A receipt as a self-assessment, in the order of NIST SP 800-226: what is shown, what is left to the owner.

The publication (Near, Darais, Lefkovitz and Howarth 2025) asks for each part of a deployment what could make
the promise less than it sounds. A receipt answers some of that; what it cannot know is asked of the owner, as
a question with an empty box.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from freegap.errors import printable
from freegap.receipts.receipt import Receipt, decimal_of
from freegap.report.shell import safe, shell

_TITLE = "Self-assessment of a release, in the order of NIST SP 800-226"
RENEWAL = (
    "The budget begins anew each month (UTC), and what it promises, it promises of one month: somebody whose "
    "rows are in the table for n months may lose n times the total in these months together, without end."
)
"""Of a charge whose parameters say that its budget is renewed."""


def is_renewed(body: dict[str, Any]) -> bool:
    """Whether the budget that has paid begins anew with each month."""
    return bool(body["asked"]["parameters"].get("budget_renewed"))


@dataclass(frozen=True)
class AssessmentPart:
    """A part of it. shown: what the receipt or the library answers. asked: what the owner must."""

    title: str
    shown: list[str]
    asked: list[str]


def as_markdown(receipt: Receipt, *, checked: bool) -> str:
    """The assessment as Markdown. Texts of the receipt cannot become headings, links or HTML in it."""
    lines = [f"# {_TITLE}", ""]
    for part in parts_of(receipt.body, checked=checked):
        lines += [f"## {part.title}", ""]
        lines += [f"- {_plain_in_markdown(text)}" for text in part.shown]
        lines += [f"- [ ] {_plain_in_markdown(text)}" for text in part.asked]
        lines.append("")
    return "\n".join(lines)


def as_html(receipt: Receipt, *, checked: bool) -> str:
    """The assessment as a page that stands alone."""
    body = "\n".join(
        f"<h2>{safe(part.title)}</h2>\n<ul>"
        + "".join(f"<li>{safe(text)}</li>\n" for text in part.shown)
        + "".join(f"<li>☐ {safe(text)}</li>\n" for text in part.asked)
        + "</ul>"
        for part in parts_of(receipt.body, checked=checked)
    )
    return shell(_TITLE, body)


def parts_of(body: dict[str, Any], *, checked: bool) -> list[AssessmentPart]:
    """The parts in their order; checked: whether the signature was."""
    return [
        _about(body, checked=checked),
        _unit(body),
        _correctness(body),
        _utility(body),
        _side_channels(body),
        _security(body),
        _trust(),
    ]


def _about(body: dict[str, Any], *, checked: bool) -> AssessmentPart:
    signed = "was checked" if checked else "was NOT checked here (pass --key)"
    return AssessmentPart(
        "The release",
        [
            f"{body['asked']['what']} on the dataset {body['dataset']}, {body['when']}.",
            f"Line {body['ledger']['line']} of the ledger, {body['charge']['state']}.",
            f"The signature {signed}.",
        ],
        [],
    )


def _unit(body: dict[str, Any]) -> AssessmentPart:
    asked, charge, budget = body["asked"], body["charge"], body["budget"]
    release = body["release"]
    together = "in one month" if is_renewed(body) else "together"
    shown = [
        f"Asked for: {_measure(asked)}. Charged: {charge['charged']} in {charge['unit']}"
        + (f", with δ = {charge['delta']}." if charge["delta"] != "0" else "."),
        *_meaning(asked),
        f"All releases about this dataset {together} may cost {_measure(budget)}; charges add up.",
    ]
    if is_renewed(body):
        shown.append(RENEWAL)
    if release is not None:
        shown += [f"One person is {release['unit']}.", f"Neighbours: {release['neighbours']}."]
    return AssessmentPart(
        "1. Unit of privacy and parameters",
        shown,
        [
            "Is that unit what the people in the data would expect: a whole person, and not one visit?",
            "Is the same person in other datasets, with budgets of their own? Those costs add up too.",
            "Groups: g people together are protected g times less in ε. Is that enough for families?",
        ],
    )


def _measure(measure: dict[str, Any]) -> str:
    words = {"epsilon": "ε", "rho": "ρ", "epsilon-delta": "ε"}
    delta = "" if measure["delta"] is None else f", δ = {measure['delta']}"
    return f"{words.get(measure['measure'], measure['measure'])} = {measure['amount']}{delta}"


def _meaning(asked: dict[str, Any]) -> list[str]:
    """What ε means, where it is an ε of a size that has a meaning."""
    amount = decimal_of(asked["amount"])
    if asked["measure"] == "rho" or not 0 < amount < 50:
        return []
    factor = math.exp(amount)
    certain = math.ceil(factor / (1 + factor) * 1000) / 10
    told = (
        "Whatever anybody concludes from it about one person, they would have concluded without that person "
        f"with a chance that differs by a factor of at most {math.ceil(factor * 100) / 100}: a guess that "
        f"was even becomes right with at most {certain} %."
    )
    beside = [] if asked["delta"] is None else [f"But for events of probability {asked['delta']} (δ)."]
    return [told, *beside]


def _correctness(body: dict[str, Any]) -> AssessmentPart:
    release, evidence = body["release"], body["evidence"]
    if release is None:
        return AssessmentPart(
            "2. Correctness of the mechanism",
            [
                "No release of freegap is kept with this line: it was made by a function of the caller's, "
                "by another library, or is not finished. The charge is what the caller stated."
            ],
            ["Which mechanism was it, which theorem says what it costs, and who has checked the program?"],
        )
    shown = [f"Mechanism: {release['mechanism']}."]
    if evidence is None:
        shown.append("The evidence of the version that made it was not at hand when the receipt was made.")
    else:
        shown += [f"Theorem: {row['theorem']}; {row['proof']}." for row in _unique(evidence["rows"])]
        shown += [] if evidence["rows"] else ["The assurance table has no row for this combination."]
        shown.append(
            f"Evidence of freegap {evidence['version']}: assurance page {evidence['assurance'][:16]}…, "
            f"claims {evidence['proofs'][:16]}… (SHA-256)."
        )
    shown.append(
        "Noise is drawn exactly: no floating-point step lies between the random bits and the output that is "
        "not exact or decided by a proven bound."
    )
    return AssessmentPart(
        "2. Correctness of the mechanism",
        shown,
        ["Did anybody look at the data before choosing the question, and was that paid for?"],
    )


def _unique(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    return list({(row["theorem"], row["proof"]): row for row in rows}.values())


def _utility(body: dict[str, Any]) -> AssessmentPart:
    release = body["release"]
    noise = "" if release is None else _noise(release["parameters"])
    return AssessmentPart(
        "3. Utility and bias",
        [f"What was not selected is not known to be small; it was not selected.{noise}"],
        [
            "Are the error bars shown to whoever decides by this release?",
            "Small groups have the largest relative error. Who is in them, and what follows for them?",
            "What would a wrong selection cost, and whom?",
        ],
    )


def _noise(parameters: dict[str, Any]) -> str:
    told = [
        f"{name} {parameters[name]}" for name in ("noise", "scale") if isinstance(parameters.get(name), str)
    ]
    return f" Noise: {', '.join(told)}." if told else ""


def _side_channels(body: dict[str, Any]) -> AssessmentPart:
    ours = [
        "Errors come before anything is drawn and say nothing of the data, but for those that the threat "
        "model lists."
    ]
    return AssessmentPart(
        "4. Side channels",
        [
            *([] if body["release"] is None else ours),
            "Processor time, memory and cache traces of a release are not hidden.",
        ],
        [
            "Could anybody measure how long the release took? Was it padded (pad_to)?",
            "Do logs of the database, crash reports or backups hold rows or counts?",
        ],
    )


def _security(body: dict[str, Any]) -> AssessmentPart:
    return AssessmentPart(
        "5. Security of data, ledger and key",
        [
            f"The ledger is a chain of hashes, from {body['ledger']['first'][:16]}… on; this release is its "
            f"line {body['ledger']['reserved'][:16]}….",
            f"Signed by {body['key']}.",
        ],
        [
            "Who may read the table directly? Whoever can, needs no release.",
            "Who may write to the ledger, and is its head noted where they cannot write?",
            "Who holds the signing key, and how would you notice that it was copied?",
        ],
    )


def _trust() -> AssessmentPart:
    return AssessmentPart(
        "6. Trust model, and how the data came to be",
        ["Central: the owner sees the data and adds the noise; readers of the release need not be trusted."],
        [
            "Do the people in the data know that, and have they agreed?",
            "Are analysts kept from the data, or do they only promise to use the ledger?",
            "Was collecting the data lawful and needed? Noise does not make a collection harmless.",
        ],
    )


def _plain_in_markdown(text: str) -> str:
    """Text that Markdown shows as it is: no emphasis, no code, no table, no link, no HTML, no list."""
    shown = re.sub(r"([\\`*_\[\]<>&#|~!@]|:(?=//)|(?<=www)\.)", r"\\\1", printable(text), flags=re.IGNORECASE)
    return re.sub(r"^(\d*)([-+=.)])", r"\1\\\2", shown)
