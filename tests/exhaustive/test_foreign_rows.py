"""Values that Septet never writes, in every column of every table: only errors of the tree, and the rest is found.

Another program has changed a row, after it took the types from the columns, so that SQLite keeps any value there.
"""

import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from campaigns.campaign import SECONDS
from campaigns.foreign import COMMANDS, READS, SEARCHES, WRITES, apart, made, told, tried
from commands import Commands
from septet.sqlite.store.connection import schema

ODD = {
    "nothing": None,
    "no text": "",
    "a word": "x",
    "digits": "5",
    "no bytes": b"",
    "bytes": b"text",
    "bytes that are no text": b"\xff\x00\xfe",
    "five zero bytes": bytes(5),
    "zero": 0,
    "less": -1,
    "two": 2,
    "the largest": 2**63 - 1,
    "the least": -(2**63),
    "a fraction": 1.5,
    "infinite": float("inf"),
    "minus infinite": float("-inf"),
    "1e300": 1e300,
    "a brace": "{",
    "5,000 deep": "[" * 5_000,
    "900 deep": '{"a":' * 900 + "1" + "}" * 900,
    "a list": "[1]",
    "an object": '{"a":1}',
    "null": "null",
    "half a character": '{"a":"\\ud800"}',
    "NaN in JSON": '{"a":NaN}',
    "a number of 5,000 digits": '{"a":' + "9" * 5_000 + "}",
    "tags that are none": '[["a"],1]',
    "two lines": "a\nb\x1b[31m\0c",
    "no UTF-8": ...,
}
#: One value of so many is tried, unless a campaign is asked for.
FEW = 6
NOT_A_NUMBER = np.float32([np.nan, 1.0]).tobytes()


def columns():
    """Return table and column of every table that Septet makes."""
    with closing(sqlite3.connect(":memory:")) as sql:
        sql.executescript(schema())
        tables = [
            name
            for name, text in sql.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name")
            if "_fts" not in name and text
        ]
        return [(table, row[1]) for table in tables for row in sql.execute(f"PRAGMA table_info({table})")]


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    folder = tmp_path_factory.mktemp("foreign")
    made(folder / "v.db", folder / "notes")
    apart(folder / "v.db")
    return folder / "v.db"


def changed(path, copy, table, column, value):
    """Copy a vault with a value in one row of a table; False where SQLite does not take it there."""
    for old in copy.parent.glob(copy.name + "*"):
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    shutil.copyfile(path, copy)
    sql = sqlite3.connect(copy)
    sql.create_function("casefold", 1, str.casefold, deterministic=True)
    first = next(row[1] for row in sql.execute(f"PRAGMA table_info({table})") if row[5])
    least = sql.execute(f"SELECT min({first}) FROM {table}").fetchone()[0]
    assert least is not None, table
    value, text = (b"\xff\xfea", "CAST(? AS TEXT)") if value is ... else (value, "?")
    try:
        with sql:
            sql.execute(f"UPDATE {table} SET {column} = {text} WHERE {first} IS ?", (value, least))
        return True
    except sqlite3.Error:
        return False
    finally:
        sql.close()


@pytest.mark.parametrize(("table", "column"), [pytest.param(*one, id="-".join(one)) for one in columns()])
def test_no_value_in_a_column_raises_an_error_that_is_not_septets(vault, tmp_path, table, column, monkeypatch):
    copy, run = tmp_path / "v.db", Commands(tmp_path, monkeypatch)
    odd = {**ODD, "NaN": NOT_A_NUMBER} if column == "vector" else ODD
    faults, taken, all_columns = [], 0, columns()
    first = all_columns.index((table, column))
    for number, (name, value) in enumerate(odd.items()):
        # All of them take half an hour: each column has others of them.
        if not SECONDS and (first + number) % FEW:
            continue
        if not changed(vault, copy, table, column, value):
            continue
        taken += 1
        faults += tried(copy, f"{table}.{column} is {name}", {**READS, **SEARCHES, **WRITES}, tmp_path)
        faults += told(run, f"{table}.{column} is {name}", COMMANDS)
    # A number of a row takes whole numbers alone, which may be none of those.
    assert taken or column in ("row", "file")
    assert not faults, f"{len(faults)}\n" + "\n".join(faults[:40])
