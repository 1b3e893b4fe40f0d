"""`septet list` and `septet count`: entries by their fields, in the order of any column."""

from __future__ import annotations

import csv
import io
import json

import pytest
from tests.commands import Commands

from septet import Vault

pytest.importorskip("typer")

ENTRIES = [
    {"id": "jobs", "title": "Jobs wait", "type": "note", "tags": ["sqlite", "queue"], "updated_at": 1_767_225_600.0},
    {"id": "retry", "title": "Retry policy", "type": "rule", "tags": ["queue"], "domain": "http", "severity": "warning",
     "source": "wiki", "updated_at": 1_772_323_199.0},  # the last second of February 2026
    {"id": "keys", "title": "Rotate keys", "type": "rule", "tags": ["keys"], "updated_at": 1_772_323_200.0},
    {"id": "old", "title": "Old pages", "type": "page", "source": "web", "updated_at": 1_700_000_000.0},
]  # fmt: skip


@pytest.fixture
def septet(tmp_path, monkeypatch):
    with Vault(tmp_path / "v.db") as vault:
        vault.add_many([{"created_at": 1_600_000_000.0 + n, **fields} for n, fields in enumerate(ENTRIES)])
        vault.remember("Maria prefers short reports", id="maria")
    return Commands(tmp_path, monkeypatch)


FILTERS = [
    (("--type", "rule"), "retry keys"),
    (("--type", "rule", "--type", "page"), "retry keys old"),
    (("--tag", "queue"), "jobs retry"),
    (("-t", "queue", "-t", "sqlite"), "jobs"),
    (("--kind", "memory"), "maria"),
    (("--domain", "http"), "retry"),
    (("--severity", "warning"), "retry"),
    (("--source", "wiki", "--source", "web"), "retry old"),
    (("--since", "2026-03"), "keys maria"),
    (("--since", "2026-03-01T00:00:00Z"), "keys maria"),
    (("--since", "1772323200"), "keys maria"),
    (("--until", "2026-02"), "jobs retry old"),
    (("--until", "2025"), "old"),
    (("--since", "2026-01-01", "--until", "2026-02-28"), "jobs retry"),
    (("--type", "rule", "--where", '{"tags": "keys"}', "--since", "2026"), "keys"),
    (("--where", "{}"), "jobs retry keys old maria"),
]


@pytest.mark.parametrize(
    ("given", "wanted"), FILTERS, ids=lambda value: " ".join(value) if type(value) is tuple else ""
)
def test_options_of_fields_choose_entries_and_count_counts_what_list_lists(septet, given, wanted):
    code, said, told = septet("list", *given, "--format", "ids")
    assert (code, said.split(), told) == (0, wanted.split(), "")
    assert septet("count", *given) == (0, f"{len(wanted.split())}\n", "")
    assert json.loads(septet("count", *given, "--json")[1]) == {"count": len(wanted.split())}
    counted = json.loads(septet("facets", "kind", *given, "--json")[1])
    assert sum(value["count"] for value in counted["values"]) == len(wanted.split())


def test_what_no_entry_is_counts_0_and_exits_as_other_commands_that_find_nothing(septet):
    assert septet("count", "--type", "nothing") == (1, "0\n", "")
    assert septet("list", "--type", "nothing") == (1, "", "nothing found\n")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--since", "yesterday"), "--since is 'yesterday': wanted an ISO date"),
        (("--until", ""), "--until is empty"),
        (("--until", "2026-02-30"), "--until is '2026-02-30': wanted an ISO date"),
        (("--severity", "loud"), "severity is 'loud': wanted one of"),
        (("--where", "[]"), "--where is not a JSON object"),
    ],
)
def test_a_filter_that_cannot_be_read_is_an_error_of_the_usage(septet, given, told):
    for command in ("list", "count"):
        code, said, heard = septet(command, *given)
        assert (code, said) == (2, "") and told in heard


def test_every_column_that_list_heads_is_an_order(septet):
    heads = septet("list")[1].splitlines()[0].split()
    assert "updated" in heads
    for head in [*heads, "created"]:
        up, down, minus = (
            septet("list", "--order-by", order, "--format", "ids") for order in (head, f"{head}:desc", f"-{head}")
        )
        assert up[0] == 0 and sorted(up[1].split()) == sorted(down[1].split()) and minus == down
    ordered = septet("list", "--order-by", "updated:desc", "--format", "ids")[1].split()
    assert ordered == ["maria", "keys", "retry", "jobs", "old"]


def test_an_order_that_is_none_names_the_option(septet):
    code, _, told = septet("list", "--order-by", "title:down")
    assert code == 2 and told == "septet: --order-by is 'title:down': wanted FIELD, FIELD:asc or FIELD:desc\n"
    assert septet("list", "--order-by", "attrs.a:b")[0] == 0


def test_pages_of_a_filtered_list_follow_each_other(septet):
    given = ("--type", "rule", "--order-by", "updated", "--format", "ids", "-n", "1")
    code, said, told = septet("list", *given)
    assert (code, said) == (0, "retry\n")
    assert septet("list", *given, "--after", told.split("'")[1]) == (0, "keys\n", "")


def test_times_in_csv_are_iso_text(septet):
    code, said, _ = septet("list", "--type", "rule", "--format", "csv")
    first = next(csv.DictReader(io.StringIO(said, newline="")))
    assert code == 0 and first["updated_at"] == "2026-02-28T23:59:59Z" and first["created_at"].endswith("Z")
