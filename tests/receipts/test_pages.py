"""What is made of a receipt: the entry of the registry, the self-assessment, the file of evidence."""

from __future__ import annotations

import importlib.util
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import yaml
from markdown_it import MarkdownIt

import freegap as fg
from freegap.receipts.assess import as_html, as_markdown
from freegap.receipts.receipt import make_receipt
from freegap.receipts.registry import as_yaml, registry_fields
from tests.receipts.conftest import Shop

ROOT = Path(__file__).parents[2]

# The fields of the registry's schema and template, and which of them it requires.
BASIC = {
    *("name", "data_curators", "description", "intended_use"),
    *("data_product_type", "data_product_region", "publication_date"),
}
ALLOWED = {
    "basic": {*BASIC, "data_product_sector"},
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {
        "privacy_unit",
        "privacy_unit_details",
        "number_of_privacy_units",
        "privacy_parameters",
        "privacy_parameters_details",
    },
    "deployment_model": {
        "model_name",
        "model_name_details",
        "trust_assumptions",
        "actors",
        *(
            f"{kind}_type{details}"
            for kind in ("release", "data_source", "access")
            for details in ("", "_details")
        ),
    },
    "implementation": {
        "preprocessing_and_hyperparameter_tuning",
        "mechanisms",
        "composition",
        "post_processing",
        "justification",
        "utility",
        "additional_information",
    },
    "administrative": {"evidence_sources", "status", "registry_authors", "tier"},
}
SOURCES = {
    "Peer-reviewed publication",
    "Formal publication by the deploying organization",
    "Authorized organizational attestation",
    "Other public source",
}

HOSTILE = (
    '"\n- evil: yes # \\ \x1b[31m\u2028: {a: [b]} <script>alert(1)</script> [x](http://a.b) *b* \U000e0001 😀'
)


def conforms(entry: dict[str, Any]) -> None:
    """Whether an entry is one by the registry's schema."""
    assert entry.keys() == {"url_slug", "deployment"}
    assert re.fullmatch("[a-z0-9-]+", entry["url_slug"])
    deployment = entry["deployment"]
    assert {"basic", "administrative"} <= deployment.keys() <= ALLOWED.keys()
    for part, fields in deployment.items():
        assert fields.keys() <= ALLOWED[part]
    basic, administrative = deployment["basic"], deployment["administrative"]
    assert set(BASIC) <= basic.keys()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", basic["publication_date"])
    (curator,) = basic["data_curators"]
    assert curator["data_curator_type"] in {"Government", "Industry", "Nonprofit"}
    assert basic["data_product_type"] == "Summary statistics"
    assert deployment["dp_variant"]["variant_name"] in {"Pure DP", "Approximate DP", "Zero-concentrated DP"}
    parameters = deployment["privacy_loss"]["privacy_parameters"]
    assert parameters.keys() <= {"epsilon", "delta", "rho"}
    assert all(isinstance(amount, int | float) for amount in parameters.values())
    assert deployment["deployment_model"]["release_type"] in {"One release", "Many releases"}
    assert administrative["status"] == "Draft"
    assert administrative["tier"] in (1, 2, 3)
    assert len(administrative["registry_authors"]) == 1
    for source in administrative["evidence_sources"].values():
        assert source.keys() == {"evidence_source_type", "misc"}
        assert source["evidence_source_type"] in SOURCES
    texts = [
        text
        for part in deployment.values()
        for text in part.values()
        if not isinstance(text, dict | list | int)
    ]
    assert all(isinstance(text, str) for text in texts)


def test_the_entry_has_the_fields_of_the_registry(shop: Shop) -> None:
    text = as_yaml(registry_fields(shop.receipt, {}))
    entry = yaml.safe_load(text)
    conforms(entry)
    assert entry["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 0.333333333334}, (
        "rounded up"
    )
    assert "ε = 1/3" in entry["deployment"]["privacy_loss"]["privacy_parameters_details"]
    assert "number_of_privacy_units" not in text, "how many people there are is private"
    assert ">" not in {token.style for token in yaml.scan(text) if hasattr(token, "style")}
    for line in (6, 8):
        conforms(yaml.safe_load(as_yaml(registry_fields(make_receipt(shop.ledger, line, shop.key), {}))))


def test_what_the_owner_says_stands_in_it_and_breaks_nothing(shop: Shop) -> None:
    names = ("name", "curator", "description", "use", "region", "author")
    owner: dict[str, str | None] = {name: HOSTILE + name for name in names}
    owner |= {"curator_type": "Nonprofit", "sector": "Energy"}
    text = as_yaml(registry_fields(shop.receipt, owner))
    assert text.isprintable() or set(text) - {"\n"} == {c for c in text if c.isprintable()}
    entry = yaml.safe_load(text)
    conforms(entry)
    basic = entry["deployment"]["basic"]
    assert basic["name"] == HOSTILE + "name"
    assert basic["data_curators"] == [
        {"data_curator_name": HOSTILE + "curator", "data_curator_type": "Nonprofit"}
    ]
    assert basic["data_product_sector"] == "Energy"
    for wrong in ({"sector": "Tea"}, {"curator_type": "Me"}):
        with pytest.raises(fg.InvalidArgument, match="not one that the registry knows"):
            registry_fields(shop.receipt, dict(wrong))


def test_small_and_large_amounts_are_numbers_of_yaml(tmp_path: Path, shop: Shop) -> None:
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("a", epsilon=10**40, delta="1e-3")
    ledger.record("a", epsilon="1e-20", delta="1e-30", by="x", what="y")
    entry = yaml.safe_load(as_yaml(registry_fields(make_receipt(ledger, 2, shop.key), {})))
    conforms(entry)
    assert entry["deployment"]["privacy_loss"]["privacy_parameters"] == {"epsilon": 1e-20, "delta": 1e-30}
    assert entry["deployment"]["dp_variant"]["variant_name"] == "Approximate DP"


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.seen.append(tag)


def tags(text: str) -> set[str]:
    parser = Tags()
    parser.feed(text)
    return set(parser.seen)


@pytest.fixture
def hostile(tmp_path: Path, shop: Shop) -> Any:
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    name = "1. <script>alert(1)</script> [x](http://a.b) *b* www.a.b `c` ![i](j) # h |t|"
    ledger.create(name, epsilon=5)
    ledger.reserve(name, 1, what=f"- {name}")
    return make_receipt(ledger, 2, shop.key)


def test_of_a_release_that_is_not_ours_nothing_is_claimed(tmp_path: Path, shop: Shop) -> None:
    """One of another library, and one of freegap with seeded noise, which protects nobody."""
    ledger = fg.Ledger(f"sqlite:///{tmp_path}/ledger.db")
    ledger.create("web", epsilon=9)
    ledger.record("web", epsilon=1, by="another", what="histogram")
    fg.noisy_max([3, 1], epsilon=1, bits=fg.SeededBits(1), ledger=(ledger, "web"))
    for line, what in ((2, "histogram"), (4, "noisy_max")):
        receipt = make_receipt(ledger, line, shop.key)
        entry = registry_fields(receipt, {})["deployment"]["implementation"]
        assert entry["mechanisms"].startswith(f"Mechanism: {what}, by the words of whoever asked. The ledger")
        assert entry["post_processing"] is None
        told = as_yaml(registry_fields(receipt, {})) + as_markdown(receipt, checked=True)
        for claim in ("exactly the ideal", "Gaps are", "reserved in full", "Library:", "Errors come before"):
            assert claim not in told, claim


def test_the_assessment_has_the_parts_in_their_order(shop: Shop) -> None:
    text = as_markdown(shop.receipt, checked=True)
    headings = re.findall(r"^## (?:\d\. )?(\w+)", text, re.MULTILINE)
    assert headings == ["The", "Unit", "Correctness", "Utility", "Side", "Security", "Trust"]
    assert "a factor of at most 1.4: a guess that was even becomes right with at most 58.3 %" in text
    assert "Ding 2020, section 5.5.2" in text
    assert "NOT checked" not in text
    assert "NOT checked" in as_markdown(shop.receipt, checked=False)
    page = as_html(shop.receipt, checked=True)
    assert re.findall(r"<h2>(?:\d\. )?(\w+)", page) == headings
    by_hand = as_markdown(make_receipt(shop.ledger, 6, shop.key), checked=True)
    assert "what the caller stated" in by_hand
    assert "Noise is drawn exactly" not in by_hand


def test_a_name_is_no_markup(hostile: Any) -> None:
    rendered = MarkdownIt("gfm-like", {"linkify": False}).render(as_markdown(hostile, checked=True))
    assert tags(rendered) == {"h1", "h2", "ul", "li"}
    assert tags(as_html(hostile, checked=True)) == {
        "html",
        "head",
        "meta",
        "title",
        "style",
        "body",
        "h1",
        "h2",
        "ul",
        "li",
    }


def test_the_file_of_evidence_is_that_of_the_assurance_table() -> None:
    """If this fails: python scripts/site/receipt_evidence.py."""
    script = ROOT / "scripts" / "site" / "receipt_evidence.py"
    specification = importlib.util.spec_from_file_location("receipt_evidence", script)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    assert module.FILE.read_text(encoding="utf-8") == module.text()
