"""The rules of a journal where its budget is kept in ρ, and a release may be in ε: each rule by a line that
breaks it alone."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from freegap.budget.chain import AFTER, GENESIS, THREAD, Line, verified
from freegap.budget.once import Once

RHO: dict[str, Any] = {"total": "1/2 rho", "amount": "1/2 rho", "spent": "0/1 rho", "reserved": "0/1 rho"}
BOTH: dict[str, Any] = {
    "total": "1/2 rho + 1/1000000 delta within 5/1 epsilon + 1/100000 delta",
    "spent": "0/1 rho + 0/1 delta",
    "reserved": "0/1 rho + 0/1 delta",
}
BOTH["amount"] = BOTH["total"]
IN_EPSILON: dict[str, Any] = {
    "kind": "reserve",
    "amount": "1/200 rho for 1/10 epsilon",
    "reserved": "1/200 rho",
}
IN_RHO: dict[str, Any] = {"kind": "reserve", "amount": "1/200 rho for 1/200 rho", "reserved": "1/200 rho"}
SETTLED: dict[str, Any] = {"kind": "settle", "reservation": 2, "reserved": "0/1 rho"}
FULL: dict[str, Any] = SETTLED | {"amount": "1/200 rho for 1/10 epsilon", "spent": "1/200 rho"}
PART: dict[str, Any] = SETTLED | {"amount": "1/400 rho for 1/400 rho", "spent": "1/400 rho"}
GIVEN_BACK: dict[str, Any] = {"kind": "abandon", "reservation": 2, "amount": "0/1 rho for 0/1 epsilon"}
ROUNDED = f"{(2**64) // 200 + 1}/{2**64} rho"


def journal(first: dict[str, Any], *lines: dict[str, Any]) -> list[Line]:
    """These lines, linked; a note follows the line before it."""
    made: list[Line] = []
    for changes in ({}, *lines):
        said = changes.get("said")
        bare = Line(**{
            "sequence": len(made) + 1, "dataset": "shop", "kind": "create", "reservation": None, "what": "x",
            "parameters": "{}", "who": "me", "at": "2026-01-01T00:00:00+00:00",
            "previous": made[-1].hash if made else GENESIS,
            **first,
            **{name: value for name, value in changes.items() if name != "said"},
            **({} if said is None else {"parameters": json.dumps({THREAD: "t", **said})}),
        })  # fmt: skip
        if changes.get("kind") == "note" and said == {}:
            bare = replace(bare, parameters=json.dumps({THREAD: "t", AFTER: made[-1].hash}))
        made.append(replace(bare, hash=bare.digest()))
    return made


def reason(*lines: dict[str, Any], first: dict[str, Any] = RHO) -> str | None:
    made = journal(first, *lines)
    return verified(made, (made[-1].sequence, made[-1].hash)).reason


def test_journals_that_obey_the_rules() -> None:
    assert reason() is None
    assert reason(first=BOTH) is None
    assert reason(IN_EPSILON) is None
    assert reason(IN_EPSILON, FULL) is None
    assert reason(IN_EPSILON, GIVEN_BACK) is None
    assert reason(IN_RHO) is None
    assert reason(IN_RHO, PART) is None
    assert reason(IN_RHO, GIVEN_BACK | {"amount": "0/1 rho for 0/1 rho"}) is None
    rounded = {"amount": f"{ROUNDED} for 1/10 epsilon", "reserved": ROUNDED}
    assert reason(IN_EPSILON | rounded) is None


@pytest.mark.parametrize(
    ("lines", "rule"),
    [
        ([IN_EPSILON | {"amount": "1/400 rho for 1/10 epsilon", "reserved": "1/400 rho"}], "the cost of"),
        ([IN_EPSILON | {"amount": "1/100 rho for 1/10 epsilon", "reserved": "1/100 rho"}], "the cost of"),
        ([IN_EPSILON | {"amount": "1/200 rho for 1/10 epsilon + 1/10 delta"}], "can be charged in"),
        ([IN_EPSILON | {"amount": "1/200 rho"}], "stored with its measure"),
        ([IN_EPSILON | {"amount": "1/200"}], "stored with its measure"),
        ([IN_EPSILON, FULL | {"amount": "1/200 rho for 1/200 rho"}], "closed in its own measure"),
        ([IN_RHO, FULL], "closed in its own measure"),
        ([IN_EPSILON, FULL | {"amount": "1/800 rho for 1/20 epsilon", "spent": "1/800 rho"}], "in full"),
        ([IN_RHO, PART | {"amount": "1/100 rho for 1/100 rho", "spent": "1/100 rho"}], "between 0 and what"),
        ([IN_EPSILON, GIVEN_BACK | {"amount": "0/1 rho for 0/1 rho"}], "closed in its own measure"),
        ([IN_EPSILON, GIVEN_BACK | {"spent": "1/200 rho"}], "what the lines before it add up to"),
        ([IN_EPSILON, GIVEN_BACK | {"reserved": "1/200 rho"}], "what the lines before it add up to"),
        ([IN_EPSILON | {"total": "1/4 rho"}], "must stay as they were declared"),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)  # fmt: skip
def test_a_line_that_breaks_one_rule(lines: list[dict[str, Any]], rule: str) -> None:
    assert rule in str(reason(*lines))


NOTE: dict[str, Any] = {"kind": "note", "said": {}}
THREADED = IN_EPSILON | {"said": {}}


@pytest.mark.parametrize(
    ("lines", "rule"),
    [
        ([THREADED, NOTE | {"amount": "0/1 rho for 0/1 epsilon", "reserved": "1/200 rho"}], None),
        (
            [THREADED, NOTE | {"amount": "0/1 rho for 0/1 rho", "reserved": "1/200 rho"}],
            "in the measure of its release",
        ),
        (
            [IN_RHO | {"said": {}}, NOTE | {"amount": "0/1 rho for 0/1 epsilon", "reserved": "1/200 rho"}],
            "in the measure of its release",
        ),
        (
            [THREADED, NOTE | {"amount": "1/200 rho for 1/10 epsilon", "reserved": "1/200 rho"}],
            "must charge nothing",
        ),
        (
            [THREADED, NOTE | {"amount": "0/1 rho for 1/10 epsilon", "reserved": "1/200 rho"}],
            "must charge nothing",
        ),
        (
            [IN_EPSILON, NOTE | {"amount": "0/1 rho for 0/1 epsilon", "reserved": "1/200 rho"}],
            "must follow the line before it",
        ),
        (
            [THREADED, GIVEN_BACK, NOTE | {"amount": "0/1 rho for 0/1 epsilon"}],
            "must follow the line before it",
        ),
        (
            [THREADED, NOTE | {"amount": "0/1 rho for 0/1 epsilon"}],
            "what the lines before it add up to",
        ),
        (
            [
                THREADED,
                NOTE | {"amount": "0/1 rho for 0/1 epsilon", "reserved": "1/200 rho", "reservation": 2},
            ],
            "only a settled or abandoned line",
        ),
    ],
)  # fmt: skip
def test_notes_are_in_the_measure_of_their_release(lines: list[dict[str, Any]], rule: str | None) -> None:
    found = reason(*lines)
    assert found is None if rule is None else rule in str(found)


def test_a_note_follows_the_newest_one() -> None:
    note = NOTE | {"amount": "0/1 rho for 0/1 epsilon", "reserved": "1/200 rho"}
    assert reason(THREADED, note, note) is None
    made = journal(RHO, THREADED, note)
    old = note | {"said": {AFTER: made[1].hash}}
    assert "must follow the line before it" in str(reason(THREADED, note, old))
    # Paid for once more under the same name: the first goes on.
    again = THREADED | {"reserved": "1/100 rho"}
    after = note | {"said": {AFTER: made[1].hash}, "reserved": "1/100 rho"}
    assert reason(THREADED, again, after) is None


def test_a_key_of_an_earlier_version_is_found_again() -> None:
    assert (
        Once.of("ann", "7").digest == "dc1cafa079a614f1e50131a671ae859dfc46d4220ef4c5377b835f2bfc79bda8"
    )  # the SHA-256 of "3 ann 7"
    assert Once.of("ann", "7 b").digest != Once.of("ann 7", "b").digest
    assert Once.of("ann", "7").after == 0
