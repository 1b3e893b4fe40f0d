"""Values that no caller means, and callers pass: one of each sort, made anew each time."""

from __future__ import annotations

import ctypes
import os
import tempfile
from collections import UserDict, UserList
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from pathlib import Path

import numpy as np


class Evil(Exception):
    """What the values below raise. Septet may hand it on: it is an error of the caller's own code."""


def raises(*_, **__):
    raise Evil("a value of the caller's")


class TextOf(str):
    """Text that is a little more."""


class NumberOf(int):
    pass


class RealOf(float):
    pass


class ListOf(list):
    pass


class DictOf(dict):
    pass


class Colour(str, Enum):
    RED = "red"


class Size(IntEnum):
    LARGE = 3


class EvilText(str):
    __slots__ = ()
    __eq__ = __len__ = __iter__ = __str__ = __repr__ = __getitem__ = __contains__ = raises
    __hash__ = str.__hash__


class EvilNumber(int):
    __lt__ = __le__ = __gt__ = __ge__ = __int__ = __index__ = __float__ = __repr__ = __bool__ = raises


class EvilReal(float):
    __lt__ = __le__ = __gt__ = __ge__ = __float__ = __repr__ = __bool__ = raises


class Anything:
    """Made of anything."""

    def __init__(self, *_, **__):
        pass


class EvilHash:
    __hash__ = __eq__ = raises


class EvilRepr:
    __repr__ = __str__ = raises


class EvilIndex:
    __index__ = __int__ = __float__ = raises


class EvilArray:
    __array__ = raises


class EvilPath:
    __fspath__ = raises


class EvilAttributes:
    __getattr__ = raises


class EvilList(list):
    __iter__ = __len__ = __getitem__ = __eq__ = __repr__ = raises


class EvilDict(dict):
    __iter__ = __len__ = __getitem__ = keys = items = get = __repr__ = raises


class ReprOfOther:
    def __repr__(self):
        return None


class LongRepr:
    def __repr__(self):
        return "x" * 5_000_000


class Lying(Sequence):
    """Says that it is long and is not."""

    def __len__(self):
        return 2**62

    def __getitem__(self, index):
        if index < 2:
            return "one"
        raise IndexError(index)


class LyingMapping(Mapping):
    def __len__(self):
        return 2**62

    def __iter__(self):
        return iter(())

    def __getitem__(self, key):
        raise KeyError(key)


class PathOf:
    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return self.path


class Nowhere(tzinfo):
    """A time zone that is none."""

    def utcoffset(self, moment):
        return None


class TooFar(tzinfo):
    def utcoffset(self, moment):
        return timedelta(days=400)


def recursive_list():
    made = []
    made.append(made)
    return made


def recursive_dict():
    made = {}
    made["self"] = made
    return made


def nested(depth, make):
    made = make(None)
    for _ in range(depth):
        made = make(made)
    return made


def read_only():
    made = np.ones(3, np.float32)
    made.flags.writeable = False
    return made


def mapped():
    with tempfile.TemporaryFile() as file:
        file.write(np.ones(3, np.float32).tobytes())
        file.flush()
        return np.memmap(file, np.float32, "r", 0, (3,))


def exhausted():
    made = iter(["a"])
    next(made)
    return made


def stops():
    yield "a"
    raise Evil("in the middle")


NUMBERS = {
    "no": lambda: False,
    "yes": lambda: True,
    "0": lambda: 0,
    "-1": lambda: -1,
    "-0.0": lambda: -0.0,
    "2**31": lambda: 2**31,
    "2**63": lambda: 2**63,
    "-2**63 - 1": lambda: -(2**63) - 1,
    "2**70": lambda: 2**70,
    "10**400": lambda: 10**400,
    "10**5000": lambda: 10**5_000,
    "0.5": lambda: 0.5,
    "3.0": lambda: 3.0,
    "NaN": lambda: float("nan"),
    "inf": lambda: float("inf"),
    "-inf": lambda: float("-inf"),
    "1e308": lambda: 1e308,
    "5e-324": lambda: 5e-324,
    "complex": lambda: 1 + 2j,
    "Decimal": lambda: Decimal("1.5"),
    "Decimal sNaN": lambda: Decimal("sNaN"),
    "Decimal huge": lambda: Decimal("1e999999"),
    "Fraction": lambda: Fraction(1, 3),
    "Fraction huge": lambda: Fraction(10**400),
    "numpy int": lambda: np.int64(3),
    "numpy uint": lambda: np.uint64(2**64 - 1),
    "numpy float": lambda: np.float32(0.1),
    "numpy NaN": lambda: np.float64("nan"),
    "numpy longdouble": lambda: np.finfo(np.longdouble).max,
    "numpy bool": lambda: np.bool_(True),
    "numpy str": lambda: np.str_("text"),
    "numpy bytes": lambda: np.bytes_(b"text"),
    "numpy void": lambda: np.void(b"abc"),
    "numpy time": lambda: np.datetime64("2020-01-01"),
    "IntEnum": lambda: Size.LARGE,
    "int subclass": lambda: NumberOf(3),
    "float subclass": lambda: RealOf(0.5),
    "evil int": lambda: EvilNumber(3),
    "evil float": lambda: EvilReal(0.5),
}
TEXTS = {
    "empty": lambda: "",
    "blank": lambda: " \t\n",
    "digits": lambda: "12",
    "surrogate": lambda: "a\ud800b",
    "NUL": lambda: "a\0b",
    "control": lambda: "\x1b[31m\x07\u202e\u2028",
    "not a character": lambda: "\uffff\U0010ffff",
    "str subclass": lambda: TextOf("text"),
    "enum": lambda: Colour.RED,
    "evil str": lambda: EvilText("text"),
    "300 characters": lambda: "é" * 300,
    "10,000 characters": lambda: "x/" * 5_000,
    "bytes": lambda: b"text",
    "bytes not UTF-8": lambda: b"\xff\xfe",
    "bytearray": lambda: bytearray(b"text"),
    "memoryview": lambda: memoryview(b"text"),
}
COLLECTIONS = {
    "[]": list,
    "()": tuple,
    "{}": dict,
    "set()": set,
    "list of int": lambda: [5],
    "list of None": lambda: [None],
    "list of NaN": lambda: [float("nan"), 1.0, 2.0],
    "list of huge": lambda: [10**400, 1, 2],
    "list of text": lambda: ["a", "b", "c"],
    "list of odd text": lambda: ["a\ud800"],
    "list of lists": lambda: [["a"], [1.0, 2.0]],
    "list of digits": lambda: ["1", "2", "3"],
    "list of bools": lambda: [True, False, True],
    "list of complex": lambda: [1j, 2.0, 3.0],
    "list of dicts": lambda: [{"title": 5}],
    "ragged": lambda: [[1.0], [1.0, 2.0]],
    "tuple of two": lambda: (1, 2),
    "set of mixed": lambda: {1, "a", None},
    "dict": lambda: {"a": 1},
    "dict of numbers": lambda: {1: 2},
    "dict of odd names": lambda: {"\ud800": 1, "a\0b": 2},
    "dict of None": lambda: {None: None},
    "recursive list": recursive_list,
    "recursive dict": recursive_dict,
    "nested 2,000 lists": lambda: nested(2_000, lambda inner: [inner]),
    "nested 100,000 lists": lambda: nested(100_000, lambda inner: [inner]),
    "nested 100,000 dicts": lambda: nested(100_000, lambda inner: {"a": inner}),
    "list subclass": lambda: ListOf([1.0, 2.0, 3.0]),
    "dict subclass": lambda: DictOf(title="t"),
    "UserList": lambda: UserList(["a"]),
    "UserDict": lambda: UserDict(title="t"),
    "evil list": lambda: EvilList([1.0, 2.0]),
    "evil dict": lambda: EvilDict(title="t"),
    "lying": Lying,
    "lying mapping": LyingMapping,
    "generator": lambda: (x for x in ("a", "b")),
    "generator that stops": stops,
    "exhausted": exhausted,
    "range": lambda: range(3),
    "huge range": lambda: range(2**62),
}
OTHERS = {
    "None": lambda: None,
    "object": object,
    "class": lambda: Anything,
    "lambda": lambda: lambda *_: None,
    "module": lambda: os,
    "Ellipsis": lambda: ...,
    "NotImplemented": lambda: NotImplemented,
    "exception": lambda: ValueError("x"),
    "slice": lambda: slice(1, 2),
    "evil hash": EvilHash,
    "evil repr": EvilRepr,
    "evil index": EvilIndex,
    "evil array": EvilArray,
    "evil attributes": EvilAttributes,
    "repr that is no text": ReprOfOther,
    "long repr": LongRepr,
    "a pointer": lambda: ctypes.c_void_p(0),
}
ARRAYS = {
    "float64": lambda: np.ones(3),
    "float16": lambda: np.ones(3, np.float16),
    "float16 inf": lambda: np.full(3, np.inf, np.float16),
    "longdouble": lambda: np.ones(3, np.longdouble),
    "longdouble huge": lambda: np.full(3, np.finfo(np.longdouble).max),
    "big endian": lambda: np.ones(3, ">f8"),
    "int array": lambda: np.arange(1, 4),
    "uint8 array": lambda: np.arange(1, 4, dtype=np.uint8),
    "bool array": lambda: np.array([True, False, True]),
    "complex array": lambda: np.array([1j, 2, 3]),
    "object array": lambda: np.array([1.0, "2", None], dtype=object),
    "str array": lambda: np.array(["1", "2", "3"]),
    "bytes array": lambda: np.array([b"1", b"2", b"3"]),
    "datetime array": lambda: np.array(["2020", "2021", "2022"], "datetime64[s]"),
    "timedelta array": lambda: np.array([1, 2, 3], "timedelta64[s]"),
    "void array": lambda: np.zeros(3, [("a", "f4")]),
    "NaN array": lambda: np.array([1.0, np.nan, 2.0], np.float32),
    "zero array": lambda: np.zeros(3, np.float32),
    "tiny array": lambda: np.full(3, 1e-300),
    "0-d array": lambda: np.array(1.0),
    "empty array": lambda: np.empty(0, np.float32),
    "3-d array": lambda: np.ones((2, 2, 3), np.float32),
    "0 by 3": lambda: np.empty((0, 3), np.float32),
    "3 by 0": lambda: np.empty((3, 0), np.float32),
    "0-stride array": lambda: np.broadcast_to(np.float32(1), (3,)),
    "0-stride rows": lambda: np.broadcast_to(np.ones(3, np.float32), (1_000, 3)),
    "huge rows without memory": lambda: np.broadcast_to(np.float32(1), (2**40, 3)),
    "huge row without memory": lambda: np.broadcast_to(np.float32(1), (2**40,)),
    "negative stride": lambda: np.ones(3, np.float32)[::-1],
    "Fortran": lambda: np.asfortranarray(np.ones((2, 3), np.float32)),
    "read-only array": read_only,
    "memmap": mapped,
    "masked array": lambda: np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0]),
    "matrix": lambda: np.ones((1, 3)).view(np.matrix),
    "record array": lambda: np.rec.array([(1.0,), (2.0,)], dtype=[("a", "f4")]),
    "65,537 numbers": lambda: np.ones(65_537, np.float32),
}
TIMES = {
    "naive datetime": lambda: datetime(2020, 1, 1),
    "year 1": lambda: datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
    "year 9999": lambda: datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-12))),
    "odd zone": lambda: datetime(2020, 1, 1, tzinfo=Nowhere()),
    "zone too far": lambda: datetime(2020, 1, 1, tzinfo=TooFar()),
    "date": lambda: date(2020, 1, 1),
    "timedelta": lambda: timedelta(days=1),
    "time as text": lambda: "2020-01-01T00:00:00Z",
}
PATHS = {
    "a folder": Path.cwd,
    "no folder": lambda: Path("/nonexistent/folder/file"),
    "/dev/full": lambda: Path("/dev/full"),
    "/dev/null": lambda: "/dev/null",
    "memory of the process": lambda: Path("/proc/self/mem"),
    "long path": lambda: Path("/tmp/" + "x" * 10_000),
    "deep path": lambda: Path("/tmp/" + "x/" * 5_000),
    "NUL in a path": lambda: PathOf("a\0b"),
    "path of bytes": lambda: PathOf(b"/nonexistent/\xff"),
    "path of None": lambda: PathOf(None),
    "path not UTF-8": lambda: "/nonexistent/\udcff",
    "evil path": EvilPath,
}
#: Each takes a second or so somewhere.
HEAVY = {
    "10 MB": lambda: "word " * 2_000_000,
    "10 MB of one word": lambda: "x" * 10_000_000,
    "10 MB of bytes": lambda: b"x" * 10_000_000,
    "a million texts": lambda: ["a"] * 1_000_000,
    "a million numbers": lambda: list(range(1_000_000)),
}
LIGHT = {**NUMBERS, **TEXTS, **COLLECTIONS, **OTHERS, **ARRAYS, **TIMES, **PATHS}
ALL = {**LIGHT, **HEAVY}
