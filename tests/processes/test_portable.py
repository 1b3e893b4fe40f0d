"""Tests of `integration/test_portable.py` that start processes."""

import subprocess
import sys

import pytest

from septet import EntryError, Vault


def test_an_open_vault_is_no_source_and_keeps_its_locks(tmp_path):
    path = tmp_path / "v.db"
    (tmp_path / "link").symlink_to(path)
    with Vault(path) as vault:
        for source in (path, tmp_path / "link"):
            with pytest.raises(EntryError, match="is a vault that is open"):
                vault.import_(source)
        # It would take itself for the last one that has the vault open, and remove the log.
        subprocess.run(
            [sys.executable, "-c", "import septet, sys; septet.Vault(sys.argv[1]).close()", path], check=True
        )
        vault.add(title="word")
