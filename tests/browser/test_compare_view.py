"""Compare in the inspector page: two profiles side by side, weights on sliders, and the profile as a file."""

from __future__ import annotations

import itertools
import json

import pytest

from commands import Commands
from septet import Vault
from septet.profiles.builtin import BUILTIN

from .conftest import copied

QUERY = "retry cookies"
LEFT, RIGHT = ".moving[aria-label=Left] li", ".moving[aria-label=Right] li"
POST = (
    "async ([path, request]) => (await fetch(path, {method: 'POST', headers: {'content-type': 'application/json'},"
    " body: JSON.stringify(request)})).json()"
)


def ids(page, side=RIGHT):
    return page.locator(side).evaluate_all("rows => rows.map(row => row.dataset.id)")


def ask(page, **request):
    return page.evaluate(POST, ["/v1/search", {"limit": 50, **request}])


def opened(open_page, url, view):
    page = open_page(url, view)
    page.wait_for_selector(RIGHT)
    page.wait_for_selector(".state[data-settled=true]")
    return page


def slid(page, signal, value):
    """Move a slider and wait until the server has been asked."""
    page.locator(f"input[data-signal={signal}]").fill(str(value))
    page.wait_for_selector(".state:has-text('server')[data-settled=true]")


def test_both_sides_are_the_servers_and_lines_join_what_both_have(open_page, url):
    page = opened(open_page, url, f"#compare?q={QUERY}&a=septet&b=seven-signals")
    left, right = (
        [hit["id"] for hit in ask(page, query=QUERY, profile=profile)["hits"]][:15]
        for profile in ("septet", "seven-signals")
    )
    assert ids(page, LEFT) == left and ids(page) == right and left != right
    lines = page.locator(".lines path").evaluate_all("lines => lines.map(line => line.dataset.id)")
    assert sorted(lines) == sorted(set(left) & set(right)) and lines
    ends = page.locator(".lines path").first.get_attribute("d")
    assert ends.startswith("M0 ") and "NaN" not in ends
    page.locator(RIGHT).first.hover()
    page.wait_for_selector(".moved.lighted")
    page.select_option("select[name=b]", "septet")
    page.wait_for_selector(".told:has-text('same hits in the same order')")
    assert "b=septet" in page.evaluate("location.hash")


def test_the_weights_of_a_profile_give_exactly_the_order_of_the_server(page):
    """With the signals of its answers, for every profile and several queries: ids and scores to the last bit."""
    check = """async ([request, vectors]) => {
        const {baseOf, reranked} = await import('/parts/rerank.js');
        const post = async (path, body) => (await fetch(path, {method: 'POST',
            headers: {'content-type': 'application/json'}, body: JSON.stringify(body)})).json();
        const answer = await post('/v1/search', request);
        const own = await post('/v1/weights', {profile: request.profile, vectors});
        const {hits} = reranked(baseOf(answer, own.values), {...own.values});
        const near = (one, other) => Object.entries(one).every(([name, part]) => Math.abs(part - other[name]) < 1e-12);
        const same = (hit, other) =>
            hit.id === other.id && hit.score === other.score && near(hit.breakdown, other.breakdown);
        return {same: hits.every((hit, n) => same(hit, answer.hits[n])), count: hits.length};
    }"""
    vector = [1.0, 0.5, 0.2, 0.1, 0.0, -0.2, 0.3, 0.4]
    for profile, query in itertools.product(BUILTIN, ("retry cookies", "index of a table", "retries of the edge team")):
        for vectors in (False, True):
            request = {"query": query, "profile": profile, "limit": 50, "include_memories": True}
            request |= {"query_vector": vector} if vectors else {}
            found = page.evaluate(check, [request, vectors])
            assert found["count"] and found["same"], (profile, query, vectors)


@pytest.mark.parametrize("vectors", [False, True], ids=["by words", "by vectors too"])
def test_other_weights_rank_here_as_they_do_at_the_server(page, vectors):
    """Where neither smoothing nor links move the signals: in the documented profiles all orders agree."""
    check = """async ([request, weights, vectors]) => {
        const {baseOf, reranked} = await import('/parts/rerank.js');
        const {profileOf} = await import('/parts/profile_file.js');
        const post = async (path, body) => (await fetch(path, {method: 'POST',
            headers: {'content-type': 'application/json'}, body: JSON.stringify(body)})).json();
        const answer = await post('/v1/search', request);
        const own = await post('/v1/weights', {profile: request.profile, vectors});
        const mine = {...own.values, ...weights};
        const here = reranked(baseOf(answer, own.values), mine).hits;
        const profile = profileOf(request.profile, own.row, mine, {still: true});
        const there = (await post('/v1/search', {...request, profile})).hits;
        return {here: here.map(({id, score}) => [id, score]), there: there.map(({id, score}) => [id, score])};
    }"""
    vector = [1.0, 0.5, 0.2, 0.1, 0.0, -0.2, 0.3, 0.4]
    for profile in ("six-signals", "markdown-memory"):
        for value in (0.0, 0.05, 0.6, 1.0):
            moved = {"semantic": value} if profile == "six-signals" else {"text": value or 0.01}
            request = {"query": "retry cookies", "profile": profile, "limit": 100, "min_score": 0.0}
            request |= {"query_vector": vector} if vectors else {}
            found = page.evaluate(check, [request, moved, vectors])
            assert [id for id, _ in found["here"]] == [id for id, _ in found["there"]], (profile, value)
            assert all(abs(a[1] - b[1]) < 1e-9 for a, b in zip(found["here"], found["there"], strict=True))


def test_a_slider_ranks_anew_at_once_and_then_the_server_says_what_it_makes_of_it(open_page, url):
    page = opened(open_page, url, f"#compare?q={QUERY}&b=septet")
    assert "exactly the server's order" in page.locator(".state").inner_text()
    slid(page, "severity", 0.9)
    assert "severity:0.9" in page.evaluate("decodeURIComponent(location.hash)")
    own = page.evaluate(POST, ["/v1/weights", {"profile": "septet", "vectors": False}])
    profile = {
        "extends": "septet",
        "weights": {own["row"]: {**own["values"], "severity": 0.9}},
        "adaptive": {"min_rows": 2**31 - 1},
    }
    assert ids(page) == [hit["id"] for hit in ask(page, query=QUERY, profile=profile)["hits"]][:15]
    address = page.evaluate("location.hash")
    before = ids(page)
    page.reload()
    page.wait_for_selector(".state:has-text('server')[data-settled=true]")
    page.wait_for_function("() => document.querySelector('input[data-signal=severity]').value === '0.9'")
    page.wait_for_selector(".state:has-text('with these weights')")
    assert ids(page) == before and page.evaluate("location.hash") == address
    page.click("text=Reset")
    page.wait_for_function("() => !location.hash.includes('w=')")


def test_sliders_move_by_keys_and_all_zero_is_no_profile(open_page, url):
    page = opened(open_page, url, f"#compare?q={QUERY}&b=seven-signals")
    slider = page.locator("input[data-signal=semantic]")
    slider.focus()
    before = float(slider.input_value())
    page.keyboard.press("ArrowRight")
    assert float(slider.input_value()) > before
    for slider in page.locator("input[type=range]").all():
        slider.fill("0")
    page.wait_for_selector(".state:has-text('no order')")
    assert page.locator("[data-export=TOML]").is_disabled()


def test_the_exported_profile_ranks_so_on_the_command_line(open_page, url, seed, tmp_path, monkeypatch):
    vault, command = copied(seed, tmp_path), Commands(tmp_path, monkeypatch)
    page = opened(open_page, url, f"#compare?q={QUERY}&b=seven-signals")
    slid(page, "severity", 0.5)
    slid(page, "semantic", 0.015)
    shown = ids(page)
    for kind in ("TOML", "JSON"):
        with page.expect_download() as saved:
            page.click(f"[data-export={kind}]")
        assert saved.value.suggested_filename == f"seven-signals-changed.{kind.lower()}"
        file = tmp_path / saved.value.suggested_filename
        saved.value.save_as(file)
        code, told, said = command("search", QUERY, "--profile", str(file), "--limit", "50", "--json")
        assert code == 0, said
        assert [hit["id"] for hit in json.loads(told)["hits"]][:15] == shown, kind
        with Vault(vault) as opened_vault:
            assert opened_vault.weights(profile=file).values["semantic"] == 0.015
