"""Differentially private selection with free gaps. Everything public is named here.

>>> import freegap as fg
>>> release = fg.noisy_top_k([10, 2000, 30], k=1, epsilon=1, bits=fg.SeededBits(1))
>>> release.indices
(1,)
"""

from typing import TYPE_CHECKING, Any

from freegap.bits import BitSource, RecordedBits, ReplayedBits, SeededBits, SystemBits
from freegap.errors import (
    BitsExhausted,
    FreegapError,
    InvalidArgument,
    MechanismFailed,
    MissingExtra,
    PrivacyViolated,
)
from freegap.mechanisms.top_k import noisy_max, noisy_top_k
from freegap.values.counts import Counts
from freegap.values.results import TopK

if TYPE_CHECKING:
    from freegap.audit import AuditReport, Counterexample, assert_private, audit

__version__ = "0.1.0"

_LAZY = {
    "AuditReport": "freegap.audit",
    "Counterexample": "freegap.audit",
    "assert_private": "freegap.audit",
    "audit": "freegap.audit",
}
"""Names whose modules need an extra: imported when they are first used."""

__all__ = [
    "AuditReport",
    "BitSource",
    "BitsExhausted",
    "Counterexample",
    "Counts",
    "FreegapError",
    "InvalidArgument",
    "MechanismFailed",
    "MissingExtra",
    "PrivacyViolated",
    "RecordedBits",
    "ReplayedBits",
    "SeededBits",
    "SystemBits",
    "TopK",
    "assert_private",
    "audit",
    "noisy_max",
    "noisy_top_k",
]


def __getattr__(name: str) -> Any:
    """Import what needs an extra only when it is asked for."""
    if name not in _LAZY:
        raise AttributeError(f"module 'freegap' has no attribute {name!r}")
    from importlib import import_module

    found = getattr(import_module(_LAZY[name]), name)
    globals()[name] = found
    return found
