"""Arguments as callers pass them: checked once where they come in, and taken as values of exactly the type meant.

A subclass of `str`, `int` or `float` is taken for the value it is, whatever methods it has.
"""

from __future__ import annotations

import math
import os
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sized
from contextlib import suppress
from datetime import datetime
from numbers import Integral, Real
from typing import Any, TypeVar

from septet.errors import EntryError, StoreError, printable

__all__ = [
    "BEGIN_OF_DATES",
    "END_OF_DATES",
    "absolute",
    "as_epoch",
    "as_text",
    "called",
    "clock_time",
    "cut",
    "exact",
    "file_path",
    "flag",
    "flags",
    "listed",
    "printable",
    "real",
    "shown",
    "utf8",
    "whole",
]

#: The first second of the year 1.
BEGIN_OF_DATES = -62_135_596_800
#: The first second of the year 10000: no date in seconds is so late, every one in milliseconds from 1978 on is.
END_OF_DATES = 253_402_300_800
#: A path may be as long as Linux takes it.
MOST_PATH_BYTES = 4_096
MOST_NAME_BYTES = 255
#: The flag of the code of an async function, as `inspect` calls it, which searches do not load.
CO_COROUTINE = 0x80

_Called = TypeVar("_Called", bound="Callable[..., object] | None")


class _Shown(reprlib.Repr):
    """A short repr of anything."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother = 2, 60, 80
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdict = self.maxdeque = 3

    def repr_int(self, value: int, _: int) -> str:
        bits = int.bit_length(value)
        return f"a whole number of {bits} bits" if bits > 128 else int.__repr__(value)


_SHOWN = _Shown()


def shown(value: object) -> str:
    """Return what an error shows of a value: its repr, cut, printable, whatever the value does."""
    try:
        if isinstance(value, int) and not isinstance(value, bool):
            text = _SHOWN.repr_int(value, 0)
        else:
            text = _SHOWN.repr(str.__str__(value) if isinstance(value, str) else value)
        text = text if len(text) <= 200 else text[:200] + "..."
    except Exception:  # noqa: BLE001 - a repr may raise anything, and the error is about something else
        text = f"a {type(value).__name__}"
    return printable(text)


def cut(text: str) -> str:
    """Return what an error quotes of another one's message."""
    return text if len(text) <= 500 else text[:500] + "..."


def exact(value: Any) -> Any:
    """Return text and numbers of subclasses as plain ones, and anything else as it is."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return value if isinstance(value, bool) else int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    return value


def utf8(value: object, name: str, error: type[Exception] = EntryError, most: int | None = None) -> str:
    """Return the text if it can be encoded as UTF-8.

    Args:
        most: so many characters at most.

    Raises:
        error: the value is not text, has a lone surrogate, or is too long.
    """
    if type(value) is not str:
        if not isinstance(value, str):
            hint = "decode bytes as UTF-8 first" if isinstance(value, (bytes, bytearray)) else f"got {shown(value)}"
            raise error(f"{name} is {type(value).__name__}, not text: wanted text, {hint}")
        value = str.__str__(value)
    if not value.isascii():
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as fault:
            raise error(
                f"{name} cannot be encoded as UTF-8 (a lone surrogate at character {fault.start}): "
                "decode the source with the right encoding"
            ) from None
    if most is not None and len(value) > most:
        raise error(f"{name} has {len(value):,} characters: at most {most:,} are taken; shorten it")
    return value


def whole(value: object, name: str, error: type[Exception], least: int, most: int | None = None) -> int:
    """Return a whole number as an `int`; one of numpy is taken too.

    Raises:
        error: no whole number, or out of range.
    """
    if type(value) is not int:
        number = exact(value)
        if isinstance(number, bool) or not isinstance(number, Integral):
            raise error(f"{name} is {shown(value)}: wanted a whole number {_range(least, most)}")
        try:
            value = int(number)
        except TypeError:
            # Spans of time of numpy say that they are whole numbers.
            raise error(f"{name} is {shown(value)}: wanted a whole number {_range(least, most)}") from None
    if value < least or (most is not None and value > most):
        raise error(f"{name} is {shown(value)}: wanted a whole number {_range(least, most)}")
    return value


def real(
    value: object, name: str, error: type[Exception], least: float | None = None, most: float | None = None
) -> float:
    """Return a finite number as a `float`; whole numbers, and those of numpy, are taken too.

    Raises:
        error: no number, NaN, infinite, or out of range.
    """
    number = exact(value)
    if not isinstance(number, bool) and isinstance(number, Real):
        try:
            found = float(number)
        except (OverflowError, TypeError):
            found = math.inf
        if math.isfinite(found) and (least is None or found >= least) and (most is None or found <= most):
            return found
    raise error(f"{name} is {shown(value)}: wanted a number {_range(least, most)}".rstrip())


def clock_time(now: object, error: type[Exception]) -> float:
    """Return what a clock of the caller's returned as epoch seconds.

    Raises:
        error: no number, or no time in the years 1 to 9999, as one in milliseconds is not.
    """
    return real(now, "what clock() returned", error, BEGIN_OF_DATES, END_OF_DATES - 1)


def _range(least: float | None, most: float | None) -> str:
    if least is None:
        return "" if most is None else f"of at most {most:,}"
    return f"of at least {least:,}" if most is None else f"from {least:,} to {most:,}"


def listed(
    values: object, name: str, error: type[Exception], wanted: str, most: int | None = None, *, of: type = object
) -> list[Any]:
    """Return a collection, or what gives several values, as a list; text, bytes and dicts are none.

    Args:
        wanted: what errors say of it, such as ``a list of ids``.
        most: so many values at most.
        of: stop behind the first value of another type, which the caller will refuse.

    Raises:
        error: the values cannot be listed, or are too many. What an iterator of the caller's raises is not changed.
    """
    if most is not None and _has_more(values, most):
        raise error(f"{name} has more than {most:,} values: split them into several calls")
    if type(values) in (list, tuple):
        found: list[Any] = list(values)  # type: ignore[call-overload]
    elif isinstance(values, (str, bytes, bytearray, memoryview, Mapping)) or not isinstance(values, Iterable):
        raise error(f"{name} is {shown(values)}: wanted {wanted}")
    else:
        try:
            # Not `list(values)`, which makes room for as many as the collection says that it has.
            source = iter(values)
        except TypeError:
            raise error(f"{name} is {shown(values)}: wanted {wanted}") from None
        found = []
        for value in source:
            found.append(value)
            if not isinstance(value, of) or (most is not None and len(found) > most):
                break
    if most is not None and len(found) > most:
        raise error(f"{name} has more than {most:,} values: split them into several calls")
    return found


def _has_more(values: object, most: int) -> bool:
    """Say whether a sequence or a set is too long, by what it says itself: before anything is taken from it."""
    if isinstance(values, (str, bytes, bytearray, memoryview, Mapping)) or not isinstance(values, Sized):
        return False
    try:
        return len(values) > most
    except OverflowError:
        # A range of more than 64 bits.
        return True
    except Exception:  # noqa: BLE001 - a collection of the caller's; taking its values says more
        return False


def as_text(value: object) -> object:
    """Return what a path is as text or bytes; any other value, and a path that is neither, as it is."""
    if not isinstance(value, str) and isinstance(value, os.PathLike):
        with suppress(TypeError):
            return os.fspath(value)
    return value


def absolute(path: str) -> str:
    """Return a path that names the same file after a change of the working directory.

    Raises:
        StoreError: the path is relative, and the working directory was deleted.
    """
    # Not by pathlib, here and in a search: it takes 3 ms to load.
    if os.path.isabs(path):  # noqa: PTH117
        return path
    try:
        return os.path.join(os.getcwd(), path)  # noqa: PTH109, PTH118
    except FileNotFoundError:
        raise StoreError(
            f"{path} cannot be found: the working directory is gone; change to another, or name the whole path"
        ) from None


def file_path(value: object, name: str, error: type[Exception]) -> str:
    """Return a path as text.

    Raises:
        error: neither text nor a path of text; empty, with NUL; longer than 4,096 bytes, or a name in it than 255.
    """
    text = as_text(value)
    if not isinstance(text, str):
        raise error(f"{name} is {shown(value)}: wanted the path of a file, as text or pathlib.Path")
    text = str.__str__(text)
    if not text or "\0" in text:
        raise error(f"{name} is {shown(text)}: wanted the path of a file; it is empty or has a NUL character")
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError:
        raise error(f"{name} is {shown(text)}, which this system's file names cannot hold: wanted valid text") from None
    if len(encoded) > MOST_PATH_BYTES:
        raise error(f"{name} has {len(encoded):,} bytes: a path has at most {MOST_PATH_BYTES:,}; choose a shorter one")
    if (longest := max(map(len, encoded.split(os.fsencode(os.sep))))) > MOST_NAME_BYTES:
        raise error(f"{name} has a name of {longest:,} bytes: at most {MOST_NAME_BYTES}; choose a shorter one")
    return text


def flag(value: object, name: str, error: type[Exception]) -> None:
    """Check that a value is True or False.

    Raises:
        error: it is neither.
    """
    if not isinstance(value, bool):
        raise error(f"{name} is {shown(value)}: wanted True or False")


def flags(values: Mapping[str, object], error: type[Exception]) -> None:
    """Check that values, by name, are True or False.

    Raises:
        error: one of them is neither.
    """
    for name, value in values.items():
        flag(value, name, error)


def called(value: _Called, name: str, error: type[Exception]) -> _Called:
    """Return a function of the caller's, or None.

    Raises:
        error: it cannot be called, or only awaited.
    """
    if value is not None and not callable(value):
        raise error(f"{name} is {shown(value)}: wanted a function, or None")
    if getattr(getattr(value, "__code__", None), "co_flags", 0) & CO_COROUTINE:
        raise error(f"{name} is an async function: wanted a plain one, as it is called on threads without a loop")
    return value


def variables(environment: object, error: type[Exception]) -> Mapping[str, str]:
    """Return environment variables, those of the process for None; nothing of them is shown, as they hold keys.

    Raises:
        error: no mapping, or one whose names and values are not all text.
    """
    if environment is None:
        return os.environ
    if not isinstance(environment, Mapping):
        raise error(f"environment is a value of type {type(environment).__name__}: wanted names and texts, or None")
    for name, value in environment.items():
        if not isinstance(name, str) or not isinstance(value, str):
            kind = type(name if not isinstance(name, str) else value).__name__
            raise error(f"environment has a name or a value of type {kind}: wanted texts")
    return environment


def as_epoch(value: object, name: str, error: type[Exception]) -> float | None:
    """Return a time as epoch seconds; ``None`` stays ``None``.

    Raises:
        error: the value is neither a finite number nor an aware `datetime`.
    """
    if value is None:
        return None
    if isinstance(value, datetime):
        try:
            aware = value.utcoffset() is not None
            if aware:
                return value.timestamp()
        except (OverflowError, ValueError):
            aware = True
        if not aware:
            raise error(f"{name} is a datetime without a time zone: use datetime.now(timezone.utc) or epoch seconds")
    number = exact(value)
    if not isinstance(number, bool) and isinstance(number, Real):
        # A whole number may be beyond a float.
        with suppress(OverflowError):
            if math.isfinite(found := float(number)):
                return found
    raise error(f"{name} is {shown(value)}: wanted epoch seconds or a datetime with a time zone")
