"""Writes on PostgreSQL: they store what SQLite stores, and postings and counts are always those of the entries."""

from __future__ import annotations

import json
import threading
from itertools import count, pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from septet import _core
from septet.errors import EntryError
from septet.query.filters import parse_where
from septet.storage.postgres import locks
from septet.storage.postgres.analysis import GRAMS, MEMORIES, TEXTS, TFIDF, TRIGRAMS, WORDS, Texts
from septet.storage.postgres.store import PostgresStore
from septet.storage.postgres.tables import checking, counts, indexing
from septet.storage.store import Store
from septet.storage.tables.entries import checked_row
from septet.storage.tables.feedback import Feedback
from septet.storage.tables.history import Keeping
from septet.storage.tables.links import Link
from twins.slow_analysis import slow_analysis

NOW = 1_700_000_000.0
IDS = ["a", "b", "c", "a#1", "a#2", "größe", "漢字"]
WORDS_OF_TEXTS = [
    "retry",
    "retries",
    "backoff",
    "Größe",
    "getUserName",
    "漢字かな",
    "the",
    "café",
    "x",
    "42",
    "한국어",
    "-",
]

_texts = st.lists(st.sampled_from(WORDS_OF_TEXTS), max_size=6).map(" ".join)
_times = st.sampled_from([None, NOW - 50, NOW + 50])
_tags = st.lists(st.sampled_from(["net", "Größe", "a b", 'q"uote']), max_size=2, unique=True)
_entries = st.fixed_dictionaries(
    {
        "id": st.sampled_from(IDS),
        "title": _texts.map(lambda text: text or "untitled"),
        "description": _texts,
        "context": _texts,
        "tags": _tags,
        "kind": st.sampled_from(["entry", "memory", "pattern"]),
        "parent": st.sampled_from([None, None, "a", "b"]),
        "valid_from": st.sampled_from([None, NOW - 100]),
        "valid_until": _times,
        "attrs": st.sampled_from([{}, {"n": 1.5, "team": "x"}]),
    },
    optional={"created_at": st.sampled_from([NOW - 7, NOW + 0.1])},
)
_some = st.lists(st.sampled_from(IDS), min_size=1, max_size=3, unique=True)
_columns = st.one_of(
    st.sampled_from(["entry", "memory"]).map(lambda kind: {"kind": kind}),
    _tags.map(lambda tags: {"tags": json.dumps(tags, ensure_ascii=False, separators=(",", ":"))}),
    st.just({"domain": "moved", "attrs": '{"moved":true}'}),
    _times.map(lambda until: {"valid_until": until}),
)
_steps = st.lists(
    st.one_of(
        st.tuples(st.just("upsert"), st.lists(_entries, min_size=1, max_size=5)),
        st.tuples(st.just("erase"), _some),
        st.tuples(st.just("set_columns"), _some, _columns),
        st.tuples(st.just("set_tags"), _some, _tags),
        st.tuples(st.just("set_attrs"), _some, st.just({"n": [1, "ü"]})),
        st.tuples(st.just("link"), _some, _some),
        st.tuples(st.just("unlink"), _some, _some),
        st.tuples(st.just("feedback"), _some),
        st.tuples(st.just("clear")),
        st.tuples(st.just("purge")),
        st.tuples(st.just("fold")),
    ),
    max_size=10,
)
_names = count(1)


@pytest.fixture
def store(dsn, vault_name):
    """A vault's store."""
    with_buckets = PostgresStore(dsn, vault_name, buckets=5)
    yield with_buckets
    with_buckets.close()


def keeping(at, call="add"):
    """How earlier versions are kept."""
    return Keeping(call, at, 3)


def rows_of_entries(items, now=NOW):
    """Return fields of entries as rows."""
    return [checked_row(fields, now=now) for fields in items]


def add(store, *items, at=NOW):
    """Store entries in one transaction."""
    rows = rows_of_entries(items, at)
    with store.writing() as write:
        write.tables.entries.upsert(write, rows, rows, keeping(at))
    return [row.id for row in rows]


def act(store, at, what, *given):
    """Do one step."""
    if what == "fold":
        if isinstance(store, PostgresStore):
            fold(store)
        return None
    with store.writing() as write:
        t = write.tables
        if what == "upsert":
            rows = rows_of_entries(given[0], at)
            own = list({row.id: row for row in rows}.values())
            return t.entries.upsert(write, rows, own, keeping(at))
        if what == "clear":
            return t.feedback.clear(write)
        if what == "purge":
            return t.entries.purge(write)
        rows = t.entries.rows_of(write, given[0])
        if what == "erase":
            return t.changing.erase(write, rows)
        if what == "set_columns":
            return t.changing.set_columns(write, rows, given[1], keeping(at, "update_many"), touch="kind" in given[1])
        if what == "set_tags":
            text = json.dumps(given[1], ensure_ascii=False, separators=(",", ":"))
            return t.changing.set_tags(write, rows, [text] * len(rows), keeping(at))
        if what == "set_attrs":
            every = [row for row, _ in t.changing.attrs_at(write, rows)]
            text = json.dumps(given[1], ensure_ascii=False, separators=(",", ":"))
            return t.changing.set_attrs(write, [(row, text) for row in every], keeping(at))
        if what == "feedback":
            found = t.entries.find(write, given[0])
            return [t.feedback.record(write, Feedback("q", one, "accepted", at)) for one in sorted(found)]
        found = t.entries.find(write, [*given[0], *given[1]])
        ends = [(s, o) for s in given[0] for o in given[1] if s != o and s in found and o in found]
        if what == "unlink":
            return [t.links.remove(write, *pair) for pair in ends]
        return t.links.put(write, [Link(*pair, "related", f"at {at}") for pair in ends])


def told(store, step, fault_types=(EntryError,)):
    """Do a step and return what came of it: an answer, or an error as text."""
    try:
        return act(store, *step)
    except fault_types as fault:
        return f"{type(fault).__name__}: {fault}"


def state(store):
    """Return everything that is stored, with rows as places in their order."""
    with store.reading() as read:
        t = read.tables
        entries = [tuple(one[1:]) for one in t.entries.live(read)]
        ids = [one[0] for one in entries]
        order = [one.id for one in t.listings.run(read, 0, t.listings.last_row(read))]
        return {
            "entries": entries,
            "order": order,
            "history": {one: t.history.of_entry(read, one) for one in ids},
            "links": sorted(t.links.all_links(read)),
            "links of each": {one: t.links.links_of(read, one) for one in ids},
            "near": {one: t.links.distances(read, [one], 2) for one in ids},
            "feedback": [*t.feedback.all_rows(read)],
            "actions": t.feedback.counts(read),
            "days": t.feedback.by_day(read),
            "counts": [
                t.entries.count(read), t.links.count(read), t.links.any_links(read), t.changing.erased(read),
                *(t.entries.count_searchable(read, memories=memories) for memories in (False, True)),
                *(t.entries.any_searchable(read, memories=memories) for memories in (False, True)),
            ],
            "kinds": t.entries.kinds(read),
            "parts": sorted(t.parts.of(read, ids)),
        }  # fmt: skip


def number(read, sql):
    """Return the one number that a statement about a vault gives."""
    return read.sql.execute(sql, (read.vault.number,)).fetchone()[0]


def fold(store):
    """Fold until nothing is left of it."""
    with store.maintaining() as sql:
        while counts.fold(sql, store.vault):
            pass


def faults(store):
    """Return what is wrong with postings and counts."""
    with store.reading() as read:
        return checking.faults(read)


@given(_steps)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_writes_leave_what_sqlite_has_and_counts_of_all_of_it(dsn, steps):
    local = Store(":memory:")
    remote = PostgresStore(dsn, f"twin-{next(_names)}", buckets=3)
    try:
        for at, step in enumerate(steps):
            one, other = (told(store, (NOW + at, *step)) for store in (local, remote))
            assert one == other
        assert state(remote) == state(local)
        assert faults(remote) == []
        fold(remote)
        assert faults(remote) == []
    finally:
        local.close()
        remote.close()


def test_sums_are_the_same_before_and_after_a_fold(store):
    add(store, *({"id": f"e{n}", "title": f"retry {n % 3}", "tags": ["net"]} for n in range(20)))
    add(store, {"id": "m", "title": "retry", "kind": "memory"})
    with store.reading() as before:
        expected = counts.everything(before)
        fold(store)
        # The snapshot of before still has the differences.
        assert counts.everything(before) == expected
    with store.reading() as after:
        assert counts.everything(after) == expected == checking.rebuilt(after)
        assert number(after, "SELECT count(*) FROM septet.count_changes WHERE vault = %s") == 0
        found = counts.asked(after, {TEXTS: ["retri", "none", "net"], MEMORIES: ["retri"], TFIDF: ["net"]})
    assert found.counts == {TEXTS: {"retri": 20, "net": 20}, MEMORIES: {"retri": 1}, TFIDF: {"net": 20}}
    assert found.totals[TEXTS] == (20, 20 * 4)
    assert found.of_all(TEXTS, memories=True) == ((21, 82), {"retri": 21, "net": 20})


def test_terms_that_no_entry_holds_any_more_leave_the_sums(store):
    add(store, {"id": "a", "title": "zebra"})
    fold(store)
    act(store, NOW, "erase", ["a"])
    fold(store)
    with store.reading() as read:
        assert counts.everything(read) == counts.Counted({}, {})
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
        assert counts.fold(sql, store.vault) == 1
        assert counts.fold(other, store.vault) == 0
    assert faults(store) == []


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


def test_rows_come_in_the_order_of_arrival_and_say_their_bucket(store):
    ids = add(store, *({"id": f"e{n}", "title": "x y"} for n in range(99, -1, -1)))
    with store.reading() as read:
        rows = [read.tables.entries.find(read, [one])[one].row for one in ids]
        assert rows == sorted(rows)
        assert [store.vault.bucket_of_row(row) for row in rows] == [store.bucket_of(one) for one in ids]
        assert [one.id for one in read.tables.entries.read_rows(read, rows[::-1])] == ids[::-1]
        assert read.tables.entries.ids_beginning(read, "e9", 3) == ["e9", "e90", "e91"]


def test_terms_that_an_index_cannot_hold_are_kept_under_another_name(store):
    long, cut = "é" * 9_000, "カッed カッing"
    add(store, {"id": "long", "title": long, "description": cut})
    assert faults(store) == []
    terms = _core.stored_terms([*_core.index_terms(long), *_core.index_terms(cut)])
    with store.reading() as read:
        assert counts.of(read, TEXTS, terms) == dict.fromkeys(terms, 1)


@pytest.mark.parametrize(
    "fields",
    [
        {"title": "a\0b"},
        {"description": "a\0b"},
        {"attrs": {"x": ["a\0b"]}},
        {"attrs": {"a\0b": 1}},
        {"domain": "a\0b"},
    ],
)
def test_an_entry_with_a_nul_is_refused_before_anything_is_written(store, fields):
    with pytest.raises(EntryError, match="NUL character, which PostgreSQL does not store"):
        add(store, {"id": "fine", "title": "fine"}, {"id": "other", "title": "other", **fields})
    assert state(store)["entries"] == []
    assert faults(store) == []


def test_text_that_only_looks_like_a_nul_in_json_is_stored(store):
    add(store, {"id": "a", "title": "\\u0000", "attrs": {"x": "\\u0000"}, "tags": ["\\u0000"]})
    (stored,) = state(store)["entries"]
    assert stored[5] == "\\u0000"
    assert json.loads(stored[9]) == {"x": "\\u0000"}


def test_an_id_with_a_nul_is_no_entry(store):
    add(store, {"id": "a", "title": "a"})
    with store.reading() as read:
        t = read.tables
        assert t.entries.find(read, ["a\0", "a"]).keys() == {"a"}
        assert t.entries.rows_of(read, ["a\0"]) == t.entries.ids_beginning(read, "a\0", 9) == []
        assert t.listings.held(read, ["a\0", "a"]) == {"a"}
        assert t.links.links_of(read, "a\0") == t.history.of_entry(read, "a\0") == []


def test_a_change_of_columns_with_a_nul_changes_nothing(store):
    add(store, {"id": "a", "title": "a"})
    for columns in ({"domain": "a\0b"}, {"tags": '["a\\u0000b"]'}, {"attrs": '{"a":"\\u0000"}'}):
        with pytest.raises(EntryError, match="NUL"):
            act(store, NOW, "set_columns", ["a"], columns)
    assert state(store)["entries"][0][3] == "general"


def test_entries_are_chosen_by_a_filter_and_stay_locked(store, dsn, vault_name):
    add(store, *({"id": f"e{n}", "title": "retry", "domain": "old" if n % 2 else "new"} for n in range(10)))
    other = PostgresStore(dsn, vault_name)
    chosen, done = threading.Event(), []

    def rewrite():
        chosen.wait(10)
        add(other, {"id": "e1", "title": "later", "domain": "late"})
        done.append("rewritten")

    thread = threading.Thread(target=rewrite)
    thread.start()
    try:
        with store.writing() as write:
            t = write.tables
            rows = t.changing.rows_where(write, parse_where({"domain": "old"}))
            assert t.entries.ids_at(write, rows) == ["e1", "e3", "e5", "e7", "e9"]
            chosen.set()
            waits = (
                "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objsubid = 1 "
                "AND ((classid::bigint << 32) | objid::bigint) = %s::bigint"
            )
            while not write.sql.execute(waits, (locks.lock_key(store.vault.number, "id", "e1"),)).fetchone()[0]:
                assert not done
            t.changing.set_columns(write, rows, {"domain": "moved"}, keeping(NOW), touch=False)
        thread.join(10)
        assert done == ["rewritten"]
        with store.reading() as read:
            domains = {one: c.domain for one, c in read.tables.entries.find(read, [f"e{n}" for n in range(10)]).items()}
        assert domains == {f"e{n}": ("late" if n == 1 else "moved" if n % 2 else "new") for n in range(10)}
    finally:
        thread.join(10)
        other.close()


def test_more_entries_than_a_server_has_locks_for_lock_the_vault(store, dsn, vault_name):
    with store.writing() as write:
        locks.hold(write, [f"e{n}" for n in range(locks.MOST_IDS)])
        assert len(write.held.keys) == locks.MOST_IDS
        assert not write.held.all
        locks.hold(write, ["e0", "e1"])
        assert not write.held.all
        locks.hold(write, ["one more"])
        assert write.held.all
        own = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()"
        (held,) = write.sql.execute(own).fetchone()
        # Those of the ids, and the vault's twice: shared and alone.
        assert held == locks.MOST_IDS + 2


def test_faults_are_found(store):
    add(store, *({"id": f"e{n}", "title": "retry policy"} for n in range(3)))
    with store.maintaining() as sql:
        first = "(SELECT min(row) FROM septet.postings WHERE vault = %(vault)s)"
        sql.execute(
            f"DELETE FROM septet.postings WHERE vault = %(vault)s AND term = 'retri' AND row = {first}",
            {"vault": store.vault.number},
        )
    entry, postings = faults(store)
    assert entry.startswith("1 entries from row")
    assert postings == "there are 8 postings for 9"
    with store.writing() as write:
        counts.add(write, store.vault.first_bucket, {TEXTS: {"retri": -1}}, {TEXTS: (0, 5)})
    assert [fault for fault in faults(store) if fault.startswith("part 0")] == [
        "part 0 has the totals Total(rows=3, tokens=14) for Total(rows=3, tokens=9)",
        "part 0 has wrong counts of 1 terms",
    ]


@given(st.lists(st.tuples(*[st.text(max_size=20) | _texts] * 4, _tags), max_size=5))
@settings(max_examples=60, deadline=None)
def test_the_analysis_of_texts_is_what_the_slow_one_says(items):
    texts = []
    for number, (title, description, context, more, tags) in enumerate(items):
        plain = json.dumps(tags, ensure_ascii=False)
        texts.append(Texts(f"e{number}", title, description, context, plain, " ".join(_core.grams(more))))
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
