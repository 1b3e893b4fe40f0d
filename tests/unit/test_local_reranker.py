"""LocalReranker: pairs scored as a twin in numpy scores them, and folders without a usable head."""

import json
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations

import numpy as np
import pytest

from septet import Vault
from septet.embedding import LocalReranker
from septet.errors import EmbeddingConfigError
from septet.model.results import Reranking
from twins import packed
from twins.tiny import AFTER_PADDING, VOCABULARY, Tiny

QUERY = "q u i c k"
TEXTS = ["f o x", "a", "q u i c k f o x", "", "l a z y d o g s", "q"]
KINDS = ("bert", "distilbert", "roberta", "xlm-roberta", "camembert")


def ids(text):
    return [VOCABULARY.get(word, 3) for word in text.split()]


def pair(query, text):
    """The tokens of a pair, and their types."""
    first, second = [0, *ids(query), 2], [*ids(text), 2]
    return first + second, [0] * len(first) + [1] * len(second)


def classified(tiny, query, texts):
    """The logits of a cross-encoder, in float64."""
    weights = {name.removeprefix(tiny.prefix): value.astype(np.float64) for name, value in tiny.of_head().items()}
    before, last = dict.fromkeys(name.rpartition(".")[0] for name in weights)
    pairs = [pair(query, text) for text in texts]
    types = None if tiny.kind == "distilbert" or tiny.kind in AFTER_PADDING else [types for _, types in pairs]
    first = np.stack([rows[0] for rows in tiny.twin().hidden([tokens for tokens, _ in pairs], types)])
    dense = first @ weights[f"{before}.weight"].T + weights[f"{before}.bias"]
    pooled = np.maximum(dense, 0) if tiny.kind == "distilbert" else np.tanh(dense)
    logits = pooled @ weights[f"{last}.weight"].T + weights[f"{last}.bias"]
    return logits[:, -1] - (logits[:, 0] if tiny.classes == 2 else 0)


def late(tiny, query, texts):
    """The sums of the largest cosines of late interaction, in float64."""
    projection = tiny.of_head()["linear.weight"].astype(np.float64)
    rows = [tokens @ projection.T for tokens in tiny.twin().hidden([[0, *ids(text), 2] for text in (query, *texts)])]
    query_rows, *of_texts = [row / np.linalg.norm(row, axis=1, keepdims=True) for row in rows]
    return np.array([(query_rows @ row.T).max(axis=1).sum() for row in of_texts])


@pytest.fixture
def folder(tmp_path):
    return Tiny(head="classifier").write(tmp_path / "tiny-reranker")


@pytest.mark.parametrize("classes", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_a_cross_encoder_scores_pairs_as_its_twin_does(tmp_path, kind, classes):
    tiny = Tiny(kind, prefix="bert." if kind == "bert" else "", head="classifier", classes=classes)
    reranker = LocalReranker(tiny.write(tmp_path / kind))
    np.testing.assert_allclose(reranker.scores(QUERY, TEXTS), classified(tiny, QUERY, TEXTS), atol=1e-4)
    assert "cross-encoder" in repr(reranker)


@pytest.mark.parametrize("kind", KINDS)
def test_late_interaction_sums_the_largest_cosines_as_its_twin_does(tmp_path, kind):
    tiny = Tiny(kind, head="linear")
    reranker = LocalReranker(tiny.write(tmp_path / kind))
    np.testing.assert_allclose(reranker.scores(QUERY, TEXTS), late(tiny, QUERY, TEXTS), atol=1e-4)
    assert "late interaction" in repr(reranker)


@pytest.mark.parametrize("head", ["classifier", "linear"])
def test_a_score_depends_on_its_pair_alone(tmp_path, head):
    reranker = LocalReranker(Tiny(head=head).write(tmp_path / "m"), threads=16)
    alone = [LocalReranker(tmp_path / "m", threads=1).scores(QUERY, [text])[0] for text in TEXTS]
    assert reranker.scores(QUERY, TEXTS).tolist() == alone == reranker.scores(QUERY, TEXTS).tolist()
    assert reranker.scores(QUERY, TEXTS[::-1]).tolist() == alone[::-1]


def test_a_pair_is_computed_once(folder, monkeypatch):
    reranker = LocalReranker(folder)
    scores, asked = reranker._head.scores, []

    def counted(query, texts, *, threads):
        asked.extend(texts)
        return scores(query, texts, threads=threads)

    monkeypatch.setattr(reranker._head, "scores", counted)
    reranker.scores(QUERY, ["a", "b", "a"])
    reranker.scores(QUERY, ["b", "c"])
    reranker.scores("another", ["a"])
    assert asked == ["a", "b", "c", "a"]


def test_a_query_and_a_text_that_join_alike_are_two_pairs(folder):
    reranker = LocalReranker(folder)
    assert reranker.scores("a\0b", ["c"])[0] != reranker.scores("a", ["b\0c"])[0]


@pytest.mark.parametrize("head", ["classifier", "linear"])
def test_what_is_longer_than_the_model_is_cut(tmp_path, head):
    reranker = LocalReranker(Tiny(head=head).write(tmp_path / "m"))
    long = "a b c d e " * 10_000
    assert np.isfinite(reranker.scores(long, [long, "a", ""])).all()
    assert np.isfinite(reranker.scores("\ud800", ["\udfff a"])).all()


def test_an_empty_list_has_no_scores(folder):
    assert LocalReranker(folder).scores(QUERY, []).shape == (0,)


def test_a_folder_reranks_a_search(folder):
    reranker = LocalReranker(folder)
    with Vault(":memory:") as vault:
        vault.add_many({"id": text, "title": f"q {text}"} for text in TEXTS if text)
        usual = vault.search("q", limit=3)
        reranked = vault.search("q", limit=3, rerank=str(folder))
        again = vault.search("q", limit=3, rerank=Reranking(folder, top=6))
    assert usual.ids != reranked.ids == again.ids
    scores = [hit.raw["reranker"] for hit in reranked]
    titles = [f"q {text}\n" for text in TEXTS if text]
    assert scores == sorted(reranker.scores("q", titles), reverse=True)[:3]


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        (lambda folder: Tiny().write(folder), "has no head that scores pairs"),
        (lambda folder: Tiny(head="classifier", classes=3).write(folder), "classifies into 3 classes"),
        (lambda folder: Tiny(kind="roberta", head="").write(folder), "has no head"),
        (lambda folder: (folder / "tokenizer.json").write_text("{}"), "is not a tokenizer"),
        (lambda folder: (folder / "model.safetensors").write_bytes(b"\1\0"), "damaged"),
        (lambda folder: (folder / "config.json").unlink(), "config.json"),
    ],
)
def test_a_folder_without_a_usable_model_is_refused_with_its_file(folder, change, cause):
    change(folder)
    with pytest.raises(EmbeddingConfigError, match=cause):
        LocalReranker(folder)


def test_a_tokenizer_without_special_tokens_is_refused(folder):
    data = json.loads((folder / "tokenizer.json").read_text())
    (folder / "tokenizer.json").write_text(json.dumps({**data, "post_processor": None}))
    with pytest.raises(EmbeddingConfigError, match="adds no special tokens"):
        LocalReranker(folder)


def test_threads_share_a_reranker(folder):
    reranker = LocalReranker(folder)
    texts = [" ".join(pair) for pair in permutations("abcdefg", 2)]
    expected = reranker.scores(QUERY, texts).tolist()
    shared = LocalReranker(folder, threads=2)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda turn: shared.scores(QUERY, texts[turn:]).tolist(), range(12)))
    assert all(scores == expected[turn:] for turn, scores in enumerate(results))


def test_a_model_of_one_file_has_no_head(tmp_path):
    packed.write(tmp_path)
    with pytest.raises(EmbeddingConfigError, match=r"has no config\.json"):
        LocalReranker(tmp_path)


def test_a_missing_extra_is_named(folder, monkeypatch):
    monkeypatch.setattr("septet.embedding.local.embedder.find_spec", lambda name: None)
    with pytest.raises(EmbeddingConfigError, match=r"pip install 'septet\[local\]'"):
        LocalReranker(folder)


def test_a_head_with_a_number_that_is_none_is_refused(folder):
    data = bytearray((folder / "model.safetensors").read_bytes())
    data[-4:] = np.array([np.nan], "<f4").tobytes()
    (folder / "model.safetensors").write_bytes(data)
    with pytest.raises(EmbeddingConfigError, match="NaN or infinite"):
        LocalReranker(folder)


def test_the_options_of_late_interaction_are_read_and_checked(tmp_path):
    tiny = Tiny(head="linear")
    folder = tiny.write(tmp_path / "m")
    options = {"query_token_id": "y", "doc_token_id": "z", "query_maxlen": 5, "doc_maxlen": 6}
    (folder / "artifact.metadata").write_text(json.dumps(options))
    reranker, projection = LocalReranker(folder), tiny.of_head()["linear.weight"].astype(np.float64)
    y, z = VOCABULARY["y"], VOCABULARY["z"]
    tokens = [[0, y, *ids("a b"), 2], [0, z, *ids("c d e"), 2]]
    query, text = (rows @ projection.T for rows in tiny.twin().hidden(tokens))
    unit = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (query, text)]
    expected = (unit[0] @ unit[1].T).max(axis=1).sum()
    assert reranker.scores("a b c", ["c d e f"])[0] == pytest.approx(expected, abs=1e-4)
    (folder / "artifact.metadata").write_text("[]")
    with pytest.raises(EmbeddingConfigError, match=r"artifact\.metadata"):
        LocalReranker(folder)


def test_a_folder_that_is_none_is_refused_before_the_search(tmp_path):
    with Vault(":memory:") as vault, pytest.raises(EmbeddingConfigError, match="neither a folder nor an installed"):
        vault.search("a", rerank=str(tmp_path / "none"))
