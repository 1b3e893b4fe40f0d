"""Several statements as one round trip: parameters, errors in the middle, and what is kept prepared."""

import psycopg
import pytest

from septet.postgres.store.pipeline import Statement, together
from septet.postgres.store.store import PostgresStore

PREPARED = "SELECT name FROM pg_prepared_statements"


@pytest.fixture
def store(dsn, vault_name):
    made = PostgresStore(dsn, vault_name, most_connections=1)
    yield made
    made.close()


def test_each_statement_gives_its_rows_with_parameters_by_name_or_place(store):
    asked = [
        Statement("SELECT %(a)s::int, %(b)s::text, %(a)s::int, 7 %% 4", {"a": 1, "b": "100%", "c": "unused"}),
        Statement("SELECT '%s', 7 % 4"),
        Statement("SET LOCAL work_mem = '5MB'"),
        Statement("SELECT n, %s::float8 FROM generate_series(1, %s::int) AS n", (0.1, 3)),
        Statement("SELECT %b::bytea, %t::text WHERE %s::boolean", (b"\0", "t", False)),
    ]
    with store.reading() as read:
        assert together(read, asked) == [[(1, "100%", 1, 3)], [("%s", 3)], [], [(1, 0.1), (2, 0.1), (3, 0.1)], []]
        assert together(read, []) == []


def test_the_first_error_is_raised_and_the_next_read_has_a_new_connection(store):
    asked = [Statement("SELECT 1"), Statement("SELECT 1 / %s::int", (0,)), Statement("SELECT nothing")]
    transaction = store.begin_reading()
    with pytest.raises(psycopg.errors.DivisionByZero):
        together(transaction.reading, asked)
    assert transaction.reading.sql.closed
    transaction.end()
    with store.reading() as read:
        assert together(read, [Statement("SELECT 2")]) == [[(2,)]]


def test_what_cannot_be_sent_is_refused_before_anything_is(store):
    with store.reading() as read:
        with pytest.raises(psycopg.ProgrammingError, match="cannot adapt type 'object'"):
            together(read, [Statement("SELECT 1"), Statement("SELECT %s", (object(),))])
        assert together(read, [Statement("SELECT 2")]) == [[(2,)]]


def test_large_statements_with_large_answers_do_not_wait_for_each_other(store):
    text = "x" * 3_000_000
    with store.reading() as read:
        found = together(read, [Statement("SELECT %s::text", (text,))] * 4)
        assert [rows == [(text,)] for rows in found] == [True] * 4


def test_statements_that_come_often_are_kept_prepared_so_many_at_most(store):
    with store.reading() as read:
        link = read.sql
        link.prepared_max = 2

        def ask(number, times=1):
            for _ in range(times):
                assert together(read, [Statement(f"SELECT %s::int + {number}", (1,))]) == [[(1 + number,)]]

        def prepared():
            return sorted(f"septet_{name.rpartition('_')[2]}" for (name,) in link.execute(PREPARED))

        ask(0, link.prepare_threshold)
        assert prepared() == []
        ask(0, 3)
        assert prepared() == ["septet_1"]
        ask(1, link.prepare_threshold + 1)
        ask(0)
        ask(2, link.prepare_threshold + 1)
        assert prepared() == ["septet_1", "septet_3"]
        ask(1)
        assert prepared() == ["septet_1", "septet_3"]


def test_nothing_is_kept_prepared_where_that_is_not_wanted(dsn, store):
    bare = PostgresStore(dsn, store.name, prepare=False)
    with bare.reading() as read:
        for _ in range(20):
            together(read, [Statement("SELECT %s::int", (1,))])
        assert read.sql.execute(PREPARED).fetchall() == []
    bare.close()


FORGETTING = ["DEALLOCATE ALL", "DISCARD ALL", "DISCARD PLANS; DEALLOCATE ALL"]


@pytest.mark.parametrize("forget", FORGETTING)
def test_statements_that_the_server_forgot_are_prepared_again_and_no_caller_sees_it(store, forget):
    asked = Statement("SELECT %s::int + 7", (1,))

    def ask():
        with store.reading() as read:
            return [together(read, [asked]) for _ in range(3)], read.sql

    for _ in range(5):
        _, link = ask()
    assert link.prepared.kept
    with store.maintaining() as same:
        assert same is link
        for one in forget.split("; "):
            link.execute(one)
    for _ in range(8):
        found, link = ask()
        assert found == [[[(8,)]]] * 3
    assert link.prepared.kept


def test_only_the_statements_of_a_transaction_itself_forgotten_are_noticed_before_they_are_named(store):
    # The beginning of a transaction names others than what follows in it.
    asked = Statement("SELECT %s::int + 8", (1,))
    with store.reading() as read:
        link = read.sql
        for _ in range(link.prepare_threshold + 1):
            together(read, [asked])
        ((name,),) = link.execute(PREPARED).fetchall()
    with store.maintaining():
        link.execute(f'DEALLOCATE "{name}"')
    with store.reading() as read:
        assert read.sql is link
        assert together(read, [asked]) == [[(9,)]]


def test_a_drop_takes_no_prepared_statement_away(store):
    asked = Statement("SELECT %s::int", (1,))

    def kept():
        return {name for (name,) in link.execute(PREPARED) if name.startswith("septet_")}

    with store.reading() as read:
        link = read.sql
        for _ in range(link.prepare_threshold + 1):
            together(read, [asked])
            link.execute("SELECT 1 + %s", (1,))
        before = kept()
    with store.maintaining():
        link.execute("CREATE TEMP TABLE septet_dropped ()")
        link.execute("DROP TABLE septet_dropped")
        link.execute("SELECT 1")
        assert before and kept() == before
