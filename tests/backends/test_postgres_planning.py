"""After a load the planner knows the vault at once, so that the first searches are no slower than later ones."""

import numpy as np
import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from septet.postgres.store import administration
from septet.postgres.store.upkeep import AMISS, FEW, looked_at, planned, rows_planned
from vector_world import postgres_world

#: 100 vaults, as many as the planner's list of the most common has room for, and 60 small ones, which it takes new ones
#: for. No vault has such a number.
OTHERS = """
INSERT INTO septet.postings (vault, bucket, part, term, row, memory, id, title, description, context, tags, tokens)
SELECT -v, -1024 * v, 0, 'term', n, false, 0, 1, 0, 0, 0, 1
FROM generate_series(1, 160) AS v, generate_series(1, CASE WHEN v <= 100 THEN 1000 ELSE 10 END) AS n
"""


@pytest.fixture
def many_vaults(dsn, vault_name):
    """Let the tables hold postings of many vaults, and the planner know of them."""
    postgres_world(dsn, vault_name).store.close()
    with psycopg.connect(dsn, autocommit=True) as sql:
        sql.execute(OTHERS)
        sql.execute("ANALYZE septet.postings")
        yield
        sql.execute("DELETE FROM septet.postings WHERE vault < 0")


def load(world, count):
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((count, 24)).astype(np.float32)
    words = rng.integers(0, 2_000, (count, 12)).tolist()
    world.add(
        *(
            {"id": f"e{i}", "title": f"title {i}", "description": " ".join(f"w{w}" for w in own), "vector": row}
            for i, (row, own) in enumerate(zip(rows, words))
        )
    )


def check_known(world):
    """Check that the planner reckons with as many rows of the vault as there are."""
    with world.store.reading() as read:
        column, number = looked_at(read.vault)
        for table in ("entries", "postings", "vectors"):
            plan = read.sql.execute(*planned(read.vault, table)).fetchall()
            ((there,),) = read.sql.execute(f"SELECT count(*) FROM septet.{table} WHERE {column} = %s", (number,))
            assert 0 < there <= AMISS * rows_planned(plan) + FEW, (table, plan, there)


def test_a_load_lets_the_planner_know_the_vault_whatever_else_is_there(dsn, vault_name):
    for name, count in ((f"{vault_name}-a", 2_000), (f"{vault_name}-b", 600)):
        world = postgres_world(dsn, name)
        load(world, count)
        check_known(world)
        world.check()
        world.store.close()


def test_a_writer_that_owns_no_table_lets_the_planner_know_what_it_loads(dsn, vault_name, role):
    administration.init(dsn)
    with psycopg.connect(dsn, autocommit=True) as sql:
        if sql.info.server_version < 170_000:
            pytest.skip("before PostgreSQL 17 only the owner of a table may have the planner look at it")
        sql.execute(f'GRANT septet_writer TO "{role}"')
    world = postgres_world(make_conninfo(dsn, user=role), vault_name)
    load(world, 600)
    check_known(world)
    world.store.close()


def test_a_load_lets_the_planner_know_the_vault_among_more_than_it_can_list(dsn, vault_name, many_vaults):
    world = postgres_world(dsn, vault_name)
    load(world, 400)
    check_known(world)
    world.store.close()
