"""Where what is read ends, as the limits of docs/operations.md say: it is cut, left out or refused, and told."""

from contextlib import suppress
from threading import Event

import pytest

from septet import ProfileError, QueryError, SeptetError, Vault, evaluate
from septet.evaluation import judgements
from septet.retrieval import CorpusRequest, FunctionCorpus


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        yield vault


@pytest.mark.parametrize(
    "rules",
    ["".join(f"left{n}\n" for n in range(5_001)), "x" * (256 * 2**10 + 1)],
    ids=["rules", "bytes"],
)
def test_a_folder_with_too_many_rules_is_left_out_and_reported(vault, tmp_path, rules):
    notes = tmp_path / "notes"
    (notes / "deep").mkdir(parents=True)
    (notes / "one.md").write_text("# One\n")
    (notes / "deep" / "two.md").write_text("# Two\n")
    (notes / "deep" / ".gitignore").write_text(rules)
    report = vault.sync(notes)
    assert [entry.title for entry in vault] == ["One"]
    assert "deep" in str(report.problems or report.skipped)


def test_the_hundred_most_frequent_values_of_a_field_are_its_facets(vault):
    vault.add_many({"id": f"e{n}", "title": "Ducks", "domain": f"d{min(n, 150)}"} for n in range(160))
    (facets,) = vault.search("ducks", facets=["domain"]).facets.values()
    assert len(facets) == 100 and facets["d150"] == 10


def test_more_queries_or_judgements_than_are_taken_are_refused(vault, monkeypatch):
    assert (judgements.MOST_QUERIES, judgements.MOST_JUDGEMENTS) == (1_000_000, 10_000_000)
    monkeypatch.setattr(judgements, "MOST_QUERIES", 2)
    with pytest.raises(QueryError, match="2"):
        evaluate(vault, {"a": "x", "b": "y", "c": "z"}, {"a": {"e": 1}})


def test_entries_are_stored_five_thousand_in_a_transaction(vault):
    before = vault.stats().generation
    vault.add_many({"id": f"e{n}", "title": "x"} for n in range(5_001))
    assert vault.stats().generation == before + 2


@pytest.mark.parametrize(
    "text",
    ['name = "p"\n#' + "x" * (256 * 2**10), "name = " + "[" * 40 + "]" * 40, "x = [" + "1," * 20_001 + "]"],
    ids=["bytes", "levels", "values"],
)
def test_a_profile_of_a_file_is_read_within_its_bounds(tmp_path, text):
    (tmp_path / "p.toml").write_text(text)
    with pytest.raises(ProfileError, match=r"262,144 bytes|32 levels|20,000 values"):
        Vault(tmp_path / "n.db", profile=tmp_path / "p.toml")
    assert not (tmp_path / "n.db").exists()


def test_a_function_that_hangs_four_times_is_left_alone():
    gate, calls = Event(), []

    def hanging(query, limit):
        calls.append(query)
        assert gate.wait(30)
        return []

    corpus = FunctionCorpus("far", hanging, timeout_s=0.01)
    try:
        for number in range(8):
            with suppress(SeptetError):
                corpus.search(CorpusRequest(f"query {number}", 3))
        assert len(calls) == 4
    finally:
        gate.set()
