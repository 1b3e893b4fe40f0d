"""The policy of planned retrieval: one frozen value, with every wrong setting reported and no key shown."""

import copy
import dataclasses
import json
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from septet import ProfileError, QueryError
from septet.retrieval.planning.evidence import recent_mean, tuned
from septet.retrieval.planning.knobs import OURS, SECRETS, THEIRS
from septet.retrieval.planning.policy import PRESETS, Policy, knobs

#: Two values other than the default, and as text, for each kind of knob; bounds are asked below.
KEY = "tvly-do-not-show-this"
NUMBERS = [name for name, one in knobs().items() if one.kind in ("number", "whole")]


def text_of(name, value):
    """Return what the environment says for a value."""
    if isinstance(value, bool):
        return "on" if value is not knobs()[name].inverted else "off"
    return ",".join(value) if isinstance(value, tuple) else str(value)


def others_than_default(name):
    one, default = knobs()[name], getattr(Policy(), name)
    if one.kind == "switch":
        return [not default]
    if one.kind == "choice":
        return [choice for choice in one.choices if choice != default]
    if one.kind == "words":
        return [("alpha", "beta gamma")]
    if one.kind == "address":
        return ["http://127.0.0.1:8888", "https://search.example.org/base"]
    if one.kind == "text":
        return ["de", "a-b"]
    return [value for value in (one.least, one.most) if value != default]


@pytest.mark.parametrize("name", list(knobs()))
def test_every_knob_is_read_from_its_variables_the_first_of_which_wins(name):
    for value in others_than_default(name):
        text = text_of(name, value)
        for variable in knobs()[name].names:
            policy = Policy.from_env({variable: f" {text} "})
            assert getattr(policy, name) == value
            assert policy == dataclasses.replace(Policy(), **{name: value})
        first, *rest = knobs()[name].names
        default = getattr(Policy(), name)
        if rest and default is not None:
            assert Policy.from_env({first: text_of(name, default), rest[0]: text}) == Policy()
        assert Policy.from_env(dict.fromkeys(knobs()[name].names, "  ")) == Policy()


def test_every_variable_has_a_prefix_or_is_documented_and_names_one_knob():
    names = [name for one in knobs().values() for name in one.names] + [n for names in SECRETS.values() for n in names]
    assert len(names) == len(set(names))
    documented = {"VOX_EMBEDDING_MODEL", "VOX_EMBEDDING_SEARCH_CANDIDATE_MULT", "TAVILY_API_KEY", "VOX_TAVILY_API_KEY"}
    assert {name for name in names if not name.startswith((OURS, THEIRS))} == documented


@pytest.mark.parametrize("name", list(knobs()))
def test_every_knob_takes_snake_case_and_camel_case_and_comes_back_from_json(name):
    first, *rest = name.split("_")
    for value in others_than_default(name):
        for key in (name, first + "".join(part.title() for part in rest)):
            policy = Policy.from_dict({key: list(value) if isinstance(value, tuple) else value})
            assert getattr(policy, name) == value
            assert Policy.from_dict(json.loads(json.dumps(policy.to_dict(), allow_nan=False))) == policy
            assert Policy.from_dict({"policy": {key: value}, "other": 1}) == policy


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_beyond_its_bounds_raises_or_becomes_the_nearest_and_is_reported(name):
    one = knobs()[name]
    for bound, beyond in ((one.least, one.least - 1), (one.most, one.most + 1)):
        with pytest.raises(ProfileError, match=name):
            Policy(**{name: beyond})
        with pytest.raises(ProfileError, match=one.variable):
            Policy.from_env({one.names[0]: str(beyond)})
        for policy in (
            Policy.from_dict({name: beyond}, strict=False),
            Policy.from_env({one.names[-1]: str(beyond)}, strict=False),
        ):
            assert getattr(policy, name) == bound
            assert len(policy.problems) == 1
            assert "is used" in policy.problems[0]


@pytest.mark.parametrize("name", list(knobs()))
def test_a_value_that_cannot_be_raises_or_leaves_the_default(name):
    timedelta = np.timedelta64(3, "s")
    for bad in (math.nan, math.inf, b"x", object(), {}, [], [1], "\x00", "?" * 10_000, 10**400, "\udc00", timedelta):
        with pytest.raises(ProfileError, match=name):
            Policy(**{name: bad})
        policy = Policy.from_dict({name: bad}, strict=False)
        assert policy.problems
        if not (isinstance(bad, int) and name in NUMBERS):
            assert policy == Policy()


def test_all_problems_are_told_at_once():
    variables = {
        "SEPTET_SEARCH_RRF_K": "lots",
        "VOX_SEARCH_TAVILY_ENABLED": "perhaps",
        "SEPTET_SEARCH_SEARXNG_ENGINES": "google;rm",
        "SEPTET_SEARCH_MEMORY_VEKTOR_WEIGHT": "0.5",
        "VOX_SEARCH_UNKNOWN": "theirs to know",
        "SEPTET_VAULT": "x",
    }
    with pytest.raises(ProfileError) as raised:
        Policy.from_env(variables)
    said = str(raised.value)
    assert all(name in said for name in [*variables][:4])
    assert "did you mean SEPTET_SEARCH_MEMORY_VECTOR_WEIGHT?" in said
    assert "VOX_SEARCH_UNKNOWN" not in said
    lenient = Policy.from_env(variables, strict=False)
    assert lenient == Policy()
    assert len(lenient.problems) == 4


def test_the_switch_of_duckduckgo_is_not_the_wrong_way_round():
    assert Policy().duckduckgo_fallback_enabled
    assert not Policy.from_env({"VOX_SEARCH_DDG_FALLBACK_DISABLED": "true"}).duckduckgo_fallback_enabled
    assert Policy.from_env({"VOX_SEARCH_DDG_FALLBACK_DISABLED": "0"}).duckduckgo_fallback_enabled
    assert not Policy.from_env({"VOX_SEARCH_PERSIST_WEB_HITS_DISABLED": "1"}).persist_web_hits


def test_the_web_is_off_until_it_is_asked_for():
    assert not Policy().web_enabled
    assert not any(Policy.named(name).web_enabled for name in PRESETS)


def test_presets_differ_from_the_documented_defaults_in_what_they_name_alone():
    assert Policy.named("planned-retrieval") == Policy()
    for name, values in PRESETS.items():
        assert dataclasses.replace(Policy(), **values) == Policy.named(name)
    with pytest.raises(ProfileError, match="wanted planned-retrieval or septet"):
        Policy.named("other")


def test_a_base_keeps_what_is_not_named():
    base = Policy(rrf_k=10, web_enabled=True)
    assert Policy.from_env({"SEPTET_SEARCH_RRF_K": "20"}, base=base) == dataclasses.replace(base, rrf_k=20)
    assert Policy.from_dict({"rrfK": 20}, base=base) == dataclasses.replace(base, rrf_k=20)
    with pytest.raises(ProfileError, match="wanted a Policy"):
        Policy.from_dict({}, base={})


def test_the_environment_and_the_resolver_are_read_once():
    environment = {"SEPTET_SEARCH_RRF_K": "20", "TAVILY_API_KEY": KEY}
    policy = Policy.from_env(environment)
    environment.clear()
    assert policy.rrf_k == 20
    assert policy.secret("tavily_api_key").get_secret_value() == KEY
    asked = []
    policy = Policy.from_env({"TAVILY_API_KEY": "of the environment"}, asked.append)
    assert asked == [name for names in SECRETS.values() for name in names]
    assert policy.secret("tavily_api_key") is None


def test_the_first_name_of_a_key_that_is_known_counts():
    held = {"VOX_TAVILY_API_KEY": "last", "TAVILY_API_KEY": "  second \n", "SEPTET_SEARCH_TAVILY_API_KEY": " "}
    assert Policy().with_secrets(held.get).secret("tavily_api_key").get_secret_value() == "second"
    with pytest.raises(ProfileError, match="wanted tavily_api_key or qdrant_api_key"):
        Policy().secret("other")


def test_keys_are_shown_nowhere():
    policy = Policy.from_env({"TAVILY_API_KEY": KEY})
    shown = [
        repr(policy),
        str(policy),
        json.dumps(policy.to_dict()),
        str(dataclasses.asdict(policy)),
        str(vars(policy)),
    ]
    assert not any(KEY in text for text in shown)
    assert KEY.encode() not in pickle.dumps(policy)
    assert pickle.loads(pickle.dumps(policy)) == policy == Policy()
    assert copy.copy(policy) == policy
    assert dataclasses.replace(policy, rrf_k=10).secret("tavily_api_key").get_secret_value() == KEY


def raising(_):
    raise RuntimeError(f"no such secret: {KEY}")


@pytest.mark.parametrize("resolver", [raising, lambda _: KEY + " two", lambda _: 12, lambda _: KEY + "é"])
def test_a_resolver_that_fails_is_reported_without_the_key(resolver):
    with pytest.raises(ProfileError) as raised:
        Policy().with_secrets(resolver)
    assert KEY not in str(raised.value)
    assert raised.value.__cause__ is None
    policy = Policy().with_secrets(resolver, strict=False)
    assert policy.problems
    assert not policy.secrets
    assert not any(KEY in problem for problem in policy.problems)
    with pytest.raises(ProfileError, match="wanted a function"):
        Policy().with_secrets("key")


def test_a_key_that_is_given_plainly_is_shown_nowhere():
    policy = Policy(secrets={"tavily_api_key": KEY})
    assert policy.secret("tavily_api_key").get_secret_value() == KEY
    assert KEY not in repr(vars(policy))


@pytest.mark.parametrize("secrets", [5, None, "key", [KEY], {"other": KEY}, {"tavily_api_key": 5}, {KEY: KEY}])
def test_what_is_no_key_is_refused_unseen(secrets):
    with pytest.raises(ProfileError) as raised:
        Policy(secrets=secrets)
    assert KEY not in str(raised.value)


@pytest.mark.parametrize("name", ["searxng_url", "qdrant_url"])
@pytest.mark.parametrize(
    "url",
    [f"https://me:{KEY}@host", f"https://host/?key={KEY}", "ftp://host", "host", "http://", "http://a b", "http://h:x"],
)
def test_an_address_with_a_secret_or_without_a_host_is_refused_unseen(name, url):
    with pytest.raises(ProfileError) as raised:
        Policy(**{name: url})
    assert KEY not in str(raised.value)


@pytest.mark.parametrize("key", ["tavily_api_key", "tavilyApiKey", "qdrantApiKey"])
def test_a_key_in_a_configuration_is_refused_unseen(key):
    with pytest.raises(ProfileError, match="an API key, which a policy cannot contain") as raised:
        Policy.from_dict({key: KEY})
    assert KEY not in str(raised.value)


@pytest.mark.parametrize("data", [None, "file", [1], {"policy": 3}, {1: 2}, {"rrfK": 1, "rrf_k": 1}, {"rrf": 60}])
def test_what_is_no_block_is_refused(data):
    with pytest.raises(ProfileError):
        Policy.from_dict(data)


def test_a_policy_is_frozen_and_can_be_a_key():
    policy = Policy()
    with pytest.raises(dataclasses.FrozenInstanceError):
        policy.rrf_k = 10
    assert {policy: 1}[Policy()] == 1


def test_its_help_names_every_knob():
    assert all(f"{name}: {one.about}" in Policy.__doc__ for name, one in knobs().items())


@given(st.lists(st.tuples(*[st.none() | st.floats(-2, 3)] * 3), max_size=5))
def test_feedback_keeps_a_policy_within_the_documented_ends(rows):
    policy = Policy()
    for precision, reliability, rate in rows:
        policy = tuned(policy, citation_precision=precision, model_reliability=reliability, source_hit_rate=rate)
        assert 0.45 - 1e-9 <= policy.verification_weak_evidence_threshold <= 0.85
        assert 3 <= policy.web_search_max_hops <= 5
        assert 0.3 <= policy.evidence_quality_coverage_weight <= 0.6
        assert policy.evidence_quality_top_weight + policy.evidence_quality_coverage_weight == pytest.approx(1.0)


def test_feedback_moves_nothing_away_from_where_it_was_set_beyond_an_end():
    beyond = Policy(
        verification_weak_evidence_threshold=0.95, web_search_max_hops=9, evidence_quality_coverage_weight=0.8
    )
    assert tuned(beyond, citation_precision=0.0, model_reliability=0.0) == beyond
    low = Policy(verification_weak_evidence_threshold=0.2)
    assert tuned(low, citation_precision=1.0, source_hit_rate=1.0) == low


def test_feedback_without_measurements_changes_nothing():
    assert tuned(Policy()) == Policy()
    for bad in (math.nan, math.inf, "1", True):
        with pytest.raises(QueryError, match="citation_precision"):
            tuned(Policy(), citation_precision=bad)
    with pytest.raises(QueryError, match="wanted a Policy"):
        tuned({})


def test_the_latest_24_measurements_count():
    assert recent_mean([]) == 0.75
    assert recent_mean([0.5]) == 0.5
    assert recent_mean([0.0] * 100 + [1.0] * 24) == 1.0
    assert recent_mean([1.0] + [0.0] * 24) == 0.0
    with pytest.raises(QueryError):
        recent_mean([math.nan])
