"""Tests of `integration/test_sidecar.py` that take seconds."""

import os
import random
from pathlib import Path

import numpy as np
import pytest

from septet._core import FileRows
from septet.sqlite.snapshot import checkpoint
from sidecars import OPTIONS, answers, files, folder_of, made, opened, restored, until, unverified, wanted


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "v.db"
    found = made(path)
    assert found.entries == 298
    assert found.path == str(folder_of(path) / files(path)[0])
    assert found.size_bytes == Path(found.path).stat().st_size
    return path


def test_many_vectors_are_read_from_the_file_a_row_at_a_time(tmp_path, monkeypatch):
    mapped_bytes = 4 << 20
    monkeypatch.setattr(checkpoint, "MAPPED_BYTES", mapped_bytes)
    path, dimensions = tmp_path / "wide.db", 3_000
    rng = np.random.default_rng(7)
    vectors = rng.standard_normal((500, dimensions)).astype(np.float32)
    assert vectors.nbytes > mapped_bytes
    questions = rng.standard_normal((5, dimensions)).astype(np.float32) + vectors[:5]

    def found(vault):
        results = [vault.search(f"word{i}", query_vector=v, limit=20) for i, v in enumerate(questions)]
        return [[(hit.id, hit.score) for hit in hits] for hits in results]

    with opened(path, sidecar=False) as vault:
        vault.add_many({"id": f"e{i}", "title": f"word{i % 50}", "vector": v} for i, v in enumerate(vectors))
        expected = found(vault)
    with opened(path) as vault:
        vault.optimize()
    with opened(path) as vault:
        assert found(vault) == expected
        assert restored(vault)
        ((read, _),) = [rows.rows for rows in vault._tier.manager.current.vectors.values()]
        assert isinstance(read, FileRows)
        vault.add(id="new", title="word1", vector=questions[1])
        hits = found(vault)
        assert hits[1][0][0] == "new"
        # A file made of a file and of what came since.
        vault.optimize()
        assert found(vault) == hits
    with opened(path) as vault:
        assert found(vault) == hits
        # A read that fails has it made anew.
        (name,) = files(path)
        os.truncate(folder_of(path) / name, mapped_bytes // 2)
        assert found(vault) == hits
        assert "sidecar_damaged" in [note.code for note in vault.search("word1").notes]


def test_cut_files_are_ignored(path):
    file = folder_of(path) / files(path)[0]
    whole = file.read_bytes()
    expected = wanted(path)
    for cut in [0, 1, 63, 64, *random.Random(3).sample(range(len(whole)), 30), len(whole) - 1]:
        # One whose table of contents is damaged is removed.
        file.unlink(missing_ok=True)
        file.write_bytes(whole[:cut])
        with opened(path) as vault:
            assert answers(vault)[: len(OPTIONS)] == expected[: len(OPTIONS)]
            assert not restored(vault)


def test_flipped_bytes_are_found_and_the_file_is_given_up(path):
    file = folder_of(path) / files(path)[0]
    whole = file.read_bytes()
    expected = wanted(path)
    given_up = 0
    for at in random.Random(5).sample(range(len(whole)), 40):
        bad = bytearray(whole)
        bad[at] ^= 0x40
        for old in files(path):
            (folder_of(path) / old).unlink()
        file.write_bytes(bad)
        with opened(path) as vault:
            # Until the background has compared the checksums, an answer may be spoiled, never a process.
            until(lambda: answers(vault) and not vault._tier.manager.busy and not unverified(vault))
            assert answers(vault) == expected
            if vault._tier.manager.damaged:
                given_up += 1
                assert "sidecar_damaged" in [note.code for note in vault.search("alpha").notes]
                assert files(path) == []
    assert given_up > 10
