"""A program whose working directory was deleted: whole paths work, and of a relative one it is told why it does not."""

import pytest

from septet import StoreError, Vault
from septet.exchange import restore


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """A folder with a vault v.db; the working directory is one that is gone."""
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="tea", title="Green tea")
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    return tmp_path


def test_a_vault_with_a_whole_path_is_opened_and_searched(nowhere):
    with Vault(nowhere / "v.db") as vault:
        assert vault.search("tea").ids == ["tea"]
        vault.backup(nowhere / "copy.db")
    with Vault(nowhere / "copy.db", read_only=True) as copy:
        assert "tea" in copy


def test_a_relative_path_is_refused_with_the_reason(nowhere):
    with Vault(nowhere / "v.db") as vault:
        for act in (
            lambda: Vault("w.db"),
            lambda: Vault("v.db", read_only=True),
            lambda: vault.sync("notes"),
            lambda: vault.sync(paths=["notes/tea.md"]),
            lambda: vault.forget_root("notes"),
            lambda: vault.backup("copy.db"),
            lambda: vault.export("all.jsonl"),
            lambda: restore(nowhere / "v.db", "w.db"),
        ):
            with pytest.raises(StoreError, match="the working directory is gone"):
                act()
    assert sorted(one.name for one in nowhere.iterdir() if one.is_file()) == ["v.db"]
