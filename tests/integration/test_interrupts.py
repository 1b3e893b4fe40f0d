"""An interrupt leaves what it stopped usable."""

import sqlite3
import sys
import threading

import pytest

from septet import Vault


@pytest.mark.parametrize("function", ["begin_reading", "open_read_view", "open", "recall", "ranked", "read", "close"])
@pytest.mark.parametrize("event", ["call", "return"])
def test_an_interrupted_search_leaves_a_vault_in_memory_to_other_threads(function, event):
    def interrupt(frame, what, _argument):
        if frame.f_code.co_name == function and "septet" in frame.f_code.co_filename and what == event:
            sys.settrace(None)
            raise KeyboardInterrupt
        return interrupt

    with Vault(":memory:") as vault:
        vault.add(id="a", title="token")
        vault.search("token")
        before = sys.gettrace()
        sys.settrace(interrupt)
        try:
            with pytest.raises(KeyboardInterrupt):
                vault.search("token")
        finally:
            sys.settrace(before)
        found = []
        other = threading.Thread(target=lambda: found.append(vault.search("token").ids), daemon=True)
        other.start()
        other.join(10)
        assert found == [["a"]]


def test_an_interrupt_while_connections_are_closed_before_a_fork_leaves_the_vault_usable(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        writer = vault._store._writer

        def interrupted():
            sqlite3.Connection.close(writer)
            raise KeyboardInterrupt

        writer.close = interrupted
        with pytest.raises(KeyboardInterrupt):
            vault._store.close_connections()
        vault.add(id="a", title="token")
        assert vault.search("token").ids == ["a"]
