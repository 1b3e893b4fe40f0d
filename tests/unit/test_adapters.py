"""What adapters share, and what they say where their package is missing."""

import pytest

from septet import AsyncVault, Entry, QueryError, StoreError, Vault
from septet.adapters.shared import Memory, both, content_of, fields_of_text, where_of_metadata


@pytest.mark.parametrize(
    ("text", "metadata", "title"),
    [
        ("One line", {}, "One line"),
        ("# Heading\n\nText", {}, "Heading"),
        ("Text", {"title": "Given"}, "Given"),
        ("Text", {"title": 7}, "Text"),
        ("Text", {"title": " "}, "Text"),
        ("w" * 300, {}, f"{'w' * 77}..."),
        ("", {}, "the id"),
        (" \n ", {}, "the id"),
    ],
)
def test_a_text_comes_back_whatever_its_title_is(text, metadata, title):
    fields = fields_of_text("the id", text, metadata)
    assert fields["title"] == title
    with Vault(":memory:") as vault:
        vault.add(**fields)
        assert content_of(vault.get("the id")) == text


def test_other_entries_have_title_description_and_context_as_text():
    assert content_of(Entry(id="a", title="T", description="D", context="C")) == "T\n\nD\n\nC"
    assert content_of(Entry(id="a", title="T")) == "T"


def test_filters_on_metadata_are_filters_on_attrs():
    given = {"a": 1, "$or": [{"b": {"$gt": 2}}, {"$not": {"c.d": "x"}}]}
    assert where_of_metadata(given) == {
        "attrs.a": 1,
        "$or": [{"attrs.b": {"$gt": 2}}, {"$not": {"attrs.c.d": "x"}}],
    }
    for wrong in ("a", [1], None, {"$or": ["a"]}):
        with pytest.raises(QueryError, match="wanted a dict"):
            where_of_metadata(wrong)
    assert both(None, {}) is None
    assert both({"a": 1}, None) == {"a": 1}
    assert both({"a": 1}, {"a": 2}) == {"$and": [{"a": 1}, {"a": 2}]}


def test_a_memory_closes_only_what_it_opened(tmp_path):
    memory = Memory(tmp_path / "v.db")
    memory.blocking.add_many([{"title": f"t{n}", "kind": f"k{n % 150}", "valid_until": n + 1.0} for n in range(300)])
    assert len(memory.kinds()) == 150
    assert memory.kinds(as_of=298.5) == ["k148", "k149"]
    memory.close()
    with Vault(tmp_path / "v.db") as vault:
        given = Memory(AsyncVault.of(vault))
        given.close()
        assert given.blocking is vault
        assert len(vault) == 300
    for wrong in (object(), 7, {"search": None}):
        with pytest.raises(StoreError, match="wanted a Vault"):
            Memory(wrong)


def test_what_can_only_be_awaited_is_refused():
    class Awaited:
        async def search(self): ...

        load = add_many = delete = search

    with pytest.raises(StoreError, match="wanted a Vault"):
        Memory(Awaited())
