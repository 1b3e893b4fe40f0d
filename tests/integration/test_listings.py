"""Reading without a query: pages that stay right while others write, counts, facets, many ids, iteration."""

import sqlite3
import threading
from contextlib import closing
from datetime import datetime, timezone

import numpy as np
import pytest

from septet import Closed, EntryError, QueryError, Vault, VectorError
from septet.listing.columns import Names

NOW = 1_700_000_000.0


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.db", clock=lambda: NOW) as made:
        yield made


def fill(vault, count, **fields):
    vault.add_many({"id": f"{n:03}", "title": f"entry {n}", "created_at": n % 7, **fields} for n in range(count))


def pages(source, **asked):
    """The ids of each page."""
    after, found = None, []
    while True:
        page = source.entries(after=after, **asked)
        found.append(page.ids)
        after = page.next
        if after is None:
            return found


def test_an_empty_vault_has_one_empty_page(vault):
    assert pages(vault) == [[]]
    assert vault.count() == 0
    assert list(vault) == []
    assert dict(vault.facets("tags")) == {}
    assert vault.facets("created_at").total == 0


@pytest.mark.parametrize(("count", "limit"), [(1, 1), (1, 2), (10, 3), (10, 5), (10, 10), (10, 11), (300, 100)])
def test_pages_hold_each_entry_once_and_the_last_one_says_so(vault, count, limit):
    fill(vault, count)
    found = pages(vault, limit=limit)
    assert [len(page) for page in found[:-1]] == [limit] * (len(found) - 1)
    assert [i for page in found for i in page] == sorted(
        (f"{n:03}" for n in range(count)), key=lambda i: (int(i) % 7, i)
    )


def test_a_page_is_a_sequence_of_entries(vault):
    fill(vault, 5)
    page = vault.entries(limit=2)
    assert len(page) == 2
    assert [entry.title for entry in page] == ["entry 0", "entry 1"]
    assert page[-1].id == "001" and page[:1][0].id == "000"
    assert page.to_dict()["next"] == page.next
    assert "more follow" in repr(page)
    assert "last" in repr(vault.entries())


@pytest.mark.parametrize("order_by", ["created_at", ("created_at", "desc"), "title", ("severity", "desc"), "id"])
def test_pages_are_stable_while_entries_are_added_deleted_and_changed(vault, order_by):
    fill(vault, 60)
    wanted = vault.entries(order_by=order_by, limit=None).ids
    found, after = [], None
    for turn in range(60):
        page = vault.entries(order_by=order_by, limit=5, after=after)
        found += page.ids
        after = page.next
        if after is None:
            break
        # Before what was seen and behind it, and the entry on which the page ended goes.
        vault.add(id=f"000{turn}", title="entry 0", created_at=-1)
        vault.update(page.ids[0], context=f"changed {turn}")
        vault.delete(page.ids[-1])
    assert [i for i in found if len(i) == 3] == wanted


@pytest.mark.parametrize("order_by", ["title", ("title", "desc"), "attrs.n", ("attrs.n", "desc")])
def test_a_page_begins_behind_an_entry_that_is_gone_with_its_value(tmp_path, order_by):
    with Vault(tmp_path / "v.db") as vault:
        for n in range(6):
            vault.add(id=str(n), title=f"title {n}", attrs={"n": n})
        page = vault.entries(order_by=order_by, limit=3)
        rest = vault.entries(order_by=order_by, limit=None).ids[3:]
        vault.delete(page.ids[-1])
        vault.purge()
    # A new process has never seen the value.
    with Vault(tmp_path / "v.db") as vault:
        assert vault.entries(order_by=order_by, after=page.next).ids == rest


def test_a_cursor_of_another_listing_is_refused(vault):
    fill(vault, 10)
    cursor = vault.entries({"domain": "general"}, order_by="title", limit=2).next
    assert vault.entries({"domain": "general"}, order_by=("title", "asc"), after=cursor).ids
    for asked in (
        {"where": {"domain": "general"}, "order_by": ("title", "desc")},
        {"where": {"domain": "general"}, "order_by": "created_at"},
        {"where": {"domain": "other"}, "order_by": "title"},
        {"where": {"domain": "general"}, "order_by": "title", "as_of": 5},
        {"order_by": "title"},
    ):
        with pytest.raises(QueryError, match="another where, order_by or as_of"):
            vault.entries(**asked, after=cursor)
    true, one = (vault.entries({"attrs.n": {"$ne": v}}, limit=2).next for v in (True, 1))
    assert true != one


@pytest.mark.parametrize("cursor", ["", "x", "é", "AAAA", "W10", "WzFd", "bnVsbA", "a" * 10_000, 3, b"x"])
def test_what_is_no_cursor_is_refused(vault, cursor):
    with pytest.raises(QueryError, match="after"):
        vault.entries(after=cursor)


@pytest.mark.parametrize(
    ("order_by", "said"),
    [
        ("nothing", "wanted one of id, kind"),
        ("description", "wanted one of"),
        ("tags", "wanted one of"),
        ("attrs.", "wanted one of"),
        (("title", "down"), "'asc'"),
        (("title",), "'asc'"),
        ([], "1 to 8"),
        (["id"] * 9, "1 to 8"),
        (["title", ("title", "desc")], "twice"),
        (None, "wanted one of"),
        ("-created_at", r'wanted \("created_at", "desc"\)'),
        (["title", "-attrs.pages"], r'wanted \("attrs.pages", "desc"\)'),
        ("-nothing", "'nothing': wanted one of id, kind"),
        ("-", "wanted one of id, kind"),
    ],
)
def test_an_order_that_does_not_exist_is_refused(vault, order_by, said):
    with pytest.raises(QueryError, match=said):
        vault.entries(order_by=order_by)


def test_memories_and_expired_and_split_entries_are_listed_as_len_counts_them(vault):
    vault.add(id="long", title="long", description="word " * 400, split="auto")
    vault.remember("a memory", id="m")
    vault.add(id="old", title="old", valid_until=NOW - 1)
    vault.add(id="later", title="later", valid_from=NOW + 1)
    everything = vault.entries(limit=None).ids
    assert len(everything) == len(vault) == vault.count() == len(list(vault))
    assert {"long", "long#1", "m", "old", "later"} <= {*everything}
    now = vault.entries(as_of=NOW, limit=None).ids
    assert sorted({*everything} - {*now}) == ["later", "old"]
    assert vault.count(as_of=NOW) == len(now)
    parts = vault.facets("parent")
    assert parts["long"] == len(everything) - 3
    assert parts.missing == 3


def test_facets_say_what_the_limit_left_out(vault):
    for n, domain in enumerate("aaabbcddddd"):
        vault.add(id=str(n), title="x", domain=domain, attrs={"n": [n % 2, True, "t"] if n else {}})
    facets = vault.facets("domain", limit=2)
    assert list(facets.items()) == [("d", 5), ("a", 3)]
    assert (facets.distinct, facets.other, facets.total, facets.missing) == (4, 3, 11, 0)
    assert "2 values more" in repr(facets)
    mixed = vault.facets("attrs.n")
    assert mixed.counts == (("t", 10), (True, 10), (0, 5), (1, 5))
    assert mixed[True] == 10 and mixed[1] == 5 and mixed.missing == 1
    assert 2 not in mixed and [] not in mixed
    with pytest.raises(KeyError):
        mixed["x"]
    assert mixed.to_dict()["values"][0]["count"] == 10


def test_dates_are_counted_by_day_month_and_year_in_utc(vault):
    for n, day in enumerate(
        ["2023-12-31T23:59:59", "2024-01-01T00:00:00", "2024-01-01T12:00:00", "2024-02-29T00:00:00"]
    ):
        vault.add(id=str(n), title="x", created_at=seconds(day), valid_from=seconds(day) if n else None)
    assert dict(vault.facets("created_at")) == {"2024-01-01": 2, "2023-12-31": 1, "2024-02-29": 1}
    assert list(vault.facets("created_at", by="month").items()) == [("2024-01", 2), ("2023-12", 1), ("2024-02", 1)]
    assert dict(vault.facets("created_at", by="year")) == {"2024": 3, "2023": 1}
    assert vault.facets("valid_from", by="year").missing == 1
    for field, by in (("created_at", "week"), ("domain", "day"), ("created_at", 3)):
        with pytest.raises(QueryError, match="by is"):
            vault.facets(field, by=by)
    with pytest.raises(QueryError, match="wanted one of domain"):
        vault.facets("title")


def seconds(text):
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp()


def test_times_beyond_any_calendar_count_as_missing(vault):
    vault.add(id="far", title="x", valid_until=1e300)
    vault.add(id="near", title="x", valid_until=1e9)
    facets = vault.facets("valid_until", by="year")
    assert dict(facets) == {"2001": 1}
    assert facets.missing == 1
    assert vault.entries(order_by="valid_until").ids == ["near", "far"]


def test_load_leaves_out_unknown_ids(vault):
    fill(vault, 3)
    assert [e.id for e in vault.load(["002", "no", "000", "002"])] == ["002", "000", "002"]
    assert vault.load([]) == []
    with pytest.raises(EntryError):
        vault.load([3])


def test_iteration_goes_in_the_order_of_storing_and_survives_writes(vault):
    fill(vault, 600)
    seen = []
    for entry in vault:
        seen.append(entry.id)
        if len(seen) == 1:
            # In a part that was not read yet; what is added is not visited, so that the loop ends.
            vault.delete("599")
            vault.update("598", title="other")
        vault.add(id=f"new{len(seen)}", title="new") if len(seen) < 5 else None
    assert seen == [f"{n:03}" for n in range(599)]
    assert [entry.title for entry in vault if entry.id == "598"] == ["other"]


def test_iteration_sees_what_there_was_or_what_took_its_place(vault, monkeypatch):
    fill(vault, 20)
    with vault._store.reading() as read:
        listings = read.tables.listings
    last_row = listings.last_row

    def renewed_behind(read):
        last = last_row(read)
        with Vault(vault.path) as other:
            other.delete(where={"title": {"$contains": "entry"}})
            other.add(id="new", title="new")
        return last

    monkeypatch.setattr(listings, "last_row", renewed_behind)
    assert len(list(vault)) == 20
    monkeypatch.undo()
    assert [entry.id for entry in vault] == ["new"]


def test_writes_of_other_processes_restores_and_purges_are_seen(vault, tmp_path):
    fill(vault, 20)
    copy = tmp_path / "copy.db"
    vault.backup(copy)

    def agrees():
        with closing(sqlite3.connect(vault.path)) as sql:
            wanted = sql.execute("SELECT id FROM entries WHERE live ORDER BY created_at, id").fetchall()
            domains = sql.execute("SELECT domain, count(*) FROM entries WHERE live GROUP BY domain").fetchall()
            few = sql.execute("SELECT count(*) FROM entries WHERE live AND domain = 'new'").fetchone()[0]
        assert vault.entries(limit=None).ids == [i for (i,) in wanted]
        assert dict(vault.facets("domain")) == dict(domains)
        assert vault.count({"domain": "new"}) == few
        assert len(list(vault)) == len(wanted)

    agrees()
    with Vault(vault.path) as other:
        other.add(id="x", title="x", domain="new")
        agrees()
        other.delete("x", "003")
        other.purge()
        agrees()
        other.update("004", domain="new")
        agrees()
    with closing(sqlite3.connect(copy)) as source, closing(sqlite3.connect(vault.path)) as target:
        source.backup(target)
    agrees()
    vault.add(id="y", title="y", domain="new")
    agrees()


def test_large_writes_are_followed_too(vault):
    fill(vault, 3_000)
    where = {"created_at": {"$lt": 3}}
    assert vault.count(where) == sum(n % 7 < 3 for n in range(3_000))
    vault.add_many({"id": f"more{n}", "title": "more", "created_at": n % 5} for n in range(2_500))
    wanted = sum(n % 7 < 3 for n in range(3_000)) + sum(n % 5 < 3 for n in range(2_500))
    assert vault.count(where) == wanted
    assert vault.count() == 5_500


@pytest.mark.parametrize("direction", ["asc", "desc"])
def test_another_thread_brings_titles_while_a_page_looks_for_its_beginning(vault, monkeypatch, direction):
    vault.add_many({"id": f"{n:03}", "title": f"m{n:03}"} for n in range(60))
    order = ("title", direction)
    expected = pages(vault, order_by=order, limit=20)
    after = vault.entries(order_by=order, limit=20).next
    looked_for = Names.place

    def others():
        vault.add_many({"title": f"{letter}{n}"} for n in range(40) for letter in "az")
        vault.entries(order_by="title", limit=1)

    def place(*args):
        found = looked_for(*args)
        monkeypatch.setattr(Names, "place", looked_for)
        thread = threading.Thread(target=others)
        thread.start()
        thread.join()
        return found

    monkeypatch.setattr(Names, "place", place)
    assert vault.entries(order_by=order, limit=20, after=after).ids == expected[1]


def test_threads_read_while_one_writes(vault):
    fill(vault, 50)
    faults = []

    def read():
        try:
            for _ in range(30):
                assert vault.count({"domain": "general"}) >= 50
                assert len(vault.entries(limit=None)) >= 50
                assert sum(vault.facets("domain").values()) >= 50
        except BaseException as fault:  # noqa: BLE001 - reported below
            faults.append(fault)

    threads = [threading.Thread(target=read) for _ in range(3)]
    for thread in threads:
        thread.start()
    for n in range(30):
        vault.add(id=f"new{n}", title="new")
    for thread in threads:
        thread.join()
    assert faults == []


def test_a_closed_vault_says_so(vault):
    vault.close()
    for ask in (vault.entries, vault.count, lambda: vault.facets("domain"), lambda: next(iter(vault))):
        with pytest.raises(Closed):
            ask()


def test_vectors_come_back_as_they_were_given_and_nan_where_there_are_none(vault):
    vault.add(id="a", title="a", vector=[3, 4, 0])
    vault.add(id="b", title="b")
    vault.add(id="c", title="c", vector=[0.1, 0.2, 0.3])
    vault.add(id="d", title="d", vector={"other": [1, 2]})
    found = vault.vectors(["c", "b", "a", "nobody", "c", "d"])
    assert found.dtype == np.float32 and found.shape == (6, 3)
    assert found[[0, 2, 4]].tolist() == np.float32([[0.1, 0.2, 0.3], [3, 4, 0], [0.1, 0.2, 0.3]]).tolist()
    assert np.isnan(found[[1, 3, 5]]).all()
    assert vault.vectors([]).shape == (0, 3)
    assert vault.vectors(["d", "a"], "other")[0].tolist() == [1, 2]
    with pytest.raises(VectorError, match=r"'x'.*available: 'given' \(3\), 'other' \(2\)"):
        vault.vectors(["a"], model="x")


def test_a_vault_without_vectors_has_none_to_give(vault):
    fill(vault, 1)
    with pytest.raises(VectorError, match="no vectors"):
        vault.vectors(["000"])


@pytest.mark.parametrize("wanted", [None, {"$in": [None, 5]}], ids=repr)
def test_a_filter_by_null_takes_no_deleted_entry_for_a_live_one(vault, wanted):
    vault.add_many([{"id": i, "title": "t", "attrs": attrs} for i, attrs in zip("abc", ({"x": 1}, {}, {"x": 2}))])
    vault.delete("b")
    where = {"attrs.x": wanted}
    assert (vault.entries(where).ids, vault.count(where)) == ([], 0)
    assert vault.delete(where=where) == 0
    assert len(vault) == 2


def test_a_search_for_filters_alone_lists_by_the_last_change_and_takes_words_that_are_left_out(vault):
    fill(vault, 21, tags=["daily"])
    vault.add(id="draft", title="A draft", tags=["daily"], created_at=2.0, updated_at=90.0)
    vault.add(id="over", title="Over", tags=["daily"], created_at=95.0, valid_until=NOW - 1)
    vault.remember("not among entries", id="memory", topics=["daily"])
    newest = [entry.id for entry in vault.entries({"tags": "daily"}, order_by=[("updated_at", "desc")], as_of=NOW)]
    newest.remove("memory")
    found = vault.search("tag:daily", syntax="web", limit=5, offset=1)
    assert found.ids == newest[1:6] and found.total == 22 and newest[0] == "draft"
    assert vault.search("tag:daily -draft", syntax="web", limit=3).ids == newest[1:4]
    assert vault.search("tag:daily", syntax="web", include_expired=True, limit=1).ids == ["over"]
