"""Packed models of strangers: whatever lies in the file ends as vectors or as an error with the file and a remedy."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from septet.embedding.local.embedder import LocalEmbedder
from septet.embedding.local.packed import PackedFile
from septet.errors import EmbeddingConfigError
from septet.inputs.documents import Unreadable
from twins import packed

TEXT = "the thing 猫 кот Ω" + "a" * 300
CONTENT, _ = packed.made()


@pytest.fixture
def folder(tmp_path):
    packed.write(tmp_path / "tiny-e5")
    return tmp_path / "tiny-e5"


def number(at, value, form="<i"):
    """Change a number of the head."""

    def changed(content):
        new = bytearray(content)
        struct.pack_into(form, new, at, value)
        return bytes(new)

    return changed


def replaced(old, new):
    def changed(content):
        assert old in content
        return content.replace(old, new, 1)

    return changed


#: What is changed in a good file, and a part of what is said.
FILES = {
    "nothing": (lambda content: b"", "does not begin with E5S1"),
    "another file": (lambda content: b"<html>not found</html>" * 9, "does not begin with E5S1"),
    "a head alone": (lambda content: content[:72], "truncated in offsets"),
    "half a head": (lambda content: content[:40], "truncated in its head"),
    "another version": (number(4, 2), "has version 2"),
    "other blocks": (number(40, 64), "blocks of 64"),
    "no layers": (number(12, 0), "0 layers"),
    "a negative width": (number(20, -32), "-32 width"),
    "two billion layers": (number(12, 2**31 - 1), "2,147,483,647 layers"),
    "more layers than tensors": (number(12, 3), "no tensor l2"),
    "odd dimensions": (number(8, 65), "do not divide"),
    "heads that do not divide": (number(16, 5), "do not divide"),
    "other dimensions": (number(8, 32), "has emb.word of"),
    "a table of more words": (number(24, packed.WORDS + 1), "has emb.word of"),
    "fewer words than pieces": (number(24, len(packed.PIECES) - 1), "pieces and tokens beyond"),
    "two positions": (number(28, 2), "2 positions"),
    "no types": (number(32, 0), "0 types"),
    "an epsilon that is none": (number(36, float("nan"), "<f"), "epsilon nan"),
    "no pieces": (number(44, 0), "0 pieces"),
    "negative pieces": (number(44, -1), "-1 pieces"),
    "a table of two million words": (number(24, 2_000_000), "has emb.word of"),
    "a begin that is no piece": (number(48, 10**6), "tokens beyond"),
    "an unknown piece before all": (number(60, -1), "tokens beyond"),
    "pieces of 2^63 bytes": (number(64, 2**63, "<Q"), "pieces of 9,223,372,036,854,775,808 bytes"),
    "pieces of fewer bytes": (number(64, 3, "<Q"), "truncated|at most"),
    "offsets that fall": (number(76, 2**31 - 1), "no tokenizer: .*offsets of pieces"),
    "a score that is none": (number(72 + 4 * len(packed.PIECES) + 4, float("nan"), "<f"), "score of piece 0 is NaN"),
    "a tensor of another name": (replaced(b"l1.fo.w", b"l1.fo.x"), "no tensor l1.fo.w"),
    "a tensor of another type": (
        replaced(b"l1.fo.w\x01", b"l1.fo.w\x00"),
        "has l1.fo.w of 6,144 numbers of type 0 in 3,456 bytes, not 6,144 of type 1",
    ),
    "a character that is none": (replaced(struct.pack("<IB", 0x200B, 0), struct.pack("<IB", 0xD800, 0)), "characters"),
}


@pytest.mark.parametrize("what", FILES)
def test_a_hostile_file_is_refused_with_its_name_and_a_remedy(folder, what):
    change, message = FILES[what]
    path = folder / packed.NAME
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(EmbeddingConfigError, match=message) as refused:
        LocalEmbedder(folder).embed([TEXT])
    assert str(path) in str(refused.value) and len(str(refused.value)) < 1_000
    assert "fetch it again" in str(refused.value) or "supported" in str(refused.value)
    assert refused.value.provider == "local"


def test_a_file_that_is_cut_anywhere_is_refused(tmp_path):
    path = tmp_path / packed.NAME
    first = CONTENT.index(b"emb.word")
    for length in (*range(0, first + 200, 7), *range(first + 200, len(CONTENT), 997), len(CONTENT) - 1):
        path.write_bytes(CONTENT[:length])
        with pytest.raises(Unreadable, match=r"truncated|does not begin"):
            PackedFile(path)


@given(at=st.integers(0, 10**6), new=st.binary(min_size=1, max_size=8), is_early=st.booleans())
def test_whatever_bytes_are_changed_there_are_vectors_or_an_error(tmp_path_factory, at, new, is_early):
    folder = tmp_path_factory.getbasetemp() / "changed"
    folder.mkdir(exist_ok=True)
    content = bytearray(CONTENT)
    at %= 4_000 if is_early else len(content)
    content[at : at + len(new)] = new
    (folder / packed.NAME).write_bytes(content)
    try:
        rows = LocalEmbedder(folder).embed([TEXT])
    except EmbeddingConfigError as fault:
        assert "changed" in str(fault)
    else:
        assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_weights_without_numbers_are_told(folder):
    path = folder / packed.NAME
    path.write_bytes(CONTENT[: -packed.D * 4] + b"\xff" * (packed.D * 4))
    with pytest.raises(EmbeddingConfigError, match="damaged, fetch"):
        LocalEmbedder(folder).embed([TEXT])


def test_a_folder_in_place_of_the_file_is_told(tmp_path):
    (tmp_path / packed.NAME).mkdir()
    with pytest.raises(EmbeddingConfigError, match=r"has no config\.json"):
        LocalEmbedder(tmp_path)
