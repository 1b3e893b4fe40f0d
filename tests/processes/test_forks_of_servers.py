"""Forks as servers make them: by several threads at once, or without Python's knowledge."""

import _imp
import ctypes
import logging
import os
from threading import Thread

import pytest

from children import ended, forked
from septet import ForkedInUse, Vault
from septet.system import forks


def test_threads_that_fork_at_once_have_children_that_use_the_vault(tmp_path):
    # Its hook comes after ours, and makes the first fork wait while the second begins.
    held = logging._lock
    with Vault(tmp_path / "v.db") as vault:
        vault.add(title="word")
        ends = []
        threads = [Thread(target=lambda: ends.append(forked(lambda: vault.add(title="of a child")))) for _ in range(3)]
        with held:
            for thread in threads:
                thread.start()
                thread.join(0.1)
        for thread in threads:
            thread.join(60)
        assert ends == [True, True, True]
        assert forks._Rest.now == {}
        assert vault.search("word").notes == ()


def test_a_child_of_a_server_that_does_not_tell_python_before_it_forks_is_told_what_to_do(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="x", title="word")
        # Such servers take the lock of imports, and Python 3.13 ends a child whose parent did not.
        _imp.acquire_lock()
        child = ctypes.PyDLL(None).fork()
        if not child:
            code = 1
            try:
                ctypes.pythonapi.PyOS_AfterFork_Child()
                with pytest.raises(ForkedInUse, match="open the vault in each worker"):
                    vault.add(title="lost")
                # What is opened in the worker is its own.
                with Vault(tmp_path / "own.db") as own:
                    own.add(title="word")
                code = 0
            finally:
                os._exit(code)
        _imp.release_lock()
        assert ended(child)
        vault.add(id="y", title="word")
        assert sorted(vault.search("word").ids) == ["x", "y"]
