"""Sidecars with right checksums and anything in them: a search gives the same answers, with the note, or never notices.

A file is copied column by column, with some columns, names or the stamp changed. What comes of it is either the answer
without a sidecar, or, where no check can tell, another answer; never an error, much memory, or a result that is none.
"""

import json
import math
import random
import resource
import shutil

import numpy as np
import pytest

from campaigns.campaign import Campaign
from septet import _core
from sidecars import QUERIES, answers, folder_of, made, opened

#: By the end of a column's name, how its items are read.
ITEMS = {
    1: np.uint8,
    2: np.uint16,
    4: np.uint32,
    8: np.uint64,
    16: np.uint64,
}
ODD = [0, 1, 2, 127, 128, 255, 2**15, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**63 - 1, 2**63, 2**64 - 1]
STAMPS = [
    b"",
    b"null",
    b"[" * 5_000,
    b"\xff\xfe",
    b'[4, "a", 1e400, "b", []]',
    b'{"a": 1}',
    b"[" + b"9" * 6_000 + b"]",
    b'"\\ud800"',
]
NAMES = [b"[]", b"{}", b"[1]", b"[" * 5_000, b"\xff", b'["\\ud800"]', b"[null]", b'["a", "a"]', b""]


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    path = tmp_path_factory.mktemp("hostile") / "v.db"
    made(path)
    with opened(path) as whole:
        whole.link("e1", "e2")
        answers(whole)
        whole.optimize()
    shutil.copytree(folder_of(path), path.with_name("whole"))
    with opened(path, sidecar=False) as plain:
        return path, answers(plain)


def whole_of(path):
    """Return the sidecar as it was made."""
    (found,) = path.with_name("whole").glob("*.arrays")
    return found


def harmed(column, items, rng):
    """Return a column with other values, or another length."""
    if not len(column):
        return column
    how = rng.randrange(6)
    whole = np.frombuffer(column, dtype=ITEMS[items]).copy()
    if how == 0:
        return whole[: rng.randrange(len(whole))].tobytes()
    if how == 1:
        return np.concatenate([whole, whole[: rng.randrange(1, 9)]]).tobytes()
    if how == 2:
        rng.shuffle(whole)
        return whole.tobytes()
    few = rng.sample(range(len(whole)), min(len(whole), rng.choice([1, 1, 3, 50])))
    if how == 3 and items == 4:
        whole[few] = np.frombuffer(np.float32([math.nan, math.inf, -1e38])[rng.randrange(3)].tobytes(), np.uint32)
    elif how == 4 and items == 8:
        whole[few] = np.frombuffer(np.float64([math.nan, math.inf, -1e300])[rng.randrange(3)].tobytes(), np.uint64)
    else:
        whole[few] = rng.choice(ODD) % (1 << (8 * whole.itemsize))
    return whole.tobytes()


def item_bytes(name):
    """Return the size of a column's items, which the table of contents has, by trying."""
    end = name.rpartition(".")[2]
    eights = {"rows", "valid_from", "valid_until", "created_at", "updated_at", "ends", "totals", "columns", "postings"}
    eights |= {"posting_ends", "peak_ends", "name_ends", "forward_ends", "bits", "peaks", "dimensions", "segments"}
    if end in eights or (end == "slots" and "space" in name):
        return 4 if name.startswith("space") and end == "rows" else 8
    if name in ("entries.large", "grams.large"):
        return 8
    if end in ("names", "forward", "with_grams", "alive", "searchable", "counted", "long_words"):
        return 1
    if end == "numbers":
        return 2
    if end in ("high", "low"):
        return 64
    return 16 if end == "words" or name == "spelling.slots" else 4


def rewritten(source, target, rng):
    """Copy a sidecar with something changed, and say what."""
    file = _core.ArrayFile(source)
    names = file.names()
    stamp, chosen = file.stamp, set(rng.sample(names, rng.choice([1, 1, 1, 2, 5])))
    how = rng.choice(["values"] * 8 + ["stamp", "names", "lost", "renamed", "texts"])
    if how == "stamp":
        stamp = rng.choice([*STAMPS, json.dumps([rng.choice([4, 2**70, -1]), *json.loads(stamp)[1:]]).encode()])
    writer = _core.ArrayWriter(target, stamp)
    for name in names:
        items, column = item_bytes(name), file.column(name).tobytes()
        called = name
        if how == "names" and name == "names":
            column = rng.choice(NAMES)
        elif how == "lost" and name in chosen:
            continue
        elif how == "renamed" and name in chosen:
            called = rng.choice(["", "\0", "ö" * 300, rng.choice(names)])
        elif how == "texts" and items == 1:
            column = bytes(byte ^ (rng.random() < 0.01) * 255 for byte in column)
        elif how == "values" and name in chosen:
            column = harmed(column, min(items, 8), rng)
            column = column[: len(column) // items * items]
        writer.column(called, items, [np.frombuffer(column, dtype=np.uint8)])
    writer.finish()
    return how, sorted(chosen)


def peak_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def is_sound(found):
    return all(isinstance(hit_id, str) and 0 <= score <= 1 for hits in found for hit_id, score in hits)


def test_no_sidecar_can_make_a_search_fail_or_take_much_memory(vault):
    path, wanted = vault
    whole = whole_of(path)
    name = whole.name
    campaign = Campaign("hostile sidecars")
    before = peak_bytes()
    for seed in campaign.rounds(few=120):
        rng = random.Random(seed)
        for old in folder_of(path).glob("*.arrays"):
            old.unlink()
        what = rewritten(whole, folder_of(path) / name, rng)
        with opened(path, read_only=True, mapped=rng.random() < 0.5) as hostile:
            found = answers(hostile)
            notes = {note.code for note in hostile.search(QUERIES[0]).notes}
            hostile.explain("alpha", "e1", query_vector=[1.0, 0.5, 0.25])
        assert is_sound(found), what
        campaign.tried["given up" if "sidecar_damaged" in notes else "in use"] += 1
        campaign.tried["other answers"] += found != wanted
        assert "sidecar_damaged" not in notes or found == wanted or found[-4:] == wanted[-4:], what
    assert peak_bytes() - before < 200 << 20
    assert campaign.tried["given up"] > campaign.tried["in use"] / 4


@pytest.mark.parametrize("column", ["created_at", "updated_at"])
@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_time_that_is_none_is_given_up(vault, column, value):
    path, wanted = vault
    target = folder_of(path) / whole_of(path).name
    target.unlink(missing_ok=True)
    file = _core.ArrayFile(whole_of(path))
    writer = _core.ArrayWriter(target, file.stamp)
    for each in file.names():
        content = file.column(each).copy()
        if each == column:
            content.view(np.float64)[7] = value
        writer.column(each, item_bytes(each), [content])
    writer.finish()
    with opened(path, read_only=True) as hostile:
        assert answers(hostile) == wanted
        assert "sidecar_damaged" in {note.code for note in hostile.search(QUERIES[0]).notes}
