"""A search that finds nothing because no entry can pass a filter says which, and why."""

import pytest

from septet import Federation, Vault


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: 1_000.0) as made:
        made.add(title="tokens expire", attrs={"n": 5, "due": "2026-01-01", "labels": ["a", "b"], "deep": {"x": 1}})
        made.add(title="tokens rotate", attrs={"n": 7.5, "open": True, "mixed": "five"})
        made.add(title="tokens rest", attrs={"mixed": 5, "nothing": None})
        made.add(title="tokens are over", attrs={"over": 1}, valid_until=10.0)
        yield made


def noted(found, code="filter_mismatch"):
    return [note.cause for note in found.notes if note.code == code]


@pytest.mark.parametrize(
    ("where", "cause"),
    [
        ({"attrs.n": {"$gt": "5"}}, "attrs.n with text ('5'), and entries have numbers there"),
        ({"attrs.n": "5"}, "attrs.n with text ('5'), and entries have numbers there"),
        ({"attrs.n": {"$in": ["5", True]}}, "attrs.n with text and true or false ('5', True), and entries have"),
        ({"attrs.n": {"$contains": "5"}}, "attrs.n with text ('5'), and entries have numbers there"),
        ({"attrs.due": {"$lt": 1_767_225_600}}, "attrs.due with numbers (1767225600), and entries have text there"),
        ({"attrs.open": "true"}, "attrs.open with text ('true'), and entries have true or false there"),
        ({"attrs.labels": 3}, "attrs.labels with numbers (3), and entries have text there"),
        ({"attrs.labels": {"$all": ["a", 3]}}, "attrs.labels with numbers (3), and entries have text there"),
        ({"attrs.deep": "x"}, "attrs.deep with text ('x'), and entries have neither text, numbers nor true or false"),
        ({"attrs.mixed": False}, "attrs.mixed with true or false (False), and entries have text and numbers there"),
        ({"attrs.m": 5}, "attrs.m, which no entry has"),
        ({"attrs.deep.y": {"$exists": True}}, "attrs.deep.y, which no entry has"),
        ({"attrs.over": 1}, "attrs.over, which no entry has"),
        ({"$not": {"attrs.n": {"$ne": "5"}}}, "attrs.n with text ('5'), and entries have numbers there"),
        ({"$and": [{"kind": "entry"}, {"$or": [{"attrs.n": "5"}]}]}, "attrs.n with text ('5'), and"),
        ({"attrs.due": False}, "attrs.due with true or false (False), and entries have text there"),
    ],
)  # fmt: skip
def test_a_comparison_that_no_entry_can_pass_is_named_with_both_types(vault, where, cause):
    found = vault.search("tokens", where=where)
    assert [text[: len(cause)] for text in (one.removeprefix("where compares ") for one in noted(found))] == [cause]
    assert not found.hits and not found.degraded


@pytest.mark.parametrize(
    "where",
    [
        {"attrs.n": {"$gt": 9}},
        {"attrs.n": {"$in": ["5", 9]}},
        {"attrs.n": None, "kind": "chunk"},
        {"attrs.labels": {"$all": ["a", "c"]}},
        {"attrs.mixed": "six"},
        {"attrs.m": {"$exists": False}, "kind": "chunk"},
        {"attrs.m": {"$ne": 1}, "kind": "chunk"},
        {"$not": {"attrs.n": {"$in": [5, 7.5]}}, "attrs.n": {"$exists": True}},
        {"domain": "nowhere"},
    ],
)
def test_a_filter_that_an_entry_might_pass_is_not_named(vault, where):
    found = vault.search("tokens", where=where)
    assert not found.hits and not noted(found)


def test_nothing_is_looked_up_while_something_is_found(vault):
    found = vault.search("tokens", where={"$or": [{"attrs.n": "5"}, {"attrs.n": 5}]})
    assert len(found) == 1 and not noted(found)


def test_words_and_phrases_that_no_entry_holds_are_named(vault):
    found = vault.search("tokens", words={"must": ["rest", "nonexistent"], "phrase": ["tokens rest", "rest tokens"]})
    assert noted(found, "unknown_words") == ["no entry holds 'nonexistent', 'rest tokens', which results must contain"]
    assert noted(vault.search("tokens +absent", syntax="web"), "unknown_words")
    # What is over counts for those who ask for it.
    assert noted(vault.search("tokens", words={"must": "over"}), "unknown_words")
    assert len(vault.search("tokens", words={"must": "over"}, include_expired=True)) == 1
    # Each is held, by entries of their own.
    apart = vault.search("tokens", words={"must": ["rest", "expire"]})
    assert not apart.hits and not noted(apart, "unknown_words")


def test_each_query_of_many_has_its_notes(vault):
    for found in vault.search_many(["tokens", "rest"], where={"attrs.n": "5"}):
        assert len(noted(found)) == 1


def test_a_federation_names_what_no_tier_has(vault):
    with Vault(":memory:") as other, Federation({"one": vault, "two": other}) as both:
        other.add(title="tokens of another vault", attrs={"m": 1})
        assert noted(both.search("tokens", where={"attrs.n": "5"})) == [
            "where compares attrs.n with text ('5'), and entries have numbers there"
        ]
        assert not noted(both.search("tokens", where={"attrs.m": 2}))
        assert not noted(both.search("tokens", words={"must": ["another", "rest"]}), "unknown_words")


def test_memories_count_where_they_are_searched(vault):
    vault.add(title="tokens are dull", kind="memory", attrs={"k": 1})
    assert noted(vault.search("tokens", where={"attrs.k": 2}))
    assert not noted(vault.search("tokens", where={"attrs.k": 2}, include_memories=True))
