"""Counts on PostgreSQL: exact in every snapshot, folded by writers, and checked against the entries."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import heavy
from septet import _core
from septet.postgres.store.analysis import GRAMS, MEMORIES, TEXTS, TFIDF, TRIGRAMS, WORDS, EntryTexts
from septet.postgres.store.store import PostgresStore
from septet.postgres.tables import blocks, checking, counts, indexing
from twins.slow_analysis import slow_analysis
from written import NOW, TAGS, TEXTS_DRAWN, WORDS_OF_TEXTS, act, add, faults, fold, number


@pytest.fixture
def store(dsn, vault_name):
    """A vault's store."""
    with_buckets = PostgresStore(dsn, vault_name, buckets=5)
    yield with_buckets
    with_buckets.close()


def test_sums_are_the_same_before_and_after_a_fold(store):
    add(store, *({"id": f"e{n}", "title": f"retry {n % 3}", "tags": ["net"]} for n in range(20)))
    add(store, {"id": "m", "title": "retry", "kind": "memory"})
    with store.reading() as before:
        expected = counts.everything(before)
        fold(store)
        # The snapshot of before still has the differences.
        assert counts.everything(before) == expected
    with store.reading() as after:
        assert counts.everything(after) == expected
        assert checking.faults(after) == []
        assert number(after, "SELECT count(*) FROM septet.count_changes WHERE vault = %s") == 0
        found = counts.fetch(after, {TEXTS: ["retri", "none", "net"], MEMORIES: ["retri"], TFIDF: ["net"]})
    assert found.counts == {TEXTS: {"retri": 20, "net": 20}, MEMORIES: {"retri": 1}, TFIDF: {"net": 20}}
    assert found.totals[TEXTS] == (20, 20 * 4)
    assert found.of_all(TEXTS, memories=True) == ((21, 82), {"retri": 21, "net": 20})


def test_all_numbers_of_a_name_are_counted_and_those_of_no_other(store):
    names = [f"{name}:{number}" for name in ("1", "11", "2", "10") for number in range(21)]
    buckets = sorted({counts.bucket_of_term(store.vault, name) for name in names})
    asked = counts.Numbered(["1", "2"], [5, 21], buckets)
    for times in (1, 2):
        with store.writing() as write:
            own = dict.fromkeys(names, 3)
            counts.add(write, store.vault.first_bucket, dict.fromkeys((5, 6, 21), own), {})
        expected = {name: 3 * times for name in names if name.split(":", maxsplit=1)[0] in ("1", "2")}
        for _ in range(2):
            with store.reading() as read:
                found = counts.fetch(read, {6: ["11:4"]}, asked).counts
            assert found == {5: expected, 6: {"11:4": 3 * times}, 21: expected}
            # The second differences are beside the sums of the first.
            if times == 1:
                fold(store)


def test_terms_that_no_entry_holds_any_more_leave_the_sums(store):
    add(store, {"id": "a", "title": "zebra"})
    fold(store)
    act(store, NOW, "erase", ["a"])
    fold(store)
    with store.reading() as read:
        assert counts.everything(read) == counts.PartCounts({}, {})
        assert number(read, "SELECT count(*) FROM septet.term_counts WHERE vault = %s") == 0


def test_a_text_of_many_words_that_goes_leaves_the_sums_within_a_statements_time(store):
    add(store, {"id": "a", "title": " ".join(f"w{n}" for n in range(8_000))})
    fold(store)
    act(store, NOW, "erase", ["a"])
    with store.maintaining() as sql:
        # A comparison of every term with every other would take many times as long.
        sql.execute("SET statement_timeout = '30s'")
        while blocks.fold(sql, store.vault):
            pass
        sql.execute("RESET statement_timeout")
    with store.reading() as read:
        assert number(read, "SELECT count(*) FROM septet.term_counts WHERE vault = %s") == 0


def test_many_writes_are_folded_by_the_writers(store, monkeypatch):
    monkeypatch.setattr(counts, "MOST_ROWS", 4)
    for n in range(20):
        add(store, {"id": f"e{n}", "title": "retry"})
    with store.reading() as read:
        assert number(read, "SELECT count(*) FROM septet.count_changes WHERE vault = %s") < 4
        assert counts.of(read, TEXTS, ["retri"]) == {"retri": 20}
    assert faults(store) == []


def test_a_second_fold_at_once_does_nothing(store):
    add(store, {"id": "a", "title": "retry"})
    with store.maintaining() as sql, store.maintaining() as other, sql.transaction():
        assert blocks.fold(sql, store.vault) == 1
        assert blocks.fold(other, store.vault) == 0
    assert faults(store) == []


def test_folding_all_ends_whatever_others_add_meanwhile(store, monkeypatch):
    for number_ in range(3):
        add(store, {"id": f"e{number_}", "title": "retry"})
    fold_once, folds = blocks.fold, []

    def beside_a_writer(sql, vault):
        assert len(folds) < 10
        add(store, {"id": f"beside{len(folds)}", "title": "retry"})
        folds.append(fold_once(sql, vault))
        return folds[-1]

    monkeypatch.setattr(blocks, "fold", beside_a_writer)
    store.upkeep()
    assert folds == [4]
    with store.reading() as read:
        assert checking.faults(read) == []


def test_a_batch_of_many_is_written_as_one_by_one_is(store, dsn, vault_name):
    items = [
        {"id": f"e{n % 150}", "title": f"retry {n}", "description": WORDS_OF_TEXTS[n % 12] * 3, "tags": [f"t{n % 7}"]}
        for n in range(200)
    ]
    add(store, *items)
    add(store, *items[100:])
    other = PostgresStore(dsn, f"{vault_name}-one", buckets=5)
    try:
        for item in (*items, *items[100:]):
            add(other, item)
        with store.reading() as read, other.reading() as one:
            assert counts.everything(read) == counts.everything(one)
            columns = "bucket & 1023, part, term, memory, id, title, description, context, tags, tokens"
            sql = f"SELECT {columns} FROM septet.postings WHERE vault = %s ORDER BY {columns}"
            every = [r.sql.execute(sql, (r.vault.number,)).fetchall() for r in (read, one)]
        assert every[0] == every[1]
        assert faults(store) == faults(other) == []
    finally:
        other.close()


def test_faults_are_found(store):
    add(store, *({"id": f"e{n}", "title": "retry policy"} for n in range(3)))
    with store.maintaining() as sql:
        first = "(SELECT min(row) FROM septet.postings WHERE vault = %(vault)s)"
        sql.execute(
            f"DELETE FROM septet.postings WHERE vault = %(vault)s AND term = 'retri' AND row = {first}",
            {"vault": store.vault.number},
        )
    entry, postings = faults(store)
    assert entry.startswith("postings of 1 entries in rows")
    assert postings == "8 postings are stored, expected 9"
    with store.writing() as write:
        counts.add(write, store.vault.first_bucket, {TEXTS: {"retri": -1}}, {TEXTS: (0, 5)})
    assert [fault for fault in faults(store) if fault.startswith("part 0")] == [
        "part 0 has totals Total(rows=3, tokens=14), expected Total(rows=3, tokens=9)",
        "part 0 has wrong counts for 1 terms",
    ]


@given(st.lists(st.tuples(*[st.text(max_size=20) | TEXTS_DRAWN] * 4, TAGS), max_size=5))
@heavy()
def test_the_analysis_of_texts_is_what_the_slow_one_says(items):
    texts = []
    for at, (title, description, context, more, tags) in enumerate(items):
        plain = json.dumps(tags, ensure_ascii=False)
        texts.append(EntryTexts(f"e{at}", title, description, context, plain, " ".join(_core.grams(more))))
    searched = [f"{one.title} {one.description} {one.context} {one.tags}" for one in texts]
    fast, slow = _core.analysed(texts, searched), slow_analysis(texts, searched)
    for name in ("texts", "grams", "tfidf", "words"):
        one, other = (_by_entry(getattr(found, name)) for found in (fast, slow))
        assert one == other, name
    assert fast.trigrams[2].tolist() == slow.trigrams[2].tolist()


def _by_entry(found):
    names, starts, numbers, *more = found
    counted = more[0].tolist() if more else [()] * len(numbers)
    edges = starts.tolist()
    lists = [{names[numbers[at]]: counted[at] for at in range(*edge)} for edge in pairwise(edges)]
    return lists, more[1].tolist() if more else None


def test_every_part_counts_what_it_should(store):
    add(store, {"id": "a", "title": "Größe getUserName", "description": "retry retry", "tags": ["net"]})
    add(store, {"id": "plain", "title": "retry"})
    with store.reading() as read:
        found = counts.everything(read)
    assert found.counts[TEXTS]["retri"] == 2
    assert found.totals[TEXTS] == (2, 1 + 2 + 2 + 1 + 2)
    # Only one of them has grams.
    assert found.totals[GRAMS].rows == 1
    assert found.counts[GRAMS]["user"] == 1
    assert found.totals[TRIGRAMS].rows == found.totals[TFIDF].rows == found.totals[WORDS].rows == 2
    assert {str(number) for number in _core.trigram_numbers("retry")} <= found.counts[TRIGRAMS].keys()
    assert found.counts[TFIDF]["retry"] == found.counts[WORDS]["retry"] == 2
    assert indexing.indexed(1, True, "entry", "a", "a", "", "", "", "[]", "") is None


def test_terms_that_an_index_cannot_hold_are_kept_under_another_name(store):
    long, cut = "é" * 9_000, "カッed カッing"
    add(store, {"id": "long", "title": long, "description": cut})
    assert faults(store) == []
    terms = _core.stored_terms([*_core.index_terms(long), *_core.index_terms(cut)])
    with store.reading() as read:
        assert counts.of(read, TEXTS, terms) == dict.fromkeys(terms, 1)
