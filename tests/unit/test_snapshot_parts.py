"""Parts behind a snapshot manager: answers by generation, the schedule, numbered names, columns."""

import sqlite3
import threading
from contextlib import closing

import numpy as np
import pytest

from septet.errors import StoreError
from septet.model.arrays import NameTable
from septet.sqlite.snapshot.columns import COLUMNS, FactColumn, facts_of
from septet.sqlite.snapshot.state import Answers, Schedule
from septet.sqlite.store.store import SqliteReading


class OpenStore:
    """A store as a schedule sees it."""

    closed = False


def at(generation):
    return SqliteReading(None, generation)


def test_a_question_is_asked_once_a_generation():
    asked = []
    answers = Answers()
    for generation in (4, 4, 5, 5, 4):
        answers.remembered(at(generation), "links", lambda generation=generation: asked.append(generation))
    assert asked == [4, 5, 4]


def test_an_answer_of_one_generation_is_never_given_for_another():
    answers = Answers()
    found = [answers.remembered(at(g), key, lambda g=g, key=key: (g, key)) for g in (1, 2, 1) for key in ("a", "b")]
    assert found == [(1, "a"), (1, "b"), (2, "a"), (2, "b"), (1, "a"), (1, "b")]


def test_nothing_is_also_an_answer():
    asked = []
    answers = Answers()
    for _ in range(2):
        assert answers.remembered(at(1), "none", lambda: asked.append(1)) is None
    assert asked == [1]


def test_only_one_can_work_at_a_time():
    schedule = Schedule()
    turn = schedule.turn()
    assert turn is not None and schedule.busy
    assert schedule.turn() is None
    turn.release()
    assert not schedule.busy
    assert schedule.turn() is not None


def test_a_turn_that_nobody_has_any_more_is_over():
    schedule = Schedule()
    turn = schedule.turn()
    assert schedule.turn() is None
    del turn
    assert not schedule.busy
    with schedule.wait():
        assert schedule.turn() is None
    assert schedule.turn() is not None


def run(schedule, task, store):
    schedule.start(task, store, schedule.turn())
    done = threading.Event()
    for _ in range(1_000):
        if not schedule.busy:
            return
        done.wait(0.01)
    pytest.fail("the task did not end within ten seconds")


def test_a_task_runs_step_by_step_until_it_says_that_nothing_is_left():
    left = [True, True, False, True]
    run(Schedule(), lambda: left.pop(0), OpenStore())
    assert left == [True]


@pytest.mark.parametrize("fault", [StoreError("gone"), MemoryError(), RuntimeError()], ids=lambda f: type(f).__name__)
def test_a_task_that_fails_leaves_the_schedule_free(fault):
    def task():
        raise fault

    schedule = Schedule()
    run(schedule, task, OpenStore())
    assert schedule.turn() is not None


def test_the_task_of_a_closed_store_does_not_run():
    store, steps = OpenStore(), []
    store.closed = True
    run(Schedule(), lambda: steps.append(1), store)
    assert steps == []


def test_names_have_numbers_in_order_of_first_sight():
    names = NameTable(["entry", "chunk"])
    assert names.numbers(["chunk", "memory", "entry", "memory"]) == [1, 2, 0, 2]
    assert names.names == ["entry", "chunk", "memory"]


@pytest.mark.parametrize(
    ("fill", "null"), [(-1, -1), (0.5, 0.5), (-np.inf, -np.inf), (np.inf, np.inf), ("", ""), ("none", "none")]
)
def test_null_becomes_what_the_column_says(fill, null):
    column = FactColumn("any", np.float64, "e.value", fill=fill)
    with closing(sqlite3.connect(":memory:")) as sql:
        sql.execute("CREATE TABLE entries (value)")
        sql.executemany("INSERT INTO entries VALUES (?)", [(None,), (7,)])
        found = [value for (value,) in sql.execute(f"SELECT {column.expression} FROM entries e ORDER BY rowid")]
    assert found == [null, 7]


def test_texts_become_numbers_and_every_array_has_its_type():
    columns = (FactColumn("line", np.int32, "?"), FactColumn("path", np.int32, "?", numbered=True))
    names = NameTable()
    facts = facts_of(columns, [(3, "b"), (7, ""), (5, "b")], names)
    assert facts["line"].tolist() == [3, 7, 5]
    assert [names.names[i] for i in facts["path"]] == ["b", "", "b"]
    assert {name: str(values.dtype) for name, values in facts.items()} == {"line": "int32", "path": "int32"}


def test_without_rows_every_column_is_empty_and_of_its_type():
    facts = facts_of(COLUMNS, [], NameTable())
    assert {name: (len(values), values.dtype) for name, values in facts.items()} == {
        column.name: (0, np.dtype(column.dtype)) for column in COLUMNS
    }


def test_columns_have_different_names_and_begin_with_the_row():
    assert len({column.name for column in COLUMNS}) == len(COLUMNS)
    # Facts about what changed are sorted by it.
    assert COLUMNS[0].name == "rows"
