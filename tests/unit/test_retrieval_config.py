"""The configuration of a retriever, from a name, a dict and a file; what is wrong is named, and no key is shown."""

import json

import pytest

from septet import ProfileError
from septet.retrieval import Policy, RetrievalConfig
from septet.retrieval.config import PROFILES, retrieval_config

KEY = "sk-very-secret"
BLOCKS = {
    "search": {"recallLimit": 5, "queryExpansion": True},
    "policy": {"rrfK": 10.0},
    "expansion": {"provider": "openai", "model": "m", "apiKey": KEY},
    "corpora": {"repository": "src", "memoryKinds": "note"},
}


def wanted(made):
    assert (made.search.limit, made.search.query_expansion) == (5, True)
    assert made.chosen_policy.rrf_k == 10.0
    assert (made.expansion.model, made.corpora.repository, made.corpora.memory_kinds) == ("m", "src", ("note",))
    assert KEY not in repr(made)
    return True


@pytest.mark.parametrize("name", PROFILES)
def test_a_name_is_a_configuration(name):
    assert retrieval_config(name) == RetrievalConfig(profile=name)
    assert retrieval_config({"profile": name}).profile == name
    made = retrieval_config(name)
    assert retrieval_config(made) is made


def test_blocks_may_stand_in_the_block_retrieval_or_beside_it(tmp_path):
    assert wanted(retrieval_config(BLOCKS))
    assert wanted(retrieval_config({"retrieval": BLOCKS}))
    for number, data in enumerate([{"retrieval": BLOCKS}, {"retrieval": {"profile": "recall"}, **BLOCKS}, BLOCKS]):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps({"embedding": {"provider": "none"}, "other": 1, **data}))
        assert wanted(retrieval_config(path)) and wanted(retrieval_config(str(path)))
    empty = tmp_path / "empty.yaml"
    empty.write_text("")
    assert retrieval_config(empty) == RetrievalConfig()


@pytest.mark.parametrize("profile", PROFILES)
def test_knobs_that_are_not_named_are_those_of_the_profile(profile):
    base = Policy.named("septet" if profile == "septet" else "planned-retrieval")
    assert RetrievalConfig(profile=profile).chosen_policy == base
    made = RetrievalConfig(profile=profile, policy={"version": 3}).chosen_policy
    assert (made.version, made.evidence, made.identifiers) == (3, base.evidence, base.identifiers)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"profil": "recall"}, "profil"),
        ({"profile": "best"}, "profile"),
        ({"corpora": {"repo": "x"}}, "corpora.repo"),
        ({"search": {"recallLimit": 99}}, "recallLimit"),
        ({"policy": {"rrf": 3}}, "rrf"),
        ({"expansion": {"apiKey": f"{KEY} {KEY}"}}, "apiKey"),
        ({"limit": 0}, "limit"),
        ({"timeoutS": 0}, "timeoutS"),
        ({"hops": -1}, "hops"),
        ({"retrieval": 3}, "retrieval"),
        ({"retrieval": {"search": {}}, "search": {}}, "search"),
        ({5: 1}, "a key of type int"),
        ("nowhere.toml", "nowhere"),
        ("best", "planned-retrieval"),
        (7, "config"),
    ],
)
def test_what_is_wrong_is_named_without_its_value(given, said):
    with pytest.raises(ProfileError, match=said) as caught:
        retrieval_config(given)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"retreival": {"profile": "recall"}}, "did you mean retrieval"),
        ({"retrieval": {}, "polcy": {"rrfK": 10}}, "did you mean policy"),
        ({"serach": {"recallLimit": 5}, "embedding": {}}, "did you mean search"),
        ({"expansions": {"model": "m"}}, "did you mean expansion"),
        ({"profile": "recall"}, "profile outside of a block"),
        ({"search": {}, "timeoutS": 2}, "timeoutS outside of a block"),
    ],
)
def test_a_block_of_a_file_that_is_misspelled_or_missing_is_not_passed_over(tmp_path, data, said):
    path = tmp_path / "septet.json"
    path.write_text(json.dumps(data))
    with pytest.raises(ProfileError, match=said):
        retrieval_config(path)


def test_what_else_a_file_holds_is_left_to_others(tmp_path):
    path = tmp_path / "septet.json"
    others = {"research": 1, "extension": {}, "embedding": {}, "corpus": [], "politics": 0, "profiles": {}, "": 1}
    path.write_text(json.dumps({**others, "retrieval": {"profile": "recall"}}))
    assert retrieval_config(path).profile == "recall"
