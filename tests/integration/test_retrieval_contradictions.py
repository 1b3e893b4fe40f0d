"""Contradictions among what a retrieval finds: links that say so, or, as documented, titles that share a word."""

import pytest

from septet import Federation, Vault


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: 1_000.0) as made:
        made.add(id="five", title="Token refresh", description="The token is refreshed after five minutes.")
        made.add(id="ten", title="Token renewal", description="The token is refreshed after ten minutes.", kind="chunk")
        made.add(id="deploy", title="Token deploys", description="How a token gets there.", kind="chunk")
        yield made


def counted(knowledge, profile, query="token", **options):
    with knowledge.retriever(profile) as retriever:
        return retriever.retrieve(query, **options).envelope.contradiction_count


def test_linked_hits_of_several_corpora_count_in_calibrated_evidence(vault):
    assert counted(vault, "septet") == 0
    vault.link("five", "ten", "contradicts")
    vault.link("deploy", "ten", "supports")
    assert counted(vault, "septet") == 2
    with Federation({"project": vault}) as both:
        assert counted(both, "septet") == 2


def test_a_link_to_what_was_not_found_counts_nothing(vault):
    vault.add(id="ducks", title="Ducks swim")
    vault.link("five", "ducks", "contradicts")
    vault.link("five", "ten", "contradicts")
    assert counted(vault, "septet", limit=1) == 0
    assert counted(vault, "septet", "ducks", corpora="document_chunks") == 0


def test_linked_hits_are_verified_and_the_user_is_to_be_asked(vault):
    vault.link("five", "ten", "contradicts")
    with vault.retriever("septet") as retriever:
        envelope = retriever.retrieve("what does the token do").envelope
    assert envelope.verification_reason == "contradictions_detected"
    assert envelope.recommended_next_action == "ask_user"


def test_titles_that_share_a_word_count_in_documented_evidence_alone(vault):
    vault.add(id="again", title="Token refresh again", description="The token once more.")
    # Of words that all entries hold scores are near 0, where the rule does not look.
    vault.add_many({"title": f"Ducks of pond {at}"} for at in range(20))
    vault.link("five", "ten", "contradicts")
    assert counted(vault, "planned-retrieval") == 2
    vault.link("five", "ten", "supports")
    assert counted(vault, "planned-retrieval") == 2
    assert counted(vault, "septet") == 0


def test_a_vault_whose_links_cannot_be_read_has_no_contradictions(vault, monkeypatch):
    from septet import StoreError

    def links_of(ids):
        raise StoreError("no")

    vault.link("five", "ten", "contradicts")
    monkeypatch.setattr(vault, "_links_of", links_of)
    assert counted(vault, "septet") == 0
