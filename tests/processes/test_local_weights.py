"""Weights that are cut while a model is in use: an error, and vectors again as soon as the file is whole."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from twins.tiny import D, Tiny

#: Smaller files are read.
READ_BYTES = 2**20
CUT = """
import os, sys
from pathlib import Path
from septet.embedding.local.embedder import LocalEmbedder
from septet.errors import EmbeddingConfigError
folder, share, is_loaded = Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3] == "loaded"
embedder = LocalEmbedder(folder)
is_loaded and embedder.load()
weights = folder / "model.safetensors"
whole = weights.read_bytes()
os.truncate(weights, int(len(whole) * share))
try:
    embedder.embed(["b z f"])
except EmbeddingConfigError as fault:
    print(fault)
weights.write_bytes(whole)
print(embedder.embed(["b z f"]).shape)
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
    done = subprocess.run(
        [sys.executable, "-c", CUT, str(folder), str(share), when], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, f"(1, {D})"), done.stderr
    assert "fetch it again" in done.stdout
