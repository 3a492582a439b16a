"""The trial: times, load, kills and a database that goes away, each on a ledger of its own."""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import freegap as fg
from freegap.budget.ledger import Ledger
from freegap.budget.levels import LevelledLedger
from freegap.errors import InvalidArgument
from freegap_evidence.bench.serve.asking import AskedOfService, Notes, ask, ask_at_once, look
from freegap_evidence.bench.serve.databases import Databases
from freegap_evidence.bench.serve.processes import ServiceProcess, Victim
from freegap_evidence.bench.serve.promises import Held, promises, refused_in_vain
from freegap_evidence.bench.serve.team import DATASET, LEAST, TEAM, Team, amount, make_team
from freegap_evidence.bench.timing import record

Progress = Callable[[str, int, int], None]
Row = dict[str, Any]

_AMPLE = Fraction(10**5)
_VICTIMS: tuple[tuple[Victim, int], ...] = (("worker", 14), ("server", 5), ("forker", 1))
_LONGEST_PAUSE = 0.5
_BACK = 240.0
"""Seconds after which a service that does not answer again has not come back."""


@dataclass(frozen=True)
class Size:
    """How large a trial is.

    analysts: at once, each with so many questions, against one budget with enough for two thirds of them.
    faults: analysts that ask while something is killed.
    rounds: releases that are timed one after the other.
    """

    analysts: int = 100
    questions: int = 3
    servers: int = 2
    kills: int = 200
    outages: int = 3
    faults: int = 8
    rounds: int = 50


def run(
    *, size: Size, databases: Databases, seed: int = 1, progress: Progress = lambda now, done, total: None
) -> dict[str, Any]:
    """Try everything; the result is what `freegap bench serve --json` prints."""
    if sys.platform != "linux":
        raise InvalidArgument(
            "bench", "serve", "needs Linux, where processes are found in /proc", "Run it there."
        )
    with tempfile.TemporaryDirectory(prefix="freegap-bench-serve-") as folder:
        trial = _Trial(Path(folder), size, databases, seed, progress)
        rows = [trial.load(), *trial.faults()]
    return record(
        "serve",
        rows,
        times=trial.times,
        database=databases.kind,
        servers=size.servers,
        seed=seed,
        cores=os.cpu_count(),
        load_average=os.getloadavg()[0],
    )


class _Trial:
    def __init__(self, folder: Path, size: Size, databases: Databases, seed: int, progress: Progress) -> None:
        self._folder, self._size, self._databases, self._seed = folder, size, databases, seed
        self._dice, self._progress = random.Random(seed), progress  # noqa: S311
        self.times: list[Row] = []

    def load(self) -> Row:
        """All analysts at once against one budget; before that, the times of single releases."""
        size = self._size
        wanted = size.analysts * size.questions
        single = size.rounds * 2
        team = self._team("load", size.analysts, (single + Fraction(2, 3) * wanted) * LEAST)
        notes = Notes()
        with self._serving(team) as servers:
            self._time_singles(team, servers[0].port, notes)
            before = len(notes.asked)
            ports = [server.port for server in servers]
            threads = ask_at_once(team, ports, notes, size.questions)
            while any(thread.is_alive() for thread in threads):
                done = len(notes.asked) - before
                self._progress(f"{size.analysts} analysts at once", done, wanted)
                time.sleep(0.2)
            at_once = [one for one in notes.asked[before:] if one.status == 200]
            self._timed(f"the service, {size.analysts} analysts at once", [one.seconds for one in at_once])
            ledger = Ledger(team.database, heads=())
            held = promises(ledger, notes.asked, team.quotas, faults=False)
            more = [*refused_in_vain(ledger, notes.asked), *self._told_again(team, ports, notes.asked)]
        return _row(f"{size.analysts} analysts at once", notes.asked, held, more)

    def faults(self) -> Iterator[Row]:
        """What happens while analysts ask from an ample budget."""
        team = self._team("faults", self._size.faults, _AMPLE)
        with self._serving(team) as servers:
            earlier, before = Notes(), Held([], 0, 0)
            parts = [self._kills, *([self._outages] if self._databases.can_go else [])]
            for part in parts:
                notes = Notes(numbers=earlier.numbers)
                threads = ask_at_once(team, [server.port for server in servers], notes, sys.maxsize)
                what, more = part(servers, notes)
                more += self._ended(servers, threads, notes)
                asked = [*earlier.asked, *notes.asked]
                held = promises(Ledger(team.database, heads=()), asked, team.quotas)
                more += self._told_again(team, [server.port for server in servers], asked)
                since = replace(held, kept=held.kept - before.kept, open=held.open - before.open)
                yield _row(what, notes.asked, since, more)
                earlier.asked, before = asked, held

    def _kills(self, servers: Sequence[ServiceProcess], notes: Notes) -> tuple[str, list[str]]:
        """`kill -9` of workers, of servers and of what workers are forked from."""
        killed, broken = Counter[str](), list[str]()
        planned = plan_of_kills(self._size.kills, len(servers), self._seed)
        not_yet: dict[int, tuple[str, int]] = {}  # by server: what it has not answered after yet

        def back(place: int) -> list[str]:
            after, had = not_yet.pop(place, ("", -1))
            return self._answering_again(servers[place], notes, after, had) if after else []

        for number, (kind, place, moment, which) in enumerate(planned):
            self._progress("kill -9", number, len(planned))
            broken += back(place)
            time.sleep(moment * _LONGEST_PAUSE)
            self._kill(servers[place], kind, which)
            killed[kind] += 1
            if kind != "worker":
                after = f"kill {number + 1}, of a {kind}"
                not_yet[place] = after, notes.answers()[servers[place].port, 200]
        for place in range(len(servers)):
            had = notes.answers()[servers[place].port, 200]
            broken += back(place) or self._answering_again(servers[place], notes, "the last kill", had)
        kinds = ", ".join(f"{killed[kind]} {kind}s" for kind, _ in _VICTIMS)
        return f"kill -9, {len(planned)} times ({kinds})", broken

    def _outages(self, servers: Sequence[ServiceProcess], notes: Notes) -> tuple[str, list[str]]:
        """The database is shut down or crashes, and comes back."""
        outages = self._size.outages
        broken = [text for one in servers for text in self._answering_again(one, notes, "the start")]
        for number in range(outages):
            self._progress("the database gone", number, outages)
            failed = {one.port: notes.answers()[one.port, 503] for one in servers}
            self._databases.stop((signal.SIGINT, signal.SIGQUIT)[number % 2])
            for one in servers:
                if not notes.wait_for(one.port, 503, failed[one.port], _BACK):
                    broken.append(f"outage {number + 1}: nobody was told")
            self._databases.start()
            for one in servers:
                broken += self._answering_again(one, notes, f"outage {number + 1}")
        return f"database gone and back, {outages} times", broken

    def _team(self, part: str, analysts: int, total: Fraction) -> Team:
        workers = max(2, (os.cpu_count() or 2) // self._size.servers)
        folder = self._folder / part
        return make_team(folder, self._databases.new(), analysts=analysts, total=total, workers=workers)

    @contextmanager
    def _serving(self, team: Team) -> Iterator[list[ServiceProcess]]:
        servers = [ServiceProcess(team.config) for _ in range(self._size.servers)]
        try:
            for server in servers:
                server.start()
            for server in servers:
                self._progress("the service starts", 0, 0)
                server.wait()
            yield servers
        finally:
            for server in servers:
                server.stop()

    def _time_singles(self, team: Team, port: int, notes: Notes) -> None:
        """The bare release, the same with a ledger, and through the service, by one analyst alone."""
        rounds, who = self._size.rounds, next(iter(team.tokens))
        products = team.config.with_name("products.csv")
        levels = (f"{DATASET} / team {TEAM}", team.quotas[who])
        ledger = LevelledLedger(team.database, heads=(), quotas=levels, who=who)

        def bare(epsilon: Fraction, **more: Any) -> Any:
            return fg.top_k(
                team.table, item="product", person="customer", k=3, epsilon=epsilon, domain=products, **more
            )

        times: dict[str, list[float]] = {"bare": [], "ledger": []}
        bare(LEAST)  # what is loaded with the first
        for number in range(rounds):
            self._progress("single releases", number, rounds)
            begin = time.perf_counter()
            bare(LEAST)
            times["bare"].append(time.perf_counter() - begin)
            epsilon = amount(next(notes.numbers))
            begin = time.perf_counter()
            made = bare(epsilon, ledger=(ledger, DATASET))
            seconds = time.perf_counter() - begin
            times["ledger"].append(seconds)
            kept = ledger.release(ledger.line or 0)
            notes.add(AskedOfService(who, epsilon, 0, 200, ledger.line, kept, seconds))
            if Fraction(kept["spent"]) != made.spent:
                raise RuntimeError("The ledger has kept another release than was made.")
            notes.add(ask(team, who, port, amount(next(notes.numbers))))
        alone = [one.seconds for one in notes.asked if one.port == port and one.status == 200]
        self._timed("the bare release", times["bare"])
        self._timed("with the ledger, three levels", times["ledger"])
        self._timed("the service, one analyst", alone)

    def _timed(self, what: str, seconds: Sequence[float]) -> None:
        found = {f"p{part}_ms": 1000 * percentile(seconds, part) for part in (50, 99)} if seconds else {}
        bare = self.times[0]["p50_ms"] if self.times else found.get("p50_ms", 0.0)
        ratio = found.get("p50_ms", 0.0) / bare if bare else 0.0
        self.times.append({"what": what, "answers": len(seconds), **found, "to_bare": ratio})

    def _kill(self, server: ServiceProcess, kind: Victim, which: float) -> None:
        """One process of this kind, as soon as there is one; a server is started again."""
        while True:
            found = server.victims(kind)
            if found and server.kill(found[int(which * len(found))]):
                break
            time.sleep(0.005)
        if kind == "server":
            server.start()

    def _answering_again(
        self, server: ServiceProcess, notes: Notes, after: str, had: int | None = None
    ) -> list[str]:
        """Whether the server gives more answers than it had, with nobody's help."""
        had = notes.answers()[server.port, 200] if had is None else had
        if notes.wait_for(server.port, 200, had, _BACK):
            return []
        return [f"{after}: no answer within {_BACK:g} seconds"]

    def _ended(
        self, servers: Sequence[ServiceProcess], threads: Sequence[threading.Thread], notes: Notes
    ) -> list[str]:
        """Let everybody finish, also workers whose server is gone."""
        notes.stopped = True
        for thread in threads:
            thread.join()
        until = time.monotonic() + _BACK
        while any(server.left_over() for server in servers) and time.monotonic() < until:
            time.sleep(0.05)
        return [f"process {pid} outlived its server" for one in servers for pid in one.left_over()]

    def _told_again(self, team: Team, ports: Sequence[int], asked: Sequence[AskedOfService]) -> list[str]:
        """Some answers again, from the next process: the same line has the same content everywhere."""
        answered = [one for one in asked if one.status == 200 and one.port]
        chosen = self._dice.sample(answered, min(20, len(answered)))
        broken = []
        for one in chosen:
            port = ports[(ports.index(one.port) + 1) % len(ports)]
            if look(port, team.tokens[one.who], f"/v1/releases/{one.line}") != one.release:
                broken.append(f"line {one.line} is told otherwise the second time")
        return broken


def plan_of_kills(kills: int, servers: int, seed: int) -> list[tuple[Victim, int, float, float]]:
    """What is killed, of which server, after which part of the longest pause, and which one of several.

    >>> plan_of_kills(3, 2, 1) == plan_of_kills(3, 2, 1)
    True
    """
    dice = random.Random(seed)  # noqa: S311
    kinds = dice.choices(*zip(*_VICTIMS, strict=True), k=kills)
    return [(kind, dice.randrange(servers), dice.random(), dice.random()) for kind in kinds]


def percentile(values: Sequence[float], part: int) -> float:
    """By the nearest rank: at least so many per cent are no larger.

    >>> percentile([5.0, 1.0, 3.0], 50), percentile([5.0, 1.0, 3.0], 99)
    (3.0, 5.0)
    """
    ranked = sorted(values)
    return ranked[max(0, -(-len(ranked) * part // 100) - 1)]


def _row(what: str, asked: Sequence[AskedOfService], held: Held, more: Sequence[str]) -> Row:
    status = Counter(one.status for one in asked)
    return {
        "what": what,
        "asked": len(asked),
        "answered": status[200],
        "spent": status[409],
        "failed": status[503] + status[500],
        "lost": status[None],
        "other": len(asked) - sum(status[code] for code in (200, 409, 503, 500, None)),
        "turned_away": sum(one.turned_away for one in asked),
        "kept": held.kept,
        "open": held.open,
        "broken": [*held.broken, *more],
    }
