"""Tests of `integration/test_sync_hard.py` that start processes."""

import pytest

from children import as_nobody
from integration.test_sync_hard import needs_root
from septet import Vault
from synced import ids


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    (folder / "birds").mkdir(parents=True)
    (folder / "herons.md").write_text("# Herons\n\nHerons stand in shallow water.\n", encoding="utf-8")
    (folder / "birds" / "owls.md").write_text("# Owls\n\nOwls hunt at night, unlike [[herons]].\n", encoding="utf-8")
    return folder


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.septet") as made:
        yield made


@needs_root
def test_what_cannot_be_read_stays_in_the_vault_and_is_told(tmp_path, notes):
    (tmp_path / "own").mkdir()

    def task():
        owls = notes / "birds" / "owls.md"
        with Vault(tmp_path / "own" / "v.db") as vault:
            vault.sync(notes)
            before = ids(vault)
            for closed in (notes / "birds", owls, notes):
                mode = closed.stat().st_mode
                closed.chmod(0)
                for report in (vault.sync(force=True), vault.sync(paths=[owls]), vault.sync()):
                    assert report.files_removed == 0 and ids(vault) == before
                    if closed != owls:
                        assert [one.reason for one in report.skipped] == ["unreadable"]
                    assert report.complete == (closed != notes)
                problem = vault.sync_status().roots[0].problem
                assert problem is None if closed != notes else "cannot be read (Permission denied)" in problem
                closed.chmod(mode)
                assert vault.sync().complete and vault.sync_status().roots[0].problem is None
            owls.unlink()
            assert vault.sync(paths=[owls]).files_removed == 1

    assert as_nobody(task, notes, tmp_path / "own")
