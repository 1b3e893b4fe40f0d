"""What a corpus answers is taken as it should be, or the corpus has failed; the others answer."""

import json
import math

import numpy as np
import pytest

from corpora_told import Told
from retrieved import hit
from septet import Vault
from septet.notes import Note
from septet.retrieval.corpus import CorpusAnswer, InvalidAnswer, Item, RankedList, checked_answer

ITEM = Item("own:a", hit("a"))


def listed(*items, **more):
    return RankedList(**{"name": "text", "corpus": "own", "items": items} | more)


#: What foreign code has been seen to return, and what it might.
JUNK = {
    "a list": [],
    "a text": "secret",
    "nothing": None,
    "a number": 5,
    "hits": [hit("a")],
    "no lists": CorpusAnswer(None),
    "letters": CorpusAnswer("abc"),
    "lists of hits": CorpusAnswer([[hit("a")]]),
    "no items": CorpusAnswer([listed(items=None)]),
    "hits for items": CorpusAnswer([listed(hit("a"))]),
    "no hit": CorpusAnswer([listed(Item("a", None))]),
    "a key of no text": CorpusAnswer([listed(Item([], hit("a")))]),
    "a score that is none": CorpusAnswer([listed(Item("a", hit("a", math.nan)))]),
    "an endless score": CorpusAnswer([listed(Item("a", hit("a", math.inf)))]),
    "a weight below none": CorpusAnswer([listed(ITEM, weight=-1)]),
    "half a character": CorpusAnswer([listed(ITEM, name="\ud800")]),
    "no backends": CorpusAnswer([listed(ITEM)], None),
    "numbers for backends": CorpusAnswer([listed(ITEM)], [5]),
    "texts for notes": CorpusAnswer([listed(ITEM)], notes=["secret"]),
    "half a character in a note": CorpusAnswer([listed(ITEM)], notes=[Note("corpus_failed", "\ud800")]),
    "a step of no text": CorpusAnswer([listed(ITEM)], step=5),
    "contradictions below none": CorpusAnswer([listed(ITEM)], contradictions=-1),
    "a confidence above one": CorpusAnswer([listed(ITEM)], confidence=7.0),
    "a confidence of no number": CorpusAnswer([listed(ITEM)], confidence="sure"),
}


@pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK)
def test_what_is_no_answer_is_said_without_its_text(junk):
    with pytest.raises(InvalidAnswer) as raised:
        checked_answer(junk)
    assert "secret" not in str(raised.value)


def test_what_is_an_answer_is_taken_in_any_sequence():
    found = checked_answer(
        CorpusAnswer(
            (one for one in [listed(items=(one for one in [ITEM]))]), iter(["own"]), confidence=np.float64(0.5)
        )
    )
    assert ([*found.lists[0].items], [*found.backends], found.confidence) == ([ITEM], ["own"], 0.5)
    assert checked_answer(CorpusAnswer(())) == CorpusAnswer([], [], [])
    assert checked_answer(CorpusAnswer((), confidence=math.nan)).confidence is None


@pytest.mark.parametrize("profile", ["recall", "planned-retrieval", "septet"])
def test_a_corpus_that_answers_junk_takes_no_other_down(profile):
    own = Told("own")
    with Vault(":memory:") as vault:
        wanted = vault.add(title="ducks swim")
        with vault.retriever(profile, corpora={"own": own}) as retriever:
            for junk in JUNK.values():
                own.search = lambda asked, junk=junk: junk
                found = retriever.retrieve("ducks")
                assert found.ids == [wanted]
                assert {note.code for note in found.notes} >= {"corpus_failed"}
                json.dumps(found.envelope.to_dict(), allow_nan=False)
