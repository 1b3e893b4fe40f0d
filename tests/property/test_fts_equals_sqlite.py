"""Row ids and scores from memory against FTS5 itself, to the last bit."""

import math
import platform
import random
import sqlite3
import threading
import weakref
from dataclasses import dataclass, field

import numpy as np
import pytest

from septet import _core

TOKENIZER = "porter unicode61 remove_diacritics 2"
COMMON = "the of and red green blue fox foxes running runs jumped ÉTÉ été straße Straße мир МИРУ 東京 ガ ½ 42".split()
WEIGHTS = [(1.0,), (10.0, 5.0, 2.0), (0.1, 0.7, 3.3), (0.0, 1.0, 0.3), (1.0, 2.5, 0.5, 5.0, 0.1)]


@dataclass
class Table:
    """One FTS5 table and its twin in memory; slots are given out in the order of writing."""

    columns: int
    weights: tuple[float, ...]
    rows: dict[int, tuple[list[str], int]] = field(default_factory=dict)

    def __post_init__(self):
        self.names = ", ".join(f"c{i}" for i in range(self.columns))
        self.sql = sqlite3.connect(":memory:")
        # Python warns of a connection that nobody closed, from 3.13 on.
        weakref.finalize(self, self.sql.close)
        self.sql.execute(f"CREATE VIRTUAL TABLE t USING fts5({self.names}, tokenize = '{TOKENIZER}')")
        self.sql.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, 'row')")
        self.index = _core.TextIndex(self.columns)
        self.statistics = self.index.statistics(np.empty(0, dtype=np.int64))
        self.row_of = []

    def write(self, written, removed=()):
        """Write rows, replacing those with the same id, and remove others."""
        gone = [self.rows[row][1] for row in {*written, *removed} & set(self.rows)]
        first = self.index.append(list(written.values()))
        for row in {*written, *removed} & set(self.rows):
            self.sql.execute("DELETE FROM t WHERE rowid = ?", (row,))
            del self.rows[row]
        for slot, (row, texts) in enumerate(written.items(), first):
            marks = ", ".join("?" * self.columns)
            self.sql.execute(
                f"INSERT INTO t (rowid, {self.names}) VALUES (?, {marks})",
                (row, *texts),
            )
            self.rows[row] = texts, slot
            self.row_of.append(row)
        fresh = np.arange(first, first + len(written), dtype=np.int64)
        self.statistics = self.statistics.moved(self.index, fresh, np.array(gone, dtype=np.int64))

    @property
    def part(self):
        return self.index, self.statistics, np.array(self.weights)

    def bm25(self, terms):
        """SQLite's scores by row, turned positive."""
        match = " OR ".join(f'"{t}"' for t in terms)
        weights = ", ".join(map(repr, self.weights))
        return dict(self.sql.execute(f"SELECT rowid, -bm25(t, {weights}) FROM t WHERE t MATCH ?", (match,)))


def words_of(rng, corpus):
    return (
        rng.choice(corpus) if rng.random() < 0.8 else chr(rng.randrange(0x61, 0x180)) + chr(rng.randrange(0x61, 0x180))
    )


def texts_of(rng, columns, corpus, longest):
    return [
        " ".join(words_of(rng, corpus) for _ in range(rng.choice((0, 0, 1, 1, rng.randrange(longest)))))
        for _ in range(columns)
    ]


def corpus_of(rng):
    corpus = rng.sample(COMMON, rng.randrange(1, len(COMMON)))
    return corpus + corpus[:2] * rng.randrange(8)


def single(terms):
    return [t for t in terms if len(_core.index_terms(t)) <= 1]


def random_terms(rng, corpus):
    terms = [words_of(rng, corpus) for _ in range(rng.randrange(1, 7))]
    terms += rng.sample(terms, rng.randrange(len(terms) + 1)) if rng.random() < 0.3 else []
    terms += ["☃", "never"] * (rng.random() < 0.2)
    return single(terms)


def sqlite_rounds_each_step():
    """Whether this SQLite rounds a product before it adds it. Compilers for aarch64 make one instruction of the two."""
    rng, table = random.Random(15), Table(1, (1.0,))
    rows = {row: [" ".join(rng.choices("abcdefgh", k=rng.randrange(1, 30)))] for row in range(60)}
    table.write(rows)
    words = {row: texts[0].split() for row, texts in rows.items()}
    average = sum(map(len, words.values())) / len(words)
    holding = {term: sum(term in of for of in words.values()) for term in "abcdefgh"}
    least = 1e-6

    def score(row):
        total = 0.0
        for term in "abcdefgh":
            f, n = float(words[row].count(term)), holding[term]
            idf = max(math.log((len(words) - n + 0.5) / (n + 0.5)), 0.0) or least
            total += idf * ((f * 2.2) / (f + 1.2 * (0.25 + 0.75 * len(words[row]) / average)))
        return total

    return all(score(row) == found for row, found in table.bm25("abcdefgh").items())


def joint(tables, terms):
    """SQLite's scores by row, of both tables by one document frequency: what it gives for each term, scaled."""
    wanted = {}

    def idf(rows, count):
        return max(math.log((rows - count + 0.5) / (count + 0.5)), 0.0) or 1e-6

    for term in terms:
        found = [table.bm25([term]) if _core.index_terms(term) else {} for table in tables]
        rows, count = max(len(table.rows) for table in tables), sum(map(len, found))
        for table, scores in zip(tables, found):
            times = idf(rows, min(count, rows)) / idf(len(table.rows), len(scores))
            for row, score in scores.items():
                wanted[row] = wanted.get(row, 0.0) + times * score
    return wanted


def same(number, *, exact):
    """What equals the number: itself or, where this SQLite rounds less often, what differs by some last bits."""
    return number if EXACT and exact else pytest.approx(number, rel=1e-13 if exact else 1e-11, abs=0)


def assert_same_best(found, best, wanted, *, exact):
    """Compare the best rows, each with its score turned negative."""
    if EXACT and exact:
        assert found == best
    else:
        # Rows whose scores differ by some last bits may have changed places.
        assert [score for score, _ in found] == same([score for score, _ in best], exact=exact)
        own = {row: wanted[row] for _, row in found}
        assert {row: -score for score, row in found} == same(own, exact=exact)


def assert_same_ranking(tables, terms, rng):
    """Compare the best k under a random mask, and every score, with SQLite."""
    row_of = tables[0].row_of
    ties = np.array(row_of, dtype=np.int64)
    one = len(tables) == 1
    wanted = tables[0].bm25(terms) if one else joint(tables, terms)
    live = {slot for table in tables for _, slot in table.rows.values()}
    mask = None
    if rng.random() < 0.5:
        mask = np.array([rng.random() < rng.choice((0.1, 0.5, 1.0)) for _ in row_of], dtype=bool)
    slot_of = {row: slot for table in tables for row, (_, slot) in table.rows.items()}
    parts = [table.part for table in tables]
    passing = sorted((-s, r) for r, s in wanted.items() if mask is None or mask[slot_of[r]])
    for k in {1, rng.randrange(1, 9), len(passing) + 1}:
        slots, scores, matches = _core.bm25_top_k(parts, terms, k, mask, ties=ties)
        assert_same_best([(-s, row_of[i]) for i, s in zip(slots, scores.tolist())], passing[:k], wanted, exact=one)
        assert matches == len(passing)
    every = np.arange(len(row_of), dtype=np.int64)
    scores = _core.bm25_at(parts, terms, every).tolist()
    assert {row_of[i]: s for i, s in enumerate(scores) if s == s} == same(wanted, exact=one)
    assert all(s != s for i, s in enumerate(scores) if i not in live)


EXACT = sqlite_rounds_each_step()


@pytest.mark.skipif(platform.machine() != "x86_64", reason="other compilers may round a product and a sum once")
def test_sqlite_for_x86_64_rounds_each_step():
    assert EXACT


def check_totals(table):
    counted = dict(table.sql.execute("SELECT CAST(term AS BLOB), doc FROM v"))
    tokens = table.sql.execute("SELECT total(cnt) FROM v").fetchone()[0]
    assert table.statistics.to_dict() == counted
    assert (table.statistics.rows, table.statistics.tokens) == (len(table.rows), tokens)


@pytest.mark.parametrize("seed", range(250))
def test_ranking_equals_fts5(seed):
    rng = random.Random(seed)
    weights = rng.choice(WEIGHTS)
    table = Table(len(weights), weights)
    corpus = corpus_of(rng)
    longest = rng.choice((3, 10, 40))
    for step in range(3):
        ids = rng.sample(range(40), rng.randrange(1, 30))
        removed = rng.sample(range(40), rng.randrange(10)) if step else []
        table.write({row: texts_of(rng, len(weights), corpus, longest) for row in ids}, removed)
        check_totals(table)
        for _ in range(4):
            assert_same_ranking([table], random_terms(rng, corpus) or ["red"], rng)


@pytest.mark.parametrize("seed", range(60))
def test_two_tables_are_ranked_by_one_document_frequency(seed):
    rng = random.Random(1_000 + seed)
    entries, grams = Table(3, (10.0, 5.0, 0.3)), Table(1, (1.0,))
    corpus = corpus_of(rng)
    for _ in range(2):
        ids = rng.sample(range(30), 20)
        entries.write({row: texts_of(rng, 3, corpus, 8) for row in ids})
        # Every row has a slot in both, but only some are rows of the second table.
        texts = {row: [" ".join(rng.sample(corpus, 1))] for row in ids}
        grams.write(texts, [])
        empty = [row for row in ids if rng.random() < 0.6]
        slots = np.array([grams.rows[row][1] for row in empty], dtype=np.int64)
        grams.statistics = grams.statistics.moved(grams.index, np.empty(0, dtype=np.int64), slots)
        for row in empty:
            grams.sql.execute("DELETE FROM t WHERE rowid = ?", (row,))
            del grams.rows[row]
        for _ in range(4):
            assert_same_ranking([entries, grams], random_terms(rng, corpus) or ["red"], rng)


MANY = "the of and to in is that for it as was with".split()


def rows_of_many(rng, columns, count):
    """Rows of words that most have: some of one word, many alike, one of 100,000 words."""
    shares = [rng.choice((0.1, 0.3, 0.6, 0.9)) for _ in MANY]

    def text():
        words = [w for w, share in zip(MANY, shares) if rng.random() < share]
        return " ".join(words * rng.choice((1, 1, 1, 2, 5)))

    rows = {row: [text() if rng.random() < 0.7 else "" for _ in range(columns)] for row in range(count)}
    for row in rng.sample(range(count), count // 5):
        rows[row] = ["every" if column == row % columns else "" for column in range(columns)]
    for row in rng.sample(range(count), count // 5):
        rows[row] = ["every the"] * columns
    rows[rng.randrange(count)][-1] = "the of every " * 33_000 + "and"
    return rows


@pytest.mark.parametrize(
    "weights", [(10.0, 0.7), (0.0, 0.0), (0.0, 2.0), (1e300, 1e-300), (1e-300, 1e-290), (1e9, 1e-9, 1.0)], ids=str
)
def test_words_of_many_rows_equal_fts5(weights):
    rng = random.Random(str(weights))
    table = Table(len(weights), weights)
    table.write(rows_of_many(rng, len(weights), 4_000))
    again = rng.sample(range(4_000), 900)
    fresh = rows_of_many(rng, len(weights), 4_000)
    table.write({row: fresh[row] for row in again[:500]}, again[500:])
    check_totals(table)
    for words in (2, 2, 3, 4, 5, 6, 9, 12):
        terms = rng.sample([*MANY, "every"], words)
        assert_same_ranking([table], terms + terms[:1] * rng.randrange(4), rng)


@pytest.mark.parametrize("seed", range(4))
def test_words_of_many_rows_in_two_tables_are_ranked_by_one_document_frequency(seed):
    rng = random.Random(3_000 + seed)
    entries, grams = Table(2, (10.0, 0.3)), Table(1, (rng.choice((0.0, 1.0, 50.0)),))
    entries.write(rows_of_many(rng, 2, 3_000))
    grams.write(rows_of_many(rng, 1, 3_000))
    empty = np.flatnonzero([rng.random() < 0.3 for _ in range(3_000)])
    grams.statistics = grams.statistics.moved(grams.index, np.empty(0, dtype=np.int64), empty)
    for row in empty.tolist():
        grams.sql.execute("DELETE FROM t WHERE rowid = ?", (row,))
        del grams.rows[row]
    for words in (2, 3, 4, 5):
        assert_same_ranking([entries, grams], rng.sample([*MANY, "every"], words), rng)


def test_a_document_of_100_000_words_and_one_of_one():
    table = Table(2, (0.1, 0.3))
    table.write({1: ["fox " * 60_000, "red fox " * 20_000], 2: ["fox", ""], 3: ["", "red"], 4: ["", ""]})
    for terms in (["fox"], ["red", "fox", "fox"], ["foxes", "never"]):
        assert_same_ranking([table], terms, random.Random(1))


def test_a_term_in_every_row_has_the_least_idf():
    table = Table(1, (1.0,))
    table.write({row: ["red fox" if row % 2 else "red"] for row in range(10)})
    assert_same_ranking([table], ["red"], random.Random(1))
    assert_same_ranking([table], ["red", "fox"], random.Random(1))


def test_terms_without_a_token_match_nothing():
    table = Table(1, (1.0,))
    table.write({1: ["red"], 2: ["green"]})
    assert_same_ranking([table], ["☃", "red"], random.Random(1))
    slots, scores, matches = _core.bm25_top_k([table.part], ["☃"], 3)
    assert (len(slots), len(scores), matches) == (0, 0, 0)


def test_a_term_of_several_tokens_is_refused():
    table = Table(1, (1.0,))
    table.write({1: ["हिन्दी"]})
    assert len(_core.index_terms("हिन्दी")) == 3
    with pytest.raises(ValueError, match="several index terms"):
        _core.bm25_top_k([table.part], ["red", "हिन्दी"], 3)


def test_faults_say_what_is_wrong():
    index, other = _core.TextIndex(2), _core.TextIndex(2)
    index.append([("red", "fox"), ("", "fox")])
    slots = np.arange(2, dtype=np.int64)
    every, weights = index.statistics(slots), np.ones(2)
    with pytest.raises(ValueError, match="another TextIndex"):
        _core.bm25_top_k([(other, every, weights)], ["red"], 1)
    with pytest.raises(ValueError, match="weights has length 1, expected 2"):
        _core.bm25_at([(index, every, np.ones(1))], ["red"], slots)
    with pytest.raises(ValueError, match="a weight is -1, expected finite and at least 0"):
        _core.bm25_at([(index, every, -weights)], ["red"], slots)
    with pytest.raises(ValueError, match="ties has length 1, expected 2"):
        _core.bm25_top_k([(index, every, weights)], ["red"], 1, ties=slots[:1])
    with pytest.raises(ValueError, match="k is -1"):
        _core.bm25_top_k([(index, every, weights)], ["red"], -1)
    with pytest.raises(ValueError, match="slot 2 is out of range"):
        _core.bm25_at([(index, every, weights)], ["red"], slots + 1)
    with pytest.raises(ValueError, match="a row has length 1, expected 2"):
        index.append([("red",)])
    with pytest.raises(ValueError, match="columns is 0"):
        _core.TextIndex(0)


def test_old_statistics_do_not_see_later_rows():
    table = Table(1, (1.0,))
    table.write({1: ["red fox"], 2: ["fox"]})
    part, before = table.part, _core.bm25_top_k([table.part], ["fox"], 5)
    table.write({3: ["fox fox fox"], 1: ["blue"]})
    after = _core.bm25_top_k([part], ["fox"], 5, np.ones(3, dtype=bool))
    assert [a.tolist() for a in after[:2]] == [b.tolist() for b in before[:2]]
    assert after[2] == before[2] == 2


def test_searches_while_rows_are_appended_see_their_own_statistics():
    table = Table(1, (1.0,))
    table.write({row: ["red fox" if row % 3 else "red owl fox"] for row in range(2_000)})
    part = table.part
    wanted = [a.tolist() for a in _core.bm25_top_k([part], ["owl", "fox"], 20)[:2]]
    seen = []

    def search():
        seen.extend([a.tolist() for a in _core.bm25_top_k([part], ["owl", "fox"], 20)[:2]] for _ in range(200))

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        table.index.append([["owl fox blue yak"]] * 100)
    for thread in threads:
        thread.join()
    assert len(seen) == 600 and all(found == wanted for found in seen)
