"""Which theorem a mechanism rests on, and the hashes of the evidence of this version.

`evidence.json` is made by `scripts/site/receipt_evidence.py` from the assurance table, which is in another
distribution. A receipt names rows of it only for a release that freegap itself has kept, never for what a
caller has called a charge, and only where the version that made the release is this one.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from importlib.resources import files
from typing import Any

# A release from a table is one of another mechanism, whose row has the theorem.
_BELOW = {
    ("top_k", "epsilon-delta", False): "unknown_top_k",
    ("top_k", "rho", False): "noisy_top_k",
    ("top_k", "rho", True): "select_and_measure",
}

# Rows that are about a release with this parameter; or with this value of it.
_ASKED_WITH = {"by total": "value", "by total, in groups": "value"}
_HAS = {"means": "means", "of a table": "privacy"}
"""Rows that are about a release which has this."""
_UNKNOWN = {
    "unknown items": {"domain"},
    "unknown items, measured": {"domain"},
    "unknown items, in groups": {"domain"},
    "unknown groups": {"groups"},
    "unknown items and groups": {"domain", "groups"},
}


_ENDS = re.compile("[,;]")  # of the name of what a release is "as"


@functools.cache
def _record() -> tuple[dict[str, Any], str]:
    content = files("freegap.receipts").joinpath("evidence.json").read_bytes()
    return json.loads(content), hashlib.sha256(content).hexdigest()


def evidence_of(mechanism: str, kept: dict[str, Any], version: str) -> dict[str, Any] | None:
    """The rows of the assurance table for a release as the ledger keeps it, and the hashes of the evidence.

    None for a release of another version: its evidence is not here. No rows where the table has none for
    this mechanism, measure and noise.

    >>> made = {"measure": "epsilon", "parameters": {"noise": "laplace"}, "gaps": [1.0]}
    >>> found = evidence_of("noisy_top_k", made, _record()[0]["version"])
    >>> [(row["theorem"], row["variant"]) for row in found["rows"]]
    [('Ding 2020, theorem 5.7', '')]
    """
    record, digest = _record()
    if version != record["version"]:
        return None
    measure = kept.get("measure")
    measured = kept.get("release") == "top_k" and kept.get("estimates") is not None
    below = None if "groups" in kept else _BELOW.get((mechanism, str(measure), measured))
    functions = {mechanism} if below is None else {mechanism, below}
    parameters = kept.get("parameters")
    noise = parameters.get("noise") if isinstance(parameters, dict) else None
    like = [
        row
        for row in record["rows"]
        if row["measure"] == measure and (noise is None or str(noise).lower() == row["noise"].lower())
    ]
    rows = [
        row
        for row in like
        if row["function"] in functions
        and _is_variant(row["variant"], kept, measured=measured and row["function"] == "top_k")
    ]
    # Under ρ the last gap has its price, and so a top k without it has a row of its own.
    without = [row for row in rows if row["variant"].endswith("without the last gap")]
    if without:
        rows = [row for row in rows if row not in without] if _has_last_gap(kept) else without
    # A release from a table rests on another mechanism, and that one has the theorem.
    others = {
        _ENDS.split(row["theorem"].removeprefix("as "))[0] for row in rows if row["theorem"].startswith("as ")
    }
    rows += [row for row in like if row["function"] in others and row["variant"] == "" and row not in rows]
    return {
        "version": record["version"],
        "record": digest,
        "assurance": record["assurance"]["sha256"],
        "proofs": record["proofs"]["sha256"],
        "rows": rows,
    }


def _has_last_gap(kept: dict[str, Any]) -> bool:
    """Whether there is a gap for each of the k items, and so one to an item that is not among them."""
    gaps, parameters = kept.get("gaps"), kept.get("parameters")
    return isinstance(gaps, list) and isinstance(parameters, dict) and len(gaps) == parameters.get("k")


def _is_variant(variant: str, kept: dict[str, Any], *, measured: bool) -> bool:
    """Whether a row may be about such a release, as far as the release tells."""
    selection, parameters = kept.get("selection"), kept.get("parameters")
    above = isinstance(selection, dict) and selection.get("mechanism") == "sparse_vector"
    own = isinstance(parameters, dict) and parameters.get("form") == "black box"
    if (variant == "above a threshold") != above or (variant == "own sampler") != own:
        return False
    in_groups = variant.endswith(("unknown groups", "in groups", "and groups"))
    if in_groups != ("groups" in kept):
        return False
    said = parameters if isinstance(parameters, dict) else {}
    if variant in _ASKED_WITH and not said.get(_ASKED_WITH[variant]):
        return False
    if variant in _HAS and _HAS[variant] not in kept:
        return False
    privacy = kept.get("privacy")
    domain = said.get("domain") or (privacy.get("domain") if isinstance(privacy, dict) else None)
    unknown = {"domain"} if str(domain).partition(";")[0] == "unknown" else set()
    unknown |= {"groups"} if said.get("groups") == "unknown" else set()
    if variant in _UNKNOWN and unknown != _UNKNOWN[variant]:
        return False
    if "gaps" in kept and kept["gaps"] is None and variant == "":
        return False
    if kept.get("gaps") is not None and variant == "without gap":
        return False
    return ("measured" in variant) == measured
