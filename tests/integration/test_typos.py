"""Words that no entry holds: a note says what may be meant, and exact matches are never diluted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from septet import Federation, QueryError, Vault


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: 1e9) as opened:
        opened.add(id="queue", title="A lightweight queue", description="jobs in SQLite")
        opened.add(id="light", title="Light and lighter", description="of candles")
        opened.add(id="wal", title="Locks of the database", description="databases wait for a writer")
        opened.add(id="cafe", title="Ein Café in Zürich", description="Kaffee")
        yield opened


def guess(found):
    return [(note.cause, note.cure) for note in found.notes if note.code == "did_you_mean"]


@pytest.mark.parametrize(
    ("typed", "meant", "ids"),
    [
        ("lightwieght", "lightweight", ["queue"]),
        ("lihgt", "light", ["light"]),
        ("databse", "database", ["wal"]),
        ("sqllite", "sqlite", ["queue"]),
        ("Zürch", "zurich", ["cafe"]),
    ],
)
def test_the_nearest_word_is_searched_for_where_nothing_matches(vault, typed, meant, ids):
    found = vault.search(typed)
    assert found.ids == ids
    assert found.query == typed
    assert found.total == len(ids)
    ((cause, _),) = guess(found)
    assert meant in cause
    assert typed.lower() in cause
    assert not found.degraded


def test_what_matches_exactly_is_not_diluted(vault):
    found = vault.search("databse candles")
    assert found.ids == vault.search("candles").ids == ["light"]
    assert found.total == 1
    ((cause, cure),) = guess(found)
    assert "databse" in cause
    assert "'database'" in cure
    assert found[0].score == vault.search("databse candles", typos=False)[0].score


@pytest.mark.parametrize(
    "query", ["light", "the database", "xq", "zzzzzzzzz", "v1234", "", "?!", "東京", "candel candles zzzz"]
)
def test_known_words_and_hopeless_ones_bring_no_guess(vault, query):
    found = vault.search(query)
    assert all("zzz" not in cure for _, cure in guess(found))
    if "candel" not in query:
        assert not guess(found)


def test_help_is_off_when_it_is_not_wanted(vault):
    for options in ({"typos": False}, {"profile": "seven-signals"}, {"profile": "six-signals"}):
        found = vault.search("lightwieght", **options)
        assert (len(found), guess(found)) == (0, [])
    assert vault.search("lightwieght", profile="seven-signals", typos=True).ids == ["queue"]
    with pytest.raises(QueryError, match="typos"):
        vault.search("light", typos="yes")


def test_what_vectors_find_is_not_diluted(vault):
    vault.add(id="near", title="An entry with a vector", vector=[1.0, 0.0])
    found = vault.search("lightwieght", query_vector=[1.0, 0.1])
    assert "near" in found.ids
    assert found.total == 0
    assert "'lightweight'" in guess(found)[0][1]


def test_guesses_pass_filters_and_deleted_words_are_not_guessed(vault):
    assert vault.search("lightwieght", where={"id": "light"}).ids == []
    vault.delete("queue")
    assert guess(vault.search("lightwieght")) == []


def test_a_word_of_another_tier_is_known(vault):
    with Vault(":memory:", clock=lambda: 1e9) as other:
        other.add(id="odd", title="lightwieght as a title")
        both = Federation({"high": vault, "low": other})
        assert both.search("lightwieght").ids == ["odd"]
        assert guess(both.search("lightwieght")) == []
        assert both.search("databse").ids == ["wal"]


def test_all_ways_to_search_help_alike(vault):
    many = vault.search_many(["lightwieght", "candles", "databse"])
    assert [found.ids for found in many] == [["queue"], ["light"], ["wal"]]
    assert vault.search("databse", words={"must": "writer"}).ids == ["wal"]
    assert vault.search("databse", limit=1, offset=1).ids == []
    assert "'lightweight'" in str(vault.explain("lightwieght", "queue").notes)


def test_there_is_no_help_and_no_error_while_fts5_answers(vault, monkeypatch):
    monkeypatch.setattr("septet.sqlite.tier.read_view.ReadView.needs_fts5", lambda view, plan: plan.asks_text)
    assert vault.search("lightwieght").ids == []


def edits(a, b):
    """Restricted Damerau-Levenshtein distance by its definition."""
    table = {(i, -1): i + 1 for i in range(-1, len(a))} | {(-1, j): j + 1 for j in range(-1, len(b))}
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (x != y))
            if i and j and x == b[j - 1] and y == a[i - 1]:
                table[i, j] = min(table[i, j], table[i - 2, j - 2] + 1)
    return table[len(a) - 1, len(b) - 1]


words = st.text("abcdé", min_size=3, max_size=9)


@given(st.lists(words, min_size=1, max_size=30), words, st.integers(0, 2))
def test_the_words_near_another_are_those_of_a_slow_twin(held, word, most):
    with Vault(":memory:") as vault:
        vault.add_many({"id": str(n), "title": one} for n, one in enumerate(held))
        vault.search("warm")
        plain = {one.replace("é", "e") for one in held}
        found = vault._tier.manager.current.corpus.words_near(word, most, 1_000)
    expected = {(one, distance) for one in plain if (distance := edits(word.replace("é", "e"), one)) <= most}
    assert {(one, distance) for one, distance, _ in found} == expected
    assert [distance for _, distance, _ in found] == sorted(distance for _, distance, _ in found)
