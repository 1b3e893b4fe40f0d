"""After a load the planner knows the tables at once, so that the first searches are no slower than later ones."""

import numpy as np

from vector_world import postgres_world


def known(world):
    with world.store.reading() as read:
        sql = "SELECT DISTINCT tablename FROM pg_stats WHERE schemaname = 'septet'"
        return {name for (name,) in read.sql.execute(sql)}


def test_a_load_lets_the_planner_look_at_the_tables_that_it_filled(dsn, vault_name):
    world = postgres_world(dsn, vault_name)
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((3_000, 24)).astype(np.float32)
    words = rng.integers(0, 2_000, (3_000, 12)).tolist()
    world.add(
        *(
            {"id": f"e{i}", "title": f"title {i}", "description": " ".join(f"w{w}" for w in own), "vector": row}
            for i, (row, own) in enumerate(zip(rows, words))
        )
    )
    assert known(world) >= {"entries", "postings", "vectors"}
    world.check()
    world.store.close()
