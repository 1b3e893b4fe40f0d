"""The page in the words that people know: labels, keys, errors, and what it says where there is nothing to show."""

from __future__ import annotations

import pytest

from septet import Vault
from serving import serving


def labels(page):
    return page.locator(".search label").all_inner_texts()


@pytest.mark.parametrize("width", [320, 360, 390])
def test_every_view_is_named_on_a_narrow_screen(open_page, url, width):
    page = open_page(url, width=width)
    for tab in page.locator("#tabs a").all():
        box = tab.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width, tab.inner_text()


def test_fields_have_the_names_that_people_know(page):
    page.click(".filters > summary")
    assert {"Mode", "Limit", "Minimum score", "Profile"} <= set(labels(page))


def test_a_slash_leads_to_the_box_and_types_nothing_there(page):
    page.wait_for_selector("[data-box]:focus")
    page.keyboard.press("/")
    assert page.input_value("[data-box]") == ""
    page.keyboard.type("tcp/ip")
    assert page.input_value("[data-box]") == "tcp/ip"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("/")
    page.keyboard.press("/")
    assert page.input_value("[data-box]") == "tcp/ip"


def test_how_well_words_match_is_called_words(open_page, url):
    page = open_page(url, "#search?q=retry&profile=six-signals")
    page.wait_for_selector(".legend")
    assert "Words" in page.locator(".legend").inner_text()
    assert "semantic" not in page.locator("main").inner_text().lower()


def test_an_entry_that_is_not_there_is_told_in_a_sentence(open_page, url):
    page = open_page(url, "#why?q=retry&id=nobody")
    page.eyes.expect(r"answered 404")
    page.wait_for_selector("main .fault[role=alert]")
    assert page.locator("main .fault[role=alert]").first.inner_text() == "There is no entry with the id “nobody”."


def test_nothing_is_called_hybrid_where_there_are_no_vectors(open_page, tmp_path):
    with Vault(tmp_path / "plain.db") as vault:
        vault.add(id="a", title="Ducks swim")
        with serving(vault) as url:
            page = open_page(url, "#search?q=ducks")
            page.wait_for_selector("select[name=leg] option:has-text('no vectors')", state="attached")
            page.wait_for_selector(".hit")
            assert "hybrid" not in page.locator("main").inner_text()
            page.select_option("select[name=leg]", "vector")
            page.wait_for_selector("h2:has-text('There are no vectors')")


def test_an_empty_vault_says_how_to_fill_it(open_page, tmp_path):
    with Vault(tmp_path / "empty.db") as vault, serving(vault) as url:
        page = open_page(url)
        page.wait_for_selector("h2:has-text('The vault is empty')")
        page.fill("[data-box]", "ducks")
        page.wait_for_selector(".results:not(.busy) p:has-text('The vault is empty')")
