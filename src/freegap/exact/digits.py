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
cipher stream: that AES under a secret random key cannot be told from random. Blocks of consecutive items are
consecutive numbers, so that the cipher's own counter mode gives them; few enough from the beginning on are
encrypted from addresses that were written down beforehand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from freegap.bits import BitSource, drawn_bytes

FIRST_DIGITS = 16
_BLOCK_DIGITS = 128

# One buffer of zeros serves every draw: counter mode encrypts zeros, and allocating them costs as
# much as encrypting them.
_ZEROS = memoryview(bytes(1 << 20))

_PREFIX, _WORD = np.dtype("<u2"), np.dtype("<u8")
_FEW = 8192  # items whose addresses are written down beforehand, as plaintext
_ECB = modes.ECB()  # noqa: S305 (see KeyedDigits)


def _address(word: int, rank: int, item: int) -> int:
    """The block (word + 1, rank, item) as a number."""
    return (word + 1) << 96 | rank << 64 | item


def _addresses(word: int, ranks: NDArray[np.uint64] | int, items: Any) -> bytes:
    """The blocks (word + 1, rank, item), one after the other."""
    address = np.empty((len(items), 2), dtype="<u8")
    # word + 1 < 2^32 in the top half keeps these apart from the counters of `first`.
    address[:, 0] = ranks
    address[:, 0] |= np.uint64((word + 1) << 32)
    address[:, 1] = items
    # Swapped to big-endian, (word+1, rank) come first and are never zero, whereas a counter
    # of `first` begins with eight zero bytes.
    return address.byteswap().tobytes()


_FEW_BLOCKS = memoryview(_addresses(0, 0, range(_FEW)))
_FEW_COUNTERS = memoryview(b"".join(block.to_bytes(16, "big") for block in range(_FEW // 8)))


class KeyedDigits:
    """The digits of all streams (i, r), i < n, under one key taken from a source of bits."""

    def __init__(self, source: BitSource, n: int) -> None:
        key = drawn_bytes(source, 32)
        self.n = n
        self._algorithm = algorithms.AES(key)
        # Single blocks of distinct addresses: counter mode by hand, so ECB hides all it must.
        self._blocks = Cipher(self._algorithm, _ECB).encryptor()

    def first(self) -> NDArray[np.uint16]:
        """Digits 0–15 of the streams (0, 0), …, (n−1, 0)."""
        return self._first_of(0, self.n)

    def _first_of(self, begin: int, end: int) -> NDArray[np.uint16]:
        first_block, behind = begin // 8, -(-end // 8)
        if end <= _FEW:
            cipher = self._blocks.update(_FEW_COUNTERS[16 * first_block : 16 * behind])
        else:
            cipher = self._counted(first_block, 16 * (behind - first_block))
        return np.frombuffer(cipher, _PREFIX)[begin - 8 * first_block : end - 8 * first_block]

    def block(
        self, word: int, ranks: NDArray[np.uint64] | int, items: NDArray[np.integer[Any]] | range
    ) -> NDArray[np.uint64]:
        """The word-th block of 128 digits of each stream (i, r), as rows of two 64-bit words.

        items: in any order; consecutive ones, as a range, with one rank for all.
        """
        if not isinstance(items, range):
            cipher = self._blocks.update(_addresses(word, ranks, items))
        elif word == 0 and ranks == 0 and items.stop <= _FEW:
            cipher = self._blocks.update(_FEW_BLOCKS[16 * items.start : 16 * items.stop])
        elif len(items) == 1:  # a stream that is looked at by itself
            cipher = self._blocks.update(_address(word, int(ranks), items.start).to_bytes(16, "big"))
        else:
            cipher = self._counted(_address(word, int(ranks), items.start), 16 * len(items))
        return np.frombuffer(cipher, _WORD).reshape(-1, 2)

    def _counted(self, first: int, size: int) -> bytes:
        """So many bytes of the cipher of first, first + 1, …"""
        stream = Cipher(self._algorithm, modes.CTR(first.to_bytes(16, "big"))).encryptor()
        if size <= len(_ZEROS):
            return stream.update(_ZEROS[:size])
        parts = [stream.update(_ZEROS[: size - done]) for done in range(0, size, len(_ZEROS))]
        return b"".join(parts)

    def stream(self, item: int, rank: int = 0) -> DigitStream:
        """Stream (item, rank) from its first digit on."""
        return DigitStream(self, item, rank)


class DigitStream:
    """One stream, read from the front."""

    def __init__(self, digits: KeyedDigits, item: int, rank: int) -> None:
        self._digits = digits
        self._item = range(item, item + 1)
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
