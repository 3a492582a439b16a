"""The console without a browser: who is let in, and everything that a page or another site could try."""

from __future__ import annotations

import html
import json
import re
import sqlite3
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

import freegap as fg
from freegap.receipts.keys import SigningKey
from freegap.receipts.receipt import Receipt
from freegap.serve.people import Person
from tests.serve.conftest import Service, call
from tests.serve.visitors import SAME, Visitor

PAGES = ["/", "/ask", "/releases", "/releases/8", "/releases/8.json", "/releases/8.csv", "/receipts/8.json"]
OVERSIGHT = ["/budgets", "/sources", "/journal", "/journal.json", "/verification"]
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "javascript:alert(1)",
    "{{ 7 * 7 }}",
    "=HYPERLINK(1)",
    "a\u202eb\x1b[31m",
    "</title></style><svg onload=alert(1)>",
]


def test_the_way_of_an_analyst(service: Service) -> None:
    ann = Visitor(service)
    assert (ann.get("/").status, ann.get("/").headers["location"]) == (303, "/console/sign-in")
    assert ann.sign_in(service.token("ann")).headers["location"] == "/console/"
    assert "left of 5" in ann.get("/").body.decode()
    planned = ann.plan(largest="900").body.decode()
    assert "What is right, by ε" in planned
    assert "Ask, and pay ε = 0.5" in planned
    assert len(fg.Ledger(service.settings.ledger).entries()) == 6, "a plan is free"
    line = ann.ask().headers["location"].removeprefix("/console/releases/")
    shown = ann.get(f"/releases/{line}").body.decode()
    assert "1.65 times as likely" in shown
    assert "62.3 % sure" in shown
    assert "one value of the column &#39;customer&#39;" in shown
    kept = ann.get(f"/releases/{line}.json")
    assert json.loads(kept.body) == service.desk.release(Person("ann", "analyst"), int(line))
    assert kept.headers["content-disposition"] == f'attachment; filename="release-{line}.json"'
    assert ann.get(f"/releases/{line}.csv").body.startswith(b"rank,item,gap\n")
    receipt = Receipt.read(ann.get(f"/receipts/{line}.json").body)
    receipt.check(SigningKey.read(service.settings.key_file).public)
    assert f'href="/console/releases/{line}"' in ann.get("/releases").body.decode()
    out = ann.post("/sign-out")
    assert (out.status, out.headers["location"]) == (303, "/console/sign-in")
    assert [ann.get(page).status for page in PAGES] == [303] * len(PAGES)


def test_a_form_that_is_sent_twice_asks_once(service: Service) -> None:
    ann = Visitor(service)
    ann.sign_in(service.token("ann"))
    ann.plan()
    assert [ann.ask().headers["location"] for _ in range(2)] == ["/console/releases/7"] * 2
    ann.plan()
    assert ann.ask().status == 303, "another form"


def test_a_quota_that_is_spent_is_said_on_the_page(service: Service) -> None:
    ann = Visitor(service)
    ann.sign_in(service.token("ann"))
    replies = []
    for number in range(3):
        planned = ann.plan(epsilon="3/4").body.decode()
        assert ("This cannot be asked" in planned) == (number == 2), "said before it is asked"
        replies.append(ann.ask(epsilon="3/4", once=f"form-{number}"))
    assert [reply.status for reply in replies] == [303, 303, 409]
    assert "a total does not grow" in replies[2].body.decode()
    assert ann.ask(epsilon="9", once="another").status == 422


def test_who_may_open_what(service: Service) -> None:
    service.ask(service.token("bob"))
    roles = {"analyst": "ann", "auditor": "ada", "owner": "olga"}
    tokens = {role: service.token(name, role) for role, name in roles.items()}
    for role, opened in (("analyst", []), ("auditor", OVERSIGHT), ("owner", [*OVERSIGHT, "/people"])):
        visitor = Visitor(service)
        visitor.sign_in(tokens[role])
        for page in [*OVERSIGHT, "/people"]:
            assert visitor.get(page).status == (200 if page in opened else 403), (role, page)
        seen = visitor.get("/releases").body.decode()
        assert ("/console/releases/7" in seen) == (role != "analyst")
        assert visitor.get("/releases/7").status == (404 if role == "analyst" else 200)
        added = visitor.post("/people", name="eve", role="owner", days="9")
        assert added.status == (200 if role == "owner" else 403)
        assert visitor.post("/people/revoke", number="1").status == (303 if role == "owner" else 403)
    assert Visitor(service).get("/ask").status == 303
    auditor = Visitor(service)
    auditor.sign_in(tokens["auditor"])
    assert auditor.get("/ask").status == 403
    assert auditor.ask().status == 403


def test_an_owner_makes_and_ends_tokens(service: Service) -> None:
    olga, eve = Visitor(service), Visitor(service)
    olga.sign_in(service.token("olga", "owner"))
    page = olga.post("/people", name="eve", role="analyst", days="7").body.decode()
    token = page.split('id="made">')[1].split("<")[0]
    eve.sign_in(token)
    assert eve.get("/").status == 200
    assert token not in olga.get("/people").body.decode(), "it is shown once"
    assert olga.post("/people/revoke", number="2").status == 303
    assert eve.get("/").headers["location"] == "/console/sign-in", "the session ends with the token"
    for name, days in (("<b>", "7"), ("bo", "1e3"), ("bo", "400")):
        reply = olga.post("/people", role="analyst", name=name, days=days)
        assert reply.status == 422
        assert "<b>" not in reply.body.decode()
    assert olga.post("/people/revoke", number="x").status in (404, 422)


def test_signing_in_makes_a_new_session(service: Service) -> None:
    """Whoever has put a number into somebody's browser does not know the session that it becomes."""
    ann = Visitor(service)
    reply = ann.get("/sign-in")
    assert reply.headers["set-cookie"].lower().endswith("; httponly; path=/; samesite=strict")
    planted = "0" * 64
    ann.cookies["freegap_session"] = planted
    ann.sign_in(service.token("ann"))
    assert ann.cookies["freegap_session"] != planted
    attacker = Visitor(service)
    attacker.cookies["freegap_session"] = planted
    assert attacker.get("/").status == 303
    signed_in = ann.cookies["freegap_session"]
    ann.post("/sign-out")
    attacker.cookies["freegap_session"] = signed_in
    assert attacker.get("/").status == 303
    kept = (service.folder / "people.db").read_bytes()
    assert signed_in.encode() not in kept, "the database has hashes"


def test_with_tls_the_cookie_is_for_this_host_alone(service: Service) -> None:
    reply = call(service.app, "GET", "/console/sign-in", scheme="https")
    cookie = reply.headers["set-cookie"]
    assert cookie.startswith("__Host-freegap_session=")
    assert "; Secure" in cookie
    planted = {"cookie": f"freegap_session={'0' * 64}"}
    again = call(service.app, "GET", "/console/sign-in", scheme="https", headers=planted)
    assert "__Host-" in again.headers["set-cookie"], "what was set without TLS counts for nothing"


FOREIGN = [
    {"host": "data.example", "sec-fetch-site": "cross-site"},
    {"host": "data.example", "sec-fetch-site": "same-site"},
    {"host": "data.example", "sec-fetch-site": "none"},
    {"host": "data.example", "origin": "https://evil.example"},
    {"host": "data.example", "origin": "null"},
    {"host": "data.example", "origin": "https://data.example.evil.example"},
]


def test_no_other_site_can_send_a_form(service: Service) -> None:
    olga, other = Visitor(service), Visitor(service)
    olga.sign_in(service.token("olga", "owner"))
    other.get("/sign-in")
    before = len(service.people.tokens())
    actions: dict[str, dict[str, Any]] = {
        "/people": {"name": "eve", "role": "owner", "days": "9"},
        "/people/revoke": {"number": "1"},
        "/ask": {"once": "x"},
        "/sign-out": {},
    }
    for path, fields in actions.items():
        refused = [olga.post(path, headers=headers, **fields).status for headers in FOREIGN]
        refused += [olga.post(path, form=form, **fields).status for form in ("", "0" * 64, other.form, "é")]
        assert set(refused) == {403}, path
        assert olga.get(path).status in (200, 404, 405), "and nothing is done by GET"
    assert len(service.people.tokens()) == before
    assert olga.get("/people").status == 200, "still signed in"
    assert len(fg.Ledger(service.settings.ledger).entries()) == 6
    stranger = Visitor(service)  # nobody can be signed in as somebody else either
    stranger.get("/sign-in")
    token = service.token("eve")
    assert [stranger.post("/sign-in", headers=headers, token=token).status for headers in FOREIGN] == [
        403
    ] * 6
    assert stranger.post("/sign-in", headers={"host": "a", "origin": "http://a"}, token=token).status == 303


def test_every_page_has_its_policy_and_is_kept_by_nobody(service: Service) -> None:
    ann = Visitor(service)
    replies = [
        ann.get("/sign-in"),
        ann.sign_in(service.token("ann")),
        ann.get("/nowhere"),
        ann.get("/people"),
    ]
    line = service.ask(service.token("ann")).json["line"]
    replies += [ann.get(page.replace("8", str(line))) for page in PAGES]
    assert {reply.status for reply in replies[4:]} == {200}
    for reply in replies:
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "script-src" not in policy, "there is no script"
        assert "unsafe" not in policy
        assert reply.headers["x-frame-options"] == "DENY"
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in reply.headers
    style = ann.get("/console.css")
    assert (style.status, style.headers["content-type"]) == (200, "text/css; charset=utf-8")
    assert "url(" not in style.body.decode()
    assert "@import" not in style.body.decode()


PATHS = [
    "/../freegap.toml", "/console.css/../../freegap.toml", "/templates/base.html", "/assets/console.css",
    "/%2e%2e/freegap.toml", "//evil.example", "/releases/..%2f..%2ffreegap.toml", "/releases/8.toml",
    "/releases/-1", "/releases/8.json/..", "/sign-in/https://evil.example",
]  # fmt: skip


def test_no_path_leads_out(service: Service) -> None:
    ann = Visitor(service)
    ann.sign_in(service.token("ann"))
    for path in PATHS:
        reply = ann.get(path)
        assert reply.status == 404, path
        assert "location" not in reply.headers
        assert b"ledger" not in reply.body


def test_nobody_is_sent_anywhere_else(service: Service) -> None:
    ann = Visitor(service)
    ann.get("/sign-in")
    wishes: dict[str, Any] = {
        "next": "https://evil.example",
        "return": "//evil.example",
        "source": "https://evil.example",
    }
    assert ann.post("/sign-in", token=service.token("ann"), **wishes).headers["location"] == "/console/"
    assert "evil.example" not in ann.get("/ask", **wishes).body.decode().replace("value=", "").replace(
        "source", ""
    )
    front = call(service.app, "GET", "/", headers={"host": "evil.example"})
    assert (front.status, front.headers["location"]) == (303, "console/")


def test_a_token_in_the_address_is_turned_away(service: Service) -> None:
    ann = Visitor(service)
    token = service.token("ann")
    assert ann.get("/sign-in", token=token).status == 400
    assert ann.get("/ask", token=token).status == 400


@pytest.fixture
def hostile(folder: Path) -> Path:
    import polars as pl

    names = [name for rank, name in enumerate(HOSTILE) for _ in range(900 - 120 * rank)]
    people = [person for rank, _ in enumerate(HOSTILE) for person in range(900 - 120 * rank)]
    pl.DataFrame({"product": names, "customer": people}).write_parquet(folder / "baskets.parquet")
    pl.DataFrame({"product": HOSTILE}).write_parquet(folder / "products.parquet")
    text = (folder / "freegap.toml").read_text()
    text = text.replace('"products.csv"', '"products.parquet"').replace("city =", "\"<b onclick='x'>\" =")
    (folder / "freegap.toml").write_text(text)
    return folder


@pytest.mark.usefixtures("hostile")
def test_names_in_the_data_are_text_wherever_they_stand(service: Service) -> None:
    ann = Visitor(service)
    ann.sign_in(service.token("ann"))
    ann.plan(k="6")
    where = ann.ask(k="6", epsilon="1").headers["location"].removeprefix("/console")
    shown = ann.get(where).body.decode()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in shown
    assert "{{ 7 * 7 }}" in shown
    for page in (shown, ann.get("/").body.decode(), ann.plan(source='"><script>', item="<i>").body.decode()):
        for tag in ("<script", "<img", "<svg onload", "<b onclick", "<i>", 'javascript:alert(1)"'):
            assert tag not in page, tag
        assert "\x1b" not in page
        assert "\u202e" not in page
    for name in HOSTILE[:2]:
        assert ann.plan(threshold=name, epsilon=name, k=name).status == 422
        assert name not in ann.plan(threshold=name, epsilon=name, k=name).body.decode()
        assert name not in ann.get("/releases", page=name).body.decode()
    lines = ann.get(f"{where}.csv").body.decode().splitlines()
    assert any(",'=HYPERLINK(1)," in line for line in lines) or "'=HYPERLINK(1)" not in "".join(lines)
    assert not any(",=HYPERLINK" in line for line in lines)


def test_odd_forms_are_refused(service: Service) -> None:
    ann = Visitor(service)
    ann.sign_in(service.token("ann"))
    app, cookie = service.app, {"cookie": f"freegap_session={ann.cookies['freegap_session']}"}
    bodies = [b"form=a&form=b", b"&".join(b"a%d=1" % i for i in range(99)), b"\xff", b"form=%ff", b"{}", b""]
    for body in bodies:
        reply = call(app, "POST", "/console/ask", body=body, headers=SAME | cookie)
        assert reply.status in (403, 422), body
    for number in ("0", "-1", "99999999999", "x", "1e9", ""):
        assert ann.get("/releases", page=number).status == 200
    assert ann.get("/releases/" + "9" * 5000).status in (404, 422)
    assert call(app, "GET", "/console/", headers={"cookie": "freegap_session=" + "x" * 5000}).status == 303


def test_a_page_tells_nothing_of_the_machine(service: Service) -> None:
    carl = Visitor(service)
    carl.sign_in(service.token("carl"))
    carl.get("/ask")
    replies = [
        carl.post(
            "/ask", once="a", source="clinic", mechanism="top_k", item="diagnosis", k="1", epsilon="1/10"
        )
    ]
    assert replies[0].status == 503
    (service.folder / "ledger.db").write_bytes(b"damaged" * 100)
    replies.append(carl.get("/"))
    (service.folder / "people.db").write_bytes(b"damaged" * 100)
    replies.append(carl.get("/"))
    assert [reply.status for reply in replies[1:]] == [503, 503]
    for reply in replies:
        for secret in (str(service.folder), "SECRET", "patient", "sqlite", "Traceback"):
            assert secret not in reply.body.decode()


def test_what_nobody_foresaw_is_a_page_too(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: object) -> object:
        raise RuntimeError("SECRET row")

    ann = Visitor(service)
    ann.sign_in(service.token("ann"))
    monkeypatch.setattr(service.desk, "sources", fails)
    reply = ann.get("/")
    assert reply.status == 500
    assert "The service has failed." in reply.body.decode()
    assert "SECRET" not in reply.body.decode()


def test_an_auditor_is_told_of_a_journal_that_was_changed(service: Service) -> None:
    ada, ann = Visitor(service), Visitor(service)
    ada.sign_in(service.token("ada", "auditor"))
    ann.sign_in(service.token("ann"))
    line = service.ask(service.token("ann")).json["line"]
    assert "lines hold" in ada.get("/verification").body.decode()
    with sqlite3.connect(service.folder / "ledger.db") as kept:
        kept.execute("DROP TRIGGER freegap_journal_no_update")
        assert (
            kept.execute("UPDATE freegap_journal SET who = 'eve' WHERE sequence = ?", (line,)).rowcount == 1
        )
    for page in ("/verification", "/journal"):
        reply = ada.get(page)
        assert reply.status == 200
        assert "The journal does not hold." in reply.body.decode()
        assert f"line {line}" in reply.body.decode().lower()
        assert "eve" not in reply.body.decode(), "no line of it is shown"
        assert ann.get(page).status == 403


def test_pages_have_a_pace_too(folder: Path, serving: Callable[..., Service]) -> None:
    text = (folder / "freegap.toml").read_text()
    (folder / "freegap.toml").write_text(text + "[limits]\nrequests_per_minute = 3\n")
    service = serving()
    ann, bob = Visitor(service), Visitor(service)
    ann.sign_in(service.token("ann"))
    replies = [ann.get("/") for _ in range(6)]
    assert 429 in [reply.status for reply in replies]
    assert "as often as one may" in replies[-1].body.decode() or replies[-1].status == 200
    bob.sign_in(service.token("bob"))
    assert bob.get("/").status == 200, "one person keeps nobody else waiting"


@pytest.fixture
def other_measures(folder: Path) -> None:
    """A source in ρ alone, renewed by month; one in both with groups and an unknown domain."""
    text = (folder / "freegap.toml").read_text()
    shop = text[text.index("[sources.shop]") : text.index("[sources.clinic]")]
    rho = (
        shop.replace("shop", "monthly")
        .replace('{ epsilon = "5" }', '{ rho = "1/8", renewed = "monthly" }')
        .replace('epsilon = ["1/100", "1"]', 'rho = ["1/10000", "1/16"]')
        .replace("epsilon =", "rho =")
    )
    both = shop.replace("shop", "both").replace('{ epsilon = "5" }', '{ epsilon = "5", delta = "1e-6" }')
    both = both.replace('{ epsilon = "2" }', '{ epsilon = "2", delta = "1e-6" }')
    both = re.sub(r'= \{ epsilon = "(3/2|1)" \}', r'= { epsilon = "\1", delta = "1e-6" }', both)
    both = both.replace('epsilon = ["1/100", "1"]', 'epsilon = ["1/100", "1"]\nrho = ["1/10000", "1/16"]')
    both = both.replace(
        'product = "products.csv"',
        'product = { domain = "unknown", delta = "1e-9", items_per_person = 2 }',
    ).replace(
        "[sources.both.quotas.team]",
        '[sources.both.groups]\ncity = ["Rome", "Oslo"]\n[sources.both.quotas.team]',
    )
    (folder / "freegap.toml").write_text(text + rho + both)


@pytest.mark.usefixtures("other_measures")
def test_questions_in_rho_in_groups_and_of_unknown_items(service: Service) -> None:
    ann, ada = Visitor(service), Visitor(service)
    ann.sign_in(service.token("ann"))
    ada.sign_in(service.token("ada", "auditor"))
    front = ann.get("/").body.decode()
    assert "ρ from 0.0001 to 0.0625" in front
    assert "begins anew each month" in front, "what renewal means stands beside the source"
    assert "names protected" in front
    assert "begins anew each month" in ada.get("/budgets").body.decode()
    rho = {"source": "monthly", "epsilon": "", "rho": ""}
    looked_for = ann.plan(**rho, largest="900").body.decode()
    assert "is enough" in looked_for
    assert "What is right, by ρ" in looked_for
    assert "Take the suggested ρ" in looked_for
    assert "Ask, and pay" not in looked_for
    rho["rho"] = "1/50"
    assert "Ask, and pay ρ = 0.02" in ann.plan(**rho, largest="900").body.decode()
    where = ann.ask(**rho).headers["location"].removeprefix("/console")
    shown = ann.get(where).body.decode()
    assert "It was charged ρ = " in shown
    both = {"source": "both", "epsilon": "1/10"}
    refused = ann.plan(**both, rho="1/100")
    assert (refused.status, "Send one of the two" in refused.body.decode()) == (422, True)
    refused = ann.plan(**both, largest="900")
    assert (refused.status, "how many there are" in refused.body.decode()) == (422, True)
    assert "What is right, by ε" in ann.plan(**both, largest="900", items="50").body.decode()
    grouped = {"item": "city", "group": "city"}
    assert "Dry run" in ann.plan(**both, **grouped, largest="900").body.decode()


def test_the_suggested_amount_can_be_taken(service: Service) -> None:
    ann = Visitor(service)
    ann.sign_in(service.token("ann"))
    page = ann.plan(epsilon="", largest="900").body.decode()
    link = html.unescape(re.findall(r'href="/console(/ask[?][^"]*)"', page)[-1])
    fields = dict(parse_qsl(link.partition("?")[2]))
    assert Fraction(fields["epsilon"]) > 0
    taken = ann.get("/ask", **fields)
    assert f"Ask, and pay ε = {float(Fraction(fields['epsilon'])):.4g}" in taken.body.decode()
    assert "Take the suggested" not in ann.plan(epsilon="", largest="2").body.decode(), "more than is allowed"
