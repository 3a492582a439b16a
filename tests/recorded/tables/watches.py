"""Watches, day after day, with a ledger and without; and what is refused of them."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import freegap as fg
from freegap.tables.watch import watch
from tests.recorded.tables.rows import arrow
from tests.recorded.tables.told import Journal
from tests.recorded.tables.variations import SEED, Question, Way, other_bits

WAYS: dict[str, Way] = {
    "of people": {"item": "item", "of": "tea", "person": "person", "threshold": 20, "k": 2, "epsilon": 8},
    "of two columns": {"item": ["ward", "flag"], "of": ("north", True), "person": "person", "threshold": 8}
    | {"k": 1, "epsilon": 8, "where": "pieces > 1"},
}
CHANGES: dict[str, list[Any]] = {
    "item": ["code", "nothing", None, 3],
    "of": ["rice", "nothing", 7, ["tea"], None],
    "person": ["customer", None, "nothing"],
    "where": ["pieces > 3", "nothing = 1"],
    "threshold": [5, "x", "43/2"],
    "k": [1, 3, 0],
    "epsilon": [1, 0],
    "question": ["", "x" * 100, "x" * 101, "a\nb", 3, "other"],
    "bits": ["others", "none"],
    "ledger": ["none"],
}
DAYS = {"monday": 60, "tuesday": 200, "monday again": 200, "wednesday": 230, "thursday": 260}


def _asked(
    way: Way, days: dict[str, int], *, with_ledger: bool, spoilt: Callable[[Path], Any] | None = None
) -> Question:
    """The replies of several days. spoilt: what happens to the file after the second."""

    def ask(_: Path, __: Journal) -> Any:
        replies: list[Any] = []
        with tempfile.TemporaryDirectory() as folder:
            state = Path(folder) / "one.watch"
            more: Way = {}
            if with_ledger:
                ledger = fg.Ledger(f"sqlite:///{folder}/ledger.db")
                ledger.create("ward", epsilon=20)
                more = {"ledger": (ledger, "ward")}
            for number, (day, rows) in enumerate(days.items()):
                given: Way = {
                    "question": day.removesuffix(" again"),
                    "bits": fg.SeededBits(SEED),
                    **more,
                } | way
                if given["bits"] == "others":
                    given["bits"] = other_bits(state)
                if number == 2 and spoilt is not None:
                    spoilt(state)
                try:
                    made = watch(arrow().slice(0, rows), state=state, **given)
                    told = made.to_dict()
                    replies.append(
                        [made.title, *str(made).splitlines()[1:], told["gaps"], told["left"], told["alert"]]
                    )
                except fg.FreegapError as error:
                    replies.append(f"{type(error).__name__}: {error}".replace(folder, "<state>"))
            replies.append(_state(state))
        return replies

    return ask


def _state(state: Path) -> Any:
    if not state.exists():
        return None
    try:
        kept = dict(json.loads(state.read_text()))
    except ValueError:
        return "no state"
    kept.pop("hash", None)  # of a line with the time in it
    return [oct(state.stat().st_mode), kept]


def _changed(**changes: Any) -> Callable[[Path], None]:
    def change(state: Path) -> None:
        kept = json.loads(state.read_text()) | changes
        state.write_text(json.dumps({name: value for name, value in kept.items() if value != "<gone>"}))

    return change


def _linked(state: Path) -> None:
    os.link(state, state.with_name("other"))


SPOILT: dict[str, Callable[[Path], Any]] = {
    "readable": lambda state: state.chmod(0o640),
    "readable by others": lambda state: state.chmod(0o604),
    "linked": _linked,
    "no JSON": lambda state: state.write_text("{"),
    "a list": lambda state: state.write_text("[]"),
    "another format": _changed(format="freegap watch 1"),
    "another key": _changed(key="0" * 64),
    "a short key": _changed(key="0" * 63),
    "a negative key": _changed(key="-" + "1" * 63),
    "a key of -1": _changed(key="-" + "0" * 62 + "1"),
    "no key": _changed(key="<gone>"),
    "another line": _changed(line=1),
    "a line that is none": _changed(line="1"),
    "another dataset": _changed(dataset="shop"),
    "a dataset that is none": _changed(dataset=3),
    "replies": _changed(replies={"monday": 3}),
    "replies that are none": _changed(replies={"monday": "3"}),
    "nothing asked": _changed(asked=None),
    "another question": _changed(asked={"k": 1}),
    "gone": lambda state: state.unlink(),
}


def questions() -> dict[str, Question]:
    """All of them, by what they are called."""
    made: dict[str, Question] = {}
    two = {"monday": 60, "tuesday": 260}
    for name, way in WAYS.items():
        for ledger in (False, True):
            group = f"watch, {name}{', with a ledger' if ledger else ''}"
            made[f"{group}: as it is"] = _asked(way, DAYS, with_ledger=ledger)
            for argument, values in ({} if ledger else CHANGES).items():
                for value in values:
                    made[f"{group}: {argument}={str(value)[:20]!r}"] = _asked(
                        way | {argument: value}, two, with_ledger=False
                    )
    for ledger in (False, True):
        for how, spoil in SPOILT.items():
            group = f"watch, spoilt{', with a ledger' if ledger else ''}"
            made[f"{group}: {how}"] = _asked(WAYS["of people"], DAYS, with_ledger=ledger, spoilt=spoil)
    return made
