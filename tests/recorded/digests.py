"""Digests of the recorded runs, and the file that keeps them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import freegap as fg
from tests.recorded.cases import Case
from tests.recorded.told import told

__all__ = ["FILE", "FILE_IN_RHO", "digest_of", "read"]

FILE = Path(__file__).with_name("digests.json")
FILE_IN_RHO = Path(__file__).with_name("digests_rho.json")
_SEED = 20


def digest_of(case: Case) -> dict[str, Any]:
    """How many releases a case makes, and the SHA-256 of everything that they tell."""
    bits = fg.SeededBits(_SEED)
    releases = [told(release) for release in case(bits)]
    text = json.dumps([releases, bits.bits(64)])  # the next bits: as many were taken as before
    return {"releases": len(releases), "sha256": hashlib.sha256(text.encode()).hexdigest()}


def read(file: Path = FILE) -> dict[str, dict[str, Any]]:
    """What was recorded, by case."""
    recorded: dict[str, dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return recorded
