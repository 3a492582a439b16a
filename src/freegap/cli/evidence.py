"""What the package freegap-evidence adds to the command line, where it is installed.

It holds what the claims of freegap rest on: the catalogue of broken mechanisms, the proofs of our own ones,
the assurance table, the papers' experiments and the benchmarks. No release needs it, so a light install does
not carry it, and nothing below the command line knows of it.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from freegap.errors import FreegapError

PACKAGE = "freegap_evidence"


def evidence(module: str) -> Any:
    """A module of freegap-evidence, or an error that says how to install it."""
    if find_spec(PACKAGE) is None:
        raise FreegapError(
            "This needs the package freegap-evidence, which a light install does not carry. "
            "Install it with: pip install freegap-evidence, or from a checkout: pip install ./evidence"
        )
    return import_module(f"{PACKAGE}.{module}")
