"""A headless Chromium on the built demo site, with everything that goes wrong in it written down."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DESKTOP = (1280, 800)
PHONE = (390, 844)

# Every browser test uses the one server, browser and build of its worker.
pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("demo")]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            for mark in pytestmark:
                item.add_marker(mark)


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the page's own record of requests is what the tests look at."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A tab that closes while a file is on its way is no error; all else is."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


@pytest.fixture(scope="session")
def address(demo: Any) -> Iterator[str]:
    """The demo site's address on this machine."""
    port = int(demo.address.rstrip("/").rpartition(":")[2])
    server = _Server(("127.0.0.1", port), partial(_Quiet, directory=str(demo.site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield demo.address
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    executable = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    if executable is None:
        message = "no Chromium on this machine (apt-get install chromium); the browser tests did not run"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(ARGUMENTS))
        yield browser
        browser.close()


@dataclass
class Tab:
    """One tab, and what went wrong in it."""

    page: Any
    address: str
    wrong: list[str] = field(default_factory=list)

    def open(self, path: str) -> Any:
        """Open a page of the site, its scripts run and its sitemap (for instant navigation) known."""
        with self.page.expect_response("**/sitemap.xml"):
            self.page.goto(self.address + path)
        return self.page

    def follow(self, path: str) -> Any:
        """Go to a page of the site by a click on a link, as Material's instant navigation does: no page load."""
        self.page.evaluate("window.__before = document.querySelector('article')")
        link = self.page.locator(f"a[href$='{path}']").first
        assert link.count(), f"no link to {path} on {self.page.url}"
        link.evaluate("a => a.click()")
        self.page.wait_for_url(f"**/{path}")
        self.page.wait_for_function("document.querySelector('article') !== window.__before")
        assert self.page.evaluate("!!window.__before"), "the click loaded a page; instant navigation did not work"
        return self.page

    def rest(self) -> None:
        """Wait until no request is under way."""
        self.page.wait_for_load_state("networkidle")


@pytest.fixture
def tab(chromium: Any, address: str) -> Iterator[Callable[..., Tab]]:
    """Makes tabs of a given size. The test fails when one logs an error or a request of it fails."""
    made: list[tuple[Any, Tab]] = []

    def make(size: tuple[int, int] = DESKTOP, scheme: str = "light") -> Tab:
        context = chromium.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, accept_downloads=True
        )
        page = context.new_page()
        page.set_default_timeout(20_000)
        one = Tab(page, address)
        page.on("console", lambda m: one.wrong.append(f"console: {m.text}") if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: one.wrong.append(f"error: {e}"))
        page.on("requestfailed", lambda r: one.wrong.append(f"request failed: {r.url} {r.failure}"))
        page.on("response", lambda r: one.wrong.append(f"{r.status}: {r.url}") if r.status >= 400 else None)
        page.on(
            "request",
            lambda r: (
                None
                if r.url.startswith((address, "data:", "blob:"))
                else one.wrong.append(f"request to elsewhere: {r.url}")
            ),
        )
        made.append((context, one))
        return one

    yield make
    wrong = []
    for context, one in made:
        wrong += one.wrong
        context.close()
    assert not wrong
