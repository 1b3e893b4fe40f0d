"""Ways to fuse, compared: words and vectors of one corpus, and the rankings of several corpora.

python benches/fusions.py [--cache FILE] [--text] [--kinds] [--only NAME]

The collections are those of `fused_collections`; Cranfield is left out, and that is told, where it is not there. Its
vectors came with it, the others have those of the model of the tests, which runs here; ``--cache`` keeps them in a
file, ``--text`` leaves them out. Every way is given the same 30 best of each leg, what a search for ten takes. The
first way of a table is what the others are compared with: paired differences of nDCG@10 with the paired t interval of
95 %, and p of the paired randomization test. `septet.retrieval` fuses; nothing is fused here.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fused_collections import MODEL, NOW, Asked, Collection, cranfield, cranfield_in_parts, documents, opened, stdlib
from septet import Evaluation, Federation, Hit, Profile, Vault
from septet.evaluation.measures import measures_of
from septet.evaluation.outcomes import Difference
from septet.profiles import BUILTIN
from septet.ranking.fusion import Col
from septet.ranking.profile import Adaptive
from septet.retrieval.corpus import CorpusRequest as Question
from septet.retrieval.corpus import Item, RankedList, RetrievalMode
from septet.retrieval.fusion import calibrated, convex, dbsf, fused_lists
from septet.retrieval.ordering import by_confidence
from septet.retrieval.recall.recalling import recall_lists
from septet.retrieval.recall.settings import RecallSettings
from septet.retrieval.recall.sources import VaultCorpus

__all__ = ["ACROSS", "DEPTH", "WITHIN", "Ranked", "evaluation_of", "ranked_of"]

MEASURES = ("nDCG@10", "MRR@10", "Success@1", "R@10")
#: So many of each leg are fused: what a search for ten results takes of each.
DEPTH = 30
#: What documented recall takes of each list, and what vectors count there.
RECALL_LIMIT, RECALL_VECTORS = 10, 1.5
#: The documented weights of vectors beside words: of document chunks, and of a memory.
CHUNKS, MEMORY = 0.60, 0.55

_SEPTET = BUILTIN["septet"]


class Ranked(NamedTuple):
    """What one corpus found for one question, the best first.

    Attributes:
        text: by words; the score is BM25.
        vector: by vectors; the score is the cosine.
        septet: by the profile ``septet``, ten.
        query: what was asked.
        recalled: the lists of a documented recall, which has words, weights and steps of its own.
    """

    corpus: str
    text: Sequence[Hit]
    vector: Sequence[Hit]
    septet: Sequence[Hit]
    query: str = ""
    recalled: Sequence[RankedList] = ()

    def listed(self, name: str, most: int = DEPTH, weight: float = 1.0) -> RankedList:
        """Return one of the lists as a retrieval has it."""
        return RankedList(name, self.corpus, [Item(hit.id, hit) for hit in getattr(self, name)[:most]], weight)


# -- ways to fuse ----------------------------------------------------------------------------------------------------


def _by_rank(lists: Sequence[RankedList], k: float, first_rank: int = 1) -> list[str]:
    return [one.item.key for one in fused_lists(lists, k=k, first_rank=first_rank)]


def _by_confidence(lists: Sequence[RankedList]) -> list[str]:
    return [one.item.key for one in by_confidence(lists)]


def _legs(found: Sequence[Ranked]) -> list[RankedList]:
    return [one.listed(leg) for one in found for leg in ("text", "vector")]


def _scores(hits: Sequence[Hit]) -> dict[str, float]:
    return {hit.id: hit.score for hit in hits}


def _united(found: Sequence[Ranked], leg: str) -> list[Hit]:
    """Return the hits of all corpora, which have none in common, those of the highest scores first."""
    return sorted((hit for one in found for hit in getattr(one, leg)), key=lambda hit: -hit.score)


def _documented(hits: Sequence[Hit]) -> dict[str, float]:
    """Return cosines as the documented legs have them, 0 to 2."""
    return {hit.id: 2 * min(1.0, max(0.0, hit.score)) for hit in hits}


def _recall(found: Sequence[Ranked]) -> list[str]:
    """Fuse as documented recall: ten of each list of words, then ten of each list of vectors, weighted."""
    words = [one.listed("text", RECALL_LIMIT) for one in found]
    near = [one.listed("vector", RECALL_LIMIT, RECALL_VECTORS) for one in found]
    return _by_rank([*words, *near], 60.0, 0)


def _whole_recall(found: Sequence[Ranked]) -> list[str]:
    """Recall as documented, with all its lists."""
    settings = RecallSettings(sources=[{"name": one.corpus} for one in found])
    lists = [ranked for one in found for ranked in one.recalled]
    counted = recall_lists(lists, settings, query=found[0].query, now=NOW)
    most = settings.most_results * settings.limit
    return [one.item.hit.id for one in fused_lists(counted, k=settings.rrf_k)[:most]]


def _chunks(found: Ranked) -> RankedList:
    """Fuse as documented chunks, 1 / (1 + rank) for words."""
    text = {hit.id: 1 / (1 + rank) for rank, hit in enumerate(found.text)}
    hits = {hit.id: hit for hit in (*found.text, *found.vector)}
    fused = convex(_documented(found.vector), text, CHUNKS)
    return RankedList("hybrid", found.corpus, [Item(one.key, hits[one.key]) for one in fused])


def _memory(found: Ranked) -> list[str]:
    """Fuse as a documented memory, BM25 as it is."""
    return [one.key for one in convex(_documented(found.vector), _scores(found.text), MEMORY)]


#: Ways to fuse the legs of one corpus; the first is what the others are compared with.
WITHIN: Mapping[str, Callable[[Ranked], Sequence[str]]] = {
    "septet: convex, calibrated columns": lambda one: [hit.id for hit in one.septet],
    "convex of BM25 and cosine alone, calibrated": lambda one: [
        fused.key for fused in calibrated(_scores(one.vector), _scores(one.text))
    ],
    "RRF, k 60": lambda one: _by_rank(_legs([one]), 60.0),
    "RRF, k 10": lambda one: _by_rank(_legs([one]), 10.0),
    "confidence": lambda one: _by_confidence(_legs([one])),
    "documented recall (RRF, k 60, vectors 1.5)": lambda one: _recall([one]),
    "documented recall, with its own lists": lambda one: _whole_recall([one]),
    "documented chunks (raw convex, 0.60)": lambda one: [item.key for item in _chunks(one).items],
    "documented memory (raw convex, 0.55)": _memory,
    "DBSF": lambda one: [fused.key for fused in dbsf([_scores(one.text), _scores(one.vector)])],
    "words alone (BM25)": lambda one: [hit.id for hit in one.text],
    "vectors alone": lambda one: [hit.id for hit in one.vector],
}

#: Ways to fuse several corpora; the first is what the others are compared with.
ACROSS: Mapping[str, Callable[[Sequence[Ranked]], Sequence[str]]] = {
    "confidence of all legs": lambda found: _by_confidence(_legs(found)),
    "confidence of each corpus' septet": lambda found: _by_confidence([one.listed("septet") for one in found]),
    "convex of BM25 and cosine alone, calibrated": lambda found: [
        one.key for one in calibrated(_scores(_united(found, "vector")), _scores(_united(found, "text")))
    ],
    "RRF of each corpus' septet (they take turns)": lambda found: _by_rank([one.listed("septet") for one in found], 60),
    "RRF of all legs, k 60": lambda found: _by_rank(_legs(found), 60.0),
    "RRF of all legs, k 10": lambda found: _by_rank(_legs(found), 10.0),
    "DBSF of all legs": lambda found: [
        one.key for one in dbsf([_scores(leg) for of in found for leg in (of.text, of.vector)])
    ],
    "DBSF of each corpus' septet": lambda found: [one.key for one in dbsf([_scores(one.septet) for one in found])],
    "highest score of septet": lambda found: [hit.id for hit in _united(found, "septet")],
    "documented recall (RRF, k 60, vectors 1.5)": _recall,
    "documented recall, with its own lists": _whole_recall,
    "documented planned (chunks, then RRF, k 60)": lambda found: _by_rank([_chunks(one) for one in found], 60.0),
}
#: One ranking of all candidates, which no list is made for.
ONE_RANKING = "septet: one ranking (Federation)"


# -- measuring -------------------------------------------------------------------------------------------------------


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, help="a file that keeps vectors from one run to the next")
    parser.add_argument("--text", action="store_true", help="only words, where vectors did not come with a collection")
    parser.add_argument("--only", default="", help="collections whose name begins so")
    parser.add_argument("--kinds", action="store_true", help="nDCG@10 by kind of question, too")
    options = parser.parse_args()
    with_model = not options.text and find_spec(MODEL.replace("-", "_")) is not None
    for made in (cranfield, cranfield_in_parts, documents, stdlib):
        collection = made()
        if collection is not None and collection.name.startswith(options.only):
            measure(collection, options.cache, with_model=with_model, kinds=options.kinds)


def measure(collection: Collection, cache: Path | None, *, with_model: bool, kinds: bool) -> None:
    """Print the tables of a collection."""
    print(f"\n{collection.sizes}", flush=True)
    vaults = dict(opened(collection, cache, with_model=with_model))
    try:
        for vectors in (False, True) if with_model or collection.has_vectors else (False,):
            what = "words and vectors" if vectors else "words alone"
            found = {asked.id: answers_of(vaults, asked, vectors=vectors) for asked in collection.questions}
            for corpus in vaults if vectors else ():
                grades = collection.grades_in(corpus)
                print(f"\n{corpus} alone, {what}: {len(grades)} questions that it answers")
                runs = {name: {id: way(found[id][corpus]) for id in grades} for name, way in WITHIN.items()}
                show({name: evaluation_of(name, run, grades) for name, run in runs.items()})
            if len(vaults) > 1:
                made = dict(across(vaults, collection.questions, found, vectors=vectors))
                print(f"\nall corpora, {what}")
                show(made)
                if kinds and any(asked.kind for asked in collection.questions):
                    by_kind(made, collection.questions)
    finally:
        for vault in vaults.values():
            vault.close()


def across(
    vaults: Mapping[str, Vault],
    questions: Sequence[Asked],
    found: Mapping[str, Mapping[str, Ranked]],
    *,
    vectors: bool,
) -> Iterator[tuple[str, Evaluation]]:
    """Yield the ways to fuse several corpora, by name, and each corpus alone."""
    grades = {asked.id: asked.grades for asked in questions}
    for name, way in ACROSS.items():
        yield name, evaluation_of(name, {id: way(list(own.values())) for id, own in found.items()}, grades)
    with Federation(dict(vaults), dict.fromkeys(vaults, 1.0), clock=lambda: NOW) as together:
        one = {q.id: together.search(q.text, **_options(q, vectors)).ids for q in questions}
    yield ONE_RANKING, evaluation_of(ONE_RANKING, one, grades)
    for corpus in vaults:
        alone = {id: [hit.id for hit in own[corpus].septet] for id, own in found.items()}
        yield f"septet, {corpus} alone", evaluation_of(corpus, alone, grades)


def evaluation_of(name: str, runs: Mapping[str, Sequence[str]], grades: Mapping[str, Mapping[str, int]]) -> Evaluation:
    """Return the measures of rankings, each the keys of one question, the best first."""
    taken = measures_of(MEASURES)
    values = {id: {one.name: one.of(keys, grades[id]) for one in taken} for id, keys in runs.items()}
    means = {one.name: float(np.mean([own[one.name] for own in values.values()])) for one in taken}
    return Evaluation(profile=name, means=means, per_query=values)


def show(made: Mapping[str, Evaluation]) -> None:
    """Print one table; differences are from its first row."""
    print(f"{'':46}" + "".join(f" {name:>9}" for name in MEASURES) + f"  {'difference, 95 %':26} {'p':>6}")
    base = next(iter(made.values()))
    for name, one in made.items():
        told = "" if one is base else f"  {_told(one.compare(base)['nDCG@10'])}"
        print(f"{name:46}" + "".join(f" {one[measure]:9.4f}" for measure in MEASURES) + told, flush=True)


def _told(change: Difference) -> str:
    return f"{change.difference:+.4f} ({change.low:+.4f} to {change.high:+.4f}) {change.p:6.4f}"


def by_kind(made: Mapping[str, Evaluation], questions: Sequence[Asked]) -> None:
    """Print nDCG@10 of each kind of question."""
    kinds = {kind: [q.id for q in questions if q.kind == kind] for kind in dict.fromkeys(q.kind for q in questions)}
    print(f"{'nDCG@10':46}" + "".join(f" {kind:>10}" for kind in kinds))
    for name, one in made.items():
        means = [np.mean([one.per_query[id]["nDCG@10"] for id in ids]) for ids in kinds.values()]
        print(f"{name:46}" + "".join(f" {mean:10.4f}" for mean in means), flush=True)


# -- searching -------------------------------------------------------------------------------------------------------


def answers_of(vaults: Mapping[str, Vault], asked: Asked, *, vectors: bool) -> dict[str, Ranked]:
    """Ask each corpus."""
    return {corpus: ranked_of(corpus, vault, asked, vectors=vectors) for corpus, vault in vaults.items()}


def ranked_of(corpus: str, vault: Vault, asked: Asked, *, vectors: bool) -> Ranked:
    """Search by each leg, and by both; with ``vectors`` False by words alone."""
    options = _options(asked, vectors)
    near = {**options, "legs": "vector", "limit": DEPTH}
    source = VaultCorpus(corpus, vault, profile=RecallSettings().profile())
    mode: RetrievalMode = "hybrid" if vectors else "full_text"
    return Ranked(
        corpus=corpus,
        text=vault.search(asked.text, limit=DEPTH, legs="text", profile=_WORDS, mode="scan").hits,
        vector=vault.search(asked.text, profile=_NEAR, **near).hits if vectors else (),
        septet=vault.search(asked.text, profile=_SEPTET, **options).hits,
        query=asked.text,
        recalled=source.search(Question(asked.text, RECALL_LIMIT, mode, vector=asked.vector)).lists,
    )


def _options(asked: Asked, vectors: bool) -> dict[str, Any]:
    return {"mode": "scan", "query_vector": asked.vector} if vectors else {"mode": "scan", "legs": "text"}


def _leg(column: str) -> Profile:
    """Rank by one column as it is, words read as `septet` reads them."""
    weights = {column: 1.0}
    return replace(
        _SEPTET, name=column, signals={column: Col(col=column)}, weights={"text": weights, "hybrid": weights},
        missing="zero", balance=None, smoothing=None, adaptive=Adaptive(text=(), hybrid=()),
    )  # fmt: skip


_WORDS, _NEAR = _leg("bm25"), _leg("cosine")


if __name__ == "__main__":
    main()
