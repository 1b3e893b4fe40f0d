"""Words that results must hold, must not hold, in a row, or as a beginning: values, never syntax."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import heavy
from septet import Federation, QueryError, Vault
from septet._core import index_terms

WORDS = ("renew", "renewal", "renewing", "Crème", "creme", "general", "generate", "the", "lightweight", "light", "x")
FIELDS = ("title", "description", "context")
some_words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join)
entries = st.lists(
    st.fixed_dictionaries({"title": some_words, "description": some_words, "context": some_words}),
    min_size=1,
    max_size=12,
)


def tokens(text):
    return [token.decode() for token in index_terms(text)]


def holds(entry, words):
    own = {token for field in FIELDS for token in tokens(entry[field])}
    return set(tokens(words)) <= own


def in_a_row(entry, phrase):
    wanted = tokens(phrase)
    found = [tokens(entry[field]) for field in FIELDS]
    return any(own[i : i + len(wanted)] == wanted for own in found for i in range(len(own)))


def begins(entry, prefix):
    folded = prefix.lower().replace("è", "e")
    words = [w for field in FIELDS for w in entry[field].lower().replace("è", "e").split()]
    stems = {tokens(word)[0] for word in words if word.startswith(folded)}
    return bool(stems)


@heavy()
@given(entries, some_words, some_words, some_words, st.booleans())
def test_the_filters_are_those_of_a_slow_twin(given_entries, must, must_not, phrase, vectors):
    rng = np.random.default_rng(1)
    with Vault(":memory:", clock=lambda: 1e9) as vault:
        for n, entry in enumerate(given_entries):
            vault.add(id=f"e{n}", **entry, **({"vector": rng.normal(size=4)} if vectors and n % 2 == 0 else {}))
        options = {"limit": 100, **({"query_vector": rng.normal(size=4)} if vectors else {})}
        for name, value, twin in (
            ("must", must, lambda e: holds(e, must)),
            ("must_not", must_not, lambda e: not any(holds(e, word) for word in must_not.split())),
            ("phrase", phrase, lambda e: in_a_row(e, phrase)),
        ):
            expected = {f"e{n}" for n, entry in enumerate(given_entries) if twin(entry)}
            query = " ".join(WORDS)
            found = vault.search(query, words={name: value}, **options)
            assert set(found.ids) == expected
            assert found.total == len(expected)


@pytest.fixture
def notes():
    with Vault(":memory:", clock=lambda: 1e9) as vault:
        vault.add(id="wal", title="SQLite in WAL mode", description="one writer, many readers", tags=["database"])
        vault.add(id="lock", title="Locks of a database", description="the writer waits for many readers")
        vault.add(id="queue", title="A lightweight queue", description="jobs in SQLite, one writer")
        vault.add(id="kyoto", title="東京都の図書館", description="本がたくさんある")
        vault.add(id="camel", title="call getUserName twice", description="identifiers")
        vault.add(id="general", title="General rules", description="generation of keys")
        vault.remember("the user prefers a lightweight database", topics=["taste"])
        yield vault


@pytest.fixture(params=["in memory", "not in memory", "read-only", "federation"])
def target(request, notes, tmp_path, monkeypatch):
    if request.param == "in memory":
        notes.search("warm")
        yield notes
        return
    if request.param == "not in memory":
        monkeypatch.setattr("septet.sqlite.snapshot.manager.SnapshotManager.schedule", lambda *_: None)
        yield notes
        return
    path = tmp_path / "copy.db"
    notes.backup(path)
    if request.param == "read-only":
        with Vault(path, read_only=True, clock=lambda: 1e9) as opened:
            yield opened
        return
    with Vault(path, clock=lambda: 1e9) as low, Vault(":memory:", clock=lambda: 1e9) as high:
        high.add(id="wal", title="SQLite without WAL mode", description="one writer", tags=["database"])
        yield Federation({"high": high, "low": low})


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({"must": "writer"}, {"wal", "lock", "queue"}),
        ({"must": "sqlite writers"}, {"wal", "queue"}),
        ({"must": ["sqlite", "mode"]}, {"wal"}),
        ({"must": "writer", "must_not": "locked"}, {"wal", "queue"}),
        ({"must": "writer", "must_not": ["lock", "lightweight"]}, {"wal"}),
        ({"phrase": "one writer"}, {"wal", "queue"}),
        ({"phrase": "writer one"}, set()),
        ({"phrase": ["one writer", "lightweight queue"]}, {"queue"}),
        ({"prefix": "lightw"}, {"queue"}),
        ({"prefix": ["datab", "writ"]}, {"wal", "lock"}),
        ({"must": "東京"}, {"kyoto"}),
        ({"phrase": "図書館"}, {"kyoto"}),
        ({"must": "username"}, set()),
        ({"must": "user", "must_not": "jobs"}, {"camel"}),
        ({"must": "getUserName"}, {"camel"}),
        ({"must": 'writer" OR "general'}, set()),
        ({"must": "NEAR(writer)"}, set()),
        ({"must": "absent"}, set()),
    ],
)
def test_words_filter_wherever_the_full_text_is(target, words, expected):
    found = target.search("", limit=50, words=words)
    assert set(found.ids) == expected
    assert found.total >= len(expected)


def test_words_filter_what_vectors_find():
    rng = np.random.default_rng(2)
    with Vault(":memory:", clock=lambda: 1e9) as vault:
        for n in range(40):
            vault.add(
                id=f"e{n}",
                title="odd one" if n % 2 else "even one",
                **({} if n % 3 else {"vector": rng.normal(size=4)}),
            )
        for words in ({"must": "odd"}, {"must_not": "even"}, {"phrase": "odd one"}, {"prefix": "od"}):
            found = vault.search("nothing", query_vector=rng.normal(size=4), legs="vector", limit=50, words=words)
            assert set(found.ids) == {f"e{n}" for n in range(40) if n % 2 and n % 3 == 0}


def test_words_asked_for_count_in_the_full_text(notes):
    found = notes.search("readers", words={"must": "writer"}, limit=3)
    assert found[0].raw["bm25"] == notes.search("readers writer", limit=3)[0].raw["bm25"]


def test_memories_are_filtered_too(notes):
    assert notes.search("user", words={"must": "prefer"}, include_memories=True)[0].kind == "memory"
    assert len(notes.recall("lightweight", words={"must": "database"})) == 1
    assert len(notes.recall("lightweight", words={"must_not": "database"})) == 0


def test_a_search_as_one_types_finds_words_whose_stems_are_shorter(notes):
    typed = "general"
    for end in range(1, len(typed) + 1):
        assert "general" in notes.search(typed[:end], words={"prefix": True}).ids
    found = notes.search("database wri", words={"prefix": True})
    assert set(found.ids) == {"wal", "lock", "queue"}
    assert set(found.ids[:2]) == {"wal", "lock"}
    assert found[0].confidence > 0.5
    # Behind a blank nothing is known of the next word.
    assert len(notes.search("database ", words={"prefix": True})) == len(notes.search("database"))
    assert len(notes.search("", words={"prefix": True})) == len(notes.search("?! ", words={"prefix": True})) == 0


def test_search_many_and_explain_take_words(notes):
    queries = ["writer", "database"]
    for words in ({"must": "many"}, {"prefix": True}, {"must_not": "wal"}):
        many = notes.search_many(queries, words=words)
        assert [found.ids for found in many] == [notes.search(query, words=words).ids for query in queries]
    explained = notes.explain("writer", "queue", words={"must": "many"})
    assert not explained.found
    assert explained.filters["must"] is False
    assert "must" in explained.reason
    assert notes.explain("writer", "lock", words={"must": "many", "must_not": "wal"}).found


def test_pages_fit_together_under_words(notes):
    every = notes.search("writer database", words={"prefix": "d"}, limit=50).ids
    pages = [notes.search("writer database", words={"prefix": "d"}, limit=1, offset=n).ids for n in range(3)]
    assert sorted(i for page in pages for i in page) == sorted(every)


@pytest.mark.parametrize("name", ["must", "must_not", "phrase", "prefix"])
@pytest.mark.parametrize("bad", ["", " ", "?!", [], [""], 3, ["a", 3], "a " * 200, b"a"])
def test_values_without_words_are_refused(notes, name, bad):
    if name == "phrase" and bad == "a " * 200:
        return
    with pytest.raises(QueryError, match=name):
        notes.search("writer", words={name: bad})
