"""Whatever is given to a corpus, it says what it wanted, or answers."""

import inspect

import pytest

from septet import SeptetError, Vault
from septet.retrieval.corpora.chunks import ChunkCorpus, MirrorCorpus, fused_chunks
from septet.retrieval.corpora.folders import Folder, InventoryCorpus
from septet.retrieval.corpora.given import FunctionCorpus
from septet.retrieval.corpora.graph import GraphCorpus
from septet.retrieval.corpora.memory import MemoryCorpus
from septet.retrieval.corpora.semantic import SemanticFilesCorpus, discover_files_for_intent
from septet.retrieval.corpora.symbols import Renames, SymbolCorpus
from septet.retrieval.corpus import CorpusRequest

ODD = [None, 0, -1, 1.5, float("nan"), float("inf"), "", "x", "\ud800", "\0", b"x", [], {}, [1], ["a", None], {1: 2}]
ODD += [object(), True, 10**30, [[]], {"a": float("nan")}, range(3), "a" * 100_000]
MADE = [MemoryCorpus, GraphCorpus, ChunkCorpus, MirrorCorpus, FunctionCorpus, Folder, InventoryCorpus, SymbolCorpus]
MADE += [SemanticFilesCorpus, Renames, discover_files_for_intent, fused_chunks]
#: What tests of their own look at.
LEFT_OUT = ("knowledge", "clock", "profile")


@pytest.mark.parametrize("made", MADE, ids=lambda made: made.__name__)
def test_odd_arguments_are_said_or_taken(made, tmp_path):
    (tmp_path / "token.py").write_text("def token(): 1\n")
    with Vault(":memory:") as vault:
        vault.add(title="Token", id="a", kind="node")
        right = {"knowledge": vault, "name": "n", "function": lambda query, limit: [], "intent": "token"}
        right |= {"folder": tmp_path, "path": tmp_path, "contract": {"a": "b"}, "text": ["a"], "cosines": {"a": 0.5}}
        names = {**inspect.signature(made).parameters}
        if names.pop("options", None) is not None:
            names |= inspect.signature(ChunkCorpus).parameters
        given = {name: value for name, value in right.items() if name in names}
        asked = CorpusRequest("token of x", 3)
        made(**given)
        for name in (name for name in names if name not in LEFT_OUT):
            for odd in ODD:
                try:
                    corpus = made(**{**given, name: odd})
                    if hasattr(corpus, "search"):
                        corpus.search(asked)
                except SeptetError as fault:
                    assert str(fault)
