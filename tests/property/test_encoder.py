"""The encoder against its float64 twin: any shape, any lengths, every level of instructions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from septet import _core
from twins.bert import LAYER, Bert

WORDS, POSITIONS = 40, 70


def model(seed, d, width, layers):
    """Weights of a model, named as a BERT's; small enough that float32 keeps its distance from the twin."""
    rng = np.random.default_rng(seed)

    def some(*shape):
        return (rng.standard_normal(shape) / np.sqrt(shape[-1])).astype(np.float32)

    w = {
        "embeddings.word_embeddings.weight": some(WORDS, d) * 3,
        "embeddings.position_embeddings.weight": some(POSITIONS, d),
    }
    norms = ["embeddings.LayerNorm"]
    for at in map(LAYER.format, range(layers)):
        for name, to, of in (
            *((f"attention.self.{part}", d, d) for part in ("query", "key", "value")),
            ("attention.output.dense", d, d),
            ("intermediate.dense", width, d),
            ("output.dense", d, width),
        ):
            w |= {f"{at}{name}.weight": some(to, of), f"{at}{name}.bias": some(to)}
        norms += [f"{at}attention.output.LayerNorm", f"{at}output.LayerNorm"]
    for name in norms:
        w |= {f"{name}.weight": 1 + some(d), f"{name}.bias": some(d)}
    return w


def layer_of(w, at):
    parts = [f"{at}attention.self.{part}" for part in ("query", "key", "value")]

    def linear(name):
        return w[f"{at}{name}.weight"], w[f"{at}{name}.bias"]

    def norm(name):
        return np.stack(linear(name))

    attention = tuple(np.concatenate([w[f"{part}.{kind}"] for part in parts]) for kind in ("weight", "bias"))
    return (
        attention, linear("attention.output.dense"), norm("attention.output.LayerNorm"),
        linear("intermediate.dense"), linear("output.dense"), norm("output.LayerNorm"),
    )  # fmt: skip


def encoder_of(w, layers, heads, kernel=None, pooling="mean", **changes):
    name = "embeddings.LayerNorm"
    return _core.Encoder(
        w["embeddings.position_embeddings.weight"],
        np.stack([w[f"{name}.weight"], w[f"{name}.bias"]]),
        [layer_of(w, LAYER.format(number)) for number in range(layers)],
        **{"heads": heads, "epsilon": 1e-12, "activation": "gelu", "pooling": pooling, "kernel": kernel, **changes},
    )


def encode(encoder, w, texts, threads=1):
    words = w["embeddings.word_embeddings.weight"][np.concatenate([np.array(t, np.int64) for t in texts])]
    return encoder.encode(words, np.array([len(t) for t in texts], np.int64), threads=threads)


texts_of = st.lists(st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=POSITIONS), min_size=1, max_size=12)


@pytest.mark.parametrize("kernel", _core.kernels())
@given(
    seed=st.integers(0, 2**16),
    shape=st.sampled_from([(8, 2, 20), (48, 4, 33), (30, 1, 64), (33, 3, 7), (96, 3, 130)]),
    pooling=st.sampled_from(["mean", "cls", "max"]),
    texts=texts_of,
    threads=st.integers(1, 3),
)
def test_every_level_computes_what_the_twin_does_whatever_stands_beside_a_text(
    kernel, seed, shape, pooling, texts, threads
):
    d, heads, width = shape
    w = model(seed, d, width, 2)
    encoder = encoder_of(w, 2, heads, kernel, pooling)
    found = encode(encoder, w, texts, threads)
    exact = Bert(w, 2, heads).as_type(np.float64).embed(texts, pooling)
    np.testing.assert_allclose(found, exact, atol=1e-5)
    np.testing.assert_array_equal(encode(encoder, w, texts[-1:]), found[-1:])


def test_arguments_that_do_not_fit_are_refused():
    w = model(0, 8, 16, 1)
    encoder = encoder_of(w, 1, 2)
    words = np.zeros((3, 8), np.float32)
    for lengths, said in (
        ([2], "words has length 3, expected 2"),
        ([3, 0], "length 0"),
        ([71], "length 71"),
        ([-1], "-"),
    ):
        with pytest.raises(ValueError, match=said.replace("-", "negative")):
            encoder.encode(words, np.array(lengths, np.int64))
    with pytest.raises(ValueError, match="a word's vector has length 9"):
        encoder.encode(np.zeros((3, 9), np.float32), np.array([3], np.int64))
    with pytest.raises(ValueError, match="threads"):
        encoder.encode(words, np.array([3], np.int64), threads=-1)
    for changes, said in (
        ({"heads": 3}, "heads is 3"),
        ({"heads": 0}, "heads is 0"),
        ({"activation": "silu"}, 'activation is "silu", expected one of gelu'),
        ({"pooling": "last"}, "mean, cls, max"),
    ):
        with pytest.raises(ValueError, match=said):
            encoder_of(w, 1, **{"heads": 2, **changes})
    for name, bad in (
        ("encoder.layer.0.intermediate.dense.bias", np.zeros(15, np.float32)),
        ("encoder.layer.0.output.dense.weight", np.zeros((8, 17), np.float32)),
        ("encoder.layer.0.attention.self.key.weight", np.zeros((9, 8), np.float32)),
    ):
        with pytest.raises(ValueError, match="has length"):
            encoder_of({**w, name: bad}, 1, 2)


def test_words_without_numbers_give_zeros_to_their_own_text_only():
    w = model(1, 8, 16, 1)
    encoder = encoder_of(w, 1, 2)
    words = np.ones((4, 8), np.float32) * np.arange(8, dtype=np.float32)
    words[0, 3] = np.nan
    rows = encoder.encode(words, np.array([2, 2], np.int64))
    assert not rows[0].any()
    np.testing.assert_allclose(np.linalg.norm(rows[1]), 1, atol=1e-6)
    assert encoder.encode(words[:0], np.empty(0, np.int64)).shape == (0, 8)
