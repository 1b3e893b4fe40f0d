"""Hits and entries that a search fills in a shorter way are those that their constructors make."""

import dataclasses
import pickle

import pytest

from septet import Entry, Hit, Vault
from septet.model.entry import entries_of
from septet.model.fields import Span
from septet.model.results import hits_of
from septet.ranking.pool import searched_text

ENTRY = Entry(
    id="a",
    title="b",
    description="d" * 200,
    tags=("c",),
    attrs={"d": 1},
    created_at=2.0,
    span=Span("p", 1, 2),
    parent="q",
    source="r",
    trust="unverified",
)
ROW = (
    7, "a", "entry", "note", "general", "suggestion", "b", "d" * 200, "", '["c"]', '{"d": 1}', "p", 1, 2, 2.0, 0.0,
    None, None, "q", "r", "unverified",
)  # fmt: skip
HIT = Hit(
    id="a", title="b", score=0.5, type="note", domain="general", severity="suggestion", tags=("c",), kind="entry",
    snippet=ENTRY.snippet, token_estimate=ENTRY.token_estimate, tier="project", breakdown={"x": 0.5},
    signals={"x": None}, confidence=0.7, raw={"cosine": None}, entry=ENTRY, parent="q",
    source="r", trust="unverified",
)  # fmt: skip


def filled_entry():
    return entries_of([ROW])[0]


def filled_hit():
    return hits_of([ENTRY], [(0.5, "project", {"x": 0.5}, {"x": None}, 0.7, {"cosine": None})], full=True)[0]


@pytest.mark.parametrize(("made", "fill"), [(ENTRY, filled_entry), (HIT, filled_hit)], ids=["entry", "hit"])
def test_what_is_filled_in_is_what_the_constructor_makes(made, fill):
    filled = fill()
    assert type(filled) is type(made)
    assert filled == made
    assert repr(filled) == repr(made)
    assert filled.to_dict() == made.to_dict()
    assert pickle.loads(pickle.dumps(filled)) == made
    with pytest.raises(dataclasses.FrozenInstanceError):
        filled.title = "other"


@pytest.mark.parametrize("cls", [Entry, Hit])
def test_every_field_is_filled_in(cls):
    filled = filled_entry() if cls is Entry else filled_hit()
    assert all(hasattr(filled, field.name) for field in dataclasses.fields(cls))


def test_tags_with_escapes_come_back_as_they_were_given():
    row = (*ROW[:9], '["a\\"b","c\\\\d"]', *ROW[10:])
    assert entries_of([row])[0].tags == ('a"b', "c\\d")


def test_the_text_legs_see_a_tags_words_and_not_how_json_writes_them():
    stored = '["line\\nbreak","say \\"hi\\""]'
    assert searched_text("t", "d", "c", stored) == 't d c line\nbreak say "hi"'
    # What nothing is escaped in stays as it is: punctuation separates words as well as blanks do.
    assert searched_text("t", "d", "c", '["one","two"]') == 't d c ["one","two"]'


def test_a_row_with_a_field_too_few_or_too_many_is_an_error():
    for wrong in (ROW[1:], (*ROW, None)):
        with pytest.raises(ValueError, match="values to unpack"):
            entries_of([wrong])


def test_light_hits_come_without_the_entry():
    light = hits_of([ENTRY], [(0.5, "project", {}, {}, 0.5, {})], full=False)[0]
    assert light.entry is None
    assert (light.source, light.trust) == ("r", "unverified")
    told = light.to_dict()
    assert (told["source"], told["trust"]) == ("r", "unverified")


@pytest.mark.parametrize("mode", ["full", "scan"])
def test_a_hit_as_a_dict_begins_with_its_id(mode):
    with Vault(":memory:") as vault:
        vault.add(id="a", title="ducks")
        assert next(iter(vault.search("ducks", mode=mode)[0].to_dict().items())) == ("id", "a")
