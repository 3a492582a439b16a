"""The digits of many releases under one key: each release has a range of streams of its own.

Release g of a batch has the streams (i, r) with begin_g ≤ i < begin_g + n_g of `digits`, and the ranges of
two releases do not meet. To a release its part looks as a key of its own would: its stream (i, r) is stream
(begin_g + i, r) of the batch. So a release of a batch is the single release on its part, and a batch of one
the single release on the same source.

Why the releases of a batch are independent. All streams of a key are independent and uniform (`digits` says
under what assumption), and no stream belongs to two parts. A release is a function of its answers and of the
streams of its part. So given the answers, releases of one batch are as independent as releases under keys of
their own, and what is proved of the law of one holds for each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, modes
from numpy.typing import NDArray

from freegap.exact.digits import KeyedDigits


class DigitsPart(KeyedDigits):
    """The streams begin, …, begin + n − 1 of other digits, counted from 0."""

    def __init__(self, digits: KeyedDigits, begin: int, n: int) -> None:
        self.n = n
        self._digits = digits
        self._begin = begin

    def _first_of(self, begin: int, end: int) -> NDArray[np.uint16]:
        return self._digits._first_of(self._begin + begin, self._begin + end)

    def block(self, word: int, ranks: NDArray[np.uint64] | int, items: Any) -> NDArray[np.uint64]:
        """The word-th block of 128 digits of each stream (i, r) of this part."""
        begin, consecutive = self._begin, isinstance(items, range)
        moved: Any = (
            range(items.start + begin, items.stop + begin) if consecutive else np.asarray(items) + begin
        )
        return self._digits.block(word, ranks, moved)


def consecutive_blocks(digits: KeyedDigits, rank: int, items: range) -> NDArray[np.uint64]:
    """The first 128 digits of each stream (i, rank), rank > 0, as `KeyedDigits.block` has them.

    Their addresses are consecutive numbers, so that the cipher's own counter mode gives them.
    """
    counter = (((1 << 32) | rank) << 64) | items.start
    stream = Cipher(digits._algorithm, modes.CTR(counter.to_bytes(16, "big"))).encryptor()
    return np.frombuffer(stream.update(bytes(16 * len(items))), dtype="<u8").reshape(-1, 2)
