"""Long lists of ``where``, and texts in it with characters that end a text elsewhere."""

import pytest

from septet import EntryNotFound, QueryError, Vault

ENTRIES = [
    {"id": "a", "tags": ["http", "auth"], "attrs": {"team": "core", "n": 1}},
    {"id": "b", "tags": ["http"], "attrs": {"team": "web", "n": 1.0}},
    {"id": "c", "domain": "security", "attrs": {"n": 0}},
    {"id": "d", "attrs": {"n": "1"}},
    {"id": "e", "tags": ["%"], "attrs": {"n": -2.5}},
]


@pytest.fixture(scope="module")
def vault():
    with Vault(":memory:") as made:
        made.add_many([{"title": f"Word {e['id']}", **e} for e in ENTRIES])
        yield made


def found(vault, where):
    return "".join(sorted(vault.search("word", where=where, limit=100).ids))


LONG = [*(f"x{i}" for i in range(3_000)), "http", "http", "core", "web"]


@pytest.mark.parametrize(
    "values",
    [LONG, LONG[::-1], LONG * 2, set(LONG), tuple(LONG)],
    ids=["ascending", "descending", "twice", "set", "tuple"],
)
@pytest.mark.parametrize("field", ["tags", "attrs.team", "domain"])
def test_the_order_and_the_repetitions_of_a_list_do_not_matter(vault, field, values):
    wanted = {"tags": "ab", "attrs.team": "ab", "domain": ""}[field]
    assert found(vault, {field: {"$in": values}}) == wanted
    assert found(vault, {field: {"$nin": values}}) == "".join(sorted(set("abcde") - set(wanted)))
    assert found(vault, {"$or": [{field: value} for value in values]}) == wanted
    assert found(vault, {"$nor": [{field: value} for value in values]}) == "".join(sorted(set("abcde") - set(wanted)))
    assert found(vault, {field: {"$all": values}}) == ""


@pytest.mark.parametrize("times", [1, 2, 40_000])
def test_equal_values_count_once(vault, times):
    assert found(vault, {"tags": {"$all": ["http"] * times}}) == "ab"
    assert found(vault, {"tags": {"$all": ["http", "auth"] * times}}) == "a"
    assert found(vault, {"attrs.n": {"$all": [1, 1.0] * times}}) == "ab"
    assert found(vault, {"id": {"$all": ["c"] * times}}) == "c"
    assert found(vault, {"$and": [{"tags": "http"}] * times}) == "ab"
    assert found(vault, {"$and": [{"tags": "http"}, {"tags": "auth"}] * times}) == "a"
    assert found(vault, {"$and": [{"attrs.n": 1}, {"attrs.n": True}] * times}) == ""


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"tags": {"$all": ["http"] * 1_000_001}}, r"\$all on tags has 1,000,001 values: at most 1,000,000"),
        ({"id": {"$in": range(1_000_001)}}, r"\$in on id has 1,000,001 values"),
        (
            {"$or": [{"id": "a"}] * 200_000},
            r"\$or has 200,000 filters: at most 100,000 are taken; for more values, use \$in",
        ),
        ({"$and": [{"id": "a"}] * 100_001}, r"\$and has 100,001 filters"),
        ({"$or": [{"updated_at": {"$gt": i}} for i in range(1_001)]}, r"where has 1,001 comparisons: at most 1,000"),
        ({f"attrs.a{i}": 1 for i in range(1_001)}, r"where has 1,001 comparisons"),
        ({"$not": {"$and": [{"$or": [{f"attrs.a{i}": {"$ne": 1}}]} for i in range(1_001)]}}, r"1,001 comparisons"),
    ],
    ids=["values", "range", "or", "and", "ordering", "fields", "nested"],
)
def test_a_filter_beyond_its_bounds_is_an_error_that_says_how_many(vault, where, message):
    with pytest.raises(QueryError, match=message):
        vault.search("word", where=where)


def test_a_filter_at_its_bounds_is_answered(vault):
    assert found(vault, {"$or": [{"attrs.n": {"$gt": i}} for i in range(1_000)]}) == "ab"
    assert found(vault, {"id": {"$in": ["a"] * 1_000_000}}) == "a"
    assert found(vault, {"$or": [{"id": "a"}] * 100_000}) == "a"


@pytest.mark.parametrize("beside", [{"domain": "cooking"}, {"updated_at": {"$gte": 0}}], ids=["equality", "ordering"])
def test_equalities_beside_other_filters_keep_their_meaning(vault, beside):
    both = [{"id": "a"}, beside, {"id": "c"}, {"tags": "auth"}]
    wanted = "ac" if "domain" in beside else "abcde"
    assert found(vault, {"$or": both}) == wanted
    assert found(vault, {"$or": both[::-1]}) == wanted


@pytest.fixture
def with_nul():
    """Entries whose texts differ behind a NUL, and in what stands for one where SQLite reads JSON."""
    texts = {"plain": "general", "nul": "general\0x", "bare": "general\0", "one": "general\1", "two": "general\1\2"}
    with Vault(":memory:") as made:
        for name, text in texts.items():
            attrs = {"k": text, "list": ["z", text], "deep": {"er": text}}
            made.add(id=name, title="word", domain=text, type=text, kind=text, context=text, attrs=attrs)
        yield made, texts


@pytest.mark.parametrize("field", ["domain", "type", "kind", "context", "attrs.k", "attrs.list", "attrs.deep.er"])
@pytest.mark.parametrize("name", ["plain", "nul", "bare", "one", "two"])
def test_nul_is_a_character_like_any_other(with_nul, field, name):
    vault, texts = with_nul
    others = sorted(set(texts) - {name})

    def passing(condition):
        return sorted(vault.search("word", where={field: condition}, limit=9).ids)

    text = texts[name]
    assert passing(text) == [name]
    assert passing({"$ne": text}) == others
    assert passing({"$in": [text, "q\0"]}) == [name]
    assert passing({"$nin": [text]}) == others
    assert passing({"$all": [text, text]}) == [name]
    # In a list, one member may be as small and another as large.
    between = [n for n in sorted(texts) if texts[n] <= text] if field == "attrs.list" else [name]
    assert passing({"$lte": text, "$gte": text}) == between
    assert passing({"$contains": text}) == [n for n in sorted(texts) if text in texts[n]]
    assert sorted(vault.search("word", where={"$or": [{field: text}, {"id": "q"}]}, limit=9).ids) == [name]


@pytest.mark.parametrize("option", ["domain", "kinds"])
def test_nul_counts_in_the_options_that_filter_too(with_nul, option):
    vault, texts = with_nul
    for name, text in texts.items():
        assert vault.search("word", **{option: text}).ids == [name]
    assert vault.search("word", **{option: "general\0y"}).ids == []


@pytest.mark.parametrize("id", ["plain\0", "plain\0x", "\0plain", "plain\1"])
def test_no_id_with_nul_is_taken_for_the_part_before_it(with_nul, id):
    vault, texts = with_nul
    vault.link("plain", "nul")
    assert vault.get(id) is None
    assert vault.load([id, "nul"]) == vault.load(["nul"])
    assert id not in vault
    assert vault.links(id) == []
    assert vault.delete([id]) == 0
    for refused in (
        lambda: vault.link(id, "nul"),
        lambda: vault.update(id, title="x"),
        lambda: vault.explain("word", id),
    ):
        with pytest.raises(EntryNotFound):
            refused()
    assert len(vault) == len(texts)
