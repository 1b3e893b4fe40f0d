"""A vault in a file and one on a server, changed by the same calls, hold the same and answer the same."""

import io

import psycopg
import pytest

from doubles import Letters
from same_calls import Calls, alike, state, told
from septet import EmbeddingOptions, PostgresVault, StoreError, Vault, VectorError
from septet.postgres.store.faults import store_error

HERE, THERE = [1.0, 0.0], [1.0, 1.0]


@pytest.fixture
def both(dsn, vault_name):
    """A vault in memory, and one on the server."""
    with Vault(":memory:", clock=lambda: 10.0) as local, PostgresVault(dsn, vault_name, clock=lambda: 10.0) as remote:
        yield local, remote


def exported(vault):
    lines = io.StringIO()
    vault.export(lines)
    return lines.getvalue().splitlines()


@pytest.mark.parametrize("seed", range(3))
def test_any_calls_have_the_same_answers_and_leave_the_same_state(dsn, vault_name, seed):
    calls = Calls(seed)
    clock = {"clock": lambda: calls.now, "history": 3}
    with (
        Vault(":memory:", **clock) as local,
        PostgresVault(dsn, vault_name, timeout_s=60, buckets=3, **clock) as remote,
    ):
        for _ in range(80):
            call = calls.next()
            ours, theirs = told(local, call), told(remote, call)
            assert alike(ours, theirs), (call, ours, theirs)
        ours, theirs = state(local), state(remote)
        assert alike(ours, theirs), (ours, theirs)


def test_equally_near_entries_come_in_the_order_in_which_they_arrived(both):
    for vault in both:
        vault.add_many([{"id": one, "title": f"ducks {one}", "vector": HERE} for one in "abcdef"])
        vault.search("ducks", query_vector=HERE)
        # What is written again keeps its place.
        vault.update("b", domain="moved")
        vault.update("a", domain="moved")
        assert vault.search("geese", query_vector=THERE).ids == list("abcdef")
        assert vault.similar(vector=THERE).ids == list("abcdef")
        assert vault.similar(text="ducks").ids == list("abcdef")
        (many,) = vault.search_many(["geese"], query_vectors=[THERE])
        assert many.ids == list("abcdef")


def test_a_tag_that_is_given_twice_counts_once(both):
    for vault in both:
        vault.add_many([{"id": "once", "title": "x", "tags": ["Größe"]}, {"id": "twice", "title": "x"}])
        vault.add(id="twice", title="x", tags=["Größe", "Größe"])
        first, second = vault.search("groesse")
        assert first.raw["bm25"] == second.raw["bm25"]


def test_an_id_with_a_nul_has_no_vector(both):
    for vault in both:
        vault.add(id="a", title="a", vector=HERE)
        assert vault.vectors(["a", "a\0"])[1:].tolist() != vault.vectors(["a", "a\0"])[:1].tolist()
        assert vault.vectors(["a", "a\0"])[0].tolist() == HERE


def test_feedback_is_counted_and_vectors_are_exported_in_one_order(both):
    given = {"m": HERE, "B": THERE, "a": HERE}
    for vault in both:
        vault.add(id="e", title="e", vector=given)
        vault.update("e", vector=dict(reversed(given.items())))
        for action in ("modified", "failed", "dismissed", "accepted"):
            vault.feedback("q", "e", action)
        assert list(vault.stats().feedback) == ["accepted", "dismissed", "failed", "modified"]
        with pytest.raises(VectorError, match=r"vectors of: B \(2\), a \(2\), m \(2\)"):
            vault.search("e", query_vector=[1.0])
    ours, theirs = map(exported, both)
    assert theirs == ours


def test_any_number_may_bound_a_list_of_ids(both):
    for vault in both:
        vault.add(id="a", title="a")
        assert vault._ids_beginning("a", limit=10**30) == ["a"]


def test_words_are_not_guessed_at_where_only_vectors_are_asked(both):
    for vault in both:
        vault.add(id="a", title="retry", vector=HERE)
        assert {note.code for note in vault.search("retrx", legs="text").notes} == {"did_you_mean"}
        assert vault.search("retrx", legs="vector", query_vector=HERE).notes == ()


def test_a_vault_is_backed_up_whatever_profile_and_embedder_it_was_opened_with(dsn, vault_name, tmp_path):
    by_hand = EmbeddingOptions(automatic=False)
    options = {"profile": "six-signals", "embedder": Letters(), "embedding_options": by_hand}
    with PostgresVault(dsn, vault_name, clock=lambda: 10.0, **options) as vault:
        vault.add_many([{"id": f"e{i}", "title": f"retry {i}", "created_at": i} for i in range(9)])
        vault.embed()
        vault.add(id="later", title="retry later")
        vault.backup(tmp_path / "copy.db")
    with Vault(tmp_path / "copy.db", read_only=True) as copy:
        assert len(copy) == 10


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_cannot_hold_every_text_is_refused(postgres, encoding):
    name = f"in_{encoding.lower()}"
    address = postgres.database(name, f"ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(StoreError, match=f"has the encoding {encoding}.*ENCODING 'UTF8'"):
        PostgresVault(address, "v")
    postgres.drop(name)


def test_texts_are_sent_as_they_are_whatever_encoding_the_environment_names(dsn, vault_name, monkeypatch):
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    with PostgresVault(f"{dsn}?client_encoding=SQL_ASCII", vault_name) as vault:
        vault.add(id="漢字", title="größe 😀")
        assert vault.get("漢字").title == "größe 😀"


def test_a_name_that_no_vault_can_have_is_refused(dsn):
    for name in ("n" * 257, "a\0", "a\nb"):
        with pytest.raises(StoreError, match=r"the name of a vault is .*: wanted at most 256 characters"):
            PostgresVault(dsn, name)
    with PostgresVault(dsn, "😀" * 256) as vault:
        assert len(vault) == 0


def test_a_limit_of_the_server_is_no_sign_that_it_is_away():
    assert type(store_error(psycopg.errors.ProgramLimitExceeded("index row too large"), "a vault")) is StoreError
