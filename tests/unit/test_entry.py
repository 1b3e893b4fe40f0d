"""Every entry is checked on its way in: a bad field is named, and the vault stays as it was."""

import math
from datetime import datetime, timedelta, timezone

import numpy as np
import pytest

from septet import Entry, EntryError, Span, Vault, VectorError

NOW = 1_700_000_000.0
DAY = 86_400.0


def nested(depth):
    inner = {}
    for _ in range(depth):
        inner = {"a": inner}
    return inner


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: NOW) as made:
        made.add(id="kept", title="Kept", tags=["old"])
        yield made


BAD_FIELDS = [
    ("title", None),
    ("title", ""),
    ("title", " \t\n"),
    ("title", b"bytes"),
    ("title", 5),
    ("title", "lone \ud800 surrogate"),
    ("description", b"\xff\xfe"),
    ("description", ["a list"]),
    ("description", "\udcff"),
    ("context", 1.5),
    ("context", "\udfff"),
    ("kind", ""),
    ("kind", 7),
    ("kind", "k" * 257),
    ("type", " "),
    ("type", "t" * 257),
    ("domain", b"security"),
    ("domain", "d" * 257),
    ("severity", "urgent"),
    ("severity", "CRITICAL"),
    ("severity", 1),
    ("severity", ["critical"]),
    ("tags", "auth"),
    ("tags", b"auth"),
    ("tags", 5),
    ("tags", {"auth": 1}),
    ("tags", (t for t in ["auth"])),
    ("tag", ["ok", 5]),
    ("tag", ["ok", None]),
    ("tag", ["ok", ""]),
    ("tag", ["ok", "  "]),
    ("tag", ["\ud800"]),
    ("attrs", ["a", "list"]),
    ("attrs", {1: "a number as key"}),
    ("attrs", {"x": math.nan}),
    ("attrs", {"x": [1, {"y": math.inf}]}),
    ("attrs", {"x": {1, 2}}),
    ("attrs", {"x": "\ud800"}),
    ("attrs", {"x": datetime.now(timezone.utc)}),
    ("span", "file.py:1"),
    ("span", {"path": "a.py"}),
    ("span", {"path": 1, "first_line": 1, "last_line": 1}),
    ("span", Span("a.py", 0, 3)),
    ("span", Span("a.py", 4, 3)),
    ("span", Span("a.py", True, 3)),
    ("span", Span("\ud800.py", 1, 3)),
    ("created_at", math.nan),
    ("created_at", -math.inf),
    ("created_at", "2026-01-01"),
    ("created_at", True),
    ("created_at", datetime(2026, 1, 1)),
    ("updated_at", datetime(2026, 1, 1)),
    ("valid_from", datetime(2026, 1, 1)),
    ("valid_until", datetime(2026, 1, 1)),
    ("valid_until", math.inf),
    ("id", ""),
    ("id", "  "),
    ("id", 5),
    ("id", b"id"),
    ("id", "i" * 257),
    ("id", "\ud800"),
    ("id", "a\nb"),
    ("id", "a\x00b"),
]


@pytest.mark.parametrize(("name", "value"), BAD_FIELDS)
def test_a_bad_field_is_an_error_that_names_it_and_the_vault_is_unchanged(vault, name, value):
    before = vault.stats()
    fields = {"title": "A title", ("tags" if name == "tag" else name): value}
    with pytest.raises(EntryError, match=rf"\b{name}\b"):
        vault.add(**fields)
    assert vault.stats() == before


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("created_at", 10**400, id="a time beyond every float"),
        pytest.param("attrs", nested(100_000), id="attrs nested beyond Python's recursion limit"),
        pytest.param("tags", np.array(["a", "b"]), id="an array of tags"),
        pytest.param("severity", np.array(["a", "b"]), id="an array as severity"),
    ],
)
def test_an_extreme_value_is_an_error_that_names_the_field(vault, name, value):
    try:
        vault.add(title="A title", **{name: value})
    except EntryError as fault:
        assert name in str(fault)
    else:
        pytest.fail("the value was taken")


@pytest.mark.parametrize("value", ["", 0, False, b"", {}], ids=repr)
def test_falsy_values_that_are_no_list_are_no_tags(vault, value):
    with pytest.raises(EntryError, match="tags"):
        vault.add(title="A title", tags=value)


@pytest.mark.parametrize("name", ["title", "severity", "tags", "attrs", "created_at"])
def test_a_bad_field_in_an_update_leaves_the_entry_as_it_was(vault, name):
    before = vault.get("kept")
    with pytest.raises(EntryError, match=name.rstrip("s")):
        vault.update("kept", **{name: object()}, description="must not be written")
    assert vault.get("kept") == before


def test_an_unknown_field_is_named_and_attrs_are_recommended(vault):
    with pytest.raises(EntryError, match=r"unknown field 'colour'.*attrs"):
        vault.add(title="A title", colour="blue")


@pytest.mark.parametrize(
    "times",
    [
        {"created_at": NOW, "updated_at": NOW - 1},
        {"valid_from": NOW, "valid_until": NOW - 1},
    ],
)
def test_times_out_of_order_are_an_error_that_names_both(vault, times):
    first, second = times
    with pytest.raises(EntryError, match=f"{second}.*{first}"):
        vault.add(title="A title", **times)


def test_equal_times_are_in_order(vault):
    vault.add(id="x", title="A title", created_at=NOW, updated_at=NOW, valid_from=NOW, valid_until=NOW)
    assert vault.get("x").valid_until == NOW


@pytest.mark.parametrize(
    "vector",
    [[], [0.0, 0.0], [1.0, math.nan], [1.0, math.inf], [1e300, 0.0], [[1.0, 2.0]], "text", ["a"], 5.0, {"m": [0.0]}],
    ids=repr,
)
def test_a_bad_vector_is_an_error_and_the_entry_is_not_written(vault, vector):
    with pytest.raises(VectorError, match="vector of 'new'"):
        vault.add(id="new", title="A title", vector=vector)
    assert "new" not in vault


def test_a_vector_of_another_dimension_is_an_error_and_the_entry_is_not_written(vault):
    vault.add(id="three", title="Three", vector=[1, 2, 3])
    with pytest.raises(VectorError, match=r"'new' has 2 dimensions.*given.*3"):
        vault.add(id="new", title="A title", vector=[1, 2])
    assert "new" not in vault


@pytest.mark.parametrize("model", ["", " ", 5, b"m"])
def test_a_model_without_a_name_is_an_error(vault, model):
    with pytest.raises(EntryError, match="model"):
        vault.add(title="A title", vector=[1], model=model)


def test_a_made_id_is_readable_and_always_the_same(vault):
    fields = {"title": "JWT validation, the hard way", "description": "Check exp"}
    first = vault.add(**fields)
    with Vault(":memory:") as other:
        assert other.add(**fields, tags=["other", "tags"]) == first
    assert first.startswith("jwt-validation-the-hard-way-")


def test_made_ids_differ_when_text_moves_between_fields(vault):
    ids = {
        vault.add(title="ab", description="c"),
        vault.add(title="a", description="bc"),
        vault.add(title="ab", context="c"),
    }
    assert len(ids) == 3


def test_a_memory_never_overwrites_an_entry_with_the_same_words(vault):
    entry = vault.add(title="Use WAL")
    vault.remember("Use WAL")
    assert vault.get(entry).kind == "entry"
    assert vault.search("WAL").ids == [entry]


@pytest.mark.parametrize("title", ["日本語のタイトル", "!!!", "\u200b", "a" * 5000, "🙂", "ß" * 300])
def test_any_title_gives_an_id_that_can_be_used(vault, title):
    made = vault.add(title=title)
    assert vault.get(made).title == title
    assert len(made) <= 256


@pytest.mark.parametrize("given", ["i" * 256, "it's", 'say "hi"', "🙂", "a/b:c d", "%_*", "日本", "[1]", "null", "\\"])
def test_ids_may_hold_any_printable_character(vault, given):
    assert vault.add(id=given, title="word " + given) == given
    vault.link("kept", given)
    vault.update(given, domain="d")
    assert vault.search("word", where={"id": given}).ids == [given]
    assert vault.explain("word", given).found
    assert vault.delete(given) == 1


def test_ids_that_normalise_alike_are_two_ids(vault):
    assert vault.add(id="caf\u00e9", title="a") != vault.add(id="cafe\u0301", title="b")
    assert len(vault) == 3


def test_tags_keep_their_order_once_each(vault):
    vault.add(id="x", title="t", tags=["b", "a", "b", "c"])
    assert vault.get("x").tags == ("b", "a", "c")


@pytest.mark.parametrize("tag", ['say "hi"', "back\\slash", "\\n", "😀", "a,b", "[x]", "o'clock", "日本"])
def test_tags_come_back_as_they_were_given_and_can_be_found(vault, tag):
    vault.add(id="x", title="word", tags=[tag])
    assert vault.get("x").tags == (tag,)
    assert vault.search("word", where={"tags": tag}).ids == ["x"]
    (hit,) = vault.search("word", boost_tags=[tag])
    assert hit.signals["tag_overlap"] == 1.0


@pytest.mark.parametrize("tag", ["one\nzwei", "one\tzwei", "one\x01zwei"])
def test_a_control_character_in_a_tag_is_refused(vault, tag):
    with pytest.raises(EntryError, match="control character"):
        vault.add(id="x", title="word", tags=[tag])


def test_a_set_of_tags_is_stored_in_a_stable_order(vault):
    vault.add(id="x", title="t", tags={"c", "a", "b"})
    assert vault.get("x").tags == ("a", "b", "c")


def test_aware_datetimes_and_epoch_seconds_are_the_same_times(vault):
    at = datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=2)))
    vault.add(id="x", title="t", created_at=at, valid_until=at + timedelta(days=1))
    entry = vault.get("x")
    assert (entry.created_at, entry.valid_until) == (at.timestamp(), at.timestamp() + DAY)


@pytest.mark.parametrize(
    ("given", "created", "updated"),
    [
        ({}, NOW, NOW),
        ({"created_at": 5}, 5, 5),
        ({"updated_at": 7}, 7, 7),
        ({"created_at": 5, "updated_at": 7}, 5, 7),
        ({"created_at": -1e10}, -1e10, -1e10),
        ({"created_at": 1e300}, 1e300, 1e300),
    ],
)
def test_knowledge_brought_from_elsewhere_keeps_its_age(vault, given, created, updated):
    vault.add(id="x", title="word", **given)
    entry = vault.get("x")
    assert (entry.created_at, entry.updated_at) == (created, updated)
    assert 0 <= vault.search("word")[0].signals["temporal_decay"] <= 1


def test_an_entry_made_without_times_is_as_new_as_its_fields_would_be(vault):
    vault.add(Entry(id="x", title="t"))
    assert vault.get("x").created_at == NOW


def test_an_entry_that_was_read_can_be_added_elsewhere_as_it_is(vault):
    vault.add(id="x", title="t", attrs={"a": [1, {"b": None}]}, span=Span("f.py", 1, 2), tags=["z"], created_at=5)
    with Vault(":memory:") as other:
        other.add(vault.get("x"))
        assert other.get("x") == vault.get("x")


@pytest.mark.parametrize("given", [{"title": "a dict"}, "text", 5], ids=repr)
def test_something_else_than_an_entry_is_an_entry_error(vault, given):
    with pytest.raises(EntryError):
        vault.add(given)


def test_a_snippet_is_120_characters_and_says_when_more_follows():
    assert Entry(id="x", title="t", description="d" * 120).snippet == "d" * 120
    assert Entry(id="x", title="t", description="d" * 121).snippet == "d" * 120 + "..."


def test_the_token_estimate_counts_long_attrs_and_rounds_up():
    entry = Entry(id="x", title="abcd", description="e", attrs={"why": "f" * 4, "other": "g" * 400, "example": 5})
    assert entry.token_estimate == 3


def test_null_characters_in_text_are_kept_and_separate_words(vault):
    vault.add(id="x", title="be\0fore after")
    assert vault.get("x").title == "be\0fore after"
    assert vault.search("after").ids == vault.search("fore").ids == ["x"]


def test_tags_come_back_whatever_stands_in_them():
    from septet import Vault

    given = ['a","b', "back\\slash", 'quote"', "认证", "[x]", "plain"]
    with Vault(":memory:") as vault:
        vault.add(id="a", title="alpha", tags=given)
        vault.add(id="b", title="alpha", tags=["plain", "two words"])
        assert list(vault.get("a").tags) == given
        assert {h.id: list(h.tags) for h in vault.search("alpha")} == {"a": given, "b": ["plain", "two words"]}
