"""What docs/operations.md promises and no other test shows."""

import os
import re
from pathlib import Path

import pytest

from septet import StoreError, Vault, errors

PAGE = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()


def test_an_export_holds_no_earlier_versions_and_no_followed_folders(tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "one.md").write_text("# One\n")
    with Vault(tmp_path / "v.db") as vault:
        vault.sync(tmp_path / "notes")
        vault.add(id="a", title="An earlier title")
        vault.update("a", title="The title")
        vault.export(tmp_path / "out.jsonl")
    assert "An earlier title" not in (tmp_path / "out.jsonl").read_text()
    with Vault(tmp_path / "other.db") as other:
        other.import_(tmp_path / "out.jsonl")
        assert other.history("a") == () or not other.history("a")
        assert other.get("a").title == "The title"
        assert not other.sync_status().roots


def test_a_log_is_left_empty_by_a_process_that_only_read_and_goes_with_the_next_writer(tmp_path):
    path, log = tmp_path / "v.db", tmp_path / "v.db-wal"
    with Vault(path) as vault:
        vault.add(id="a", title="Ducks")
    assert not log.exists()
    with Vault(path, read_only=True) as reader:
        assert reader.search("ducks").ids == ["a"]
    assert not log.exists() or log.stat().st_size == 0
    with Vault(path) as vault:
        vault.add(id="b", title="Ducks again")
    assert not log.exists()


def test_a_text_file_is_an_entry_with_the_name_title_and_time_of_the_file(tmp_path):
    folder = tmp_path / "texts"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "one.md").write_text("# The heading\n\nDucks swim.\n")
    (folder / "two.txt").write_text("Geese fly.\n")
    (folder / "three.log").write_text("Swans too.\n")
    (folder / ".hidden.md").write_text("# Hidden\n")
    (folder / "binary.txt").write_bytes(b"\x00\x01\xff" * 50)
    (folder / "link.md").symlink_to(folder / "deep" / "one.md")
    os.utime(folder / "deep" / "one.md", (1_700_000_000, 1_700_000_000))
    with Vault(tmp_path / "v.db") as vault:
        done = vault.import_(folder)
        assert {entry.id for entry in vault} == {"deep/one.md", "two.txt"}
        one, two = vault.get("deep/one.md"), vault.get("two.txt")
        assert (one.title, one.updated_at) == ("The heading", 1_700_000_000)
        assert "two" in two.title and (one.source, one.trust) == (f"import:{folder.name}", "unverified")
        told = " ".join([*done.notes, *(str(fault) for fault in done.errors)])
        assert "link.md" in told and "binary.txt" in told
        assert vault.import_(folder, format="text").unchanged == 2
        assert "three.log" in vault
        (folder / "two.txt").unlink()
        vault.import_(folder)
        assert "two.txt" in vault


def test_readers_do_not_wait_for_a_writer(tmp_path):
    with Vault(tmp_path / "v.db") as reader, Vault(tmp_path / "v.db") as writer:
        writer.add(id="a", title="Ducks swim")
        assert reader.search("ducks").ids == ["a"]
        with writer._store.writing():
            assert reader.search("ducks").ids == ["a"]
            assert reader.get("a").title == "Ducks swim"
            assert reader.count() == 1


def test_the_errors_of_the_table_are_those_of_the_tree_and_of_the_kinds_that_it_names():
    rows = re.findall(r"^\| (`\w+`.*?) \| (.*) \|$", PAGE.partition("## Errors and notes")[2], re.MULTILINE)
    table = {name: said for names, said in rows for name in re.findall(r"`([A-Z]\w+)`", names) if hasattr(errors, name)}
    assert len(table) > 15
    for name, said in table.items():
        error = getattr(errors, name)
        assert issubclass(error, errors.SeptetError), name
        assert ("ValueError" in said) <= issubclass(error, ValueError), name
        assert ("KeyError" in said) <= issubclass(error, KeyError), name
    kinds = ["StoreBusy", "Unreachable", "Unauthorized", "VaultReplaced", "ForkedInUse", "ReadOnly", "Closed"]
    for name in [*kinds, "NotAVault", "SchemaTooNew"]:
        assert issubclass(getattr(errors, name), StoreError), name


def test_the_first_search_of_a_vault_whose_file_was_replaced_before_it_raises(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="a", title="Ducks swim")
    with Vault(tmp_path / "other.db") as other:
        other.add(id="b", title="Ducks fly")
    with Vault(tmp_path / "v.db") as vault:
        (tmp_path / "other.db").replace(tmp_path / "v.db")
        with pytest.raises(errors.VaultReplaced):
            vault.search("ducks")
        with pytest.raises(errors.VaultReplaced):
            vault.add(id="c", title="Geese")
    with Vault(tmp_path / "v.db") as vault:
        assert {entry.id for entry in vault} == {"b"}
