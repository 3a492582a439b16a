"""Where a watch keeps its key and its replies, so that no crash makes its noise serve twice.

With a ledger, the *journal* has all that changes. The reservation that paid for the watch names its *thread*,
a hash of the key; each reply is a note about that thread, with the name of its question
(`freegap.budget.notes`). The file has the key, which never changes, and the newest line that it has seen.

- A reply is shown only when its note is durable. A question gets one note: the ledger takes a note only
  from whoever knows the newest one. So of all replies that were ever computed with the noise of one question,
  one is ever seen, whatever crashed, and whoever asks at the same time with a copy of the file.
- An older file put back has the same key, and the replies are in the ledger: nothing is forgotten.
- Another key is noticed by its hash; another ledger, or an older copy of it put back, by the line that the
  file has seen: refused before anything is answered.

The steps, and what a crash leaves after each:

| step | a crash then |
|---|---|
| 1. a key is drawn, and the file is written | the key has no thread: the next call draws another |
| 2. ε is reserved, with the thread | a watch that is paid for and goes on; the reservation counts in full |
| 3. ε is settled | the same |
| 4. a reply is computed | nothing was seen: the question is as if it had not been asked |
| 5. its note is durable | the reply stands, and whoever asks again gets it |
| 6. the file notes that line | the same |

Where the commit of a step was cut off, it was made or not, and the next call finds out which by reading.

Without a ledger, the file has the replies as well. Nothing notices when an older one is put back.

The key tells the noise, so the file is as secret as the counts: a file that others may read is refused.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from freegap.bits import BitSource
from freegap.charges import LedgerAndDataset, charged, require
from freegap.errors import FreegapError, InvalidArgument
from freegap.values.measures import Measure
from freegap.values.plans import PlainPlan

if TYPE_CHECKING:
    from freegap.budget.ledger import Ledger
    from freegap.budget.schema import Head

FORMAT = "freegap watch 2"
KEY_BITS = 256
WHAT = "watch"

Replies = dict[str, int | None]
"""By the question: by how many multiples of the resolution it was above, None below."""


class KeptState(Protocol):
    """What a watch has said, and the key of what it will say."""

    key: str
    private: bool
    replies: Replies

    @property
    def begun(self) -> bool:
        """Whether ε is charged and a key drawn."""

    def require_budget(self) -> None:
        """Refuse what could not be paid, before the table is looked at."""

    def begin(self, source: BitSource) -> None:
        """Draw a key, and pay."""

    def add(self, question: str, reply: int | None) -> None:
        """Keep a reply for good, or find that others came first: then `replies` has theirs."""


@contextmanager
def opened_state(
    state: Any, asked: Measure, said: dict[str, Any], account: LedgerAndDataset | None
) -> Iterator[KeptState]:
    """The state of a watch; meanwhile no other process uses this file.

    said: what the watch is about. Another than it was begun with is refused.
    """
    path = _path_argument(state)
    with _locked(path):
        yield _InFile(path, asked, said) if account is None else _InLedger(path, asked, said, account)


@dataclass(frozen=True)
class _Begun:
    """What the ledger is told: nothing but the charge."""

    spent: Fraction


class _InFile:
    """Key and replies in one file."""

    def __init__(self, path: Path, asked: Measure, said: dict[str, Any]) -> None:
        self._path, self._asked, self._said = path, asked, said
        kept = _read(path)
        if kept is not None and "dataset" in kept:
            raise InvalidArgument(
                "ledger",
                None,
                "is missing: this watch was begun with a ledger, which has its replies",
                "Pass the ledger and the dataset that it was begun with.",
            )
        self.begun = kept is not None
        self.key = "" if kept is None else kept["key"]
        self.private = kept is not None and kept["private"] is True
        self.replies: Replies = {} if kept is None else kept["replies"]
        if kept is not None:
            _require_same(kept["asked"], said)

    def require_budget(self) -> None:
        """Nobody keeps one."""

    def begin(self, source: BitSource) -> None:
        """The key is drawn under the allowance that is in force, if there is one."""

        def draw() -> _Begun:
            self.key, self.private = _drawn(source), source.private
            self._write()
            return _Begun(self._asked.spent)

        charged(None, PlainPlan(WHAT, self._asked, self._said), draw)
        self.begun = True

    def add(self, question: str, reply: int | None) -> None:
        """On the disk before it is shown."""
        self.replies = {**self.replies, question: reply}
        self._write()

    def _write(self) -> None:
        kept = {"key": self.key, "private": self.private, "asked": self._said, "replies": self.replies}
        _write(self._path, kept)


class _InLedger:
    """The key in a file, and all that changes in the journal of a ledger."""

    def __init__(self, path: Path, asked: Measure, said: dict[str, Any], account: LedgerAndDataset) -> None:
        self._path, self._asked, self._said, self._account = path, asked, said, account
        self._ledger = _with_notes(account)
        kept = _read(path)
        if kept is not None and "replies" in kept:
            raise InvalidArgument(
                "ledger",
                "<ledger>",
                "has not paid for this watch, which was begun without a ledger",
                "Begin another, with a state of its own.",
            )
        self.key = "" if kept is None else kept["key"]
        self.private = kept is not None and kept["private"] is True
        self._seen = None if kept is None else _head(kept["line"], kept["hash"])
        self._find()
        if kept is not None and self._thread.dataset != kept["dataset"]:
            raise InvalidArgument(
                "ledger",
                account[1],
                f"is not the dataset that this watch was begun with, {kept['dataset']!r}",
                "Name that one.",
            )
        if self._seen is not None and not self.begun and self._seen != self._thread.first:
            raise InvalidArgument(
                "state",
                str(path),
                "has a key that is not the one of its watch in the ledger",
                "Somebody has changed the file: look who. A new watch needs a state and a budget of its own.",
            )
        if self.begun:
            self._note_newest()

    @property
    def begun(self) -> bool:
        """Whether the ledger has a reservation for this key."""
        return bool(self.key) and self._thread.reserved is not None

    def require_budget(self) -> None:
        """Refuse what the ledger would refuse."""
        if not self.begun:
            require(self._account, self._asked)

    def begin(self, source: BitSource) -> None:
        """Draw a key that was never used, keep it, and pay; see the table above."""
        self.key, self.private = _drawn(source), source.private
        self._seen = None
        self._find()
        if self.begun:
            raise InvalidArgument(
                "bits",
                f"<{type(source).__name__}>",
                "has made the key of another watch of this dataset",
                "Leave out bits; for a test, choose another seed.",
            )
        self._note_newest()
        from freegap.budget.chain import THREAD

        public = {**self._said, THREAD: self._thread.name}
        charged(self._account, PlainPlan(WHAT, self._asked, public), lambda: _Begun(self._asked.spent))
        self._find()

    def add(self, question: str, reply: int | None) -> None:
        """In the journal before it is shown."""
        from freegap.budget.notes import note

        written = note(self._ledger, self._thread, WHAT, {"question": question, "above": reply})
        if written is None:
            self._find()
        else:
            self._take(written)
        self._note_newest()

    def _find(self) -> None:
        """The thread as the ledger has it now, if the ledger is the one that the file has seen."""
        from freegap.budget.notes import thread_of

        noted = {} if self._seen is None else {str(self._path): self._seen}
        self._take(thread_of(self._ledger, self._account[1], _thread_name(self.key), noted))

    def _take(self, thread: Any) -> None:
        self._thread = thread
        self.replies: Replies = {
            entry.parameters["question"]: entry.parameters["above"] for entry in thread.notes
        }
        if thread.reserved is not None:
            from freegap.budget.chain import THREAD

            begun_with = {name: value for name, value in thread.reserved.parameters.items() if name != THREAD}
            _require_same(begun_with, self._said)

    def _note_newest(self) -> None:
        newest = self._thread.newest
        if newest != self._seen:
            where = {"dataset": self._thread.dataset, "line": newest.sequence, "hash": newest.hash}
            _write(self._path, {"key": self.key, "private": self.private, **where})
            self._seen = newest


def _with_notes(account: LedgerAndDataset) -> Ledger:
    from freegap.budget.ledger import Ledger

    if not isinstance(account[0], Ledger):
        raise InvalidArgument(
            "ledger",
            f"<{type(account[0]).__name__}>",
            "must be a ledger of freegap: the replies are written into its journal",
            'Pass ledger=(fg.Ledger(), "…").',
        )
    return account[0]


def _head(line: int, hash_: str) -> Head:
    from freegap.budget.schema import Head

    return Head(line, hash_)


def _drawn(source: BitSource) -> str:
    return f"{source.bits(KEY_BITS):0{KEY_BITS // 4}x}"


def _thread_name(key: str) -> str:
    """Tells keys apart, and tells nothing of what is made from them."""
    return hashlib.blake2b(
        b"thread", key=bytes.fromhex(key), digest_size=16, person=b"freegap watch"
    ).hexdigest()


def _require_same(begun_with: dict[str, Any], said: dict[str, Any]) -> None:
    for argument in {**begun_with, **said}:
        if begun_with.get(argument) != said.get(argument):
            raise InvalidArgument(
                argument,
                said.get(argument),
                f"is not what this watch was begun with, {begun_with.get(argument)!r}",
                "A watch asks one question of all days; begin another with a state of its own.",
            )


# The file ----------------------------------------------------------------------------------------


def _path_argument(state: Any) -> Path:
    if not isinstance(state, str | Path) or not Path(state).name or "\0" in str(state):
        raise InvalidArgument("state", state, "must be a path", 'Pass for example state="flu.watch".')
    # Behind links: else a new state would stand in place of the link, and the old one where it points to.
    try:
        return Path(os.path.realpath(state))
    except ValueError:  # a name that the system cannot spell
        raise InvalidArgument("state", state, "is no possible name", "Choose another place.") from None


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Meanwhile no other process asks this watch. The lock ends with the process, however that ends."""
    try:
        import fcntl
    except ImportError:
        raise FreegapError("a watch needs file locks, which this system does not have") from None
    try:
        descriptor = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    except (OSError, ValueError) as error:  # also a name that the system cannot spell
        why = getattr(error, "strerror", None) or "no such name"
        raise InvalidArgument(
            "state", str(path), f"cannot be written ({why})", "Choose another place."
        ) from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise FreegapError(
                f"another process is asking the watch {str(path)!r}. Try again later."
            ) from None
        yield
    finally:
        os.close(descriptor)


def _read(path: Path) -> dict[str, Any] | None:
    """The file, or None where there is none."""
    try:
        status = path.stat()
        if status.st_nlink > 1:
            raise InvalidArgument(
                "state",
                str(path),
                "has another name, under which an older state would stay",
                "Leave it one name, and let no link but a symbolic one lead to it.",
            )
        if status.st_mode & 0o077:
            raise InvalidArgument(
                "state",
                str(path),
                "may be read by others, and holds a secret",
                "chmod 600, and think who saw it.",
            )
        kept = json.loads(path.read_text(encoding="utf-8"))
        sound = _sound(kept)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, InvalidArgument):
            raise
        sound = False
    if not sound:
        raise InvalidArgument("state", str(path), "is not the state of a watch", "Choose another place.")
    return dict(kept)


def _sound(kept: Any) -> bool:
    if kept["format"] != FORMAT or len(kept["key"]) != KEY_BITS // 4 or int(kept["key"], 16) < 0:
        return False
    if "replies" in kept:
        replies = kept["replies"].values()
        return type(kept["asked"]) is dict and all(one is None or type(one) is int for one in replies)
    return type(kept["line"]) is int and type(kept["hash"]) is str and type(kept["dataset"]) is str


def _write(path: Path, record: dict[str, Any]) -> None:
    """The file, in one step and on the disk when this returns; readable by its owner alone."""
    try:
        _replace(path, {"format": FORMAT, **record})
    except OSError as error:
        raise FreegapError(
            f"the state of the watch {str(path)!r} cannot be written ({error.strerror}). Nothing is shown of "
            "what was asked now; ask again when it can be."
        ) from None


def _replace(path: Path, record: dict[str, Any]) -> None:
    new = path.with_name(path.name + ".new")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        os.fchmod(descriptor, 0o600)
        file.write(json.dumps(record))
        file.flush()
        os.fsync(descriptor)
    new.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
