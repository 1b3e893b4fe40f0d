"""Search in the inspector page, used as a person does: typing, keys, filters, pages, bars, and what goes wrong."""

from __future__ import annotations

import json

from septet import Vault
from serving import serving

from .world import ALARM, HOSTILE

HITS = ".search-view .hit"
LINKS = f"{HITS} [data-hit]"


def ids(page):
    return page.locator(HITS).evaluate_all("hits => hits.map(hit => hit.dataset.id)")


def typed(page, words):
    """Type words into the box and wait for their hits."""
    page.fill("[data-box]", "")
    with page.expect_response("**/v1/search"):
        page.keyboard.type(words)
    page.wait_for_selector(".search-view .results:not(.busy)")
    page.wait_for_function("wanted => location.hash.includes(`q=${wanted}`)", arg=words.replace(" ", "+"))


def answer(page, **request):
    """Ask the server what the page asks it."""
    return page.evaluate(
        "async request => (await fetch('/v1/search', {method: 'POST', headers: {'content-type': 'application/json'},"
        " body: JSON.stringify(request)})).json()",
        request,
    )


def test_words_that_are_typed_are_searched_for_and_the_address_says_so(page):
    page.wait_for_selector("[data-box]:focus")
    typed(page, "retry backoff")
    page.wait_for_selector(HITS)
    assert ids(page) == [hit["id"] for hit in answer(page, query="retry backoff")["hits"]]
    assert page.locator(f"{HITS} mark").first.inner_text().lower() in ("retry", "backoff")
    assert "retry backoff" in page.title()
    page.reload()
    page.wait_for_selector(HITS)
    assert page.input_value("[data-box]") == "retry backoff"


def test_only_the_last_of_many_words_typed_fast_is_shown(page):
    page.wait_for_selector("[data-box]:focus")
    for words in ("rename", "cookies", "index lookups"):
        page.fill("[data-box]", words)
        page.keyboard.press("Enter")
    page.wait_for_selector(".search-view .results:not(.busy)")
    page.wait_for_function(
        "wanted => [...document.querySelectorAll('.search-view .hit')].map(hit => hit.dataset.id).join() === wanted",
        arg=",".join(hit["id"] for hit in answer(page, query="index lookups")["hits"]),
    )


def test_keys_go_through_the_hits_and_enter_asks_why(open_page, url):
    page = open_page(url, "#search?q=retry")
    page.wait_for_selector(HITS)
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("/")
    page.wait_for_selector("[data-box]:focus")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    second = ids(page)[1]
    assert page.evaluate("document.activeElement.closest('.hit').dataset.id") == second
    page.keyboard.press("Enter")
    page.wait_for_selector(".why-view .verdict")
    assert page.input_value("input[name=id]") == second
    page.go_back()
    page.wait_for_selector(HITS)


def test_a_bar_says_what_a_score_is_made_of_to_eyes_and_ears(open_page, url):
    page = open_page(url, "#search?q=retry")
    bar = page.locator(f"{HITS} .bar").first
    hit = answer(page, query="retry")["hits"][0]
    label = bar.get_attribute("aria-label")
    assert label.startswith(f"Score {hit['score']:.3f}: ")
    for name, part in hit["breakdown"].items():
        called = "Words" if name == "semantic" else name.replace("_", " ")
        assert (f"{called} {part:.3f}" in label) == (part > 0)
    widths = bar.locator(".part").evaluate_all("parts => parts.map(part => part.getBoundingClientRect().width)")
    whole = bar.bounding_box()["width"]
    wanted = [part / hit["score"] * whole for part in hit["breakdown"].values() if part > 0]
    assert all(abs(a - b) < 1.5 for a, b in zip(widths, wanted, strict=True))
    bar.focus()
    table = page.locator(".values table")
    assert f"{hit['score']:.4f}" in table.inner_text()
    page.keyboard.press("Escape")
    assert table.count() == 0
    bar.hover()
    table.wait_for()


def test_filters_ways_and_facets_narrow_the_search(open_page, url):
    page = open_page(url, "#search?q=retry cookies index")
    page.wait_for_selector(HITS)
    page.locator(".facet button", has_text="sql").click()
    page.wait_for_function("() => location.hash.includes('domain=sql')")
    page.wait_for_selector(".facet button[aria-pressed=true]:has-text('sql')")
    assert all(
        hit["entry"]["domain"] == "sql" for hit in answer(page, query="retry cookies index", domain="sql")["hits"]
    )
    assert page.locator(f"{HITS} .chip", has_text="sql").count() >= len(ids(page))
    page.click("summary")
    page.fill("input[name=where]", '{"attrs.team": "core"')
    page.wait_for_selector("input[name=where][aria-invalid]")
    page.keyboard.press("End")
    page.keyboard.type("}")
    page.wait_for_selector("input[name=where]:not([aria-invalid])")
    page.wait_for_selector(".search-view .results:not(.busy)")
    wanted = answer(page, query="retry cookies index", domain="sql", where={"attrs.team": "core"})
    page.wait_for_function("n => document.querySelectorAll('.search-view .hit').length === n", arg=len(wanted["hits"]))
    page.select_option("select[name=mode]", "scan")
    page.wait_for_function("() => location.hash.includes('mode=scan')")
    page.wait_for_function("() => !document.querySelector('.search-view .hit .bar')")
    page.select_option("select[name=profile]", "seven-signals")
    page.wait_for_selector(".beside:has-text('profile seven-signals')")
    assert "3 on" in page.locator("summary").inner_text() or "2 on" in page.locator("summary").inner_text()


def test_memories_come_when_they_are_asked_for(open_page, url):
    page = open_page(url, "#search?q=Tuesdays")
    page.wait_for_selector(".results .empty")
    page.click("summary")
    page.check("input[name=memories]")
    page.wait_for_selector(f"{HITS} .chip:has-text('memory')")
    assert page.evaluate("location.hash").endswith("memories=1")


def test_pages_follow_each_other(open_page, url):
    page = open_page(url, "#search?q=retry&limit=10")
    page.wait_for_selector(HITS)
    first = ids(page)
    page.click("a[rel=next]")
    page.wait_for_selector(".summary:has-text('11')")
    second = ids(page)
    assert second and not set(first) & set(second)
    assert page.locator(f"{HITS} .rank").first.inner_text() == "11"
    page.click("a[rel=prev]")
    page.wait_for_selector(".summary:has-text('1–10')")
    assert ids(page) == first


def test_stages_and_notes_are_shown(open_page, url):
    page = open_page(url, "#search?q=rettry")
    page.wait_for_selector(".note:has-text('did_you_mean')")
    stages = page.locator(".timings li").all_inner_texts()
    assert any(line.startswith("recall") for line in stages) and stages[-1].startswith("search")


def test_entries_with_scripts_are_text(open_page, url):
    page = open_page(url, "#search?q=hostile")
    page.wait_for_selector(HITS)
    assert HOSTILE in page.locator(LINKS).first.inner_text()
    page.locator(LINKS).first.click()
    page.wait_for_selector(".why-view .verdict")
    assert page.input_value("input[name=id]") == HOSTILE
    assert page.evaluate(f"window.{ALARM}") is None and page.locator("main img, main script").count() == 0


def test_an_empty_vault_says_that_there_is_nothing(open_page, tmp_path):
    with Vault(tmp_path / "v.db") as vault, serving(vault) as url:
        page = open_page(url, "#search?q=anything")
        page.wait_for_selector("h2:has-text('Nothing found')")
        page.click("text=Ask why it is not")
        page.wait_for_selector(".why-view")


def test_what_the_server_refuses_is_told_and_the_next_search_works(open_page, url):
    page = open_page(url, "#search?" + "q=retry&where=" + json.dumps({"nonsense": 1}).replace('"', "%22"))
    page.eyes.expect("answered 422")
    page.wait_for_selector("[role=alert]:has-text('nonsense')")
    page.click("summary")
    page.fill("input[name=where]", "")
    page.wait_for_selector(HITS)
