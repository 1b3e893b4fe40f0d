"""The syntax of web searches: what is understood of a query, as a table, and that no query is an error."""

import calendar

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from septet.query.web import MOST_CHARS, MOST_OPERATORS, understood


def day(year, month, date=1):
    return float(calendar.timegm((year, month, date, 0, 0, 0)))


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("", {"text": ""}),
        ("two words", {"text": "two words"}),
        ('"two words"', {"text": "two words", "phrase": ["two words"]}),
        ('+"two words"', {"text": "two words", "phrase": ["two words"]}),
        ("\u201ctwo words\u201d", {"text": "two words", "phrase": ["two words"]}),
        ('one "two" three', {"text": "one two three", "phrase": ["two"]}),
        ('-"two words" one', {"text": "one", "must_not": ["two words"]}),
        ("+one two", {"text": "one two", "must": ["one"]}),
        ("one -two -three", {"text": "one", "must_not": ["two", "three"]}),
        ("+state-of-the-art", {"text": "state-of-the-art", "phrase": ["state-of-the-art"]}),
        ("one -e-mail", {"text": "one", "must_not": ["e-mail"]}),
        ("pyth*", {"text": "", "prefix": ["pyth"]}),
        ("+pyth* one", {"text": "one", "prefix": ["pyth"]}),
        ("one -pyth*", {"text": "one", "must_not": ["pyth*"]}),
        ("one one +two +two", {"text": "one one two two", "must": ["two"]}),
        # Fields.
        ("one domain:birds", {"text": "one", "where": {"domain": "birds"}}),
        ("one +domain:birds", {"text": "one", "where": {"domain": "birds"}}),
        ('domain:"two words"', {"text": "", "where": {"domain": "two words"}}),
        ("Domain:Birds", {"text": "", "where": {"domain": "Birds"}}),
        ("domain:a domain:b", {"text": "", "where": {"domain": {"$in": ["a", "b"]}}}),
        ("domain:a domain:a", {"text": "", "where": {"domain": "a"}}),
        ("tag:a tags:b", {"text": "", "where": {"$and": [{"tags": {"$eq": "a"}}, {"tags": {"$eq": "b"}}]}}),
        ("one -domain:a", {"text": "one", "where": {"$nor": [{"domain": {"$eq": "a"}}]}}),
        ('-tag:"a b" -id:x', {"text": "", "where": {"$nor": [{"tags": {"$eq": "a b"}}, {"id": {"$eq": "x"}}]}}),
        ("severity:Critical", {"text": "", "where": {"severity": "critical"}}),
        ("path:docs/a.md:3", {"text": "", "where": {"path": "docs/a.md:3"}}),
        ("type:a kind:b source:c trust:untrusted parent:d", None),
        ("attrs.team:core", {"text": "", "where": {"attrs.team": "core"}}),
        ("attrs.a.b:5", {"text": "", "where": {"attrs.a.b": {"$in": ["5", 5]}}}),
        ("attrs.a:-1.5", {"text": "", "where": {"attrs.a": {"$in": ["-1.5", -1.5]}}}),
        ("attrs.a:>=5", {"text": "", "where": {"attrs.a": {"$gte": 5}}}),
        ("attrs.a:>b", {"text": "", "where": {"attrs.a": ">b"}}),
        ("attrs.a:true", {"text": "", "where": {"attrs.a": {"$in": ["true", True]}}}),
        # Dates, in UTC.
        ("created:2026", {"text": "", "where": {"created_at": {"$gte": day(2026, 1), "$lt": day(2027, 1)}}}),
        ("created:2024", {"text": "", "where": {"created_at": {"$gte": day(2024, 1), "$lt": day(2025, 1)}}}),
        ("updated:2026-12", {"text": "", "where": {"updated_at": {"$gte": day(2026, 12), "$lt": day(2027, 1)}}}),
        ("created:2026-02-28", {"text": "", "where": {"created_at": {"$gte": day(2026, 2, 28), "$lt": day(2026, 3)}}}),
        ("created:>2026-01-01", {"text": "", "where": {"created_at": {"$gte": day(2026, 1, 2)}}}),
        ("created:>=2026-01-01", {"text": "", "where": {"created_at": {"$gte": day(2026, 1)}}}),
        ("created:<2026-01-01", {"text": "", "where": {"created_at": {"$lt": day(2026, 1)}}}),
        ("created:<=2026-01", {"text": "", "where": {"created_at": {"$lt": day(2026, 2)}}}),
    ],
)
def test_a_query_is_understood(query, told):
    if told is None:
        assert list(understood(query).where) == ["type", "kind", "source", "trust", "parent"]
        return
    assert understood(query).to_dict() == told


@pytest.mark.parametrize(
    "query",
    [
        '"', '""', '"never closed', '-"never closed', "-", "+", "--", "--force", "+-one", "-_-", "*", "**", "-*", "+*",
        "a-b", "C++", "well-known*", "o*o", "one*!", 'half 5" disk', "domain:", "domain: birds", ":birds", "a:b",
        "https://example.com/a?b=c", "severity:worst", "trust:maybe", "attrs.:a", "attrs..a:b", "created:soon",
        "created:2026-13", "created:2026-02-30", "created:9999", "created:0000", "updated:=2026", "12:30", "-x:y",
        "title:word", "x" * 101 + "*", "+" + "x" * 101, "domain:" + "x" * 101,
    ],
)  # fmt: skip
def test_what_is_malformed_or_unknown_is_ordinary_text(query):
    assert understood(query).to_dict() == {"text": query}


def test_operators_beyond_the_most_are_ordinary_text():
    given = [f"+w{n}" for n in range(MOST_OPERATORS + 3)]
    found = understood(" ".join(given))
    assert found.must == tuple(word[1:] for word in given[:MOST_OPERATORS])
    assert found.text.split()[MOST_OPERATORS:] == given[MOST_OPERATORS:]


def test_what_was_typed_last_is_the_beginning_of_a_word_only_if_it_is_ordinary_text():
    assert [understood(query).open for query in ("one", "-one two", "one ", "one -two", "tw*", "domain:a", "")] == [
        True, True, False, False, False, False, False,
    ]  # fmt: skip


PIECES = st.sampled_from(
    ['"', "+", "-", "*", ":", " ", "\u201c", "\t", "\n", "\0", "a", "two words", "domain:", "tags:", "created:>", "20",
     "-01", "attrs.", "attrs.a.b:", "severity:", "critical", "\ud800", "\u6771\u4eac", "e\u0301", "'", "(", "NEAR",
     "1e999", "9" * 20, "kind:memory", "id:", "<=", ".."]
)  # fmt: skip
queries = st.text(max_size=40) | st.lists(PIECES, max_size=14).map("".join)


@given(queries)
@example('-"\ud800"')
def test_no_query_is_an_error_and_every_word_is_somewhere(query):
    found = understood(query)
    told = found.to_dict()
    assert len(found.must + found.must_not + found.phrases + found.prefixes + found.without) <= MOST_OPERATORS
    assert all(len(value) <= MOST_CHARS for value in found.must + found.must_not + found.phrases + found.prefixes)
    assert ("where" in told) == bool(found.filters)
    seen = query.encode("utf-8", "replace").decode("utf-8")
    assert all(word in seen for word in found.text.split())


@given(st.lists(st.text(st.characters(categories=["L", "Nd"]), min_size=1, max_size=5), max_size=8))
def test_a_query_without_signs_is_its_own_text(words):
    assert understood(" ".join(words)).to_dict() == {"text": " ".join(words)}
