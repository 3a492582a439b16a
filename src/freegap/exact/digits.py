"""Digits for many random variables at once, each with an address.

Every noise variable has an infinite stream of uniform bits of its own. Stream (i, r) belongs to item
i; r = 0 unless the item stands for a group of equal items, whose r-th largest member then has stream
(i, r). Any digit of any stream can be had in any order, and is always the same: so *which* digits a
program happens to look at, and when, cannot change what it returns.

The digits are the output of a block cipher (AES-256) under a fresh key of 256 bits from the source,
on the address as plaintext; no address is used for two purposes:

    digits 0–15 of stream (i, 0)         block ⌊i/8⌋, 16 bits at place i mod 8
    digits 16+128w … of stream (i, 0)    block (w+1, 0, i)
    digits    128w … of stream (i, r>0)  block (w+1, r, i)

That is counter mode with the counter laid out by meaning, and rests on the same assumption as any
cipher stream: that AES under a secret random key cannot be told from random.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from freegap.bits import BitSource

FIRST_DIGITS = 16
_BLOCK_DIGITS = 128

# One buffer of zeros serves every draw: counter mode encrypts zeros, and allocating them costs as
# much as encrypting them.
_ZEROS = memoryview(bytes(1 << 20))


class KeyedDigits:
    """The digits of all streams (i, r), i < n, under one key taken from a source of bits."""

    def __init__(self, source: BitSource, n: int) -> None:
        key = source.bits(256).to_bytes(32, "big")
        self.n = n
        self._algorithm = algorithms.AES(key)
        # Single blocks of distinct addresses: counter mode by hand, so ECB hides all it must.
        self._blocks = Cipher(self._algorithm, modes.ECB()).encryptor()  # noqa: S305

    def first(self) -> NDArray[np.uint16]:
        """Digits 0–15 of the streams (0, 0), …, (n−1, 0)."""
        return self._first_of(0, self.n)

    def _first_of(self, begin: int, end: int) -> NDArray[np.uint16]:
        first_block = begin // 8
        stream = Cipher(self._algorithm, modes.CTR(first_block.to_bytes(16, "big"))).encryptor()
        missing = 2 * (end - 8 * first_block)
        parts = []
        while missing > 0:
            parts.append(stream.update(_ZEROS[: min(missing, len(_ZEROS))]))
            missing -= len(parts[-1])
        words = np.frombuffer(parts[0] if len(parts) == 1 else b"".join(parts), dtype="<u2")
        return words[begin - 8 * first_block :]

    def block(
        self, word: int, ranks: NDArray[np.uint64] | int, items: NDArray[np.integer[Any]]
    ) -> NDArray[np.uint64]:
        """The word-th block of 128 digits of each stream (i, r), as rows of two 64-bit words."""
        address = np.empty((len(items), 2), dtype="<u8")
        # word + 1 < 2^32 in the top half keeps these apart from the counters of `first`.
        address[:, 0] = ranks
        address[:, 0] |= np.uint64((word + 1) << 32)
        address[:, 1] = items
        # Swapped to big-endian, (word+1, rank) come first and are never zero, whereas a counter
        # of `first` begins with eight zero bytes.
        plain = address.byteswap().tobytes()
        return np.frombuffer(self._blocks.update(plain), dtype="<u8").reshape(-1, 2)

    def stream(self, item: int, rank: int = 0) -> DigitStream:
        """Stream (item, rank) from its first digit on."""
        return DigitStream(self, item, rank)


class DigitStream:
    """One stream, read from the front."""

    def __init__(self, digits: KeyedDigits, item: int, rank: int) -> None:
        self._digits = digits
        self._item = np.array([item], dtype=np.uint64)
        self._rank = rank
        self._words = 0
        if rank == 0:
            self._value = int(digits._first_of(item, item + 1)[0])
            self._known = FIRST_DIGITS
        else:
            self._value = self._known = 0
        self._taken = 0

    def __call__(self, n: int) -> int:
        """The next n digits, as an integer."""
        end = self._taken + n
        while self._known < end:
            high, low = self._digits.block(self._words, self._rank, self._item)[0].tolist()
            self._value = (self._value << _BLOCK_DIGITS) | (high << 64) | low
            self._known += _BLOCK_DIGITS
            self._words += 1
        self._taken = end
        return (self._value >> (self._known - end)) & ((1 << n) - 1)
