"""Blocks of postings: what is ranked from them is what the server ranks from the rows of `postings`."""

import random
from collections.abc import Iterator

import pytest

from septet import PostgresVault, StoreError
from septet.postgres.store.pipeline import together
from septet.postgres.tables import blocks, checking, ranking
from septet.postgres.tables.fulltext import Needed, Posting, Ranking, TextLeg, WeightedTerms
from twins import server_ranking

NOW = 1.7e9
WORDS = tuple(f"word{number}" for number in range(60))
COUNTED = """
SELECT p.part, p.term, count(*) FROM septet.postings p WHERE p.vault = %s AND p.term = ANY(%s::text[])
    AND (%s OR NOT p.memory) GROUP BY p.part, p.term
"""
HELD = """
SELECT p.bucket, p.row, p.memory, p.tokens FROM septet.postings p WHERE p.vault = %s AND p.part = 0 AND p.term = 'word1'
ORDER BY p.row LIMIT %s
"""


@pytest.fixture(scope="module")
def vault(postgres) -> Iterator[PostgresVault]:
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
        found = read.sql.execute(COUNTED, (read.vault.number, terms, memories)).fetchall()
        held = read.sql.execute(HELD, (read.vault.number, pick.randint(1, 40))).fetchall()
    held_by = {(part, term): count for part, term, count in found}
    counts = [held_by.get(one, 0) for one in zip(parts, terms * 2)]
    weights = [max(1e-6, 8.0 - 0.01 * count) for count in counts]
    needed, phrases = Needed(), []
    if pick.random() < 0.5:
        # A word with two forms, and one of two pieces, the second of which scores nothing.
        words = [0, 0, 1, 1]
        needed = Needed(words, [terms[0], terms[-1], terms[0], WORDS[3]], [0, 0, 1, 2], [0, 0, 2, 2], 2)
        parts, terms, weights, counts = [*parts, 0], [*terms * 2, WORDS[3]], [*weights, None], [*counts, 1]
    else:
        terms = terms * 2
    if pick.random() < 0.3:
        parts, terms, weights, counts = [0, *parts], ["two words", *terms], [4.0, *weights], [len(held), *counts]
        phrases = [Posting("two words", *place, 0, memory, 0, 1, 2, 0, 0, tokens) for *place, memory, tokens in held]
    return TextLeg(
        WeightedTerms(parts, terms, weights, counts),
        needed,
        Ranking(pick.choice([[5.0, 10.0, 3.0, 1.0, 2.0], [0.0, 1.0, 0.0, 0.0, 0.0]]), (18.0, 7.0), 1.2, 0.75),
        phrases,
        None,
        pick.choice([None, NOW]),
        memories,
        pick.choice([1, 3, 10, 30, 2_000]),
    )


def ranked(read, leg):
    """Return what blocks say of a query."""
    statements = [ranking.of_terms(read.vault, leg), blocks.changes(read.vault)]
    statements += [] if leg.now is None else [ranking.outside(read.vault, leg.now)]
    return ranking.ranked(leg, ranking.TermBlocks(*together(read, statements)))


def test_the_best_are_those_that_the_server_ranks(vault):
    pick, whole = random.Random(4), 0
    for at in range(120):
        if at == 60:
            # From here on of blocks, before of what writes left.
            vault._store.upkeep()
        leg = leg_of(vault, pick)
        with vault._store.reading() as read:
            (rows,) = together(read, [server_ranking.best(read.vault, leg)])
            best = ranked(read, leg)
        assert [(*one[:2], one[3]) for one in best] == [(*one[:2], one[3]) for one in rows], leg
        assert [one[2] for one in best] == pytest.approx([one[2] for one in rows], rel=1e-12)
        whole += bool(rows and 0 < rows[0][1] < rows[0][0])
    assert whole > 10


def test_writes_since_the_last_fold_stand_over_the_blocks(dsn, vault_name):
    ranking = Ranking([1.0] * 5, (5.0, 1.0), 1.2, 0.75)
    leg = TextLeg(WeightedTerms([0], ["retri"], [2.0], [9]), Needed(), ranking, (), None, None, True, 99)
    pick = random.Random(6)
    with PostgresVault(dsn, vault=vault_name) as vault:
        for turn in range(30):
            ids = pick.sample(range(12), 3)
            vault.add_many([{"id": f"e{n}", "title": pick.choice(["retry", "retry retry", "rest"])} for n in ids])
            vault.delete(f"e{pick.choice(ids)}")
            if turn % 7 == 6:
                vault._store.upkeep()
            with vault._store.reading() as read:
                (rows,) = together(read, [server_ranking.best(read.vault, leg)])
                assert ranked(read, leg) == rows
                assert checking.faults(read) == []


def test_postings_that_nothing_wrote_are_told_and_lose_no_write(dsn, vault_name):
    with PostgresVault(dsn, vault=vault_name) as vault:
        vault.add(id="a", title="retry")
        vault.optimize()
        with vault._store.maintaining() as sql:
            number = vault._store.vault.number
            sql.execute("UPDATE septet.posting_blocks SET postings = '\\x00' WHERE vault = %s", (number,))
            vault.add(id="b", title="retry")
            with pytest.raises(StoreError, match="see `septet doctor`"):
                blocks.fold(sql, vault._store.vault)
        with pytest.raises(StoreError, match="see `septet doctor`"):
            vault.search("retry")
        recall = PostgresVault(dsn, vault=vault_name, profile="recall")
        with recall, pytest.raises(StoreError, match="see `septet doctor`"):
            recall.search("retry")
        assert vault.get("b").title == "retry"
        with vault._store.reading() as read:
            assert any("postings" in one for one in checking.faults(read))
