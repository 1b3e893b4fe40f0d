"""The words of a recall: how a query is widened, what each source lists for it, and how scores are shown."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from expressions import Columns, evaluate
from golden.differences import differs
from golden.loader import other_recording
from septet import Vault
from septet.model.results import Results
from septet.profiles import resolve
from septet.profiles.builtin import RECALL, RECALL_STOP_WORDS
from septet.query.parse import TextQuery, parse
from septet.ranking.fusion import Col, Const, Linear

BUILT = other_recording("lore-query-build")
LISTED = other_recording("lore-fts")
SHOWN = other_recording("lore-normalize-rank")
CORPUS = other_recording("lore-corpus")

#: What may differ between the recorded words of a query and ours, as the functions below have it.
LETTERS, PARTS = "letters-of-every-script", "identifiers-are-cut"


def words_of(query: str, switches: frozenset[str] = frozenset()) -> list[str]:
    """Return the words of a query as recorded, or with our switches."""

    def inside(c: str) -> bool:
        if c == "_":
            return PARTS not in switches
        if c.isascii():
            return c.isalnum()
        return LETTERS in switches and unicodedata.category(c)[0] in "LNM"

    def alone(word: str) -> bool:
        # A single character of a script without blanks may be a word.
        return len(word) == 1 and not (word >= "\u0e00" and unicodedata.category(word) == "Lo")

    words = "".join(c if inside(c) else " " for c in query).split()
    return [word for word in words if not alone(word) and word.lower() not in BUILT["stopwords"]]


def expressions(words: Sequence[str], min_terms: int) -> dict[str, Any]:
    """Return the recorded expressions for words."""
    if not words:
        return {"and": BUILT["empty_sentinel"], "or": BUILT["empty_sentinel"], "relaxed": [BUILT["empty_sentinel"]]}
    begun = [f"{word}*" for word in words]
    some, relaxed = sorted(words, key=len), []
    while len(some) > min_terms:
        del some[0]
        relaxed.append(" ".join(f"{word}*" for word in some))
    either = " OR ".join(begun)
    return {"and": " ".join(begun), "or": either, "relaxed": [*relaxed, either]}


def written(query: TextQuery) -> dict[str, Any]:
    """Return our steps as the recorded expressions are written."""
    if not query.terms:
        return expressions([], 1)

    def step(every: bool, words: Sequence[int]) -> str:
        return (" " if every else " OR ").join(f"{query.terms[at]}*" for at in words)

    first, *others = [step(every, words) for _, every, words in query.steps]
    # Of a single word, all is any; a step that asks for the same again is left out.
    last = others[-1] if others else first
    return {"and": first, "or": last, "relaxed": others or [first]}


@pytest.mark.parametrize("case", BUILT["cases"], ids=lambda case: ascii(case["query"]))
@differs("letters-of-every-script", "identifiers-are-cut", "case-is-dropped", "operators-are-words")
def test_a_query_is_widened_as_recorded(case: Mapping[str, Any]) -> None:
    assert words_of(case["query"]) == case["terms"]
    for min_terms, name in ((3, "relaxed"), (1, "relaxed_min1")):
        recorded = expressions(case["terms"], min_terms)
        assert (recorded["and"], recorded["or"], recorded["relaxed"]) == (case["and"], case["or"], case[name])
        ours = [word.lower() for word in words_of(case["query"], frozenset({LETTERS, PARTS}))]
        rules = resolve({"extends": "recall", "text": {"min_terms": min_terms}}).text
        query = parse(case["query"], rules)
        assert list(query.terms) == ours
        assert written(query) == expressions(ours, min_terms)
        assert query.vague == (not ours and any(map(str.isalnum, case["query"])))


def test_most_recorded_queries_have_the_same_words() -> None:
    same = [case for case in BUILT["cases"] if list(parse(case["query"], RECALL.text).terms) == _lower(case["terms"])]
    assert len(same) > len(BUILT["cases"]) * 0.5


def test_the_stop_words_are_the_recorded_ones() -> None:
    assert tuple(BUILT["stopwords"]) == RECALL_STOP_WORDS
    assert len(set(RECALL_STOP_WORDS)) == 93
    assert "and" not in RECALL_STOP_WORDS


@differs("long-queries-for-any-word")
@pytest.mark.parametrize("count", [64, 65, 200])
def test_long_queries_are_searched_for_any_word_at_once(count: int) -> None:
    words = [f"word{at:03}" for at in range(count)]
    steps = [step.name for step in parse(" ".join(words), resolve(RECALL).text).steps]
    assert (steps == ["any"]) == (count > 64)
    # The recorded system has an expression for each word that it drops.
    assert len(expressions(words, 2)["relaxed"]) == count - 1
    if count == 64:
        assert len(steps) == 1 + len(expressions(words, resolve(RECALL).text.min_terms)["relaxed"])


@differs("operators-are-words")
def test_operators_are_words_in_quotes() -> None:
    query = parse("secret AND token", RECALL.text)
    assert query.terms == ("secret", "and", "token")
    assert query.at_step(0).match == '{title description context tags} : ("secret" * AND "and" * AND "token" *)'


def _lower(words: Sequence[str]) -> list[str]:
    return [word.lower() for word in words]


#: Ids without a letter or a digit: those that tell something count in the lengths of BM25 (`ids-count-in-lengths`).
SILENT = {one["id"]: "-" * (at + 1) for at, one in enumerate([*CORPUS["knowledge"], *CORPUS["temporal"]])}
TOLD = {silent: id for id, silent in SILENT.items()}


def knowledge(ids: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for one in CORPUS["knowledge"]:
        attrs = {"project": one["project"], "cross": one["cross_project"], "confidence": one["confidence"]}
        yield {"id": ids[one["id"]], "title": one["title"], "description": one["content"], "tags": [one["category"]],
               "attrs": attrs}  # fmt: skip


def messages(ids: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    for one in CORPUS["temporal"]:
        attrs = {"project": one["project"], "session": one["session"]}
        yield {"id": ids[one["id"]], "title": one["content"], "kind": "message", "attrs": attrs}


TRUSTED = {"attrs.confidence": {"$gt": 0.2}}
#: By recorded list its source and its filter.
SOURCES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "knowledge_project_A": (
        "knowledge",
        {**TRUSTED, "$or": [{"attrs.project": {"$in": ["A", None]}}, {"attrs.cross": 1}]},
    ),
    "knowledge_other_projects": (
        "knowledge",
        {**TRUSTED, "attrs.project": {"$nin": ["A", None]}, "attrs.cross": 0},
    ),
    "temporal_project_A": ("temporal", {"attrs.project": "A"}),
    "temporal_session_s1": ("temporal", {"attrs.project": "A", "attrs.session": "s1"}),
}
UNWEIGHTED = {"extends": "recall", "text": {"weights": {"title": 1, "description": 0, "context": 0, "tags": 0}}}


@pytest.fixture(scope="module", params=["memory", "sqlite"])
def vaults(request: pytest.FixtureRequest) -> Iterator[Mapping[str, Vault]]:
    """A vault for each recorded table, as their BM25 counts the rows of a table."""
    with pytest.MonkeyPatch.context() as patch, Vault(":memory:") as known, Vault(":memory:") as said:
        if request.param == "sqlite":
            patch.setattr("septet.sqlite.snapshot.manager.BUILT_AT_ONCE", 0)
            for one in (known, said):
                patch.setattr(one._tier.manager, "schedule", lambda *_: None)
        known.add_many(knowledge(SILENT))
        said.add_many(messages(SILENT))
        yield {"knowledge": known, "temporal": said}


def listed(vaults: Mapping[str, Vault], name: str, query: str) -> Results:
    source, where = SOURCES[name]
    profile = "recall" if source == "knowledge" else UNWEIGHTED
    return vaults[source].search(query, profile=profile, where=where, limit=LISTED["limit"])


@pytest.mark.parametrize("case", LISTED["cases"], ids=lambda case: case["query"])
@differs("operators-are-words", "statistics-of-a-vault")
def test_each_source_lists_what_was_recorded_with_the_same_scores(
    case: Mapping[str, Any], vaults: Mapping[str, Vault]
) -> None:
    failed = any("error" in step for step in case["relaxation_trace"])
    for name in SOURCES:
        found = listed(vaults, name, case["query"])
        ours = [(TOLD[hit.id], hit.raw["bm25"]) for hit in found]
        if failed:
            # The recorded expression was an error of syntax.
            assert case[name] == []
            assert bool(ours) == (found.matched_by is not None)
            continue
        assert [id for id, _ in ours] == [one["id"] for one in case[name]]
        assert [score for _, score in ours] == pytest.approx([-one["rank"] for one in case[name]], abs=1e-9)


@pytest.mark.parametrize("case", LISTED["cases"], ids=lambda case: case["query"])
def test_the_step_that_answers_is_the_recorded_one(case: Mapping[str, Any], vaults: Mapping[str, Vault]) -> None:
    trace = case["relaxation_trace"]
    if any("error" in step for step in trace):
        return
    assert [step["hits"] > 0 for step in trace] == [False] * (len(trace) - 1) + [True]
    found = listed(vaults, "knowledge_project_A", case["query"])
    query = parse(case["query"], RECALL.text)
    assert query.steps[len(trace) - 1].name == found.matched_by
    assert found.total == trace[-1]["hits"]
    assert [note.code for note in found.notes if note.code == "words_relaxed"] == ["words_relaxed"] * (len(trace) > 1)


@pytest.mark.parametrize("case", LISTED["cases"], ids=lambda case: case["query"])
@differs("ids-count-in-lengths")
def test_with_ids_that_are_words_the_order_stays(case: Mapping[str, Any]) -> None:
    own = {id: id for id in SILENT}
    with Vault(":memory:") as known, Vault(":memory:") as said:
        known.add_many(knowledge(own))
        said.add_many(messages(own))
        for name in SOURCES if "error" not in case["relaxation_trace"][0] else ():
            found = listed({"knowledge": known, "temporal": said}, name, case["query"])
            tied = len({one["rank"] for one in case[name]}) < len(case[name])
            ids, wanted = found.ids, [one["id"] for one in case[name]]
            assert (sorted(ids) == sorted(wanted)) if tied else (ids == wanted)


@pytest.mark.parametrize("case", SHOWN["cases"])
@differs("scores-are-shown-as-they-are")
def test_the_recorded_display_of_a_rank_is_a_line_through_the_best_and_the_last(case: Mapping[str, Any]) -> None:
    best, last, column = -case["min"], -case["max"], Col(col="bm25")
    width = best - last
    shown = Const(const=1.0) if width == 0 else Linear(linear=column, times=1 / width, plus=-last / width)
    found = evaluate(shown, Columns({"bm25": np.array([-float(case["rank"])])}, ["entry"]))
    assert found[0] == pytest.approx(case["score"], abs=1e-9)
