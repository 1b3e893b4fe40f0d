"""Pages, counts and facets are exactly what a slow reading in Python gives, also after writes."""

from collections import Counter
from math import inf

from hypothesis import given
from hypothesis import strategies as st

from septet import Federation, Vault
from septet.inputs.times import utc_time
from twins.filters import ATTRS, FILTERS, TAG, TEXT, slowly

SEVERITIES = ["suggestion", "warning", "critical"]
TIMES = ["created_at", "updated_at", "valid_from", "valid_until"]
ENTRY = st.fixed_dictionaries(
    {
        "id": st.sampled_from(["a", "b", "c", "d", "e", "é", "B"]),
        "title": st.sampled_from(["one", "two", "Two"]),
        "domain": TEXT,
        "severity": st.sampled_from(SEVERITIES),
        "tags": st.lists(TAG, max_size=3),
        "created_at": st.sampled_from([0.5, -86_400, -90_000, -40 * 86_400, -400 * 86_400]),
        "updated_at": st.integers(1, 4),
        "attrs": ATTRS,
    },
    optional={
        "valid_from": st.integers(1, 4),
        "valid_until": st.integers(5, 8),
        "kind": st.just("memory"),
        "span": st.builds(lambda n: {"path": "f.md", "first_line": n, "last_line": 9}, st.integers(1, 3)),
    },
)
DRAWN = st.lists(ENTRY, max_size=7)
WRITES = st.tuples(DRAWN, st.lists(st.sampled_from("abcde"), max_size=3))
FIELD = st.sampled_from(
    ["id", "kind", "domain", "severity", "title", "path", "first_line", *TIMES, "attrs.x", "attrs.y", "attrs.o.z"]
)
KEY = st.one_of(FIELD, st.tuples(FIELD, st.sampled_from(["asc", "desc"])))
ORDER = st.one_of(KEY, st.lists(KEY, min_size=1, max_size=3, unique_by=lambda k: k if isinstance(k, str) else k[0]))
MOMENT = st.one_of(st.none(), st.sampled_from([0, 2, 4, 6, 9]))
FACET = st.one_of(
    st.tuples(st.sampled_from(["domain", "severity", "kind", "tags", "path", "attrs.x", "attrs.o.z"]), st.none()),
    st.tuples(st.sampled_from(TIMES), st.sampled_from([None, "day", "month", "year"])),
)
LIMIT = st.one_of(st.none(), st.integers(1, 4))


def plain(entry):
    """What a filter sees of an entry."""
    return {
        "domain": entry.domain,
        "tags": entry.tags,
        "updated_at": entry.updated_at,
        "attrs": entry.attrs,
    }


def valid(entry, moment):
    return (entry.valid_from is None or entry.valid_from <= moment) and (
        entry.valid_until is None or moment < entry.valid_until
    )


def passing(held, where, as_of):
    return [e for e in held.values() if slowly(plain(e), where) and (as_of is None or valid(e, as_of))]


def at(entry, field):
    if field.startswith("attrs."):
        value = entry.attrs
        for part in field.split(".")[1:]:
            value = value.get(part) if isinstance(value, dict) else None
        return value
    if field in ("path", "first_line"):
        return None if entry.span is None else getattr(entry.span, field)
    return getattr(entry, field)


def sorted_slowly(entries, order_by):
    found = sorted(entries, key=lambda e: e.id)
    keys = order_by if isinstance(order_by, list) else [order_by]
    for key in reversed([(k, "asc") if isinstance(k, str) else k for k in keys]):
        field, descending = key[0], key[1] == "desc"

        def by(entry, field=field):
            value = at(entry, field)
            if field == "severity":
                return (0, SEVERITIES.index(value))
            if value is None or isinstance(value, (list, dict, tuple)):
                return (0, {"valid_from": -inf, "valid_until": inf}.get(field, 0))
            return (2 if isinstance(value, bool) else isinstance(value, str), value)

        found.sort(key=by, reverse=descending)
        if field not in TIMES:
            found.sort(key=lambda e, field=field: at(e, field) is None or isinstance(at(e, field), (list, dict)))
    return found


def counted_slowly(entries, field, by):
    counts, missing = Counter(), 0
    for entry in entries:
        value = at(entry, field)
        if field in TIMES:
            shape = {"year": "%Y", "month": "%Y-%m"}.get(by, "%Y-%m-%d")
            value = None if value is None else utc_time(value).strftime(shape)
        listed = value if isinstance(value, (list, tuple)) else [value]
        members = {(isinstance(v, bool), v) for v in listed if v is not None and not isinstance(v, (list, dict))}
        counts.update(members)
        missing += not members
    return counts, missing


def pages_of(source, limit, **asked):
    """All entries page by page, with how many each page had."""
    found, sizes, after = [], [], None
    while True:
        page = source.entries(limit=limit, after=after, **asked)
        found += page
        sizes.append(len(page))
        after = page.next
        if after is None:
            return found, sizes


def agrees(source, held, where, order_by, as_of, facet, limit):
    wanted = sorted_slowly(passing(held, where, as_of), order_by)
    found, sizes = pages_of(source, limit, where=where, order_by=order_by, as_of=as_of)
    assert found == wanted
    assert all(size == limit for size in sizes[:-1])
    assert source.count(where, as_of=as_of) == len(wanted)
    field, by = facet
    counts, missing = counted_slowly(wanted, field, by)
    facets = source.facets(field, where, by=by, limit=limit, as_of=as_of)
    best = sorted(counts.values(), reverse=True)
    assert list(facets.values()) == best[:limit]
    assert all(counts[isinstance(value, bool), value] == count for value, count in facets.items())
    assert (facets.total, facets.missing, facets.distinct) == (len(wanted), missing, len(counts))
    assert facets.other == sum(best) - sum(facets.values())


def held_by(vault):
    """What the vault holds as far as `load` knows, which lists nothing."""
    return {e.id: e for e in vault.load(["a", "b", "c", "d", "e", "é", "B"])}


@given(st.lists(WRITES, min_size=1, max_size=3), FILTERS, ORDER, MOMENT, FACET, LIMIT)
def test_listings_and_a_slow_reading_in_python_agree_after_every_write(writes, where, order_by, as_of, facet, limit):
    with Vault(":memory:", clock=lambda: 10.0) as vault:
        for added, deleted in writes:
            vault.add_many(added)
            vault.delete(*deleted)
            # Twice: what is asked often is answered from arrays.
            for _ in range(2):
                agrees(vault, held_by(vault), where, order_by, as_of, facet, limit)


@given(st.lists(st.tuples(DRAWN, DRAWN), min_size=1, max_size=2), FILTERS, ORDER, MOMENT, FACET, LIMIT)
def test_tiers_are_listed_as_one_with_the_copies_of_the_highest(writes, where, order_by, as_of, facet, limit):
    with Vault(":memory:", clock=lambda: 10.0) as low, Vault(":memory:", clock=lambda: 10.0) as high:
        federation = Federation({"team": low, "agent": high})
        for to_low, to_high in writes:
            low.add_many(to_low)
            high.add_many(to_high)
            above = {e.id: e for e in held_by(high).values() if as_of is None or valid(e, as_of)}
            held = {**held_by(low), **above}
            for _ in range(2):
                agrees(federation, held, where, order_by, as_of, facet, limit)
            assert {e.id: e for e in federation} == {**held_by(low), **held_by(high)}
            assert len(federation) == len(list(federation)) == len({*held_by(low), *held_by(high)})
            assert federation.tier("team").count(where, as_of=as_of) == low.count(where, as_of=as_of)
