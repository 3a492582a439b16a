"""The fast way to ask: the same bits, the same answers as the program in `questions`, from a table.

A question draws one word u of 64 bits and is ⊤ if u/2^64 < P(ν ≥ τ); where the first word does not
decide that, further words do. With t = ⌊2^64·P(ν ≥ τ)⌋, u < t means ⊤ and u > t means ⊥, for certain; only
u = t, which has probability 2^−64, is handed to the program in `questions`, which reads the same word
again and goes on from there. The words of a whole block are compared with their t in one step.

The table of t covers every τ in [−w, w], so that its cost depends on public parameters alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from freegap.base2.draws import WORD, BitDraws
from freegap.base2.plan import Base2Plan
from freegap.base2.questions import Run
from freegap.base2.weights import Weights
from freegap.bits import BitSource, drawn_bytes

_BLOCK = 1 << 16
# Fraction bits of the running power of B beyond those of a word: enough that its error of at most one
# unit a step hardly ever straddles a whole number.
_GUARD = 128


class _Words:
    """A source of bits read as words, with a look ahead at words not yet taken."""

    def __init__(self, source: BitSource, digits: int) -> None:
        self.private = source.private
        self.taken = 0
        self._source = source
        self._digits = digits
        self._kind = np.dtype(f">u{digits // 8}")
        self._ahead = np.empty(0, dtype=self._kind)

    def look(self, n: int) -> NDArray[np.unsignedinteger]:
        """The next n words, without taking them."""
        missing = n - len(self._ahead)
        if missing > 0:
            data = np.frombuffer(drawn_bytes(self._source, missing * self._digits // 8), dtype=self._kind)
            self._ahead = np.concatenate([self._ahead, data]) if len(self._ahead) else data
        return self._ahead[:n]

    def skip(self, n: int) -> None:
        """Take the next n words, which have been looked at."""
        self._ahead = self._ahead[n:]
        self.taken += n

    def bits(self, n: int) -> int:
        """The next word, which has n bits."""
        if not len(self._ahead):
            self.taken += 1
            return self._source.bits(n)
        word = int(self._ahead[0])
        self.skip(1)
        return word

    def put_back(self, word: int) -> None:
        """Let the word that was taken last be the next one again."""
        self._ahead = np.concatenate([np.array([word], dtype=self._kind), self._ahead])
        self.taken -= 1


class FastRun:
    """A `Run` that settles what is certain by the table; the same bits give the same answers.

    digits: the length of a word, 8, 16, 32 or 64; tests take short ones to force further words.
    """

    def __init__(self, plan: Base2Plan, source: BitSource, *, digits: int = WORD) -> None:
        self._words = _Words(source, digits)
        self._digits = digits
        self._width = plan.width
        self._table = threshold_words(plan.answer_weights, plan.width, digits)
        self.run = Run(plan, BitDraws(self._words, digits))

    def ask(self, answer: int) -> int | None:
        """As `Run.ask`."""
        tau = max(-self._width, min(self._width, self.run.rho - answer))  # `Run.distance`, as in a block
        if self.run.exhausted:
            return self.run.ask(answer)  # which refuses
        word, limit = self._words.bits(self._digits), int(self._table[tau + self._width])
        if word == limit:
            self._words.put_back(word)
            return self.run.ask(answer)
        return self.run.passed(tau) if word < limit else None

    def ask_all(self, answers: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        """The positions answered ⊤, each with how many gaps it reached, until the run is over."""
        for begin in range(0, len(answers), _BLOCK):
            for position, reached in self._ask_block(answers[begin : begin + _BLOCK]):
                yield begin + position, reached
            if self.run.exhausted:
                return

    def _ask_block(self, block: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
        words, run = self._words, self.run
        limits = self._table[np.clip(run.rho - block, -self._width, self._width) + self._width]
        done = 0
        while done < len(block):
            start, base = words.taken, done
            maybe = np.flatnonzero(words.look(len(block) - base) <= limits[base:])
            for position in maybe.tolist():
                words.skip(start + position - words.taken)
                done = base + position + 1
                reached = self.ask(int(block[done - 1]))
                if reached is not None:
                    yield done - 1, reached
                    if run.exhausted:
                        return
                if words.taken != start + position + 1:
                    break  # further words were read: the rest of the block has other words now
            else:
                words.skip(start + len(block) - base - words.taken)
                done = len(block)


def threshold_words(weights: Weights, width: int, digits: int) -> NDArray[np.unsignedinteger]:
    """⌊2^digits·P(ν ≥ τ)⌋ for τ = −width, …, width, exactly.

    P(ν ≥ τ) = B^τ/(1 + B) for τ ≥ 0, and P(ν ≥ −τ) = 1 − P(ν ≥ τ + 1). The power B^τ is carried as an integer
    in units of 2^−(digits+128), rounded down at each step, and so is too small by at most τ units.
    Where both ends of that interval have the same quotient, that is the word; else it is computed
    from the exact sum.
    """
    return _table(weights.base, weights.reach, width, digits, _GUARD)


@lru_cache(maxsize=8)  # of public parameters, which runs alike share; an entry has 8·(2·width + 1) bytes
def _table(base: Fraction, reach: int, width: int, digits: int, guard: int) -> NDArray[np.unsignedinteger]:
    weights = Weights(base, reach)
    numerator, shift = weights.base.numerator, weights.base.denominator.bit_length() - 1
    total = weights.base.denominator + numerator  # 1 + B in units of 2^−shift
    power = 1 << (digits + guard)
    upper = []  # for τ = 0, …, width + 1
    for tau in range(width + 2):
        word = (power << shift) // (total << guard)
        if word != ((power + tau) << shift) // (total << guard):
            word = (weights.tail(tau) << digits) // weights.total
        upper.append(word)
        power = power * numerator >> shift
    # 1 + B = (2^s + b)/2^s, where 2^s + b is odd and prime to b: no 2^digits·P is a whole number.
    lower = [(1 << digits) - 1 - word for word in upper[:1:-1]]
    table = np.array([*lower, *upper[:-1]], dtype=f"u{digits // 8}")
    table.flags.writeable = False
    return table
