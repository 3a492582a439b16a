"""A receipt says what the ledger says, and nobody can make it say anything else."""

from __future__ import annotations

import json
import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import freegap as fg
from freegap.receipts import evidence
from freegap.receipts.canonical import canonical
from freegap.receipts.evidence import evidence_of
from freegap.receipts.keys import SigningKey
from freegap.receipts.receipt import LARGEST, Receipt, ReceiptRefused, make_receipt
from tests.receipts.conftest import Shop


def test_it_says_what_was_asked_charged_and_proved(shop: Shop) -> None:
    body = shop.receipt.body
    assert body["asked"] == {
        "measure": "epsilon",
        "amount": "1/3",
        "delta": None,
        "what": "noisy_top_k",
        "parameters": body["release"]["parameters"],
    }
    assert body["charge"] == {
        "state": "settled",
        "unit": "epsilon",
        "reserved": "1/3",
        "charged": "1/3",
        "delta": "0",
    }
    assert body["budget"]["amount"] == "5"
    first, reserved, closed = shop.ledger.entries()[:3]
    assert body["ledger"] == {
        "first": first.hash,
        "line": 2,
        "reserved": reserved.hash,
        "closing_line": 3,
        "closed": closed.hash,
    }
    assert body["release"]["neighbours"] == "each answer moves by at most the sensitivity, which is 1"
    assert body["versions"]["freegap"] == body["evidence"]["version"] == fg.__version__
    assert [row["theorem"] for row in body["evidence"]["rows"]] == [
        "Ding 2020, section 5.5.2, with equation 5.4 corrected"
    ]


def test_what_a_caller_calls_a_charge_has_no_theorem(shop: Shop) -> None:
    """Line 6 was called noisy_top_k by whoever reserved it, and nobody knows what was released."""
    body = make_receipt(shop.ledger, 6, shop.key).body
    assert body["asked"]["what"] == "noisy_top_k"
    assert body["release"] is body["evidence"] is body["versions"] is None


def test_open_and_abandoned_ones_say_so(shop: Shop) -> None:
    states = {line: make_receipt(shop.ledger, line, shop.key).body["charge"] for line in (8, 9)}
    assert [(charge["state"], charge["charged"]) for charge in states.values()] == [
        ("open", "1/8"),
        ("abandoned", "0"),
    ]
    for line in (0, 1, 3, 99, True, "2"):
        with pytest.raises(fg.InvalidArgument, match="line"):
            make_receipt(shop.ledger, line, shop.key)  # type: ignore[arg-type]


def test_it_is_read_and_checked_with_the_public_key_alone(shop: Shop) -> None:
    again = Receipt.read(shop.receipt.to_bytes())
    assert again == shop.receipt
    again.check(shop.key.public)
    again.check_release(json.dumps(shop.ledger.release(2), indent=3).encode())
    again.check_ledger(shop.ledger)


def test_another_key_is_refused_whatever_the_receipt_names(shop: Shop, tmp_path: Path) -> None:
    other = SigningKey.made(tmp_path / "other.pem")
    with pytest.raises(ReceiptRefused, match="another key"):
        shop.receipt.check(other.public)
    renamed = {**shop.receipt.body, "key": other.public.text}
    with pytest.raises(ReceiptRefused, match="signature"):
        Receipt(renamed, shop.receipt.signature).check(other.public)
    stolen = Receipt(shop.receipt.body, other.sign(canonical(shop.receipt.body)))
    with pytest.raises(ReceiptRefused, match="signature"):
        stolen.check(shop.key.public)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        return [leaf for name, inner in pairs for leaf in leaves(inner, (*path, name))]
    return [path]


def test_no_field_can_be_changed(shop: Shop) -> None:
    for path in leaves(shop.receipt.body):
        body = deepcopy(shop.receipt.body)
        inner = body
        for name in path[:-1]:
            inner = inner[name]
        old = inner[path[-1]]
        inner[path[-1]] = {str: f"{old}0", int: 7, bool: not old, type(None): "1"}[type(old)]
        with pytest.raises(ReceiptRefused):
            Receipt(body, shop.receipt.signature).check(shop.key.public)


def test_no_byte_can_be_changed(shop: Shop) -> None:
    data = shop.receipt.to_bytes()
    for place in range(0, len(data) - 1, 11):
        changed = bytes([*data[:place], data[place] ^ 1, *data[place + 1 :]])
        with pytest.raises(ReceiptRefused):
            Receipt.read(changed).check(shop.key.public)


@pytest.mark.parametrize(
    "rewrite",
    [
        lambda data: data.replace(b'"dataset":"shop"', b'"dataset":"web","dataset":"shop"'),
        lambda data: data.replace(b'"dataset":"shop"', b'"dataset":"\\u0073hop"'),
        lambda data: data.replace(b'"dataset":"shop"', b'"dataset": "shop"'),
        lambda data: data.replace(b'"line":2', b'"line":2.0'),
        lambda data: data.replace(b'"line":2', b'"line":' + b"2" * 5000),
        lambda data: data.replace(b'"line":2', b'"line":' + b"2" * 350),
        lambda data: data.replace(b'"line":2', b'"line":2e0'),
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data + b"\n",
        lambda data: data + data,
        lambda data: data.decode().encode("utf-16"),
        lambda data: data[:-10],
        lambda data: b"",
        lambda data: b"[]",
        lambda data: b"null",
        lambda data: b"{}",
        lambda data: b'{"receipt":{},"signature":""}',
        lambda data: b'{"receipt":[],"signature":""}',
        lambda data: b" " * (LARGEST + 1),
        lambda data: data.replace(b'"signature":', b'"note":"","signature":'),
        lambda data: data.replace(b"freegap receipt 1", b"freegap receipt 2"),
        lambda data: data.replace(b'"amount":"1/3"', b'"amount":"1e999999999"'),
        lambda data: data.replace(b'"amount":"1/3"', b'"amount":"1/0"'),
        lambda data: data.replace(b'"amount":"1/3"', '"amount":"١/٣"'.encode()),
        lambda data: data.replace(b'"evidence":{', b'"evidence":{"more":[],'),
        lambda data: data.replace(b'"rows":[', b'"rows":[1,'),
    ],
)
def test_no_other_spelling_is_a_receipt(shop: Shop, rewrite: Any) -> None:
    data = shop.receipt.to_bytes()
    changed = rewrite(data)
    assert changed != data
    with pytest.raises(ReceiptRefused):
        Receipt.read(changed)


def test_it_is_not_the_receipt_of_another_release_or_line(shop: Shop) -> None:
    release = shop.ledger.release(2)
    more = {**release, "labels": [*release["labels"], "rice"]}
    twice = json.dumps(release)[:-1] + ', "labels": ["rice"]}'
    others: list[Any] = [shop.ledger.release(4), more, {}, [], None]
    for other in others:
        with pytest.raises(ReceiptRefused, match="not the one"):
            shop.receipt.check_release(json.dumps(other).encode())
    for text in (twice, "", "{", "\xff", "NaN"):
        with pytest.raises(ReceiptRefused, match="cannot be read"):
            shop.receipt.check_release(text.encode("latin-1"))
    with pytest.raises(ReceiptRefused, match="no hash of a release"):
        make_receipt(shop.ledger, 8, shop.key).check_release(json.dumps(release).encode())
    moved = {**shop.receipt.body, "ledger": {**shop.receipt.body["ledger"], "line": 4}}
    with pytest.raises(ReceiptRefused, match="says otherwise: ledger differs"):
        Receipt(moved, "").check_ledger(shop.ledger)
    for line in (1, 3, 99, 0, -1, 2**53):  # no release, or none any more where an older copy was put back
        lost = {**shop.receipt.body, "ledger": {**shop.receipt.body["ledger"], "line": line}}
        with pytest.raises(ReceiptRefused, match="no release at that line"):
            Receipt(lost, "").check_ledger(shop.ledger)


def test_an_open_one_may_be_closed_since_and_another_ledger_is_not_this_one(
    shop: Shop, tmp_path: Path
) -> None:
    shutil.copy(shop.folder / "ledger.db", tmp_path / "ledger.db")
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    with ledger.reserve("shop", "1/8", what="soon") as reservation:
        receipt = make_receipt(ledger, reservation.sequence, shop.key)
        reservation.settle("1/16")
    receipt.check_ledger(ledger)
    assert make_receipt(ledger, reservation.sequence, shop.key).body["charge"]["charged"] == "1/16"
    other = fg.Ledger(f"sqlite:///{tmp_path}/other.db")
    other.create("shop", epsilon=5)
    fg.noisy_max([3, 1], epsilon="1/3", ledger=(other, "shop"))
    with pytest.raises(ReceiptRefused, match="ledger differs"):
        shop.receipt.check_ledger(other)


HOSTILE = "tea\x00\udc80\u202e\x1b[31m<script>]()\u2028 é e\u0301"


def test_hostile_names_make_no_hostile_receipt(tmp_path: Path, shop: Shop) -> None:
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create('<b>"é', epsilon=5)
    fg.noisy_top_k({HOSTILE: 900, "milk": 3}, 1, epsilon=1, ledger=(ledger, '<b>"é'))
    ledger.reserve('<b>"é', 1, what="]x", parameters={HOSTILE: HOSTILE, "n": 10**30, "x": 1e300})
    odd, by_hand = (make_receipt(ledger, line, shop.key) for line in (2, 4))
    for receipt in (odd, by_hand):
        again = Receipt.read(receipt.to_bytes())
        again.check(shop.key.public)
        again.check_ledger(ledger)
    assert odd.body["release"]["sha256"] is None, "half a character has no text, and a hash of none is none"
    shown = HOSTILE.replace("\udc80", "\ufffd")
    assert by_hand.body["asked"]["parameters"] == {shown: shown, "n": str(10**30), "x": 1e300}


def test_the_two_spellings_of_a_name_are_two_texts(tmp_path: Path, shop: Shop) -> None:
    """Nothing is normalised on the way: a label is under the hash as it is."""
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("shop", epsilon=5)
    fg.noisy_max({"\u00e9": 900, "milk": 3}, epsilon=1, ledger=(ledger, "shop"))
    receipt, release = make_receipt(ledger, 2, shop.key), json.dumps(ledger.release(2), ensure_ascii=False)
    receipt.check_release(release.encode())
    with pytest.raises(ReceiptRefused, match="not the one"):
        receipt.check_release(release.replace("\u00e9", "e\u0301").encode())


def test_other_measures(tmp_path: Path, shop: Shop) -> None:
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("web", epsilon=9, delta="1e-6")
    fg.noisy_max([31, 812], rho="1/100", ledger=(ledger, "web"))
    counts = {"tea": 900, "milk": 3}
    fg.unknown_top_k(counts, 1, epsilon=1, delta="1e-9", ledger=(ledger, "web"))
    concentrated, unknown = (make_receipt(ledger, line, shop.key).body for line in (2, 4))
    assert concentrated["budget"] == {"measure": "epsilon-delta", "amount": "9", "delta": "1/1000000"}
    assert (concentrated["asked"]["measure"], concentrated["charge"]["unit"]) == ("rho", "rho")
    assert {row["measure"] for row in concentrated["evidence"]["rows"]} == {"rho"}
    assert unknown["asked"]["delta"] == unknown["charge"]["delta"] == "1/1000000000"
    assert [row["function"] for row in unknown["evidence"]["rows"]] == ["unknown_top_k"]


@pytest.mark.parametrize(
    ("mechanism", "kept", "functions"),
    [
        ("top_k", {"release": "top_k", "measure": "epsilon"}, ["top_k", "noisy_top_k"]),
        (
            "top_k",
            {"release": "top_k", "measure": "epsilon", "estimates": [1]},
            ["top_k", "select_and_measure"],
        ),
        ("top_k", {"release": "top_k", "measure": "epsilon-delta"}, ["unknown_top_k"]),
        ("above", {"release": "above", "measure": "epsilon"}, ["above", "hybrid_sparse_vector"]),
        ("above", {"release": "above", "measure": "rho"}, ["above"]),
        ("above", {"release": "above", "measure": "unheard of"}, []),
        ("noisy_top_k", {"measure": "epsilon", "gaps": None}, ["noisy_top_k"]),
        ("noisy_top_k", {"measure": "epsilon", "gaps": None, "parameters": {"noise": "unheard of"}}, []),
        ("something", {"measure": "epsilon"}, []),
    ],
)
def test_the_theorem_is_that_of_mechanism_measure_and_noise(
    mechanism: str, kept: dict[str, Any], functions: list[str]
) -> None:
    found = evidence_of(mechanism, {"parameters": {"noise": "exponential"}, **kept}, fg.__version__)
    assert found is not None
    assert [row["function"] for row in found["rows"]] == functions
    assert all(row["measure"] == kept["measure"] for row in found["rows"])


def test_no_theorem_of_another_variant_is_signed(tmp_path: Path, shop: Shop) -> None:
    ledger, counts = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db"), [31, 812, 12, 90]
    ledger.create("web", epsilon=9)
    fg.select_and_measure(counts, k=2, epsilon=1, ledger=(ledger, "web"))
    fg.select_and_measure(counts, k=2, threshold=50, epsilon=1, ledger=(ledger, "web"))
    fg.exponential_mechanism(counts, epsilon=1, ledger=(ledger, "web"))
    bodies = [make_receipt(ledger, line, shop.key).body for line in (2, 4, 6)]
    assert [[row["variant"] for row in body["evidence"]["rows"]] for body in bodies] == [
        [""],
        ["above a threshold"],
        [""],
    ]
    own = {"measure": "epsilon", "parameters": {"form": "black box"}}
    found = evidence_of("exponential_mechanism", own, fg.__version__)
    assert [row["variant"] for row in (found or {})["rows"]] == ["own sampler"]


@pytest.mark.parametrize(
    ("options", "variant"),
    [
        ({}, "in ρ"),
        ({"last_gap": False}, "in ρ, without the last gap"),
        ({"gap": False}, "in ρ, without the last gap"),
    ],
)
def test_a_top_k_in_rho_has_the_row_of_its_gaps(options: dict[str, Any], variant: str) -> None:
    release = fg.noisy_top_k([31, 812, 12, 90], k=2, rho="1/10", bits=fg.SeededBits(1), **options)
    found = evidence_of("noisy_top_k", release.to_dict(), fg.__version__)
    assert [row["variant"] for row in (found or {})["rows"]] == [variant]


@pytest.mark.parametrize(
    ("options", "variants"),
    [
        ({}, ["in groups"]),
        ({"value": "cost", "low": 0, "high": 9}, ["in groups", "by total, in groups"]),
        ({"measure": True}, ["measured, in groups"]),
        ({"domain": "unknown", "delta": "1e-8", "noise": "exponential"}, ["unknown items, in groups"]),
        ({"groups": "unknown", "delta": "1e-8"}, ["unknown groups"]),
        (
            {"groups": "unknown", "domain": "unknown", "delta": "1e-8", "noise": "exponential"},
            ["unknown items and groups"],
        ),
    ],
)
def test_a_release_in_groups_has_the_row_of_its_kind(options: dict[str, Any], variants: list[str]) -> None:
    table = pa.table({"ward": ["n"] * 9, "item": ["a"] * 9, "person": range(9), "cost": [1.5] * 9})
    asked: dict[str, Any] = {"domain": ["a", "b"], "groups": ["n", "s"], "groups_per_person": 1, **options}
    release = fg.top_k(table, item="item", person="person", group="ward", k=1, epsilon=1, **asked)
    found = evidence_of("top_k", release.to_dict(), fg.__version__)
    assert [row["variant"] for row in (found or {})["rows"] if row["function"] == "top_k"] == variants


UNKNOWN: dict[str, Any] = {"domain": "unknown", "delta": "1e-8", "items_per_person": 1}


@pytest.mark.parametrize(
    ("options", "variants"),
    [
        ({}, [""]),
        ({"epsilon": None, "rho": 1}, ["in ρ"]),
        ({"value": "cost", "low": 0, "high": 9}, ["", "by total"]),
        (UNKNOWN, ["unknown items"]),
        ({"group": "ward", "groups": ["n", "s"]}, ["in groups"]),
        (
            {"group": "ward", "groups": ["n"], "value": "cost", "low": 0, "high": 9},
            ["in groups", "by total, in groups"],
        ),
        ({"group": "ward", "groups": ["n", "s"], **UNKNOWN}, ["unknown items, in groups"]),
        ({"group": "ward", "groups": "unknown", "groups_per_person": 1, "delta": "1e-8"}, ["unknown groups"]),
        (
            {"group": "ward", "groups": "unknown", "groups_per_person": 1, **UNKNOWN},
            ["unknown items and groups"],
        ),
    ],
)
def test_what_is_above_has_the_row_of_its_kind(options: dict[str, Any], variants: list[str]) -> None:
    table = pa.table({"ward": ["n"] * 9, "item": ["a"] * 9, "person": range(9), "cost": [1.5] * 9})
    asked: dict[str, Any] = {"domain": ["a", "b"], "epsilon": 1, **options}
    release = fg.above(table, item="item", person="person", threshold=2, k=1, **asked)
    found = evidence_of("above", release.to_dict(), fg.__version__)
    assert [row["variant"] for row in (found or {})["rows"] if row["function"] == "above"] == variants


@pytest.mark.parametrize(
    ("options", "variants"),
    [
        ({"rho": 1}, ["in ρ"]),
        ({"rho": 1, "measure": True}, ["measured, in ρ"]),
        ({"epsilon": 1, "domain": "unknown", "delta": "1e-8", "noise": "gumbel"}, ["unknown items"]),
        (
            {"epsilon": 1, "domain": "unknown", "delta": "1e-8", "noise": "exponential", "measure": True},
            ["unknown items, measured"],
        ),
    ],
)
def test_a_top_k_of_a_table_has_a_row_of_its_own(options: dict[str, Any], variants: list[str]) -> None:
    table = pa.table({"item": ["a"] * 9, "person": range(9)})
    release = fg.top_k(table, item="item", person="person", k=1, **{"domain": ["a", "b"]} | options)
    found = evidence_of("top_k", release.to_dict(), fg.__version__)
    rows = (found or {})["rows"]
    assert [row["variant"] for row in rows if row["function"] == "top_k"] == variants
    assert any(row["function"] != "top_k" for row in rows)


def test_a_histogram_of_a_table_has_a_row_of_its_own() -> None:
    table = pa.table({"item": ["a"] * 9, "person": range(9), "cost": [1.5] * 9})
    asked: dict[str, Any] = {"items_per_person": 1, "epsilon": 1}
    of_table: dict[str, Any] = {"item": "item", "person": "person", "domain": ["a", "b"]}
    means: dict[str, Any] = {"value": "cost", "low": 0, "high": 9, "mean": True}
    made = [
        fg.histogram([3, 1], **asked),
        fg.histogram(table, **of_table, **asked),
        fg.histogram(table, **of_table, **means, **asked),
    ]
    own = [
        {row["variant"] for row in (evidence_of("histogram", one.to_dict(), fg.__version__) or {})["rows"]}
        & {"of a table", "means"}
        for one in made
    ]
    assert own == [set(), {"of a table"}, {"of a table", "means"}]


def test_the_evidence_of_another_version_is_not_here(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    record, digest = evidence._record()
    monkeypatch.setattr(evidence, "_record", lambda: ({**record, "version": "9.9"}, digest))
    body = make_receipt(shop.ledger, 2, shop.key).body
    assert body["evidence"] is None
    assert body["versions"]["freegap"] == fg.__version__
