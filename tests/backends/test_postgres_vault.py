"""A vault on PostgreSQL beside a vault in a file: the same methods, in the same places; and what it refuses."""

import asyncio
import inspect
import json
import subprocess
import sys

import pytest

from septet import (
    AsyncPostgresVault,
    AsyncVault,
    EntryError,
    EntryNotFound,
    Federation,
    PostgresVault,
    ReadOnly,
    StoreError,
    TierError,
    Vault,
)
from septet.errors import StoreBusy
from septet.evaluation import feedback_judgements
from septet.postgres.store.faults import AGAIN
from septet.service.served import Served


@pytest.fixture
def team(dsn, vault_name):
    with PostgresVault(dsn, vault_name, timeout_s=60) as made:
        yield made


def public(kind):
    return {name: inspect.getattr_static(kind, name) for name in dir(kind) if not name.startswith("_")}


#: Methods of files alone.
OF_FILES = {"sync", "forget_root", "sync_status", "watch_files", "redact"}


@pytest.mark.parametrize("name", sorted(public(Vault).keys() - OF_FILES))
def test_each_method_of_a_vault_is_there_with_the_same_arguments(name):
    if not callable(getattr(Vault, name)):
        return
    ours, theirs = (inspect.signature(getattr(kind, name)) for kind in (PostgresVault, Vault))
    assert list(ours.parameters.values()) == list(theirs.parameters.values())


@pytest.mark.parametrize("name", sorted(OF_FILES))
def test_what_only_a_file_can_do_is_not_there(name):
    assert not hasattr(PostgresVault, name) and not hasattr(AsyncPostgresVault, name)


def test_a_file_and_a_server_are_tiers_of_one_federation(team, tmp_path):
    with Vault(tmp_path / "agent.db") as agent, Federation({"agent": agent, "team": team}) as both:
        agent.add(id="mine", title="Retry twice")
        both.tier("team").add(id="ours", title="Retry at most three times")
        both.tier("team").add(id="same", title="Retry never")
        agent.add(id="same", title="Retry always")
        found = both.search("retry")
        assert {(hit.tier, hit.id) for hit in found} == {("agent", "mine"), ("team", "ours"), ("agent", "same")}
        assert both.get("same").title == "Retry always" and both.count() == 3
        assert {hit.id for hit in both.similar("ours", limit=2)} == {"mine", "same"}
        both.feedback("retry", "ours", "accepted")
        assert [one["relevant"] for one in feedback_judgements(both)] == [{"ours": 2}]
        assert both.tier("team").purge() == 0 and both.tier("team").import_([{"title": "more"}]).entries == 1
        with pytest.raises(TierError, match="is on a server"):
            Federation({"team": team}).sync(tmp_path)


def test_a_write_that_met_a_deadlock_is_done_again_with_all_that_it_was_given(team, monkeypatch):
    team.add(id="a", title="old")
    store, begin, failed = team._store, team._store.writing, []

    def writing():
        if len(failed) < 2:
            failed.append(1)
            raise StoreBusy("other writers were in the way") from AGAIN[0]("deadlock detected")
        return begin()

    monkeypatch.setattr(store, "writing", writing)
    assert team.update("a", title="new", tags=(tag for tag in ("x", "y"))).tags == ("x", "y")
    assert len(failed) == 2 and team.get("a").title == "new"
    failed.clear()
    team.add(id="b", title="other")
    failed.clear()
    assert team.link_many(iter([("a", "b")])) == 1 and len(team.links("b")) == 1 and len(failed) == 2


def test_what_is_wrong_is_not_tried_again(team):
    for call, fault in (
        (lambda: team.update("none", title="x"), EntryNotFound),
        (lambda: team.add(title=""), EntryError),
        (lambda: team.link("a", "a"), EntryError),
    ):
        with pytest.raises(fault):
            call()
    assert len(team) == 0


def test_a_reader_reads_and_refuses_to_write(team, dsn, vault_name):
    team.add(id="a", title="Retry policy")
    with PostgresVault(dsn, vault_name, read_only=True, timeout_s=60) as reader:
        assert reader.search("retry").ids == ["a"]
        for call in (lambda: reader.add(title="b"), lambda: reader.optimize(), lambda: reader.delete("a")):
            with pytest.raises(ReadOnly):
                call()


def test_a_backup_is_a_file_with_everything(team, tmp_path):
    team.add(id="a", title="Retry policy", vector=[1.0, 2.0], model="m", tags=["net"])
    team.add(id="b", title="Long text", description="One two three. " * 100, split=20)
    team.link("a", "b")
    team.remember("Bob likes ducks", id="m")
    team.feedback("retry", "a", "accepted")
    team.backup(tmp_path / "copy.db")
    with Vault(tmp_path / "copy.db") as copy:
        assert list(map(repr, sorted(copy, key=lambda e: e.id))) == list(map(repr, sorted(team, key=lambda e: e.id)))
        assert copy.links("a") == team.links("a") and copy.stats().feedback == team.stats().feedback
        assert copy.vectors(["a"]).tolist() == [[1.0, 2.0]]
        (here,), (there,) = ([(h.id, h.score) for h in v.search("retry policy", limit=1)] for v in (copy, team))
        assert here[0] == there[0] and here[1] == pytest.approx(there[1], abs=1e-9)
    with pytest.raises(StoreError, match="already exists"):
        team.backup(tmp_path / "copy.db")
    assert [one.name for one in tmp_path.iterdir()] == ["copy.db"]


def test_it_is_asked_by_asyncio_and_by_faces(team, dsn, vault_name):
    async def later():
        async with AsyncPostgresVault(dsn, vault_name, timeout_s=60) as vault:
            await vault.add(id="a", title="Retry policy")
            assert (await vault.search("retry")).ids == ["a"] and "AsyncPostgresVault('postgresql://" in repr(vault)
        shared = AsyncVault.of(team)
        assert await shared.update("a", tags=["net"]) == team.get("a")
        assert [entry.id async for entry in shared] == ["a"]
        await shared.close()
        served = Served(team)
        assert served.blocking is team and (await served.memory.search("retry")).ids == ["a"]
        await served.aclose()

    asyncio.run(later())


def test_it_retrieves(team):
    team.add(id="a", title="Retry policy", description="Retry at most three times, then give up.")
    assert team.retriever().retrieve("how often do we retry").hits[0].id == "a"


def test_arguments_are_checked_before_a_server_is_asked():
    for given in (
        {"buckets": 0},
        {"timeout_s": 0},
        {"connections": 0},
        {"history": -1},
        {"read_only": 1},
        {"vault": "a\ud800"},
        {"reads": "some"},
        {"clock": 1},
    ):
        with pytest.raises(StoreError, match=next(iter(given))):
            PostgresVault(**{"dsn": "postgresql://127.0.0.1:1/db", "vault": "v", **given})
    with pytest.raises(StoreError, match="names no vault"):
        PostgresVault("postgresql://127.0.0.1:1/db")


def test_a_vault_is_not_opened_as_one_of_another_shape(dsn, vault_name):
    PostgresVault(dsn, vault_name, buckets=5, vectors="halfvec").close()
    for same in ({}, {"buckets": 5}, {"vectors": "halfvec", "read_only": True}):
        with PostgresVault(dsn, vault_name, **same) as vault:
            assert vault._store.vault[2:4] == (5, "halfvec")
    for other in ({"buckets": 32}, {"vectors": "vector", "read_only": True}):
        with pytest.raises(StoreError, match=rf"was created with {next(iter(other))}=.*omit"):
            PostgresVault(dsn, vault_name, **other)


def test_without_its_packages_one_line_says_what_to_install():
    code = (
        "import sys, json\n"
        f"sys.modules[{'psycopg'!r}] = None\n"
        "import septet\n"
        "try: septet.PostgresVault('postgresql://u:secret@h/db', 'v')\n"
        "except septet.StoreError as fault: print(json.dumps([str(fault), fault.__suppress_context__]))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    said, alone = json.loads(ran.stdout)
    assert "pip install 'septet[postgres]'" in said and "\n" not in said and "secret" not in said and alone


def test_without_its_packages_the_doctor_says_what_to_install(monkeypatch):
    server_checks = pytest.importorskip("septet.cli.vault_checks").server_checks
    monkeypatch.setitem(sys.modules, "pgvector.psycopg", None)
    (check,) = server_checks("postgresql://u:secret@h/db?vault=v", [])
    assert check.state == "fault" and "secret" not in check.summary
    assert "pip install 'septet[postgres]'" in check.summary
