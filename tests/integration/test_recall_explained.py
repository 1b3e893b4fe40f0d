"""The explanation of a recall says what kept an entry from the hits: the floor, the limit, the lists, the sources."""

import pytest

from septet import Vault


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: 1e9) as made:
        for number in range(6):
            made.add(id=f"k{number}", title="token " + "filler " * number)
            made.add(id=f"m{number}", title="token " + "filler " * number, kind="message", created_at=1e9 - number)
        yield made


def explained(vault, entry_id, scope=None, **search):
    with vault.retriever({"profile": "recall", "search": search}) as retriever:
        return retriever.explain("token", entry_id, scope=scope)


def test_what_scores_too_little_was_cut_by_the_floor_and_not_by_the_limit(vault):
    floor = {"relevanceFloor": 0.9}
    told = explained(vault, "k5", recall=floor)
    assert told.reason.startswith(f"not returned: its score {told.score:.4f} is below ")
    assert explained(vault, "m0", recall=floor).found
    # The first three are hits whatever they score, if there is room for them.
    with vault.retriever({"profile": "recall", "search": {"recall": {"relevanceFloor": 1}}}) as retriever:
        assert "beyond the limit of 1 hits" in retriever.explain("token", "k0", limit=1).reason


def test_what_was_found_behind_the_most_results_has_its_place(vault):
    told = explained(vault, "k0", recallLimit=1, mostResults=1)
    assert (told.rank, told.reason) == (2, "not returned: rank 2, beyond the limit of 1 hits")


def test_an_entry_that_only_lists_hold_which_do_not_count_was_found_by_its_source(vault):
    told = explained(vault, "m1", mostLists=1)
    assert told.reason.startswith("not found: messages has it") and "do not count" in told.reason
    assert next(one for one in told.corpora if one.corpus == "messages").reason.startswith("it found the entry")


def test_what_words_do_not_find_is_told_of_the_source_that_it_belongs_to(vault):
    vault.add(id="other", title="Elsewhere", kind="message")
    assert explained(vault, "other").reason.startswith("not found: messages has it")


def test_a_source_that_the_scope_leaves_out_did_not_look_for_an_entry(vault):
    told = explained(vault, "m1", scope={"within": "knowledge"})
    reasons = {one.corpus: one.reason for one in told.corpora}
    assert reasons["messages"] == "it has the entry, but did not find it"
    assert told.reason.endswith("of knowledge")
