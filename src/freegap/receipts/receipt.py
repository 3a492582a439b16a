"""A receipt of a line of the ledger: made, signed, read, checked.

Everything in it is public: what was asked, what it cost, which theorem it rests on, and hashes. What it
states is what the ledger says of that line; the signature states who says so. Of the release itself it has
the hash, so that a copy can be held against it.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from typing import TYPE_CHECKING, Any

import freegap
from freegap.budget.lines import LinesOfRelease, lines_of
from freegap.budget.records import plain
from freegap.budget.statement import charges
from freegap.errors import FreegapError, InvalidArgument
from freegap.receipts.canonical import NotCanonical, canonical, parsed, read_json
from freegap.receipts.evidence import evidence_of
from freegap.receipts.keys import PublicKey, SigningKey
from freegap.values.measures import Measure
from freegap.values.neighbours import NEIGHBOURS

if TYPE_CHECKING:
    from freegap.budget.ledger import Ledger

FORMAT = "freegap receipt 1"
LARGEST = 2**20
"""Bytes of a receipt; one of freegap has a few thousand."""

_STATED = ("ledger", "dataset", "budget", "when", "asked", "charge", "release", "versions")

_HASH = re.compile("[0-9a-f]{64}")
_AMOUNT = re.compile("[0-9]{1,20000}(/[1-9][0-9]{0,20000})?")
_MEASURE = {"measure": str, "amount": _AMOUNT, "delta": (_AMOUNT, None)}
_SHAPE: dict[str, Any] = {
    "format": str,
    "key": str,
    "ledger": {
        "first": _HASH,
        "line": int,
        "reserved": _HASH,
        "closing_line": (int, None),
        "closed": (_HASH, None),
    },
    "dataset": str,
    "budget": _MEASURE,
    "when": str,
    "asked": {**_MEASURE, "what": str, "parameters": dict},
    "charge": {"state": str, "unit": str, **dict.fromkeys(("reserved", "charged", "delta"), _AMOUNT)},
    "release": (
        {
            "sha256": (_HASH, None),
            "mechanism": str,
            "parameters": dict,
            "unit": str,
            "neighbours": str,
            "domain": str,
        },
        None,
    ),
    "evidence": (
        {"version": str, "record": _HASH, "assurance": _HASH, "proofs": _HASH, "rows": list},
        None,
    ),
    "versions": (dict, None),
    "made_with": str,
}
_PROTECTED = ("unit", "neighbours", "domain")
_ROW = dict.fromkeys(("function", "variant", "noise", "measure", "theorem", "proof"), str)


class ReceiptRefused(FreegapError):
    """A receipt that is not one, or not signed by the key it is checked with, or not of this release."""


@dataclass(frozen=True)
class Receipt:
    """A receipt as it is written down: what it states, and the signature of that."""

    body: dict[str, Any]
    signature: str

    def to_bytes(self) -> bytes:
        """The file: one line."""
        return canonical({"receipt": self.body, "signature": self.signature}) + b"\n"

    @staticmethod
    def read(data: bytes) -> Receipt:
        """A receipt from its file, whoever signed it."""
        if len(data) > LARGEST:
            raise ReceiptRefused(f"It has more than {LARGEST} bytes, which no receipt has.")
        try:
            value = parsed(data.removesuffix(b"\n"))
        except NotCanonical as reason:
            raise ReceiptRefused(f"It is not a receipt as freegap writes it: {reason}.") from None
        if not _fits(value, {"receipt": dict, "signature": str}):
            raise ReceiptRefused("It is not a receipt: it has other fields.")
        body = value["receipt"]
        if body.get("format") != FORMAT:
            raise ReceiptRefused(f"It is not of the format {FORMAT!r}, the only one known here.")
        rows = (body.get("evidence") or {}).get("rows") if isinstance(body.get("evidence"), dict) else []
        if not _fits(body, _SHAPE) or not all(_fits(row, _ROW) for row in rows or []):
            raise ReceiptRefused("It is not a receipt: it has other fields.")
        return Receipt(body, value["signature"])

    def check(self, *keys: PublicKey) -> None:
        """Refuse it, unless this key, or one of these, has signed it."""
        key = next((one for one in keys if one.text == self.body["key"]), None)
        if key is None:
            raise ReceiptRefused(
                f"It says that it is signed by {self.body['key'][:60]}, which is another key."
            )
        if not key.signed(canonical(self.body), self.signature):
            raise ReceiptRefused("The signature is not one of this key for what the receipt says.")

    def check_release(self, data: bytes) -> None:
        """Refuse it, unless it is of this release: its JSON, as `budget release --json` prints it."""
        kept = self.body["release"]
        if kept is None or kept["sha256"] is None:
            raise ReceiptRefused("The receipt has no hash of a release: none was kept in the ledger.")
        try:
            given = release_hash(read_json(data))
        except NotCanonical as reason:
            raise ReceiptRefused(f"The release cannot be read: {reason}.") from None
        if given != kept["sha256"]:
            raise ReceiptRefused("The release is not the one that the receipt is for.")

    def check_ledger(self, ledger: Ledger) -> None:
        """Refuse it, unless this ledger has its lines, and they say so. An open one may be closed since."""
        try:
            lines = lines_of(ledger, self.body["ledger"]["line"])
        except InvalidArgument:
            raise ReceiptRefused(
                f"The ledger {ledger.url} says otherwise: it has no release at that line."
            ) from None
        if self.body["ledger"]["closed"] is None:
            lines = replace(lines, closed=None)
        stated = _stated(lines)
        for part in _STATED:
            if stated[part] != self.body[part]:
                raise ReceiptRefused(f"The ledger {ledger.url} says otherwise: {part} differs.")


def make_receipt(ledger: Ledger, line: int, key: SigningKey) -> Receipt:
    """A signed receipt of the release whose reservation is this line.

    >>> import freegap as fg, tempfile
    >>> from pathlib import Path
    >>> folder = tempfile.mkdtemp()
    >>> ledger = fg.Ledger(f"sqlite:///{folder}/ledger.db")
    >>> account = ledger.create("shop", epsilon=5)
    >>> release = fg.noisy_max([31, 812, 12], epsilon="1/2", ledger=(ledger, "shop"))
    >>> key = SigningKey.made(Path(folder, "key.pem"))
    >>> receipt = make_receipt(ledger, 2, key)
    >>> receipt.body["charge"]["charged"], receipt.body["release"]["mechanism"]
    ('1/2', 'noisy_top_k')
    >>> Receipt.read(receipt.to_bytes()).check(key.public)
    """
    lines = lines_of(ledger, line)
    body = _stated(lines)
    kept = _kept(lines)
    evidence = None
    if kept is not None and body["versions"] is not None:
        evidence = evidence_of(body["release"]["mechanism"], kept, str(body["versions"].get("freegap")))
    body |= {
        "format": FORMAT,
        "key": key.public.text,
        "evidence": evidence,
        "made_with": freegap.__version__,
    }
    return Receipt(body, key.sign(canonical(body)))


def release_hash(release: dict[str, Any]) -> str | None:
    """SHA-256 of a release's canonical text; None where it has none: half a character in a label."""
    try:
        return hashlib.sha256(canonical(release)).hexdigest()
    except NotCanonical:
        return None


def decimal_of(amount: str) -> Decimal:
    """An amount of a receipt to twelve digits, upwards.

    >>> decimal_of("1/3")
    Decimal('0.333333333334')
    """
    numerator, _, denominator = amount.partition("/")
    context = Context(prec=12, rounding=ROUND_CEILING)
    return context.divide(Decimal(numerator), Decimal(denominator or 1)).normalize(context)


def _stated(lines: LinesOfRelease) -> dict[str, Any]:
    """What the ledger says of a release."""
    reserved, closed = lines.reserved, lines.closed
    entries = [reserved.entry(), *([] if closed is None else [closed.entry()])]
    (charge,) = charges(entries)
    kept = _kept(lines)
    versions = None if closed is None else closed.entry().parameters.get("versions")
    return {
        "ledger": {
            "first": lines.first.hash,
            "line": reserved.sequence,
            "reserved": reserved.hash,
            "closing_line": None if closed is None else closed.sequence,
            "closed": None if closed is None else closed.hash,
        },
        "dataset": reserved.dataset,
        "budget": _measure(reserved.budget.declared),
        "when": reserved.at,
        "asked": {
            **_measure(charge.asked),
            "what": charge.what,
            "parameters": _whole_characters(charge.parameters),
        },
        "charge": {
            "state": charge.state,
            "unit": charge.unit,
            **{name: plain(getattr(charge, name)) for name in ("reserved", "charged", "delta")},
        },
        "release": None if kept is None else _release(kept),
        "versions": versions,
    }


def _kept(lines: LinesOfRelease) -> dict[str, Any] | None:
    kept = None if lines.closed is None else lines.closed.entry().parameters.get("release")
    return kept if isinstance(kept, dict) else None


def _release(kept: dict[str, Any]) -> dict[str, Any]:
    parameters = kept.get("parameters", {})
    privacy = kept.get("privacy") or _by_parameters(parameters)
    return {
        "sha256": release_hash(kept),
        "mechanism": str(kept.get("release", kept.get("mechanism"))),
        "parameters": _whole_characters(parameters),
        **_whole_characters({name: privacy[name] for name in _PROTECTED if name in privacy}),
    }


def _by_parameters(parameters: dict[str, Any]) -> dict[str, str]:
    """What is protected, where the caller brought answers of their own: it is the caller who knows."""
    neighbours = "as the theorem of the mechanism says"
    if "sensitivity" in parameters:
        moved = NEIGHBOURS["monotonic" if parameters.get("monotonic") is True else "each"]
        neighbours = f"{moved}, which is {parameters['sensitivity']}"
    return {
        "unit": "what the caller of the mechanism takes for one person",
        "neighbours": neighbours,
        "domain": "the answers that the caller asked about",
    }


def _measure(measure: Measure) -> dict[str, str | None]:
    return {
        "measure": measure.name,
        "amount": plain(measure.spent),
        "delta": plain(measure.delta) if measure.delta else None,
    }


def _whole_characters(value: Any) -> Any:
    """The value with a sign in the place of every half character, which has no text."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_whole_characters(name): _whole_characters(inner) for name, inner in value.items()}
    return [_whole_characters(inner) for inner in value] if isinstance(value, list) else value


def _fits(value: Any, shape: Any) -> bool:
    """Whether a value has exactly these fields, of these kinds."""
    if isinstance(shape, tuple):
        return any(_fits(value, one) for one in shape)
    if isinstance(shape, dict):
        same = isinstance(value, dict) and value.keys() == shape.keys()
        return same and all(_fits(value[name], inner) for name, inner in shape.items())
    if isinstance(shape, re.Pattern):
        return isinstance(value, str) and shape.fullmatch(value) is not None
    return value is None if shape is None else type(value) is shape
