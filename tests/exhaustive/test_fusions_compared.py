"""The comparison of ways to fuse: it fuses by the package, measures as `evaluate` does, and says what is not there."""

import ast
from pathlib import Path

import pytest

from retrieved import hit
from septet import Vault, evaluate
from septet.retrieval import fusion, ordering


@pytest.fixture
def benches(monkeypatch, request):
    monkeypatch.syspath_prepend(str(request.config.rootpath / "benches"))
    import fused_collections
    import fusions

    return fusions, fused_collections


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: 1.7e9) as vault:
        for place, (title, text) in enumerate(TEXTS):
            vector = [1.0, 0.2 * place, 0.1]
            vault.add(id=f"e{place}", title=title, description=text, vector=vector)
        yield vault


TEXTS = (
    ("WAL mode", "Readers do not block the writer"),
    ("Busy timeout", "How long a writer waits for a lock"),
    ("Vacuum", "Rebuilds the file and gives room back"),
    ("Checkpoint", "The writer copies pages of the log to the file"),
)


def found_of(fusions, corpus, text, vector, septet):
    listed = [[hit(id, score, tier=corpus) for id, score in leg.items()] for leg in (text, vector, septet)]
    return fusions.Ranked(corpus, *listed)


@pytest.fixture
def found(benches):
    fusions, _ = benches
    return [
        found_of(fusions, "a", {"x": 9.0, "y": 4.0}, {"y": 0.8, "z": 0.5}, {"y": 0.9, "x": 0.7, "z": 0.2}),
        found_of(fusions, "b", {"p": 2.0}, {"q": 0.9, "p": 0.1}, {"q": 0.8, "p": 0.3}),
        found_of(fusions, "c", {}, {}, {}),
    ]


def test_every_way_returns_what_was_found_each_once(benches, found):
    fusions, _ = benches
    for name, way in fusions.WITHIN.items():
        for one in found:
            every = {h.id for h in (*one.text, *one.vector)}
            keys = list(way(one))
            assert len(set(keys)) == len(keys) and set(keys) <= every, name
            assert "alone" in name or "own lists" in name or set(keys) == every, name
    for name, way in fusions.ACROSS.items():
        keys = list(way(found))
        # What a recall finds by words of its own is not given here.
        assert sorted(keys) == ([] if "own lists" in name else ["p", "q", "x", "y", "z"]), name


def test_ways_are_those_of_the_package(benches, found):
    fusions, _ = benches
    legs = [[h.id for h in leg] for one in found for leg in (one.text, one.vector)]
    for k in (10, 60):
        wanted = [one.key for one in fusion.rrf(legs, k=k, first_rank=1)]
        assert list(fusions.ACROSS[f"RRF of all legs, k {k}"](found)) == wanted
    scores = [{h.id: h.score for h in leg} for one in found for leg in (one.text, one.vector)]
    assert list(fusions.ACROSS["DBSF of all legs"](found)) == [one.key for one in fusion.dbsf(scores)]
    recall = [one.key for one in fusion.rrf([legs[at] for at in (0, 2, 4, 1, 3, 5)], [1, 1, 1, 1.5, 1.5, 1.5], k=60)]
    assert list(fusions.ACROSS["documented recall (RRF, k 60, vectors 1.5)"](found)) == recall
    assert fusions.by_confidence is ordering.by_confidence and fusions.fused_lists is fusion.fused_lists


def test_nothing_is_fused_in_the_comparison_itself(benches):
    """Ranks are divided by nowhere, but in the score that documented chunks have by words."""
    fusions, _ = benches
    source = Path(fusions.__file__).read_text(encoding="utf-8")
    divided = [ast.unparse(node) for node in ast.walk(ast.parse(source)) if divides(node)]
    assert divided == ["1 / (1 + rank)"]


def divides(node):
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)


def test_measures_are_those_of_evaluate(benches, vault):
    fusions, _ = benches
    judged = {"q1": {"e1": 2, "e0": 1}, "q2": {"e2": 1}, "q3": {"e3": 1, "e1": 1}}
    asked = {"q1": "a writer waits", "q2": "give room back", "q3": "log of the writer"}
    wanted = evaluate(vault, asked, judged, fusions.MEASURES)
    runs = {id: vault.search(text).ids for id, text in asked.items()}
    found = fusions.evaluation_of("septet", runs, judged)
    assert found.per_query == wanted.per_query and found.means == pytest.approx(wanted.means)


@pytest.mark.parametrize("vectors", [False, True])
def test_legs_are_ranked_by_their_own_number(benches, vault, vectors):
    fusions, collections = benches
    asked = collections.Asked("q", "", "the writer waits", {}, [1.0, 0.0, 0.1])
    found = fusions.ranked_of("all", vault, asked, vectors=vectors)
    assert [h.score for h in found.text] == [h.raw["bm25"] for h in found.text] and len(found.text) == 3
    assert [h.score for h in found.vector] == pytest.approx([h.raw["cosine"] for h in found.vector])
    assert len(found.vector) == (4 if vectors else 0)
    assert (any(h.raw["cosine"] is not None for h in found.septet)) is vectors
    assert [one.name for one in found.recalled] == (["text", "vector"] if vectors else ["text"])
    assert found.recalled[0].items[0].hit.id == "e1" == fusions._whole_recall([found])[0]


def test_a_collection_that_is_not_there_is_told(benches, monkeypatch, tmp_path, capsys):
    _, collections = benches
    monkeypatch.setenv("SEPTET_DATA", str(tmp_path))
    assert collections.cranfield() is None and collections.cranfield_in_parts() is None
    assert "name the folder above data/cranfield in SEPTET_DATA" in capsys.readouterr().out


def test_no_id_is_in_two_corpora_and_questions_keep_their_grades(benches):
    _, collections = benches
    whole = collections.stdlib()
    ids = [entry["id"] for own in whole.entries.values() for entry in own]
    assert len(set(ids)) == len(ids)
    by_corpus = {corpus: whole.grades_in(corpus) for corpus in whole.entries}
    for asked in whole.questions:
        parts = [grades.get(asked.id, {}) for grades in by_corpus.values()]
        assert {id: grade for part in parts for id, grade in part.items()} == asked.grades
