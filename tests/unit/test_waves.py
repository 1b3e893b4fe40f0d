"""Corpora are asked side by side; what is late or fails is said, and holds up nobody."""

import threading
from itertools import chain, combinations

import pytest

from corpora_told import LONG_S, Held, Phrased, Told, Until
from septet import QueryError
from septet.errors import Closed, EntryError
from septet.notes import Note
from septet.query.refine import deadline_of
from septet.retrieval.corpus import CorpusRequest
from septet.retrieval.waves import MOST_LATE, CorpusThreads, ask


@pytest.fixture
def threads():
    return CorpusThreads()


def asking(within=None, **more):
    deadline = deadline_of(within) if isinstance(within, float) else within
    return CorpusRequest("ducks", 10, deadline=deadline, **more)


def states(wave):
    return {(one.corpus, one.variant): one.state for one in wave.answers}


def codes(wave):
    return [(note.code, note.tier) for note in wave.notes]


def raising(fault):
    def fail(asked):
        raise fault

    return fail


@pytest.mark.parametrize("within_s", [None, LONG_S])
@pytest.mark.parametrize("count", [0, 1, 2, 9])
def test_every_corpus_answers_every_phrasing_in_order(threads, count, within_s):
    corpora = [Told(f"c{n}", local=n % 2 == 0) for n in range(count)]
    wave = ask(corpora, asking(within_s), threads, Phrased("geese", "swans"))
    assert wave.variants == ("ducks", "geese", "swans")
    assert [(one.corpus, one.variant, one.query) for one in wave.answers] == [
        (f"c{n}", v, text) for n in range(count) for v, text in enumerate(wave.variants)
    ]
    assert {one.state for one in wave.answers} <= {"answered"}
    assert wave.notes == ()


def test_fast_corpora_of_this_machine_need_no_thread(threads):
    corpora = [Told(name, local=True) for name in "abc"]
    ask(corpora, asking(), threads, Phrased("geese"))
    assert {one for corpus in corpora for one in corpus.threads} == {threading.current_thread()}


def test_slow_corpora_of_this_machine_are_asked_side_by_side_and_the_slowest_one_here(threads):
    corpora = [Told(name, local=True) for name in "abc"]
    for corpus, took in zip(corpora, (5.0, 9.0, 5.0)):
        threads.measured(corpus.name, took)
    ask(corpora, asking(), threads)
    here = [corpus.name for corpus in corpora if corpus.threads == [threading.current_thread()]]
    assert here == ["b"]


def test_what_waits_for_others_never_holds_up_the_caller(threads):
    web, vault = Told("web"), Told("vault", local=True)
    ask([web, vault], asking(), threads)
    assert web.threads != [threading.current_thread()]
    ask([web, vault], asking(LONG_S), threads)
    assert threading.current_thread() not in (web.threads[-1], vault.threads[-1])
    assert all(one.daemon for one in web.threads)


def test_slow_corpora_are_asked_at_the_same_time(threads):
    meeting = threading.Barrier(4)
    corpora = [Told(f"c{n}", lambda asked: meeting.wait(LONG_S)) for n in range(4)]
    assert set(states(ask(corpora, asking(), threads)).values()) == {"answered"}


def test_the_original_is_searched_while_phrasings_are_made(threads):
    asked = threading.Event()
    vault = Told("vault", lambda _: asked.set(), local=True)
    wave = ask([vault], asking(), threads, Phrased("geese", gate=asked))
    assert states(wave) == {("vault", 0): "answered", ("vault", 1): "answered"}


def test_phrasings_are_asked_while_a_slow_corpus_still_looks_for_the_original(threads):
    slow = Held("slow", lambda asked: asked.variant == 0)
    fast = Told("fast", lambda asked: slow.gate.set() if asked.variant else None)
    assert set(states(ask([slow, fast], asking(), threads, Phrased("geese"))).values()) == {"answered"}


def test_phrasings_are_matched_by_words_alone(threads):
    corpus = Told("c", local=True)
    ask([corpus], asking(vector="a vector", model="m"), threads, Phrased("geese"))
    original, other = corpus.asked
    assert (original.mode, original.vector, original.model) == ("hybrid", "a vector", "m")
    assert (other.mode, other.vector, other.model, other.variant) == ("full_text", None, None, 1)
    wave = ask([corpus], asking(mode="vector"), threads, Phrased("geese"))
    assert wave.variants == ("ducks",)


def test_a_corpus_that_takes_no_phrasings_gets_the_original_alone(threads):
    web, vault = Told("web", phrasings=False), Told("vault")
    assert states(ask([web, vault], asking(), threads, Phrased("geese"))).keys() == {
        ("web", 0),
        ("vault", 0),
        ("vault", 1),
    }


NAMES = "abcd"
SOME = [*chain.from_iterable(combinations(NAMES, n) for n in range(5))]


@pytest.mark.parametrize("hung", SOME, ids="".join)
def test_whatever_hangs_is_left_out_and_named(threads, hung):
    corpora = [Held(name, local=name == "a") if name in hung else Told(name, local=name == "b") for name in NAMES]
    try:
        wave = ask(corpora, asking(Until(*corpora) if hung else LONG_S), threads)
        assert states(wave) == {(name, 0): "late" if name in hung else "answered" for name in NAMES}
        assert codes(wave) == [("deadline", name) for name in hung]
        assert all("within 0.3 s" in note.cause for note in wave.notes)
    finally:
        for corpus in corpora:
            getattr(corpus, "gate", threading.Event()).set()


def test_what_answered_before_the_deadline_is_kept(threads):
    slow = Held("slow", lambda asked: asked.variant == 2)
    try:
        wave = ask([slow], asking(Until(slow)), threads, Phrased("geese", "swans", "coots"))
        assert states(wave) == {
            ("slow", 0): "answered",
            ("slow", 1): "answered",
            ("slow", 2): "late",
            ("slow", 3): "late",
        }
        (note,) = wave.notes
        assert "to 2 of 4 phrasings" in note.cause
    finally:
        slow.gate.set()


def test_a_corpus_that_hangs_keeps_few_threads_and_is_asked_again_when_one_comes_back(threads):
    slow, fast = Held("slow"), Told("fast")
    waves = []
    for _ in range(MOST_LATE + 3):
        slow.reached.clear()
        fast.began.clear()
        still = threads.rests("slow")
        waves.append(ask([slow, fast], asking(Until(fast) if still else Until(slow, fast)), threads))
    assert [states(wave)["slow", 0] for wave in waves] == ["late"] * MOST_LATE + ["resting"] * 3
    assert len(slow.asked) == MOST_LATE
    assert codes(waves[-1]) == [("deadline", "slow")]
    assert "earlier requests are still running" in waves[-1].notes[0].cause
    assert {states(wave)["fast", 0] for wave in waves} == {"answered"}
    slow.gate.set()
    for one in slow.threads:
        one.join(LONG_S)
    assert states(ask([slow], asking(), threads)) == {("slow", 0): "answered"}


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("failing", SOME[:-1], ids="".join)
def test_what_fails_is_a_note_and_the_others_answer(threads, failing, local):
    fault = raising(KeyError("sk-secret in the words of foreign code"))
    corpora = [Told(name, fault if name in failing else lambda _: None, local=local) for name in NAMES]
    wave = ask(corpora, asking(), threads)
    assert states(wave) == {(name, 0): "failed" if name in failing else "answered" for name in NAMES}
    assert codes(wave) == [("corpus_failed", name) for name in failing]
    assert "sk-secret" not in repr(wave)
    assert all("raised KeyError" in note.cause for note in wave.notes)


def test_errors_of_septet_say_what_was_wrong(threads):
    bad = Told("bad", raising(EntryError("no such folder: name another")))
    (note,) = ask([bad, Told("good")], asking(), threads).notes
    assert note.cause == "bad failed: no such folder: name another"


def test_a_corpus_that_returns_nothing_has_failed(threads):
    bad = Told("bad")
    bad.search = lambda asked: None
    assert codes(ask([bad, Told("good")], asking(), threads)) == [("corpus_failed", "bad")]


@pytest.mark.parametrize("within", [None, LONG_S])
def test_what_ends_its_thread_has_failed(threads, within):
    wave = ask([Told("a"), Told("b", raising(SystemExit(1)))], asking(within), threads)
    assert states(wave) == {("a", 0): "answered", ("b", 0): "failed"}
    assert [(note.code, note.cause) for note in wave.notes] == [("corpus_failed", "b failed: it raised SystemExit")]


def test_when_all_fail_the_reason_that_callers_can_act_on_is_raised(threads):
    wrong = [
        Told("a", raising(EntryError("x"))),
        Told("b", raising(Closed("closed"))),
        Told("c", raising(ValueError())),
    ]
    with pytest.raises(Closed):
        ask(wrong, asking(), threads)
    with pytest.raises(QueryError):
        ask([wrong[0], Told("d", raising(QueryError("y")))], asking(), threads)
    with pytest.raises(EntryError):
        ask(wrong[:1], asking(LONG_S), threads)
    # Of foreign code alone nothing is raised.
    assert codes(ask(wrong[2:], asking(), threads)) == [("corpus_failed", "c")]


def test_notes_of_corpora_are_told_once_with_their_name(threads):
    note = Note("no_terms", "no word")
    placed = Note("no_vectors", "none", tier="team")
    corpora = [Told("a", notes=(note, placed)), Told("b", notes=(note, placed))]
    wave = ask(corpora, asking(), threads, Phrased("geese", notes=(Note("query_cut", "cut"),)))
    assert codes(wave) == [("query_cut", ""), ("no_terms", "a"), ("no_vectors", "team"), ("no_terms", "b")]


def test_where_no_thread_can_be_started_the_caller_asks(threads, monkeypatch):
    def refuse(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("septet.retrieval.waves.call_on_thread", refuse)
    corpora = [Told("a"), Told("b", local=True)]
    assert set(states(ask(corpora, asking(LONG_S), threads, Phrased("geese"))).values()) == {"answered"}
    assert {one for corpus in corpora for one in corpus.threads} == {threading.current_thread()}


def test_a_child_of_a_fork_waits_for_no_thread_of_its_parent(threads):
    slow = Held("slow")
    for _ in range(MOST_LATE):
        ask([slow], asking(Until(slow)), threads)
    assert threads.rests("slow")
    threads.after_fork()
    assert not threads.rests("slow")
    slow.gate.set()
    for one in slow.threads:
        one.join(LONG_S)
    # Calls of before the fork that end are not counted off.
    assert not threads.rests("slow")
    assert threads._late["slow"] == 0
