"""After a load the planner knows the tables at once, so that the first searches are no slower than later ones."""

import numpy as np

from vector_world import postgres_world


def vaults_known(world, table):
    with world.store.reading() as read:
        sql = (
            "SELECT most_common_vals::text::text[] FROM pg_stats "
            "WHERE schemaname = 'septet' AND tablename = %s AND attname = 'vault'"
        )
        found = read.sql.execute(sql, (table,)).fetchone()
        return set() if found is None else set(found[0] or ())


def test_a_load_lets_the_planner_know_the_vault_whatever_else_is_there(dsn, vault_name):
    rng = np.random.default_rng(5)
    for name, count in ((f"{vault_name}-a", 2_000), (f"{vault_name}-b", 600)):
        world = postgres_world(dsn, name)
        rows = rng.standard_normal((count, 24)).astype(np.float32)
        words = rng.integers(0, 2_000, (count, 12)).tolist()
        world.add(
            *(
                {"id": f"e{i}", "title": f"title {i}", "description": " ".join(f"w{w}" for w in own), "vector": row}
                for i, (row, own) in enumerate(zip(rows, words))
            )
        )
        for table in ("entries", "postings", "vectors"):
            assert str(world.store.vault.number) in vaults_known(world, table)
        world.check()
        world.store.close()
