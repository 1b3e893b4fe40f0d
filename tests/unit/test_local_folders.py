"""Model folders: good ones of every kind, and bad ones, each of which is told with its file and a cure."""

import json
from pathlib import Path

import numpy as np
import pytest

from septet.embedding import space_name
from septet.embedding.local.embedder import LocalEmbedder
from septet.embedding.local.folder import local_models
from septet.errors import EmbeddingConfigError, EmbeddingUnavailable
from twins.tiny import POSITIONS, VOCABULARY, D, Tiny

KINDS = ("bert", "distilbert", "roberta", "xlm-roberta", "camembert")
SENTENCE = "b z f f i"
IDS = [0, 5, 29, 9, 9, 12, 2]

#: The vectors that FlaxBertModel, FlaxRobertaModel and FlaxDistilBertModel give for `SENTENCE` with these weights.
PUBLISHED = {
    "bert": [0.092679, 0.519072, 0.337242, 0.284323, 0.195372, 0.336176, 0.359942, 0.496649],
    "roberta": [0.088312, 0.508811, 0.343663, 0.282817, 0.218209, 0.332242, 0.360107, 0.49754],
    "distilbert": [0.645019, -0.28191, -0.2589, 0.018322, -0.566975, 0.169116, -0.230936, 0.183629],
}


@pytest.fixture
def folder(tmp_path):
    return Tiny().write(tmp_path / "tiny-bert")


def edit(path, **changes):
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, **changes}))


def ids_of(text):
    return [0, *(VOCABULARY.get(word, 3) for word in text.split()), 2]


@pytest.mark.parametrize("kind", PUBLISHED)
def test_each_architecture_gives_the_published_vectors(tmp_path, kind):
    embedder = LocalEmbedder(Tiny(kind).write(tmp_path / kind))
    np.testing.assert_allclose(embedder.embed([SENTENCE])[0], PUBLISHED[kind], atol=2e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16"])
def test_every_kind_and_type_computes_what_its_twin_does(tmp_path, kind, dtype):
    tiny = Tiny(kind, dtype, prefix="model." if kind == "camembert" else "")
    embedder = LocalEmbedder(tiny.write(tmp_path / kind))
    texts = [SENTENCE, "a", "", "no such words here"]
    wanted = tiny.twin().embed([ids_of(text) for text in texts])
    np.testing.assert_allclose(embedder.embed(texts), wanted, atol=2e-6)


@pytest.mark.parametrize("pooling", ["mean", "cls", "max"])
@pytest.mark.parametrize("spelling", ["old", "new"])
def test_the_folder_says_how_tokens_become_a_text(folder, pooling, spelling):
    (folder / "pool").mkdir()
    old = {"mean": "pooling_mode_mean_tokens", "cls": "pooling_mode_cls_token", "max": "pooling_mode_max_tokens"}
    modes = {name: mode == pooling for mode, name in old.items()} if spelling == "old" else {"pooling_mode": pooling}
    (folder / "pool" / "config.json").write_text(json.dumps({"word_embedding_dimension": D, **modes}))
    modules = [
        ("", "sentence_transformers.models.Transformer"),
        ("pool", "new.place.pooling.Pooling"),
        ("n", "Normalize"),
    ]
    (folder / "modules.json").write_text(json.dumps([{"path": path, "type": kind} for path, kind in modules]))
    wanted = Tiny().twin().embed([IDS], pooling)
    np.testing.assert_allclose(LocalEmbedder(folder).embed([SENTENCE]), wanted, atol=2e-6)


def test_prompts_of_the_folder_are_put_before_each_kind_of_text(folder):
    prompts = {"query": "q ", "passage": "p ", "other": 3}
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}))
    embedder = LocalEmbedder(folder)
    bare = LocalEmbedder(folder, query_prefix="", document_prefix="")
    np.testing.assert_array_equal(embedder.embed(["a"], "query"), bare.embed(["q a"]))
    np.testing.assert_array_equal(embedder.embed(["a"], "document"), bare.embed(["p a"]))
    np.testing.assert_array_equal(bare.embed(["a"], "query"), bare.embed(["a"], "document"))


@pytest.mark.parametrize("most", [POSITIONS, 7, 3])
def test_every_word_of_a_text_counts_however_short_the_model_is(folder, most):
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": most}))
    embedder = LocalEmbedder(folder)
    assert embedder.max_tokens == most
    letters = [chr(ord("a") + i % 26) for i in range(100)]
    whole = embedder.embed([" ".join(letters)])
    # Two places are taken by the special tokens.
    for count in (1, most - 2):
        assert not embedder.is_long(" ".join(letters[:count]))
    assert embedder.is_long(" ".join(letters[: most - 1]))
    for changed in (0, 1, 17, 18, 19, 50, 98, 99):
        other = [*letters[:changed], "q", *letters[changed + 1 :]]
        assert not np.allclose(embedder.embed([" ".join(other)]), whole, atol=1e-7), changed


def test_blanks_and_long_words_before_the_last_tokens_are_read_through(folder):
    embedder = LocalEmbedder(folder)
    far = " " * 50_000 + "a b" + " " * 50_000 + "c" * 20_000 + " d " + " " * 50_000 + "e " * 14
    wanted = "a b unknown d " + "e " * 14
    np.testing.assert_array_equal(embedder.embed([far]), embedder.embed([wanted]))
    assert embedder.is_long(far + "e") and not embedder.is_long(far)


def test_one_who_waits_too_long_is_told(folder):
    embedder = LocalEmbedder(folder)
    assert embedder.embed(["a"], timeout_s=60).shape == (1, D)
    with pytest.raises(EmbeddingUnavailable, match="0 s"):
        embedder.embed(["a"] * 200, timeout_s=0)


def test_facts_are_known_before_the_weights_are_read(folder):
    embedder = LocalEmbedder(folder)
    assert (embedder.provider, embedder.model, embedder.dimensions) == ("local", "tiny-bert", D)
    assert space_name(embedder) == "local/tiny-bert"
    assert space_name(LocalEmbedder(folder, model="mine")) == "local/mine"
    assert "tiny-bert" in repr(embedder)
    embedder.load()
    embedder.close()
    embedder.close()
    assert embedder.embed([]).shape == (0, D)
    with pytest.raises(EmbeddingConfigError, match="sequence"):
        embedder.embed("a text")
    with pytest.raises(ValueError, match="threads is 0: wanted a whole number from 1"):
        LocalEmbedder(folder, threads=0)


def test_a_model_in_a_download_cache_has_the_name_it_was_published_under(tmp_path):
    place = tmp_path / "models--BAAI--bge-small-en-v1.5" / "snapshots" / "5c38ec7c405ec4b44b94cc5a9bb96e735b38267a"
    assert LocalEmbedder(Tiny().write(place)).model == "bge-small-en-v1.5"
    assert LocalEmbedder(Tiny().write(tmp_path / "mine" / "model")).model == "mine"


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    with pytest.raises(EmbeddingConfigError, match=f"has no {name}: (use|save)"):
        LocalEmbedder(folder)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model_type": "mpnet"}, "model_type 'mpnet'; supported are bert, distilbert, roberta"),
        ({"model_type": None}, "supported are bert"),
        ({"hidden_act": "silu"}, "hidden_act 'silu'; supported is gelu"),
        ({"position_embedding_type": "relative_key"}, "supported is absolute"),
        ({"is_decoder": True}, "is_decoder"),
        ({"num_attention_heads": 3}, "3 heads, which do not divide 8"),
        ({"num_attention_heads": 0}, "is invalid at num_attention_heads"),
        ({"hidden_size": "wide"}, "is invalid at hidden_size"),
        ({"max_position_embeddings": 2}, "leaves 2 positions"),
    ],
)
def test_a_configuration_that_cannot_be_run_is_told(folder, changes, said):
    edit(folder / "config.json", **changes)
    with pytest.raises(EmbeddingConfigError, match=said) as error:
        LocalEmbedder(folder)
    assert "config.json" in str(error.value)
    assert error.value.provider == "local"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"hidden_size": 16}, r"shape \(30, 8\), config.json requires \(30, 16\)"),
        ({"vocab_size": 31}, r"word_embeddings.weight has shape"),
        ({"intermediate_size": 17}, r"intermediate.dense.weight has shape"),
        ({"num_hidden_layers": 3}, "no tensor encoder.layer.2"),
        ({"max_position_embeddings": 21}, "position_embeddings"),
        ({"type_vocab_size": 1}, "token_type_embeddings"),
    ],
)
def test_weights_of_another_shape_are_told(folder, changes, said):
    edit(folder / "config.json", **changes)
    with pytest.raises(EmbeddingConfigError, match=said) as error:
        LocalEmbedder(folder)
    assert "model.safetensors: " in str(error.value) and "fetch" in str(error.value)


@pytest.mark.parametrize("kept", [0, 7, 100, -1])
def test_cut_weights_are_told(folder, kept):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(EmbeddingConfigError, match=r"model\.safetensors: .*fetch it again"):
        LocalEmbedder(folder)


@pytest.mark.parametrize("data", [b"\xff" * 100, b"\x08" + b"\0" * 7 + b"not JSON", b"<html>not found</html>"])
def test_a_file_that_is_something_else_is_told(folder, data):
    (folder / "model.safetensors").write_bytes(data)
    with pytest.raises(EmbeddingConfigError, match=r"model\.safetensors: .*damaged"):
        LocalEmbedder(folder)


def test_weights_of_another_architecture_are_told(folder):
    (folder / "model.safetensors").write_bytes(Tiny("distilbert").file())
    with pytest.raises(EmbeddingConfigError, match=r"no tensor embeddings\.token_type"):
        LocalEmbedder(folder)


def test_weights_without_numbers_are_told(folder):
    raw = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(raw[:-64] + b"\xff" * 64)
    with pytest.raises(EmbeddingConfigError, match="damaged"):
        LocalEmbedder(folder).embed([SENTENCE])


def test_a_damaged_tokenizer_is_told(folder):
    (folder / "tokenizer.json").write_text('{"version": "1.0"')
    with pytest.raises(EmbeddingConfigError, match=r"tokenizer\.json is not valid JSON"):
        LocalEmbedder(folder).load()


def test_a_tokenizer_of_another_model_is_told(folder):
    path = folder / "tokenizer.json"
    data = json.loads(path.read_text())
    data["model"]["vocab"]["z"] = 4000
    path.write_text(json.dumps(data))
    with pytest.raises(EmbeddingConfigError, match="30 tokens, but the tokenizer uses token id 4000"):
        LocalEmbedder(folder).embed(["z"])


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("config.json", "[]", "not the expected JSON"),
        ("config.json", "{", "not the expected JSON"),
        ("modules.json", "{}", "not the expected JSON"),
        ("modules.json", '[{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}]', "a module Dense"),
        ("1_Pooling/config.json", '{"pooling_mode_lasttoken": true}', "a pooling other than"),
        (
            "1_Pooling/config.json",
            '{"pooling_mode_cls_token": true, "pooling_mode_max_tokens": true}',
            "a pooling other than",
        ),
        ("sentence_bert_config.json", "no", "not the expected JSON"),
    ],
)
def test_what_the_other_files_ask_for_is_done_or_refused(folder, name, text, said):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    with pytest.raises(EmbeddingConfigError, match=said) as error:
        LocalEmbedder(folder)
    assert str(Path(name)) in str(error.value)


@pytest.mark.parametrize("source", ["no-such-package", "no/such/folder", "", "../x", "json"])
def test_a_source_that_is_nothing_is_told(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EmbeddingConfigError, match=r"neither a folder nor|has no folder"):
        LocalEmbedder(source or tmp_path / "gone")


def test_local_models_tells_what_is_there_and_what_is_wrong(folder, tmp_path):
    found = local_models([folder, tmp_path / "gone"], environment={"SEPTET_MODEL": str(folder)})
    assert [one.source for one in found[:3]] == ["configured", "configured", "SEPTET_MODEL"]
    assert [one.model.model if one.model else None for one in found[:3]] == ["tiny-bert", None, "tiny-bert"]
    assert "neither a folder" in found[1].fault and not found[0].fault
    assert found[0].model.dimensions == D
    assert {one.source for one in found[3:]} <= {"installed"}


def test_the_environment_names_the_model_and_a_wrong_name_is_not_passed_over(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("SEPTET_MODEL", str(folder))
    assert LocalEmbedder().model == "tiny-bert"
    monkeypatch.setenv("SEPTET_MODEL", str(tmp_path / "gone"))
    with pytest.raises(EmbeddingConfigError, match=r"SEPTET_MODEL: .*gone is neither"):
        LocalEmbedder()


def test_weights_of_whole_blocks_are_int8_unless_float32_is_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr("twins.tiny.D", 32)
    monkeypatch.setattr("twins.tiny.WIDTH", 64)
    folder = Tiny().write(tmp_path)
    exact = Tiny().twin().embed([IDS])
    np.testing.assert_allclose(LocalEmbedder(folder, precision="float32").embed([SENTENCE]), exact, atol=2e-6)
    coded = LocalEmbedder(folder).embed([SENTENCE])
    assert not np.allclose(coded, exact, atol=1e-5)
    assert (coded * exact).sum() > 0.999
    np.testing.assert_array_equal(LocalEmbedder(folder, precision="int8").embed([SENTENCE]), coded)
    for wrong in ("int4", None, 8, ["int8"]):
        with pytest.raises(EmbeddingConfigError, match=r"precision is .*: wanted 'int8' or 'float32'"):
            LocalEmbedder(folder, precision=wrong)
