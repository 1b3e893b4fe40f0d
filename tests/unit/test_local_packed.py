"""A model in one file: its vectors are its twin's, and its tokens those of the tokenizers package."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from septet import LocalEmbedder
from septet._core import Unigram, four_bit_rows
from septet.embedding import embedder_from
from septet.embedding.local.folder import local_models
from septet.embedding.local.packed import PackedFile
from septet.errors import EmbeddingConfigError
from twins import packed

TEXTS = [
    "the thing",
    "",
    "   ",
    "sing\tthe  song",
    "猫猫 кот",
    "㎏ Ａ",
    "Ω unknown Ψ!? x",
    "z",
    "a\u200bb",
    "the " * 4,
]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "tiny-e5"
    twin = packed.write(folder)
    return LocalEmbedder(folder), twin


@pytest.fixture(scope="module")
def tokenizer(model):
    return PackedFile(model[0].folder / packed.NAME).tokenizer()


@pytest.fixture(scope="module")
def library():
    """The same pieces in the tokenizers package, behind the steps that XLM-R has."""
    tokenizer = Tokenizer(models.Unigram(list(packed.PIECES.items()), unk_id=3, byte_fallback=False))
    steps = [normalizers.Replace(of, to) for of, to in packed.CHARACTERS.items()]
    tokenizer.normalizer = normalizers.Sequence([*steps, normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return tokenizer


def ids_of(library, text):
    return [0, *library.encode(text, add_special_tokens=False).ids, 2]


def test_the_vectors_are_those_of_its_twin(model, library):
    coded, twin = model
    exact = LocalEmbedder(coded.folder, precision="float32")
    for kind, prefix in (("query", "query: "), ("document", "passage: ")):
        wanted = twin.embed([ids_of(library, prefix + text) for text in TEXTS])
        np.testing.assert_allclose(exact.embed(TEXTS, kind), wanted, atol=1e-4)
        # The codes of four bits are the same numbers; those of the texts are rounded.
        assert (coded.embed(TEXTS, kind) * wanted).sum(axis=1).min() > 0.995


def test_it_says_what_it_is(model):
    embedder, _ = model
    assert (embedder.model, embedder.dimensions, embedder.max_tokens) == ("tiny-e5", packed.D, packed.POSITIONS)
    (found,) = [place for place in local_models([embedder.folder]) if place.source == "configured"]
    assert found.model is not None and found.model.is_packed and not found.fault


def test_it_needs_neither_tokenizers_nor_safetensors(model, monkeypatch):
    absent = ("tokenizers", "safetensors")
    monkeypatch.setattr("septet.embedding.local.embedder.find_spec", lambda name: None if name in absent else 1)
    config = {"provider": "local", "modelPath": str(model[0].folder)}
    assert embedder_from(config, environment={}).embed(["the"]).shape == (1, packed.D)
    with pytest.raises(EmbeddingConfigError, match=r"pip install 'septet\[local\]'"):
        LocalEmbedder("some-model")


def test_a_long_text_is_embedded_whole_in_windows(model):
    embedder, _ = model
    text = " ".join(["the", "sing", "кот", "猫"] * 20)
    assert embedder.is_long(text) and not embedder.is_long("the")
    rows = embedder.embed([text, text + " zebra", "a" * 500])
    assert rows[0] @ rows[1] < 0.99999
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_a_vector_depends_on_its_text_alone(model):
    embedder, _ = model
    together = embedder.embed(TEXTS)
    np.testing.assert_array_equal(together, np.concatenate([embedder.embed([text]) for text in TEXTS]))


#: Letters of several scripts, marks, characters without width, of both directions, and beyond 16 bits.
_TEXT = st.text(
    st.one_of(st.sampled_from("abcthequryingps: \t\u200b▁猫котΩ㎏Ａ<s/>unkd"), st.characters(codec="utf-8"))
)


@given(text=_TEXT)
def test_tokens_are_those_of_the_tokenizers_package(tokenizer, library, text):
    # The package takes the name of the unknown piece for that piece.
    assume("<unk>" not in text)
    ids, ends = tokenizer.encode("x" + text)
    assert ids.tolist() == library.encode("x" + text, add_special_tokens=False).ids
    assert (np.diff(ends) >= 0).all() and ends[-1] <= len(text) + 1


def test_the_blocks_of_four_bits_are_read_as_they_were_rounded():
    (_, _, blocks), rounded = packed.four_bits(np.random.default_rng(1).normal(size=(5, 96)))
    rows = four_bit_rows(np.frombuffer(blocks, np.uint8).reshape(5, 54))
    np.testing.assert_array_equal(rows, rounded)
    with pytest.raises(ValueError, match="bytes of a row is 17, expected a multiple of 18"):
        four_bit_rows(np.zeros((2, 17), np.uint8))


def test_a_tokenizer_that_is_none_is_refused():
    none = np.zeros(0, np.uint8)
    with pytest.raises(ValueError, match="unknown piece 0 is out of range"):
        Unigram(np.zeros(1, np.uint32), np.zeros(0, np.float32), none, none, unknown=0)
    with pytest.raises(ValueError, match="unknown"):
        Unigram(np.zeros(2, np.uint32), np.zeros(1, np.float32), none, none, unknown=-1)
