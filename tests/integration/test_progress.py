"""progress=True shows a bar, by what is installed; other values are refused before anything is done."""

import asyncio
import io
import sys

import pytest

from doubles import Letters
from septet import AsyncVault, EmbeddingConfigError, EntryError, Federation, StoreError, Vault
from septet.exchange import restore

#: What is hidden so that the next way to show a bar is taken, and what it writes.
WAYS = {
    "tqdm": ([], "100%"),
    "rich": (["tqdm.auto"], "30/30"),
    "neither": (["tqdm.auto", "rich.progress"], "add_many: 30 of 30 entries\n"),
}
ITEMS = [{"id": f"e{n}", "title": f"entry {n}"} for n in range(30)]


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    hidden, written = WAYS[request.param]
    for name in hidden:
        monkeypatch.setitem(sys.modules, name, None)
    return written


def test_a_bar_is_written_to_standard_error(way, capsys):
    with Vault(":memory:") as vault:
        assert len(vault.add_many(ITEMS, progress=True)) == 30
    out, err = capsys.readouterr()
    assert way in err and "add_many" in err and out == ""


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_line_on_a_terminal_is_written_anew_and_ended(monkeypatch):
    for name in ("tqdm.auto", "rich.progress"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Vault(":memory:") as vault:
        vault.add_many(ITEMS, progress=True)
        vault.add_many([], progress=True)
    assert sys.stderr.getvalue() == "\radd_many: 30 of 30 entries\radd_many: 30 of 30 entries\n"


def test_without_a_place_to_write_the_call_goes_on(monkeypatch, capsys):
    with Vault(":memory:") as vault:
        closed = io.StringIO()
        closed.close()
        for broken in (None, closed):
            monkeypatch.setattr(sys, "stderr", broken)
            assert len(vault.add_many(ITEMS, progress=True)) == 30


def test_every_long_call_shows_one(tmp_path, capsys):
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# Title\n\ntext")
    with Vault(tmp_path / "v.db", embedder=Letters()) as vault:
        calls = {
            "import": lambda: vault.import_(ITEMS, progress=True),
            "sync": lambda: vault.sync(notes, progress=True),
            "redact": lambda: vault.redact(progress=True),
            "backup": lambda: vault.backup(tmp_path / "b.db", progress=True),
            "restore": lambda: restore(tmp_path / "b.db", tmp_path / "r.db", progress=True),
            "add_many": lambda: Federation({"one": vault}).add_many(ITEMS, progress=True),
        }
        for name, call in calls.items():
            call()
            assert name in capsys.readouterr().err


def test_async_calls_show_one(capsys):
    async def fed():
        for item in ITEMS:
            yield item

    async def added():
        async with AsyncVault(":memory:") as vault:
            await vault.add_many(fed(), progress=True)
            await vault.add_many(ITEMS, progress=True)
            with pytest.raises(EntryError, match="progress is 1"):
                await vault.add_many(fed(), progress=1)

    asyncio.run(added())
    assert capsys.readouterr().err.count("add_many") >= 2


def test_false_is_none_and_anything_else_is_refused(tmp_path, capsys):
    with Vault(":memory:") as vault:
        vault.add_many(ITEMS, progress=False)
        for call, error in (
            (lambda: vault.add_many(ITEMS, progress=1), EntryError),
            (lambda: vault.import_(ITEMS, progress="bar"), EntryError),
            (lambda: vault.sync(tmp_path, progress=2.0), EntryError),
            (lambda: vault.backup(tmp_path / "b.db", progress="x"), StoreError),
            (lambda: vault.embed(progress=0), EmbeddingConfigError),
        ):
            with pytest.raises(error, match=r"progress is .*: wanted a function"):
                call()
    assert capsys.readouterr().err == "" and not list(tmp_path.iterdir())


def test_a_bar_is_closed_where_the_call_fails(capsys):
    def items():
        yield from ({"title": f"entry {n}"} for n in range(6_000))
        raise ZeroDivisionError

    with Vault(":memory:") as vault, pytest.raises(EntryError):
        vault.add_many(items(), progress=True)
    assert capsys.readouterr().err.endswith("\n")
