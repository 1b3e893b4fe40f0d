"""The command line over a vault on a server: what works on a file works there, and no password is ever told."""

import asyncio
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import urllib.request

import psycopg
import pytest
from tests.commands import FOREIGN, Commands

from pages import ROOT, same
from septet import PostgresVault, Vault
from septet.postgres.store import vector_index
from septet.postgres.tables import nearest

pytest.importorskip("typer")
SECRET = "correct-horse"


@pytest.fixture
def address(postgres, vault_name):
    """The address of a vault, with a password that the server does not ask for."""
    return f"{postgres.dsn().replace('@', f':{SECRET}@')}?vault={vault_name}"


@pytest.fixture
def septet(tmp_path, monkeypatch, address):
    commands = Commands(tmp_path, monkeypatch)
    monkeypatch.setenv("SEPTET_VAULT", address)

    def run(*arguments, stdin=""):
        code, out, err = commands(*arguments, stdin=stdin)
        assert SECRET not in out + err
        return code, out, err

    return run


@pytest.fixture
def filled(septet):
    assert septet("add", "Retry with backoff", "--id", "retry", "-t", "http", "--domain", "web")[0] == 0
    assert septet("add", "Session cookies expire", "--id", "cookies", "-d", "After an hour.")[0] == 0
    return septet


def test_entries_are_written_read_and_found(filled):
    assert filled("search", "backoff", "--json")[0] == 0
    found = json.loads(filled("search", "backoff", "--json")[1])
    assert [hit["id"] for hit in found["hits"]] == ["retry"]
    assert "Retry with backoff" in filled("get", "retr")[1]
    listed = json.loads(filled("list", "--json")[1])
    assert [entry["id"] for entry in listed["entries"]] == ["retry", "cookies"]
    assert json.loads(filled("list", "--json", "--where", '{"domain": "web"}')[1])["entries"][0]["id"] == "retry"
    assert "web" in filled("facets", "domain")[1]
    assert filled("search", "nothingofthekind")[0] == 1


def test_answers_are_explained_and_judged(filled):
    code, out, _ = filled("explain", "backoff", "retry")
    assert code == 0 and "retry" in out
    assert filled("similar", "retry")[0] in (0, 1)
    assert filled("feedback", "backoff", "retry", "accepted")[0] == 0
    assert json.loads(filled("stats", "--json")[1])["feedback"] == {"accepted": 1}


def test_entries_are_changed_linked_and_deleted(filled):
    assert filled("update", "retry", "--set", "severity=critical")[0] == 0
    assert "critical" in filled("get", "retry", "--json")[1]
    assert filled("history", "retry")[0] == 0
    assert filled("link", "retry", "cookies", "--type", "see")[0] == 0
    assert "cookies" in filled("links", "retry")[1]
    assert filled("unlink", "retry", "cookies")[0] == 0
    assert filled("delete", "cookies")[0] == 0
    assert filled("get", "cookies")[0] == 1


def test_memories_are_kept_apart(filled):
    code, out, _ = filled("remember", "Maria prefers short reports", "-t", "maria")
    assert code == 0
    assert "Maria" in filled("recall", "reports")[1]
    assert "Maria" not in filled("search", "reports")[1]
    assert filled("forget", out.strip())[0] == 0


def test_a_vault_is_exported_imported_and_backed_up(filled, tmp_path):
    assert filled("export", "all.jsonl")[0] == 0
    lines = [json.loads(line) for line in (tmp_path / "all.jsonl").read_text("utf-8").splitlines()]
    assert [line["id"] for line in lines] == ["retry", "cookies"]
    assert filled("import", "all.jsonl")[2].startswith("stored 2 entries, 2 of them unchanged")
    assert filled("import", "-", stdin='{"id": "third", "title": "A third one"}\n')[0] == 0
    assert filled("optimize")[2].startswith("3 entries: counts are folded")
    assert filled("backup", "copy.db")[0] == 0
    assert filled("restore", "copy.db", os.environ["SEPTET_VAULT"])[0] == 3
    with Vault(tmp_path / "copy.db", read_only=True) as copy:
        assert {entry.id for entry in copy.entries(limit=None)} == {"retry", "cookies", "third"}


def test_what_is_shown_of_a_place_can_be_given_back_but_for_its_user(filled, postgres, vault_name):
    code, out, _ = filled("stats", "--json")
    assert code == 0
    assert json.loads(out)["path"] == f"postgresql://{postgres.dsn().rpartition('@')[2]}?vault={vault_name}"


def test_the_doctor_checks_a_server(filled):
    code, out, _ = filled("doctor", "--offline", "--json")
    checks = json.loads(out)["checks"]
    assert code == 0 and checks["vault"]["entries"] == 2
    assert checks["server"]["pgvector"] and checks["server"]["schema"] >= 1 and not checks["server"]["standby"]
    assert checks["role"]["may_write"] and checks["role"]["owns"]
    assert checks["full text"] == {**checks["full text"], "state": "ok", "faults": []}
    code, out, _ = filled("doctor", "--offline")
    assert code == 0 and "PostgreSQL" in out and "counts agree" in out


def test_the_doctor_finds_counts_that_are_wrong(filled, address):
    with PostgresVault(address) as vault, vault._store.writing() as write:
        write.sql.execute("DELETE FROM septet.count_changes WHERE vault = %s", (write.vault.number,))
    code, out, _ = filled("doctor", "--offline", "--json")
    check = json.loads(out)["checks"]["full text"]
    assert code == 3 and check["state"] == "fault" and "wrong counts" in check["said"]


def test_the_doctor_names_an_index_over_vectors_that_a_crash_left_unfinished(filled, address):
    with PostgresVault(address) as vault:
        vault.add_many([{"id": f"v{n}", "title": f"Entry {n}", "vector": [1.0, n]} for n in range(3)])
        vault.index_vectors()
        assert filled("doctor", "--offline")[0] == 0
        with vault._store.reading() as read:
            (space,) = read.tables.vectors.spaces(read)
        with vault._store.maintaining() as sql:
            sql.execute(
                "UPDATE pg_index SET indisvalid = false WHERE indexrelid = to_regclass(%s)",
                (f"septet.{nearest.index_name(vault._store.vault, space)}",),
            )
        code, out, _ = filled("doctor", "--offline", "--json")
        check = json.loads(out)["checks"]["vector index"]
        assert code == 3 and check["models"] == ["given"] and "call vault.index_vectors(model='given')" in check["said"]
        with vault._store.maintaining() as sql, vector_index._alone(sql, vault._store, space):
            # It is being made.
            assert filled("doctor", "--offline")[0] == 0
        vault.index_vectors(model="given")
    assert filled("doctor", "--offline")[0] == 0


def test_the_doctor_says_what_a_reader_may(filled, address, postgres, vault_name, role):
    with PostgresVault(address) as vault, vault._store.bookkeeping() as write:
        write.sql.execute(f'GRANT USAGE ON SCHEMA septet TO "{role}"')
        write.sql.execute(f'GRANT SELECT ON ALL TABLES IN SCHEMA septet TO "{role}"')
        write.sql.execute(f'GRANT SELECT ON ALL SEQUENCES IN SCHEMA septet TO "{role}"')
    reader = f"postgresql://{role}@{postgres.dsn().rpartition('@')[2]}?vault={vault_name}"
    code, out, _ = filled("doctor", "--offline", "--json", "--vault", reader)
    role = json.loads(out)["checks"]["role"]
    assert code == 0 and (role["may_write"], role["owns"]) == (False, False)
    assert filled("search", "backoff", "--vault", reader)[0] == 0
    code, _, err = filled("add", "Not allowed", "--vault", reader)
    assert code == 3 and "grant septet_writer or septet_reader" in err


def test_the_doctor_tells_a_server_that_is_away(septet, closed_port):
    away = f"postgresql://agent:{SECRET}@127.0.0.1:{closed_port}/postgres?vault=team"
    code, out, _ = septet("doctor", "--offline", "--vault", away)
    assert code == 3 and "cannot be reached" in out
    code, out, err = septet("search", "x", "--vault", away)
    assert code == 3 and out == "" and err.count("\n") == 1


def test_the_status_measures_what_graphs_find(filled, address):
    with PostgresVault(address) as vault:
        vault.add_many([{"id": f"v{n}", "title": f"Entry {n}", "vector": [1.0, n, n * n]} for n in range(30)])
        assert vault.index_vectors("hnsw") == ["given"]
    code, _, err = filled("postgres", "status", address, "--recall")
    assert code == 0 and "the index over given (3) finds 100.0% of the 10 nearest, for 30" in err
    assert filled("postgres", "init", address, "--recall")[0] == 2


def test_a_vault_that_is_not_there_is_not_made_by_reading(septet, address):
    code, _, err = septet("search", "x")
    assert code == 3 and "the vault does not exist" in err
    with pytest.raises(Exception, match="the vault does not exist"):
        PostgresVault(address, read_only=True)


@pytest.mark.parametrize("how", ["url", "variable"])
def test_a_configuration_has_a_server_as_a_tier(filled, address, vault_name, tmp_path, monkeypatch, how):
    monkeypatch.delenv("SEPTET_VAULT")
    plain = address.partition("?")[0]
    monkeypatch.setenv("TEAM_DSN", plain)
    place = f'url = "{plain}"' if how == "url" else 'dsn_env = "TEAM_DSN"'
    (tmp_path / "tiers.toml").write_text(
        f'[tiers.agent]\npath = "agent.db"\n[tiers.team]\n{place}\nvault = "{vault_name}"\n'
        'timeout_s = 5\nreads = "primary"\nconnections = 2\nprepare = false\n',
        "utf-8",
    )
    with Vault(tmp_path / "agent.db") as agent:
        agent.add(id="mine", title="My own backoff")
    tiers = ("--config", "tiers.toml")
    code, out, _ = filled("tiers", *tiers, "--json")
    told = {one["tier"]: one for one in json.loads(out)["tiers"]}
    assert code == 0 and told["team"]["entries"] == 2 and told["team"]["problem"] == ""
    hits = json.loads(filled("search", "backoff", *tiers, "--json")[1])["hits"]
    assert {(hit["tier"], hit["id"]) for hit in hits} == {("agent", "mine"), ("team", "retry")}
    assert filled("add", "For the team", "--id", "new", "--tier", "team", *tiers)[0] == 0
    assert "For the team" in filled("get", "new", *tiers)[1]


def test_retrieval_works_there(filled):
    code, out, _ = filled("retrieve", "backoff", "--json")
    assert code == 0 and "retry" in out


def environment(home, **more):
    kept = {name: value for name, value in os.environ.items() if not FOREIGN.match(name)}
    return {**kept, "HOME": str(home), **more}


def test_a_server_over_http_answers_from_it(filled, address, tmp_path):
    pytest.importorskip("uvicorn")
    command = [sys.executable, "-m", "septet", "serve", "--port", "0", "--access-log", "off"]
    options = {"env": environment(tmp_path, SEPTET_VAULT=address), "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **options) as process:
        try:
            line = process.stderr.readline()
            assert line.startswith("serving "), line
            url = line.split()[-1]
            body = json.dumps({"query": "backoff"}).encode()
            asked = urllib.request.Request(f"{url}v1/search", body, {"Content-Type": "application/json"})
            with urllib.request.urlopen(asked, timeout=30) as answer:
                assert [hit["id"] for hit in json.load(answer)["hits"]] == ["retry"]
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        finally:
            process.kill()


def test_an_agent_searches_it_over_mcp(filled, address, tmp_path):
    mcp = pytest.importorskip("mcp")
    from mcp.client.stdio import StdioServerParameters, stdio_client

    async def main():
        started = StdioServerParameters(
            command=sys.executable, args=["-m", "septet", "mcp"], env=environment(tmp_path, SEPTET_VAULT=address)
        )
        async with mcp.Client(stdio_client(started)) as client:
            return await client.call_tool("search", {"query": "backoff"})

    told = asyncio.run(asyncio.wait_for(main(), 60))
    assert "Retry with backoff" in str(told) and SECRET not in str(told)


PAGE = ROOT / "docs" / "postgres.md"


@pytest.fixture
def knowledge(postgres):
    """The database of the page, and its user."""
    postgres.drop("knowledge")
    with psycopg.connect(postgres.dsn(), autocommit=True) as sql:
        sql.execute("DROP ROLE IF EXISTS team")
        sql.execute("CREATE ROLE team SUPERUSER LOGIN")
    yield postgres.database("knowledge").rpartition("@")[2]
    postgres.drop("knowledge")
    with psycopg.connect(postgres.dsn(), autocommit=True) as sql:
        sql.execute("DROP ROLE team")


def test_the_commands_of_the_page_print_what_it_shows(knowledge, tmp_path, monkeypatch):
    commands, here = Commands(tmp_path, monkeypatch), knowledge
    monkeypatch.delenv("SEPTET_VAULT")
    monkeypatch.setenv("COLUMNS", "100")
    blocks = re.findall(r"^```console\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    asked = [one for block in blocks for one in re.split(r"^\$ septet ", block, flags=re.MULTILINE) if one.strip()]
    assert len(asked) >= 5
    for one in asked:
        line, _, shown = one.partition("\n")
        _, out, err = commands(*shlex.split(line.replace("db.example.org/knowledge", here)))
        said = (out + err).replace(here, "db.example.org/knowledge")
        # The page was written beside PostgreSQL 18.
        said = re.sub(r"PostgreSQL .*, pgvector [\d.]+", "PostgreSQL 18.6, pgvector 0.8.6", said)
        if not same(said, shown):
            assert said == shown, line
