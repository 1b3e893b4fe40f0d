"""Tests of `unit/test_documents.py` that start servers."""

import os
import socket

import pytest

from septet import EmbeddingConfigError, ProfileError
from septet.embedding.config import config_of
from septet.profiles import resolve


@pytest.mark.parametrize("kind", ["pipe", "socket", "device", "endless device", "folder", "loop", "unreadable name"])
def test_what_is_no_file_is_refused_at_once(tmp_path, kind, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "x.toml"
    opened = None
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        opened = socket.socket(socket.AF_UNIX)
        opened.bind("x.toml")
    elif kind == "folder":
        path.mkdir()
    elif kind == "unreadable name":
        path = tmp_path / ("x" * 5_000 + ".toml")
    else:
        path.symlink_to({"device": "/dev/null", "endless device": "/dev/zero", "loop": path}[kind])
    try:
        with pytest.raises(ProfileError, match=r"cannot be read|at most 4,096"):
            resolve(path)
        with pytest.raises(EmbeddingConfigError, match=r"cannot be read|at most 4,096"):
            config_of(path)
    finally:
        if opened is not None:
            opened.close()
