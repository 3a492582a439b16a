"""The site builds without a warning, names everything public, and is read without a network."""

from __future__ import annotations

import doctest
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

import freegap as fg
from freegap import base2
from tests.docs.browser import Browser, chromium

ROOT = Path(__file__).parents[2]


def build(to: Path, *more: str) -> subprocess.CompletedProcess[str]:
    # The theme's own advertisement about the next version of MkDocs is no warning about these pages.
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(  # noqa: S603
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(to), *more],
        cwd=ROOT, capture_output=True, text=True, env=environment, timeout=300,
    )  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(folder)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    assert "Warning" not in done.stderr
    return folder


class Links(HTMLParser):
    """What a page refers to, and the places in it that can be referred to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.places: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.targets += [found[name] or "" for name in ("href", "src") if name in found]
        self.places |= {found[name] or "" for name in ("id", "name") if name in found}


def pages(site: Path) -> dict[Path, Links]:
    return {page: Links(page) for page in site.rglob("*.html") if page.name != "404.html"}


def test_every_link_leads_somewhere_on_the_site(site: Path) -> None:
    """Also those that the theme and the reference write, which the strict build does not look at."""
    read = pages(site)
    assert len(read) > 35
    seen = 0
    for page, links in read.items():
        for target in links.targets:
            parts = urlsplit(target)
            assert parts[:2] == ("", ""), f"{page.name}: {target} is not on the site"
            where = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            if where.is_dir():
                where /= "index.html"
            assert where.exists(), f"{page.name}: {target}"
            if parts.fragment and where in read:
                assert unquote(parts.fragment) in read[where].places, f"{page.name}: {target}"
                seen += 1
    assert seen > 200


def test_the_reference_has_every_public_name(site: Path) -> None:
    places: set[str] = set()
    for page in (site / "api").glob("*.html"):
        places |= Links(page).places
    for name in fg.__all__:
        if getattr(fg, name) is base2:
            continue
        assert f"freegap.{name}" in places, name
    for name in base2.__all__:
        assert {f"freegap.base2.{name}", f"{getattr(base2, name).__module__}.{name}"} & places, name


def test_formulas_became_mathml(site: Path) -> None:
    number = 0
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "arithmatex" not in text
        # A formula that the converter does not know stays as its own source.
        for formula in re.findall(r"<math.*?</math>", text, re.DOTALL):
            number += 1
            assert "\\" not in formula, f"{page.name}: {formula}"
    assert number > 300


def test_how_docstrings_are_read() -> None:
    specification = spec_from_file_location("docstrings", ROOT / "scripts" / "site" / "docstrings.py")
    assert specification is not None
    assert specification.loader is not None
    module = module_from_spec(specification)
    specification.loader.exec_module(module)
    assert doctest.testmod(module) == (0, 1)


def test_docstrings_became_text(site: Path) -> None:
    """No argument list ran together, and no example became a quotation."""
    for page in (site / "api").glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "<blockquote>" not in text, page.name
        outside = re.sub(r"<pre.*?</pre>", "", text, flags=re.DOTALL)
        assert "&gt;&gt;&gt;" not in outside, page.name
    selecting = (site / "api" / "select.html").read_text(encoding="utf-8")
    assert re.search(r"<li>\s*(<p>)?<code>monotonic</code>: True is your statement", selecting)


def test_a_broken_link_stops_the_build(tmp_path: Path) -> None:
    """The settings of the build really look: at missing pages, missing headings and pages left out."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for broken in ("[x](gone.md)", "[x](#gone)", "[x](other.md#gone)"):
        (docs / "index.md").write_text(f"# Here\n\n{broken}\n", encoding="utf-8")
        (docs / "other.md").write_text("# Other\n", encoding="utf-8")
        settings = {
            "INHERIT": str(ROOT / "mkdocs.yml"),
            "docs_dir": str(docs),
            "nav": ["index.md", "other.md"],
            "hooks": [],
            "plugins": ["search"],
            "extra_css": [],
        }
        (tmp_path / "mkdocs.yml").write_text(json.dumps(settings), encoding="utf-8")
        done = build(tmp_path / "out", "--config-file", str(tmp_path / "mkdocs.yml"))
        assert done.returncode != 0, broken
        assert "gone" in done.stderr


def test_every_page_is_in_the_navigation(site: Path) -> None:
    """Those that nobody listed too, such as reports that are written by commands."""
    targets = Links(site / "index.html").targets
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix(".html").as_posix()
        assert name in targets, name


@pytest.mark.skipif(chromium() is None, reason="no Chromium on this machine to open the pages with")
def test_pages_open_without_a_network(site: Path, tmp_path: Path) -> None:
    """Each page from file://: no error on the console, nothing asked for but files, formulas laid out."""
    with Browser(tmp_path / "profile") as browser:
        for page in sorted(pages(site)):
            events = browser.open(page.as_uri())
            assert _complaints(events) == [], page.name
            requests = [e["params"]["request"]["url"] for e in events if _is(e, "Network.requestWillBeSent")]
            assert requests
            assert [url for url in requests if not url.startswith(("file:", "data:", "about:"))] == []
            assert browser.evaluate("document.querySelector('h1').getBoundingClientRect().height") > 10
            flat = "[...document.querySelectorAll('math')].filter(m => m.getBoundingClientRect().width < 3)"
            assert browser.evaluate(f"{flat}.length") == 0, page.name
        # Search works from a file too.
        browser.open((site / "index.html").as_uri())
        found = browser.evaluate(
            """new Promise((resolve, reject) => {
                const box = document.querySelector("[data-md-component=search-query]");
                box.focus();
                box.value = "runner-up";
                box.dispatchEvent(new KeyboardEvent("keyup", {bubbles: true}));
                const looking = setInterval(() => {
                    const hit = document.querySelector(".md-search-result__link");
                    if (hit) { clearInterval(looking); resolve(hit.href); }
                }, 50);
                setTimeout(() => reject(new Error("nothing was found")), 20000);
            })"""
        )
        assert found.startswith(site.as_uri())
        assert _complaints(browser.events) == []


def _is(event: dict[str, Any], method: str) -> bool:
    return event.get("method") == method


def _complaints(events: list[dict[str, Any]]) -> list[str]:
    """What the page wrote to the console as a warning or an error, and what it could not load."""
    loud = ("warning", "error", "assert")
    return [
        json.dumps(event["params"])
        for event in events
        if _is(event, "Runtime.exceptionThrown")
        or _is(event, "Network.loadingFailed")
        or (_is(event, "Log.entryAdded") and event["params"]["entry"]["level"] in loud)
        or (_is(event, "Runtime.consoleAPICalled") and event["params"]["type"] in loud)
    ]
