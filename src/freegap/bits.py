"""The only place that makes randomness. Every draw takes a `BitSource` as an argument.

A source is a stream of independent, uniform bits. `bits(n)` takes the next n of them as an integer,
first bit most significant. All other randomness is derived from this one method, so that recording
it records a release whole.

`SystemBits`    the operating system's generator, buffered; for real releases
`SeededBits`    a cipher stream keyed by a seed; for tests and examples     (not private)
`RecordedBits`  passes bits through and keeps them, for a later replay      (not private)
`ReplayedBits`  a given string of bits, then `BitsExhausted`                (not private)

A release made from a source that is not private says so in its result.

Who keeps account of releases must know whether anything was drawn for which nobody has paid. So each draw
asks the `PAYER` of its context; where there is none, the draw leaves a mark, which anybody can look at
later (`last_unpaid_draw`). A fork leaves one too, since nobody here sees what the child draws.
"""

from __future__ import annotations

import hashlib
import os
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, runtime_checkable

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from freegap.errors import BitsExhausted, FreegapError, InvalidArgument

# Small, because bits are taken from a buffer that is one integer: a larger one is dearer to cut.
_BLOCK_BYTES = 512


@runtime_checkable
class BitSource(Protocol):
    """A stream of independent, uniform bits."""

    @property
    def private(self) -> bool:
        """Whether nobody but this process can know the bits."""

    def bits(self, n: int) -> int:
        """The next n bits as an integer in [0, 2**n), first bit most significant."""


class Payer(Protocol):
    """Whoever has answered for the draws of a context beforehand, as `freegap.charges` does."""

    @property
    def pays(self) -> bool:
        """Whether a draw that is made now is paid for."""


PAYER: ContextVar[Payer | None] = ContextVar("payer", default=None)
"""Who pays for the draws of this context. New threads and processes begin with nobody."""

_last_unpaid = object()


def last_unpaid_draw() -> object:
    """The mark of the latest draw, in any thread, for which nobody has paid; the same one if none was made.

    >>> before = last_unpaid_draw()
    >>> before is last_unpaid_draw(), SystemBits().bits(1) in (0, 1), before is last_unpaid_draw()
    (True, True, False)
    """
    return _last_unpaid


def note_draw() -> None:
    """Leave a mark, unless the draw is paid for. A new object and one assignment: no lock, in any thread."""
    global _last_unpaid
    payer = PAYER.get()
    if payer is None or not payer.pays:
        _last_unpaid = object()


def _note_unpaid() -> None:
    global _last_unpaid
    _last_unpaid = object()


class _Nobody:
    pays = True


@contextmanager
def not_noise() -> Iterator[None]:
    """A block whose draws hide nothing and touch no private data, so that nobody needs to pay."""
    token = PAYER.set(_Nobody())
    try:
        yield
    finally:
        PAYER.reset(token)


class _Reservoir:
    """Bits that have been fetched and not yet handed out.

    Handing out by whole bytes would waste bits, and a bit must never be handed out twice: the
    reservoir is one integer from whose low end bits are taken.
    """

    __slots__ = ("count", "value")

    def __init__(self) -> None:
        self.value = 0
        self.count = 0

    def fill(self, data: bytes) -> None:
        self.value = int.from_bytes(data, "big") | (self.value << (8 * len(data)))
        self.count += 8 * len(data)

    def take(self, n: int) -> int:
        self.count -= n
        taken = self.value >> self.count
        self.value &= (1 << self.count) - 1
        return taken


def drawn_bytes(source: BitSource, count: int) -> bytes:
    """The next 8·count bits of a source, first bit most significant: the same as `bits`, without one integer
    of that length where the source can do without."""
    own = getattr(source, "_bytes", None) if type(source) in (SystemBits, SeededBits) else None
    if own is None:
        return source.bits(8 * count).to_bytes(count, "big")
    note_draw()
    drawn: bytes = own(count)
    return drawn


class OfOneProcess:
    """What holds noise, or the right to draw some: of the process that made it, and there is one of it."""

    def __init__(self) -> None:
        self._process = os.getpid()

    @property
    def _in_own_process(self) -> bool:
        """False in a forked child, which has a copy and must not use it."""
        return os.getpid() == self._process

    def __reduce__(self) -> tuple[object, ...]:
        """Neither copied nor sent elsewhere: a second one would use the same noise again."""
        raise FreegapError(
            f"a {type(self).__name__} cannot be copied or pickled: the copy would use the same noise again. "
            "Make a new one with a budget of its own."
        )


class SystemBits(OfOneProcess):
    """Bits from the operating system's generator (`os.urandom`), buffered.

    Thread-safe. Fork-safe: a child process never hands out bits that its parent buffered, because
    the buffer is dropped in the child (`os.register_at_fork`) and, for forks that bypass Python,
    whenever the process id has changed. Requests of 128 bits and more (keys) bypass the buffer.

    >>> SystemBits().bits(128) != SystemBits().bits(128)
    True
    """

    private = True

    def __init__(self) -> None:
        self._forget()
        _BUFFERED.add(self)

    def _forget(self) -> None:
        # The lock is replaced as well: at a fork another thread of the parent may hold it.
        self._lock = threading.Lock()
        self._reservoir = _Reservoir()
        super().__init__()

    def bits(self, n: int) -> int:
        """The next n bits as an integer in [0, 2**n)."""
        _require_number(n)
        note_draw()
        if n >= 128:
            surplus = -n % 8
            return int.from_bytes(os.urandom((n + surplus) // 8), "big") >> surplus
        if not self._in_own_process:
            self._forget()
        with self._lock:
            reservoir = self._reservoir
            if reservoir.count < n:
                reservoir.fill(os.urandom(_BLOCK_BYTES))
            return reservoir.take(n)

    def _bytes(self, count: int) -> bytes:
        """As many bytes, not from the buffer: for `drawn_bytes`, of 128 bits and more."""
        return os.urandom(count) if count >= 16 else self.bits(8 * count).to_bytes(count, "big")

    def __reduce__(self) -> tuple[object, ...]:
        """A copy in another process starts with bits of its own."""
        return SystemBits, ()


class SeededBits:
    """A reproducible stream: AES-256 in counter mode, keyed by the SHA-256 of the seed.

    The same seed gives the same bits on every platform. Anyone who knows the seed knows the noise,
    so a release made with this source is marked as not private.

    >>> SeededBits(7).bits(64) == SeededBits(7).bits(64)
    True
    """

    private = False

    def __init__(self, seed: int | str | bytes) -> None:
        if isinstance(seed, bool) or not isinstance(seed, int | str | bytes):
            raise InvalidArgument(
                "seed", seed, "must be an integer, a string or bytes", "Pass for example seed=7."
            )
        self.seed = seed
        key = hashlib.sha256(f"{type(seed).__name__}:".encode() + _seed_material(seed)).digest()
        self._stream = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        self._reservoir = _Reservoir()
        self._lock = threading.Lock()

    def bits(self, n: int) -> int:
        """The next n bits as an integer in [0, 2**n)."""
        _require_number(n)
        note_draw()
        with self._lock:
            if self._reservoir.count < n:
                missing = (n - self._reservoir.count + 7) // 8
                self._reservoir.fill(self._stream.update(bytes(max(missing, _BLOCK_BYTES))))
            return self._reservoir.take(n)

    def _bytes(self, count: int) -> bytes:
        """As many bytes, the ones that are kept first: for `drawn_bytes`."""
        with self._lock:
            kept, odd = divmod(self._reservoir.count, 8)
            if not odd and kept <= count:
                first = self._reservoir.take(8 * kept).to_bytes(kept, "big")
                return first + self._stream.update(bytes(count - kept))
        return self.bits(8 * count).to_bytes(count, "big")

    def __repr__(self) -> str:
        return f"SeededBits({self.seed!r})"


class RecordedBits:
    """Hands on the bits of another source and keeps them, so that a run can be replayed.

    >>> recorder = RecordedBits(SeededBits(7))
    >>> drawn = recorder.bits(12)
    >>> ReplayedBits(recorder.record).bits(12) == drawn
    True
    """

    private = False

    def __init__(self, source: BitSource) -> None:
        self._source = source_or_system(source)
        self._parts: list[str] = []

    def bits(self, n: int) -> int:
        """The next n bits of the underlying source."""
        taken = self._source.bits(n)
        if n:
            self._parts.append(format(taken, f"0{n}b"))
        return taken

    @property
    def record(self) -> str:
        """Every bit handed out so far, as a string of 0 and 1."""
        return "".join(self._parts)


class ReplayedBits:
    """A given string of bits; asking for more raises `BitsExhausted`.

    >>> source = ReplayedBits("1101")
    >>> source.bits(3), source.remaining
    (6, 1)
    """

    private = False

    def __init__(self, record: str) -> None:
        if not isinstance(record, str) or not set(record) <= {"0", "1"}:
            raise InvalidArgument(
                "record", record, "must be a string of 0 and 1", "Pass RecordedBits(...).record."
            )
        self._record = record
        self._position = 0

    def bits(self, n: int) -> int:
        """The next n bits of the record."""
        _require_number(n)
        note_draw()
        end = self._position + n
        if end > len(self._record):
            raise BitsExhausted(
                f"asked for {n} more bits, but only {self.remaining} of the {len(self._record)} "
                "recorded bits are left: the replayed run asks for other draws than the recorded one"
            )
        taken = int(self._record[self._position : end] or "0", 2)
        self._position = end
        return taken

    @property
    def remaining(self) -> int:
        """How many bits have not been handed out yet."""
        return len(self._record) - self._position


class _Witnessed:
    """A source that somebody else wrote, whose draws are noted like those of our own."""

    def __init__(self, source: BitSource) -> None:
        self._source = source

    @property
    def private(self) -> bool:
        return self._source.private

    def bits(self, n: int) -> int:
        note_draw()
        return self._source.bits(n)

    def __getattr__(self, name: str) -> Any:
        """A candidate of private selection is handed this one, and may know more of its own source."""
        if name.startswith("_"):  # while it is being copied, there is no source yet
            raise AttributeError(name)
        return getattr(self._source, name)


def _seed_material(seed: int | str | bytes) -> bytes:
    """A seed as bytes. Plain UTF-8 refuses surrogates, and str() integers beyond some thousand digits."""
    if isinstance(seed, bytes):
        return seed
    if isinstance(seed, str):
        return seed.encode("utf-8", "surrogatepass")
    return (str(seed) if abs(seed) < 10**1000 else hex(seed)).encode()


def _require_number(n: object) -> None:
    """A negative number of bits would make a buffer hand out zeros later."""
    if isinstance(n, bool) or not isinstance(n, int) or n < 0:
        raise InvalidArgument("n", n, "must be a whole number of at least 0", "Pass for example 64.")


_BUFFERED: weakref.WeakSet[SystemBits] = weakref.WeakSet()


def _forget_all() -> None:
    for source in _BUFFERED:
        source._forget()


if hasattr(os, "register_at_fork"):  # absent on Windows, which has no fork
    os.register_at_fork(before=_note_unpaid, after_in_child=_forget_all)

_SYSTEM = SystemBits()
_OWN = (SystemBits, SeededBits, RecordedBits, ReplayedBits, _Witnessed)


def source_or_system(bits: BitSource | None) -> BitSource:
    """The source that a caller passed as `bits=`, or the system's where they passed none."""
    if bits is None:
        return _SYSTEM
    # By type and not by class: a subclass may draw in a way of its own.
    if type(bits) in _OWN:
        return bits
    if not isinstance(bits, BitSource):
        raise InvalidArgument(
            "bits",
            bits,
            "must be a source of bits (with `bits(n)` and `private`)",
            "Leave it out for a private release, or pass freegap.SeededBits(7) for a test.",
        )
    return _Witnessed(bits)
