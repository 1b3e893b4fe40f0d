"""What is exported comes back whole, and an import that stops says where."""

import io
import json

import pytest

from septet import BatchError, EntryError, SeptetError, Span, Vault

NOW = 1_700_000_000.0


@pytest.fixture
def full():
    with Vault(":memory:", clock=lambda: NOW, profile="six-signals") as vault:
        vault.add(
            id="a 🙂",
            title='Quotes " and \\ and \u2028 and \x00',
            description="日本語",
            context="ctx",
            tags=["b", 'a "q"', "back\\slash"],
            attrs={"n": 1.5, "deep": {"list": [None, True, "é"]}, "big": 2**70},
            span=Span("src/é.py", 3, 9),
            created_at=1.25,
            updated_at=2.5,
            valid_from=-5.0,
            valid_until=NOW * 9,
            severity="critical",
            vector={"m1": [0.1, 0.2, 0.3], "m2": [1e-30, 2e30]},
        )
        vault.add(id="b", title="Second", vector=[3, 4])
        vault.remember("A memory", "of something", ["topic"], id="m")
        vault.add(id="gone", title="Deleted")
        vault.link("a 🙂", "b", "needs", note="because")
        vault.link("b", "m")
        vault.feedback("a question", "b", "accepted")
        vault.feedback("another", "gone", "failed")
        vault.delete("gone")
        yield vault


def lines_of(vault):
    out = io.StringIO()
    count = vault.export(out)
    # Only a line feed ends a line here: JSON leaves U+2028 as it is.
    lines = out.getvalue().split("\n")[:-1]
    assert len(lines) == count
    return lines


def test_everything_comes_back_as_it_was(full, tmp_path):
    full.export(tmp_path / "all.jsonl")
    with Vault(tmp_path / "new.db", profile="six-signals", clock=lambda: NOW) as new:
        imported = new.import_(tmp_path / "all.jsonl")
        assert (imported.entries, imported.links, imported.feedback) == (3, 2, 2)
        assert [new.get(i) for i in ("a 🙂", "b", "m")] == [full.get(i) for i in ("a 🙂", "b", "m")]
        assert (new.links("b"), new.get("gone")) == (full.links("b"), None)
        assert new.stats().feedback == {"accepted": 1, "failed": 1}
        assert {s[1:] for s in new.stats().spaces} == {s[1:] for s in full.stats().spaces}
        assert sorted(lines_of(new)) == sorted(lines_of(full))
        query = {"query_vector": [0.3, 0.1, 0.1], "model": "m1", "include_memories": True}
        assert [h.to_dict() for h in new.search("second memory", **query)] == [
            h.to_dict() for h in full.search("second memory", **query)
        ]


def test_importing_twice_changes_nothing(full):
    with Vault(":memory:", profile="six-signals") as new:
        new.import_(lines_of(full))
        once = lines_of(new)
        assert any('"feedback"' in line for line in once)
        new.import_(lines_of(full))
        assert lines_of(new) == once


def test_plain_objects_with_a_title_are_entries(tmp_path):
    path = tmp_path / "plain.jsonl"
    path.write_text('{"title": "one"}\n\n  \n{"title": "two", "tags": ["x"], "vector": [1, 2], "model": "m"}\n')
    with Vault(":memory:") as vault:
        assert vault.import_(path).entries == 2
        assert [h.title for h in vault.search("two")] == ["two"]
        assert [s.model for s in vault.stats().spaces] == ["m"]


def test_progress_is_told_during_an_import():
    told = []
    with Vault(":memory:") as vault:
        vault.import_([json.dumps({"title": f"t {i}"}) for i in range(6_000)], progress=lambda *a: told.append(a))
    assert told == [(5_000, 6_000), (6_000, 6_000)]


def test_an_entry_that_cannot_be_stored_is_a_batch_error():
    lines = [json.dumps({"title": f"t {i}"}) for i in range(5_500)]
    lines[5_400] = '{"title": ""}'
    with Vault(":memory:") as vault:
        with pytest.raises(BatchError, match=r"^line 5401: title is empty") as caught:
            vault.import_(lines)
        assert (caught.value.written, len(vault)) == (5_000, 5_000)


@pytest.mark.parametrize("line", ["no json", "[1]", '{"record": "what"}', '{"title": "t", "vector": {"m": "&"}}'])
def test_a_line_that_cannot_be_read_is_a_batch_error_too(line):
    lines = [json.dumps({"title": f"t {i}"}) for i in range(5_500)]
    with Vault(":memory:") as vault:
        try:
            vault.import_([*lines, line])
        except BatchError as fault:
            assert (fault.written, fault.index) == (5_000, 5_500)


def test_a_link_to_nowhere_leaves_the_entries_and_says_so():
    lines = ['{"title": "t", "id": "a"}', '{"record": "link", "source": "a", "target": "b"}']
    with Vault(":memory:") as vault, pytest.raises(BatchError, match=r"1 entries are stored.*no entry 'b'"):
        vault.import_(lines)


def test_feedback_that_is_none_leaves_the_entries_and_says_so():
    row = {"record": "feedback", "query": "q", "entry_id": "a", "action": "liked"}
    with Vault(":memory:") as vault:
        with pytest.raises(BatchError, match="'liked'"):
            vault.import_(['{"title": "t", "id": "a"}', json.dumps(row)])
        assert (len(vault), vault.stats().feedback) == (1, {})


def test_a_file_that_is_not_utf8_is_a_septet_error(tmp_path):
    path = tmp_path / "latin.jsonl"
    path.write_bytes(b'{"title": "caf\xe9"}\n')
    with Vault(":memory:") as vault, pytest.raises(SeptetError, match="UTF-8"):
        vault.import_(path)


def test_a_lone_surrogate_in_a_link_is_a_batch_error():
    lines = ['{"title": "t", "id": "a"}', '{"title": "t", "id": "b"}']
    link = '{"record": "link", "source": "a", "target": "b", "type": "\\ud800"}'
    with Vault(":memory:") as vault, pytest.raises(BatchError):
        vault.import_([*lines, link])


def test_a_missing_file_is_an_error_that_names_it(tmp_path):
    with Vault(":memory:") as vault, pytest.raises(EntryError, match=r"missing\.jsonl"):
        vault.import_(tmp_path / "missing.jsonl")


def test_an_export_that_cannot_be_written_is_a_septet_error(tmp_path):
    with Vault(":memory:") as vault, pytest.raises(SeptetError):
        vault.export(tmp_path / "missing" / "out.jsonl")
