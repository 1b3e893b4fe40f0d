"""The nearest entries without an index: the same whether their vectors or their entries are looked at first."""

import numpy as np
import pytest

from septet.postgres.store.pipeline import together
from septet.postgres.tables import nearest
from septet.store.rows import Condition
from vector_world import postgres_world

ROWS, D = 600, 8


@pytest.fixture
def world(dsn, vault_name):
    made = postgres_world(dsn, vault_name)
    pick = np.random.default_rng(3)
    # A few directions, so that many entries are equally near.
    rows = np.repeat(pick.standard_normal((ROWS // 40, D)), 40, axis=0).astype(np.float32)
    made.add(
        *(
            {"id": f"e{at}", "title": f"title {at}", "domain": "xyz"[at % 3], "vector": row + 0.1 * (at % 5)}
            for at, row in enumerate(rows)
        )
    )
    yield made
    made.store.close()


@pytest.mark.parametrize(
    "condition",
    ["e.live", "e.domain = 'x'", "e.domain <> 'x'", "e.id LIKE 'e59_'", "e.id = 'nowhere'"],
)
@pytest.mark.parametrize("most", [1, 20, 200, 2_000])
def test_the_nearest_are_the_same_in_either_order(world, condition, most):
    passing = Condition(condition.replace("%", "%%"), ())
    for query in np.random.default_rng(4).standard_normal((6, D)).astype(np.float32):
        query /= np.linalg.norm(query)
        with world.store.reading() as read:
            (space,) = read.tables.vectors.all_spaces(read)
            asked = [
                nearest.nearest(read.vault, space, query, most, passing, narrowed=narrowed)
                for narrowed in (False, True)
            ]
            first, joined = together(read, asked)
            if read.vault.distributed:
                (first,) = nearest.entries(read, space, [nearest.Leg(query, most, passing)], [first])
        assert first == joined
        assert len(first) <= most + nearest.MORE
