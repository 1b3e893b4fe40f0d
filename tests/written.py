"""Writes to a store, local or on a server, for tests that compare what both have stored."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from septet.errors import EntryError
from septet.model.links import Link
from septet.postgres.store.store import PostgresStore
from septet.postgres.tables import blocks, checking
from septet.sqlite.tables.entries import checked_row
from septet.store.rows import FeedbackRow, Keeping

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

TEXTS_DRAWN = st.lists(st.sampled_from(WORDS_OF_TEXTS), max_size=6).map(" ".join)
_times = st.sampled_from([None, NOW - 50, NOW + 50])
TAGS = st.lists(st.sampled_from(["net", "Größe", "a b", 'q"uote']), max_size=2, unique=True)
_entries = st.fixed_dictionaries(
    {
        "id": st.sampled_from(IDS),
        "title": TEXTS_DRAWN.map(lambda text: text or "untitled"),
        "description": TEXTS_DRAWN,
        "context": TEXTS_DRAWN,
        "tags": TAGS,
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
    TAGS.map(lambda tags: {"tags": json.dumps(tags, ensure_ascii=False, separators=(",", ":"))}),
    st.just({"domain": "moved", "attrs": '{"moved":true}'}),
    _times.map(lambda until: {"valid_until": until}),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("upsert"), st.lists(_entries, min_size=1, max_size=5)),
        st.tuples(st.just("erase"), _some),
        st.tuples(st.just("set_columns"), _some, _columns),
        st.tuples(st.just("set_tags"), _some, TAGS),
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
            return [t.feedback.record(write, FeedbackRow("q", one, "accepted", at)) for one in sorted(found)]
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
            "links of each": {one: t.links.links_of(read, [one]) for one in ids},
            "feedback": [*t.feedback.all_rows(read)],
            "actions": t.feedback.counts(read),
            "days": t.feedback.by_day(read),
            "counts": [
                t.entries.count(read), t.links.count(read), t.changing.erased(read),
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
        while blocks.fold(sql, store.vault):
            pass


def faults(store):
    """Return what is wrong with postings and counts."""
    with store.reading() as read:
        return checking.faults(read)
