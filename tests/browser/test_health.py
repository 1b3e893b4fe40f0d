"""Health: progress, sizes, learned weights, slow searches, and looking again without flicker."""

from __future__ import annotations

import signal

import httpx

from septet import Vault
from serving import serving

from .conftest import copied, served


def test_what_fills_what_it_weighs_and_what_was_learned_is_shown(open_page, url):
    page = open_page(url, "#health")
    page.wait_for_selector(".plot")
    assert page.inner_text(".tiles div:has-text('Entries') dd") == "76"
    assert page.get_attribute(".progress", "aria-valuenow") == str(62 * 100 // 76)
    assert "60 feedback rows" in page.inner_text(".health-view")
    assert page.locator(".plot .weight").count() == 7
    page.click("summary:has-text('As a table')")
    assert page.locator(".health-view details tbody tr").count() == 30


def test_slow_searches_are_told_without_their_words_unless_asked_for(open_page, seed, tmp_path):
    with Vault(copied(seed, tmp_path)) as vault:
        for log_queries in (False, True):
            with serving(vault, log_queries=log_queries) as url:
                httpx.post(f"{url}v1/search", json={"query": "a secret question"})
                page = open_page(url, "#health")
                page.wait_for_selector(".slow tbody tr")
                assert ("a secret question" in page.inner_text(".slow")) is log_queries
                assert ("17 characters" in page.inner_text(".slow")) is not log_queries
                page.eyes.check()
                page.context.close()


def test_it_looks_again_by_itself_touches_only_what_changed_and_can_be_paused(open_page, own_url):
    page = open_page(own_url)
    page.clock.install()
    page.goto(f"{own_url}#health")
    page.wait_for_selector(".plot")
    page.evaluate("document.querySelector('.plot').dataset.kept = 'yes'")
    httpx.post(f"{own_url}v1/entries", json={"title": "One more"})
    page.clock.run_for(5_000)
    page.wait_for_selector(".tiles div:has-text('Entries') dd:has-text('77')")
    assert page.locator(".plot[data-kept]").count() == 1
    page.click("button:has-text('Pause')")
    httpx.post(f"{own_url}v1/entries", json={"title": "And another"})
    page.clock.run_for(30_000)
    page.wait_for_load_state("networkidle")
    assert page.inner_text(".tiles div:has-text('Entries') dd") == "77"
    page.click("button:has-text('Go on')")
    page.wait_for_selector(".tiles div:has-text('Entries') dd:has-text('78')")


def test_a_server_that_goes_away_is_told_and_what_was_seen_stays(open_page, seed, tmp_path):
    with served(copied(seed, tmp_path)) as (url, process):
        page = open_page(url)
        page.clock.install()
        page.goto(f"{url}#health")
        page.wait_for_selector(".plot")
        page.eyes.expect("ERR_CONNECTION", "Failed to load resource")
        process.send_signal(signal.SIGTERM)
        process.wait(20)
        page.clock.run_for(5_000)
        page.wait_for_selector(".health-view .fault:has-text('does not answer')")
        assert page.locator(".plot").count() == 1


def test_each_tier_has_its_card_and_its_feedback(open_page, federation_url):
    page = open_page(federation_url, "#health")
    page.wait_for_selector(".tier-health")
    assert page.locator(".tier-health h2").all_inner_texts() == ["Tier agent", "Tier team"]
    page.select_option(".health-view select", "agent")
    page.wait_for_selector("text=No feedback yet")
    page.select_option(".health-view select", "team")
    page.wait_for_selector(".plot")


def test_folders_and_an_empty_vault(open_page, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "one.md").write_text("# One\n\nA note.\n")
    with Vault(tmp_path / "v.db") as vault, serving(vault) as url:
        page = open_page(url, "#health")
        page.wait_for_selector("text=No feedback yet")
        vault.sync(tmp_path / "notes")
        (tmp_path / "notes" / "two.md").write_text("# Two\n")
        page.reload()
        page.wait_for_selector("text=not in sync")
        assert page.inner_text(".tier-health tbody td >> nth=2") == "1"
