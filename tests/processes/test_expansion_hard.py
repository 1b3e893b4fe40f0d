"""Other phrasings under interrupts, at the end of a program, and for many threads at once."""

import os
import random
import subprocess
import sys
import threading
from functools import partial

import pytest

from interrupting import interrupted, on_a_thread
from septet.errors import EmbeddingUnavailable
from septet.query.refine import deadline_of
from septet.retrieval.expansion.expanding import Expanding

LONG_S = 30.0
STRESS = bool(os.environ.get("SEPTET_STRESS_S"))
ROUNDS = 10 if STRESS else 1
#: With time to spare every line is tried.
EVERY = 1 if STRESS else 3


def asked(expanding, *queries):
    return [expanding.begin(query).result() for query in queries]


@pytest.mark.parametrize("kind", ["answers", "fails", "is remembered", "rests"])
def test_an_interrupt_at_any_line_leaves_it_to_other_threads(kind):
    def answer(query):
        if kind in ("fails", "rests") and query == "q":
            raise EmbeddingUnavailable("down")
        return [f"{query} again"]

    at = 0
    while True:
        expanding = Expanding(answer, timeout_s=LONG_S, rest_s=60 if kind == "rests" else 0)
        if kind in ("is remembered", "rests"):
            expanding.begin("q").result()
        if interrupted(partial(asked, expanding, "q"), at) is None:
            break
        found = on_a_thread(partial(asked, expanding, "q", "other"))
        assert [one.variants[0] for one in found] == ["q", "other"]
        if kind in ("answers", "is remembered"):
            assert [one.variants[1:] for one in found] == [("q again",), ("other again",)]
        elif kind == "fails":
            assert found[0].notes and found[1].variants[1:] == ("other again",)
        at += EVERY
    assert at > 10


def test_the_end_of_a_program_waits_for_no_expander():
    code = (
        "import threading\n"
        "from septet.retrieval.expansion.expanding import Expanding\n"
        "begun = Expanding(lambda query: threading.Event().wait()).begin('q')\n"
        "print('over')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LONG_S, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "over\n", "")


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_many_threads_get_their_own_phrasings_or_a_note_and_nothing_is_left_behind(seed):
    chance = random.Random(seed)
    pace = {f"query {n}": chance.choice((0, 0, 0, 0.002, 0.05)) for n in range(40)}
    bad = {query for query in pace if chance.random() < 0.2}
    slept = threading.Event()

    def answer(query):
        slept.wait(pace[query])
        if query in bad:
            raise ValueError(query)
        return [f"{query} {n}" for n in range(3)]

    expanding = Expanding(answer, timeout_s=0.02, rest_s=0, cache_size=7)
    wrong = []

    def search(number):
        own = random.Random(number)
        for _ in range(60):
            query = own.choice(list(pace))
            deadline = None if own.random() < 0.7 else deadline_of(own.choice((0.001, 0.01)))
            found = expanding.begin(query, deadline).result()
            full = found.variants == (query, *(f"{query} {n}" for n in range(3))) and not found.notes
            alone = found.variants == (query,) and [note.code for note in found.notes] == ["expansion_failed"]
            if not (full or alone) or (full and query in bad):
                wrong.append(found)

    threads = [threading.Thread(target=search, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG_S)
    assert not wrong
    running = [thread for thread in threading.enumerate() if thread.name == "septet-expansion"]
    for thread in running:
        thread.join(LONG_S)
    assert not expanding._calls and len(expanding._known) <= 7
