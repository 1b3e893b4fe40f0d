"""A vault in a folder that takes no writes, opened while nobody wrote it, when somebody begins to."""

import os
import signal
import sys
import traceback

import pytest

from children import NOBODY, ROOT, open_to_others
from septet import Vault

pytestmark = pytest.mark.skipif(not ROOT, reason="permissions bind root only after it has stepped down")


@pytest.fixture
def path(tmp_path):
    open_to_others(tmp_path)
    made = tmp_path / "v.db"
    with Vault(made) as vault:
        add(vault, "old", 40)
    made.chmod(0o444)
    return made


def add(vault, mark, count):
    vault.add_many({"id": f"{mark}{i}", "title": f"word {mark} {i}", "description": "text " * 90} for i in range(count))


class Reader:
    """A child without rights to write; it answers a question after the other."""

    def __init__(self, path):
        ask, self._ask = os.pipe()
        self._answer, answer = os.pipe()
        self._child = os.fork()
        if not self._child:
            code = 1
            try:
                signal.alarm(60)
                os.close(self._ask)
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
                self._serve(path, ask, answer)
                code = 0
            except BaseException:  # noqa: BLE001 - whatever it is, the parent shall fail
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        os.close(ask)
        os.close(answer)

    @staticmethod
    def _serve(path, ask, answer):
        with Vault(path, read_only=True) as vault:
            while os.read(ask, 1):
                found = vault.search("word", limit=999)
                assert len(found) == len(vault) == len(vault.load(found.ids))
                os.write(answer, f"{len(found)}{' at rest' * (vault._store.at_rest is not None)}".encode())

    def finds(self):
        os.write(self._ask, b"?")
        return os.read(self._answer, 100).decode()

    def end(self):
        os.close(self._ask)
        return os.waitstatus_to_exitcode(os.waitpid(self._child, 0)[1])


@pytest.fixture
def reader(path):
    made = Reader(path)
    yield made
    assert made.end() == 0


def test_a_reader_notices_that_somebody_writes_and_that_nobody_does_any_more(path, reader):
    assert reader.finds() == "40 at rest"
    count = 40
    for turn in range(3):
        with Vault(path) as vault:
            add(vault, f"new{turn}x", 200)
            count += 200
            assert reader.finds() == str(count)
            vault.delete(f"new{turn}x1")
            count -= 1
            assert reader.finds() == str(count)
        assert reader.finds() in (str(count), f"{count} at rest")
        assert reader.finds() in (str(count), f"{count} at rest")


def test_a_reader_finds_what_came_and_went_unseen(path, reader):
    assert reader.finds() == "40 at rest"
    with Vault(path) as vault:
        add(vault, "new", 500)
        vault.delete([f"new{i}" for i in range(0, 500, 2)])
        vault.purge()
    assert reader.finds() == "290 at rest"
    assert reader.finds() == "290 at rest"


def test_what_was_read_while_somebody_wrote_is_read_again(path, monkeypatch):
    """Somebody writes between the beginning and the end of the first search's reading."""
    ask, answer = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            signal.alarm(60)
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            with Vault(path, read_only=True) as vault:
                real, turns = vault._tier.manager.view, []

                def view(*args, **kwargs):
                    found = real(*args, **kwargs)
                    turns.append(1)
                    if len(turns) == 1:
                        os.write(answer[1], b"!")
                        os.read(ask[0], 1)
                    return found

                monkeypatch.setattr(type(vault._tier.manager), "view", lambda _self, *a, **k: view(*a, **k))
                assert len(vault.search("word", limit=999)) == 60
                assert len(turns) > 1
            code = 0
        except BaseException:  # noqa: BLE001 - whatever it is, the parent shall fail
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    os.read(answer[0], 1)
    with Vault(path) as vault:
        add(vault, "new", 20)
    os.write(ask[1], b"!")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for end in (*ask, *answer):
        os.close(end)
