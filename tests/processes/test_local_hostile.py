"""Tests of `unit/test_local_hostile.py` that start processes."""

from __future__ import annotations

import subprocess
import sys

import pytest

from twins.tiny import Tiny


@pytest.fixture
def folder(tmp_path):
    return Tiny().write(tmp_path / "tiny-bert")


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (4 * 2**30, 4 * 2**30))
from septet.embedding.local.embedder import LocalEmbedder
from septet.errors import EmbeddingConfigError
try:
    LocalEmbedder(sys.argv[1]).embed(["a text"])
except EmbeddingConfigError as fault:
    print(fault)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits of memory")
def test_a_tokenizer_without_an_end_is_not_read(folder):
    with (folder / "tokenizer.json").open("wb") as file:
        file.truncate(2**36)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(folder)], capture_output=True, text=True, timeout=60, check=True
    )
    assert "more than 67,108,864 bytes" in done.stdout
