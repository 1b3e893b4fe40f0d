"""Tests of `unit/test_local_folders.py` that start processes."""

import json
import subprocess
import sys

from septet import Vault
from septet.embedding import LocalReranker
from twins.tiny import Tiny


def test_importing_the_package_loads_no_tokenizer():
    code = "import sys, septet.embedding.local.embedder; print({'tokenizers', 'safetensors'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"


def test_the_command_line_reranks_by_a_folder(tmp_path):
    folder = Tiny(head="classifier").write(tmp_path / "tiny")
    titles = ["q a", "q b c", "q d e f", "q g"]
    with Vault(tmp_path / "v.db") as vault:
        vault.add_many({"id": title, "title": title} for title in titles)
    command = [sys.executable, "-m", "septet", "search", "q", "--vault", str(tmp_path / "v.db"), "--format", "jsonl"]
    lines = subprocess.run([*command, "--rerank", str(folder)], capture_output=True, text=True, check=True).stdout
    scores = LocalReranker(folder).scores("q", [f"{title}\n" for title in titles])
    expected = [title for _, title in sorted(zip(-scores, titles))]
    assert [json.loads(line)["id"] for line in lines.splitlines()] == expected
    wrong = subprocess.run([*command, "--rerank", "none"], capture_output=True, text=True, check=False)
    assert wrong.returncode and "none is neither a folder nor an installed package" in wrong.stderr
