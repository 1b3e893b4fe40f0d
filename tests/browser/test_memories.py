"""Memories, as their owner looks at them: captured, told, superseded; edited, forgotten, exported."""

from __future__ import annotations

import httpx
import pytest

from hooked import Hooked, transcript
from septet import Vault
from septet.hooks.keeping import sync_transcript
from serving import serving

from .accessible import tab_faults
from .world import HOSTILE

ROWS = ".captured > li[data-id]"
TURNS = (
    ("user", "The staging database is called hokusai", "2026-05-01T10:00:00Z"),
    ("assistant", "Noted: hokusai is the staging database.", "2026-05-01T10:00:05Z"),
)


@pytest.fixture
def hooked(tmp_path, monkeypatch):
    """A user with memories, a conversation, a superseded fact, and two sessions that were told something."""
    user = Hooked(tmp_path, monkeypatch)
    user.knows("Ann reviews changes of the payment service", id="payments", topics=["review"], source="mcp")
    user.knows("Deploys are on Tuesdays", id="tuesdays", created_at=1_770_000_000.0)
    user.knows(f"Hostile {HOSTILE}", id="hostile", details=HOSTILE, topics=[HOSTILE], source=HOSTILE)
    sync_transcript(str(user.vault), str(transcript(user.transcript, TURNS)))
    assert user.prompt("who reviews the payment service?", session="first")
    assert user.prompt("on which day are deploys?", session="first")
    assert user.prompt("who reviews the payment service?", session="second")
    with Vault(user.vault) as vault:
        vault.update("tuesdays", description="of each week")
        vault.supersede("tuesdays", {"id": "wednesdays", "title": "Deploys are on Wednesdays"}, f"moved {HOSTILE}")
    return user


@pytest.fixture
def own(hooked):
    """The URL of a server of this user's vault."""
    with Vault(hooked.vault) as vault, serving(vault) as url:
        yield url


def opened(open_page, url, more=""):
    page = open_page(url, f"#memories{more}")
    page.wait_for_selector("main .busy", state="detached")
    return page


def titles(page):
    return page.locator(f"{ROWS} [data-entry]").all_inner_texts()


def test_what_was_captured_is_shown_by_day_and_session_with_who_said_it(open_page, own):
    page = opened(open_page, own)
    page.wait_for_selector(".summary:has-text('6 captured')")
    days = page.locator(".day > h2").all_inner_texts()
    assert days[1:] == ["1 May 2026", "2 Feb 2026"]
    assert titles(page)[-3:] == [
        "Assistant: Noted: hokusai is the staging database.",
        "User: The staging database is called hokusai",
        "Deploys are on Tuesdays",
    ]
    turn = page.locator(ROWS).nth(4)
    assert turn.locator(".chip.role").inner_text() == "user"
    assert turn.locator(".chip.unverified").count() == 1
    assert "by claude/projects/app" in turn.inner_text()
    assert "Session abc123" in page.inner_text(".day:nth-child(2)")
    assert "by mcp" in page.inner_text(f"{ROWS}[data-id=payments]")
    assert "superseded or expired" in page.inner_text(f"{ROWS}[data-id=tuesdays]")


def test_session_trust_words_and_kind_narrow_down(open_page, own):
    page = opened(open_page, own)
    for name, value, count in (
        ("session", "abc", 2),
        ("session", "", 6),
        ("words", "hokusai", 2),
        ("words", "", 6),
    ):
        page.fill(f"[name={name}]", value)
        page.wait_for_selector(f".summary:text-is('{count} captured')")
    for name, value, count in (("kind", "memory", 4), ("kind", "turn", 2), ("kind", "assistant", 1), ("kind", "", 6)):
        page.select_option(f"[name={name}]", value)
        page.wait_for_selector(f".summary:text-is('{count} captured')")
    page.select_option("[name=trust]", "trusted")
    page.wait_for_selector(".summary:text-is('1 captured')")
    assert titles(page) == ["Deploys are on Wednesdays"]
    page.select_option("[name=trust]", "untrusted")
    page.wait_for_selector(".summary:has-text('Nothing fits.')")
    page.click("text=Show all")
    page.wait_for_selector(".summary:text-is('6 captured')")


def test_pages_of_many_memories_follow_each_other(open_page, hooked):
    with Vault(hooked.vault) as vault:
        for n in range(30):
            vault.remember(f"Fact number {n}", created_at=1_760_000_000.0 + n)
        with serving(vault) as url:
            page = opened(open_page, url)
            assert page.locator(ROWS).count() == 25
            page.click(".pages a[rel=next]")
            page.wait_for_selector(".summary:has-text('further on')")
            assert titles(page)[-1] == "Fact number 0"
            assert page.locator(ROWS).count() == 11


def test_what_was_told_to_each_session_is_shown_as_it_is_now(open_page, own):
    httpx.post(f"{own}v1/forget", json={"ids": ["payments"]})
    page = opened(open_page, own, "?part=told")
    assert "forgotten 14 days after" in page.inner_text(".memories-view")
    assert page.locator("h2 .mono").all_inner_texts() == ["second", "first"]
    first = page.locator(".card").nth(1)
    assert "claude-code" in first.inner_text()
    assert first.locator(".calls > li").count() == 2
    assert "payments forgotten" in first.locator(".calls > li").nth(0).inner_text()
    assert "Deploys are on Tuesdays superseded or expired" in first.locator(".calls > li").nth(1).inner_text()
    page.click("text=Deploys are on Tuesdays")
    page.wait_for_selector(".entry-head .id:has-text('tuesdays')")


def test_a_session_leads_from_what_it_captured_to_what_it_was_told_and_back(open_page, own):
    page = opened(open_page, own)
    page.click("a:has-text('what it was told')")
    page.wait_for_selector("text=This session was told nothing from here")
    page.click("text=All sessions")
    page.wait_for_selector("h2:has-text('first')")
    page.click("a:has-text('what was captured in it') >> nth=0")
    page.wait_for_selector(".summary:has-text('Nothing fits.')")


def test_a_superseded_fact_stands_beside_the_new_one_with_reason_and_history(open_page, own):
    page = opened(open_page, own, "?part=superseded")
    assert page.locator(".card").count() == 1
    old, new = page.locator(".beside article").all_inner_texts()
    assert "Deploys are on Tuesdays" in old and "valid from 2026-02-02" in old
    assert "Deploys are on Wednesdays" in new
    assert f"Reason: moved {HOSTILE}" in page.inner_text(".card")
    assert page.inner_text(".changes ins >> nth=0") == "Wednesdays"
    page.click("summary:has-text('Earlier versions') >> nth=0")
    page.wait_for_selector(".versions ins:has-text('of each week')")


def test_a_memory_is_edited_and_forgotten_and_both_are_undone(open_page, own):
    page = opened(open_page, own)
    row = f"{ROWS}[data-id=payments]"
    before = httpx.post(f"{own}v1/load", json={"ids": ["payments"]}).json()["entries"]
    page.click(f"{row} button:has-text('Edit')")
    page.fill("dialog [name=title]", "Bob reviews them")
    page.click("dialog button:has-text('Save')")
    page.wait_for_selector(f"{row}:has-text('Bob reviews them')")
    page.click(".undo button:has-text('Undo')")
    page.wait_for_selector(f"{row}:has-text('Ann reviews')")
    page.click(f"{row} button:has-text('Forget')")
    page.click("dialog button.danger")
    page.wait_for_selector(row, state="detached")
    page.wait_for_selector(".summary:text-is('5 captured')")
    page.click(".undo button:has-text('Undo')")
    page.wait_for_selector(row)
    after = httpx.post(f"{own}v1/load", json={"ids": ["payments"]}).json()["entries"]
    assert [{**entry, "updated_at": 0} for entry in after] == [{**entry, "updated_at": 0} for entry in before]


def test_an_undo_overwrites_nothing_that_another_program_wrote(open_page, own):
    page = opened(open_page, own)
    row = f"{ROWS}[data-id=payments]"
    page.click(f"{row} button:has-text('Edit')")
    page.fill("dialog [name=title]", "Bob reviews them")
    page.click("dialog button:has-text('Save')")
    page.wait_for_selector(f"{row}:has-text('Bob reviews them')")
    httpx.patch(f"{own}v1/entries/payments", json={"title": "Eve reviews them"})
    page.click(".undo button:has-text('Undo')")
    page.wait_for_selector(".undo:has-text('Someone else changed this entry: nothing was undone.')")
    page.reload()
    page.click(f"{row} button:has-text('Forget')")
    page.click("dialog button.danger")
    page.wait_for_selector(row, state="detached")
    httpx.post(f"{own}v1/entries", json={"id": "payments", "title": "Flo reviews them"})
    page.click(".undo button:has-text('Undo')")
    page.wait_for_selector(".undo:has-text('Another entry has this id now: nothing was undone.')")
    assert httpx.get(f"{own}v1/entries/payments").json()["title"] == "Flo reviews them"


def test_an_old_fact_whose_new_one_was_forgotten_is_not_said_to_have_expired_alone(open_page, own):
    httpx.post(f"{own}v1/forget", json={"ids": ["wednesdays"]})
    page = opened(open_page, own, "?part=superseded")
    page.wait_for_selector("text=it expired, or the new one was forgotten")


@pytest.mark.parametrize(("kind", "ids"), [("memory", {"payments", "hostile", "tuesdays", "wednesdays"}), ("", None)])
def test_an_export_imported_gives_the_same_memories_back(open_page, own, hooked, tmp_path, kind, ids):
    page = opened(open_page, own, f"?kind={kind}")
    with page.expect_download() as begun:
        page.click("button:has-text('Export')")
    path = tmp_path / begun.value.suggested_filename
    begun.value.save_as(path)
    page.wait_for_selector(".undo:has-text('Exported')")
    whole = httpx.get(f"{own}v1/export").text.splitlines()
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines == [line for line in whole if line in set(lines)], "the lines of septet export, in their order"
    with Vault(tmp_path / "again.db") as again, Vault(hooked.vault) as vault:
        again.import_(path)
        kept = {entry.id: entry for entry in vault.entries(limit=100)}
        assert {entry.id: entry for entry in again.entries(limit=100)} == {
            id: entry for id, entry in kept.items() if ids is None or id in ids
        }
        assert again.links("tuesdays") == vault.links("tuesdays") != []


def test_a_part_of_a_transcript_is_said_to_come_from_a_file(open_page, own):
    page = opened(open_page, own, "?kind=user")
    page.click(f"{ROWS} button:has-text('Forget')")
    page.wait_for_selector("dialog .note:has-text('a part of the file abc123.jsonl')")
    page.keyboard.press("Escape")
    assert page.locator(ROWS).count() == 1


def test_an_export_that_breaks_off_saves_nothing(open_page, own):
    page = opened(open_page, own)
    page.eyes.expect("another origin", "ERR_", "Failed to load")
    whole = httpx.get(f"{own}v1/export").text
    page.route("**/v1/export", lambda route: route.fulfill(body=whole[:-20]))
    page.on("download", lambda _: pytest.fail("a broken export was saved"))
    page.click("button:has-text('Export')")
    page.wait_for_selector(".undo:has-text('Not exported. The export broke off.')")


def test_hostile_memories_are_text_and_nothing_else(open_page, own):
    for part in ("", "?part=told", "?part=superseded"):
        page = opened(open_page, own, part)
        assert page.locator("main script, main img").count() == 0
    page = opened(open_page, own)
    assert HOSTILE in page.inner_text(f"{ROWS}[data-id=hostile]")


def test_nothing_can_be_changed_where_the_server_is_for_reading(open_page, hooked):
    with Vault(hooked.vault, read_only=True) as vault, serving(vault, writable=False) as url:
        page = opened(open_page, url)
        assert page.locator(f"{ROWS} button").count() == 0
        assert page.locator("button:has-text('Export')").is_enabled()


def test_nothing_can_be_changed_with_a_token_for_reading(open_page, hooked):
    tokens = {"a-token-for-reading": "read"}
    with Vault(hooked.vault) as vault, serving(vault, token="a-token-for-everything", tokens=tokens) as url:
        page = open_page(url, "#memories", wait=False)
        page.eyes.expect(r"answered 401")
        page.fill("#token[open] #token-value", "a-token-for-reading")
        page.keyboard.press("Enter")
        page.wait_for_selector(ROWS)
        assert page.locator(f"{ROWS} button").count() == 0


def test_a_vault_without_sessions_says_so(open_page, url):
    page = opened(open_page, url, "?part=told")
    page.wait_for_selector("text=No session was told anything from here yet.")


def test_tiers_are_seen_together(open_page, federation_url):
    page = opened(open_page, federation_url)
    page.wait_for_selector(".summary:text-is('2 captured')")
    page.click(f"{ROWS} button:has-text('Forget') >> nth=0")
    page.click("dialog button.danger")
    page.wait_for_selector(".summary:text-is('1 captured')")


def test_keys_alone_lead_through_the_memories(open_page, own):
    page = opened(open_page, own)
    page.wait_for_selector(ROWS)
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.closest('li').dataset.id") == page.locator(ROWS).nth(1).get_attribute(
        "data-id"
    )
    page.keyboard.press("Enter")
    page.wait_for_selector(".entry-head h1")
    page.keyboard.press("g")
    page.keyboard.press("m")
    page.wait_for_selector(ROWS)
    # The rows are those from before, until the list is read again.
    page.wait_for_selector("main .busy", state="detached")
    assert tab_faults(page) == []


@pytest.mark.parametrize("part", ["captured", "told", "superseded"])
def test_a_part_is_good_for_all(seen, own, part):
    ready = {"captured": ROWS, "told": ".calls > li", "superseded": ".beside article"}[part]
    seen(own, f"#memories?part={part}", f"memories-{part}", ready)
