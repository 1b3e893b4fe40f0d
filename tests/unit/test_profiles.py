"""Profiles are values: documented numbers, changed or written anew as data, and refused when they do not fit."""

import copy
import json
import math
import pickle
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import pytest

from septet import Profile, ProfileError, Vault
from septet.profiles import BUILTIN, resolve
from septet.ranking.fusion import Col, Rrf, Scale, Sum, Term
from septet.ranking.profile import Adaptive, Cuts

RRF = {
    "name": "ranks",
    "signals": {
        "relevance": {"rrf": [{"weight": 1, "of": {"col": "bm25"}}, {"weight": 2, "of": {"col": "cosine"}}], "k": 10},
        "fresh": {"col": "decay"},
    },
    "weights": {"text": {"relevance": 1, "fresh": 0.5}, "hybrid": {"relevance": 3, "fresh": 0.5}},
    "adaptive": {"text": ["relevance"], "hybrid": ["relevance"]},
}

TOML = """
extends = "septet"
name = "mine"
[weights.text]
semantic = 0.5
[cuts]
limit = 3
"""
YAML = """
extends: septet
name: mine
weights: {text: {semantic: 0.5}}
cuts: {limit: 3}
"""
JSON = json.dumps({"extends": "septet", "name": "mine", "weights": {"text": {"semantic": 0.5}}, "cuts": {"limit": 3}})


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: 1e9) as made:
        for i in range(5):
            made.add(id=f"e{i}", title="alpha " * (i + 1) + "beta", vector=[1, i], created_at=1e9 - i * 86_400 * 100)
        yield made


@pytest.mark.parametrize("row", ["text", "hybrid"])
def test_the_documented_seven_weights_sum_to_090(row):
    assert math.fsum(BUILTIN["seven-signals"].weights[row].values()) == pytest.approx(0.90, abs=1e-12)


def test_the_seven_weights_are_as_printed():
    assert list(BUILTIN["seven-signals"].weights["text"].values()) == [0.35, 0, 0.10, 0.10, 0.10, 0.10, 0.15]
    assert list(BUILTIN["seven-signals"].weights["hybrid"].values()) == [0.20, 0.15, 0.10, 0.10, 0.10, 0.10, 0.15]


def test_the_six_signals_have_no_graph_and_sum_to_one():
    six = BUILTIN["six-signals"]
    assert "graph_proximity" not in six.signals and len(six.signals) == 6
    assert math.fsum(six.weights["text"].values()) == pytest.approx(1)
    assert math.fsum(six.weights["hybrid"].values()) == pytest.approx(1)
    assert (six.text.stop_words, six.vectors) == ("drop", "per-model")


def test_the_default_shares_the_documented_weight_of_relevance():
    hybrid = BUILTIN["septet"].weights["hybrid"]
    assert hybrid["semantic"] + hybrid["vector"] == pytest.approx(0.35)


@pytest.mark.parametrize(("suffix", "text"), [(".toml", TOML), (".yaml", YAML), (".yml", YAML), (".json", JSON)])
def test_a_profile_file_extends_a_built_in_one(tmp_path, suffix, text):
    path = tmp_path / f"mine{suffix}"
    path.write_text(text)
    for given in (path, str(path)):
        mine = resolve(given)
        assert (mine.name, mine.cuts.limit, mine.weights["text"]["semantic"]) == ("mine", 3, 0.5)
        assert mine.weights["hybrid"] == BUILTIN["septet"].weights["hybrid"]
        assert mine.signals == BUILTIN["septet"].signals


def test_a_changed_profile_without_a_name_says_what_it_was_made_from():
    assert resolve({"extends": "septet"}).name == "septet (changed)"


# fmt: off
TEXT_RULES = {
    "match": "any", "stop_words": "keep", "least_chars": 2, "grams": True, "names": True,
    "max_terms": 256, "snippet": "match", "snippet_chars": 120, "typos": True,
    "feedback": {"rows": 5, "terms": 20, "agreeing": 2, "covered": 0.85},
    "min_terms": 3, "conversation": False, "k1": 1.2, "b": 0.75,
    "weights": {"id": 1.0, "title": 1.0, "description": 1.0, "context": 1.0, "tags": 1.0},
}
CUTS = {
    "limit": 10, "factor": 3, "minimum": 30, "maximum": None, "guard_below": 50, "budget": "skip",
    "confident_score": None, "confident_limit": 3, "min_score": None, "diversity": 0.0, "likeness": "vectors",
    "ties": "found",
}
# fmt: on


def test_what_a_profile_leaves_out_has_the_documented_values():
    signals = {"semantic": {"col": "bm25"}}
    weights = {"text": {"semantic": 1.0}, "hybrid": {"semantic": 1.0}}
    assert Profile(name="least", signals=signals, weights=weights).to_dict() == {
        "name": "least",
        "description": "",
        "text": TEXT_RULES,
        "signals": signals,
        "weights": weights,
        "missing": "zero",
        "factors": {},
        "floor": None,
        "pinned": None,
        "balance": None,
        "smoothing": None,
        "confidence": {
            "words_intercept": -2.9,
            "reach_weight": 18.4,
            "information_weight": 46.8,
            "half_information": 12.0,
            "share_penalty": 24.2,
            "intercept": 0.3,
            "words_weight": 1.6,
            "cosine_weight": 7.5,
            "cosine_only_intercept": -1.5,
            "cosine_only_weight": 9.2,
            "agreeing": 5,
        },
        "facts": {
            "roles": {},
            "severity": {"critical": 1.0, "warning": 0.7, "suggestion": 0.4},
            "half_life_days": 365.0,
            "ramp": 0.25,
        },
        "graph": {"anchors": 5, "most_links": None, "most_pulled": 100, "proximity": [1 / 2, 1 / 3]},
        "cuts": CUTS,
        "adaptive": {
            "min_rows": 30,
            "span": 0.15,
            "values": {"accepted": 1.0, "modified": 0.5, "dismissed": 0.0},
            "text": ["semantic"],
            "hybrid": ["semantic"],
            "fixed": [],
        },
        "vectors": "one",
        "memory_score": None,
    }


@pytest.mark.parametrize(
    ("room", "field", "least", "under", "most", "over"),
    [
        ("facts", "ramp", 1e-9, 0.0, 1.0, 1.001),
        ("facts", "half_life_days", 1e-9, 0.0, 1e9, None),
        ("adaptive", "span", 0.0, -0.001, 1.0, 1.001),
        ("adaptive", "min_rows", 1, 0, 10**6, None),
        ("graph", "anchors", 0, -1, 10**6, None),
        ("graph", "most_links", 0, -1, 10**6, None),
        ("graph", "most_pulled", 0, -1, 10**6, None),
        ("cuts", "factor", 0, -1, 10**6, None),
        ("cuts", "guard_below", 0, -1, 10**6, None),
        ("text", "max_terms", 1, 0, 4096, 4097),
    ],
)
def test_a_number_may_be_at_the_ends_of_its_range_and_not_beyond(room, field, least, under, most, over):
    for fits in (least, most):
        assert getattr(getattr(resolve({"extends": "septet", room: {field: fits}}), room), field) == fits
    for beyond in (under, over):
        if beyond is not None:
            with pytest.raises(ProfileError, match=f"{room}.{field}"):
                resolve({"extends": "septet", room: {field: beyond}})


def test_a_column_may_weigh_nothing_but_not_less():
    assert resolve({"extends": "septet", "text": {"weights": {"tags": 0}}}).text.weights.tags == 0
    with pytest.raises(ProfileError, match=r"text\.weights\.tags"):
        resolve({"extends": "septet", "text": {"weights": {"tags": -0.001}}})


def test_of_several_unknown_columns_the_first_by_name_is_named():
    two = {"sum": [{"weight": 1, "of": {"col": "smell"}}, {"weight": 1, "of": {"col": "colour"}}]}
    with pytest.raises(ProfileError, match="unknown column 'colour'"):
        resolve({"extends": "septet", "signals": {"semantic": two}})


def test_after_a_half_life_an_entry_has_half_the_signal(vault):
    now, days = 1e9, BUILTIN["seven-signals"].facts.half_life_days
    vault.add(id="old", title="alpha gamma", created_at=now - days * 86_400, updated_at=now - days * 86_400)
    (hit,) = (hit for hit in vault.search("alpha gamma", profile="seven-signals") if hit.id == "old")
    assert hit.signals["temporal_decay"] == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("name", list(BUILTIN))
def test_a_profile_survives_being_written_down(name):
    written = json.loads(json.dumps(BUILTIN[name].to_dict()))
    assert Profile(**written) == resolve(written) == BUILTIN[name]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("unknown", "unknown profile 'unknown'.*septet"),
        (5, "unknown profile 5"),
        (["septet"], "unknown profile"),
        ({}, "name"),
        ({"name": ""}, "name"),
        ({"extends": "nothing"}, "extends 'nothing'"),
        ({"extends": "septet", "colour": "red"}, "colour"),
        ({"extends": "septet", "weights": {"text": {"semantic": -0.1}}}, "weights.text"),
        ({"extends": "septet", "weights": {"text": {"other": 0.1}}}, "weights.text"),
        ({"extends": "septet", "weights": {"text": {"semantic": "much"}}}, "weights.text.semantic"),
        ({"extends": "septet", "weights": {"text": dict.fromkeys(BUILTIN["septet"].signals, 0)}}, "not all 0"),
        ({"extends": "septet", "weights": {"third": {}}}, "weights.third"),
        ({"extends": "septet", "signals": {"semantic": {"col": "colour"}}}, "unknown column 'colour'"),
        ({"extends": "septet", "signals": {"extra": {"col": "bm25"}}}, "weights"),
        ({"extends": "septet", "signals": {"semantic": {"sum": []}}}, "semantic"),
        ({"extends": "septet", "signals": {"semantic": {"rrf": [], "k": 1}}}, "semantic"),
        ({"extends": "septet", "signals": {"semantic": 5}}, "semantic"),
        ({"extends": "septet", "cuts": {"limit": 0}}, "cuts.limit"),
        ({"extends": "septet", "facts": {"ramp": 0}}, "facts.ramp"),
        ({"extends": "septet", "adaptive": {"text": ["nothing"]}}, "nothing"),
        ({"extends": "septet", "text": {"max_terms": 0}}, "text.max_terms"),
        ({"extends": "septet", "text": {"stop_words": "some"}}, "text.stop_words"),
        ({"extends": "septet", "vectors": "two"}, "vectors"),
        ({"extends": "septet", "weights": [0.3, 0.7]}, "weights"),
    ],
    ids=repr,
)
def test_a_malformed_profile_is_an_error_that_names_the_place(vault, given, message):
    with pytest.raises(ProfileError, match=message):
        vault.search("alpha", profile=given)
    with pytest.raises(ProfileError, match=message):
        Vault(":memory:", profile=given)


NO_FINITE_WEIGHT = [
    {"weights": {"text": {"semantic": math.nan}}},
    {"weights": {"text": {"semantic": math.inf}}},
    {"signals": {"semantic": {"sum": [{"weight": 0, "of": {"col": "bm25"}}]}}},
    {"signals": {"semantic": {"sum": [{"weight": math.inf, "of": {"col": "bm25"}}]}}},
    {"signals": {"semantic": {"rrf": [{"weight": 1, "of": {"col": "bm25"}}], "k": 0, "first_rank": 0}}},
    {"memory_score": math.nan},
    {"facts": {"severity": {"suggestion": math.nan}}},
    {"facts": {"severity": {"suggestion": 7.0}}},
    {"graph": {"proximity": [math.nan]}},
    {"adaptive": {"values": {"accepted": 30.0}}},
]


@pytest.mark.parametrize("changes", NO_FINITE_WEIGHT, ids=repr)
def test_numbers_that_cannot_rank_are_refused_with_the_profile(changes):
    with pytest.raises(ProfileError):
        resolve({"extends": "septet", **changes})


def test_a_parent_that_is_no_name_is_a_profile_error():
    with pytest.raises(ProfileError, match="extends"):
        resolve({"extends": ["septet"]})


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("missing.toml", None),
        ("broken.toml", b"a = [1,"),
        ("broken.json", b"{"),
        ("broken.yaml", b"a: [1,"),
        ("latin.toml", b'name = "caf\xe9"'),
        ("list.json", b"[1, 2]"),
        ("scalar.yaml", b"5"),
        ("empty.yaml", b""),
        ("empty.toml", b""),
        ("folder.toml", "folder"),
    ],
)
def test_a_file_that_holds_no_profile_is_an_error_that_names_it(tmp_path, name, content):
    path: Path = tmp_path / name
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(ProfileError, match="name" if name == "empty.toml" else path.stem):
        resolve(path)


def test_a_path_with_another_ending_is_an_error_that_says_which_are_read(tmp_path):
    with pytest.raises(ProfileError, match=r"\.toml, \.yaml"):
        resolve(tmp_path / "profile.txt")


def test_a_third_profile_with_reciprocal_ranks_works_without_code(vault):
    results = vault.search("alpha beta", profile=RRF, limit=5)
    assert len(results) == 5
    for rank, hit in enumerate(sorted(results, key=lambda h: -h.signals["relevance"]), start=1):
        assert hit.signals["relevance"] == pytest.approx(1 / (10 + rank))
        assert math.fsum(hit.breakdown.values()) == pytest.approx(hit.score)
    assert results.profile == "ranks"


def test_reciprocal_ranks_of_text_and_vectors_are_added_by_their_weights(vault):
    hits = vault.search("alpha", profile=RRF, query_vector=[0, 1], limit=5)
    by_id = {h.id: h for h in hits}
    text = vault.search("alpha", profile=RRF, limit=5)
    rank = sorted(text, key=lambda h: -h.signals["relevance"]).index(next(h for h in text if h.id == "e4")) + 1
    assert by_id["e4"].signals["relevance"] == pytest.approx(2 / (10 + 1) + 1 / (10 + rank))
    assert by_id["e4"].breakdown["relevance"] == pytest.approx(3 / 3.5 * by_id["e4"].signals["relevance"]) or (
        by_id["e4"].breakdown["relevance"] == pytest.approx(3 * by_id["e4"].signals["relevance"])
    )


def test_a_candidate_that_the_text_does_not_match_gets_no_rank_from_the_text(vault):
    hits = vault.search("zeta", profile=RRF, query_vector=[0, 1])
    assert next(h for h in hits if h.id == "e4").signals["relevance"] == pytest.approx(2 / (10 + 1))


def test_a_malformed_expression_is_an_error_that_names_what_is_wrong_in_it():
    term = {"weight": 1, "of": {"col": "bm25"}}
    with pytest.raises(ProfileError, match=r"\bk\b"):
        resolve({"extends": "septet", "signals": {"semantic": {"rrf": [term], "k": -1}}})


def test_feedback_moves_the_weights_of_a_third_profile(vault):
    for _ in range(30):
        vault.feedback("alpha", "e1", "accepted")
    weights = vault.weights(profile=RRF)
    assert weights.values["relevance"] > 1 / 1.5
    assert sum(weights.values.values()) == pytest.approx(1)


def test_a_vault_keeps_its_own_profile_and_a_search_may_name_another(vault):
    with Vault(":memory:", profile="seven-signals") as other:
        other.add(title="alpha")
        assert other.search("alpha").profile == "seven-signals"
        assert other.search("alpha", profile="six-signals").profile == "six-signals"
        assert other.weights().profile == "seven-signals"


def test_profiles_cannot_be_changed_in_place():
    with pytest.raises(FrozenInstanceError, match="replace"):
        BUILTIN["septet"].name = "other"
    with pytest.raises(FrozenInstanceError, match="replace"):
        del BUILTIN["septet"].cuts.limit


@pytest.mark.parametrize("name", sorted(BUILTIN))
def test_the_built_in_profiles_fit_though_nothing_checks_them_at_start(name):
    checked = Profile(**BUILTIN[name].to_dict())
    assert checked == BUILTIN[name]
    assert repr(checked) == repr(BUILTIN[name])


def test_a_changed_copy_is_checked_and_reads_the_columns_of_its_own_signals():
    septet = BUILTIN["septet"]
    signals = {"severity": septet.signals["severity"]}
    weights = {"text": {"severity": 1}, "hybrid": {"severity": 1}}
    severe = replace(septet, name="severe", signals=signals, weights=weights, adaptive=Adaptive(), factors={})
    assert (severe.name, severe.columns, severe.cuts) == ("severe", {"severity"}, septet.cuts)
    assert "cosine" in septet.columns
    with pytest.raises(ProfileError, match=r"weights\.text"):
        replace(severe, signals=septet.signals)


def test_a_profile_written_as_values_is_the_one_written_as_data():
    term = Term(weight=1, of=Col(col="bm25"))
    by_hand = Profile(
        name="ranks",
        signals={"relevance": Rrf(rrf=[term, Term(weight=2, of=Col(col="cosine"))], k=10), "fresh": Col(col="decay")},
        weights=RRF["weights"],
        adaptive=Adaptive(text=["relevance"], hybrid=["relevance"]),
    )
    assert by_hand == resolve(RRF)
    assert by_hand.formula is by_hand.formula and by_hand.columns  # kept beside the fields, and not copied
    assert copy.deepcopy(by_hand) == pickle.loads(pickle.dumps(by_hand)) == by_hand
    assert by_hand != BUILTIN["septet"] and by_hand != RRF
    assert hash(term) == hash(by_hand.signals["relevance"].rrf[0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Profile(name="x", signals={}, weights={}), "Profile does not fit at signals"),
        (lambda: Cuts(colour="red"), "Cuts does not fit at colour"),
        (lambda: Cuts(limit=0), "Cuts does not fit at limit"),
        (lambda: Cuts(limit="many"), "limit"),
        (lambda: Term(weight=-1, of=Col(col="bm25")), "Term does not fit at weight"),
        (lambda: Scale(), "scale"),
        (lambda: Scale(scale={"colour": "red"}), "wanted an expression"),
        (lambda: Scale(scale=Cuts()), "wanted an expression"),
        (lambda: Sum(sum=[Term(weight=0, of=Col(col="bm25"))]), "all weights of the sum are 0"),
        (lambda: resolve({"extends": "septet", 5: "five"}), "5"),
    ],
)
def test_a_malformed_value_is_refused_where_it_is_made(make, message):
    with pytest.raises(ProfileError, match=message):
        make()
