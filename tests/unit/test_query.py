"""No text a user can type makes the full-text search fail, and no operator can be smuggled in."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from septet import Federation, QueryError, Vault
from septet.query.parse import parse
from septet.ranking.profile import TextRules

KEEP = TextRules(stop_words="keep", grams=False)
DROP = TextRules(stop_words="drop", grams=False)
GRAMS = TextRules(stop_words="drop", grams=True)


@pytest.fixture(scope="module")
def fts():
    with closing(sqlite3.connect(":memory:")) as sql:
        sql.execute("CREATE VIRTUAL TABLE t USING fts5(a, b, tokenize = 'porter unicode61 remove_diacritics 2')")
        sql.execute("INSERT INTO t VALUES ('alpha', 'beta')")
        yield sql


@pytest.fixture(scope="module")
def vault():
    with Vault(":memory:") as made:
        made.add(id="a", title="alpha near beta", description="NOT a column: title OR c++ und C# 日本語", tags=["x*"])
        yield made


HOSTILE = [
    '"',
    '""',
    "'",
    '"alpha',
    "alpha AND",
    "AND OR NOT NEAR",
    "NEAR(alpha beta, 5)",
    "title: alpha",
    "{title id}: alpha",
    "-title: alpha",
    "alpha*",
    "^alpha",
    "alpha + beta",
    "(((((alpha",
    "alpha)))))",
    "\x00",
    "alpha\x00beta",
    "'; DROP TABLE entries; --",
    "🙂",
    "👩‍👩‍👧‍👦 alpha",
    "\u0301",
    "\u200b\u200d",
    "\ud800",
    "alpha \udfff",
    "%_[]?*",
    "C++",
    "a",
    "the of and",
    "日",
    "ก",
    "\ufeff",
    "\uffff",
    "\U0010ffff",
    "İ",
    "ﬁ ﬂ",
]


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
@pytest.mark.parametrize("profile", ["septet", "seven-signals", "six-signals"])
def test_hostile_queries_get_an_answer(vault, text, profile):
    results = vault.search(text, profile=profile, include_memories=True)
    assert len(results) or results.notes or parse(text, GRAMS).terms
    vault.explain(text, "a", profile=profile)


@pytest.mark.parametrize("rules", [KEEP, DROP, GRAMS], ids=["keep", "drop", "grams"])
@example(text='"')
@example(text="\x00")
@example(text="\ud800")
@example(text="a\u0301 \u0301")
@given(text=st.one_of(st.text(), st.text(alphabet='"*^:+-(){}, ANDORTE\x00\né字ก🙂', max_size=40)))
def test_sqlite_takes_the_expression_made_from_any_text(fts, rules, text):
    query = parse(text, rules)
    if query.terms:
        fts.execute("SELECT * FROM t WHERE t MATCH ?", (query.match,)).fetchall()
        assert '"' not in "".join(query.terms)


@given(st.text())
def test_terms_are_lower_case_and_within_the_limit(text):
    query = parse(text, TextRules(max_terms=5))
    assert len(query.terms) <= 5
    assert query.cut == 0 or len(query.terms) == 5


def test_operators_and_column_names_are_plain_words():
    assert parse("title:alpha AND NOT beta* NEAR(x)", KEEP).match == '"title" OR "alpha" OR "and" OR "not" OR ' + (
        '"beta" OR "near"'
    )


def test_short_terms_are_dropped_unless_nothing_else_is_left():
    assert parse("C++ is 1 x language", KEEP).terms == ("is", "language")
    assert parse("C++", KEEP).terms == ("c",)
    assert parse("a b", KEEP).terms == ("a", "b")


def test_stop_words_are_dropped_unless_nothing_else_is_left():
    assert parse("how does the validation work", DROP).terms == ("validation", "work")
    assert parse("the of and", DROP).terms == ("the", "of", "and")
    assert parse("the validation", KEEP).terms == ("the", "validation")


def test_repeated_words_stay_repeated():
    assert parse("test the test", DROP).terms == ("test", "test")


def test_punctuation_of_every_kind_splits():
    assert parse("foo-bar_baz.qux/quux\\corge#grault", KEEP).terms == (
        *("foo", "bar", "baz", "qux"),
        *("quux", "corge", "grault"),
    )


def test_an_accented_query_finds_both_spellings(vault):
    with Vault(":memory:") as made:
        made.add(id="nfc", title="caf\u00e9")
        made.add(id="nfd", title="cafe\u0301")
        for spelling in ("caf\u00e9", "cafe\u0301", "cafe", "CAF\u00c9"):
            assert sorted(made.search(spelling).ids) == ["nfc", "nfd"]


@pytest.mark.parametrize("text", ["", "   ", "!?", '"()"', "\x00\x01", "🙂"], ids=ascii)
def test_a_query_without_a_word_gives_an_empty_result_with_a_note(vault, text):
    results = vault.search(text)
    assert results.ids == []
    (note,) = results.notes
    wanted = "the query contains no letter or digit" if text.strip() else "the query is empty"
    assert (note.code, note.cause) == ("no_terms", wanted)
    assert "entries(where)" not in note.cure


@pytest.mark.parametrize("text", ["", "!?"])
@pytest.mark.parametrize("narrowed", [{"where": {"domain": "d"}}, {"domain": "d"}, {"kinds": "entry"}], ids=str)
def test_a_filter_without_a_query_is_told_what_lists(vault, text, narrowed):
    for asked in (vault, Federation({"agent": vault})):
        (note,) = asked.search(text, **narrowed).notes
        assert note.code == "no_terms" and "entries(where) lists matching entries" in note.cure


@pytest.mark.parametrize("query", [None, 5, b"alpha", ["alpha"]])
def test_a_query_that_is_no_text_is_an_error(vault, query):
    with pytest.raises(QueryError, match=r"query is .*wanted text"):
        vault.search(query)


@pytest.mark.parametrize(
    "text",
    ["alpha beta " * 95_000, "a" * 1_000_000, "日本語" * 120_000, '"' * 1_000_000, "alpha\x00" * 170_000],
    ids=["words", "one word", "Japanese", "quotes", "NUL"],
)
def test_a_megabyte_of_text_gets_an_answer(vault, text):
    results = vault.search(text)
    cut = [n for n in results.notes if n.code == "query_cut"]
    lost = parse(text, GRAMS).cut
    assert [n.cause for n in cut] == [f"the query is too long: its last {lost} terms were dropped"] * bool(lost)
    assert results.degraded == bool(cut)


def test_four_thousand_terms_are_still_one_expression(vault):
    words = " ".join(f"w{i}" for i in range(5_000))
    results = vault.search(f"alpha {words}", profile={"extends": "seven-signals", "text": {"max_terms": 4096}})
    assert results.ids == ["a"]


def test_a_lone_surrogate_in_a_query_does_not_hide_the_other_words(vault):
    assert vault.search("\ud800 alpha").ids == ["a"]
