"""Entries say where their text comes from and whether it may be relied on, and filters know both."""

import io
import itertools
import json

import pytest

from septet import Entry, EntryError, QueryError, Vault
from septet.model.entry import TRUSTS

PLAIN = {"id": "plain", "title": "A word from a file"}


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: 1_000.0) as made:
        yield made


def test_what_a_program_adds_is_trusted_and_without_a_source_unless_it_says_otherwise(vault):
    vault.add(id="own", title="word")
    vault.add(id="page", title="word", source="https://example.org/a?b", trust="untrusted")
    vault.remember("word", id="told", source="user", trust="unverified")
    found = {e.id: (e.source, e.trust) for e in vault.load(["own", "page", "told"])}
    assert found == {
        "own": (None, "trusted"),
        "page": ("https://example.org/a?b", "untrusted"),
        "told": ("user", "unverified"),
    }
    assert vault.search("word").hits[0].entry.trust in TRUSTS


def test_an_update_changes_both_and_leaves_them_alone_when_it_names_neither(vault):
    vault.add(id="a", title="word", source="agent", trust="unverified")
    assert vault.update("a", title="words").trust == "unverified"
    changed = vault.update("a", trust="trusted", source=None)
    assert (changed.trust, changed.source) == ("trusted", None) == (vault.get("a").trust, vault.get("a").source)


def test_parts_of_a_split_text_come_from_where_it_comes_from(vault):
    vault.add(id="doc", title="t", description="word " * 60, split=20, source="user", trust="unverified")
    assert {(e.source, e.trust) for e in vault.load(["doc", "doc#1", "doc#2", "doc#3"])} == {("user", "unverified")}


def test_nobody_vouches_for_a_memory_unless_it_is_said_and_what_is_said_stays(vault):
    said, vouched = vault.remember("the lamp is blue"), vault.remember("the door is red", trust="trusted")
    assert [vault.get(one).trust for one in (said, vouched)] == ["unverified", "trusted"]
    vault.remember("the door is red", topics=["door"])
    assert vault.get(vouched).trust == "trusted" and vault.get(vouched).tags == ("door",)
    vault.remember("the lamp is blue", trust="trusted")
    assert vault.get(said).trust == "trusted"


def test_filters_know_the_order_of_trust(vault):
    vault.add_many({"id": trust, "title": "word", "trust": trust} for trust in TRUSTS)
    order = {"$lt": int.__lt__, "$lte": int.__le__, "$gt": int.__gt__, "$gte": int.__ge__}
    order |= {"$eq": int.__eq__, "$ne": int.__ne__}
    for (name, passes), level in itertools.product(order.items(), TRUSTS):
        wanted = {t for t in TRUSTS if passes(TRUSTS.index(t), TRUSTS.index(level))}
        assert set(vault.search("word", where={"trust": {name: level}}).ids) == wanted, (name, level)
        assert set(vault.search("word", where={"$not": {"trust": {name: level}}}).ids) == set(TRUSTS) - wanted
    for wrong in ("good", 1, None):
        with pytest.raises(QueryError, match="trust"):
            vault.search("word", where={"trust": {"$gte": wrong}})


def test_filters_find_sources(vault):
    vault.add(id="a", title="word", source="import:a.jsonl")
    vault.add(id="b", title="word", source="import:b.jsonl")
    vault.add(id="c", title="word")
    assert vault.search("word", where={"source": "import:a.jsonl"}).ids == ["a"]
    assert set(vault.search("word", where={"source": {"$contains": "import:"}}).ids) == {"a", "b"}
    assert vault.search("word", where={"source": {"$exists": False}}).ids == ["c"]


@pytest.mark.parametrize("value", ["", "  ", "a\nb", 5, "x" * 4_097, "\ud800"])
def test_a_source_is_a_line_of_text(vault, value):
    with pytest.raises(EntryError, match="source"):
        vault.add(title="t", source=value)
    assert len(vault) == 0


@pytest.mark.parametrize("value", ["", "Trusted", 1, True, ["trusted"]])
def test_trust_has_three_levels(vault, value):
    with pytest.raises(EntryError, match="untrusted, unverified, trusted"):
        vault.add(title="t", trust=value)
    assert len(vault) == 0


def test_a_dict_of_an_entry_says_its_trust_and_its_source_if_it_has_one():
    assert Entry(id="a", title="t").to_dict()["trust"] == "trusted"
    assert "source" not in Entry(id="a", title="t").to_dict()
    assert Entry(id="a", title="t", source="user").to_dict()["source"] == "user"


def test_an_export_comes_back_with_what_it_said(vault, tmp_path):
    vault.add(id="a", title="word", source="user", trust="untrusted")
    vault.add(id="b", title="word")
    vault.export(tmp_path / "all.jsonl")
    with Vault(":memory:") as other:
        other.import_(tmp_path / "all.jsonl")
        assert other.load(["a", "b"]) == vault.load(["a", "b"])


def test_plain_entries_of_a_file_are_unverified_and_name_it(vault, tmp_path):
    said = {"id": "said", "title": "word", "source": "user", "trust": "trusted"}
    (tmp_path / "notes.jsonl").write_text(json.dumps(PLAIN) + "\n" + json.dumps(said), encoding="utf-8")
    vault.import_(tmp_path / "notes.jsonl")
    assert [(e.source, e.trust) for e in vault.load(["plain", "said"])] == [
        ("import:notes.jsonl", "unverified"),
        ("user", "trusted"),
    ]
    vault.import_(io.StringIO(json.dumps({**PLAIN, "id": "line"})))
    assert (vault.get("line").source, vault.get("line").trust) == ("import", "unverified")
