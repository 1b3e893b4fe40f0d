"""Copies between a file and a server: everything arrives, twice is once, and one that is killed goes on."""

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
from itertools import count

import pytest
from tests.commands import Commands
from tests.doubles import Letters

from septet import PostgresVault, Vault
from septet.exchange import copying
from septet.exchange.copying import copy_vault

pytest.importorskip("typer")
WORDS = "retry backoff jitter cookie session über straße 東京 naïve cache lock queue index vector shard tier".split()
NOW = 1_790_000_000.0


def text(rng, words):
    return " ".join(rng.choice(WORDS) for _ in range(words))


def fill(vault, entries=120, seed=1):
    """Store a bit of everything that a vault may hold."""
    rng = random.Random(seed)
    made = []
    for n in range(entries):
        one = {
            "id": f"e{n}",
            "title": f"{text(rng, 3)} {n}",
            "description": text(rng, rng.choice((0, 5, 40))),
            "context": text(rng, 4),
            "tags": [rng.choice(WORDS), "é"],
            "attrs": {"n": n, "deep": {"x": [1, None, "ß"]}},
            "domain": f"domain{n % 3}",
            "severity": ("critical", "warning", "suggestion")[n % 3],
            "created_at": NOW - 86_400 * n,
            "updated_at": NOW - 3_600 * n,
            "trust": "unverified" if n % 5 == 0 else "trusted",
        }
        if n % 7 == 0:
            one["valid_from"], one["valid_until"] = NOW - 10, NOW - 5 if n % 2 else NOW + 1e9
        if n % 2 == 0:
            one["vector"] = [rng.gauss(0, 1) for _ in range(8)]
        made.append(one)
    vault.add_many(made)
    vault.add(id="two", title="Of two models", vector={"a": [1.0, 2.0], "b": [0.5, 0.25, -1.0]})
    vault.add(id="long", title="A long one", description="\n\n".join(text(rng, 30) for _ in range(6)), split=40)
    vault.remember("Bob owns billing", "since spring", ["bob"], id="bob", created_at=NOW - 5)
    vault.link_many([(f"e{n}", f"e{n + 1}", "next", f"note {n}") for n in range(entries // 3)])
    for n in range(9):
        vault.feedback(text(rng, 2), f"e{n}", ("accepted", "dismissed", "modified")[n % 3])
    vault.delete("e5")


@pytest.fixture
def source(tmp_path):
    with Vault(tmp_path / "agent.db", clock=lambda: NOW) as vault:
        fill(vault)
        yield vault


@pytest.fixture
def server(dsn, vault_name):
    with PostgresVault(dsn, vault=vault_name, clock=lambda: NOW) as vault:
        yield vault


def everything(vault, folder):
    """Return what a vault exports, in an order of its own, without what a store decides."""
    vault.export(folder / "all.jsonl")
    lines = [json.loads(line) for line in (folder / "all.jsonl").read_text("utf-8").splitlines()]
    return sorted(json.dumps(line, sort_keys=True, ensure_ascii=False) for line in lines)


def answer_the_same(one, other):
    """Compare some searches: ids, and scores to 1e-9."""
    (ids, scores), (other_ids, other_scores) = asked(one), asked(other)
    return ids == other_ids and scores == pytest.approx(other_scores, abs=1e-9)


def asked(vault):
    """Return the ids and the scores of some searches."""
    found = [vault.search("cache", query_vector=[1.0] * 8, limit=20)]
    for options in ({}, {"where": {"domain": "domain1"}}, {"include_memories": True, "include_expired": True}):
        asked = ("retry backoff", "straße 東京", "über naïve cache lock", "long one", "bob billing")
        found += [vault.search(words, limit=8, **options) for words in asked]
    ids = [(number, hit.id) for number, hits in enumerate(found) for hit in hits]
    return ids, [hit.score for hits in found for hit in hits]


def test_a_copy_there_and_back_loses_nothing_and_answers_the_same(source, server, tmp_path):
    pushed = copy_vault(source, server)
    assert pushed.differences == () and pushed.compared == 20
    assert (pushed.entries, pushed.written, pushed.feedback) == (len(source), len(source), 9)
    assert everything(server, tmp_path) == everything(source, tmp_path)
    assert answer_the_same(server, source)
    with Vault(tmp_path / "back.db", clock=lambda: NOW) as back:
        pulled = copy_vault(server, back)
        assert pulled.differences == () and pulled.written == len(source)
        assert everything(back, tmp_path) == everything(source, tmp_path)
        assert answer_the_same(back, source)


def test_a_second_copy_writes_only_what_changed_and_leaves_what_others_wrote(source, server):
    copy_vault(source, server)
    again = copy_vault(source, server)
    assert (again.written, again.vectors, again.links, again.feedback, again.differences) == (0, 0, 0, 0, ())
    server.add(id="theirs", title="Only there")
    source.update("e7", title="Changed here")
    source.add(id="more", title="One more")
    source.link("more", "e7")
    source.feedback("more", "e7", "accepted")
    third = copy_vault(source, server)
    assert (third.written, third.links, third.feedback, third.differences) == (2, 1, 1, ())
    # What the server alone holds changes scores: they are not compared.
    assert third.compared == 0
    assert server.get("e7").title == "Changed here" and server.get("theirs").title == "Only there"


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_vectors_of_a_provider_come_along_with_the_use_that_is_made_of_them(tmp_path, dsn, vault_name, share):
    file, embedder = tmp_path / "agent.db", Letters()
    with Vault(file) as vault:
        vault.add_many([{"id": f"e{n}", "title": f"{WORDS[n % 9]} {n}"} for n in range(40)])
    if share:
        with Vault(file, embedder=embedder) as vault:
            vault.embed()
    with Vault(file, clock=lambda: NOW) as source, PostgresVault(dsn, vault=vault_name, clock=lambda: NOW) as target:
        if 0 < share < 1:
            with source._store.writing() as write:
                write.tables.texts.empty(write, write.tables.texts.text_spaces(write)[0].space, 20)
        done = copy_vault(source, target)
        assert (done.vectors, done.differences) == (round(40 * share), ())
        assert [space[1:] for space in target.stats().spaces] == [space[1:] for space in source.stats().spaces]
    made, sent = len(embedder.sent()), len(embedder.sent("query"))
    opening = {"embedder": embedder, "read_only": True, "clock": lambda: NOW}
    with Vault(file, **opening) as source, PostgresVault(dsn, vault=vault_name, **opening) as target:
        ours, theirs = source.search("jitter 20"), target.search("jitter 20")
        assert [hit.id for hit in theirs] == [hit.id for hit in ours]
        assert [hit.score for hit in theirs] == pytest.approx([hit.score for hit in ours], abs=1e-9)
    # Nobody was asked to make a vector again, and searches used those that came.
    assert len(embedder.sent()) == made and (len(embedder.sent("query")) > sent) == bool(share)


def test_what_is_written_while_both_are_compared_has_its_own_time(tmp_path, server):
    ticks, seen = count(int(NOW)), []
    # Others write to a vault through the clock that it was opened with.
    clocked = {"clock": lambda: float(next(ticks)), "on_search": lambda _: seen.append(source._clock())}
    with Vault(tmp_path / "agent.db", **clocked) as source:
        source.add_many([{"id": f"e{n}", "title": f"{WORDS[n % 9]} {n}"} for n in range(30)])
        done = copy_vault(source, server)
    assert (done.compared, done.differences) == (20, ())
    assert len({*seen}) == 20


def test_an_empty_vault_is_copied_too(tmp_path, server):
    with Vault(tmp_path / "empty.db") as source:
        done = copy_vault(source, server)
    assert (done.entries, done.compared, done.differences) == (0, 0, ())


def test_what_differs_afterwards_is_told(source, server, monkeypatch):
    copy_vault(source, server)

    def spoilt(*given):
        server.delete("e8")
        with server._store.writing() as write:
            write.sql.execute("UPDATE septet.entries SET domain = 'other' WHERE id = 'e9'")
        return real(*given)

    real = copying.differences
    monkeypatch.setattr(copying, "differences", spoilt)
    done = copy_vault(source, server)
    assert "entry 'e8' is missing" in done.differences and "entry 'e9' has other fields" in done.differences
    monkeypatch.setattr(copying, "differences", real)
    assert copy_vault(source, server).differences == ()


def test_a_copy_that_stopped_begins_behind_what_is_there(source, server, monkeypatch):
    monkeypatch.setattr(copying, "BATCH", 25)
    with pytest.raises(KeyboardInterrupt):
        copy_vault(source, server, progress=stopping_at(60))
    there = len(server)
    assert 60 <= there < len(source)
    steps = []
    done = copy_vault(source, server, progress=lambda done, total: steps.append(done))
    assert steps[0] == there and done.written == len(source) - there
    assert done.differences == () and done.compared == 20


def test_a_copy_of_another_vault_does_not_go_on_where_the_first_one_stopped(source, server, tmp_path, monkeypatch):
    monkeypatch.setattr(copying, "BATCH", 25)
    with pytest.raises(KeyboardInterrupt):
        copy_vault(source, server, progress=stopping_at(60))
    with Vault(tmp_path / "other.db", clock=lambda: NOW) as other:
        fill(other, seed=2)
        assert other.stats().generation == source.stats().generation
        done = copy_vault(other, server)
        assert done.differences == () and {entry.id for entry in other.entries(limit=None)} <= {
            entry.id for entry in server.entries(limit=None)
        }


def stopping_at(entries):
    def step(done, total):
        if done >= entries:
            raise KeyboardInterrupt

    return step


KILLED = textwrap.dedent("""
    import os, signal, sys
    from septet.exchange import copying
    copying.BATCH = 25
    real, left = copying._VaultCopy._mark, [int(sys.argv.pop(1))]
    def mark(run):
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        real(run)
    copying._VaultCopy._mark = mark
    from septet.cli import main
    main()
""")


def test_a_push_that_is_killed_again_and_again_is_whole_in_the_end(source, dsn, vault_name, tmp_path):
    arguments = ["push", str(tmp_path / "agent.db"), dsn, "--vault", vault_name]
    environment = {**os.environ, "HOME": str(tmp_path)}
    for batches in (0, 3):
        # Killed behind a batch that was committed, before that was written down.
        command = [sys.executable, "-c", KILLED, str(batches), *arguments]
        assert subprocess.run(command, env=environment, check=False).returncode == -signal.SIGKILL
    with PostgresVault(dsn, vault=vault_name, read_only=True) as target:
        assert 0 < len(target) < len(source)
    done = subprocess.run(
        [sys.executable, "-m", "septet", *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0 and "compared: nothing differs; 20 searches found the same" in done.stderr
    with PostgresVault(dsn, vault=vault_name, read_only=True, clock=lambda: NOW) as target:
        assert everything(target, tmp_path) == everything(source, tmp_path)


def test_the_commands_push_and_pull_and_say_what_they_did(tmp_path, dsn, vault_name, monkeypatch):
    septet = Commands(tmp_path, monkeypatch)
    septet("add", "Retry with jitter", "--vault", "agent.db")
    new = ("--buckets", "4", "--vectors", "halfvec")
    code, out, err = septet("push", "agent.db", dsn, "--vault", vault_name, *new)
    with PostgresVault(dsn, vault_name, read_only=True) as vault:
        assert vault._store.vault[2:4] == (4, "halfvec")
    assert (code, out) == (0, "") and err.startswith("1 entry in ") and "nothing differs" in err
    code, _, err = septet("push", "agent.db", dsn, "--vault", vault_name, "--buckets", "5")
    assert code == 3 and "was created with buckets=4, which cannot be changed: omit buckets=5" in err
    assert septet("push", "agent.db", dsn, "--vault", vault_name)[0] == 0
    code, out, _ = septet("pull", f"{dsn}?vault={vault_name}", "back.db", "--json")
    assert code == 0 and json.loads(out)["written"] == 1
    code, out, _ = septet("search", "jitter", "--vault", "back.db", "--json")
    assert code == 0 and "Retry with jitter" in out


def test_pulling_from_a_vault_that_is_not_there_makes_no_file(tmp_path, dsn, monkeypatch):
    septet = Commands(tmp_path, monkeypatch)
    code, _, err = septet("pull", dsn, "new.db", "--vault", "nobody-made-it")
    assert code == 3 and "nobody-made-it" in err
    assert not (tmp_path / "new.db").exists()


def test_a_file_whose_index_is_not_in_memory_yet_is_compared_when_it_is(source, server, tmp_path, monkeypatch):
    monkeypatch.setattr("septet.sqlite.snapshot.manager.BUILT_AT_ONCE", 0)
    with Vault(source.path, read_only=True, sidecar=False, clock=lambda: NOW) as large:
        copied = copy_vault(large, server)
    assert (copied.compared, copied.differences) == (20, ())
