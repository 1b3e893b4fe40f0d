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


def layer_of(w, at, coded):
    parts = [f"{at}attention.self.{part}" for part in ("query", "key", "value")]

    def linear(*names):
        weight, bias = (np.concatenate([w[f"{name}.{kind}"] for name in names]) for kind in ("weight", "bias"))
        return (*_core.code_weights(weight), bias) if coded else (weight, bias)

    def norm(name):
        return np.stack([w[f"{at}{name}.{kind}"] for kind in ("weight", "bias")])

    return (
        linear(*parts), linear(f"{at}attention.output.dense"), norm("attention.output.LayerNorm"),
        linear(f"{at}intermediate.dense"), linear(f"{at}output.dense"), norm("output.LayerNorm"),
    )  # fmt: skip


def encoder_of(w, layers, heads, kernel=None, pooling="mean", coded=False, **changes):
    name = "embeddings.LayerNorm"
    return _core.Encoder(
        w["embeddings.position_embeddings.weight"],
        np.stack([w[f"{name}.weight"], w[f"{name}.bias"]]),
        [layer_of(w, LAYER.format(number), coded) for number in range(layers)],
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
    vectors = encode(encoder, w, texts, threads)
    exact = Bert(w, 2, heads).as_type(np.float64).embed(texts, pooling)
    np.testing.assert_allclose(vectors, exact, atol=1e-5)
    np.testing.assert_array_equal(encode(encoder, w, texts[-1:]), vectors[-1:])


@pytest.mark.parametrize("kernel", _core.kernels())
@given(
    seed=st.integers(0, 2**16),
    shape=st.sampled_from([(32, 4, 64), (64, 2, 96), (96, 3, 160)]),
    pooling=st.sampled_from(["mean", "cls", "max"]),
    texts=texts_of,
    threads=st.integers(1, 3),
)
def test_int8_is_near_the_twin_at_every_level_whatever_stands_beside_a_text(
    kernel, seed, shape, pooling, texts, threads
):
    d, heads, width = shape
    w = model(seed, d, width, 2)
    encoder = encoder_of(w, 2, heads, kernel, pooling, coded=True)
    vectors = encode(encoder, w, texts, threads)
    exact = Bert(w, 2, heads).as_type(np.float64).embed(texts, pooling)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert (vectors * exact).sum(axis=1).min() > 0.995
    np.testing.assert_array_equal(encode(encoder, w, texts[-1:]), vectors[-1:])


@pytest.mark.parametrize("kernel", _core.kernels())
@given(seed=st.integers(0, 2**16), layers=st.integers(0, 2), coded=st.booleans(), texts=texts_of)
def test_first_tokens_alone_are_those_among_all_tokens_to_the_last_bit(kernel, seed, layers, coded, texts):
    w = model(seed, 64, 96, 2)
    encoder = encoder_of(w, layers, 2, kernel, coded=coded)
    lengths = np.array([len(text) for text in texts], np.int64)
    words = w["embeddings.word_embeddings.weight"][np.concatenate([np.array(t, np.int64) for t in texts])]
    firsts = encoder.hidden_first(words, lengths, threads=2)
    np.testing.assert_array_equal(firsts, encoder.hidden(words, lengths)[np.cumsum(lengths) - lengths])


def test_levels_of_avx_agree_to_the_last_bit():
    w = model(7, 96, 160, 2)
    texts = [[1, 2, 3], list(range(WORDS)), [5] * POSITIONS]
    for coded in (False, True):
        levels = [level for level in _core.kernels() if level.startswith("avx")]
        rows = [encode(encoder_of(w, 2, 3, level, coded=coded), w, texts) for level in levels]
        assert all(np.array_equal(other, rows[0]) for other in rows[1:])


def test_codes_times_scales_are_at_most_half_a_step_from_the_weight():
    weight = np.random.default_rng(3).standard_normal((5, 96)).astype(np.float32)
    weight[2, 32:64] = 0
    weight[3, 7] = np.nan
    codes, scales = _core.code_weights(weight)
    assert (codes.dtype, codes.shape, scales.shape) == (np.int8, (5, 96), (5, 3))
    steps = np.repeat(scales, 32, axis=1)
    fine = ~np.isnan(steps)
    assert (~fine).sum() == 32 and np.isnan(scales[3, 0])
    assert (np.abs(codes * steps - weight)[fine] <= 0.5001 * steps[fine]).all()
    assert np.abs(codes[fine]).max() == 127
    with pytest.raises(ValueError, match="length is 33, expected a multiple of 32"):
        _core.code_weights(np.zeros((2, 33), np.float32))


def test_codes_of_four_bits_are_weights_as_others():
    w = model(5, 32, 64, 1)
    codes = {}
    for name in [name for name in w if name.endswith(".weight") and name.startswith("encoder") and w[name].ndim == 2]:
        rng = np.random.default_rng(len(codes))
        codes[name] = rng.integers(-8, 8, w[name].shape, np.int8), rng.random((len(w[name]), w[name].shape[1] // 32))
        w[name] = (codes[name][0] * np.repeat(codes[name][1], 32, axis=1) / 10).astype(np.float32)

    def linear(*names):
        of = [codes[f"{name}.weight"] for name in names]
        bias = np.concatenate([w[f"{name}.bias"] for name in names])
        return np.concatenate([c for c, _ in of]), np.concatenate([s / 10 for _, s in of]).astype(np.float32), bias

    at = LAYER.format(0)
    plain = layer_of(w, at, coded=False)
    maps = iter([
        linear(*(f"{at}attention.self.{part}" for part in ("query", "key", "value"))),
        *(linear(f"{at}{name}") for name in ("attention.output.dense", "intermediate.dense", "output.dense")),
    ])  # fmt: skip
    layer = tuple(next(maps) if isinstance(part, tuple) else part for part in plain)
    name = "embeddings.LayerNorm"
    norm = np.stack([w[f"{name}.weight"], w[f"{name}.bias"]])
    encoder = _core.Encoder(
        w["embeddings.position_embeddings.weight"], norm, [layer],
        heads=4, epsilon=1e-12, activation="gelu", pooling="mean",
    )  # fmt: skip
    texts = [[1, 2, 3], list(range(WORDS))]
    exact = Bert(w, 1, 4).as_type(np.float64).embed(texts)
    assert (encode(encoder, w, texts) * exact).sum(axis=1).min() > 0.999


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


def test_codes_that_do_not_fit_are_refused():
    w = model(0, 32, 64, 1)
    layer = layer_of(w, LAYER.format(0), coded=True)

    def encoder_with(**changes):
        codes, scales, bias = layer[3]
        up = {"codes": codes, "scales": scales, "bias": bias, **changes}
        norm = np.ones((2, 32), np.float32)
        layers = [(*layer[:3], tuple(up.values()), *layer[4:])]
        positions = w["embeddings.position_embeddings.weight"]
        return _core.Encoder(
            positions, norm, layers, heads=2, epsilon=1e-12, activation="gelu", pooling="mean"
        )  # fmt: skip

    for changes, said in (
        ({"codes": np.zeros((64, 31), np.int8)}, "codes has length 1984, expected 2048"),
        ({"scales": np.ones((64, 2), np.float32)}, "up has length 64, expected 32"),
        ({"bias": np.ones(65, np.float32)}, "up has length 64, expected 65"),
    ):
        with pytest.raises(ValueError, match=said):
            encoder_with(**changes)
    with pytest.raises(TypeError, match="expected an array of int8"):
        encoder_with(codes=np.zeros((64, 32), np.uint8))


@pytest.mark.parametrize("coded", [False, True])
def test_words_without_numbers_give_zeros_to_their_own_text_only(coded):
    w = model(1, 32, 64, 1)
    encoder = encoder_of(w, 1, 2, coded=coded)
    words = np.ones((4, 32), np.float32) * np.arange(32, dtype=np.float32)
    words[0, 3] = np.nan
    rows = encoder.encode(words, np.array([2, 2], np.int64))
    assert not rows[0].any()
    np.testing.assert_allclose(np.linalg.norm(rows[1]), 1, atol=1e-6)
    assert encoder.encode(words[:0], np.empty(0, np.int64)).shape == (0, 32)
