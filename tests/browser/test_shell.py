"""The shell of the page: tabs, keys, themes, the token, a server that is gone."""

from __future__ import annotations

import signal

from .accessible import tab_faults
from .conftest import TOKEN, copied, served


def views(page):
    return page.locator("#tabs a").evaluate_all("tabs => tabs.map(tab => tab.dataset.view)")


def test_every_tab_opens_its_view_and_keeps_its_address(page):
    for view in views(page):
        page.click(f"#tabs a[data-view={view}]")
        page.wait_for_selector(f"#tabs a[data-view={view}][aria-current=page]")
        assert page.evaluate("location.hash").startswith(f"#{view}")
        assert page.title().endswith("Septet")
    page.go_back()
    page.wait_for_selector(f"#tabs a[data-view={views(page)[-2]}][aria-current=page]")


def test_keys_alone_lead_to_every_view(page):
    page.keyboard.press("Escape")
    for number, view in enumerate(views(page), start=1):
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press(str(number))
        page.wait_for_selector(f"#tabs a[data-view={view}][aria-current=page]")
    page.keyboard.press("?")
    page.wait_for_selector("#keys[open]")
    page.keyboard.press("Escape")
    assert page.locator("#keys[open]").count() == 0


def test_the_theme_changes_by_button_and_lasts(page, url):
    page.click("#theme")
    page.click("#theme")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    page.reload()
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"


def test_tab_reaches_every_control_and_shows_where_it_is(page):
    page.wait_for_load_state("networkidle")
    assert tab_faults(page) == []


def test_a_token_is_not_used_where_its_dialog_is_cancelled(open_page, token_url):
    page = open_page(token_url, "#search?q=retry", wait=False)
    page.eyes.expect(r"answered 401")
    page.fill("#token[open] #token-value", TOKEN)
    page.click("#token button:has-text('Cancel')")
    page.wait_for_selector("#foot .fault")
    assert page.evaluate("sessionStorage.getItem('septet-token')") is None


def test_a_server_that_wants_a_token_asks_for_it_once(open_page, token_url):
    page = open_page(token_url, "#search?q=retry", wait=False)
    page.eyes.expect(r"answered 401")
    page.wait_for_selector("#token[open]")
    page.fill("#token-value", "a-token-that-is-wrong")
    page.click("#token button[value=use]")
    page.wait_for_selector("#token[open]")
    page.fill("#token-value", TOKEN)
    page.keyboard.press("Enter")
    page.wait_for_selector("#foot:has-text('entries')")
    page.reload()
    page.wait_for_selector("#foot:has-text('entries')")
    assert page.locator("#token[open]").count() == 0


def test_a_server_that_stopped_is_told_and_nothing_breaks(open_page, seed, tmp_path):
    views = ("#search?q=retry", "#browse", "#browse?id=entry-03", "#health")
    with served(copied(seed, tmp_path)) as (url, process):
        pages = [open_page(url) for _ in views]
        for page in pages:
            page.wait_for_selector("#foot:has-text('entries')")
        process.send_signal(signal.SIGTERM)
        process.wait(20)
        for page, view in zip(pages, views, strict=True):
            page.eyes.expect("ERR_CONNECTION", "Failed to load resource")
            page.evaluate("hash => { location.hash = hash }", view)
            page.wait_for_selector("main .fault:has-text('does not answer')")
