"""What is asked next: rewritten queries, follow-ups, routes, and passages within a budget."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from septet import QueryError
from septet.evaluation.measures import groundedness, term_recall
from septet.retrieval.planning.policy import Policy
from septet.retrieval.planning.queries import Clue, continues, follow_up_queries, rewritten_query, route
from septet.retrieval.recall.presenting import Passage, selected_passages

RECORDED = Policy(words="substring")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)
NAMES = st.lists(st.sampled_from(["Tantivy", "Index", "and", "Solr", "This", "Überblick", "x", "."]), max_size=12)
CLUES = st.lists(st.builds(Clue, st.none() | st.floats(-2, 2), TEXTS | NAMES.map(" ".join), st.booleans()), max_size=8)
POLICIES = st.sampled_from([Policy(), RECORDED, Policy(follow_up_max_queries=1), Policy(follow_up_weak_score=0.0)])


@given(TEXTS, POLICIES)
def test_a_rewritten_query_has_no_stop_word_and_rewrites_to_itself(query, policy):
    found = rewritten_query(query, policy)
    if found is None:
        return
    assert found == found.lower() or not found.isascii()
    assert not set(found.split()) & set(policy.verification_stop_words)
    assert all(len(word.encode()) > 2 for word in found.split())
    assert rewritten_query(found, policy) == found


@pytest.mark.parametrize(
    ("query", "rewritten"),
    [
        ("Where is the Überprüfung für Löhne", "überprüfung für löhne"),
        ("how does it", None),
        ("", None),
        ("認証 の 期限", "認証 の 期限"),
        ("что это?", "что это"),
        ("What is the plan.", "plan"),
        ("src/lib.rs - main", "src/lib.rs main"),
    ],
)
def test_a_rewritten_query_keeps_words_of_every_script(query, rewritten):
    assert rewritten_query(query) == rewritten


def test_stop_words_of_a_rewritten_query_are_the_policys():
    assert (
        rewritten_query("der Plan für neue Löhne", Policy(verification_stop_words=("Der", "für"))) == "plan neue löhne"
    )


@given(TEXTS, CLUES, POLICIES)
def test_follow_ups_are_few_different_and_about_the_query(query, clues, policy):
    found = follow_up_queries(query, clues, policy)
    plain = " ".join(query.split())
    assert len({one.lower() for one in found}) == len(found) <= policy.follow_up_max_queries
    assert all(one.startswith(plain) and len(one) > len(plain) for one in found)
    scores = [clue.score for clue in clues if clue.score is not None]
    if not clues:
        assert found[0].endswith("primary source evidence")
    elif not any(clue.contradiction for clue in clues) and (not scores or min(scores) >= 0.55):
        assert not any(one.endswith("corroborating sources") for one in found)


def asked(snippet, policy=None, score=0.9):
    return follow_up_queries("q", [Clue(score, snippet)], policy)


def test_follow_ups_take_names_of_every_script_as_whole_words_and_not_those_that_begin_sentences():
    assert asked("This is about Überblick Recherche") == ("q Überblick Recherche",)
    assert asked("about Überblick", RECORDED) == ("q latest developments", "q detailed comparison")
    assert asked("an innerName and Name2 and Some_Thing") == ("q latest developments", "q detailed comparison")
    assert asked("an innerName", RECORDED) == ("q Name",)
    assert asked("Привет Москва") == ("q Привет Москва",)
    assert asked("Alpha  Beta Gamma\nDelta, Epsilon") == ("q Alpha", "q Beta Gamma Delta", "q Epsilon")
    assert asked("ABBA and TLS and Solr") == ("q Solr",)


def test_follow_ups_leave_out_names_that_the_query_has():
    clues = [Clue(0.9, "Tantivy and Lucene")]
    assert follow_up_queries("tantivy speed", clues) == ("tantivy speed Lucene",)


def test_follow_ups_compare_where_hits_contradict_and_ask_for_sources_where_scores_are_low():
    clues = [Clue(0.9, "x", True), Clue(None, "y")]
    assert follow_up_queries("q", clues) == ("q conflicting evidence source comparison",)
    weak = [Clue(0.2, "x", True)]
    assert follow_up_queries("q", weak) == (
        "q conflicting evidence source comparison",
        "q primary source evidence",
        "q independent corroborating sources",
    )
    unknown = [Clue(None, "x")]
    assert follow_up_queries("q", unknown) == ("q latest developments", "q detailed comparison")


def test_names_come_from_the_first_five_snippets():
    clues = [Clue(0.9, "x")] * 5 + [Clue(0.9, "Sixth")]
    assert follow_up_queries("q", clues) == ("q latest developments", "q detailed comparison")
    assert follow_up_queries("q", clues[1:]) == ("q Sixth",)


@pytest.mark.parametrize("hops", [0, 1, 3, 255])
@pytest.mark.parametrize("quality", [None, 0.0, 0.5, 0.74, 0.75, 1.0])
def test_hops_go_on_while_some_are_left_and_the_quality_is_under_the_target(hops, quality):
    assert continues(quality, hops) == (hops > 0 and quality is not None and quality < 0.75)
    assert not continues(quality, hops, Policy(follow_up_target_quality=0.0))
    for wrong in (math.nan, "x"):
        with pytest.raises(QueryError):
            continues(wrong, hops)
    with pytest.raises(QueryError):
        continues(quality, -1)


@given(TEXTS, POLICIES)
def test_every_text_has_a_route(query, policy):
    assert route(query, policy) in {"retrieve", "in_context", "web_search"}
    assert route(query, policy, complex_task=True) == "web_search"


def test_routes_take_whole_words():
    assert route("what happened recently") == "retrieve"
    assert route("what happened recently", RECORDED) == "web_search"
    assert route("updates of Rust") == "web_search"
    assert route("this \n codebase") == "retrieve"
    assert route("this \n code") == "in_context"
    assert route("was ist neu", Policy(route_web_words=("neu",))) == "web_search"


def twin(passages, most, left):
    """Return what fits, by hand."""
    found = []
    for _, one in sorted(enumerate(passages), key=lambda pair: (-pair[1].score, pair[0])):
        if one.text and len(found) < most and left > 0:
            found.append((one.id, one.text[:left], len(one.text) > left))
            left = max(left - len(one.text), 0)
    return found


@given(
    st.lists(st.builds(Passage, st.text(max_size=2), TEXTS, st.integers(0, 3).map(float)), max_size=8),
    st.integers(0, 9),
    st.integers(0, 300),
)
def test_passages_fit_their_budget_best_first(passages, most, chars):
    found = selected_passages(passages, max_chunks=most, max_chars=chars)
    assert [tuple(one) for one in found] == twin(passages, most, chars)
    assert sum(len(one.text) for one in found) <= chars
    assert not any(one.truncated for one in found[:-1])


def test_the_budget_is_the_policys_by_default():
    passages = [Passage(str(n), "x" * 999, 1.0) for n in range(20)]
    assert [len(one.text) for one in selected_passages(passages)] == [999] * 8
    policy = Policy(context_max_chunks=20, context_max_chars=1_500)
    assert [len(one.text) for one in selected_passages(passages, policy=policy)] == [999, 501]
    with pytest.raises(QueryError):
        selected_passages(passages, max_chars=-1)
    with pytest.raises(QueryError):
        selected_passages([Passage("a", "x", math.nan)])


@given(TEXTS, st.lists(TEXTS, max_size=3))
def test_measures_of_answers_are_shares(answer, texts):
    assert 0 <= term_recall(answer, texts) <= 1
    assert 0 <= groundedness(answer, texts) <= 1
    assert term_recall(" ".join([answer, *texts]), texts) == 1.0


def test_measures_of_answers_take_texts_alone():
    assert term_recall("anything", []) == 1.0
    assert groundedness("A sentence about nothing.", []) == 0.0
    for wrong in ("text", [3], None):
        with pytest.raises(QueryError):
            term_recall("x", wrong)
        with pytest.raises(QueryError):
            groundedness("x", wrong)


@pytest.mark.parametrize("function", [rewritten_query, route, lambda query: follow_up_queries(query, [])])
@pytest.mark.parametrize("wrong", [None, 3, b"x", "\ud800"])
def test_a_query_that_is_no_text_raises(function, wrong):
    with pytest.raises(QueryError):
        function(wrong)
