"""Notes are printed so that nobody reads the same thing twice."""

from septet import Note, Vault
from septet.notes import printed


def test_what_several_tiers_say_alike_is_one_line_with_their_names():
    notes = [
        Note("did_you_mean", "no entry holds 'frost'", "", "memory"),
        Note("deadline", "it was late", "raise timeout_s"),
        Note("did_you_mean", "no entry holds 'frost'", "", "chunks"),
        Note("did_you_mean", "no entry holds 'snow'", "", "chunks"),
    ]
    assert printed(notes) == [
        "did_you_mean [memory, chunks]: no entry holds 'frost'",
        "deadline: it was late (raise timeout_s)",
        "did_you_mean [chunks]: no entry holds 'snow'",
    ]
    assert printed([]) == []


def test_a_retrieval_keeps_the_note_of_each_corpus_and_prints_one():
    with Vault(":memory:") as vault, vault.retriever("recall") as retriever:
        found = retriever.retrieve("the")
        assert [note.tier for note in found.notes] == ["knowledge", "distillations", "messages"]
        [said] = [line for line in repr(found).splitlines() if "query_too_vague" in line]
        assert "[knowledge, distillations, messages]" in said
