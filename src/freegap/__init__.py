"""Differentially private selection with free gaps. Everything public is named here.

>>> import freegap as fg
>>> release = fg.noisy_top_k([10, 2000, 30], k=1, epsilon=1, bits=fg.SeededBits(1))
>>> release.indices
(1,)
"""

from freegap import base2
from freegap.bits import BitSource, RecordedBits, ReplayedBits, SeededBits, SystemBits
from freegap.errors import BitsExhausted, FreegapError, InvalidArgument, MissingExtra
from freegap.mechanisms.noisy_score import NoisyScore
from freegap.mechanisms.private_candidates import (
    Candidate,
    best_private_candidate,
    select_private_candidate,
)
from freegap.mechanisms.top_k import noisy_max, noisy_top_k
from freegap.values.counts import Counts
from freegap.values.results import TopK

__version__ = "0.1.0"

__all__ = [
    "BitSource",
    "BitsExhausted",
    "Candidate",
    "Counts",
    "FreegapError",
    "InvalidArgument",
    "MissingExtra",
    "NoisyScore",
    "RecordedBits",
    "ReplayedBits",
    "SeededBits",
    "SystemBits",
    "TopK",
    "base2",
    "best_private_candidate",
    "noisy_max",
    "noisy_top_k",
    "select_private_candidate",
]
