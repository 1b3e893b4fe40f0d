"""Tests of `integration/test_targets.py` that start processes."""

import subprocess
import sys

import pytest

from integration.test_targets import fill, names
from septet import Vault


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.db") as made:
        fill(made)
        made.optimize()
        yield made


FULL = """
import resource, signal, sys
from septet import StoreError, Vault
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
vault = Vault(sys.argv[1], read_only=True)
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
try:
    getattr(vault, sys.argv[2])(sys.argv[3])
except StoreError as fault:
    print(fault)
"""


@pytest.mark.parametrize("how", ["export", "backup"])
def test_a_target_without_room_is_named_and_not_the_vault(vault, tmp_path, how):
    fill(vault, 600)
    (tmp_path / "small").mkdir()
    out = tmp_path / "small" / "out"
    command = [sys.executable, "-c", FULL, vault.path, how, str(out)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert told.startswith(f"{out} cannot be written")
    assert "v.db" not in told
    assert names(tmp_path / "small") == []
