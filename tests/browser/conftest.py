"""A server process, a browser, and pages that fail a test at its end for what went wrong unseen."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from septet import Federation, Vault
from serving import served, serving

from .accessible import accessibility_faults
from .world import ALARM, filled

CI = os.environ.get("CI", "").lower() in ("1", "true")
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
TOKEN = "a-token-of-the-browser-tests"
#: The browser says in these words that a request was answered with an error, which the page shows by itself.
REFUSED = re.compile(r"Failed to load resource: the server responded with a status of 4\d\d")
#: It takes no time where nothing hinders it. A machine that does other things must not fail a test.
WAIT_MS = 30_000
#: Waits until what changed has been drawn, and what follows from its size.
DRAWN = "() => new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))"


@pytest.fixture(scope="package")
def browser():
    if CHROMIUM is None:
        message = "no chromium: install it (Debian: apt-get install chromium) to test the inspector page"
        if CI:
            pytest.fail(message)
        pytest.skip(message)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        # Root and most containers cannot use the sandbox, and no page is opened but our own.
        found = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="package")
def seed(tmp_path_factory):
    """A filled vault that is copied, never opened."""
    path = tmp_path_factory.mktemp("seed") / "v.db"
    filled(path).close()
    return path


def copied(seed, folder):
    return Path(shutil.copy(seed, folder / "v.db"))


@pytest.fixture(scope="package")
def url(seed, tmp_path_factory):
    """A server that all tests share which change nothing."""
    with served(copied(seed, tmp_path_factory.mktemp("shared"))) as (url, _):
        yield url


@pytest.fixture
def own_url(seed, tmp_path):
    """A server for a test that changes entries."""
    with Vault(copied(seed, tmp_path)) as vault, serving(vault) as url:
        yield url


@pytest.fixture(scope="package")
def read_only_url(seed, tmp_path_factory):
    path = copied(seed, tmp_path_factory.mktemp("fixed"))
    with Vault(path, read_only=True) as vault, serving(vault, writable=False) as url:
        yield url


@pytest.fixture
def federation_url(seed, tmp_path):
    with (
        Vault(copied(seed, tmp_path)) as team,
        Vault(tmp_path / "agent.db") as agent,
        Federation({"agent": agent, "team": team}, {"agent": 1.5}) as both,
    ):
        agent.add(id="entry-00", title="Retry never", domain="http", tags=["http"])
        agent.add(id="own", title="Only the agent knows", domain="http")
        agent.link("own", "entry-00")
        with serving(both) as url:
            yield url


@pytest.fixture
def token_url(seed, tmp_path):
    with Vault(copied(seed, tmp_path)) as vault, serving(vault, token=TOKEN) as url:
        yield url


class Eyes:
    """What went wrong in a page: errors, broken rules of the policy, requests that failed or went elsewhere."""

    def __init__(self, page):
        self.page, self.faults, self.expected = page, [], []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.faults.append(f"page error: {error}"))
        page.on("requestfailed", self._failed)
        page.on("request", self._request)
        page.on("response", self._response)
        page.on("dialog", lambda dialog: (self.faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.add_init_script(
            "document.addEventListener('securitypolicyviolation', e => console.error('policy:', e.violatedDirective))"
        )

    def expect(self, *patterns):
        """Let faults be that match a pattern."""
        self.expected += patterns

    def _console(self, message):
        # What is refused is judged by its response, which has the address.
        if message.type in ("error", "warning") and not REFUSED.match(message.text):
            self.faults.append(f"console {message.type}: {message.text}")

    def _failed(self, request):
        if request.failure != "net::ERR_ABORTED":
            self.faults.append(f"request failed: {request.url} {request.failure}")

    def _response(self, response):
        if response.status >= 400:
            self.faults.append(f"answered {response.status}: {response.url}")

    def _request(self, request):
        home, there = urlsplit(self.page.url), urlsplit(request.url)
        if home.netloc and there.scheme not in ("data", "blob") and there.netloc != home.netloc:
            self.faults.append(f"another origin: {request.url}")

    def check(self):
        """Raise what was seen and not expected, and if a script of an entry ran."""
        unexpected = [one for one in self.faults if not any(re.search(own, one) for own in self.expected)]
        assert not unexpected, "\n".join(unexpected)
        assert self.page.evaluate(f"window.{ALARM}") is None, "a script of an entry ran"


@pytest.fixture
def open_page(browser):
    """Open a page at a URL; at the end of the test what went wrong in it fails the test."""
    made = []

    def opening(url, view="", *, width=1280, height=900, theme="light", wait=True):
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=theme, reduced_motion="reduce", locale="en-GB"
        )
        context.set_default_timeout(WAIT_MS)
        page = context.new_page()
        page.eyes = Eyes(page)
        made.append((context, page))
        page.goto(f"{url}{view}")
        if wait:
            page.wait_for_selector("main :is(h1, h2)", state="attached")
        return page

    yield opening
    try:
        for _, page in made:
            if not page.is_closed():
                page.eyes.check()
    finally:
        for context, _ in made:
            context.close()


@pytest.fixture
def page(open_page, url):
    """The page of the shared server."""
    return open_page(url)


@pytest.fixture
def seen(open_page):
    """Look at a view in both themes, wide and narrow: check what all must be able to use.

    Screenshots are kept in the folder that SEPTET_SCREENSHOTS names.
    """
    screenshots = os.environ.get("SEPTET_SCREENSHOTS")

    def look(url, view, name, ready):
        page = open_page(url, view)
        faults = []
        for theme in ("light", "dark"):
            for width in (1280, 360):
                page.emulate_media(color_scheme=theme)
                page.set_viewport_size({"width": width, "height": 900})
                page.wait_for_selector(ready)
                page.wait_for_selector("main :is(.busy, [aria-busy=true])", state="detached")
                page.evaluate(DRAWN)
                if screenshots:
                    page.screenshot(path=Path(screenshots) / f"{name}-{theme}-{width}.png", full_page=True)
                faults += [f"{name}, {theme}, {width} px: {fault}" for fault in accessibility_faults(page)]
        assert not faults, "\n".join(faults)

    return look
