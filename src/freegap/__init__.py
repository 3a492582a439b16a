"""Differentially private selection with free gaps. Everything public is named here.

>>> import freegap as fg
>>> release = fg.noisy_top_k([10, 2000, 30], k=1, epsilon=1, bits=fg.SeededBits(1))
>>> release.indices
(1,)
"""

import typing as _typing
from importlib import import_module as _import_module

from freegap.errors import (
    BitsExhausted,
    BudgetExceeded,
    BudgetSpent,
    EngineFailed,
    FreegapError,
    InvalidArgument,
    LedgerDamaged,
    LedgerError,
    LedgerUnavailable,
    MechanismFailed,
    MissingExtra,
    PrivacyViolated,
    UnsettledWarning,
)

if _typing.TYPE_CHECKING:
    from freegap import base2
    from freegap.auditor import AuditReport, Command, Counterexample, assert_private, audit
    from freegap.bits import BitSource, RecordedBits, ReplayedBits, SeededBits, SystemBits
    from freegap.budget.ledger import Ledger
    from freegap.budget.records import Account, Entry, Verification
    from freegap.budget.reservation import Reservation
    from freegap.charging import Charging
    from freegap.estimate.bounds import expected_gap, gap_variances, lower_bounds
    from freegap.estimate.selecting import Estimates, select_and_measure
    from freegap.forms import Change, Selection, Stream
    from freegap.mechanisms.exponential import Choice, exponential_mechanism
    from freegap.mechanisms.hybrids import hybrid_sparse_vector, hybrid_top_k
    from freegap.mechanisms.measuring import Measurement, measure
    from freegap.mechanisms.noisy_score import NoisyScore
    from freegap.mechanisms.online import Above, AdaptiveSparseVector, Below, SparseVector
    from freegap.mechanisms.private_candidates import (
        Candidate,
        best_private_candidate,
        select_private_candidate,
    )
    from freegap.mechanisms.sparse_vector import adaptive_sparse_vector, sparse_vector
    from freegap.mechanisms.top_k import noisy_max, noisy_top_k
    from freegap.mechanisms.unknown_domain import UnknownTopK, unknown_top_k
    from freegap.padding import pad_to
    from freegap.prover import prove
    from freegap.prover.report import Proof, Refutation
    from freegap.tables.releases import above, top_k
    from freegap.tables.results import ItemsAbove, PrivacyUnit, TableRelease, TopItems
    from freegap.values.above import AboveThreshold
    from freegap.values.counts import Counts
    from freegap.values.results import HybridTopK, Release, TopK

__version__ = "0.2.0"

__all__ = [
    "Above",
    "AboveThreshold",
    "Account",
    "AdaptiveSparseVector",
    "AuditReport",
    "Below",
    "BitSource",
    "BitsExhausted",
    "BudgetExceeded",
    "BudgetSpent",
    "Candidate",
    "Change",
    "Charging",
    "Choice",
    "Command",
    "Counterexample",
    "Counts",
    "EngineFailed",
    "Entry",
    "Estimates",
    "FreegapError",
    "HybridTopK",
    "InvalidArgument",
    "ItemsAbove",
    "Ledger",
    "LedgerDamaged",
    "LedgerError",
    "LedgerUnavailable",
    "Measurement",
    "MechanismFailed",
    "MissingExtra",
    "NoisyScore",
    "PrivacyUnit",
    "PrivacyViolated",
    "Proof",
    "RecordedBits",
    "Refutation",
    "Release",
    "ReplayedBits",
    "Reservation",
    "SeededBits",
    "Selection",
    "SparseVector",
    "Stream",
    "SystemBits",
    "TableRelease",
    "TopItems",
    "TopK",
    "UnknownTopK",
    "UnsettledWarning",
    "Verification",
    "above",
    "adaptive_sparse_vector",
    "assert_private",
    "audit",
    "base2",
    "best_private_candidate",
    "expected_gap",
    "exponential_mechanism",
    "gap_variances",
    "hybrid_sparse_vector",
    "hybrid_top_k",
    "lower_bounds",
    "measure",
    "noisy_max",
    "noisy_top_k",
    "pad_to",
    "prove",
    "select_and_measure",
    "select_private_candidate",
    "sparse_vector",
    "top_k",
    "unknown_top_k",
]

# Loaded when first used, so that a command that only shows its help, or a light install, loads little.
_HOMES = {
    "freegap": "base2",
    "freegap.bits": "BitSource RecordedBits ReplayedBits SeededBits SystemBits",
    "freegap.charging": "Charging",
    "freegap.estimate.bounds": "expected_gap gap_variances lower_bounds",
    "freegap.estimate.selecting": "Estimates select_and_measure",
    "freegap.mechanisms.exponential": "Choice exponential_mechanism",
    "freegap.mechanisms.hybrids": "hybrid_sparse_vector hybrid_top_k",
    "freegap.mechanisms.measuring": "Measurement measure",
    "freegap.mechanisms.noisy_score": "NoisyScore",
    "freegap.mechanisms.online": "Above AdaptiveSparseVector Below SparseVector",
    "freegap.mechanisms.private_candidates": "Candidate best_private_candidate select_private_candidate",
    "freegap.mechanisms.sparse_vector": "adaptive_sparse_vector sparse_vector",
    "freegap.mechanisms.top_k": "noisy_max noisy_top_k",
    "freegap.mechanisms.unknown_domain": "UnknownTopK unknown_top_k",
    "freegap.padding": "pad_to",
    "freegap.prover": "prove",
    "freegap.forms": "Change Selection Stream",
    "freegap.tables.results": "ItemsAbove PrivacyUnit TableRelease TopItems",
    "freegap.values.above": "AboveThreshold",
    "freegap.values.counts": "Counts",
    "freegap.values.results": "HybridTopK Release TopK",
    "freegap.auditor": "AuditReport Command Counterexample assert_private audit",
    "freegap.budget.ledger": "Ledger Reservation",
    "freegap.budget.records": "Account Entry Verification",
    "freegap.prover.report": "Proof Refutation",
    "freegap.tables.releases": "above top_k",
}

# What needs more than the core: module → package, extra.
_EXTRAS = {
    "freegap.auditor": ("scipy", "audit"),
    "freegap.budget.ledger": ("sqlalchemy", "ledger"),
    "freegap.budget.records": ("sqlalchemy", "ledger"),
    "freegap.prover.report": ("z3", "prove"),
    "freegap.tables.releases": ("narwhals", "tables"),
}


def __dir__() -> list[str]:
    """What is public, whether it was loaded yet or not."""
    return [*(name for name in globals() if name.startswith("__")), *__all__]


if not _typing.TYPE_CHECKING:  # so that a type checker knows a misspelled name

    def __getattr__(name: str) -> object:
        """Import a public name when it is first asked for."""
        home = next((module for module, names in _HOMES.items() if name in names.split()), None)
        if home is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            if home == __name__:
                return _import_module(f"{home}.{name}")
            return globals().setdefault(name, getattr(_import_module(home), name))
        except ModuleNotFoundError as error:
            package, extra = _EXTRAS.get(home, (None, ""))
            if package is None or (error.name or "").partition(".")[0] != package:
                raise
            raise MissingExtra(package, extra) from None
