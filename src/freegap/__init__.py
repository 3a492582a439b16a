"""Differentially private selection with free gaps. Everything public is named here.

>>> import freegap as fg
>>> release = fg.noisy_top_k([10, 2000, 30], k=1, epsilon=1, bits=fg.SeededBits(1))
>>> release.indices
(1,)
"""

import typing as _typing

from freegap.bits import BitSource, RecordedBits, ReplayedBits, SeededBits, SystemBits
from freegap.errors import (
    BitsExhausted,
    BudgetExceeded,
    BudgetSpent,
    FreegapError,
    InvalidArgument,
    LedgerDamaged,
    LedgerError,
    LedgerUnavailable,
    MissingExtra,
    UnsettledWarning,
)
from freegap.estimate.bounds import expected_gap, gap_variances, lower_bounds
from freegap.estimate.selecting import Estimates, select_and_measure
from freegap.mechanisms.exponential import Choice, exponential_mechanism
from freegap.mechanisms.hybrids import HybridTopK, hybrid_sparse_vector, hybrid_top_k
from freegap.mechanisms.measuring import Measurement, measure
from freegap.mechanisms.online import Above, AdaptiveSparseVector, Below, SparseVector
from freegap.mechanisms.sparse_vector import adaptive_sparse_vector, sparse_vector
from freegap.mechanisms.top_k import noisy_max, noisy_top_k
from freegap.values.above import AboveThreshold
from freegap.values.counts import Counts
from freegap.values.results import TopK

if _typing.TYPE_CHECKING:
    from freegap.budget.ledger import Ledger

__version__ = "0.1.0"

__all__ = [
    "Above",
    "AboveThreshold",
    "AdaptiveSparseVector",
    "Below",
    "BitSource",
    "BitsExhausted",
    "BudgetExceeded",
    "BudgetSpent",
    "Choice",
    "Counts",
    "Estimates",
    "FreegapError",
    "HybridTopK",
    "InvalidArgument",
    "Ledger",
    "LedgerDamaged",
    "LedgerError",
    "LedgerUnavailable",
    "Measurement",
    "MissingExtra",
    "RecordedBits",
    "ReplayedBits",
    "SeededBits",
    "SparseVector",
    "SystemBits",
    "TopK",
    "UnsettledWarning",
    "adaptive_sparse_vector",
    "expected_gap",
    "exponential_mechanism",
    "gap_variances",
    "hybrid_sparse_vector",
    "hybrid_top_k",
    "lower_bounds",
    "measure",
    "noisy_max",
    "noisy_top_k",
    "select_and_measure",
    "sparse_vector",
]


def __getattr__(name: str) -> object:
    """The ledger is imported when it is first asked for: who keeps no ledger should not wait for it."""
    if name == "Ledger":
        from freegap.budget.ledger import Ledger

        return Ledger
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
