"""What the processes do that tests start, and kill. Each function runs in a fresh process."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import sys
from fractions import Fraction
from multiprocessing.context import ForkServerContext
from multiprocessing.synchronize import Barrier
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa
import sqlalchemy.engine.default

import freegap as fg
import freegap.budget
import freegap.budget.store
import freegap.tables.watch
import freegap.tables.watch_state
from freegap import BudgetExceeded, Ledger
from freegap.budget.reservation import Reservation

CONTEXT: ForkServerContext = multiprocessing.get_context("forkserver")
"""Processes are forked from one that has imported this module and has no threads: a start is quick."""

CONTEXT.set_forkserver_preload([__name__])

_LEDGER_CODE = str(Path(freegap.budget.__file__).parent)
_DRIVER_CODE = sqlalchemy.engine.default.__file__


def release_once(url: str, dataset: str, released: Path, die_at: int) -> None:
    """Make one release that is charged, and die by SIGKILL at its step number `die_at`.

    A step is every line of the ledger's code that runs, and every line of the code that hands a statement or
    a commit to the database. What is released is written down at the moment at which it is drawn.
    """
    ledger = Ledger(url)
    steps = _StepsToDeath(die_at)
    sys.settrace(steps.trace)
    try:
        ledger.charge(dataset, lambda: _drawn(released), epsilon=1, what="sparse_vector", parameters={"k": 3})
    finally:
        sys.settrace(None)
    released.with_suffix(".steps").write_text(json.dumps({"last": steps.count, "commits": steps.commits}))


def watch_once(url: str, dataset: str, state: Path, shown: Path, die_at: int) -> None:
    """Ask a watch its first question, which is above, and die at step number `die_at`; see `release_once`.

    Lines of the watch are steps too. What is shown is written down.
    """
    ledger = Ledger(url)
    table = pa.table({"code": ["flu"] * 900, "patient": range(900)})
    asked: dict[str, Any] = {"item": "code", "of": "flu", "person": "patient", "threshold": 50, "k": 2}
    steps = _StepsToDeath(die_at, freegap.tables.watch.__file__, freegap.tables.watch_state.__file__)
    sys.settrace(steps.trace)
    try:
        report = freegap.tables.watch.watch(
            table,
            **asked,
            epsilon=2,
            state=state,
            question="Monday",
            ledger=(ledger, dataset),
            bits=fg.SeededBits(f"{dataset} of the child"),
        )
    finally:
        sys.settrace(None)
    shown.write_text(json.dumps(dict(zip(report.questions, report.gap_multiples, strict=True))))
    shown.with_suffix(".steps").write_text(json.dumps({"last": steps.count, "commits": steps.commits}))


def release_forever(url: str, dataset: str, released: Path) -> None:
    """Make one release after the other until somebody kills the process."""
    ledger = Ledger(url)
    while True:
        ledger.charge(dataset, lambda: _drawn(released), epsilon="1/10", what="sparse_vector")


def hammer(url: str, dataset: str, seed: int, released: Path, start: Barrier) -> None:
    """Reserve, settle, abandon and leave open, at random, until too little is left."""
    dice = random.Random(seed)
    ledger = Ledger(url)
    start.wait(120)
    while True:
        wanted = Fraction(dice.randint(1, 40), 30)
        try:
            reservation = ledger.reserve(dataset, wanted, what=f"process {seed}")
        except BudgetExceeded:
            return
        _close(reservation, dice, released)


def create(url: str, dataset: str) -> None:
    """Create a dataset, as many others do at the same time."""
    Ledger(url).create(dataset, epsilon=5)


def ask_and_die(url: str) -> None:
    """Die with an object that was asked and not closed."""
    asking = fg.SparseVector(0, k=1, epsilon=1, ledger=(Ledger(url), "shop"))
    asking.ask(-(10**9))
    os.kill(os.getpid(), signal.SIGKILL)


def total_released(released: Path) -> Fraction:
    """The sum of what processes wrote down as released."""
    return sum(map(Fraction, released.read_text().split()), Fraction(0)) if released.exists() else Fraction(0)


def _close(reservation: Reservation, dice: random.Random, released: Path) -> None:
    fate = dice.random()
    if fate < 0.15:
        reservation.abandon("nothing was drawn")
        return
    spent = reservation.asked.spent * Fraction(dice.randint(0, 4), 4)
    _note(released, spent)
    if fate < 0.85:
        reservation.settle(spent)


def _drawn(released: Path) -> Any:
    release = fg.sparse_vector([1, 2, 3], 10**6, k=3, epsilon="1/10")
    _note(released, release.spent)
    return release


def _note(released: Path, spent: Fraction) -> None:
    descriptor = os.open(released, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(
        descriptor, f"{spent}\n".encode()
    )  # one write in append mode: whole lines, also from many processes
    os.close(descriptor)


class _StepsToDeath:
    def __init__(self, die_at: int, *files: str) -> None:
        """files: whose lines are steps as well."""
        self._files = files
        self.count = 0
        self.commits: list[int] = []
        self._die_at = die_at

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        code = frame.f_code
        if (
            code.co_filename.startswith(_LEDGER_CODE)
            or code.co_filename in self._files
            or (code.co_filename == _DRIVER_CODE and code.co_name.startswith("do_"))
        ):
            return self._step
        return None

    def _step(self, frame: FrameType, event: str, argument: Any) -> Any:
        self.count += 1
        if frame.f_code.co_name == "do_commit" and event == "return":
            self.commits.append(self.count)
        if self.count == self._die_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return self._step
