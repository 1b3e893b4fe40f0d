"""Browse, used as a person would: narrowing down, one entry, its links, changing, forgetting and undoing."""

from __future__ import annotations

from urllib.parse import quote

import httpx
import pytest

from .accessible import tab_faults
from .world import HOSTILE, HUB, ODD_ID

ROWS = ".entries > li[data-id]"


def entry(url, id):
    found = httpx.post(f"{url}v1/load", json={"ids": [id]}).json()["entries"]
    return found[0] if found else None


def ids(page):
    return page.locator(ROWS).evaluate_all("rows => rows.map(row => row.dataset.id)")


def opened(open_page, url, id, more=""):
    page = open_page(url, f"#browse?id={quote(id, safe='')}{more}")
    page.wait_for_selector(".entry-head h1")
    page.wait_for_selector(".later[aria-busy]", state="detached")
    return page


def test_facets_narrow_down_and_chips_take_it_back(open_page, url):
    page = open_page(url, "#browse")
    page.wait_for_selector(ROWS)
    assert page.inner_text(".summary") == "76 entries"
    page.click(".facet-lists a:has-text('decision')")
    page.wait_for_selector(".summary:has-text('25 entries')")
    page.click(".facet-lists a:has-text('sql')")
    page.wait_for_selector(".chosen a:has-text('domain: sql')")
    page.wait_for_selector(".summary:has-text('5 entries'), .summary:has-text('4 entries')")
    assert all(n % 5 == 1 and n % 3 == 2 for n in (int(id.removeprefix("entry-")) for id in ids(page)))
    page.click(".chosen a:has-text('kind: decision')")
    page.wait_for_selector(".summary:has-text('14 entries')")
    page.reload()
    page.wait_for_selector(".summary:has-text('14 entries')")


def test_ages_go_from_months_to_days(open_page, url):
    page = open_page(url, "#browse")
    page.click(".age[title^='Jan 2026']")
    page.wait_for_selector(".chosen a:has-text('Jan 2026')")
    assert page.locator(".age:enabled").count() == page.locator(ROWS).count()
    page.locator(".age:enabled").first.click()
    page.wait_for_selector(".summary:has-text('1 entry')")
    page.go_back()
    page.go_back()
    page.wait_for_selector(".summary:has-text('76 entries')")


def test_pages_follow_each_other_without_gap_or_repeat(open_page, url):
    page = open_page(url, "#browse?order=id+asc")
    seen = []
    while True:
        page.wait_for_selector(ROWS)
        page.wait_for_selector(".listing.busy", state="detached")
        if seen and seen[-1] in ids(page):
            continue
        seen += ids(page)
        if not page.locator(".pages a[rel=next]").count():
            break
        first = ids(page)[0]
        page.click(".pages a[rel=next]")
        page.wait_for_selector(f"{ROWS}[data-id='{first}']", state="detached")
    assert len(seen) == len(set(seen)) == 76
    assert seen == sorted(seen)


def test_words_of_a_title_are_typed_and_keys_alone_open_an_entry(open_page, url):
    page = open_page(url, "#browse")
    page.wait_for_selector(ROWS)
    page.keyboard.press("/")
    page.keyboard.type("cookies (2)")
    page.wait_for_selector(".summary:has-text('2 entries')")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector(".entry-head h1:has-text('Rotate session cookies (2)')")
    assert page.evaluate("document.activeElement.tagName") == "H1"


def test_an_entry_shows_text_facts_links_history_and_what_is_like_it(open_page, url):
    page = opened(open_page, url, "entry-03")
    assert "atomic within one file system" in page.inner_text(".texts")
    assert page.locator(".versions > li").count() == 2
    assert page.inner_text(".versions > li:nth-child(2) ins >> nth=0").strip() == "to a new file,"
    assert page.locator(".graph .node").count() > 4
    assert page.locator(".alike li").count() == 8
    twin = opened(open_page, url, "twin")
    nearest = twin.inner_text(".alike li >> nth=0")
    assert "Rotate session cookies (2)" in nearest
    assert "near-duplicate" in nearest


def test_the_graph_is_walked_by_keys(open_page, url):
    page = opened(open_page, url, "entry-03")
    page.locator(".graph .steps-0").focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.id") == "entry-04"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    left = page.evaluate("document.activeElement.dataset.id")
    assert left in ("entry-02", HUB)
    page.keyboard.press("Enter")
    page.wait_for_selector(f".entry-head .id:has-text('{left}')")


def test_a_hub_is_drawn_in_part_and_says_so(open_page, url):
    page = opened(open_page, url, HUB)
    assert page.locator(".graph .node").count() == 24
    page.wait_for_selector("text=47 more entries are linked")


@pytest.mark.parametrize("id", [HOSTILE, ODD_ID])
def test_odd_and_hostile_entries_are_text_and_nothing_else(open_page, own_url, id):
    page = opened(open_page, own_url, id)
    assert page.inner_text(".entry-head .id") == id
    assert page.locator("main script, main img").count() == 0
    page.click("button:has-text('Edit')")
    page.fill("dialog [name=context]", f"again {HOSTILE}")
    page.click("dialog button:has-text('Save')")
    page.wait_for_selector(".undo:has-text('Saved context')")
    page.wait_for_selector(".versions")
    assert entry(own_url, id)["context"] == f"again {HOSTILE}"


def test_an_edit_is_saved_and_undone(open_page, own_url):
    page = opened(open_page, own_url, "entry-01")
    before = entry(own_url, "entry-01")
    page.click("button:has-text('Edit')")
    page.fill("dialog [name=title]", "Another title")
    page.fill("dialog [name=tags]", "one, two")
    page.fill("dialog [name=attrs]", "{ no json")
    page.click("dialog button:has-text('Save')")
    page.wait_for_selector("dialog .fault:has-text('no JSON yet')")
    page.fill("dialog [name=attrs]", '{"team": "other"}')
    page.keyboard.press("Tab")
    page.click("dialog button:has-text('Save')")
    page.wait_for_selector(".entry-head h1:has-text('Another title')")
    changed = entry(own_url, "entry-01")
    assert (changed["tags"], changed["attrs"]) == (["one", "two"], {"team": "other"})
    page.click(".undo button:has-text('Undo')")
    page.wait_for_selector(".undo:has-text('Put back')")
    page.wait_for_selector(f".entry-head h1:has-text({before['title']!r})")
    after = entry(own_url, "entry-01")
    assert {**after, "updated_at": 0} == {**before, "updated_at": 0}


def test_an_edit_of_what_changed_meanwhile_is_refused(open_page, own_url):
    page = opened(open_page, own_url, "entry-01")
    page.click("button:has-text('Edit')")
    httpx.patch(f"{own_url}v1/entries/entry-01", json={"title": "From elsewhere"})
    page.fill("dialog [name=title]", "From here")
    page.click("dialog button:has-text('Save')")
    page.wait_for_selector("dialog .fault:has-text('Someone else changed this entry')")
    page.keyboard.press("Escape")
    assert entry(own_url, "entry-01")["title"] == "From elsewhere"


def test_what_is_forgotten_comes_back_with_tags_attrs_times_and_links(open_page, own_url):
    before = entry(own_url, "entry-03")
    links = httpx.post(f"{own_url}v1/links/of", json={"id": "entry-03"}).json()["links"]
    page = opened(open_page, own_url, "entry-03")
    page.click("button:has-text('Forget')")
    page.wait_for_selector("dialog:has-text('cannot bring back 2 earlier versions')")
    page.keyboard.press("Escape")
    assert entry(own_url, "entry-03") == before
    page.click("button:has-text('Forget')")
    page.click("dialog button.danger")
    page.wait_for_selector(".undo:has-text('Forgotten')")
    page.wait_for_selector(ROWS)
    assert entry(own_url, "entry-03") is None
    page.click(".undo button:has-text('Undo')")
    page.wait_for_selector(".undo:has-text('Restored, with 3 links')")
    page.wait_for_selector(".entry-head .id:has-text('entry-03')")
    assert entry(own_url, "entry-03") == before
    assert httpx.post(f"{own_url}v1/links/of", json={"id": "entry-03"}).json()["links"] == links


def test_a_memory_is_forgotten_and_restored(open_page, own_url):
    found = httpx.post(f"{own_url}v1/list", json={"where": {"kind": "memory"}}).json()["entries"]
    page = opened(open_page, own_url, found[0]["id"])
    page.click("button:has-text('Forget')")
    page.click("dialog button.danger")
    page.click(".undo button:has-text('Undo')")
    page.wait_for_selector(".undo:has-text('Restored')")
    assert entry(own_url, found[0]["id"]) == found[0]


def test_nothing_can_be_changed_where_the_server_is_for_reading(open_page, read_only_url):
    page = opened(open_page, read_only_url, "entry-03")
    assert page.locator("button:has-text('Edit'), button:has-text('Forget')").count() == 0
    page.wait_for_selector("#foot:has-text('read only')")


def test_an_entry_that_is_not_there_is_said_to_be_so(open_page, url):
    page = open_page(url, "#browse?id=no-such-entry")
    page.wait_for_selector("h1:has-text('There is no such entry')")


def test_tiers_are_browsed_together_and_one_by_one(open_page, federation_url):
    page = open_page(federation_url, "#browse")
    page.wait_for_selector(".summary:has-text('77 entries')")
    page.select_option("select[name=tier]", "agent")
    page.wait_for_selector(".summary:has-text('2 entries')")
    page = opened(open_page, federation_url, "entry-00")
    assert page.inner_text(".entry-head h1") == "Retry never"
    assert page.locator(".entry-head .chip.tier").all_inner_texts() == ["agent", "team"]
    page.click("button:has-text('Forget')")
    page.wait_for_selector("dialog:has-text('1 other tier with the same id keeps its copy')")
    page.click("dialog button.danger")
    page.wait_for_selector(".undo:has-text('Forgotten')")
    page.click(".undo button:has-text('Undo')")
    page.wait_for_selector(".undo:has-text('Restored')")
    page = opened(open_page, federation_url, "entry-00", "&tier=team")
    assert page.inner_text(".entry-head h1") == "Retry with backoff (0)"


@pytest.mark.parametrize("view", ["#browse", "#browse?id=entry-03", "#health"])
def test_tab_reaches_every_control(open_page, url, view):
    page = open_page(url, view)
    page.wait_for_load_state("networkidle")
    assert tab_faults(page) == []
