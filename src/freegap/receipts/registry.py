"""A receipt as an entry of the public registry of deployments (opendp/deployments-registry-data).

The fields and their names are those of the registry's schema, `schemas/deployments-schema.yaml`, and of its
template, as of 2026. What a receipt does not know, its owner must say; such a field is left empty and marked
by a comment. How many people there are is private, so that field is not written at all.

An entry is YAML. Every text in it is in double quotes, with everything escaped that is not printable, so that
no name can end its text, begin a field, or steer a terminal.
"""

from __future__ import annotations

import re
from typing import Any

from freegap.errors import InvalidArgument
from freegap.receipts.assess import RENEWAL, is_renewed
from freegap.receipts.receipt import Receipt, decimal_of

VARIANTS = {"epsilon": "Pure DP", "rho": "Zero-concentrated DP", "epsilon-delta": "Approximate DP"}
CURATOR_TYPES = ("Government", "Industry", "Nonprofit")
SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
_ASKED_OF_THE_OWNER = "  # to be filled in"
_LEDGER = "Charges of one dataset add up in a ledger with a total that is fixed beforehand"
_SYMBOLS = {"epsilon": "ε", "rho": "ρ"}

Owner = dict[str, str | None]
"""What only the owner knows: name, curator, curator_type, region, sector, use, description, author."""


def registry_fields(receipt: Receipt, owner: Owner) -> dict[str, Any]:
    """The entry: its fields by name, None where the owner has something to say."""
    for field, known in (("curator_type", CURATOR_TYPES), ("sector", SECTORS)):
        if owner.get(field) is not None and owner[field] not in known:
            raise InvalidArgument(
                field, owner[field], "is not one that the registry knows", f"Pass one of {', '.join(known)}."
            )
    body = receipt.body
    return {"url_slug": _slug(owner.get("name") or body["dataset"]), "deployment": _deployment(body, owner)}


def as_yaml(fields: dict[str, Any]) -> str:
    """The entry as YAML, a draft for the owner to complete.

    >>> print(as_yaml({"name": 'a "b"', "actors": None}))
    name: "a \\"b\\""
    actors: ""  # to be filled in
    <BLANKLINE>
    """
    return "\n".join(_lines(fields)) + "\n"


def _deployment(body: dict[str, Any], owner: Owner) -> dict[str, Any]:
    release = body["release"] or {}
    return {
        "basic": {
            "name": owner.get("name"),
            "data_curators": [
                {
                    "data_curator_name": owner.get("curator"),
                    "data_curator_type": _Chosen(owner.get("curator_type"), CURATOR_TYPES[0]),
                }
            ],
            "description": owner.get("description"),
            "intended_use": owner.get("use"),
            "data_product_type": "Summary statistics",
            "data_product_region": owner.get("region"),
            **({} if owner.get("sector") is None else {"data_product_sector": owner["sector"]}),
            "publication_date": body["when"][:10],
        },
        "dp_variant": {
            "variant_name": VARIANTS.get(body["asked"]["measure"], "Custom"),
            "data_domain": release.get("domain"),
            "unprotected_quantities": "The parameters of the question; the items, where they are public.",
        },
        "privacy_loss": {
            "privacy_unit": release.get("unit"),
            "privacy_unit_details": release.get("neighbours"),
            "privacy_parameters": _parameters(body["asked"]),
            "privacy_parameters_details": _amounts(body),
        },
        "deployment_model": {
            "model_name": "Central",
            "trust_assumptions": "The owner of the data, who runs the mechanism, sees the data; readers of "
            "the release may know everything about all people but one.",
            "actors": None,
            "release_type": "One release",
            "release_type_details": "This entry is for one release. The same data may be asked again until "
            f"their budget{' of the month' if is_renewed(body) else ''} is spent, which a ledger keeps.",
        },
        "implementation": _implementation(body),
        "administrative": {
            "evidence_sources": {
                "receipt": {
                    "evidence_source_type": "Authorized organizational attestation",
                    "misc": {
                        "title": f"Receipt of line {body['ledger']['line']}, signed by {body['key']}",
                        "note": f"ledger line {body['ledger']['reserved']}",
                    },
                }
            },
            "status": "Draft",
            "registry_authors": [owner.get("author")],
            "tier": 2,
        },
    }


def _implementation(body: dict[str, Any]) -> dict[str, Any]:
    release, evidence = body["release"], body["evidence"] or {}
    if release is None:  # another library may have made it, or seeded noise
        return _not_ours(body["asked"]["what"])
    theorems = dict.fromkeys(f"{row['theorem']} ({row['proof']})" for row in evidence.get("rows", ()))
    noise = release["parameters"].get("noise")
    parts = [
        f"Mechanism: {release['mechanism']}" + (f" with {noise} noise." if isinstance(noise, str) else "."),
        *(f"Rests on: {theorem}." for theorem in theorems),
        f"Library: freegap {(body['versions'] or {}).get('freegap', '(version not recorded)')}.",
        "Floating point: noise has exactly the ideal distribution; doubles decide within a proven bound.",
        "Timing: how long a release takes depends on the data unless it is padded.",
    ]
    return {
        "preprocessing_and_hyperparameter_tuning": None,
        "mechanisms": " ".join(parts),
        "composition": f"{_LEDGER}; a release is reserved in full before anything is drawn."
        + (f" {RENEWAL}" if is_renewed(body) else ""),
        "post_processing": "Gaps are rounded down to a public grid.",
        "justification": None,
        "utility": None,
    }


def _not_ours(what: str) -> dict[str, Any]:
    """What is known where the ledger keeps no release of freegap: what whoever charged has called it."""
    return {
        "preprocessing_and_hyperparameter_tuning": None,
        "mechanisms": f"Mechanism: {what}, by the words of whoever asked. The ledger keeps no release of "
        "freegap with this line: which program made it, and with what noise, is not known here.",
        "composition": f"{_LEDGER}.",
        "post_processing": None,
        "justification": None,
        "utility": None,
    }


def _parameters(asked: dict[str, Any]) -> dict[str, Any]:
    """The parameters as numbers, which the registry wants; rounded up where they have no short decimal."""
    names = str(asked["measure"]).split("-")
    amounts = [asked["amount"], asked["delta"]]
    return {name: _Number(text) for name, text in zip(names, amounts, strict=False) if text is not None}


def _amounts(body: dict[str, Any]) -> str:
    asked, charge, budget = body["asked"], body["charge"], body["budget"]
    exact = ", ".join(f"{name} = {asked[part]}" for name, part in _named(asked))
    whole = ", ".join(f"{name} = {budget[part]}" for name, part in _named(budget))
    return (
        f"Exactly: at most {exact}; charged {_SYMBOLS.get(charge['unit'], charge['unit'])} = "
        f"{charge['charged']} to a budget of {whole} for all releases "
        f"{f'of one month together. {RENEWAL}' if is_renewed(body) else 'together.'}"
    )


def _named(measure: dict[str, Any]) -> list[tuple[str, str]]:
    first = _SYMBOLS.get(str(measure["measure"]).partition("-")[0], str(measure["measure"]))
    return [(first, "amount"), *([("δ", "delta")] if measure["delta"] is not None else [])]


class _Number:
    """An amount of a receipt as a number of YAML."""

    def __init__(self, text: str) -> None:
        decimal = decimal_of(text)
        plain = f"{decimal:f}"
        self.text = plain if len(plain) < 20 else re.sub(r"^(\d+)E", r"\1.0E", str(decimal))

    def __str__(self) -> str:
        return self.text


class _Chosen:
    """A value of a fixed list: what the owner said, or the first one, marked."""

    def __init__(self, value: str | None, first: str) -> None:
        self.value, self.mark = (value, "") if value is not None else (first, _ASKED_OF_THE_OWNER)

    def __str__(self) -> str:
        return self.value


def _lines(value: dict[str, Any], indent: str = "") -> list[str]:
    lines: list[str] = []
    for name, inner in value.items():
        if isinstance(inner, dict):
            lines += [f"{indent}{name}:", *_lines(inner, indent + "  ")]
        elif isinstance(inner, list):
            lines.append(f"{indent}{name}:")
            for part in inner:
                if isinstance(part, dict):
                    lines += [f"{indent}  -", *_lines(part, indent + "    ")]
                else:
                    lines.append(f"{indent}  - {_scalar(part)}")
        else:
            lines.append(f"{indent}{name}: {_scalar(inner)}")
    return lines


def _scalar(value: Any) -> str:
    if isinstance(value, _Number):
        return value.text
    if isinstance(value, _Chosen):
        return _quoted(value.value) + value.mark
    if isinstance(value, int):
        return str(value)
    return '""' + _ASKED_OF_THE_OWNER if value is None else _quoted(str(value))


def _quoted(text: str) -> str:
    """A text in double quotes as YAML has them."""

    def escaped(c: str) -> str:
        if c in '"\\':
            return "\\" + c
        return c if c.isprintable() else f"\\U{ord(c):08x}"

    return '"' + "".join(map(escaped, text)) + '"'


def _slug(text: str) -> str:
    """A name as the registry has them in addresses."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:80] or "release"
