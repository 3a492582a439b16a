"""Differentially private selection with free gaps. Everything public is named here.

>>> import freegap as fg
>>> release = fg.noisy_top_k([10, 2000, 30], k=1, epsilon=1, bits=fg.SeededBits(1))
>>> release.indices
(1,)
"""

from importlib import import_module as _import_module

__version__ = "0.2.0"

# Every public name, and where it lives. It is loaded when it is first used, so that a command that only shows
# its help, or a light install, loads little. Type checkers read `__init__.pyi`; a test compares the two.
_HOMES = {
    "freegap": "base2",
    "freegap.auditor": "AuditReport Command Counterexample assert_private audit",
    "freegap.bits": "BitSource RecordedBits ReplayedBits SeededBits SystemBits",
    "freegap.budget.ledger": "Ledger Reservation",
    "freegap.budget.records": "Account Entry Verification",
    "freegap.charges": "Charging",
    "freegap.errors": (
        "BitsExhausted BudgetExceeded BudgetSpent EngineFailed FreegapError InvalidArgument "
        "LedgerDamaged LedgerError LedgerUnavailable MechanismFailed MissingExtra PrivacyViolated "
        "SpellingWarning UnsettledWarning"
    ),
    "freegap.estimate.bounds": "expected_gap gap_variances",
    "freegap.estimate.correction": "threshold_shift",
    "freegap.estimate.intervals": "confidence_intervals lower_bounds",
    "freegap.estimate.selection": "Estimates select_and_measure",
    "freegap.forms": "Change Composition Ranking Selection Stream",
    "freegap.mechanisms.exponential": "Choice exponential_mechanism",
    "freegap.mechanisms.hybrids": "hybrid_sparse_vector hybrid_top_k",
    "freegap.mechanisms.many_populations": "noisy_top_k_each sparse_vector_each",
    "freegap.mechanisms.measurement": "Measurement measure",
    "freegap.mechanisms.noisy_score": "NoisyScore",
    "freegap.mechanisms.online": "Above AdaptiveSparseVector Below SparseVector",
    "freegap.mechanisms.private_candidates": "Candidate best_private_candidate select_private_candidate",
    "freegap.mechanisms.sparse_vector": "adaptive_sparse_vector sparse_vector",
    "freegap.mechanisms.top_k": "noisy_max noisy_top_k",
    "freegap.mechanisms.unknown_counts": "UnknownCounts unknown_counts",
    "freegap.mechanisms.unknown_domain": "UnknownTopK unknown_top_k",
    "freegap.padding": "pad_to",
    "freegap.planner.assumed": "PowerLaw",
    "freegap.planner.budget_plan": "BudgetPlan",
    "freegap.planner.plan": "plan",
    "freegap.planner.questions": "PlannedRelease",
    "freegap.prover": "lower_bound prove",
    "freegap.prover.lower_bounds": "LowerBound",
    "freegap.prover.report": "Proof Refutation",
    "freegap.tables.described": "SourceTable source",
    "freegap.tables.grouping": "Grouping",
    "freegap.tables.histograms": "NoisyHistogram histogram",
    "freegap.tables.means": "NoisyMeans",
    "freegap.tables.quantiles": "quantiles",
    "freegap.tables.quantiles_result": "Quantiles",
    "freegap.tables.releases": "above top_k",
    "freegap.tables.results": "ItemsAbove PrivacyUnit TableRelease TopItems",
    "freegap.values.above": "AboveThreshold",
    "freegap.values.batches": "AboveBatch TopKBatch",
    "freegap.values.counts": "Counts",
    "freegap.values.kept": "KeptRelease",
    "freegap.values.ranking": "HybridTopK TopK",
    "freegap.values.results": "Release",
}
__all__ = sorted(name for names in _HOMES.values() for name in names.split())

# What needs more than the core: module → package, extra.
_EXTRAS = {
    "freegap.auditor": ("scipy", "audit"),
    "freegap.budget.ledger": ("sqlalchemy", "ledger"),
    "freegap.budget.records": ("sqlalchemy", "ledger"),
    "freegap.prover.lower_bounds": ("z3", "prove"),
    "freegap.prover.report": ("z3", "prove"),
    "freegap.tables.described": ("narwhals", "tables"),
    "freegap.tables.quantiles": ("narwhals", "tables"),
    "freegap.tables.releases": ("narwhals", "tables"),
}


def __dir__() -> list[str]:
    """What is public, whether it was loaded yet or not."""
    return [*(name for name in globals() if name.startswith("__")), *__all__]


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
        from freegap.errors import MissingExtra

        raise MissingExtra(package, extra) from None
