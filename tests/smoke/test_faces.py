"""The faces, each as a process over the same vault: HTTP, its page in a browser, and MCP."""

import asyncio
import os
import shutil
import sys

import pytest

from septet import Vault
from serving import ask, served

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
TIMEOUT_S = 60


@pytest.fixture
def path(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="retry", title="Retry with backoff", description="Wait longer after each failure.", domain="http")
        vault.add(id="cookies", title="Session cookies expire", description="After an hour.")
    return tmp_path / "v.db"


def test_http_adds_and_finds_an_entry(path):
    with served(path) as (url, _):
        added = ask.post(f"{url}v1/entries", json={"title": "Jitter spreads retries", "id": "jitter"})
        assert added.status_code in (200, 201), added.text
        response = ask.post(f"{url}v1/search", json={"query": "jitter backoff"})
        assert {hit["id"] for hit in response.json()["hits"]} == {"jitter", "retry"}
    with Vault(path) as vault:
        assert vault.get("jitter").title == "Jitter spreads retries"


def test_the_page_shows_the_hits_of_a_search(path):
    if CHROMIUM is None:
        pytest.skip("no chromium: install it (Debian: apt-get install chromium) to test the page")
    playwright = pytest.importorskip("playwright.sync_api")
    with served(path) as (url, _), playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(url)
        page.fill("[data-box]", "backoff failure")
        page.keyboard.press("Enter")
        page.wait_for_selector(".search-view .hit")
        hits = page.locator(".search-view .hit").evaluate_all("hits => hits.map(hit => hit.dataset.id)")
        browser.close()
    assert (hits, errors) == (["retry"], [])


def test_mcp_searches_over_standard_streams(path, tmp_path):
    mcp = pytest.importorskip("mcp")
    from mcp.client.stdio import StdioServerParameters, stdio_client

    async def talk():
        environment = {**os.environ, "HOME": str(tmp_path)}
        arguments = ["-m", "septet", "mcp", "--vault", str(path)]
        server = StdioServerParameters(command=sys.executable, args=arguments, env=environment)
        async with mcp.Client(stdio_client(server)) as client:
            tools = (await client.list_tools()).tools
            return {tool.name for tool in tools}, await client.call_tool("search", {"query": "backoff failure"})

    names, answer = asyncio.run(asyncio.wait_for(talk(), TIMEOUT_S))
    assert "search" in names
    assert "Retry with backoff" in answer.content[0].text
