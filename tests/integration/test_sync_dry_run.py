"""A dry run of a sync reports what the sync then does, and writes nothing."""

import json
import os
from contextlib import suppress

import pytest

from septet import CallableEmbedder, Chunking, EntryError, Federation, ReadOnly, Vault

SECRET = "The key is ghp_abcdefghijklmnopqrstuvwxyz0123456789, keep it."


def said(text):
    return json.dumps({"type": "message", "message": {"role": "user", "content": text}}) + "\n"


@pytest.fixture
def notes(tmp_path):
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    for name in ("a", "b", "c", "deep/d"):
        (folder / f"{name}.md").write_text(f"# {name}\n\nA text of {name}.\n\n## More\n\nIts end.\n", encoding="utf-8")
    (folder / "talk.jsonl").write_text(said("when is the deploy"), encoding="utf-8")
    (folder / "x.epub").write_bytes(b"-")
    # On Windows only administrators make links.
    with suppress(OSError):
        (folder / "link.md").symlink_to("a.md")
    return folder


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.db") as made:
        yield made


def content(vault):
    """Everything in the file of the vault."""
    with vault._store.reading() as read:
        return list(read.sql.iterdump())


def told(report):
    return {name: value for name, value in report.to_dict().items() if name not in ("took_s", "dry_run")}


def rehearsed(vault, *args, **options):
    """The dry run of a sync, which it must equal."""
    before = content(vault)
    dry = vault.sync(*args, dry_run=True, **options)
    assert dry.dry_run and dry.to_dict()["dry_run"]
    assert content(vault) == before
    real = vault.sync(*args, **options)
    assert not real.dry_run and told(dry) == told(real)
    return real


def test_of_a_new_folder_it_reports_what_would_come_and_remembers_nothing(vault, notes):
    (notes / "secret.md").write_text(SECRET, encoding="utf-8")
    (notes / "binary.md").write_bytes(b"\0\1")
    assert vault.sync(notes, dry_run=True).files_added == 7 and vault.sync_status().roots == ()
    report = rehearsed(vault, notes)
    assert report.files_added == 7 and report.redacted and report.skipped_kinds == {"epub": 1}
    assert {one.reason for one in report.skipped} == {"symlink", "binary"}


def test_it_reports_what_came_went_changed_and_was_renamed(vault, notes):
    vault.sync(notes)
    assert rehearsed(vault).files_unchanged == 5
    (notes / "a.md").write_text("# a\n\nAnother text.\n", encoding="utf-8")
    (notes / "b.md").unlink()
    (notes / "c.md").rename(notes / "deep" / "e.md")
    (notes / "new.md").write_text("# New\n\nIt is new.\n", encoding="utf-8")
    os.utime(notes / "deep" / "d.md", (1, 1))
    with (notes / "talk.jsonl").open("a", encoding="utf-8") as talk:
        talk.write(said("at nine, every Monday"))
    report = rehearsed(vault)
    counts = (report.files_added, report.files_removed, report.files_renamed, report.files_changed)
    assert counts == (1, 1, 1, 2) and report.files_unchanged == 1
    assert rehearsed(vault, force=True).files_changed == 5


def test_single_paths_and_other_options_are_rehearsed_too(vault, notes):
    vault.sync(notes)
    (notes / "a.md").write_text("# a\n\nAnother text.\n", encoding="utf-8")
    (notes / "b.md").write_text("# b\n\nAnother text.\n", encoding="utf-8")
    assert rehearsed(vault, paths=[notes / "a.md"]).files_changed == 1
    assert rehearsed(vault, notes, exclude=["deep/"]).files_removed == 1


@pytest.mark.parametrize("options", [{"trust": "untrusted"}, {"chunking": Chunking(tokens=8, overlap=0)}])
@pytest.mark.parametrize("force", [False, True])
def test_a_folder_that_would_be_read_in_another_way_is_rehearsed(vault, notes, options, force):
    vault.sync(notes)
    (notes / "a.md").write_text("# a\n\nAnother text.\n", encoding="utf-8")
    (notes / "b.md").unlink()
    report = rehearsed(vault, notes, force=force, **options)
    assert report.reindexed == ("notes",) and report.files_changed >= 4


def test_a_folder_that_is_not_there_is_told_and_nothing_is_removed(vault, notes):
    vault.sync(notes)
    notes.rename(notes.with_name("away"))
    report = rehearsed(vault)
    assert not report.complete and not report.files_removed and "is not there" in report.problems[0]


def test_chunks_that_an_import_brought_are_those_of_their_files_in_a_dry_run_too(vault, notes, tmp_path):
    vault.sync(notes)
    vault.export(tmp_path / "out.jsonl")
    with Vault(tmp_path / "other.db") as other:
        other.import_(tmp_path / "out.jsonl")
        report = rehearsed(other, notes)
        assert report.chunks_kept + report.chunks_moved and not report.chunks_added


def test_what_a_sync_refuses_a_dry_run_refuses(vault, notes, tmp_path):
    vault.sync(notes)
    (tmp_path / "more").mkdir()
    for args, options in [
        ((tmp_path / "gone",), {}),
        ((tmp_path / "more",), {"name": "notes"}),
        ((notes,), {"name": "other"}),
        ((), {"name": "x"}),
        ((notes,), {"redact": "some"}),
        ((), {"paths": [tmp_path / "more" / "x.md"]}),
        ((notes,), {"dry_run": 1}),
    ]:
        with pytest.raises(EntryError):
            vault.sync(*args, **{"dry_run": True, **options})
    assert len(vault.sync_status().roots) == 1


def test_a_vault_that_was_opened_for_reading_can_be_asked(vault, notes, tmp_path):
    vault.sync(notes)
    (notes / "a.md").unlink()
    with Vault(tmp_path / "v.db", read_only=True) as reader:
        assert reader.sync(dry_run=True).files_removed == 1
        with pytest.raises(ReadOnly):
            reader.sync()


def test_nothing_is_embedded(tmp_path, notes):
    asked = []

    def embed(texts):
        asked.extend(texts)
        return [[1.0, 2.0] for _ in texts]

    with Vault(tmp_path / "e.db", embedder=CallableEmbedder(embed, model="m", dimensions=2)) as vault:
        vault.sync(notes, dry_run=True)
        vault.sync(notes, dry_run=True, chunking=Chunking(tokens=8, overlap=0))
        assert not vault.embed().embedded and not asked


def test_a_tier_of_a_federation_can_be_asked(vault, notes):
    with Federation({"one": vault}) as federation:
        report = federation.tier("one").sync(notes, dry_run=True)
    assert report.dry_run and report.files_added == 5
