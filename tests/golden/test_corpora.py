"""The corpora of the documented planned retrieval: memories, chunks, paths and names, to the digit."""

import os

import numpy as np
import pytest

from golden.differences import differs
from golden.loader import other_recording
from septet import Vault
from septet.retrieval.corpora.chunks import ChunkCorpus, text_score, vector_score
from septet.retrieval.corpora.folders import InventoryCorpus
from septet.retrieval.corpora.graph import GraphCorpus
from septet.retrieval.corpora.memory import MemoryCorpus
from septet.retrieval.corpora.symbols import Renames
from septet.retrieval.corpus import CorpusRequest
from twins.corpora import RuleDocument, heading_chunks, path_score, rank_memories, similarity

MEMORIES = other_recording("vox-memory-bm25")
CHUNKS = other_recording("vox-markdown-chunks")["cases"]
PATHS = other_recording("vox-repo-path")
NAMES = other_recording("vox-proximity-similarity")["cases"]


@pytest.mark.parametrize("case", MEMORIES["cases"], ids=lambda case: f"{case['query']} {case['k1']} {case['b']}")
def test_memories_rank_as_recorded(case):
    documents = [RuleDocument(d["path"], d["content"], d["last_updated_unix"]) for d in MEMORIES["documents"]]
    settings = {name: case[name] for name in ("k1", "b", "limit")}
    hits = rank_memories(documents, case["query"], **settings, now=MEMORIES["now_unix"])
    assert [(h.path, h.snippet, h.contradiction) for h in hits] == [
        (h["path"], h["snippet"], h["contradiction"]) for h in case["hits"]
    ]
    assert [h.score for h in hits] == pytest.approx([h["score"] for h in case["hits"]], rel=1e-12)


@pytest.mark.parametrize("case", CHUNKS, ids=lambda case: repr(case["text"][:20]))
def test_markdown_is_cut_at_the_recorded_headings(case):
    assert heading_chunks(case["text"]) == case["chunks"]


@pytest.mark.parametrize("case", PATHS["cases"], ids=lambda case: case["query"])
def test_paths_score_as_recorded(case):
    paths = {*PATHS["paths"], *case["scores"]}
    scores = {path: score for path in paths if (score := path_score(case["query"], path)) > 0}
    assert scores == pytest.approx(case["scores"])


@pytest.mark.parametrize("case", NAMES, ids=lambda case: f"{case['a']} {case['b']}")
def test_names_are_alike_as_recorded(case):
    assert similarity(case["a"], case["b"]) == pytest.approx(case["similarity"], abs=1e-12)
    assert similarity(case["b"], case["a"]) == pytest.approx(case["similarity"], abs=1e-12)


def test_scores_of_both_legs_are_the_documented_ones():
    assert [text_score(rank) for rank in (0, 1, 2)] == [1.0, 0.5, 1 / 3]
    assert [vector_score(cosine) for cosine in (-0.3, 0.0, 0.4, 1.0)] == [0.0, 0.0, 0.8, 2.0]


def found(corpus, query, name, **more):
    return [
        i.hit
        for ranked in corpus.search(CorpusRequest(query, 10, **more)).lists
        if ranked.name == name
        for i in ranked.items
    ]


@differs("near-vectors-come-first")
def test_the_nearest_memory_is_the_first_by_vectors():
    with Vault(":memory:") as vault:
        for at, vector in enumerate(([0.0, 1.0], [1.0, 0.0], [0.7, 0.7])):
            vault.add(title=str(at), id=str(at), vector=vector)
        east = np.array([1.0, 0.0], dtype=np.float32)
        assert [hit.id for hit in found(MemoryCorpus(vault), "east", "vector", vector=east)] == ["1", "2", "0"]


@differs("common-words-tell-nothing")
def test_a_word_that_most_memories_hold_tells_next_to_nothing():
    texts = {"a": "token refresh", "b": "token ducks", "c": "token geese", "d": "swans"}
    recorded = rank_memories([RuleDocument(one, text, 0.0) for one, text in texts.items()], "token", now=0.0)
    with Vault(":memory:", clock=lambda: 0.0) as vault:
        for one, text in texts.items():
            vault.add(id=one, title=text)
        corpus = MemoryCorpus(vault, clock=lambda: 0.0)
        assert {hit.id for hit in found(corpus, "token", "text")} == {hit.path for hit in recorded}
        assert all(hit.raw["bm25"] < 1e-4 for hit in found(corpus, "token", "text"))
        assert all(hit.score > 0.1 for hit in recorded)
        # What tells something comes first with both.
        assert found(corpus, "token ducks", "text")[0].id == "b"
    assert (
        rank_memories([RuleDocument(one, text, 0.0) for one, text in texts.items()], "token ducks", now=0.0)[0].path
        == "b"
    )


@differs("words-rank-chunks-and-nodes")
@pytest.mark.parametrize(("corpus", "kind"), [(ChunkCorpus, "chunk"), (GraphCorpus, "node")])
def test_newer_texts_do_not_come_before_better_ones(corpus, kind):
    with Vault(":memory:") as vault:
        for at in range(4):
            vault.add(
                title="t", description="token " * (4 - at) + "other " * at, id=str(at), kind=kind, created_at=1e9 + at
            )
        assert [hit.id for hit in found(corpus(vault), "token", "text")] == ["0", "1", "2", "3"]


@differs("ages-without-version-control", "edited-memories-are-found")
def test_memories_age_by_front_matter_or_file_and_edits_are_found(tmp_path):
    folder = tmp_path / "memory"
    folder.mkdir()
    now = 1_760_000_000.0
    for name, text in (("plain", "token"), ("said", "---\nupdated: 2025-10-09\n---\ntoken\n")):
        (folder / f"{name}.md").write_text(text)
        os.utime(folder / f"{name}.md", (now - 180 * 86_400, now - 180 * 86_400))
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(folder, name="notes")
        corpus = MemoryCorpus(vault, roots=["notes"], clock=lambda: now)
        ages = {hit.title: hit.raw["age_factor"] for hit in found(corpus, "token", "text")}
        assert ages == {"plain.md": pytest.approx(0.5), "said.md": pytest.approx(1.0, abs=0.01)}
        (folder / "plain.md").write_text("gateway")
        vault.sync()
        assert [hit.title for hit in found(corpus, "gateway", "text")] == ["plain.md"]


@differs("short-names-are-in-no-other")
def test_a_short_name_is_near_itself_alone():
    names = Renames({"io": "streams", "old_io": "streams"})
    assert [(one.retired, one.nearness) for one in names.near("io")] == [("io", 1.0)]
    assert names.near("version") == []


@differs("stop-words-name-no-path")
def test_stop_words_are_looked_for_in_no_path_unless_it_is_asked_for(tmp_path):
    for name in ("the.txt", "policy.txt"):
        (tmp_path / name).touch()
    query = "where is the policy"
    assert [hit.title for hit in found(InventoryCorpus(tmp_path), query, "paths")] == ["policy.txt"]
    both = [hit.title for hit in found(InventoryCorpus(tmp_path, words="all"), query, "paths")]
    assert sorted(both) == ["policy.txt", "the.txt"]
