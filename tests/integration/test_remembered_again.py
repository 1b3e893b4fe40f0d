"""A text that is remembered again is the same memory: what is said of it changes, what is not said stays."""

import pytest

from septet import ReadOnly, Vault


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: 1.7e9) as made:
        yield made


def test_the_same_text_again_is_the_same_memory_and_changes_nothing(vault):
    told = {
        "topics": ["key", "staging"],
        "domain": "ops",
        "source": "chat 12",
        "trust": "untrusted",
        "valid_until": 4e9,
    }
    first = vault.remember("The key of staging is rotated on Mondays", **told)
    before, history = vault.get(first), vault.history(first)
    assert vault.remember("The key of staging is rotated on Mondays") == first
    assert vault.get(first) == before and vault.history(first) == history


def test_what_is_given_with_a_known_text_changes_it_and_what_is_left_out_stays(vault):
    first = vault.remember("Bob owns billing", "since May", ["billing"], source="chat 12", trust="untrusted")
    assert vault.remember("Bob owns billing", "since May", ["billing", "bob"], domain="team") == first
    now = vault.get(first)
    assert (now.tags, now.domain, now.source, now.trust) == (("billing", "bob"), "team", "chat 12", "untrusted")
    assert len(vault.history(first)) == 1


def test_other_details_are_another_memory_and_an_id_of_ones_own_takes_another_text(vault):
    first = vault.remember("Bob owns billing", "since May")
    assert vault.remember("Bob owns billing", "since June") != first
    vault.remember("Bob owns billing", id="bob", topics=["billing"])
    vault.remember("Ann owns billing", id="bob")
    assert (vault.get("bob").title, vault.get("bob").tags) == ("Ann owns billing", ())


def test_a_memory_that_is_known_is_refused_by_a_vault_for_reading(tmp_path):
    with Vault(tmp_path / "memories.db") as vault:
        vault.remember("Bob owns billing")
    with Vault(tmp_path / "memories.db", read_only=True) as vault, pytest.raises(ReadOnly):
        vault.remember("Bob owns billing")
