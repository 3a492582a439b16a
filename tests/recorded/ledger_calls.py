"""Ledgers under a fixed clock: every line that is written, with its hash, and every refusal."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sqlalchemy.exc import DBAPIError

import freegap as fg
from freegap.budget import accounting, arguments, faults, store
from freegap.budget.budgets import Budget
from freegap.budget.heads import head_places
from freegap.budget.levels import LevelledLedger
from freegap.budget.lines import first_line, lines_of
from freegap.budget.location import locate
from freegap.budget.notes import note, thread_of
from freegap.budget.once import AskedBefore, Once, look_up
from freegap.budget.statement import charges
from tests.recorded.mechanism_calls import COUNTS, MECHANISMS
from tests.recorded.seen import plain

__all__ = ["every_line", "refusals_of_ledgers", "two_measures"]

_SETTINGS = [store._POSTGRES_CONNECTION, store._POSTGRES_WRITE, store._PATIENCE, store._ASK_AGAIN]

Thunks = Iterator[Any]
"""Calls without arguments, to be made one after the other."""


class _Private:
    """A seeded source that says that it is private, so that a ledger keeps what is made with it."""

    private = True

    def __init__(self, seed: int) -> None:
        self._bits = fg.SeededBits(seed)

    def bits(self, n: int) -> int:
        return self._bits.bits(n)


@contextmanager
def _fixed() -> Iterator[Path]:
    """A folder; a clock that moves a minute with each line, one name, one version of everything."""
    minutes = iter(range(10**6))

    def now() -> datetime:
        return datetime(2026, 11, 18, 7, tzinfo=UTC) + timedelta(minutes=next(minutes), microseconds=5)

    with (
        tempfile.TemporaryDirectory() as folder,
        patch("freegap.budget.journal.now", now),
        patch("freegap.budget.store._PATIENCE", 0.01),  # nobody else writes there
        patch("freegap.budget.ledger.who", lambda: "ann@desk"),
        patch("freegap.budget.arguments.versions", lambda: {"freegap": "1"}),
    ):
        yield Path(folder)


def _without(folder: Path, call: Callable[[], Any]) -> Any:
    """What a call shows, without where the folder is."""
    try:
        return _named(folder, plain(call()))
    except fg.FreegapError as error:
        cause = f" from {type(error.__cause__).__name__}" if error.__cause__ is not None else ""
        notes = getattr(error, "__notes__", [])
        return _named(folder, [f"{type(error).__name__}{cause}: {error}", *notes])


def _named(folder: Path, told: Any) -> Any:
    if isinstance(told, str):
        for path, name in ((folder, "FOLDER"), (Path.cwd(), "HERE"), (Path.home(), "HOME")):
            told = told.replace(str(path), name)
        return told
    if isinstance(told, list):
        return [_named(folder, part) for part in told]
    return {name: _named(folder, part) for name, part in told.items()} if isinstance(told, dict) else told


def _state(ledger: fg.Ledger) -> list[Any]:
    parts = [[account.to_dict(), account._repr_html_()] for account in ledger.accounts()]
    return [
        repr(ledger),
        parts,
        [entry.to_dict() for entry in ledger.entries()][-3:],
        ledger.verify().to_dict(),
    ]


def every_line() -> Thunks:
    """Each mechanism, charged to a budget in ε: what is reserved, settled and kept."""
    with _fixed() as folder:
        ledger = fg.Ledger(f"sqlite:///{folder}/ledger.db", heads=str(folder / "head"))
        calls: list[Any] = [
            lambda: ledger.create("shop", epsilon=100),
            lambda: ledger.create("shop", epsilon=100),
        ]
        for name, (function, usual) in MECHANISMS.items():
            arguments_ = usual[0]
            if ("answers" in arguments_ and name[0].isupper()) or "Discrete" in name or name == "NoisyScore":
                continue
            if name.startswith(("unknown", "base2.c", "base2.l", "base2.n")):
                continue
            calls.append(
                lambda f=function, a=arguments_: f(**a, bits=_Private(9), ledger=(ledger, "shop")).to_dict()
            )
            calls.append(
                lambda f=function, a=arguments_: f(**a, bits=fg.SeededBits(9), ledger=(ledger, "shop")).spent
            )
        calls += [
            lambda: _asked(fg.SparseVector(50, k=2, epsilon=1, bits=_Private(3), ledger=(ledger, "shop"))),
            lambda: ledger.charge(
                "shop", lambda: fg.noisy_max(COUNTS, epsilon=1, bits=_Private(1)), epsilon=2, what="more"
            ),
            lambda: ledger.charge(
                "shop", lambda: 3, epsilon=1, what="mine", parameters={"k": 3, "of": [1, "a", None]}
            ),
            lambda: ledger.charge("shop", lambda: fg.noisy_max([], epsilon=1), epsilon=1, what="refused"),
            lambda: ledger.charge(
                "shop", lambda: fg.noisy_max(COUNTS, epsilon=2), epsilon=1, what="too much"
            ),
            lambda: ledger.record("shop", epsilon="0.3", by="opendp", what="histogram of ages"),
            lambda: ledger.reserve("shop", 1, what="open", parameters={"k": 3}),
            lambda: ledger.reserve("shop", 1, what="a").abandon("not made"),
            lambda: ledger.reserve("shop", 1, what="b").settle("1/3"),
            lambda: ledger.reserve("shop", 1, what="c").settle(2),
            lambda: ledger.release(4),
            lambda: ledger.release(5),
            lambda: ledger.require("shop", epsilon=1),
            lambda: ledger.require("shop", epsilon=1000),
            lambda: [charge.to_dict() for charge in charges(ledger.entries("shop"))][-9:],
            lambda: [entry.sequence for entry in ledger.entries(last=2)],
            lambda: [entry.sequence for entry in ledger.entries("shop", since="2026-11-18T07:30")],
            lambda: [
                entry.sequence
                for entry in ledger.entries(since=datetime(2026, 11, 18, 7, 50, tzinfo=UTC), last=1)
            ],
            lambda: [
                first_line(ledger),
                lines_of(ledger, 2),
                _refused(lambda: lines_of(ledger, 3)),
                _refused(lambda: lines_of(ledger, 999)),
            ],
            lambda: (folder / "head").read_text(),
        ]
        for call in calls:
            yield lambda c=call: [_without(folder, c), _without(folder, lambda: _state(ledger))]


def _refused(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except fg.FreegapError as error:
        return f"{type(error).__name__}: {error}"


def _asked(run: Any) -> list[Any]:
    with run:
        return [run.ask(3), run.ask(900), run.spent, repr(run)]


def two_measures() -> Thunks:
    """Budgets in ρ and in (ε, δ), quotas, keys that count once, and a release that goes on."""
    with _fixed() as folder:
        url = f"sqlite:///{folder}/ledger.db"
        ledger = fg.Ledger(url)
        levels = LevelledLedger(url, quotas=["team", "ann"], who="ann")
        key = Once.of("ann", "7")
        once = LevelledLedger(url, quotas=["ann"], who="ann", once=key)
        calls: list[Any] = [
            lambda: ledger.create("rho", rho="1/8"),
            lambda: ledger.create("both", epsilon=1, delta="1e-6"),
            lambda: ledger.create("own", epsilon=1, delta="1e-6", own_delta="1e-7"),
            lambda: ledger.create("none", epsilon=1, delta="1e-6", own_delta=0),
            lambda: ledger.create("team", epsilon=3),
            lambda: ledger.create("ann", epsilon=2),
            lambda: ledger.create("shop", epsilon=5),
            lambda: ledger.create("wide", rho=50),
        ]
        for dataset in ("rho", "both", "own", "none", "shop"):
            for asked in (
                {"epsilon": "1/10"},
                {"rho": "1/100"},
                {"epsilon": "1/10", "delta": "1e-8"},
                {"rho": "1/100", "delta": "1e-8"},
                {"epsilon": 90},
                {"rho": 90},
            ):
                calls.append(lambda d=dataset, a=asked: ledger.account(d).cost(**a))
                calls.append(lambda d=dataset, a=asked: ledger.account(d).fits(**a))
                calls.append(lambda d=dataset, a=asked: ledger.reserve(d, what="x", **a))
                calls.append(lambda d=dataset, a=asked: ledger.record(d, by="me", what="y", **a))
        calls += [
            lambda: fg.noisy_top_k(COUNTS, 2, rho="1/100", bits=_Private(1), ledger=(ledger, "rho")),
            lambda: fg.sparse_vector(
                COUNTS, 50, k=2, epsilon="1/20", bits=_Private(1), ledger=(ledger, "rho")
            ),
            lambda: fg.unknown_top_k(
                {"a": 300, "b": 2}, 1, epsilon="1/50", delta="1e-9", bits=_Private(1), ledger=(ledger, "both")
            ),
            lambda: fg.unknown_counts(
                {"a": 300, "b": 2},
                epsilon="1/50",
                delta="1e-9",
                items_per_person=1,
                bits=_Private(1),
                ledger=(ledger, "both"),
            ),
            lambda: fg.unknown_top_k(
                {"a": 300, "b": 2}, 1, epsilon="1/50", delta="1e-9", bits=_Private(1), ledger=(ledger, "none")
            ),
            lambda: fg.select_and_measure(COUNTS, 2, rho="1/200", bits=_Private(1), ledger=(ledger, "both")),
            lambda: ledger.reserve("rho", rho="1/500", what="a").settle("1/900"),
            lambda: ledger.reserve("rho", epsilon="1/50", what="a").settle("1/90"),
            lambda: fg.noisy_max(COUNTS, epsilon="1/2", bits=_Private(1), ledger=(levels, "shop")),
            lambda: fg.noisy_max(COUNTS, epsilon=2, bits=_Private(1), ledger=(levels, "shop")),
            lambda: fg.noisy_max(COUNTS, epsilon="1/2", bits=_Private(1), ledger=(levels, "ann")),
            lambda: levels.require("shop", epsilon=1),
            lambda: levels.require("shop", epsilon=3),
            lambda: levels.require("team", epsilon=1),
            lambda: [levels.line, look_up(ledger, "ann", key)],
            lambda: once.reserve("shop", "1/4", what="b", parameters={"idempotency_key": key.digest}).settle(
                "1/8"
            ),
            lambda: _refused(
                lambda: once.reserve("shop", "1/4", what="b", parameters={"idempotency_key": key.digest})
            ),
            lambda: [
                look_up(ledger, "ann", key),
                look_up(ledger, "bob", key),
                str(AskedBefore(7)),
                AskedBefore(7).line,
            ],
            lambda: ledger.reserve("wide", rho=1, what="watch", parameters={"thread": "t1"}).settle(1),
            lambda: thread_of(ledger, "wide", "t1"),
            lambda: note(ledger, thread_of(ledger, "wide", "t1"), "said", {"above": True}),
            lambda: note(ledger, thread_of(ledger, "wide", "t1"), "said", {"above": False}),
            lambda: thread_of(ledger, "wide", "t1").newest,
            lambda: note(ledger, thread_of(ledger, "wide", "t2"), "said", {}),
            lambda: [charge.to_dict() for charge in charges(ledger.entries("wide"))],
            lambda: ledger.verify(head="0" * 64),
            lambda: ledger.verify(head=ledger.entries()[3].hash),
            lambda: ledger.verify(head=7),  # type: ignore[arg-type]
        ]
        for call in calls:
            yield lambda c=call: [_without(folder, c), _without(folder, lambda: _state(ledger))]


def refusals_of_ledgers() -> Thunks:
    """Names, amounts, times and places that are refused, and what is damaged."""
    with _fixed() as folder:
        ledger = fg.Ledger(f"sqlite:///{folder}/ledger.db")
        said: list[Any] = [
            ledger.accounts,
            lambda: ledger.account("shop"),
            lambda: ledger.create("shop", epsilon=5),
        ]
        for name in (
            "shop",
            "Shop",
            "",
            " a",
            "a ",
            "a\nb",
            "n" * 200,
            "n" * 201,
            None,
            3,
            "é",
            "e\u0301",
            "\ud800",
            "a'b",
        ):
            said.append(lambda n=name: ledger.create(n, epsilon=1))
            said.append(lambda n=name: ledger.account(n))
            said.append(lambda n=name: ledger.reserve("shop", "1/1000", what=n))
            said.append(lambda n=name: ledger.record("shop", epsilon="1/1000", by=n, what="x"))
            said.append(lambda n=name: ledger.reserve("shop", "1/1000", what="x").abandon(n))
            said.append(lambda n=name: Once.of("ann", str(n).encode("utf-8", "replace").decode()))
        for amount in (0, -1, None, "x", True, 10**2001, 10**1999, Fraction(1, 10**1999), "1/3", 6):
            said.append(lambda a=amount: ledger.create("other", epsilon=a))
            said.append(lambda a=amount: ledger.reserve("shop", a, what="x"))
            said.append(lambda a=amount: ledger.account("shop").fits(epsilon=a))
            said.append(lambda a=amount: ledger.reserve("shop", "1/1000", what="x").settle(a))
            said.append(lambda a=amount: ledger.release(a))
        for total in (
            {"epsilon": 6},
            {"rho": 5},
            {"epsilon": 5, "delta": "1e-6"},
            {"rho": 1, "delta": "1e-6"},
            {"epsilon": 5, "own_delta": 0},
            {},
        ):
            said.append(lambda t=total: ledger.create("shop", **t))
            said.append(lambda t=total: ledger.create("d", **{**t, "own_delta": "1e-6"}))
        said += [
            lambda v=value: ledger.reserve("shop", "1/10000", what="x", parameters=v)
            for value in (
                {},
                {"a": Fraction(1, 3)},
                {"a": 0.1},
                {"a": float("nan")},
                {"a": object()},
                {1: 2},
                [1],
                {"a": {"b": [1, (2,)]}},
                {"a": "x" * 20_001},
                {"a": b"x"},
                {"b": 1, "a": 2},
                {"a": 2**60},
            )
        ]
        said += [
            lambda v=value: ledger.entries(since=v)[:1]
            for value in (
                "2026-11-18",
                "2026-11-18T08:00+01:00",
                "x",
                5,
                datetime(2026, 11, 18),
                datetime(1, 1, 1, tzinfo=UTC),
                "0001-01-01T00:00+23:00",
            )
        ]
        said += [lambda v=value: len(ledger.entries(last=v)) for value in (1, 3, 0, None, 10**6, True, "x")]
        said += [
            lambda v=value: [str(locate(v)), locate(v).file, locate(v).default]
            for value in (
                "a.db",
                "~/x.db",
                "sqlite:///a.db",
                "sqlite://",
                "sqlite:///:memory:",
                "sqlite:///a.db?x=1",
                "sqlite:///file:a",
                "postgresql://u:secret@h/d?sslpassword=s",
                "postgres://h/d",
                "mysql://h/d",
                "x@y",
                "a=b",
                7,
                "postgresql://h:port/d",
                "\ud800",
                "sqlite+pysqlite:///b.db",
                "postgresql+psycopg://h/d",
            )
        ]
        said += [
            lambda v=value: [p.name for p in head_places(v)]
            for value in ([], "x", ["a", "syslog"], [3], [""], "sqlite:///h.db")
        ]
        said += [
            lambda c=code: faults._explained(_fault(c), "PLACE")
            for code in (*faults._UNAVAILABLE, *faults._DAMAGED, "SQLITE_OTHER", None, "99999")
        ]
        said += [
            lambda: [
                accounting.shown(Fraction(n, d)) for n in (1, 5, 10**12, 7**40) for d in (1, 3, 10**9 + 7)
            ],
            lambda: [
                accounting.rounded_up(Fraction(1, 3)),
                accounting.kept_short(
                    accounting.Cost(Fraction(1, 3)), accounting.Cost(Fraction(1, 7**12_000))
                ),
            ],
            lambda: [
                accounting.AMOUNT_DIGITS,
                accounting.SUM_DIGITS,
                arguments._LONGEST_NAME,
                arguments._LONGEST_PARAMETERS,
                arguments._LONGEST_RELEASE,
            ],
            lambda: _SETTINGS,
        ]
        said += [
            lambda t=text: accounting.parsed_amount(t)
            for text in ("3/2", "2/4", "-1/2", "1/0", "x", "1", "1/2/3", "٣/2", "01/2")
        ]
        said += [
            lambda t=text: Budget.parsed(t)
            for text in (
                "5/1",
                "1/8 rho",
                "1/8 rho + 1/9 delta",
                "1/8 rho + 0/1 delta within 1/1 epsilon + 1/9 delta",
                "1/8 x",
                "1/8 rho within 1/8 rho",
                "1/8 rho + 1/8 rho",
                "",
            )
        ]
        for call in said:
            yield lambda c=call: _without(folder, c)
        yield lambda: _without(folder, lambda: _state(ledger))
        for write in (True, False):
            yield lambda w=write: _without(folder, lambda: _against_the_rules(ledger, w))
        for statement in (
            "UPDATE freegap_ledger SET hash = 'x'",
            "UPDATE freegap_ledger SET sequence = 3",
            "UPDATE freegap_ledger SET schema_version = 99",
            "UPDATE freegap_ledger SET schema_version = 0",
            "DELETE FROM freegap_ledger",
            "DELETE FROM freegap_journal WHERE sequence = 2",
            "UPDATE freegap_journal SET amount = '1/9' WHERE sequence = 3",
            "UPDATE freegap_journal SET parameters = 'x' WHERE sequence = 3",
            "DROP TABLE freegap_journal",
        ):
            yield lambda s=statement: _broken(folder, ledger, s)


def _against_the_rules(ledger: fg.Ledger, write: bool) -> None:
    with ledger._store.journal(write=write):
        raise accounting.BrokenRule("a rule is broken")


def _broken(folder: Path, ledger: fg.Ledger, statement: str) -> list[Any]:
    """What is said of a copy of the ledger in which this was done."""
    copy = folder / "copy.db"
    copy.write_bytes((folder / "ledger.db").read_bytes())
    with sqlite3.connect(copy) as connection:
        for guard in ("update", "delete"):
            connection.execute(f"DROP TRIGGER freegap_journal_no_{guard}")
        connection.execute(statement)
    connection.close()
    broken = fg.Ledger(str(copy))
    calls = (
        lambda: broken.account("shop"),
        lambda: broken.reserve("shop", "1/10000", what="x"),
        broken.verify,
        lambda: broken.entries()[:4],
        lambda: broken.create("n", epsilon=1),
    )
    return [_without(folder, call) for call in calls]


def _fault(code: str | None) -> DBAPIError:
    origin = Exception("told by the database")
    if code is not None:
        setattr(origin, "sqlite_errorname" if code.startswith("SQLITE") else "sqlstate", code)
    return DBAPIError("SELECT 1", {}, origin)
