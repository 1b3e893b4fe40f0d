"""The envelope: one JSON object for a retrieval, with the documented names, read back by any version."""

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from septet import QueryError
from septet.notes import Note
from septet.retrieval.account.accounts import CorpusTrace, ExpansionTrace, WaveTrace
from septet.retrieval.account.envelope import Envelope, envelope_of, retrieval_tier
from septet.retrieval.planning.evidence import calibrated_evidence, evidence_of
from septet.retrieval.planning.planner import plan
from septet.retrieval.planning.policy import Policy

#: The documented fields, in their documented order.
DOCUMENTED = """trigger retrieval_tier memory_hit_count knowledge_hit_count chunk_hit_count repo_hit_count
rrf_fused_hit_count used_vector used_bm25 used_lexical_fallback contradiction_count top_score search_intent
selected_mode backend_mix source_diversity evidence_quality citation_coverage verification_performed verification_reason
verification_query recommended_next_action search_plan search_diagnostics sqlite_journal_mode sqlite_fts5_reported
sqlite_foreign_keys_on""".split()
DETAILS = """policy_version selection_rationale selected_mode backends_used verification_performed verification_reason
verification_query recommended_action evidence_quality citation_coverage source_diversity initial_top_score
verified_top_score verification_top_score_delta notes""".split()
SECRET = "zanzibar"
QUERY = f"Where is the {SECRET} function defined"


def corpus(name, hits, *backends, variant=0, **rest):
    return CorpusTrace(name, variant, hits=hits, lists={"text": hits}, backends=backends, took_ms=1.5, **rest)


def made(**changes):
    """Return the envelope of a retrieval that was verified, in vain."""
    first = {"memory": 2, "document_chunks": 3, "docs_mirror": 1, "web_research": 4, "symbol_proximity": 5, "wiki": 6}
    asked = tuple(corpus(name, count, "memory_bm25", "wiki") for name, count in first.items())
    waves = (
        WaveTrace("query", QUERY, "", True, 9.5, (*asked, corpus("memory", 9, "other", variant=1))),
        WaveTrace(
            "verification", f"{SECRET} function", "weak_evidence_quality", False, 3.0, (corpus("memory", 1, "x"),)
        ),
    )
    fields = {
        "query": QUERY,
        "profile": "planned-retrieval",
        "plan": plan(QUERY, policy=Policy(version=4)),
        "evidence": evidence_of(first, 0.5),
        "verified": evidence_of({"memory": 1}, 0.25),
        "waves": waves,
        "notes": [Note("did_you_mean", f"no entry holds {SECRET}", "look again", "memory")],
        "fused": 12,
        "returned": 8,
        "confidence": 0.4,
        "expansion": ExpansionTrace((QUERY, f"the {SECRET} definition"), 2.5),
        "took_ms": 20.0,
        **changes,
    }
    return envelope_of(**fields)


def test_it_has_the_documented_fields_in_their_order_and_as_many_of_its_own():
    names = list(made().to_dict())
    assert [name for name in names if name in DOCUMENTED] == DOCUMENTED
    assert names == list(Envelope().to_dict())
    assert set(DETAILS) <= set(made().search_diagnostics)
    assert all(name == name.lower() for name in names)
    assert made().to_dict()["search_intent"] == "code_navigation"


def test_every_hit_is_counted_also_of_the_web_and_of_names_in_code():
    found = made()
    assert found.memory_hit_count == 2
    assert found.chunk_hit_count == 3 + 1
    assert (found.web_hit_count, found.symbol_hit_count, found.other_hit_count) == (4, 5, 6)
    assert found.hit_count == 21
    assert found.hit_counts == {
        "memory": 2, "document_chunks": 3, "docs_mirror": 1, "web_research": 4, "symbol_proximity": 5, "wiki": 6,
    }  # fmt: skip
    assert not found.citation_required
    assert Envelope().citation_required
    assert made(evidence=evidence_of({"memory": 4}, 1.0, contradictions=2)).contradiction_ratio == 0.5


def test_backends_are_those_that_found_something_in_the_waves_that_count():
    assert made().backend_mix == ("memory_bm25", "wiki", "other")
    assert made().used_bm25
    assert not made().used_vector
    nothing = made(waves=[WaveTrace(asked=(corpus("memory", 0, "memory_bm25", "memory_vector"),))])
    assert (nothing.backend_mix, nothing.retrieval_tier) == ((), "none")


@pytest.mark.parametrize(
    ("backends", "tier"),
    [
        (("memory_vector",), "vector"),
        (("memory_vector", "memory_bm25"), "hybrid"),
        (("chunk_fts",), "bm25"),
        (("knowledge_text",), "bm25"),
        (("knowledge_text", "knowledge_vector"), "hybrid"),
        (("web", "repo_path"), "none"),
    ],
)
def test_the_tier_says_what_the_hits_rest_on(backends, tier):
    found = made(waves=[WaveTrace(asked=(corpus("memory", 1, *backends),))])
    assert found.retrieval_tier == tier
    assert retrieval_tier(used_vector=True, used_bm25=False, lexical_fallback=True) == "lexical_fallback"


def test_a_verification_is_told_with_the_numbers_of_both_waves():
    found = made()
    assert found.verification_performed
    assert found.verification_reason == "weak_evidence_quality"
    assert found.verification_query == f"{SECRET} function"
    details = found.search_diagnostics
    assert details["initial_top_score"] == 0.5
    assert details["verified_top_score"] == 0.25
    assert details["verification_top_score_delta"] == -0.25
    assert details["verified_source_diversity"] == 1
    assert "search_policy_version=4" in details["notes"]
    assert made(waves=[], verified=None).verification_query is None
    again = made(plan=plan(QUERY, verification=True))
    assert again.trigger == "verification_pass"
    assert made(trigger="auto_chat_preamble").trigger == "auto_chat_preamble"


def test_hops_are_counted():
    hops = [WaveTrace("query"), WaveTrace("follow_up", kept=False), WaveTrace("follow_up")]
    assert made(waves=hops).hops == 2


def test_it_comes_back_from_json():
    for one in (Envelope(), made(), made().without_query(), made(expansion=None, sqlite_journal_mode="wal")):
        text = json.dumps(one.to_dict(), allow_nan=False)
        assert Envelope.from_dict(json.loads(text)) == one
        assert json.dumps(Envelope.from_dict(json.loads(text)).to_dict()) == text


def test_what_an_older_version_lacks_has_its_default_and_what_a_newer_one_has_is_left_out():
    text = made().to_dict()
    older = {name: text[name] for name in DOCUMENTED}
    found = Envelope.from_dict(older)
    assert (found.waves, found.envelope_version, found.took_ms) == ((), 1, 0.0)
    assert found.memory_hit_count == 2
    waves = [{**text["waves"][0], "newer": 1}]
    newer = Envelope.from_dict({**text, "newer": [1], "waves": waves, "notes": [{"code": "newer"}]})
    assert newer.waves == made().waves[:1]
    assert newer.notes[0].code == "newer"


def test_the_query_can_be_left_out_with_all_that_quotes_it():
    whole, without = made(), made().without_query()
    assert SECRET in json.dumps(whole.to_dict())
    assert SECRET not in json.dumps(without.to_dict())
    assert SECRET not in repr(without)
    assert without.query is None
    assert without.hit_counts == whole.hit_counts
    assert without.search_plan["corpora"] == whole.search_plan["corpora"]
    assert [note.code for note in without.notes] == ["did_you_mean"]
    assert len(without.expansion.variants) == 2
    assert Envelope().without_query() == Envelope()


def test_numbers_that_json_lacks_are_unknown():
    wave = WaveTrace(took_ms=math.nan, asked=(corpus("memory", 1, confidence=math.inf),))
    odd = Envelope.from_dict(made(confidence=math.nan, took_ms=math.inf, waves=[wave]).to_dict())
    assert (odd.confidence, odd.took_ms, odd.waves[0].took_ms, odd.waves[0].asked[0].confidence) == (
        None,
        0.0,
        0.0,
        None,
    )
    json.dumps(odd.to_dict(), allow_nan=False)
    unknown = made(evidence=calibrated_evidence({"memory": None}, {"memory": 1}))
    assert unknown.to_dict()["evidence_quality"] is None


def test_numbers_of_numpy_are_taken():
    found = Envelope.from_dict(
        {"top_score": np.float32(0.5), "memory_hit_count": np.int64(3), "took_ms": np.float64(1.5)}
    )
    assert found == Envelope(top_score=0.5, memory_hit_count=3, took_ms=1.5)
    json.dumps(found.to_dict())


FIELDS = [one.name for one in dataclasses.fields(Envelope)]


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_that_cannot_be_raises(name):
    declared = str(Envelope.__dataclass_fields__[name].type)
    for wrong in (object(), b"x", {1: 2}, [object()], "\ud800", -1, 1j, {"took_ms": "x"}):
        if (wrong == -1 and "float" in declared) or (wrong == {"took_ms": "x"} and declared.startswith("Mapping")):
            continue
        with pytest.raises(QueryError, match=name):
            Envelope.from_dict({name: wrong})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*FIELDS, *"abc"]), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from([*FIELDS, "other"]), JSON, max_size=6))
def test_any_json_is_read_or_refused(data):
    try:
        found = Envelope.from_dict(data)
    except QueryError:
        return
    assert Envelope.from_dict(json.loads(json.dumps(found.to_dict(), allow_nan=False))) == found
    assert found.without_query().query is None


@pytest.mark.parametrize("data", [None, [], "x", 3])
def test_what_is_no_object_is_refused(data):
    with pytest.raises(QueryError):
        Envelope.from_dict(data)


def test_it_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        made().query = "x"
