"""Where a result stands in a file, and how much of it is shown."""

import json

import pytest

from septet import Span, Vault
from septet.profiles import resolve

LONG = "".join(f"Line {i} of the duck book 🦆.\n" for i in range(200))


@pytest.fixture
def vault():
    with Vault(":memory:") as made:
        made.add(id="one", title="a duck", description=LONG, span={"path": "a/b.md", "first_line": 7, "last_line": 7})
        made.add(id="many", title="two ducks", description=LONG, span=Span("ä b.md", 5, 20))
        made.add(id="none", title="no file of ducks")
        yield made


def test_hits_and_entries_cite_their_lines_and_none_where_they_have_none(vault):
    wanted = {"one": "a/b.md#L7", "many": "ä b.md#L5-L20", "none": None}
    assert {id: vault.get(id).citation for id in wanted} == wanted
    for mode in ("full", "scan"):
        found = vault.search("duck", mode=mode)
        assert {hit.id: hit.citation for hit in found} == wanted
        assert {row["id"]: row.get("citation") for row in found.to_dict()["hits"]} == wanted


def test_prompts_cite_the_lines_of_whole_and_of_light_hits(vault):
    for mode in ("full", "scan"):
        lines = vault.search("duck", mode=mode).to_prompt(boundary="abcdefgh").split("\n")
        told = [json.loads(line.split(" ", 1)[1]) for line in lines if line.startswith("[")]
        assert {one["id"]: one.get("at") for one in told} == {
            "one": "a/b.md#L7",
            "many": "ä b.md#L5-L20",
            "none": None,
        }


@pytest.mark.parametrize("chars", [1, 24, 25, 26, 120, 700, 4_000, 1_000_000])
def test_a_profile_says_how_much_of_a_text_is_shown_from_its_start(vault, chars):
    profile = {"extends": "septet", "name": "p", "text": {"snippet": "start", "snippet_chars": chars}}
    for mode in ("full", "scan"):
        (hit,) = vault.search("duck", profile=profile, where={"id": "one"}, mode=mode)
        assert hit.snippet == (LONG if len(LONG) <= chars else LONG[:chars] + "...")
        # An emoji is one character, which no cut divides.
        hit.snippet.encode("utf-8")


@pytest.mark.parametrize("chars", [30, 120, 700])
def test_a_profile_says_how_much_is_shown_around_the_best_match(vault, chars):
    text = "x " * 1_000 + "platypus" + " y" * 1_000
    vault.add(id="p", title="odd", description=text)
    profile = {"extends": "septet", "name": "p", "text": {"snippet_chars": chars}}
    for mode in ("full", "scan"):
        (hit,) = vault.search("platypus", profile=profile, mode=mode)
        assert "platypus" in hit.snippet
        assert chars // 2 < len(hit.snippet.strip(".")) <= chars


def test_snippets_are_as_long_as_ever_unless_a_profile_says_otherwise(vault):
    for name in ("septet", "seven-signals", "six-signals"):
        assert resolve(name).text.snippet_chars == 120
        (hit,) = vault.search("duck", profile=name, where={"id": "one"})
        assert len(hit.snippet.strip(".")) <= 120


@pytest.mark.parametrize("limit", [1, 6, 49, 50, 51, 100])
@pytest.mark.parametrize("maximum", [None, 1, 24, 200])
def test_a_leg_takes_no_more_candidates_than_the_profile_allows(limit, maximum):
    cuts = {"factor": 4, "minimum": 1, "maximum": maximum, "limit": 6, "guard_below": 0}
    profile = {"extends": "septet", "name": "p", "cuts": cuts}
    with Vault(":memory:") as vault:
        vault.add_many({"id": f"e{i}", "title": "alpha " * (i + 1)} for i in range(300))
        found = vault.search("alpha", limit=limit, profile=profile)
        told = vault.explain("alpha", found[0].id, limit=limit, profile=profile)
    wanted = 4 * limit if maximum is None else min(maximum, 4 * limit)
    assert told.candidates == wanted
    assert found.tiers[0].candidates == min(wanted, 300)
    assert len(found) == min(limit, wanted)


def test_an_entry_beyond_the_most_candidates_is_told_the_rule():
    profile = {"extends": "septet", "name": "p", "cuts": {"factor": 4, "minimum": 1, "maximum": 3}}
    with Vault(":memory:") as vault:
        vault.add_many({"id": f"e{i}", "title": "alpha " * (9 - i)} for i in range(9))
        last = vault.explain("alpha", "e8", limit=2, profile=profile)
    assert "only the first 3 become candidates (4 x limit, at least 1, at most 3)" in last.reason
