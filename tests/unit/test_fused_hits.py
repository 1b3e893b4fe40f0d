"""Hits of several lists that are one: what is kept of each, and what is not looked at."""

from dataclasses import replace

from retrieved import hit
from septet import Vault
from septet.model.results import Hit
from septet.retrieval.corpus import Item, RankedList
from septet.retrieval.fusion import changed_hit, merged_hits


def ranked(*hits, name="text", weight=1.0):
    return RankedList(name, "notes", [Item(one.id, one) for one in hits], weight)


def test_a_changed_hit_differs_in_what_was_changed_alone():
    one = hit("a", 0.5, description="text")
    other = changed_hit(one, score=2.0, tier="web")
    assert type(other) is Hit and other == replace(one, score=2.0, tier="web")
    assert one.score == 0.5 and one.tier == "notes"


def test_the_passage_of_a_hit_is_not_looked_for_until_it_is_asked_for():
    with Vault(":memory:") as vault:
        vault.add(title="Token", description="x " * 200 + "the token refresh " + "y " * 200)
        found = vault.search("token refresh")[0]
    changed = changed_hit(found, score=3.0)
    assert not is_made(found) and not is_made(changed)
    assert "token refresh" in changed.snippet and changed.matches == found.matches
    assert is_made(changed) and is_made(changed_hit(changed))


def is_made(one):
    try:
        object.__getattribute__(one, "snippet")
    except AttributeError:
        return False
    return True


def test_the_entry_that_was_changed_last_is_kept_whichever_came_first():
    old, new = hit("a", updated_at=1.0, title="old"), hit("a", updated_at=2.0, title="new")
    assert merged_hits(old, new).title == merged_hits(new, old).title == "new"
    assert merged_hits(old, old) is old
    again = hit("a", updated_at=1.0, title="old", tier="web")
    assert merged_hits(old, again).tier == "notes"


def test_what_one_list_does_not_know_the_other_tells():
    words = changed_hit(hit("a", source=None), raw={"bm25": 2.0, "cosine": None}, confidence=0.2)
    near = changed_hit(hit("a", source="mail"), raw={"bm25": None, "cosine": 0.5}, confidence=0.7)
    for one, other in ((words, near), (near, words)):
        both = merged_hits(one, other)
        assert both.raw == {"bm25": 2.0, "cosine": 0.5}
        assert both.confidence == 0.7 and both.source == "mail"


def test_an_empty_passage_is_filled_from_the_other_list():
    bare = changed_hit(hit("a"), entry=None, snippet="")
    told = hit("a", description="the text of it")
    both = merged_hits(bare, told)
    assert both.snippet == "the text of it" and both.entry == told.entry
    assert merged_hits(told, bare) is told
