"""Analysts: each a thread that asks one question after the other, and notes what came back."""

from __future__ import annotations

import http.client
import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from freegap_evidence.bench.serve.team import Team, amount, question

_PATIENCE = 600
_AGAIN = 0.1
"""Seconds after which somebody who was turned away asks again; after a failure, five times as many."""

TOO_MANY = 429


@dataclass(frozen=True)
class AskedOfService:
    """A question and what came back. status: of the reply; None where the connection was lost.

    seconds: until the reply, with the time of being turned away for now. turned_away: how often.
    """

    who: str
    epsilon: Fraction
    port: int
    status: int | None
    line: int | None = None
    release: Any = None
    seconds: float = 0.0
    turned_away: int = 0


@dataclass
class Notes:
    """What all analysts have noted, and a number for the next question."""

    asked: list[AskedOfService] = field(default_factory=list)
    numbers: itertools.count[int] = field(default_factory=itertools.count)
    changed: threading.Condition = field(default_factory=threading.Condition)
    stopped: bool = False

    def add(self, one: AskedOfService) -> None:
        """Note a reply."""
        with self.changed:
            self.asked.append(one)
            self.changed.notify_all()

    def answers(self) -> Counter[tuple[int, int | None]]:
        """How many of each status each port has given."""
        with self.changed:
            return Counter((one.port, one.status) for one in self.asked)

    def wait_for(self, port: int, status: int, more_than: int, seconds: float) -> bool:
        """Whether a port gives more such replies than it had, within these seconds."""
        with self.changed:
            return self.changed.wait_for(
                lambda: sum((one.port, one.status) == (port, status) for one in self.asked) > more_than,
                seconds,
            )


def ask(team: Team, who: str, port: int, epsilon: Fraction) -> AskedOfService:
    """One question, again and again while there is no room for it."""
    begin, turned_away = time.perf_counter(), 0
    while True:
        try:
            status, reply = _post(port, team.tokens[who], question(epsilon))
        except (OSError, http.client.HTTPException, ValueError):  # lost in the middle of a reply, too
            return AskedOfService(who, epsilon, port, None, seconds=time.perf_counter() - begin)
        if status != TOO_MANY:
            break
        turned_away += 1
        time.sleep(_AGAIN)
    line, release = (reply["line"], reply["release"]) if status == 200 else (None, None)
    seconds = time.perf_counter() - begin
    return AskedOfService(who, epsilon, port, status, line, release, seconds, turned_away)


def ask_at_once(team: Team, ports: Sequence[int], notes: Notes, questions: int) -> list[threading.Thread]:
    """Threads of all analysts, begun together: so many questions each, or until somebody stops them.

    Each goes to one process of the service, as with a proxy that spreads them.
    """
    start = threading.Barrier(len(team.tokens))

    def work(who: str, port: int) -> None:
        start.wait()
        for _ in range(questions):
            if notes.stopped:
                return
            one = ask(team, who, port, amount(next(notes.numbers)))
            notes.add(one)
            if one.status is None or one.status >= 500:
                time.sleep(5 * _AGAIN)

    made = [
        threading.Thread(target=work, args=(who, ports[place % len(ports)]), daemon=True)
        for place, who in enumerate(team.tokens)
    ]
    for thread in made:
        thread.start()
    return made


def look(port: int, token: str, path: str) -> Any:
    """What a page says, for whoever has the token."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def _post(port: int, token: str, asked: dict[str, Any]) -> tuple[int, Any]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    try:
        connection.request("POST", "/v1/releases", json.dumps(asked), headers)
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())
    finally:
        connection.close()
