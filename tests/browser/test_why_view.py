"""Why / why not in the inspector page: what came back, what did not, and the change that brings it back."""

from __future__ import annotations

from .world import ODD_ID

ROWS = ".score-card table.parts tbody tr"


def test_a_hit_is_explained_leg_by_leg_and_signal_by_signal(open_page, url):
    page = open_page(url, "#search?q=retry")
    page.locator(".hit [data-hit]").first.click()
    page.wait_for_selector(".verdict.good:has-text('rank 1')")
    told = page.evaluate(
        "async id => (await fetch('/v1/explain', {method: 'POST', headers: {'content-type': 'application/json'},"
        " body: JSON.stringify({query: 'retry', id})})).json()",
        page.input_value("input[name=id]"),
    )
    assert told["reason"] in page.locator(".verdict").inner_text()
    rows = page.locator(ROWS).all_inner_texts()
    for name, part in told["breakdown"].items():
        assert any(
            row.startswith("Words" if name == "semantic" else name.replace("_", " ")) and f"{part:.3f}" in row
            for row in rows
        ), (name, rows)
    assert f"{told['score']:.4f}" in rows[-1]
    for leg in told["legs"]:
        assert page.locator(".leg", has_text=leg["detail"]).count() == 1
    assert page.locator(".checks li").count() == len(told["filters"])
    assert page.locator(".remedy").count() == 0


def test_an_id_that_did_not_come_back_is_pasted_and_the_change_is_one_click_away(open_page, url):
    page = open_page(url, "#why")
    page.fill(".why-view input[name=q]", "retry")
    page.fill("input[name=id]", "entry-65")
    page.click("summary")
    page.fill(".why-view input[name=domain]", "sql")
    page.wait_for_selector(".verdict.bad")
    page.wait_for_selector(".checks .bad:has-text('domain')")
    page.wait_for_selector(".remedy:has-text('leave out domain')")
    page.click("text=Search with it")
    page.wait_for_selector('.hit[data-id="entry-65"]')
    assert "domain" not in page.evaluate("location.hash")
    page.go_back()
    page.wait_for_selector(".remedy")
    page.click("text=Explain with it")
    page.wait_for_selector(".verdict.good")


def test_keys_alone_find_out_why_not(page):
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("g")
    page.keyboard.press("w")
    page.wait_for_selector(".why-view")
    page.keyboard.press("/")
    page.keyboard.type("cookies zeppelin")
    page.keyboard.press("Tab")
    page.keyboard.type("entry-01")
    page.keyboard.press("Enter")
    page.wait_for_selector(".verdict.bad")
    page.wait_for_selector(".remedy:has-text('It comes back at rank')")


def test_an_id_that_nobody_has_is_told_so(open_page, url):
    page = open_page(url, "#why?q=retry&id=nobody")
    page.eyes.expect("answered 404")
    page.wait_for_selector(".fault:has-text('nobody')")
    page.fill("input[name=id]", ODD_ID)
    page.wait_for_selector(f".verdict:has-text('{ODD_ID}')")
