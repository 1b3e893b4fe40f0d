"""Inputs that campaigns of changed bytes found (`tests/stress/test_fuzzing.py`), and what must come of each."""

import json
from contextlib import closing

import numpy as np
import pytest

from commands import Commands
from septet import EmbeddingConfigError, Federation, NotAVault, Vault
from septet.embedding.cache import CacheNamespace, EmbeddingCache
from septet.embedding.local.embedder import LocalEmbedder
from septet.exchange import restore
from twins.tiny import Tiny

# -- a schema that is no UTF-8, which SQLite's message quotes ----------------------------------------------------------

BROKEN = {"an index": (b"CREATE INDEX", b"CREATE I\x83DEX"), "a table": (b"VIRTUAL", b"V\xc9RTUAL")}


@pytest.fixture(params=BROKEN)
def damaged(request, tmp_path):
    """A vault with such a schema, and its backup."""
    path = tmp_path / "v.db"
    with Vault(path, sidecar=False) as vault:
        vault.add(title="alpha", id="a")
        vault.backup(tmp_path / "backup.db")
    content, (sound, broken) = path.read_bytes(), BROKEN[request.param]
    assert sound in content
    path.write_bytes(content.replace(sound, broken))
    return path


@pytest.mark.parametrize("read_only", [True, False])
def test_a_vault_whose_damage_is_quoted_in_broken_characters_is_no_readable_database(damaged, read_only):
    with pytest.raises(NotAVault, match=r"v\.db is not a readable SQLite database .* restore a backup"):
        Vault(damaged, read_only=read_only)


def test_such_a_vault_can_be_restored_in_its_place(damaged):
    restore(damaged.with_name("backup.db"), damaged)
    with Vault(damaged) as vault:
        assert vault.get("a").title == "alpha"


def test_such_a_vault_is_told_of_by_the_commands(damaged, tmp_path, monkeypatch):
    run = Commands(tmp_path, monkeypatch)
    assert "not a readable SQLite database" in run("doctor", "--offline")[1]
    code, _, said = run("search", "alpha")
    assert code == 3 and "not a readable SQLite database" in said and "Traceback" not in said


def test_a_federation_answers_without_such_a_vault_that_is_damaged_while_it_is_open(tmp_path):
    path = tmp_path / "far.db"
    with Vault(path, sidecar=False) as far, Vault(tmp_path / "near.db") as near:
        far.add(title="alpha", id="far")
        near.add(title="alpha", id="near")
        far.optimize()
        with far._store.maintaining() as sql:
            sql.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        both = Federation({"near": near, "far": far})
        content = path.read_bytes().replace(b"VIRTUAL", b"V\xc9RTUAL")
        with path.open("r+b") as file:
            file.write(content)
        assert "near" in both.search("alpha").ids


def test_a_cache_of_vectors_with_such_a_schema_is_left_alone_with_a_note(tmp_path):
    made, path = CacheNamespace("test", "letters", "document"), tmp_path / "cache.db"
    with closing(EmbeddingCache(path)) as cache:
        cache.put(made, {"text": np.ones(2, np.float32)})
    damaged = path.read_bytes().replace(b"provider   TEXT", b"pr\x83vider   TEXT")
    path.write_bytes(damaged)
    with closing(EmbeddingCache(path)) as cache:
        assert cache.get(made, 2, ["text"]) == {}
        cache.put(made, {"other": np.ones(2, np.float32)})
        assert [note.code for note in cache.notes] == ["cache_unusable"]
    assert path.read_bytes() == damaged


# -- weights that are no numbers ---------------------------------------------------------------------------------------

NO_NUMBERS = {"signalling NaN": b"\x01\x00\x80\x7f", "infinite": b"\x00\x00\x80\x7f", "largest": b"\xff\xff\x7f\x7f"}


@pytest.mark.parametrize("kind", ["bert", "roberta"])
@pytest.mark.parametrize("first", NO_NUMBERS)
@pytest.mark.parametrize("second", NO_NUMBERS)
def test_weights_whose_sum_is_no_number_are_refused_without_a_warning(tmp_path, kind, first, second):
    folder = Tiny(kind).write(tmp_path / "tiny")
    path = folder / "model.safetensors"
    content = bytearray(path.read_bytes())
    start = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:start])
    for name, value in (("position", NO_NUMBERS[first]), ("token_type", NO_NUMBERS[second])):
        at, end = header[f"embeddings.{name}_embeddings.weight"]["data_offsets"]
        content[start + at : start + end] = value * ((end - at) // 4)
    path.write_bytes(content)
    with pytest.raises(EmbeddingConfigError, match=r"tiny.*fetch (it|them) again"):
        LocalEmbedder(folder).embed(["a b"])
