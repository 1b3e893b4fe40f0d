"""Waves after the first: verification, follow-ups; and explanations, hooks and spans of retrievals."""

import json
import logging

import pytest

from corpora_told import Held, Told
from retrieved import hit
from septet import QueryError, Vault

QUERY = "What does the gizmo do"
WEAK = {"planned-retrieval": "single_corpus_evidence", "septet": None}


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: 1_000.0) as made:
        made.add(id="a", title="ducks swim", description="Ducks swim in ponds.")
        made.add(id="b", title="geese fly", kind="chunk")
        yield made


def found_for(*texts, entry_id="g", score=0.5, **fields):
    """Hits for these phrasings alone."""
    made = hit(entry_id, score, tier="wiki", title="Gizmo", **fields)
    return lambda asked: [made] if asked.query in texts else []


def told_waves(found):
    return [(one.reason, one.query, one.kept) for one in found.envelope.waves]


def test_weak_evidence_is_verified_by_a_rewritten_query_and_kept_if_better(vault):
    wiki = Told("wiki", hits=found_for("gizmo"))
    with vault.retriever("planned-retrieval", corpora={"wiki": wiki}) as retriever:
        found = retriever.retrieve(QUERY)
        assert told_waves(found) == [("query", QUERY, False), ("verification", "gizmo", True)]
        assert found.ids == ["g"]
        envelope = found.envelope
        assert (envelope.verification_performed, envelope.verification_query) == (True, "gizmo")
        assert envelope.verification_reason == "single_corpus_evidence"
        # The details are those of the first wave.
        assert envelope.search_diagnostics["source_diversity"] == 0
        assert envelope.source_diversity == 1


def test_a_verification_that_is_no_better_changes_nothing(vault):
    wiki = Told("wiki", hits=found_for(QUERY))
    with vault.retriever("planned-retrieval", corpora={"wiki": wiki}) as retriever:
        found = retriever.retrieve(QUERY)
        assert told_waves(found) == [("query", QUERY, True), ("verification", "gizmo", False)]
        assert found.ids == ["g"]


@pytest.mark.parametrize("verification", [False, None, True])
def test_a_caller_may_do_without_a_verification(vault, verification):
    with vault.retriever("planned-retrieval", corpora={"wiki": Told("wiki")}) as retriever:
        waves = retriever.retrieve(QUERY, verification=verification).envelope.waves
        assert len(waves) == (1 if verification is False else 2)
        plan = retriever.plan(QUERY, verification=verification)
        assert len(retriever.retrieve(QUERY, plan=plan).envelope.waves) == len(waves)


def test_good_evidence_is_not_verified(vault):
    sure = Told("wiki", hits=lambda asked: [hit("g", 1.0, tier="wiki")], confidence=0.9)
    with vault.retriever("septet", corpora={"wiki": sure}) as retriever:
        assert len(retriever.retrieve(QUERY).envelope.waves) == 1
    unsure = Told("wiki", hits=lambda asked: [hit("g", 1.0, tier="wiki")], confidence=0.1)
    with vault.retriever("septet", corpora={"wiki": unsure}) as retriever:
        assert len(retriever.retrieve(QUERY).envelope.waves) == 2


def test_a_recall_has_one_wave(vault):
    with vault.retriever("recall", corpora={"wiki": Told("wiki")}) as retriever:
        assert told_waves(retriever.retrieve(QUERY)) == [("query", QUERY, True)]


@pytest.mark.parametrize("hops", [0, 1, 2])
def test_follow_ups_add_to_what_was_found_as_often_as_allowed(vault, hops):
    first = hit("g", 0.2, tier="wiki", title="Gizmo", description="Made by Widgetry Works.")
    second = hit("w", 0.2, tier="wiki", title="Widgetry", description="Of Fabrication Group.")
    wiki = Told("wiki", hits=lambda asked: [first] if asked.query == "gizmo" else [second])
    config = {"profile": "planned-retrieval", "hops": hops}
    with vault.retriever(config, corpora={"wiki": wiki}) as retriever:
        found = retriever.retrieve("gizmo")
        assert [one.reason for one in found.envelope.waves].count("follow_up") == hops
        assert set(found.ids) == ({"g", "w"} if hops else {"g"})
        assert sum(one.kept for one in found.envelope.waves) == 1
        assert found.envelope.hops == hops


def test_without_hops_of_the_configuration_only_plans_that_ask_the_web_hop(vault):
    wiki = Told("wiki", hits=found_for("gizmo"))
    with vault.retriever("planned-retrieval", corpora={"wiki": wiki}) as retriever:
        assert retriever.retrieve("gizmo").envelope.hops == 0


def test_no_wave_begins_when_the_time_is_over(vault):
    slow = Held("slow")
    with vault.retriever("planned-retrieval", corpora={"slow": slow}) as retriever:
        found = retriever.retrieve(QUERY, timeout_s=0.3)
        assert len(found.envelope.waves) == 1
    slow.gate.set()


def test_an_explanation_says_where_a_hit_stands_in_each_list_of_each_wave(vault):
    wiki = Told("wiki", hits=found_for("gizmo"))
    with vault.retriever("planned-retrieval", corpora={"wiki": wiki}) as retriever:
        told = retriever.explain(QUERY, "g")
        assert (told.found, told.rank, told.kept) == (True, 1, 2)
        places = {(one.wave, one.corpus): one.rank for one in told.lists if one.corpus == "wiki"}
        assert places == {(1, "wiki"): None, (2, "wiki"): 1}
        assert told.score == pytest.approx(sum(told.breakdown.values()))
        assert "wave 2, wiki.text: rank 1 of 1" in str(told)
        json.dumps(told.to_dict())


def test_an_explanation_says_why_an_entry_is_not_there(vault):
    def reason(entry_id, **options):
        return retriever.explain("ducks swim", entry_id, **options).reason

    with vault.retriever("planned-retrieval") as retriever:
        vault.add(id="c", title="ducks swim", description="a second time")
        assert reason("nobody") == "not found: no corpus has an entry of this id"
        assert "beyond the limit of 1 hits" in reason("c", limit=1) or "no list holds it" in reason("c", limit=1)
        assert reason("b").startswith("not found: ")
        told = retriever.explain("ducks swim", "b", corpora=["memory"])
        others = {one.corpus: one for one in told.corpora}
        assert others["document_chunks"].state == "not asked"
        assert "the caller names others" in others["document_chunks"].reason
        with pytest.raises(QueryError):
            retriever.explain("ducks swim", 3)


def test_an_explanation_names_the_filter_that_leaves_an_entry_out(vault):
    vault.add(id="m", title="ducks swim", kind="message", attrs={"session": "one"})
    with vault.retriever("recall") as retriever:
        told = retriever.explain("ducks swim", "m", scope={"within": "session", "session": "two"})
        messages = next(one for one in told.corpora if one.corpus == "messages")
        assert messages.holds and False in messages.filters.values()
        assert "does not pass" in told.reason
        assert "fails" in str(told)


@pytest.mark.parametrize(
    ("fields", "scope", "field"),
    [
        ({"attrs": {"confidence": 0.1}}, {}, "attrs.confidence"),
        ({"attrs": {"project": "b"}}, {"project": "a"}, "attrs.project"),
        ({"kind": "web"}, {}, "kind"),
    ],
)
def test_an_explanation_of_a_recall_names_the_field_that_leaves_an_entry_out(vault, fields, scope, field):
    vault.add(id="x", title="ducks swim", **fields)
    sources = [{"name": "here", "where": {"kind": {"$ne": "web"}}, "scoped": {"project": "attrs.project"}}]
    sources[0]["shared"] = "attrs.shared"
    with vault.retriever({"profile": "recall", "search": {"sources": sources}}) as retriever:
        told = retriever.explain("ducks swim", "x", scope=scope)
        assert not told.found and told.reason.startswith("not found: it does not pass where ")
        assert field in told.reason and "$and" not in str(told)


def test_symbols_hold_definitions_and_no_other_entries_of_the_vault(vault, tmp_path):
    (tmp_path / "swim.py").write_text("def swim_far():\n    pass\n")
    vault.add(id="x", title="Otters dive")
    with vault.retriever({"corpora": {"repository": str(tmp_path)}}) as retriever:
        told = retriever.explain("where is swim_far defined", "x")
        assert not next(one for one in told.corpora if one.corpus == "symbol_proximity").holds
        [symbol] = [one.id for one in retriever.retrieve("where is swim_far defined") if one.title == "swim_far"]
        assert retriever.corpora["symbol_proximity"].get(symbol).kind == "symbol"


def test_the_definition_of_the_name_that_is_asked_for_comes_first(vault, tmp_path):
    (tmp_path / "swim.py").write_text("def swim_far():\n    pass\n\ndef swim_farther():\n    pass\n")
    vault.add(title="Lanes", description="Those who call swim_far keep to the left, as was said in June.")
    vault.add(title="Rules", description="A pool is defined by its length, and by where its ladder is.")
    for profile in ("septet", "planned-retrieval"):
        with vault.retriever({"profile": profile, "corpora": {"repository": str(tmp_path)}}) as retriever:
            found = retriever.retrieve("where is swim_far defined")
            assert (found[0].tier, found[0].title) == ("symbol_proximity", "swim_far")


def test_a_hook_that_raises_is_logged_once_and_harms_nothing(vault, caplog):
    def broken(envelope):
        raise RuntimeError("sk-secret")

    with caplog.at_level(logging.INFO, "septet"), vault.retriever(on_retrieval=broken) as retriever:
        assert retriever.retrieve("ducks").ids == ["a"]
        assert retriever.retrieve("ducks").ids == ["a"]
    errors = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert len(errors) == 1
    assert "sk-secret" not in caplog.text
