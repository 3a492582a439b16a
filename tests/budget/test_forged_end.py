"""A last line that was forged, with a hash that fits it: nothing is charged on it, and it shows."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import pytest
from sqlalchemy import delete, insert

from freegap import Ledger, LedgerDamaged
from freegap.budget import schema
from tests.budget.test_tampering import lines, outside


def forge_the_last_line(url: str, **changed: Any) -> None:
    """As someone would who can write to the journal alone, and not to the head beside it."""
    with outside(url) as connection:
        last = replace(lines(connection)[-1], **changed)
        last = replace(last, hash=last.digest())
        connection.execute(delete(schema.journal).where(schema.journal.c.sequence == last.sequence))
        connection.execute(insert(schema.journal).values(asdict(last)))


@pytest.mark.parametrize("changed", [{"reserved": "1/1"}, {"total": "100/1"}, {"what": "another"}], ids=str)
def test_nothing_is_charged_on_a_forged_end(url: str, changed: dict[str, str]) -> None:
    ledger = Ledger(url)
    ledger.create("shop", epsilon=3)
    first = ledger.reserve("shop", 1, what="a")
    ledger.reserve("shop", 1, what="b")
    forge_the_last_line(url, **changed)
    calls = (
        lambda: ledger.reserve("shop", 1, what="c"),
        lambda: first.settle("1/2"),
        lambda: first.abandon("no file"),
        lambda: ledger.create("web", epsilon=1),
    )
    for call in calls:
        with pytest.raises(LedgerDamaged, match="its end is not the one that was recorded"):
            call()
    outcome = ledger.verify()
    assert not outcome.ok
    if "what" in changed:  # nothing else is wrong with it
        assert outcome.reason == "the last line is not the one that the ledger has recorded as its last"
    with outside(url) as connection:
        assert len(lines(connection)) == 3  # nothing was written


def test_a_forged_only_line(url: str) -> None:
    ledger = Ledger(url)
    ledger.create("shop", epsilon=2)
    forge_the_last_line(url, amount="9/1", total="9/1")
    with pytest.raises(LedgerDamaged, match="its end is not the one that was recorded"):
        ledger.reserve("shop", 1, what="a")
    assert ledger.verify().broken == 2


def test_a_head_of_the_same_hash_and_another_number(url: str) -> None:
    ledger = Ledger(url)
    ledger.create("shop", epsilon=2)
    with outside(url) as connection:
        connection.execute(schema.ledger.update().values(sequence=0))
    with pytest.raises(LedgerDamaged, match="its end is not the one that was recorded"):
        ledger.reserve("shop", 1, what="a")
    outcome = ledger.verify()
    assert not outcome.ok
    assert "ends after line 1, but the ledger has recorded 0 lines" in (outcome.reason or "")
