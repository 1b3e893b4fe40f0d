"""Where the words of a query stand in results, and the passages around them."""

import copy
import html
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from septet import Match, QueryError, Vault
from septet._core import index_terms
from septet.model.entry import Entry
from septet.model.matches import Sought, matches_of, passage_of

PAD = "nothing of interest stands here and more of it follows. " * 8
LONG = PAD + "The 😀 renewal of crème brûlée licences is due. " + PAD + "A renewal."


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: 1e9) as opened:
        opened.add(id="long", title="Renewals", description=LONG, tags=["licence renewal", "food"])
        opened.add(id="kyoto", title="図書館", description="😀 私は東京都の図書館に行く", context="getUserName")
        opened.add(id="short", title="Short one", description="A brulee & a <b> tag", context="renewal in the context")
        yield opened


def hit_of(vault, query, entry_id, **options):
    return next(hit for hit in vault.search(query, **options) if hit.id == entry_id)


def text_of(entry, match):
    text = getattr(entry, match.field)
    return (text if match.item is None else text[match.item])[match.start : match.end]


@pytest.mark.parametrize("mode", ["full", "scan"])
def test_matches_are_the_words_in_any_form_where_python_finds_them(vault, mode):
    hit = hit_of(vault, "renewing brulée", "long", mode=mode)
    entry = vault.get("long")
    found = [(match.field, text_of(entry, match), match.term) for match in hit.matches]
    assert found == [
        ("title", "Renewals", "renewing"),
        ("description", "renewal", "renewing"),
        ("description", "brûlée", "brulée"),
        ("description", "renewal", "renewing"),
        ("tags", "renewal", "renewing"),
    ]
    assert hit.matches[-1] == Match("tags", 8, 15, "renewing", 0)
    assert (hit.entry is None) == (mode == "scan")


def test_parts_of_words_are_matched_where_they_stand(vault):
    entry = vault.get("kyoto")
    assert [text_of(entry, m) for m in hit_of(vault, "東京", "kyoto").matches] == ["東京"]
    assert [text_of(entry, m) for m in hit_of(vault, "user", "kyoto").matches] == ["User"]
    assert [text_of(entry, m) for m in hit_of(vault, "getUserName", "kyoto").matches] == ["getUserName"]
    assert [text_of(entry, m) for m in hit_of(vault, "図書", "kyoto").matches] == ["図書", "図書"]


def test_words_asked_for_beside_the_query_match_too(vault):
    entry = vault.get("long")
    for options in (
        {"words": {"must": "renewal"}},
        {"words": {"prefix": "renew"}},
        {"words": {"phrase": "renewal of"}},
    ):
        hit = hit_of(vault, "", "long", **options)
        assert "renewal" in [text_of(entry, match) for match in hit.matches]


def test_the_snippet_is_around_the_best_match(vault):
    hit = hit_of(vault, "renewal crème brulee", "long")
    assert "renewal of crème brûlée" in hit.snippet
    assert hit.snippet.startswith("...")
    assert hit.snippet.endswith("...")
    assert len(hit.snippet) <= 120 + 6
    # What matches nothing, or short, is shown from its start.
    assert hit_of(vault, "short", "short").snippet == "A brulee & a <b> tag"
    assert hit_of(vault, "food", "long").snippet == LONG[: len(hit_of(vault, "food", "long").snippet) - 3] + "..."
    # The context where only it matches.
    assert hit_of(vault, "renewal", "short").snippet == "renewal in the context"


@pytest.mark.parametrize("profile", ["seven-signals", "six-signals"])
def test_documented_profiles_show_the_first_characters(vault, profile):
    hit = hit_of(vault, "renewal crème", "long", profile=profile)
    assert hit.snippet == LONG[:120] + "..."
    assert "crème" in hit.excerpt()


def test_an_excerpt_has_marks_around_matches(vault):
    hit = hit_of(vault, "renewal creme brulee", "long")
    marked = hit.excerpt(60, marks=("<b>", "</b>"))
    assert "<b>renewal</b> of <b>crème</b> <b>brûlée</b>" in marked
    escaped = hit_of(vault, "brulee", "short").excerpt(marks=("<b>", "</b>"), escape=html.escape)
    assert escaped == "A <b>brulee</b> &amp; a &lt;b&gt; tag"
    assert hit.excerpt(7, marks=["[", "]"]).strip(".") == "[renewal]"


def test_hits_survive_copies_with_their_matches(vault):
    for mode in ("full", "scan"):
        found = vault.search("renewal", mode=mode)
        for other in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
            assert [hit.matches for hit in other] == [hit.matches for hit in found]
            assert [hit.snippet for hit in other] == [hit.snippet for hit in found]
            assert other.to_dict() == found.to_dict()
    told = vault.search("renewal", mode="scan").to_dict()["hits"][0]
    assert json.loads(json.dumps(told))["snippet"]


@pytest.mark.parametrize(
    "bad", [{"chars": 0}, {"chars": "9"}, {"marks": "b"}, {"marks": ("a",)}, {"marks": (1, 2)}, {"escape": 3}]
)
def test_odd_arguments_of_an_excerpt_are_refused(vault, bad):
    with pytest.raises(QueryError):
        vault.search("renewal")[0].excerpt(**bad)


pieces = st.lists(st.sampled_from(["renewal", "renewed", "Crème", "the", "😀", "\n", "東京都", "x" * 30]), max_size=40)


@given(pieces.map(" ".join), st.integers(1, 60), st.booleans())
def test_a_passage_is_a_part_of_the_text_and_has_the_most_it_can(text, chars, marked):
    entry = Entry(id="i", title="t", description=text)
    sought = Sought(("renew", "creme", "東京"), (), True)
    plain = passage_of(entry, sought, chars)
    inner = plain.removeprefix("...").removesuffix("...")
    assert inner in text
    assert len(inner) <= chars
    if len(text) <= chars:
        assert plain == text
    if marked:
        assert passage_of(entry, sought, chars, ("[", "]")).replace("[", "").replace("]", "") == plain
    places = [m for m in matches_of(entry, sought) if m.field == "description"]
    fitting = [m for m in places if m.end - m.start <= chars]
    if places and fitting == places:
        assert any(text[m.start : m.end] in inner for m in fitting)


@given(st.text(max_size=60), st.text(min_size=1, max_size=8))
def test_a_term_matches_exactly_where_its_tokens_are(text, term):
    entry = Entry(id="i", title="t", description=text.encode("utf-8", "replace").decode())
    wanted = index_terms(term.encode("utf-8", "replace").decode())
    tokens = index_terms(entry.description)
    among = any(tokens[i : i + len(wanted)] == wanted for i in range(len(tokens))) if wanted else False
    found = [
        m
        for m in matches_of(entry, Sought((term.encode("utf-8", "replace").decode(),), (), False))
        if m.field == "description"
    ]
    assert bool(found) == among
    for match in found:
        assert index_terms(entry.description[match.start : match.end]) == wanted
