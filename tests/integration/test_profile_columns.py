"""Facts as columns of a profile: times, ages, numbers in attrs, and what makes them useful signals."""

import math

import pytest

from septet import Federation, ProfileError, Vault
from septet.profiles import BUILTIN
from septet.ranking.pool import number_at

NOW = 1_000.0 * 86_400
DAY = 86_400.0


def profile_of(signal, missing="zero"):
    weights = {"semantic": 0.5, "fact": 0.5}
    return {
        "name": "facts",
        "signals": {"semantic": {"scale": {"col": "bm25"}}, "fact": signal},
        "weights": {"text": weights, "hybrid": weights},
        "missing": missing,
    }


def facts(results):
    return {hit.id: hit.signals["fact"] for hit in results}


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: NOW) as made:
        made.add(id="none", title="ducks", created_at=NOW)
        made.add(id="some", title="ducks", attrs={"views": 9}, created_at=NOW - 10 * DAY, updated_at=NOW - 4 * DAY)
        made.add(id="many", title="ducks", attrs={"views": 99, "by": {"users": 3}}, created_at=NOW - 30 * DAY)
        made.add(id="text", title="ducks", attrs={"views": "12"}, created_at=NOW, valid_until=NOW + 5 * DAY)
        made.add(id="truth", title="ducks", attrs={"views": True, "by": [3]}, created_at=NOW, valid_from=NOW - 2 * DAY)
        made.add(id="huge", title="ducks", attrs={"views": 10**400, "by": "x"}, created_at=NOW)
        made.add(id="less", title="ducks", attrs={"views": -4.5, "a.b": 1}, created_at=NOW)
        yield made


UNKNOWN = dict.fromkeys(("none", "text", "truth"))


def test_numbers_in_attrs_are_a_column_and_what_is_no_number_is_unknown(vault):
    found = facts(vault.search("ducks", profile=profile_of({"col": "attrs.views"}, "share")))
    assert found == {"some": 9.0, "many": 99.0, "huge": 1e18, "less": -4.5, **UNKNOWN}
    found = facts(vault.search("ducks", profile=profile_of({"col": "attrs.by.users"}, "share")))
    assert found == {**dict.fromkeys(found), "many": 3.0}
    found = facts(vault.search("ducks", profile=profile_of({"col": "attrs.nobody.has"}, "share")))
    assert set(found.values()) == {None}


def test_attrs_order_the_results(vault):
    signal = {"scale": {"log1p": {"clamp": {"col": "attrs.views"}, "least": 0, "most": 1_000_000}}}
    results = vault.search("ducks", profile=profile_of(signal))
    assert results.ids[:3] == ["huge", "many", "some"]
    found = facts(results)
    assert found["many"] == pytest.approx(math.log(100) / math.log(1_000_001))
    assert found["less"] == 0.0
    assert found["none"] in (None, 0.0)


@pytest.mark.parametrize("missing", ["zero", "share"])
@pytest.mark.parametrize("limit", [1, 3, 7, None])
def test_times_are_epoch_seconds_and_ages_days(vault, missing, limit):
    def column(name):
        return facts(vault.search("ducks", limit=limit, profile=profile_of({"col": name}, missing)))

    times = {"some": NOW - 10 * DAY, "many": NOW - 30 * DAY}
    for id, value in column("created_at").items():
        assert value == times.get(id, NOW)
    for id, value in column("created_age").items():
        assert value == (NOW - times.get(id, NOW)) / DAY
    for id, value in column("updated_age").items():
        assert value == {"some": 4.0, "many": 30.0}.get(id, 0.0)
    nothing = (None, 0.0)
    for id, value in column("valid_until_age").items():
        assert value == -5.0 if id == "text" else value in nothing
    for id, value in column("valid_from_age").items():
        assert value == 2.0 if id == "truth" else value in nothing
    for id, value in column("valid_until").items():
        assert value == NOW + 5 * DAY if id == "text" else value in nothing


def test_ages_fade(vault):
    found = facts(vault.search("ducks", profile=profile_of({"decay": {"col": "created_age"}, "half_life": 10})))
    assert found["some"] == 0.5
    assert found["many"] == 0.125
    assert found["none"] == 1.0
    found = facts(vault.search("ducks", profile=profile_of({"decay": {"col": "valid_until_age"}, "half_life": 1})))
    assert found["text"] == 1.0


def test_explain_and_search_many_read_the_same_facts(vault):
    profile = profile_of({"log1p": {"col": "attrs.views"}})
    single = vault.search("ducks", profile=profile)
    assert [facts(r) for r in vault.search_many(["ducks"] * 3, profile=profile)] == [facts(single)] * 3
    why = vault.explain("ducks", "many", profile=profile)
    assert why.signals["fact"] == pytest.approx(math.log(100))
    assert why.score == single[single.ids.index("many")].score


def test_neighbours_over_links_have_their_facts_too():
    profile = profile_of({"col": "attrs.views"}, "share")
    profile["signals"]["graph"] = {"col": "graph"}
    profile["weights"] = {row: {**weights, "graph": 0.2} for row, weights in profile["weights"].items()}
    with Vault(":memory:") as vault:
        vault.add_many([{"id": "a", "title": "ducks", "attrs": {"views": 3}}, {"id": "b", "title": "ponds"}])
        vault.update("b", attrs={"views": 7})
        vault.link("a", "b")
        assert facts(vault.search("ducks", profile=profile)) == {"a": 3.0, "b": 7.0}


def test_tiers_of_a_federation_are_read_each(vault):
    profile = profile_of({"clamp": {"col": "attrs.views"}, "least": -10, "most": 1_000})
    with Vault(":memory:", clock=lambda: NOW) as other:
        other.add(id="theirs", title="ducks", attrs={"views": 50})
        other.add(id="some", title="ducks", attrs={"views": 77})
        with Federation({"agent": vault, "team": other}) as federation:
            found = facts(federation.search("ducks", profile=profile))
    assert found["theirs"] == 50.0
    assert found["some"] == 9.0, "of the higher tier's copy"
    assert found["huge"] == 1_000.0


@pytest.mark.parametrize(
    "signal",
    [
        {"col": "attrs"},
        {"col": "attrs."},
        {"col": "attrs.a..b"},
        {"col": "attrs." + "x" * 300},
        {"col": "created"},
        {"clamp": {"col": "bm25"}, "least": 2, "most": 1},
        {"decay": {"col": "created_age"}},
        {"decay": {"col": "created_age"}, "half_life": 0},
        {"log1p": "created_age"},
    ],
)
def test_what_is_no_column_or_no_node_is_refused(vault, signal):
    with pytest.raises(ProfileError):
        vault.search("ducks", profile=profile_of(signal))


def test_the_built_in_profiles_read_no_attrs_and_no_ages():
    assert not any(p.attrs_columns or p.ages for p in BUILTIN.values())


@pytest.mark.parametrize("value", [None, "1", True, [], {}, float("nan")])
def test_what_is_no_number_is_not_a_number(value):
    assert math.isnan(number_at({"a": value}, ["a"]))
    assert math.isnan(number_at({"a": {"b": value}}, ["a", "b"]))
    assert math.isnan(number_at({"a": value}, ["a", "b"]))
