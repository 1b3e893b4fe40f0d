"""Whatever a model answers, there are at most as many phrasings as wanted, the query first, and no two alike."""

import json

from hypothesis import example, given
from hypothesis import strategies as st

from septet.errors import QueryError
from septet.retrieval.expansion.chat import phrasings_in
from septet.retrieval.expansion.expanding import MOST_PHRASING_CHARS, variants_of

TEXTS = st.text(st.characters(), max_size=40)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=10,
)
#: Text, JSON, and pieces that parsers stumble over, in any order.
REPLIES = st.lists(
    TEXTS | VALUES.map(json.dumps) | st.sampled_from(["[", "]", '["', '"]', "```json\n", "```", "<think>", "</think>"]),
    max_size=8,
).map("".join)


def check(query, found, most):
    assert found[0] is query and 1 <= len(found) <= 1 + most
    folded = [" ".join(one.split()).casefold() for one in found]
    assert len(set(folded)) == len(folded)
    for other in found[1:]:
        assert other == " ".join(other.split()) != "" and len(other) <= MOST_PHRASING_CHARS
        other.encode("utf-8")
        assert "\0" not in other


@given(st.text(max_size=30), REPLIES, st.integers(0, 5))
@example("q", '["\\ud800", "a\\u0000b", "  "]', 3)
@example("q", "[" * 100_000, 3)
@example("q", "[" * 50_000 + '"x"' + "]" * 50_000, 3)
@example("q", '["' * 100_000, 3)
@example("q", "[" + "9" * 10_000 + ', "x"] ["y"]', 3)
@example("q", '["' + "x" * 1_000_000 + '", "y"]', 3)
def test_any_reply_gives_a_bounded_list_that_begins_with_the_query(query, reply, most):
    found = phrasings_in(reply)
    assert found is None or all(isinstance(one, str) for one in found)
    check(query, variants_of(query, found or (), most), most)


@given(st.text(max_size=30), st.lists(TEXTS, max_size=8), TEXTS, TEXTS)
def test_an_array_of_texts_is_found_between_any_prose_without_brackets(query, texts, before, after):
    before, after = before.replace("[", "").replace("<", ""), after.replace("</", "")
    reply = before + json.dumps(texts) + after.replace("[", "")
    wanted = [text for text in texts if text.strip()]
    assert phrasings_in(reply) == wanted
    assert variants_of(query, wanted) == variants_of(query, texts)


@given(st.text(max_size=30), st.lists(VALUES, max_size=6) | VALUES)
def test_what_is_no_list_of_texts_is_refused(query, given_):
    texts = isinstance(given_, list) and all(isinstance(one, str) for one in given_)
    try:
        check(query, variants_of(query, given_), 3)
    except QueryError as fault:
        assert not texts and str(fault).isprintable()
