"""Other phrasings of a query are asked for beside the search, and never keep it waiting for longer than they may."""

import asyncio
import threading

import pytest

from septet.errors import QueryError
from septet.query.refine import deadline_of
from septet.retrieval.expansion.expanding import MOST_CALLS, Expanding

LONG_S = 30.0


class Model:
    """Says each query in other words, unless it is told otherwise."""

    def __init__(self, answer=lambda query: [f"{query} one", f"{query} two"]):
        self.answer, self.asked = answer, []

    def __call__(self, query):
        self.asked.append(query)
        return self.answer(query)


class Held(Model):
    """Answers when it is let go."""

    def __init__(self):
        super().__init__(self.held)
        self.reached, self.go = threading.Event(), threading.Event()

    def held(self, query):
        self.reached.set()
        assert self.go.wait(LONG_S)
        return [f"{query} late"]


@pytest.fixture
def held():
    made = Held()
    yield made
    made.go.set()


def patient(expander, **options):
    """Expand with time for every thread to begin, however busy the machine is."""
    return Expanding(expander, **{"timeout_s": LONG_S, **options})


def causes(expansion):
    assert all(note.code == "expansion_failed" and note.cause.isprintable() for note in expansion.notes)
    return [note.cause for note in expansion.notes]


def test_the_query_comes_first_and_what_is_remembered_is_not_asked_again():
    model = Model()
    expanding = patient(model)
    for turn in range(3):
        found = expanding.begin("rotate keys").result()
        assert found.variants == ("rotate keys", "rotate keys one", "rotate keys two")
        assert found.notes == () and (found.took_ms > 0) == (turn == 0)
    assert model.asked == ["rotate keys"] and expanding.fault is None
    expanding.forget()
    assert len(expanding.begin("rotate keys").result().variants) == 3 and len(model.asked) == 2


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 99, 100_000])
@pytest.mark.parametrize("most", [1, 2, 3, 10])
def test_as_many_as_are_wanted_are_taken(count, most):
    def numbered(query):
        yield from (f"phrasing {n}" for n in range(count))

    found = patient(numbered, most=most).begin("q").result()
    assert found.variants == ("q", *(f"phrasing {n}" for n in range(min(count, most)))) and not found.notes


def test_an_async_function_is_awaited():
    async def ask(query):
        await asyncio.sleep(0)
        return [f"{query} awaited"]

    assert patient(ask).begin("q").result().variants == ("q", "q awaited")


async def broken(query):
    raise OSError("no route")


WRONG = {
    "None": (lambda q: None, "not return a list of texts"),
    "a text": (lambda q: "other words", "not return a list of texts"),
    "a dict": (lambda q: {"queries": ["a"]}, "not return a list of texts"),
    "numbers": (lambda q: ["a", 1], "not return a list of texts"),
    "raises": (lambda q: 1 // 0, "ZeroDivisionError"),
    "raises later": (lambda q: (1 // 0 for _ in "x"), "ZeroDivisionError"),
    "raises when awaited": (broken, "raised OSError"),
    "leaves": (lambda q: exit(3), "SystemExit"),
    "hangs": (lambda q: [str(threading.Event().wait(5))], "no answer within 0.2 s"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_whatever_goes_wrong_the_query_alone_is_left_and_the_expander_rests(kind):
    answer, said = WRONG[kind]
    model = Model(answer)
    expanding = patient(model, timeout_s=0.2 if kind == "hangs" else LONG_S, rest_s=60)
    for query in ("first", "second", "third"):
        found = expanding.begin(query).result()
        assert found.variants == (query,)
        (cause,) = causes(found)
        # The second is not asked: that is why, and what went wrong before is told as that.
        assert said in cause and cause.startswith("the expander was not called: it rests") == (query != "first")
    assert model.asked == ["first"] and said in expanding.fault


def test_after_its_rest_it_is_asked_again_and_one_answer_in_time_ends_the_rest():
    model = Model(lambda query: 1 // 0)
    expanding = patient(model, rest_s=0)
    for n in range(4):
        assert causes(expanding.begin(f"query {n}").result())
    assert len(model.asked) == 4
    model.answer = lambda query: ["other words"]
    assert expanding.begin("query 0").result().variants == ("query 0", "other words") and expanding.fault is None


def test_a_late_answer_is_remembered_and_the_expander_rests_all_the_same(held):
    expanding = patient(held, timeout_s=0.05, rest_s=60)
    begun = expanding.begin("q")
    assert begun.result().variants == ("q",) and begun.result() is begun.result()
    held.go.set()
    begun._call.future.result(LONG_S)
    assert expanding.begin("q").result().variants == ("q", "q late")
    assert "rests" in causes(expanding.begin("another").result())[0]


def test_a_search_with_less_time_waits_less_and_that_is_no_failure(held):
    expanding = patient(held, timeout_s=LONG_S)
    found = expanding.begin("q", deadline_of(0.05)).result()
    assert found.variants == ("q",) and "raise timeout_s" in found.notes[0].cure and expanding.fault is None
    held.go.set()
    assert expanding.begin("q").result().variants == ("q", "q late")
    over = deadline_of(0.0)
    assert "no time" in causes(expanding.begin("other", over).result())[0] and held.asked == ["q"]
    assert expanding.begin("q", over).result().variants == ("q", "q late")


def test_nothing_is_waited_for_before_the_phrasings_are_wanted(held):
    begun = patient(held).begin("q")
    assert held.reached.wait(LONG_S) and not begun.done
    held.go.set()
    assert begun.result().variants == ("q", "q late") and begun.done


def test_searches_for_the_same_query_share_one_call(held):
    expanding = patient(held)
    begun = [expanding.begin("q") for _ in range(50)]
    found = []
    threads = [threading.Thread(target=lambda one=one: found.append(one.result().variants)) for one in begun]
    for thread in threads:
        thread.start()
    held.go.set()
    for thread in threads:
        thread.join(LONG_S)
    assert held.asked == ["q"] and found == [("q", "q late")] * 50


def test_calls_that_never_return_keep_no_more_than_their_number_of_threads(held):
    expanding = patient(held, timeout_s=0.01, rest_s=0)
    found = [expanding.begin(f"query {n}").result() for n in range(2 * MOST_CALLS)]
    assert [one.variants for one in found] == [(f"query {n}",) for n in range(2 * MOST_CALLS)]
    assert ["have not returned" in causes(one)[0] for one in found] == [False] * MOST_CALLS + [True] * MOST_CALLS
    assert len(held.asked) <= MOST_CALLS


def test_a_call_that_nobody_waited_for_long_enough_is_a_failure_too(held):
    expanding = patient(held, timeout_s=0.02, rest_s=60)
    expanding.begin("q")
    threading.Event().wait(0.05)
    (cause,) = causes(expanding.begin("other").result())
    assert "it rests for another 60 s because an earlier call failed" in cause and "no answer within 0.02 s" in cause
    assert "other" not in held.asked


@pytest.mark.parametrize("size", [0, 1, 2, 50])
def test_as_many_queries_are_remembered_as_there_is_room_for(size):
    model = Model()
    expanding = patient(model, cache_size=size)
    for n in range(10):
        expanding.begin(f"query {n}").result()
    model.asked.clear()
    for n in reversed(range(10)):
        expanding.begin(f"query {n}").result()
    assert model.asked == [f"query {n}" for n in reversed(range(max(0, 10 - size)))]


def test_the_queries_that_were_used_last_stay():
    model = Model()
    expanding = patient(model, cache_size=2)
    for query in ("a", "b", "a", "c", "a", "b"):
        expanding.begin(query).result()
    assert model.asked == ["a", "b", "c", "b"]


def test_each_further_failure_doubles_the_rest_up_to_its_bound():
    expanding = patient(Model(lambda query: 1 // 0), rest_s=0.001, longest_rest_s=0.005)
    rests = []
    while len(rests) < 5:
        if "rests" not in causes(expanding.begin("q").result())[0]:
            rests.append(expanding._breaker.pause_s)
    assert rests == [0.001, 0.002, 0.004, 0.005, 0.005]
    expanding._expander.answer = lambda query: ["other words"]
    while expanding.fault is not None:
        expanding.begin("q").result()
    expanding._expander.answer = lambda query: 1 // 0
    assert causes(expanding.begin("another").result()) and expanding._breaker.pause_s == 0.001


def test_after_its_rest_one_search_tries_it_and_the_others_go_on_without(held):
    model = Model(lambda query: 1 // 0)
    expanding = patient(model, rest_s=0)
    expanding.begin("q").result()
    model.answer = held
    tried = expanding.begin("q")
    assert held.reached.wait(LONG_S)
    assert "another search is retrying" in causes(expanding.begin("another").result())[0] and not tried.done
    held.go.set()
    assert tried.result().variants == ("q", "q late")
    assert expanding.begin("another").result().variants == ("another", "another late")


@pytest.mark.parametrize("query", ["", "   ", "\n"])
def test_nothing_is_asked_for_a_query_of_nothing(query):
    model = Model()
    found = patient(model).begin(query).result()
    assert (found.variants, found.notes, model.asked) == ((query,), (), [])


def test_a_query_as_long_as_a_text_is_searched_as_it_is():
    model = Model()
    (cause,) = causes(patient(model).begin("word " * 1_000).result())
    assert "5,000 characters" in cause and model.asked == []


def test_after_closing_it_asks_no_more_and_closes_what_the_expander_needs():
    closed, model = [], Model()
    expanding = patient(model, close=lambda: closed.append(1))
    expanding.begin("known").result()
    expanding.close()
    expanding.close()
    assert "closed" in causes(expanding.begin("q").result())[0] and model.asked == ["known"] and closed


@pytest.mark.parametrize(
    "arguments",
    [{"timeout_s": 0}, {"timeout_s": float("nan")}, {"most": 0}, {"most": 11}, {"cache_size": -1}, {"rest_s": -1}],
)
def test_arguments_out_of_range_are_refused_by_name(arguments):
    with pytest.raises(QueryError, match=next(iter(arguments))):
        patient(Model(), **arguments)
    with pytest.raises(QueryError, match="expander"):
        patient("a model", **arguments)
