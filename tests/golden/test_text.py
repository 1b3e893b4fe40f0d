"""Tokens, stop words, tag overlap, TF-IDF, snippets and token estimates."""

from __future__ import annotations

import math

import numpy as np
import pytest

from golden.differences import differs
from golden.loader import recording
from golden.reference import RECORDED, STOP_WORDS, jaccard, sparse_cosine, token_cost, tokens, weighted
from septet import _core
from septet.model.entry import Entry
from septet.ranking.cuts import tokens_of
from septet.sqlite.tables import entries

TEXT = recording("text")
PARTS = ("agent", "project", "team", "shared")
CORPUS = [entry for part in PARTS for entry in recording("corpus")[part]]


def cases(section: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", TEXT[section], ids=[str(i) for i in range(len(TEXT[section]))])


@cases("tokenize")
def test_tokens_of_ascii_text_are_the_recorded_ones(case):
    assert tokens(case["text"], RECORDED) == case["tokens"]
    if all(c.isascii() or c.isspace() for c in case["text"]):
        assert _core.tokenize(case["text"]) == case["tokens"]


@differs("unicode-tokens")
@cases("tokenize")
def test_tokens_of_other_scripts_are_kept_where_the_recorded_system_blanks_them(case):
    wanted = {
        "認証 トークン jwt": ["認証", "トー", "ーク", "クン", "jwt"],
        "İstanbul ŒUVRE ß": ["istanbul", "oeuvre"],
    }
    found = _core.tokenize(case["text"])
    assert found == wanted.get(case["text"], case["tokens"])
    assert (found != case["tokens"]) == (case["text"] in wanted)


@pytest.mark.parametrize("entry", CORPUS, ids=[str(i) for i in range(len(CORPUS))])
def test_the_reference_cuts_every_recorded_text_as_septet_does(entry):
    text = " ".join((entry["title"], entry["description"], entry.get("context") or "", *entry["tags"]))
    assert _core.tokenize(text) == tokens(text, {"unicode-tokens"})
    if text.isascii():
        assert _core.tokenize(text) == tokens(text, RECORDED)


@pytest.mark.parametrize("probe", TEXT["stopWordProbe"], ids=lambda p: p["word"])
def test_a_word_is_a_token_unless_it_is_a_recorded_stop_word_or_short(probe):
    word = probe["word"]
    kept = _core.tokenize(word) == [word]
    assert kept == probe["kept_when_padded"]
    assert (word in _core.stop_words()) == (not kept and word != "am")
    assert word != "am" or probe["length"] < 3


def test_there_are_95_stop_words():
    assert _core.stop_words() == STOP_WORDS
    assert len(STOP_WORDS) == 95


@cases("jaccard")
def test_tag_overlap_is_the_recorded_jaccard(case):
    assert _core.jaccard(case["a"], [case["b"]])[0] == pytest.approx(case["value"], abs=1e-12)
    assert jaccard(case["a"], case["b"]) == pytest.approx(case["value"], abs=1e-12)


@pytest.mark.parametrize("case", TEXT["tfidf"]["cases"], ids=lambda c: f"{c['a']}-{c['b']}")
def test_the_reference_weighs_terms_as_recorded(case):
    a, b = (weighted(tokens(case[side], RECORDED), TEXT["tfidf"]["vocabulary"]) for side in "ab")
    assert a == pytest.approx(case["tfidfA"], abs=1e-12)
    assert b == pytest.approx(case["tfidfB"], abs=1e-12)
    assert sparse_cosine(a, b) == pytest.approx(case["cosine"], abs=1e-12)


@pytest.mark.parametrize("case", TEXT["tfidf"]["cases"], ids=lambda c: f"{c['a']}-{c['b']}")
def test_the_cosine_of_two_texts_is_the_recorded_formula(case):
    # The recorded vocabulary cannot be set; a corpus of our own gives the terms other IDFs, for the same formula.
    texts = [case["b"], "jwt jwt token", "cache", "filler words only"]
    index = _core.TermIndex()
    index.append(texts)
    counted = index.frequencies(np.arange(4))
    held = [set(tokens(t, RECORDED)) for t in texts]
    idf = {t: math.log(5 / (sum(t in h for h in held) + 1)) + 1 for t in set().union(*held)}
    wanted = sparse_cosine(*(weighted(tokens(case[side], RECORDED), idf) for side in "ab"))
    found = index.cosines(counted, case["a"], np.array([0]))[0]
    assert found == pytest.approx(wanted, abs=1e-12)
    assert (found > 0) == (case["cosine"] > 0)


@cases("snippets")
@differs("snippet-by-characters")
def test_a_snippet_is_the_first_120_characters(case):
    description = case["description"]
    entry = Entry(id="x", title="x", description=description)
    assert entry.snippet == description[:120] + ("..." if len(description) > 120 else "")
    if all(ord(c) < 0x10000 for c in description):
        assert entry.snippet == case["snippet"]
    else:
        assert len(case["snippet"]) != len(entry.snippet) or case["snippet"] != entry.snippet
        entry.snippet.encode("utf-8")


@cases("snippets")
@differs("snippet-by-characters")
def test_a_token_estimate_is_a_quarter_of_the_characters(case):
    # The recorded entries have a title, context and examples that the recording does not show: 21 to 24 characters.
    utf16 = len(case["description"].encode("utf-16-le")) // 2
    assert utf16 == case["descriptionUtf16Length"]
    rest = next(n for n in range(21, 25) if all(math.ceil((n + u) / 4) == e for u, e in _lengths()))
    entry = Entry(id="x", title="t" * (rest - 6), description=case["description"], attrs={"why": "y" * 6})
    beyond = utf16 - len(case["description"])
    assert entry.token_estimate == math.ceil((rest + utf16 - beyond) / 4)
    if not beyond:
        assert entry.token_estimate == case["tokenEstimate"]
    else:
        assert entry.token_estimate <= case["tokenEstimate"]


def _lengths() -> list[tuple[int, int]]:
    return [(case["descriptionUtf16Length"], case["tokenEstimate"]) for case in TEXT["snippets"]]


def test_snippets_were_recorded_on_both_sides_of_the_cut_and_with_emoji():
    lengths = [len(case["description"]) for case in TEXT["snippets"]]
    assert min(lengths) == 0
    assert any(100 < n <= 120 for n in lengths)
    assert any(n > 120 for n in lengths)
    assert any(not case["description"].isascii() and "🎉" in case["description"] for case in TEXT["snippets"])


def test_entries_cost_a_token_budget_what_the_recorded_formula_says(agent):
    wanted = {entry["id"]: token_cost(entry) for entry in recording("corpus")["agent"]}
    with agent(False, False)._store.reading() as read:
        assert {id: tokens_of(found) for id, found in entries.find(read, list(wanted)).items()} == wanted
