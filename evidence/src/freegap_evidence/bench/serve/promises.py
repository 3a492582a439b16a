"""What the ledger has, held against what analysts were told: each broken promise in words.

Every question of a run has an ε of its own, so that a line of the ledger shows which question it is of.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from freegap.budget.ledger import Ledger
from freegap.budget.statement import Charge, charges
from freegap_evidence.bench.serve.asking import AskedOfService
from freegap_evidence.bench.serve.team import DATASET, TEAM

LOST = (None, 500, 503)
"""Replies after which nobody knows whether there is a release: none, or one that says so."""


@dataclass(frozen=True)
class Held:
    """broken: the promises that were not kept. kept: releases in the ledger whose reply was lost. open: lines
    that a crash left reserved, and so charged in full."""

    broken: list[str]
    kept: int
    open: int


def promises(
    ledger: Ledger, asked: Sequence[AskedOfService], quotas: Mapping[str, str], *, faults: bool = True
) -> Held:
    """Hold the ledger against what was asked.

    quotas: the account of each analyst. faults: whether something was killed; else no reply may be lost, and
    no line may stay open.
    """
    lines = charges(ledger.entries(DATASET))
    outcome = ledger.verify()
    broken = [] if outcome.ok else [f"the journal does not verify: {outcome}"]
    broken += _charged_once(lines, asked)
    broken += _answers(ledger, {one.sequence: one for one in lines}, asked)
    broken += _enough(ledger, lines)
    broken += _levels(ledger, lines, quotas)
    told = {one.line for one in asked if one.status == 200}
    kept = [one for one in lines if one.state == "settled" and one.sequence not in told]
    left = [one for one in lines if one.state == "open"]
    if not faults:
        broken += [f"line {one.sequence}: a release that nobody was told" for one in kept]
        broken += [f"line {one.sequence} is open, and nothing was killed" for one in left]
        broken += [f"a question of {one.epsilon} got {one.status}" for one in asked if one.status in LOST]
    return Held(broken, len(kept), len(left))


def _charged_once(lines: Sequence[Charge], asked: Sequence[AskedOfService]) -> list[str]:
    """Each question has at most one line, each line its question; one that was refused has none."""
    by_epsilon = {one.epsilon: one for one in asked}
    broken = [
        f"the question of {epsilon} has {number} lines"
        for epsilon, number in Counter(one.reserved for one in lines).items()
        if number > 1
    ]
    for line in lines:
        question = by_epsilon.get(line.reserved)
        if question is None or question.who != line.who:
            broken.append(f"line {line.sequence} is of a question that nobody asked")
        elif question.status not in (200, *LOST):
            broken.append(f"line {line.sequence} is of a question that got {question.status}")
    return broken


def _answers(ledger: Ledger, lines: Mapping[int, Charge], asked: Sequence[AskedOfService]) -> list[str]:
    """Every answer is the release of its line, and of no other."""
    broken = []
    answered = [one for one in asked if one.status == 200]
    for number, times in Counter(one.line for one in answered).items():
        if times > 1:
            broken.append(f"line {number} was the answer to {times} questions")
    for one in answered:
        line = lines.get(one.line or 0)
        if line is None or line.state != "settled":
            broken.append(f"an answer of line {one.line}, which the ledger does not have as settled")
        elif (line.who, line.reserved) != (one.who, one.epsilon):
            broken.append(f"line {one.line} is of another question than its answer")
        elif ledger.release(line.sequence) != one.release:
            broken.append(f"line {one.line} has another release than was told")
    return broken


def _enough(ledger: Ledger, lines: Sequence[Charge]) -> list[str]:
    """Nothing costs less than it spent, and all together no more than there is."""
    broken = []
    for one in lines:
        if one.state == "settled" and one.charged < Fraction(ledger.release(one.sequence)["spent"]):
            broken.append(f"line {one.sequence} is charged less than was spent")
        if one.state == "open" and one.charged != one.reserved:
            broken.append(f"line {one.sequence} is open, and not charged in full")
        if one.state == "abandoned" and one.charged:
            broken.append(f"line {one.sequence} was given back and is charged")
    account = ledger.account(DATASET)
    charged = sum((one.charged for one in lines), Fraction(0))
    if account.spent + account.reserved != charged:
        broken.append(f"{account.spent + account.reserved} are charged, and the lines say {charged}")
    if charged > account.total:
        broken.append(f"{charged} are charged of a budget of {account.total}")
    return broken


def _levels(ledger: Ledger, lines: Sequence[Charge], quotas: Mapping[str, str]) -> list[str]:
    """Each question was paid by the team and by its analyst as by the dataset."""
    paid: dict[int, list[tuple[str, Any]]] = defaultdict(list)
    for account in (f"{DATASET} / team {TEAM}", *quotas.values()):
        for one in charges(ledger.entries(account)):
            paid[int(one.parameters["line"])].append((account, (one.reserved, one.charged, one.state)))
    broken = [
        f"line {one.sequence} was not paid alike at every level"
        for one in lines
        if sorted(paid.pop(one.sequence, []))
        != sorted(
            (account, (one.reserved, one.charged, one.state))
            for account in (f"{DATASET} / team {TEAM}", quotas.get(one.who, ""))
        )
    ]
    return broken + [f"line {number} was paid by quotas alone" for number in paid]


def refused_in_vain(ledger: Ledger, asked: Sequence[AskedOfService]) -> list[str]:
    """Refusals although enough was left: what is left never grows in a run without faults."""
    left = ledger.account(DATASET).remaining
    return [
        f"the question of {one.epsilon} was refused, and {left} are left"
        for one in asked
        if one.status == 409 and one.epsilon <= left
    ]
