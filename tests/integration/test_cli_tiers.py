"""The tiers of a configuration from the command line: what works on a vault works on them."""

from __future__ import annotations

import json

import pytest
from tests.commands import Commands

from septet import Vault

pytest.importorskip("typer")

CONFIG = """
[tiers.agent]
path = "agent.db"

[tiers.team]
path = "team.db"
read_only = true

[tiers.away]
path = "no/such/folder/v.db"
read_only = true
optional = true
"""


@pytest.fixture
def septet(tmp_path, monkeypatch):
    for name, ids in (("agent", ("agent-cookies", "both-cookies")), ("team", ("team-cookies", "both-cookies"))):
        with Vault(tmp_path / f"{name}.db") as vault:
            vault.add_many([{"id": id, "title": f"{id} of {name}"} for id in ids])
    (tmp_path / "tiers.toml").write_text(CONFIG, "utf-8")
    commands = Commands(tmp_path, monkeypatch)
    monkeypatch.delenv("SEPTET_VAULT")
    return commands


TIERS = ("--config", "tiers.toml")


def test_a_search_says_which_optional_tier_is_missing_and_why(septet):
    code, said, told = septet("search", "cookies", *TIERS, "--format", "ids")
    assert code == 0 and "team-cookies" in said
    assert told.startswith("skipped: tier 'away' of ") and told.count("\n") == 1


def test_the_tiers_are_listed_with_what_each_holds(septet):
    code, said, told = septet("tiers", *TIERS, "--json")
    assert code == 0 and "away" in told  # it is optional
    found = {one["tier"]: one for one in json.loads(said)["tiers"]}
    assert [*found] == ["agent", "team", "away"]
    assert (found["agent"]["entries"], found["agent"]["priority"], found["agent"]["writable"]) == (2, 1.0, True)
    assert (found["team"]["entries"], found["team"]["writable"], found["team"]["problem"]) == (2, False, "")
    assert found["away"]["entries"] is None and found["away"]["problem"]
    assert septet("tiers", *TIERS, "--format", "ids")[1].split() == ["agent", "team", "away"]


def test_a_vault_that_is_given_is_the_one_tier(septet, monkeypatch):
    for given in (("agent.db",), ("--vault", "agent.db")):
        code, said, told = septet("tiers", *given, "--json")
        tier = {"tier": "vault", "priority": 1.0, "entries": 2, "writable": True, "place": "agent.db", "problem": ""}
        assert (code, told, json.loads(said)) == (0, "", {"source": None, "tiers": [tier]})
    assert json.loads(septet("search", "cookies", "--vault", "agent.db", "--json")[1])["hits"][0]["tier"] == "vault"
    # As for every other command: a named vault comes before SEPTET_CONFIG, and --config before SEPTET_VAULT.
    monkeypatch.setenv("SEPTET_CONFIG", "tiers.toml")
    assert septet("tiers", "--format", "ids")[1].split() == ["agent", "team", "away"]
    assert septet("tiers", "team.db", "--format", "ids")[1].split() == ["vault"]
    monkeypatch.setenv("SEPTET_VAULT", "team.db")
    assert "team.db" in septet("tiers", "--format", "csv")[1]
    assert "agent.db" in septet("tiers", "agent.db", "--format", "csv")[1]
    assert septet("tiers", *TIERS, "--format", "ids")[1].split() == ["agent", "team", "away"]
    assert septet("tiers", "agent.db", *TIERS)[0] == septet("tiers", "--vault", "agent.db", *TIERS)[0] == 2


def test_a_vault_that_cannot_be_opened_is_a_fault_of_its_tier(septet):
    code, said, told = septet("tiers", "missing.db")
    assert code == 3 and "missing.db" in said and "there is no vault at" in told
    assert not (septet.home / "missing.db").exists()
    (septet.home / "text.db").write_text("no database at all", "utf-8")
    code, said, told = septet("tiers", "--vault", "text.db", "--json")
    assert code == 3 and json.loads(said)["tiers"][0]["problem"] and told.startswith("vault: ")


def test_a_tier_that_must_be_there_and_is_not_is_a_fault(septet):
    (septet.home / "tiers.toml").write_text(CONFIG.replace("optional = true", ""), "utf-8")
    code, said, told = septet("tiers", *TIERS)
    assert code == 3 and "agent" in said and "away" in told
    assert septet("search", "cookies", *TIERS)[0] == 3


def test_a_search_asks_all_tiers_and_says_where_each_hit_is_from(septet):
    code, said, _ = septet("search", "cookies", *TIERS, "--json")
    hits = json.loads(said)["hits"]
    assert code == 0
    assert {hit["id"]: hit["tier"] for hit in hits} == {
        "agent-cookies": "agent", "both-cookies": "agent", "team-cookies": "team",
    }  # fmt: skip


def test_the_variable_names_the_configuration_and_a_named_vault_comes_before_it(septet, monkeypatch):
    monkeypatch.setenv("SEPTET_CONFIG", "tiers.toml")
    assert len(septet("list", "--format", "ids")[1].split()) == 3
    assert septet("list", "--order-by", "id", "--format", "ids", "--vault", "team.db")[1].split() == [
        "both-cookies",
        "team-cookies",
    ]
    monkeypatch.setenv("SEPTET_VAULT", "team.db")
    assert len(septet("list", "--format", "ids")[1].split()) == 2
    assert len(septet("list", "--format", "ids", *TIERS)[1].split()) == 3
    code, _, told = septet("list", "--vault", "agent.db", *TIERS)
    assert code == 2 and "either a vault or a configuration" in told


@pytest.mark.parametrize(
    "command",
    [
        ("get", "team"),
        ("explain", "cookies", "team"),
        ("similar", "team"),
        ("links", "team"),
        ("history", "team"),
        ("facets", "domain"),
        ("stats",),
        ("list",),
    ],
    ids=lambda command: command[0],
)
def test_what_reads_a_vault_reads_tiers(septet, command):
    code, said, told = septet(*command, *TIERS, "--json")
    assert code in (0, 1) and json.loads(said) is not None and "Traceback" not in told


def test_a_change_goes_to_the_highest_tier_that_has_the_entry_or_to_the_named_one(septet):
    assert septet("update", "both", "--set", "title=Mine", *TIERS)[0] == 0
    with Vault("agent.db") as agent, Vault("team.db") as team:
        assert agent.get("both-cookies").title == "Mine" and team.get("both-cookies").title == "both-cookies of team"
    code, said, _ = septet("add", "New one", "--id", "new-one", "--tier", "agent", *TIERS)
    assert (code, said) == (0, "new-one\n")
    with Vault("agent.db") as agent:
        assert "new-one" in agent
    assert septet("delete", "new-one", *TIERS)[0] == 0
    assert septet("get", "new-one", *TIERS)[0] == 1


def test_a_tier_for_reading_only_is_not_written(septet):
    code, _, told = septet("update", "team", "--set", "title=x", *TIERS)
    assert code == 3 and "read" in told
    assert septet("get", "team", "--tier", "agent", *TIERS)[0] == 1
    assert septet("get", "team", "--tier", "nonsense", *TIERS)[0] == 2
    code, _, told = septet("get", "x", "--tier", "agent", "--vault", "agent.db")
    assert code == 2 and "--config" in told


def test_an_ambiguous_id_lists_the_candidates_of_all_tiers(septet):
    with Vault("agent.db") as agent, Vault("team.db") as team:
        agent.add(id="twin-a", title="t")
        team.add(id="twin-b", title="t")
    code, _, told = septet("get", "twin", *TIERS)
    assert code == 2 and "'twin-a', 'twin-b'" in told


@pytest.mark.parametrize("broken", ["[tiers", "[tiers.a]\n", "[tiers.a]\npath = 'a.db'\nspeed = 3\n"])
def test_a_configuration_that_is_wrong_is_told_in_one_line(septet, broken):
    (septet.home / "broken.toml").write_text(broken, "utf-8")
    for command in (("tiers",), ("search", "x")):
        code, said, told = septet(*command, "--config", "broken.toml")
        assert (code, said) == (2, "") and "broken.toml" in told and told.count("\n") == 1
    assert septet("search", "x", "--config", "none.toml")[0] == 2
