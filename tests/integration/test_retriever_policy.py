"""The policy of a retriever: where its knobs and its keys come from."""

import pytest

from septet import Vault
from septet.retrieval import Policy

OWN = {"TAVILY_API_KEY": "tvly-own"}


@pytest.fixture
def vault():
    with Vault(":memory:") as made:
        made.add(id="a", title="Where tokens live", description="The gateway keeps access tokens.")
        yield made


def key_of(vault, **options):
    with vault.retriever("planned-retrieval", **options) as retriever:
        key = retriever.policy.secret("tavily_api_key")
    return None if key is None else key.get_secret_value()


def test_keys_of_a_policy_stay_those_of_the_environment_fill_in_and_a_resolver_wins(vault, monkeypatch):
    monkeypatch.setenv("TAVILY_API_KEY", "tvly-environment")
    assert key_of(vault) == "tvly-environment"
    assert key_of(vault, policy=Policy().with_secrets(OWN.get)) == "tvly-own"
    assert key_of(vault, policy=Policy().with_secrets(OWN.get), secrets=lambda name: None) is None


def test_knobs_come_from_the_environment_when_they_are_asked_for(vault, monkeypatch):
    monkeypatch.setenv("SEPTET_SEARCH_POLICY_VERSION", "7")
    monkeypatch.setenv("SEPTET_SEARCH_STRUCTURE_WORDS", "live")
    with vault.retriever("planned-retrieval") as retriever:
        assert retriever.retrieve("tokens live").envelope.policy_version == 1
    with vault.retriever("planned-retrieval", policy=Policy.from_env()) as retriever:
        found = retriever.retrieve("tokens live")
    assert found.envelope.policy_version == 7
    assert found.plan.intent == "repo_structure"


def test_what_judges_the_evidence_is_the_policys(vault):
    kinds = []
    for profile, policy in (
        ("septet", None),
        ("planned-retrieval", None),
        ("planned-retrieval", {"evidence": "calibrated"}),
    ):
        with vault.retriever(profile, policy=policy) as retriever:
            envelope = retriever.retrieve("tokens").envelope
        kinds.append(envelope.evidence_kind)
        assert 0 <= envelope.evidence_quality <= 1
    assert kinds == ["calibrated", "documented", "calibrated"]
