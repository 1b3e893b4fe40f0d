"""Model folders of strangers: whatever lies in them ends as vectors or as an error with the file, in bounded time."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from septet.embedding.local.embedder import LocalEmbedder
from septet.embedding.local.tokenizer import ModelTokenizer
from septet.errors import EmbeddingConfigError
from twins.tiny import WORDS, D, Tiny

TEXT = "b z f f i " + "a" * 300 + " é ０１２ " + "z" * 50


@pytest.fixture
def folder(tmp_path):
    return Tiny().write(tmp_path / "tiny-bert")


def nested(kind, inner, depth, leaf):
    for _ in range(depth):
        leaf = {"type": kind, inner: [leaf]}
    return leaf


def replaced(times, content="aaaaaaaaaaaaaaaa"):
    step = {"type": "Replace", "pattern": {"String": "a"}, "content": content}
    return {"type": "Sequence", "normalizers": [step] * times}


def split(expression):
    return {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False}


def template(**special):
    single = [{"SpecialToken": {"id": name, "type_id": 0}} for name in special]
    tokens = {name: {"id": name, "ids": ids, "tokens": ["a"] * len(ids)} for name, ids in special.items()}
    sequence = {"Sequence": {"id": "A", "type_id": 0}}
    return {"type": "TemplateProcessing", "single": [*single, sequence], "pair": [], "special_tokens": tokens}


def added(content, number=0):
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    return {"id": number, "content": content, **flags}


def piece(**model):
    return (
        {"type": "WordPiece", "unk_token": "<unk>", "continuing_subword_prefix": "##"}
        | {
            "max_input_chars_per_word": 100,
            "vocab": {"<unk>": 0, "a": 1},
        }
        | model
    )


#: What is changed in a good file, and a part of what is said; None if vectors may come out too.
TOKENIZERS = {
    "a word beyond the model": (
        {"model": {"type": "WordLevel", "unk_token": "b", "vocab": {"b": WORDS}}},
        "token id 30",
    ),
    "a word with the largest number": (
        {"model": {"type": "WordLevel", "unk_token": "b", "vocab": {"b": 2**32 - 1}}},
        "number 4294967295",
    ),
    "a negative number": ({"model": {"type": "WordLevel", "unk_token": "b", "vocab": {"b": -1}}}, "number -1"),
    "a number that is none": ({"model": {"type": "WordLevel", "unk_token": "b", "vocab": {"b": None}}}, "number None"),
    "words of a number": ({"model": {"type": "WordLevel", "unk_token": "b", "vocab": 5}}, "without words"),
    "words as a list": ({"model": {"type": "WordLevel", "unk_token": "b", "vocab": ["b"]}}, "not a pair"),
    "no words": ({"model": {"type": "WordLevel", "unk_token": "b", "vocab": {}}}, "without words"),
    "no model": ({"model": None}, "not a tokenizer"),
    "an unknown model": ({"model": {"type": "Nope", "vocab": {"a": 1}}}, "cannot be used"),
    "a long word": ({"model": piece(vocab={"<unk>": 0, "a" * 5_000: 1})}, "word of 5,000 characters"),
    "no unknown word": ({"model": piece(vocab={"a": 1})}, "UNK|unk|Missing"),
    "words of any length": ({"model": piece(max_input_chars_per_word=2**63)}, "words of 9223372036854775808"),
    "a word of infinite length": ({"model": piece(max_input_chars_per_word=1e300)}, r"of 1e.300"),
    "a long prefix": ({"model": piece(continuing_subword_prefix="#" * 5_000)}, "5,000 characters"),
    "a merge that is too short": (
        {
            "model": {"type": "BPE", "continuing_subword_prefix": "#######", "vocab": {"a": 0, "b": 1, "ab": 2}}
            | {"merges": ["a b"]}
        },
        "cannot be used",
    ),
    "a merge of no word": ({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}}, "cannot be used"),
    "merges at random": ({"model": {"type": "BPE", "vocab": {"a": 0}, "merges": [], "dropout": 0.5}}, "at random"),
    "a weight that is none": ({"model": {"type": "Unigram", "unk_id": 0, "vocab": [["a", "b"]]}}, "cannot be used"),
    "an unknown word beyond all": ({"model": {"type": "Unigram", "unk_id": 9, "vocab": [["a", 0.0]]}}, "cannot be"),
    "an unknown word that is not named": ({"model": {"type": "Unigram", "vocab": [["q", 0.0]]}}, "unk_id"),
    "the empty word": ({"model": {"type": "Unigram", "unk_id": 0, "vocab": [["", 0.0], ["a", 0.0]]}}, None),
    "the empty token": ({"added_tokens": [added("")]}, None),
    "tokens that overlap": ({"added_tokens": [added("b"), added("b z", 1), added("b z f", 2)]}, "token id 31"),
    "a long token": ({"added_tokens": [added("b" * 5_000)]}, "adds tokens of 5,000 characters"),
    "very many tokens": ({"added_tokens": [added(f"{n:0900}", n) for n in range(1_200)]}, "adds tokens of 1,080,000"),
    "tokens that are none": ({"added_tokens": [5]}, "without a content"),
    "a token of no list": ({"added_tokens": 5}, "not a list"),
    "a token with a huge number": ({"added_tokens": [added("b", 2**40)]}, "cannot be used"),
    "steps in steps": ({"normalizer": nested("Sequence", "normalizers", 30, {"type": "Nope"})}, "levels deep"),
    "very deep steps": ({"normalizer": nested("Sequence", "normalizers", 400, {"type": "NFC"})}, "levels deep|JSON"),
    "many steps": ({"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}] * 70}}, "75 steps"),
    "a decoder in decoders": ({"decoder": nested("Sequence", "decoders", 30, {"type": "Nope"})}, "levels deep"),
    "a text that grows": ({"normalizer": replaced(8)}, "times longer"),
    "a text that grows at once": ({"normalizer": replaced(1, "a" * 900)}, "times longer"),
    "a text that grows by much": ({"normalizer": replaced(1, "a" * 10**6)}, "characters"),
    "the empty text replaced": (
        {"normalizer": {"type": "Replace", "pattern": {"String": ""}, "content": "x"}},
        "at the empty text",
    ),
    "an expression that looks back": ({"pre_tokenizer": split("(a+)+$")}, "unsupported regular expression"),
    "another one": ({"pre_tokenizer": split("(a|a)*b")}, "unsupported regular expression"),
    "a third one": ({"pre_tokenizer": split("a*a*a*a*b")}, "unsupported regular expression"),
    "a fourth one": (
        {"normalizer": {"type": "Replace", "pattern": {"Regex": "a+b"}, "content": ""}},
        "unsupported regular expression",
    ),
    "a fifth one": ({"pre_tokenizer": split("a?" * 30 + "a" * 30)}, "unsupported regular expression"),
    "a reference back": ({"pre_tokenizer": split(r"a\1")}, "unsupported regular expression"),
    "an expression that is none": ({"pre_tokenizer": split("[")}, "unsupported regular expression"),
    "an empty expression": ({"pre_tokenizer": split("")}, "unsupported regular expression"),
    "an expression of a number": ({"pre_tokenizer": split(5)}, "unsupported regular expression"),
    "a map of characters that is none": (
        {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "/////wAAAAA="}},
        "cannot be used",
    ),
    "a map that leads outside": (
        {"normalizer": {"type": "Precompiled", "precompiled_charsmap": "BAAAAP////8A"}},
        "cannot be used",
    ),
    "parts of no length": ({"pre_tokenizer": {"type": "FixedLength", "length": 0}}, "cannot be used"),
    "many special tokens": ({"post_processor": template(X=[1] * 100)}, "adds 100 tokens"),
    "a special token that is missing": (
        {"post_processor": template() | {"single": [{"SpecialToken": {"id": "Y", "type_id": 0}}]}},
        "cannot be used",
    ),
    "a special token beyond the model": ({"post_processor": template(X=[2**31])}, "token id 2147483648"),
    "padding to no end": (
        {
            "padding": {"strategy": {"Fixed": 2**62}, "direction": "Right", "pad_to_multiple_of": None}
            | {"pad_id": 0, "pad_type_id": 0, "pad_token": "x"}
        },
        None,
    ),
    "cutting to nothing": (
        {"truncation": {"direction": "Right", "max_length": 0, "strategy": "LongestFirst", "stride": 5}},
        None,
    ),
}


@pytest.mark.parametrize("what", TOKENIZERS)
def test_a_hostile_tokenizer_is_refused_with_its_file_or_gives_vectors(folder, what):
    changes, said = TOKENIZERS[what]
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    if said is None:
        assert np.allclose(np.linalg.norm(LocalEmbedder(folder).embed([TEXT]), axis=1), 1, atol=1e-5)
        return
    with pytest.raises(EmbeddingConfigError, match=said) as refused:
        LocalEmbedder(folder).embed([TEXT])
    assert str(folder) in str(refused.value) and len(str(refused.value)) < 1_000
    assert refused.value.provider == "local"


BYTES = {
    "nothing": b"",
    "deep lists": b"[" * 200_000,
    "deep objects": b'{"a":' * 200_000,
    "no object": b"[1, 2]",
    "bytes": b"\xff\xfe\x00",
    "a lone half": b'{"model": {"vocab": {"\\ud800": 1}}}',
    "an integer of many digits": b'{"model": 1' + b"0" * 10_000 + b"}",
    "zeros": b"\0" * 1_000,
}
SMALL = (
    "config.json",
    "modules.json",
    "1_Pooling/config.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
)


@pytest.mark.parametrize("what", BYTES)
@pytest.mark.parametrize("name", ["tokenizer.json", *SMALL])
def test_a_file_that_is_no_json_is_refused_with_its_name(folder, name, what):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(BYTES[what])
    with pytest.raises(EmbeddingConfigError, match=re.escape(str(Path(name)))):
        LocalEmbedder(folder).embed([TEXT])


@pytest.mark.parametrize("name", SMALL)
def test_a_long_file_is_not_read(folder, name):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(b" " * (2**20 + 1))
    with pytest.raises(EmbeddingConfigError, match="more than 1,048,576 bytes"):
        LocalEmbedder(folder)


@pytest.mark.parametrize("name", ["tokenizer.json", "model.safetensors", *SMALL])
def test_a_pipe_is_not_waited_for(folder, name):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    needed = name in ("tokenizer.json", "model.safetensors", "config.json")
    if not needed:
        # It is as if the file were not there.
        assert LocalEmbedder(folder).embed([TEXT]).shape == (1, D)
        return
    with pytest.raises(EmbeddingConfigError, match=name):
        LocalEmbedder(folder).embed([TEXT])


VALUES = [None, True, -1, 0, 1, 3, 2**31, 2**63, 10**30, 1e400, float("nan"), "8", "x" * 5_000, [], {}, [8], 8.5]
FIELDS = (
    "model_type hidden_size num_hidden_layers num_attention_heads intermediate_size hidden_act max_position_embeddings "
    "vocab_size type_vocab_size layer_norm_eps pad_token_id position_embedding_type is_decoder"
).split()


@pytest.mark.parametrize("field", FIELDS)
def test_every_field_of_a_configuration_may_be_odd(folder, field):
    path = folder / "config.json"
    good = json.loads(path.read_text())
    for value in VALUES:
        path.write_text(json.dumps(good | {field: value}))
        try:
            rows = LocalEmbedder(folder).embed([TEXT])
        except EmbeddingConfigError as fault:
            assert str(folder) in str(fault) and len(str(fault)) < 1_000, value
        else:
            assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5), value


@pytest.mark.parametrize("path", ["/etc", "..", "a/../../b", "x" * 5_000, "\0"])
def test_a_module_elsewhere_is_refused(folder, path):
    modules = [{"path": path, "type": "Pooling"}]
    (folder / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(EmbeddingConfigError, match="not in a folder beside it"):
        LocalEmbedder(folder)


def test_a_prompt_that_leaves_no_room_is_refused(folder):
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "x" * 5_000}}))
    with pytest.raises(EmbeddingConfigError, match="a prompt of 5,000 characters"):
        LocalEmbedder(folder)


def headed(change):
    """Change the head of a good file of weights."""

    def changed(content):
        size = int.from_bytes(content[:8], "little")
        head = json.loads(content[8 : 8 + size])
        new = change(head)
        new = new if isinstance(new, bytes) else json.dumps(new).encode()
        return len(new).to_bytes(8, "little") + new + content[8 + size :]

    return changed


def first(**fields):
    def change(head):
        name = next(iter(head))
        return head | {name: head[name] | fields}

    return headed(change)


WEIGHTS = {
    "a head of 2^63 bytes": lambda content: (2**63).to_bytes(8, "little") + content[8:],
    "a head of 2^64 - 1 bytes": lambda content: b"\xff" * 8 + content[8:],
    "a head longer than the file": lambda content: (len(content)).to_bytes(8, "little") + content[8:],
    "a head that is too long": lambda content: (2**25).to_bytes(8, "little") + content[8:],
    "a head of nothing": lambda content: bytes(8) + content[8:],
    "seven bytes": lambda content: content[:7],
    "no bytes": lambda content: b"",
    "no data": lambda content: content[: 8 + int.from_bytes(content[:8], "little")],
    "less data": lambda content: content[:-4],
    "more data": lambda content: content + bytes(4),
    "a deep head": headed(lambda head: b'{"a":' * 100_000),
    "an empty head": headed(lambda head: {}),
    "offsets beyond the file": first(data_offsets=[0, 2**62]),
    "offsets of 2^63": first(data_offsets=[2**63, 2**63 + 960]),
    "offsets backwards": first(data_offsets=[960, 0]),
    "negative offsets": first(data_offsets=[-960, 0]),
    "offsets that overlap": first(data_offsets=[4, 964]),
    "one offset": first(data_offsets=[0]),
    "a shape of 2^63": first(shape=[2**63, 2]),
    "a shape that overflows": first(shape=[2**32, 2**32]),
    "a shape of nothing": first(shape=[0, D]),
    "a flat shape": first(shape=[WORDS * D]),
    "a shape of text": first(shape=["30", "8"]),
    "an unknown type": first(dtype="F7"),
    "a type of other size": first(dtype="F64"),
    "a type that is not supported": first(dtype="I32"),
    "NaN": lambda content: content[:-400] + b"\xff" * 400,
    "infinity": lambda content: content[:-400] + b"\x00\x00\x80\x7f" * 100,
    "NaN everywhere": lambda c: (
        c[: 8 + int.from_bytes(c[:8], "little")] + b"\xff" * (len(c) - 8 - int.from_bytes(c[:8], "little"))
    ),
}


@pytest.mark.parametrize("what", WEIGHTS)
def test_hostile_weights_are_refused_with_their_file(folder, what):
    path = folder / "model.safetensors"
    path.write_bytes(WEIGHTS[what](path.read_bytes()))
    long = " ".join("abcdefghij" * 20)
    for text in (TEXT, long):
        with pytest.raises(EmbeddingConfigError, match="tiny-bert") as refused:
            LocalEmbedder(folder).embed([text])
        assert "fetch" in str(refused.value) and len(str(refused.value)) < 1_000


@given(at=st.integers(0, 10**6), new=st.binary(min_size=1, max_size=8), data=st.data())
def test_whatever_bytes_are_changed_there_are_vectors_or_an_error(tmp_path_factory, at, new, data):
    folder = Tiny().write(tmp_path_factory.getbasetemp() / "changed")
    path = folder / data.draw(st.sampled_from(["tokenizer.json", "model.safetensors", "config.json"]))
    content = bytearray(path.read_bytes())
    at %= min(len(content), 3_000)
    content[at : at + len(new)] = new
    path.write_bytes(content)
    try:
        rows = LocalEmbedder(folder).embed([TEXT])
    except EmbeddingConfigError as fault:
        assert "changed" in str(fault)
    else:
        assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


@pytest.mark.parametrize(
    "expression", [" {2,}", "[ ]+", r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", "'s|'t|'re", r"\s", "[^a-z]"]
)
def test_expressions_of_published_models_are_taken(folder, expression):
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"pre_tokenizer": split(expression)}))
    assert LocalEmbedder(folder).embed([TEXT]).shape == (1, D)


#: How three families of models cut texts into words.
ENDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
WORDS_OF_MODELS = {
    "gpt-2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "llama-3": ENDS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "qwen-2": ENDS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    "gpt-4o": r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + ENDS + "?|"
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + ENDS + "?|"
    r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
}


@pytest.mark.parametrize("name", WORDS_OF_MODELS)
def test_published_expressions_that_are_known_to_be_fast_are_taken_for_any_text(folder, name):
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"pre_tokenizer": split(WORDS_OF_MODELS[name])}))
    tokenizer = ModelTokenizer(path, 100)
    # What is long and nearly matches: an expression that looks back would need hours.
    for part in (" ", "\n", " \t", "\n ", "A", "Aa", "é", "漢", "\u0301", "1", "!", "!\n", "'", "'s", "A!"):
        assert tokenizer.encode(part * 50_000 + "x").ids


@pytest.mark.parametrize("name", ["~nobody-of-this-name/model", "x" * 5_000, "a\0b", "\ud800", "", "a/b/../..\0"])
def test_a_name_that_is_no_folder_is_told_as_one(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EmbeddingConfigError) as refused:
        LocalEmbedder(name)
    assert len(str(refused.value)) < 1_000
