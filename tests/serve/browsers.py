"""A real browser on the console: what it loads, what it complains of, and how its pages look."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Dialog, Locator, Page, sync_playwright

from tests.docs.browser import chromium

ARTEFACTS = Path(__file__).parents[2] / "out" / "artefacts"
_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
_DESK, _PHONE = 1100, 360
_ALL = {"resultTypes": ["violations"]}
_SEEN = _ALL | {"runOnly": ["color-contrast", "target-size", "scrollable-region-focusable", "meta-viewport"]}
"""Rules about what changes with the colours and the width; all others are looked at once."""


@contextmanager
def browsing() -> Iterator[Browser]:
    """The Chromium of this machine."""
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium(), args=_FLAGS)
        yield browser
        browser.close()


def turn(page: Page, leads: Locator) -> None:
    """Click on what leads to another page, and wait until that one is there: a click alone ends before."""
    with page.expect_navigation():
        leads.click()


def enter(page: Page) -> None:
    """Press Enter on what leads to another page, or to another place on this one, and wait as `turn` does."""
    with page.expect_navigation():
        page.keyboard.press("Enter")


class Visitors:
    """People at one service, each with cookies of their own; whatever their pages load or say is noted."""

    def __init__(self, browser: Browser, home: str) -> None:
        self._browser = browser
        self._axe = Axe()
        self._open: list[BrowserContext] = []
        self.home = home
        self.hosts: set[str] = set()
        self.said: list[str] = []

    def come(self) -> Page:
        """Somebody new."""
        context = self._browser.new_context(
            viewport={"width": _DESK, "height": 800}, color_scheme="light", reduced_motion="reduce"
        )
        self._open.append(context)
        context.on("request", lambda request: self.hosts.add(urlsplit(request.url).netloc))
        context.on("console", lambda message: self.said.append(message.text))
        context.on("dialog", self._dismiss)
        context.on("weberror", lambda error: self.said.append(f"error {error.error}"))
        return context.new_page()

    def signed_in(self, token: str) -> Page:
        """Somebody new, who signs in."""
        page = self.come()
        page.goto(self.home)
        page.get_by_label("Token").fill(token)
        turn(page, page.get_by_role("button", name="Sign in"))
        return page

    def _dismiss(self, dialog: Dialog) -> None:
        self.said.append(f"dialog {dialog.message}")
        dialog.dismiss()

    def leave(self) -> None:
        """All of them."""
        for context in self._open:
            context.close()

    def look(self, page: Page, name: str) -> None:
        """A page as it is on a desk by day and on a phone by night: whoever uses a screen reader can use it
        (axe), contrasts are large enough in both, and nothing is wider than the screen. Pictures are kept."""
        ARTEFACTS.mkdir(parents=True, exist_ok=True)
        for scheme, width in (("light", _DESK), ("dark", _PHONE)):
            page.emulate_media(color_scheme="light" if scheme == "light" else "dark")
            page.set_viewport_size({"width": width, "height": 800})
            page.screenshot(path=ARTEFACTS / f"console-{name}-{scheme}.png", full_page=True)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, f"{name} is too wide"
            found = self._axe.run(page, options=_ALL if scheme == "light" else _SEEN)
            assert found.violations_count == 0, f"{name}, {scheme}: {found.generate_report()}"
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": _DESK, "height": 800})
