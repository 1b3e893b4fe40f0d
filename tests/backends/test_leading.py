"""The best by words without ranking everything: the same rows, scores and numbers as ranking everything gives."""

import random
from collections.abc import Iterator

import pytest

from postgres_cluster import PostgresCluster
from septet import PostgresVault
from septet.storage.postgres.pipeline import together
from septet.storage.postgres.tables import fulltext, leading
from septet.storage.postgres.tables.conditions import Condition
from septet.storage.postgres.tables.fulltext import Asked, Needed, Ranking, TextLeg

NOW = 1.7e9
WORDS = tuple(f"word{number}" for number in range(60))
COUNTED = """
SELECT a.place, (SELECT count(*) FROM septet.postings p WHERE p.vault = %s AND p.part = a.part AND p.term = a.term
    AND (%s OR NOT p.memory))
FROM unnest(%s::smallint[], %s::text[]) WITH ORDINALITY AS a (part, term, place) ORDER BY a.place
"""


@pytest.fixture(scope="module")
def vault(postgres) -> Iterator[PostgresVault]:
    if isinstance(postgres, PostgresCluster):
        pytest.skip("a cluster ranks all that match: which rows are looked at depends on those of all buckets")
    pick = random.Random(3)
    # A few are in most entries, most in a few.
    odds = [1 / (place + 1) ** 1.5 for place in range(len(WORDS))]

    def words(most: int) -> str:
        return " ".join(pick.choices(WORDS, odds, k=pick.randint(1, most)))

    with PostgresVault(postgres.dsn(), "leading") as vault:
        entries = [
            {
                "id": f"e{number}", "title": words(3), "description": words(12), "context": words(4),
                "domain": pick.choice("xyz"), "kind": "memory" if number % 11 == 0 else "entry",
                "valid_until": NOW + pick.choice([-1e5, 1e5]) if number % 6 == 0 else None,
            }
            for number in range(700)
        ]  # fmt: skip
        # Equal texts have equal scores, as many as a search brings and more: their order is that of their rows.
        same = [{**entries[number % 3 + 1], "id": f"same{number}"} for number in range(60)]
        vault.add_many([{k: v for k, v in one.items() if v is not None} for one in entries + same])
        yield vault


def leg_of(vault: PostgresVault, pick: random.Random) -> TextLeg:
    """Return any query for the best, with what the vault knows of its terms."""
    terms = pick.choices(WORDS, [1 / (place + 1) for place in range(len(WORDS))], k=pick.randint(1, 5))
    terms = [*terms, *pick.choices(terms, k=pick.randint(0, 1)), *(["nowhere"] if pick.random() < 0.2 else [])]
    parts, memories = [0] * len(terms) + [1] * len(terms), pick.random() < 0.3
    with vault._store.reading() as read:
        found = read.sql.execute(COUNTED, (read.vault.number, memories, parts, terms * 2)).fetchall()
    counts = [count for _, count in found]
    weights = [max(1e-6, 8.0 - 0.01 * count) for count in counts]
    condition = Condition("(e.domain = %s::text AND e.id LIKE '%%1%%')", ("x",)) if pick.random() < 0.3 else None
    return TextLeg(
        Asked(parts, terms * 2, weights, counts),
        Needed(),
        Ranking(pick.choice([[5.0, 10.0, 3.0, 1.0, 2.0], [0.0, 1.0, 0.0, 0.0, 0.0]]), (18.0, 7.0), 1.2, 0.75),
        (),
        condition,
        pick.choice([None, NOW]),
        memories,
        pick.choice([1, 3, 10, 30, 2_000]),
    )


def test_the_best_are_those_of_all_that_match(vault):
    pick, asked = random.Random(4), []
    for _ in range(100):
        leg = leg_of(vault, pick)
        assert leading.leads(vault._store.vault, leg)
        with vault._store.reading() as read:
            asked.append(leading.best(read.vault, leg))
            few, every = together(read, [asked[-1], fulltext.best(read.vault, leg)])
        scores = {row: score for *_, score, row in few}
        assert {row: pytest.approx(score, rel=1e-12) for *_, score, row in every}.items() <= scores.items(), leg
        assert len(few) <= len(every) + leading.MORE and {one[0] for one in few} == {one[0] for one in every}
    # With one common term, with several, and with a condition.
    assert all(any(part in one.sql for one in asked) for part in ("gone", "DISTINCT", "LIKE"))


def test_terms_that_no_entry_holds_find_nothing(vault):
    leg = leg_of(vault, random.Random(5))._replace(asked=Asked([0], ["nowhere"], [9.0], [0]), condition=None)
    with vault._store.reading() as read:
        assert together(read, [leading.best(read.vault, leg)]) == [[]]
