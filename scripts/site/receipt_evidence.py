"""What receipts say of a mechanism, made from the assurance table and the library's claims.

    python scripts/site/receipt_evidence.py    writes src/freegap/receipts/evidence.json

The package carries that file, since a release does not come with its evidence: of every mechanism the theorem
and whether a machine has proved it, and the hashes of the assurance page and of the claims of the proofs. A
test fails when the file says something else.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from freegap_evidence.assurance.library import LIBRARY
from freegap_evidence.assurance.row import Proved, Row
from freegap_evidence.assurance.rows import ROWS

import freegap

__all__ = ["record", "text", "write"]

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "src" / "freegap" / "receipts" / "evidence.json"
PAGE = "docs/assurance.md"


def record() -> dict[str, Any]:
    """The evidence of this version, as receipts need it."""
    claims = [
        [entry.name, claim.label, str(claim.epsilon), claim.queries, claim.neighbours, claim.every_parameter]
        for entry in LIBRARY
        for claim in entry.claims
    ]
    return {
        "version": freegap.__version__,
        "assurance": {"page": PAGE, "sha256": _hash((ROOT / PAGE).read_bytes())},
        "proofs": {"claims": len(claims), "sha256": _hash(json.dumps(claims).encode())},
        "rows": [_row(row) for row in ROWS],
    }


def _row(row: Row) -> dict[str, str]:
    measure = row.measure.name
    proof = row.proof
    told = f"by machine: {proof.entry}" if isinstance(proof, Proved) else f"cited: {proof.reason}"
    return {
        "function": row.function,
        "variant": row.variant,
        "noise": row.noise,
        "measure": measure,
        "theorem": row.theorem,
        "proof": told,
    }


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def text() -> str:
    """The file's content: a line for each row, so that a change is seen."""
    head = record()
    rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in head.pop("rows"))
    return json.dumps(head, indent=1).removesuffix("\n}") + f',\n "rows": [\n{rows}\n]}}\n'


def write() -> None:
    """Write the file."""
    FILE.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    write()
