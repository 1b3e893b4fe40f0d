"""Weights that are cut while a model is in use: an error, and vectors again as soon as the file is whole."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from twins import packed
from twins.tiny import D, Tiny

#: Smaller files are read.
READ_BYTES = 2**20
CUT = """
import os, sys
from pathlib import Path
from septet.embedding.local.embedder import LocalEmbedder
from septet.errors import EmbeddingConfigError
folder, share, is_loaded = Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3] == "loaded"
name, text = sys.argv[4:]
embedder = LocalEmbedder(folder)
is_loaded and embedder.load()
weights = folder / name
whole = weights.read_bytes()
os.truncate(weights, int(len(whole) * share))
try:
    embedder.embed([text])
except EmbeddingConfigError as fault:
    print(fault)
weights.write_bytes(whole)
print(embedder.embed([text]).shape)
"""


@pytest.mark.parametrize("share", [0, 0.001, 0.5, 0.999])
@pytest.mark.parametrize("when", ["loaded", "checked"])
def test_weights_that_are_cut_while_they_are_in_use_end_in_an_error_until_they_are_whole(tmp_path, share, when):
    folder = Tiny().write(tmp_path / "tiny-bert")
    path = folder / "model.safetensors"
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header, data = json.loads(content[8 : 8 + size]), content[8 + size :]
    # Large enough that the file is mapped.
    unused = bytes(2 * READ_BYTES)
    header["unused"] = {"dtype": "U8", "shape": [len(unused)], "data_offsets": [len(data), len(data) + len(unused)]}
    head = json.dumps(header).encode()
    path.write_bytes(len(head).to_bytes(8, "little") + head + data + unused)
    check(folder, share, when, path.name, D)


@pytest.mark.parametrize("share", [0, 0.001, 0.5, 0.999])
@pytest.mark.parametrize("when", ["loaded", "checked"])
def test_a_packed_model_that_is_cut_while_it_is_in_use_ends_in_an_error_until_it_is_whole(tmp_path, share, when):
    packed.write(tmp_path, gap=2 * READ_BYTES)
    check(tmp_path, share, when, packed.NAME, packed.D)


def check(folder, share, when, name, dimensions):
    arguments = [str(folder), str(share), when, name, "b z f"]
    done = subprocess.run([sys.executable, "-c", CUT, *arguments], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, f"(1, {dimensions})"), done.stderr
    assert "fetch it again" in done.stdout
