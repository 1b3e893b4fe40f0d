"""The corpora of the documented planned retrieval: memories, chunks, paths and names, to the digit."""

import pytest

from golden.loader import other_recording
from septet.retrieval.corpora.rules import (
    Memory,
    heading_chunks,
    path_score,
    rank_memories,
    similarity,
    text_score,
    vector_score,
)

MEMORIES = other_recording("vox-memory-bm25")
CHUNKS = other_recording("vox-markdown-chunks")["cases"]
PATHS = other_recording("vox-repo-path")
NAMES = other_recording("vox-proximity-similarity")["cases"]


@pytest.mark.parametrize("case", MEMORIES["cases"], ids=lambda case: f"{case['query']} {case['k1']} {case['b']}")
def test_memories_rank_as_recorded(case):
    documents = [Memory(d["path"], d["content"], d["last_updated_unix"]) for d in MEMORIES["documents"]]
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
