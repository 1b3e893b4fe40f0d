"""Entries that need no more than a look become the rows that the checks make of them; all others are left to these."""

import math
from collections import OrderedDict
from datetime import datetime, timezone
from enum import Enum
from hashlib import blake2b

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from septet import EntryError, _core
from septet.model.drafts import attrs_text, checked_attrs, draft
from septet.model.entry import FIELDS
from septet.ranking.pool import json_text
from septet.sqlite.tables.entries import checked_row, row_of

NOW = 1_700_000_000.0


class Text(str):
    """A subclass of `str`: what it says of itself may differ from its characters."""


LETTERS = "abzAZ09_- .,\"\\'éßĐÅ\u0301漢字ｶ\u200d\u00a0\u2003\n\t\x00\x1c\x1f\x7f\x85\u3000"
words = st.one_of(st.text(LETTERS, max_size=12), st.text(max_size=8), st.sampled_from(["getUserName", "sha256", "x"]))
odd = st.sampled_from([None, 5, b"bytes", True, "", "  ", "\ud800", "l" * 256, "é" * 256, "l" * 257, Text("sub")])
labels = st.one_of(words, odd)
tags = st.one_of(
    st.lists(st.one_of(words, st.sampled_from(["a", "a", "b"])), max_size=5),
    st.lists(words, max_size=3).map(tuple),
    st.sampled_from([None, "tag", {"a"}, [1], ["a", None], ["\ud800"], [Text("sub")], {"a": 1}]),
)
times = st.one_of(
    st.sampled_from([None, True, math.nan, math.inf, "1", 2**53, 2**53 + 1, 10**400, NOW + 1]),
    st.integers(-5, 5),
    st.floats(-5, 5),
    st.just(datetime(2026, 1, 1, tzinfo=timezone.utc)),
)
spans = st.sampled_from([None, {"path": "a.py", "first_line": 1, "last_line": 2}, {"path": "a.py"}, "a.py"])
severities = st.sampled_from([None, "critical", "warning", "suggestion", "urgent", 1, Text("warning")])
trusts = st.sampled_from([None, "trusted", "unverified", "untrusted", "Trusted", 1, Text("trusted")])
fields = st.fixed_dictionaries(
    {"title": labels},
    optional={
        **dict.fromkeys(("id", "description", "context", "kind", "type", "domain", "parent", "source"), labels),
        **dict.fromkeys(("created_at", "updated_at", "valid_from", "valid_until"), times),
        "tags": tags,
        "severity": severities,
        "trust": trusts,
        "attrs": st.sampled_from([None, {}, {"k": [1, "é"]}, {1: 2}, []]),
        "span": spans,
        "colour": st.just(1),
    },
)


def checked(given_fields):
    try:
        return row_of(draft(given_fields, now=NOW))
    except EntryError as fault:
        return str(fault)


def plain(given_fields, attrs=None, span=None):
    """The row, if a look is enough; neither attrs nor a span is converted unless it is told how."""
    rows = _core.plain_rows([given_fields], NOW, attrs or refuse, span or refuse, tuple)
    return None if rows is None else rows[0]


def refuse(value):
    raise EntryError(f"asked to convert {value!r}")


def looked_at(given_fields):
    try:
        return checked_row(given_fields, now=NOW)
    except EntryError as fault:
        return str(fault)


@given(fields)
@example({"title": "t", "created_at": 3, "updated_at": 2})
@example({"title": "t", "valid_from": 3.0, "valid_until": 2.5})
@example({"title": "\u3000\u2003"})
@example({"title": "漢"})
def test_a_look_and_the_checks_say_the_same(given_fields):
    assert repr(looked_at(given_fields)) == repr(checked(given_fields))


def test_plain_entries_of_every_field_need_no_checks():
    full = {
        "id": "x", "title": "getUserName", "description": "straße 漢字", "context": "c", "kind": "memory", "type": "t",
        "domain": "d", "severity": "warning", "tags": ['q"\\', "q", "q"], "created_at": 1, "updated_at": 2.5,
        "valid_from": 3, "valid_until": 4.0, "parent": "p", "source": "user",
        "trust": "untrusted", "attrs": {}, "span": None,
    }  # fmt: skip
    assert full.keys() == FIELDS
    for count in range(len(full)):
        some = {"title": "getUserName", **dict(list(full.items())[:count])}
        assert plain(some) == checked(some)
    assert plain(dict.fromkeys(full) | {"title": "漢"}) == checked({"title": "漢"})


def test_attrs_and_spans_are_converted_by_those_who_know_how():
    some = {"title": "t", "attrs": {"k": 1}, "span": "a.py:1"}
    row = plain(some, attrs=repr, span=lambda value: tuple(value.partition(":")))
    assert row[10:14] == ("{'k': 1}", "a.py", ":", "1")
    assert plain(some) is plain(some, attrs=repr) is None


def test_an_interrupt_while_a_field_is_converted_is_an_interrupt():
    def interrupt(value):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        plain({"title": "t", "attrs": {"k": 1}}, attrs=interrupt)


def test_what_is_no_dict_is_left_to_the_checks():
    for value in (OrderedDict(title="t"), None, 5, "title", {1: 2}, {Text("title"): "t"}, {"\ud800": 1}):
        assert plain(value) is None


@given(st.lists(st.text(max_size=300).filter(lambda t: t.isprintable()), max_size=3))
@example(["a" * 120])
@example(["a" * 121])
@example(["a" * 248])
@example([""])
def test_digests_are_blake2b_of_lengths_and_texts(texts):
    raw = [text.encode("utf-8") for text in texts]
    wanted = blake2b(b"".join(len(r).to_bytes(8, "little") + r for r in raw), digest_size=16).hexdigest()
    assert _core.text_hash(*texts) == wanted


class Word(str, Enum):
    """Members of it are equal to texts, and have another hash."""

    A = "a"


leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.just(10**20),
    st.floats(),
    words,
    st.just("\ud800"),
    st.just(Word.A),
)
keys = st.one_of(words, st.sampled_from(["a", Word.A, Text("a"), 1, None, "\ud800"]))
attrs = st.dictionaries(
    keys,
    st.one_of(
        leaves,
        st.lists(leaves, max_size=3),
        st.lists(leaves, max_size=3).map(tuple),
        st.dictionaries(keys, st.lists(leaves, max_size=2), max_size=2),
        st.just({1}),
    ),
    max_size=3,
)


@example({"a": 1, Word.A: 2})
@example({"a": [math.nan]})
@example(OrderedDict(a=1))
@example([])
@example(None)
@given(attrs)
def test_the_text_of_attrs_is_that_of_checked_attrs(value):
    def told(work):
        try:
            return work(value)
        except EntryError as fault:
            return str(fault)

    assert told(attrs_text) == told(lambda given: json_text(checked_attrs(given)))
