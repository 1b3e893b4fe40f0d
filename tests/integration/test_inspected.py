"""What the inspector page asks of a memory as a whole: neighbourhoods, health, learned weights, slow searches."""

import asyncio
from itertools import pairwise

import pytest
from pydantic import TypeAdapter

from septet import Federation, Vault
from septet.errors import EntryNotFound, TierError
from septet.service.operations import OPERATIONS
from septet.service.served import Served
from septet.service.slow import MOST_KEPT, SlowSearches
from septet.watch.events import SearchEvent

DAY = 86_400.0


def asked(memory, name, **request):
    """Return the answer of an operation, which fits its schema."""

    async def run():
        served, operation = Served(memory), OPERATIONS[name]
        try:
            return await served.call(operation, operation.request(**request))
        finally:
            await served.aclose()

    answer = asyncio.run(run())
    TypeAdapter(OPERATIONS[name].answer).validate_python(answer)
    return answer


def chain(vault, *ids):
    for id in ids:
        vault.add(id=id, title=f"Entry {id}")
    for source, target in pairwise(ids):
        vault.link(source, target)


def test_a_neighbourhood_goes_two_steps_in_both_directions():
    with Vault(":memory:") as vault:
        chain(vault, *"abcdefg")
        found = asked(vault, "neighbourhood", id="d")
        assert {node["id"]: node["steps"] for node in found["nodes"]} == {"d": 0, "c": 1, "e": 1, "b": 2, "f": 2}
        assert [(link["source"], link["target"]) for link in found["links"]] == [
            ("b", "c"),
            ("c", "d"),
            ("d", "e"),
            ("e", "f"),
        ]
        assert found["left_out"] == 0
        assert {node["id"]: node["links"] - node["shown"] for node in found["nodes"]}["b"] == 1


def test_a_hub_is_cut_to_the_limit_and_says_how_much_is_missing():
    with Vault(":memory:") as vault:
        vault.add(id="hub", title="Hub")
        vault.add_many([{"id": str(n), "title": f"Spoke {n}"} for n in range(300)])
        vault.link_many([("hub", str(n)) for n in range(300)])
        found = asked(vault, "neighbourhood", id="hub", limit=20)
        assert (len(found["nodes"]), found["left_out"]) == (20, 281)
        spoke = asked(vault, "neighbourhood", id="7", limit=20)
        # The hub is one step away, and shows no more of the others than anybody.
        assert [node["steps"] for node in spoke["nodes"][:2]] == [0, 1]
        assert len(spoke["nodes"]) <= 2 + 6


def test_links_that_lead_nowhere_and_entries_that_are_not_there():
    with Vault(":memory:") as vault:
        chain(vault, "a", "b")
        vault.delete("b")
        assert asked(vault, "neighbourhood", id="a")["links"] == []
        assert asked(vault, "neighbourhood", id="a", limit=1)["nodes"][0]["id"] == "a"
        with pytest.raises(EntryNotFound):
            asked(vault, "neighbourhood", id="b")


def test_a_tier_is_meant_where_one_is_named():
    with Vault(":memory:") as high, Vault(":memory:") as low, Federation({"high": high, "low": low}) as both:
        low.add(id="x", title="Below")
        low.add(id="only", title="Below alone")
        high.add(id="x", title="Above")
        assert asked(both, "get", id="x")["title"] == "Above"
        assert asked(both, "get", id="x", tier="low")["title"] == "Below"
        assert asked(both, "count")["count"] == 2
        assert asked(both, "count", tier="high")["count"] == 1
        assert asked(both, "load", ids=["only"], tier="high")["missing"] == ["only"]
        assert [tier["name"] for tier in asked(both, "health")["tiers"]] == ["high", "low"]
        assert [tier["entries"] for tier in asked(both, "health")["tiers"]] == [1, 2]
        for operation, request in (("get", {"id": "x"}), ("learned", {}), ("neighbourhood", {"id": "x"})):
            with pytest.raises(TierError):
                asked(both, operation, **request, tier="none")
            with pytest.raises(TierError):
                asked(low, operation, **request, tier="low")


def test_a_tier_that_fails_is_told_beside_those_that_answer():
    with Vault(":memory:") as high, Vault(":memory:") as low, Federation({"high": high, "low": low}) as both:
        low.close()
        high_told, low_told = asked(both, "health")["tiers"]
        assert (high_told["error"], high_told["entries"]) == (None, 0)
        assert set(low_told) == {"name", "error"}
        assert low_told["error"]


def test_health_tells_spaces_sidecar_and_folders_without_a_path(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "one.md").write_text("# One\n\nA note.\n")
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="a", title="With a vector", vector=[1.0, 0.0], model="own/model")
        vault.add(id="b", title="Without one")
        vault.sync(tmp_path / "notes")
        vault.optimize()
        (tmp_path / "notes" / "two.md").write_text("# Two\n")
        answer = asked(vault, "health")
        (told,) = answer["tiers"]
        assert str(tmp_path) not in str(answer)
        assert [(s["model"], s["entries"], s["given"]) for s in told["spaces"]] == [("own/model", 1, True)]
        assert told["sidecar"]["state"] == "current"
        assert told["sidecar"]["size_bytes"] > 0
        assert not told["folders"]["in_step"]
        assert told["folders"]["folders"][0]["new"] == 1
        vault.add(id="c", title="One more")
        told = asked(vault, "health", folders=False)["tiers"][0]
        assert (told["sidecar"]["state"], told["sidecar"]["behind"]) == ("behind", 1)
        assert "folders" not in told


def test_health_of_a_vault_that_is_empty_or_read_only(tmp_path):
    with Vault(tmp_path / "v.db"):
        pass
    with Vault(tmp_path / "v.db", read_only=True) as vault:
        told = asked(vault, "health")["tiers"][0]
        assert (told["error"], told["entries"], told["sidecar"]["state"]) == (None, 0, "none")


def test_learned_weights_end_with_those_that_searches_use():
    now = [0.0]
    with Vault(":memory:", clock=lambda: now[0]) as vault:
        vault.add(id="a", title="An entry")
        for n in range(50):
            now[0] = (n // 10) * DAY + n
            vault.feedback("q", "a", "accepted" if n < 30 else "dismissed")
        told = asked(vault, "learned")
        assert [day["day"] for day in told["days"]] == [f"1970-01-0{n}" for n in range(1, 6)]
        assert [day["counted"] for day in told["days"]] == [10, 20, 30, 40, 50]
        assert told["days"][0]["weights"] == told["base"]
        assert told["days"][2]["weights"] != told["base"]
        weights = vault.weights()
        assert told["days"][-1]["weights"] == weights.values
        assert (told["cause"], told["min_rows"]) == (weights.cause, 30)
        assert told["days"][3]["actions"] == {"dismissed": 10}


def test_learned_weights_of_a_federation_count_all_tiers_or_one():
    with Vault(":memory:") as one, Vault(":memory:") as two, Federation({"one": one, "two": two}) as both:
        for vault, action in ((one, "accepted"), (two, "dismissed")):
            vault.add(id="a", title="An entry")
            for _ in range(35):
                vault.feedback("q", "a", action)
        assert asked(both, "learned")["days"][-1]["counted"] == 70
        assert asked(both, "learned")["days"][-1]["weights"] == both.weights().values
        assert asked(both, "learned", tier="two")["days"][-1]["weights"] == two.weights().values


def event(took_ms, query="secret words"):
    return SearchEvent(
        method="search",
        query=query,
        query_chars=len(query),
        queries=1,
        took_ms=took_ms,
        stages={"recall": took_ms},
        candidates=3,
        hits=1,
        generation=1,
        profile="septet",
        notes=(),
        error=None,
    )


def test_the_slowest_searches_of_a_day_are_kept_without_their_words():
    now = [0.0]
    slow = SlowSearches(lambda: now[0])
    slow.tell(event(10_000.0))
    now[0] = DAY
    for n in range(200):
        slow.tell(event(float(n)))
    told = slow.listed()
    assert [one["took_ms"] for one in told["searches"]] == [float(n) for n in range(199, 199 - MOST_KEPT, -1)]
    assert told["seen"] == 201
    assert "secret" not in str(told)
    slow.queries = True
    slow.tell(event(1_000.0))
    assert slow.listed()["searches"][0]["query"] == "secret words"
    TypeAdapter(OPERATIONS["slow_searches"].answer).validate_python(slow.listed())
    now[0] = 2 * DAY
    assert slow.listed()["searches"] == []
