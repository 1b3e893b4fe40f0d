"""Tests of `integration/test_targets.py` that start servers."""

import os
import socket
from pathlib import Path

import pytest

from integration.test_targets import fill
from septet import StoreError, Vault


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.db") as made:
        fill(made)
        made.optimize()
        yield made


@pytest.fixture(params=["export", "backup"])
def write(request):
    """What writes a file from a vault."""
    return lambda vault, target: getattr(vault, request.param)(target)


def test_what_is_no_file_is_refused_with_what_to_do_instead(vault, write, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    bound = socket.socket(socket.AF_UNIX)
    bound.bind(str(tmp_path / "socket"))
    (tmp_path / "out").symlink_to("/dev/null")
    kinds = {
        "pipe": "a named pipe",
        "folder": "a folder",
        "socket": "a socket",
        "/dev/null": "a device",
        "out": "a device",
    }
    for name, kind in kinds.items():
        with pytest.raises(StoreError, match=f"is {kind}, not a file: name a file"):
            write(vault, tmp_path / name)
    assert Path("/dev/null").is_char_device()
    assert (tmp_path / "pipe").is_fifo()
    bound.close()
