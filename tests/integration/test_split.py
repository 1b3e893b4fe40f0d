"""Long texts of many subjects as linked parts: found one by one, loaded as a whole, replaced and deleted together."""

import io
import json

import pytest

from septet import BatchError, EntryError, Link, Vault
from septet._core import windows

SUBJECTS = ("harbour", "violin", "glacier", "bakery", "telescope", "vineyard")


def text_of(subjects=SUBJECTS, words=40):
    """A paragraph for each subject."""
    return "\n\n".join(f"The {name} is here. " + f"A {name} word more. " * (words // 4) for name in subjects)


TEXT = text_of()


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.db") as opened:
        yield opened


def parts(vault, parent="doc"):
    """The parts of an entry, in order, as they are stored."""
    found = []
    while part := vault.get(f"{parent}#{len(found) + 1}"):
        found.append(part)
    return found


def test_a_long_text_becomes_linked_parts_that_carry_what_their_parent_does(vault):
    facts = {"type": "report", "domain": "travel", "severity": "warning", "tags": ["a", "b"], "attrs": {"team": "x"}}
    times = {"created_at": 5.0, "updated_at": 6.0, "valid_from": 1.0, "valid_until": 9e9}
    assert vault.add(id="doc", title="Six things", description=TEXT, context="c", split=50, **facts, **times) == "doc"
    found = parts(vault)
    assert len(found) == len(SUBJECTS)
    for part, name in zip(found, SUBJECTS):
        assert part.description.startswith(f"The {name} is here.") and part.description.endswith(f"A {name} word more.")
        assert (part.title, part.context, part.parent, part.kind) == ("Six things", "c", "doc", "entry")
        assert {key: getattr(part, key) for key in facts} == {**facts, "tags": ("a", "b")}
        assert {key: getattr(part, key) for key in times} == times
    assert vault.links("doc#2") == [Link("doc#1", "doc#2", "next", ""), Link("doc#2", "doc#3", "next", "")]
    assert len(vault) == 7 and vault.stats().links == 5


def test_the_whole_is_loaded_as_it_was_and_searches_find_the_parts(vault):
    vault.add(id="doc", title="Six things", description=TEXT, split=50)
    whole = vault.get("doc")
    assert (whole.description, whole.parent) == (TEXT, "doc")
    for query in ("glacier", "six things", "telescope word"):
        found = vault.search(query, limit=20)
        assert found.ids and "doc" not in found.ids
    assert vault.search("glacier")[0].id == "doc#3"
    assert "doc" not in vault.search("", where={"parent": "doc"}, legs="text").ids
    assert set(vault.search("word", where={"parent": "doc"}, limit=20).ids) == {f"doc#{n}" for n in range(1, 7)}
    assert vault.search("word", where={"parent": {"$exists": False}}).ids == []
    assert "split" in vault.explain("glacier", "doc").reason


@pytest.mark.parametrize("given", [None, {"path": "notes.md", "first_line": 11, "last_line": 40}])
def test_spans_are_the_lines_of_the_text_they_come_from(vault, given):
    vault.add(id="doc", title="t", description=TEXT, split=30, span=given)
    lines = TEXT.split("\n")
    for part in parts(vault):
        before = 0 if given is None else 10
        assert part.span.path == ("doc" if given is None else "notes.md")
        own = lines[part.span.first_line - before - 1 : part.span.last_line - before]
        assert part.description in "\n".join(own)


@pytest.mark.parametrize("words", [1, 3, 20, 149, 150, 151, 300, 5_000])
def test_parts_hold_every_word_and_a_short_text_stays_whole(vault, words):
    text = " ".join(f"w{i}" for i in range(words))
    vault.add(id="doc", title="t", description=text, split="auto")
    found = parts(vault)
    assert (vault.get("doc").parent == "doc") == bool(found) == (words > 150)
    if found:
        assert " ".join(part.description for part in found) == text
        assert all(len(part.description.split()) <= 150 for part in found)
    else:
        assert vault.search("w0").ids == ["doc"]


@pytest.mark.parametrize("again", [None, "auto", 20, 50, 100])
@pytest.mark.parametrize("count", [0, 1, 3, 6])
def test_what_is_stored_again_replaces_its_parts(vault, again, count):
    vault.add(id="doc", title="t", description=TEXT, split=50)
    text = text_of(SUBJECTS[:count])
    vault.add(id="doc", title="t", description=text, split=again)
    sizes = {None: 0, "auto": 150}.get(again, again)
    wanted = len(windows(text, sizes)) if sizes else 0
    found = parts(vault)
    assert len(found) == (wanted if wanted > 1 else 0)
    assert len(vault) == 1 + len(found) and vault.stats().links == max(0, len(found) - 1)
    assert vault.get("doc").description == text
    for name in SUBJECTS[count:]:
        assert vault.search(name).ids == []


def test_an_update_of_what_was_split_splits_it_again(vault):
    vault.add(id="doc", title="t", description=TEXT, split="auto", severity="warning")
    before = parts(vault)
    changed = vault.update("doc", severity="critical")
    assert (changed.parent, changed.severity, changed.description) == ("doc", "critical", TEXT)
    assert [(p.id, p.description) for p in parts(vault)] == [(p.id, p.description) for p in before]
    assert {p.severity for p in parts(vault)} == {"critical"}
    vault.update("doc", description="Short now.")
    assert (vault.get("doc").parent, parts(vault)) == (None, [])
    assert vault.search("short").ids == ["doc"]
    assert vault.update("doc", description=TEXT).parent is None
    assert vault.update("doc", split=20).parent == "doc"
    assert len(parts(vault)) == len(windows(TEXT, 20))


def test_deleting_the_whole_deletes_its_parts_and_nothing_else(vault):
    vault.add(id="doc", title="t", description=TEXT, split=50)
    vault.add(id="doc#note", title="A glacier note", parent="doc")
    vault.add(id="other", title="Another glacier", parent="doc")
    assert vault.delete("doc") == 1
    assert set(vault.search("glacier").ids) == {"other", "doc#note"}
    assert (len(vault), vault.stats().links, vault.purge()) == (2, 0, 7)


def test_an_entry_that_names_a_parent_is_no_part_of_it(vault):
    """Only what splitting made is replaced: a text that somebody cut by hand stays."""
    vault.add(id="book", title="A book")
    vault.add_many({"id": f"book#{n}", "title": f"Chapter {n}", "parent": "book"} for n in (1, 2))
    vault.add(id="book", title="A book, revised")
    vault.delete("book")
    assert [e.parent for e in vault.load(["book#1", "book#2"])] == ["book", "book"]


def test_a_part_never_overwrites_another_entry(vault):
    vault.add(id="doc#2", title="Mine")
    with pytest.raises(EntryError, match="its part 'doc#2' would overwrite another entry"):
        vault.add(id="doc", title="t", description=TEXT, split=50)
    assert (len(vault), vault.get("doc#2").title) == (1, "Mine")
    with pytest.raises(BatchError, match="its part 'new#1' would overwrite"):
        vault.add_many(
            [{"id": "new#1", "title": "Mine"}, {"id": "new", "title": "t", "description": TEXT, "split": 50}]
        )
    assert len(vault) == 1


@pytest.mark.parametrize("split", [0, -1, True, 1.5, "no", "100", [1]])
def test_a_split_that_is_none_is_refused(vault, split):
    for call in (vault.add, lambda **fields: vault.add_many([fields]), lambda **fields: vault.add_many([], **fields)):
        with pytest.raises((EntryError, BatchError, TypeError), match=r"split|unexpected"):
            call(title="t", description=TEXT, split=split)
    assert len(vault) == 0


def test_what_cannot_be_of_a_split_entry_is_refused(vault):
    with pytest.raises(EntryError, match="vector of 'doc' describes the whole text"):
        vault.add(id="doc", title="t", description=TEXT, split=50, vector=[1, 0])
    with pytest.raises(EntryError, match="a part cannot be split itself"):
        vault.add(id="doc", title="t", description=TEXT, split=50, parent="book")
    with pytest.raises(EntryError, match="id has 257 characters"):
        vault.add(id="d" * 255, title="t", description=TEXT, split=50)
    assert len(vault) == 0
    vault.add(id="doc", title="t", description="Short.", split=50, vector=[1, 0])
    assert vault.search("", query_vector=[1, 0], legs="vector").ids == ["doc"]


def test_many_are_split_as_each_says_or_as_all_are(vault):
    long = {"title": "t", "description": TEXT}
    ids = vault.add_many(
        [{**long, "id": "a"}, {**long, "id": "b", "split": None}, {**long, "id": "c", "split": 20}], split=50
    )
    assert ids == ["a", "b", "c"]
    assert [len(parts(vault, name)) for name in ids] == [6, 0, len(windows(TEXT, 20))]
    # Of one id twice in a batch the last counts.
    vault.add_many([{**long, "id": "a", "split": 20}, {**long, "id": "a", "split": 100}])
    assert len(parts(vault, "a")) == len(windows(TEXT, 100))


@pytest.mark.parametrize("size", [2, 3, 5_000])
@pytest.mark.parametrize("over", [False, True], ids=["into a new vault", "over another state"])
def test_an_export_brings_the_parts_back(tmp_path, vault, over, size, monkeypatch):
    vault.add(id="doc", title="t", description=TEXT, split=20)
    vault.add(id="own", title="Said by hand", parent="doc")
    vault.update("doc#2", severity="critical")
    out = io.StringIO()
    vault.export(out)
    lines = out.getvalue().splitlines()
    monkeypatch.setattr("septet.vault.batch.BATCH_ROWS", size)
    with Vault(tmp_path / "new.db") as other:
        if over:
            other.add(id="doc", title="t", description=TEXT * 2, split=10)
        other.import_(lines)
        assert len(other) == len(vault)
        again = io.StringIO()
        other.export(again)
        assert sorted(map(strip, again.getvalue().splitlines())) == sorted(map(strip, lines))
        assert other.search("glacier", limit=50).ids == vault.search("glacier", limit=50).ids


def strip(line):
    return json.dumps({key: value for key, value in json.loads(line).items() if key != "created_at"}, sort_keys=True)


def test_an_entry_taken_from_another_vault_is_split_there_too(vault, tmp_path):
    vault.add(id="doc", title="t", description=TEXT, split="auto")
    with Vault(tmp_path / "new.db") as other:
        other.add(vault.get("doc"))
        assert [p.description for p in parts(other)] == [p.description for p in parts(vault)]


def test_only_parts_are_embedded(tmp_path):
    from septet import CallableEmbedder, EmbeddingOptions

    seen = []

    def embed(texts):
        seen.extend(texts)
        return [[1.0, len(text)] for text in texts]

    embedder = CallableEmbedder(embed, model="m", dimensions=2)
    with Vault(tmp_path / "v.db", embedder=embedder, embedding_options=EmbeddingOptions(automatic=False)) as vault:
        vault.add(id="doc", title="t", description=TEXT, split=50)
        report = vault.embed()
        assert (report.embedded, report.missing) == (6, 0)
        assert TEXT not in "".join(seen)
        assert vault.embedding_status().spaces[0].missing == 0
        # What did not change is not embedded again.
        vault.update("doc", description=text_of((*SUBJECTS[:5], "castle")), split=50)
        assert vault.embed().embedded == 1


@pytest.mark.parametrize("memories", [False, True])
@pytest.mark.parametrize("searches", [1, 3])
def test_the_whole_is_found_by_no_way(vault, memories, searches):
    vault.add(id="doc", title="Six things", description=TEXT, split=50)
    vault.add(id="fact", title="A glacier fact")
    vault.link("fact", "doc")
    vault.remember("A glacier was seen")
    for _ in range(searches):
        for where in (None, {"parent": "doc"}, {"domain": "general"}):
            found = vault.search("glacier", include_memories=memories, where=where, limit=50)
            assert "doc#3" in found.ids and "doc" not in found.ids
        assert vault.search("nothing like it", include_memories=memories, legs="text").ids == []
        vault.optimize()


def test_a_memory_that_is_split_is_found_by_its_parts(vault):
    vault.add(id="doc", title="t", description=TEXT, kind="memory", split=50)
    found = vault.search("glacier", include_memories=True).ids
    assert found and "doc" not in found


def test_what_is_found_is_the_same_after_reopening_and_from_memory(tmp_path):
    path = tmp_path / "v.db"
    with Vault(path) as vault:
        vault.add(id="plain", title="A glacier")
        assert vault.search("glacier").ids == ["plain"]
        vault.add(id="doc", title="t", description=TEXT, split=50)
        first = vault.search("glacier").ids
        assert set(first[:2]) == {"plain", "doc#3"}
        vault.optimize()
        assert vault.search("glacier").ids == first
        vault.add(id="doc", title="t", description="No ice any more")
        assert vault.search("glacier").ids == ["plain"]
        assert vault.search("ice").ids == ["doc"]
    with Vault(path, read_only=True) as vault:
        assert vault.search("glacier").ids == ["plain"]
