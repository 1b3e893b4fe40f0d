"""A recall over knowledge, summaries and messages from end to end, as the first recorded version of it answers.

A vault for each source, because full text is ranked by the statistics of a whole vault, as of a recorded table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

from golden.differences import differs
from golden.loader import other_recording
from septet import Vault
from septet.retrieval.corpus import CorpusAnswer, CorpusRequest, RankedList
from septet.retrieval.fusion import fused_lists
from septet.retrieval.recall.recalling import recall_lists
from septet.retrieval.recall.settings import RecallSettings, settings_of
from septet.retrieval.recall.sources import VaultCorpus, corpora_of

CORPUS = other_recording("lore-corpus")
CASES = other_recording("lore-recall-pr-era")["cases"]
NOW = CORPUS["now_ms"] / 1_000
DAY = 86_400.0
SHOWN = 20
#: What was recorded first: all words, else any; no vectors of sessions, and no list but those of words and vectors.
MATCHING = {"extends": "recall", "text": {"min_terms": None}}
LISTS = {"recent": 0, "session": 0, "quality": 0, "exact": 0}
SOURCES = [
    {"name": "k", "scoped": {"project": "attrs.project"}, "shared": "attrs.cross_project", "vault": "knowledge"},
    *(
        {
            "name": name,
            "role": "session",
            "scoped": {"project": "attrs.project", "session": "attrs.session"},
            "confidenceAbove": None,
            "vault": vault,
        }
        for name, vault in (("d", "distillations"), ("t", "temporal"))
    ),
]


def embedded(text: str) -> list[float]:
    """Return the recorded vector of a text: its words by their FNV-1a hash, each in one of 16 places with a sign."""
    vector = [0.0] * 16
    for word in re.findall("[a-z0-9]{3,}", text.lower()):
        hashed = 2166136261
        for byte in word.encode():
            hashed = (hashed ^ byte) * 16777619 % 2**32
        vector[hashed % 16] += 1.0 if hashed >> 16 & 1 else -1.0
    return vector


def attrs_of(row: Mapping[str, Any]) -> dict[str, Any]:
    names = ("project", "session", "confidence", "cross_project", "c_norm")
    return {name: row[name] for name in names if row.get(name) is not None}


@pytest.fixture(scope="module")
def vaults() -> Iterator[dict[str, Vault]]:
    with ExitStack() as stack:
        made = {name: stack.enter_context(Vault(":memory:", clock=lambda: NOW)) for name in (
            "knowledge", "distillations", "temporal")}  # fmt: skip
        for name, vault in made.items():
            for row in CORPUS[name]:
                at = NOW - row["age_days"] * DAY
                fields: dict[str, Any] = {"id": row["id"], "attrs": attrs_of(row), "created_at": at}
                if name == "knowledge":
                    texts = {"title": row["title"], "description": row["content"], "tags": [row["category"]]}
                    vault.add(**fields, **texts, vector=row["embedding"])
                else:
                    vault.add(**fields, title=row.get("observations") or row["content"])
        yield made


def settings_for(case: Mapping[str, Any]) -> RecallSettings:
    return settings_of(
        {
            "recallLimit": case.get("recallLimit", 10),
            "vectorBoostWeight": 1,
            "knowledgeShare": 1,
            "lists": LISTS,
            "mostLists": 100,
            "mostResults": 100,
            "sources": SOURCES,
        }
    )


def codes(case: Mapping[str, Any], vaults: Mapping[str, Vault]) -> set[str]:
    return {note.code for one in asked_of_all(case, vaults) for note in one.notes}


def answered(case: Mapping[str, Any], vaults: Mapping[str, Vault]) -> list[RankedList]:
    """Return the lists of all sources for each phrasing, the original first."""
    return [one for answers in asked_of_all(case, vaults) for one in answers.lists]


def asked_of_all(case: Mapping[str, Any], vaults: Mapping[str, Vault]) -> list[CorpusAnswer]:
    settings = settings_for(case)
    corpora = corpora_of(settings, vaults["knowledge"], vaults, profile=MATCHING)
    scope = {"within": case["scope"], "project": "A"}
    if case.get("session"):
        scope["session"] = case["session"]
    answers = []
    for variant, query in enumerate([case["query"], *case.get("expansions", ())]):
        vector = np.array(embedded(query), dtype=np.float32)
        usable = case["vectors"] and not variant
        asked = CorpusRequest(query, settings.limit, variant=variant, vector=vector if usable else None, scope=scope)
        for corpus in corpora:
            by_words = not usable or corpus.name != "k"
            answers.append(corpus.search(asked._replace(mode="full_text") if by_words else asked))
    return answers


def recalled(case: Mapping[str, Any], vaults: Mapping[str, Vault]) -> list[tuple[str, float]]:
    scope = {"within": case["scope"], **({"session": case["session"]} if case.get("session") else {})}
    settings = settings_for(case)
    lists = recall_lists(answered(case, vaults), settings, query=case["query"], now=NOW, scope=scope)
    found = fused_lists(lists, k=settings.rrf_k)[: settings.most_results * settings.limit]
    return [(f"{one.item.hit.tier}:{one.item.hit.id}", one.fused.score) for one in found]


def summed(lists: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return the documented sum over lists of keys, a slow twin."""
    scores: dict[str, float] = {}
    for keys in lists:
        for rank, key in enumerate(keys):
            scores[key] = scores.get(key, 0.0) + 1 / (60 + rank)
    return scores


def nearest(case: Mapping[str, Any], seen: bool) -> list[str]:
    """Return the knowledge nearest to a query: of every project, as recorded, or of those that may be seen."""
    asked = np.array(embedded(case["query"]), dtype=np.float64)
    scores = {}
    for row in CORPUS["knowledge"]:
        visible = row["project"] in (None, "A") or row["cross_project"]
        if row["confidence"] > 0.2 and (visible or not seen):
            own = np.array(row["embedding"], dtype=np.float64)
            scores[f"k:{row['id']}"] = float(asked @ own / np.linalg.norm(asked) / np.linalg.norm(own))
    order = sorted(scores, key=lambda key: -scores[key])
    return order[: settings_for(case).limit]


def operators(case: Mapping[str, Any]) -> bool:
    """Whether a query holds a word that FTS5 takes for an operator: the recorded search then finds nothing."""
    return any(word in ("AND", "OR", "NOT", "NEAR") for word in re.findall(r"\w+", case["query"]))


def same(found: Mapping[str, float]) -> Any:
    return pytest.approx(dict(found), abs=1e-11)


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: f"{case['query']} {case['scope']} {case.get('expansions', '')}"
)
@differs("seen-by-every-leg", "quoted-terms")
def test_a_recall_answers_as_recorded(case: Mapping[str, Any], vaults: Mapping[str, Vault]) -> None:
    ours = recalled(case, vaults)
    if "results" not in case:
        assert "too vague" in case["message"]
        assert ours == [] and "query_too_vague" in codes(case, vaults)
        return
    recorded = {one["key"]: one["score"] for one in case["results"]}
    assert [score for _, score in ours] == sorted((score for _, score in ours), reverse=True)
    if operators(case):
        lower = {**case, "query": case["query"].lower()}
        assert ours == recalled(lower, vaults)
        return
    words = [
        [f"{one.corpus}:{item.hit.id}" for item in one.items] for one in answered(case, vaults) if one.name == "text"
    ]
    by_vectors = case["vectors"] and case["scope"] != "session"
    # The words are those of the recording, and so is the sum; what is seen by vectors is less.
    leaky = summed([*words, nearest(case, seen=False)] if by_vectors else words)
    shown = dict(sorted(leaky.items(), key=lambda pair: -pair[1]))
    assert {key: shown[key] for key in recorded} == same(recorded)
    assert len(recorded) == min(SHOWN, len(shown)) or len(recorded) == len(shown)
    assert dict(ours) == same(summed([*words, nearest(case, seen=True)] if by_vectors else words))
    if not by_vectors:
        assert dict(ours) == same(recorded)
        ranks = [recorded[key] for key, _ in ours]
        assert ranks == sorted(ranks, reverse=True)


@differs("seen-by-every-leg")
def test_what_another_project_keeps_to_itself_is_not_found_by_its_vector(vaults: Mapping[str, Vault]) -> None:
    foreign = {f"k:{row['id']}" for row in CORPUS["knowledge"] if row["project"] == "B" and not row["cross_project"]}
    assert foreign
    for case in CASES:
        assert not {key for key, _ in recalled(case, vaults)} & foreign


def test_a_source_is_a_corpus_like_any_other(vaults: Mapping[str, Vault]) -> None:
    corpora = corpora_of(settings_for(CASES[0]), vaults["knowledge"], vaults, profile=MATCHING)
    assert [type(one) for one in corpora] == [VaultCorpus] * 3
    assert corpora[0].get("k01") == vaults["knowledge"].get("k01")
