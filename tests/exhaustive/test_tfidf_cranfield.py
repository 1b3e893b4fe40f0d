"""A real collection: TF-IDF against scikit-learn, and the quality of the default ranking."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer

import septet
from septet import Vault, _core

DATA = Path(os.environ.get("SEPTET_DATA") or Path(__file__).parents[3] / "shared") / "data" / "cranfield"

Rankings = dict[str, dict[str, float]]


@dataclass(frozen=True)
class Collection:
    """Documents and questions with their vectors, and which documents answer which question."""

    documents: list[dict[str, str]]
    questions: list[dict[str, str]]
    document_vectors: NDArray[np.float32]
    question_vectors: NDArray[np.float32]
    relevant: dict[str, dict[str, int]]

    @property
    def texts(self) -> list[str]:
        return [f"{d['title']} {d['text']}" for d in self.documents]


@pytest.fixture(scope="module")
def cranfield() -> Collection:
    if not (DATA / "corpus.jsonl.gz").is_file():
        pytest.skip(f"no Cranfield collection in {DATA}: name the folder above data/cranfield in SEPTET_DATA")

    def lines(name: str) -> list[dict[str, str]]:
        with gzip.open(DATA / name, "rt", encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    relevant: dict[str, dict[str, int]] = {}
    for line in (DATA / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        question, document, degree = line.split("\t")
        relevant.setdefault(question, {})[document] = int(degree)
    with np.load(DATA / "embeddings.npz") as vectors:
        made = [vectors[name].astype(np.float32) for name in ("docs", "queries")]
    return Collection(lines("corpus.jsonl.gz"), lines("queries.jsonl.gz"), made[0], made[1], relevant)


# -- TF-IDF ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "theirs"),
    [
        ("words", {}),
        ("signals", {"tokenizer": _core.tokenize, "token_pattern": None, "lowercase": False}),
    ],
)
def test_tfidf_vectors_are_those_of_scikit_learn(cranfield: Collection, tokens: str, theirs: dict[str, Any]):
    sklearn = TfidfVectorizer(**theirs)
    wanted = sklearn.fit_transform(cranfield.texts)
    ours = _core.TfidfVectorizer(tokens=tokens)
    found = rows_of(ours.fit_transform(cranfield.texts), ours)

    assert ours.vocabulary == sklearn.get_feature_names_out().tolist()
    assert len(ours.vocabulary) > 5_000
    np.testing.assert_allclose(ours.idf, sklearn.idf_, rtol=0, atol=1e-12)
    assert found.shape == wanted.shape
    assert found.nnz == wanted.nnz > 50_000
    assert abs(found - wanted).max() < 1e-12
    # Rows of unit length, but for the two documents without text.
    lengths = norms(found)
    assert np.count_nonzero(lengths) == 1_398
    np.testing.assert_allclose(lengths[lengths > 0], 1, rtol=0, atol=1e-12)

    asked = [q["text"] for q in cranfield.questions] + ["", "xyzzy plugh"]
    assert abs(rows_of(ours.transform(asked), ours) - sklearn.transform(asked)).max() < 1e-12


def rows_of(parts: tuple[NDArray[Any], NDArray[Any], NDArray[Any]], made: _core.TfidfVectorizer) -> csr_matrix:
    return csr_matrix(parts, shape=(len(parts[2]) - 1, len(made.vocabulary)))


def norms(rows: csr_matrix) -> NDArray[np.float64]:
    return np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())


# -- quality ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def vault(cranfield: Collection, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    path = tmp_path_factory.mktemp("cranfield") / "cranfield.db"
    with Vault(path, clock=lambda: 1_760_000_000.0) as made:
        made.add_many(
            # Two documents are empty in the source; every entry wants a title.
            {"id": d["id"], "title": d["title"] or "untitled", "description": d["text"], "vector": v}
            for d, v in zip(cranfield.documents, cranfield.document_vectors)
        )
        yield made


def ranked(vault: Vault, collection: Collection, *, vectors: bool, **options: Any) -> Rankings:
    """Return the first hundred of every question; the scores only say the order."""
    out: Rankings = {}
    for question, vector in zip(collection.questions, collection.question_vectors):
        hits = vault.search(question["text"], limit=100, query_vector=vector if vectors else None, **options)
        out[question["id"]] = {hit.id: -float(place) for place, hit in enumerate(hits)}
    return out


def ndcg_at_10(collection: Collection, rankings: Rankings) -> float:
    import ir_measures

    assert len(rankings) == len(collection.questions) == 225
    return float(
        ir_measures.calc_aggregate([ir_measures.nDCG @ 10], collection.relevant, rankings)[ir_measures.nDCG @ 10]
    )


@pytest.fixture(scope="module")
def quality(cranfield: Collection, vault: Vault) -> Callable[..., float]:
    """Return the nDCG@10 of a profile, measured once."""
    return cache(lambda name, vectors: ndcg_at_10(cranfield, ranked(vault, cranfield, vectors=vectors, profile=name)))


@pytest.mark.parametrize(("vectors", "floor"), [(True, 0.425), (False, 0.375)], ids=["with vectors", "text only"])
def test_the_default_profile_ranks_at_least_as_well_as_it_was_measured_to(quality, vectors, floor):
    assert floor <= quality("septet", vectors) < 0.6


def test_vectors_help_and_the_default_profile_ranks_better_than_the_documented_one(quality):
    assert quality("septet", True) > quality("septet", False) > quality("seven-signals", False) > 0.2


def test_a_documents_own_title_finds_it_first_in_the_text_leg(cranfield, vault):
    titled = [d for d in cranfield.documents if d["title"]][::40]
    assert len(titled) > 30
    ranks = [vault.explain(d["title"], d["id"], legs="text").legs[0].rank for d in titled]
    assert ranks.count(1) >= 0.9 * len(ranks)
    assert max(ranks) <= 10


def test_ranks_of_the_text_leg_follow_its_scores(cranfield, vault):
    for question in cranfield.questions[::45]:
        hits = vault.search(question["text"], limit=30, legs="text")
        legs = [vault.explain(question["text"], hit.id, legs="text", limit=30).legs[0] for hit in hits]
        by_rank = [leg.value for leg in sorted(legs, key=lambda leg: leg.rank)]
        assert by_rank == sorted(by_rank, reverse=True)
        assert min(by_rank) > 0
        assert len({leg.rank for leg in legs}) == len(legs) == 30
        assert len({leg.of for leg in legs}) == 1


@pytest.mark.parametrize(
    "given",
    [
        {"ngram_range": (1, 2), "min_df": 2, "sublinear_tf": True},
        {"stop_words": "english", "max_df": 0.3, "norm": "l1", "smooth_idf": False},
        {"min_df": 0.01, "use_idf": False, "norm": None},
    ],
)
def test_parameters_give_the_numbers_of_scikit_learn(cranfield: Collection, given: dict[str, Any]) -> None:
    theirs, ours = TfidfVectorizer(**given), septet.TfidfVectorizer(**given)
    wanted, found = theirs.fit_transform(cranfield.texts), ours.fit_transform(cranfield.texts)
    assert ours.vocabulary == theirs.get_feature_names_out().tolist()
    assert found.shape == wanted.shape and abs(found.to_scipy() - wanted).max() <= 1e-12
