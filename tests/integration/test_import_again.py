"""A second run of an import writes what changed and nothing else; on the way it says how far it is."""

import io
import json

import pytest

from septet import Vault

NOW = 1_700_000_000.0


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: NOW) as made:
        yield made


def generation(vault):
    return vault.stats().generation


def test_a_second_run_writes_nothing(tmp_path, vault):
    records = [{"title": f"t {n}", "description": f"text {n}", "vector": [1.0, n]} for n in range(30)]
    first = vault.import_(records)
    before = generation(vault)
    again = vault.import_(records)
    assert (first.unchanged, again.unchanged, again.entries) == (0, 30, 30)
    assert generation(vault) == before


@pytest.mark.parametrize(
    "change",
    [
        {"title": "new"},
        {"description": "new"},
        {"tags": ["new"]},
        {"attrs": {"new": 1}},
        {"severity": "critical"},
        {"created_at": 5.0},
        {"updated_at": NOW + 5},
        {"vector": [2.0, 1.0]},
        {"vector": {"other": [2.0, 1.0]}},
        {"parent": "p"},
        {"source": "elsewhere"},
        {"trust": "trusted"},
        {"span": {"path": "p", "first_line": 1, "last_line": 2}},
    ],
    ids=repr,
)
def test_what_changed_is_written_and_nothing_else(vault, change):
    origin = {"source": "import", "trust": "unverified"}
    records = [{"id": f"{n}", "title": f"t {n}", "vector": [1.0, 0.5], **origin} for n in range(5)]
    vault.import_(records)
    with Vault(":memory:", clock=lambda: NOW) as fresh:
        fresh.add_many(records)
        records[2].update(change)
        fresh.add_many(records)
        assert vault.import_(records).unchanged == 4
        assert vault.load(list("01234")) == fresh.load(list("01234"))
        assert vault.stats().spaces == fresh.stats().spaces


def test_an_interrupted_import_goes_on(vault):
    records = [{"title": f"t {n}"} for n in range(12_000)]

    def interrupted():
        yield from records[:11_000]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        vault.import_(interrupted())
    assert len(vault) == 10_000
    told = []
    done = vault.import_(records, progress=lambda *seen: told.append(seen))
    assert (done.entries, done.unchanged, len(vault)) == (12_000, 10_000, 12_000)
    assert told == [(5_000, 12_000), (10_000, 12_000), (12_000, 12_000)]


def test_the_last_of_records_with_one_id_wins_also_in_a_second_run(vault):
    records = [{"id": "a", "title": "old"}, {"id": "b", "title": "b"}, {"id": "a", "title": "new"}]
    for unchanged in (0, 1):
        assert vault.import_(records).unchanged == unchanged
        assert vault.get("a").title == "new"


def test_a_text_that_is_split_is_known_again(vault):
    records = [{"id": "a", "title": "t", "description": "A sentence of some words. " * 40}]
    for unchanged in (0, 1):
        assert vault.import_(records, split=20).unchanged == unchanged
        assert vault.get("a#2").parent == "a"
    assert vault.import_(records, split=50).unchanged == 0
    before = len(vault)
    vault.delete("a#2")
    assert (vault.import_(records, split=50).unchanged, len(vault)) == (0, before)


@pytest.mark.parametrize("name", ["in.jsonl", "in.json", "in.csv"])
def test_the_total_of_a_file_is_estimated_from_what_was_read(tmp_path, vault, name):
    rows = [{"title": f"title {n:05}"} for n in range(11_000)]
    path = tmp_path / name
    lines = {"in.jsonl": "\n".join(map(json.dumps, rows)), "in.json": json.dumps(rows)}
    path.write_text(lines.get(name) or "title\n" + "\n".join(row["title"] for row in rows))
    told = []
    vault.import_(path, progress=lambda *seen: told.append(seen))
    assert [stored for stored, _ in told] == [5_000, 10_000, 11_000]
    # A piece of the file is read ahead.
    assert all(abs(total - 11_000) < 2_000 for _, total in told) and told[-1] == (11_000, 11_000)


def test_a_stream_has_no_total_before_its_end(vault):
    told = []
    lines = io.StringIO("".join(f'{{"title": "t {n}"}}\n' for n in range(5_001)))
    vault.import_(lines, progress=lambda *seen: told.append(seen))
    assert told == [(5_000, None), (5_001, 5_001)]


@pytest.mark.parametrize("between", [0, 1, 6_000])
def test_records_of_one_id_are_one_entry_and_a_note_names_it(between):
    records = [{"id": "9", "title": "one"}, *({"id": f"other {n}", "title": "other"} for n in range(between))]
    with Vault(":memory:") as vault:
        found = vault.import_([*records, {"id": "9", "title": "uno"}])
        assert (found.entries, len(vault), vault.get("9").title) == (between + 1, between + 1, "uno")
        assert found.notes == ("1 record has a duplicate id, such as '9': the last one counts",)
        again = vault.import_([*records, {"id": "9", "title": "uno"}, {"id": "9", "title": "uno"}])
        assert (again.entries, vault.get("9").title) == (between + 1, "uno")
        assert again.notes[0].startswith("2 records have a duplicate id")


@pytest.mark.parametrize("wrong", [{3}, {1, 3}, {2, 3}, {0, 1, 2, 3}])
def test_a_record_that_is_skipped_does_not_count_as_one_that_came_before(wrong):
    with Vault(":memory:") as vault:
        vault.add(id="first", title="t", vector=[1, 2])
        records = [{"id": "9", "title": f"t {n}", "vector": [1, 2, 3] if n in wrong else [1, 2]} for n in range(4)]
        done = vault.import_(records, on_error="skip")
        assert (done.entries, done.skipped, len(vault)) == (len(wrong) < 4, len(wrong), 1 + (len(wrong) < 4))
        again = 3 - len(wrong)
        assert [note.split()[0] for note in done.notes] == ([f"{again}"] if again > 0 else [])
