"""A database for vaults: its tables made and brought up to date, its roles, and the command that does it."""

import json
import os
import subprocess
import sys
from itertools import count

import psycopg
import pytest
from tests.commands import Commands

from postgres_cluster import PostgresCluster
from septet.errors import ReadOnly, SchemaTooNew, StoreError
from septet.postgres.store import administration, migrations
from septet.postgres.store.store import PostgresStore

_databases = count(1)
ALL_TABLES = 17


@pytest.fixture
def empty(postgres):
    """The address of a database with nothing in it."""
    name = f"empty_{os.getpid()}_{next(_databases)}"
    yield postgres.database(name)
    postgres.drop(name)


@pytest.fixture
def septet(tmp_path, monkeypatch):
    pytest.importorskip("typer")
    monkeypatch.delenv("SEPTET_POSTGRES", raising=False)
    return Commands(tmp_path, monkeypatch)


def run(dsn, *statements):
    with psycopg.connect(dsn, autocommit=True) as sql:
        for one in statements:
            sql.execute(one)


def as_user(dsn, user):
    return dsn.replace("postgres@", f"{user}@")


def test_the_first_store_for_writing_makes_the_tables_and_one_for_reading_does_not(empty):
    with pytest.raises(StoreError, match="holds no vaults: run `septet postgres init`"):
        PostgresStore(empty, "v", read_only=True)
    assert administration.status(empty).schema == 0
    PostgresStore(empty, "v").close()
    assert administration.status(empty).schema == migrations.SCHEMA_VERSION
    PostgresStore(empty, "v", read_only=True).close()


OPEN = """
import sys
from septet.postgres.store.store import PostgresStore
sys.stdin.read(1)
store = PostgresStore(sys.argv[1], "v")
print(store.vault.number)
store.close()
"""


def test_four_processes_make_the_tables_of_an_empty_database_once(empty):
    running = [
        subprocess.Popen([sys.executable, "-c", OPEN, empty], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    for one in running:
        one.stdin.write("x")
        one.stdin.flush()
    answers = [one.communicate()[0] for one in running]
    assert [one.returncode for one in running] == [0] * 4
    assert len(set(answers)) == 1


@pytest.mark.parametrize("version", [2, 99])
def test_a_newer_schema_is_refused_by_all_but_status_and_stays(empty, version, septet):
    administration.init(empty)
    run(empty, f"UPDATE septet.meta SET value = '{version}' WHERE key = 'schema_version'")
    for refused in (PostgresStore, lambda dsn, _: administration.init(dsn), lambda dsn, _: administration.migrate(dsn)):
        with pytest.raises(SchemaTooNew, match=f"schema version {version}, this Septet knows 1: upgrade Septet"):
            refused(empty, "v")
    assert administration.status(empty).schema == version
    code, _, told = septet("postgres", "migrate", empty)
    assert code == 3
    assert "upgrade Septet" in told


@pytest.mark.parametrize("version", ["one", "1.0", "9" * 5_000])
def test_a_version_that_is_no_number_is_told_and_stays(empty, version):
    administration.init(empty)
    run(empty, f"UPDATE septet.meta SET value = '{version}' WHERE key = 'schema_version'")
    for refused in (lambda: PostgresStore(empty, "v"), lambda: administration.init(empty)):
        with pytest.raises(StoreError, match=r"schema_version in septet.meta is .*: wanted a number"):
            refused()
    with pytest.raises(StoreError, match="wanted a number"):
        administration.status(empty)


def test_an_older_schema_is_brought_up_to_date_by_migrate_alone_in_one_transaction(empty, monkeypatch):
    PostgresStore(empty, "v").close()
    monkeypatch.setattr(migrations, "SCHEMA_VERSION", 3)
    monkeypatch.setattr(administration, "SCHEMA_VERSION", 3)
    steps = {1: "CREATE TABLE septet.second (a int)", 2: "CREATE TABLE septet.third (a int); SELECT 1 / 0"}
    monkeypatch.setattr(migrations, "_STEPS", steps)
    with pytest.raises(StoreError, match="schema version 1: run `septet postgres migrate` to bring it to 3"):
        PostgresStore(empty, "v")
    with pytest.raises(StoreError, match="division by zero"):
        administration.migrate(empty)
    assert administration.status(empty).schema == 1
    assert "second" not in administration.status(empty).sizes
    steps[2] = "CREATE TABLE septet.third (a int)"
    made = administration.migrate(empty)
    assert (made.before, made.version) == (1, 3)
    assert {"second", "third"} <= set(administration.status(empty).sizes)
    PostgresStore(empty, "v").close()


def test_migrate_wants_tables(empty):
    with pytest.raises(StoreError, match="septet postgres init"):
        administration.migrate(empty)


def test_a_reader_reads_a_writer_writes_and_neither_changes_the_schema(empty):
    made = administration.init(empty)
    assert (made.before, made.version, made.roles, made.left) == (0, 1, True, ())
    PostgresStore(empty, "v").close()
    for user, role in (("alice", "septet_reader"), ("bob", "septet_writer"), ("carol", None)):
        run(empty, f"DROP ROLE IF EXISTS {user}", f"CREATE ROLE {user} LOGIN {f'IN ROLE {role}' if role else ''}")
    alice = PostgresStore(as_user(empty, "alice"), "v", read_only=True)
    with alice.reading() as read:
        assert read.sql.execute("SELECT count(*) FROM septet.entries").fetchone() == (0,)
        assert read.generation >= 1
    alice.close()
    # A reader that forgot `read_only` may open a vault that is there, and nothing else.
    forgot = PostgresStore(as_user(empty, "alice"), "v")
    with pytest.raises(ReadOnly, match="42501"), forgot.writing():
        pass
    forgot.close()
    with pytest.raises(ReadOnly, match="42501"):
        PostgresStore(as_user(empty, "alice"), "another")
    bob = PostgresStore(as_user(empty, "bob"), "another")
    with bob.writing() as write:
        write.sql.execute("INSERT INTO septet.settings VALUES (%s, 'a', '1')", (write.vault.number,))
    for refused in (
        "UPDATE septet.meta SET value = '9'",
        "DROP TABLE septet.entries",
        "CREATE TABLE septet.more (a int)",
    ):
        with pytest.raises(ReadOnly, match="42501"), bob.writing() as write:
            write.sql.execute(refused)
    bob.close()
    with pytest.raises(ReadOnly, match="42501"):
        PostgresStore(as_user(empty, "carol"), "v", read_only=True)
    roles = {user: administration.status(as_user(empty, user)).roles for user in ("alice", "bob")}
    assert roles["alice"] == {"septet_reader": True, "septet_writer": False}
    assert roles["bob"] == {"septet_reader": False, "septet_writer": True}


def test_tables_of_later_versions_are_for_readers_and_writers_too(empty, monkeypatch):
    administration.init(empty)
    monkeypatch.setattr(migrations, "SCHEMA_VERSION", 2)
    monkeypatch.setattr(migrations, "_STEPS", {1: "CREATE TABLE septet.later (a int)"})
    administration.migrate(empty)
    with psycopg.connect(empty) as sql:
        asked = "SELECT has_table_privilege(%s, 'septet.later', %s)"
        found = [
            sql.execute(asked, (role, may)).fetchone()[0]
            for role in ("septet_reader", "septet_writer")
            for may in ("SELECT", "INSERT")
        ]
    assert found == [True, False, True, True]


def test_init_by_one_who_may_make_no_roles_prints_how_and_again_changes_nothing(empty, septet, monkeypatch):
    with psycopg.connect(empty) as sql:
        citus = sql.execute("SELECT extversion FROM pg_extension WHERE extname = 'citus'").fetchone()
    if citus and int(citus[0].partition(".")[0]) < 14:
        pytest.skip(f"on Citus {citus[0]} the owner of the extension vector is the only one to distribute it")
    run(empty, "DROP ROLE IF EXISTS dora", "CREATE ROLE dora LOGIN", "CREATE EXTENSION vector")
    run(empty, f"GRANT CREATE ON DATABASE {empty.rpartition('/')[2]} TO dora")
    text = administration.sql_file
    # Other tests have made those of this server.
    monkeypatch.setattr(administration, "sql_file", lambda name: text(name).replace("septet_reader", "unmade_reader"))
    code, printed, told = septet("postgres", "init", as_user(empty, "dora"))
    assert code == 0
    assert "have a superuser run the following SQL" in told
    assert "GRANT SELECT ON ALL TABLES IN SCHEMA septet TO unmade_reader" in printed
    monkeypatch.undo()
    made = administration.init(as_user(empty, "dora"))
    assert (made.before, made.version, made.roles) == (1, 1, True)
    assert administration.status(as_user(empty, "dora")).owner == "dora"
    assert len(administration.status(empty).sizes) == ALL_TABLES


def test_a_server_without_pgvector_is_named(empty, monkeypatch):
    monkeypatch.setattr(migrations, "EXTENSION", "CREATE EXTENSION IF NOT EXISTS vector_of_nobody")
    with pytest.raises(StoreError, match="no extension `vector`: install pgvector"):
        administration.init(empty)
    assert administration.status(empty).schema == 0


def test_what_init_prints_is_what_it_runs(empty, septet):
    code, printed, _ = septet("postgres", "init", "--print")
    assert code == 0
    run(empty, printed)
    assert administration.init(empty).before == 1
    PostgresStore(empty, "v").close()
    assert "create_distributed_table" not in printed
    code, printed, _ = septet("postgres", "init", "--print", "--citus")
    assert (
        printed.count("\nSELECT create_reference_table(") + printed.count("\nSELECT create_distributed_table(")
        == ALL_TABLES
    )


def test_citus_is_told_of_every_table_with_a_bucket_by_its_bucket(empty):
    administration.init(empty)
    text = administration.script(citus=True)
    with psycopg.connect(empty) as sql:
        tables = sql.execute(
            "SELECT c.relname, EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'bucket') "
            "FROM pg_class c WHERE relnamespace = 'septet'::regnamespace AND relkind = 'r'"
        ).fetchall()
        keys = sql.execute(
            "SELECT i.indrelid::regclass::text, 'bucket' = ANY(SELECT attname FROM pg_attribute "
            "WHERE attrelid = i.indrelid AND attnum = ANY(i.indkey)) FROM pg_index i WHERE indisunique "
            "AND indrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'septet'::regnamespace)"
        ).fetchall()
    assert len(tables) == ALL_TABLES
    for name, has_bucket in tables:
        call = (
            f"create_distributed_table('septet.{name}', 'bucket'"
            if has_bucket
            else f"create_reference_table('septet.{name}')"
        )
        assert text.count(call) == 1
    # Citus keeps what is unique within a shard only.
    assert all(unique for name, unique in keys if (name.removeprefix("septet."), True) in tables)


def test_citus_where_it_is_not_there_is_printed(empty, septet):
    code, printed, told = septet("postgres", "init", empty, "--citus")
    assert code == 0
    if administration.status(empty).citus:
        assert printed == "" and "schema version 1" in told
        return
    assert "create_distributed_table('septet.entries', 'bucket'" in printed
    assert "schema version 1" in told and "citus: the database lacks the extension, or a worker" in told


def test_a_coordinator_keeps_its_tables_until_it_has_a_worker_and_init_distributes_them_then(empty, postgres):
    if not isinstance(postgres, PostgresCluster) or len(postgres.nodes) < 2:
        pytest.skip("no cluster with workers: SEPTET_CITUS names none")
    known = "SELECT count(*) FROM pg_dist_partition WHERE logicalrelid::text LIKE 'septet.%'"
    workers = [node[:2] for node in postgres.nodes[1:]]
    with psycopg.connect(empty, autocommit=True) as sql:
        for one in workers:
            sql.execute("SELECT citus_remove_node(%s, %s)", one)
        assert not administration.init(empty).distributed
        assert sql.execute(known).fetchone() == (0,)
        for one in workers:
            sql.execute("SELECT citus_add_node(%s, %s)", one)
        assert administration.init(empty).distributed
        assert sql.execute(known).fetchone() == (ALL_TABLES,)


def test_the_command_tells_how_a_database_stands(empty, septet, monkeypatch):
    code, _, told = septet("postgres", "init", empty)
    assert (code, "schema version 1" in told) == (0, True)
    PostgresStore(empty, "team", buckets=4).close()
    PostgresStore(empty, "other", vectors="halfvec").close()
    code, said, _ = septet("postgres", "status", empty)
    assert code == 0
    for line in ("PostgreSQL 1", "primary", "schema      1", "septet_reader", "team", "other", "halfvec"):
        assert line in said
    monkeypatch.setenv("SEPTET_POSTGRES", f"{empty}?vault=team")
    code, said, _ = septet("postgres", "status", "--json")
    found = json.loads(said)
    assert [(one["name"], one["buckets"], one["entries"]) for one in found["vaults"]] == [
        ("other", 32, 0),
        ("team", 4, 0),
    ]
    assert (found["standby"], found["schema"], found["owner"]) == (False, 1, "postgres")
    assert found["pgvector"]
    assert septet("postgres", "status", "--format", "ids")[1].split() == ["other", "team"]
    code, said, _ = septet("postgres", "migrate", "--json")
    assert json.loads(said)["before"] == 1


def test_the_command_refuses_what_it_cannot_do(septet, closed_port):
    assert septet("postgres", "status")[0] == 2
    code, said, told = septet("postgres", "status", f"postgresql://u:s3cret@127.0.0.1:{closed_port}/db")
    assert (code, said) == (3, "")
    assert "refused" in told
    assert "s3cret" not in told
    assert septet("postgres", "status", "--citus", "postgresql://u@h/db")[0] == 2
    assert septet("postgres", "destroy", "postgresql://u@h/db")[0] == 2
