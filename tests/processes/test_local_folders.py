"""Tests of `unit/test_local_folders.py` that start processes."""

import subprocess
import sys


def test_importing_the_package_loads_no_tokenizer():
    code = "import sys, septet.embedding.local.embedder; print({'tokenizers', 'safetensors'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
