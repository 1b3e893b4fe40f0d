"""Others that do the same work. Each is a `Competitor`; one whose package is not installed takes no part."""

from __future__ import annotations

import importlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from race import Competitor

TOKENIZE = "tokenize = 'porter unicode61 remove_diacritics 2'"
TEXT_COLUMNS = "id, title, description, context, tags"
#: Rows in one transaction.
PAGE = 1_000


# -- instructions ----------------------------------------------------------------------------------------------------

#: Levels of machines without AVX-512, and what simsimd calls the instructions that all of them have.
WITHOUT_AVX512 = {"avx-vnni": {"serial", "haswell"}, "avx2": {"serial", "haswell"}}


def forced(level: str) -> dict[str, str]:
    """Return the environment in which numpy and faiss use no more than a level; they read it when they are loaded."""
    if level not in WITHOUT_AVX512:
        return {}
    features: Any = importlib.import_module("numpy._core._multiarray_umath").__cpu_features__
    wide = [name for name, here in features.items() if here and name.startswith(("AVX512", "X86_V4"))]
    found = {"OPENBLAS_CORETYPE": "Haswell", "FAISS_SIMD_LEVEL": "AVX2", "FAISS_OPT_LEVEL": "avx2"}
    return found | ({"NPY_DISABLE_CPU_FEATURES": " ".join(wide)} if wide else {})


def force(level: str) -> None:
    """Let simsimd use no more than a level."""
    try:
        lib: Any = importlib.import_module("simsimd")
    except ImportError:
        return
    for name, here in lib.get_capabilities().items():
        if here and name not in WITHOUT_AVX512.get(level, {name}):
            lib.disable_capability(name)


def kernel_of(name: str) -> str:
    """Return what a competitor says of its instructions, or "" where it does not tell."""
    try:
        match name:
            case "numpy":
                pools = importlib.import_module("threadpoolctl").threadpool_info()
                return next((pool["architecture"] for pool in pools if "scipy_openblas" in pool["prefix"]), "")
            case "faiss":
                return importlib.import_module("faiss").SIMDConfig.get_level_name()
            case "simsimd":
                able = importlib.import_module("simsimd").get_capabilities()
                return next((kind for kind in ("sapphire", "genoa", "ice", "skylake", "haswell") if able[kind]), "")
    except (ImportError, AttributeError, KeyError):
        pass
    return ""


# -- vectors ---------------------------------------------------------------------------------------------------------


def of_vectors(rows: np.ndarray, mask: np.ndarray | None, k: int, *, many: bool, hnsw: bool) -> Iterator[Competitor]:
    """Yield who finds the ``k`` best rows for questions ``(q, d)``; some do so for single questions or no mask only."""
    yield Competitor("numpy", lambda questions: with_numpy(rows, questions, mask, k))
    plain: list[Callable[[], Competitor]] = [lambda: faiss(rows, mask, k)]
    if mask is None and not many:
        plain += [lambda: simsimd(rows, k), lambda: usearch(rows, k)]
        plain += [lambda: usearch_hnsw(rows, k)] if hnsw else []
    for make in plain:
        try:
            yield make()
        except ImportError:
            continue


def with_numpy(rows: np.ndarray, questions: np.ndarray, mask: np.ndarray | None, k: int) -> np.ndarray:
    at = None if mask is None else np.flatnonzero(mask)
    scores = questions @ (rows if at is None else rows[at]).T
    best = np.argpartition(scores, -k, axis=1)[:, -k:]
    best = np.take_along_axis(best, np.argsort(-np.take_along_axis(scores, best, 1), axis=1), 1)
    return best if at is None else at[best]


def faiss(rows: np.ndarray, mask: np.ndarray | None, k: int) -> Competitor:
    lib: Any = importlib.import_module("faiss")
    lib.omp_set_num_threads(1)
    index = lib.IndexFlatIP(rows.shape[1])
    index.add(rows)
    selected = None
    if mask is not None:
        bits = np.packbits(mask, bitorder="little")
        selected = lib.SearchParameters(sel=lib.IDSelectorBitmap(bits))
    return Competitor("faiss", lambda questions: index.search(questions, k, params=selected)[1])


def simsimd(rows: np.ndarray, k: int) -> Competitor:
    lib: Any = importlib.import_module("simsimd")

    def ask(questions: np.ndarray) -> np.ndarray:
        distances = np.asarray(lib.cdist(questions, rows, metric="cosine"))[0]
        best = np.argpartition(distances, k)[:k]
        return best[np.argsort(distances[best])]

    return Competitor("simsimd", ask)


def usearch(rows: np.ndarray, k: int) -> Competitor:
    lib: Any = importlib.import_module("usearch.index")
    kind = lib.MetricKind.IP
    return Competitor("usearch exact", lambda asked: lib.search(rows, asked, k, kind, exact=True, threads=1).keys)


def usearch_hnsw(rows: np.ndarray, k: int) -> Competitor:
    lib: Any = importlib.import_module("usearch.index")
    index = lib.Index(ndim=rows.shape[1], metric="ip", dtype="f32")
    index.add(np.arange(len(rows)), rows)
    return Competitor("usearch HNSW", lambda questions: index.search(questions[0], k, threads=1).keys)


# -- full text -------------------------------------------------------------------------------------------------------


def fts5(rows: Sequence[Sequence[str]], weights: Sequence[float], limit: int) -> Competitor:
    """FTS5 over rows of `TEXT_COLUMNS`, joined with the table they come from; answers are row numbers and scores."""
    sql = sqlite3.connect(":memory:")
    sql.execute(f"CREATE TABLE entries (row INTEGER PRIMARY KEY, {TEXT_COLUMNS}, live DEFAULT 1)")
    sql.executemany(f"INSERT INTO entries ({TEXT_COLUMNS}) VALUES (?, ?, ?, ?, ?)", rows)
    sql.execute(
        f"CREATE VIRTUAL TABLE f USING fts5({TEXT_COLUMNS}, content = 'entries', content_rowid = 'row', {TOKENIZE})"
    )
    sql.execute(f"INSERT INTO f (rowid, {TEXT_COLUMNS}) SELECT row, {TEXT_COLUMNS} FROM entries")
    ranked = f"SELECT rowid AS row, -bm25(f, {', '.join(map(repr, weights))}) AS score FROM f WHERE f MATCH ?"
    joined = f"SELECT t.row, t.score FROM ({ranked}) t JOIN entries e ON e.row = t.row WHERE e.live"
    best = f"{joined} ORDER BY t.score DESC, t.row LIMIT {limit}"

    def ask(terms: Sequence[str]) -> list[tuple[int, float]]:
        return sql.execute(best, (" OR ".join(f'"{term}"' for term in terms),)).fetchall()

    return Competitor("FTS5 with join", ask)


def tantivy(rows: Sequence[Sequence[str]], weights: Sequence[float], limit: int) -> Competitor:
    """Tantivy over the columns that count, as boosts; answers are row numbers and its own scores."""
    lib: Any = importlib.import_module("tantivy")
    names = [name for name, weight in zip(TEXT_COLUMNS.split(", "), weights) if weight]
    boosts = {name: weight for name, weight in zip(TEXT_COLUMNS.split(", "), weights) if weight}
    builder = lib.SchemaBuilder()
    for name in names:
        builder.add_text_field(name, tokenizer_name="en_stem")
    index = lib.Index(builder.build())
    # One thread and one segment: documents are numbered as they come.
    writer = index.writer(heap_size=500_000_000, num_threads=1)
    for row in rows:
        given = dict(zip(TEXT_COLUMNS.split(", "), row))
        writer.add_document(lib.Document(**{name: [given[name]] for name in names}))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()
    assert searcher.num_segments == 1

    def ask(terms: Sequence[str]) -> list[tuple[int, float]]:
        query = index.parse_query(" ".join(terms), names, field_boosts=boosts)
        found = searcher.search(query, limit, count=False).hits
        return [(address.doc + 1, score) for score, address in found]

    return Competitor("tantivy", ask)


def load_fts5(path: Path, rows: Sequence[Sequence[str]]) -> None:
    """The floor of loading: the same rows into one FTS5 table in a file, nothing else."""
    sql = sqlite3.connect(path)
    sql.execute("PRAGMA journal_mode = WAL")
    sql.execute(f"CREATE VIRTUAL TABLE t USING fts5({TEXT_COLUMNS}, {TOKENIZE})")
    for start in range(0, len(rows), PAGE):
        with sql:
            sql.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows[start : start + PAGE])
    sql.close()


# -- fusion ----------------------------------------------------------------------------------------------------------


def dict_rrf(lists: Sequence[Sequence[int]], k: float = 60.0) -> list[tuple[int, float]]:
    """Reciprocal ranks as they are written down first: a dict, a loop, a sort."""
    scores: dict[int, float] = {}
    for ids in lists:
        for rank, key in enumerate(ids, start=1):
            scores[key] = scores.get(key, 0.0) + 1.0 / (k + rank)
    return sorted(scores.items(), key=lambda pair: -pair[1])
