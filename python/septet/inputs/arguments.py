"""Validation of arguments; subclasses of `str`, `int` and `float` are converted to the plain type."""

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

#: The first second of the year 1.
BEGIN_OF_DATES = -62_135_596_800
#: The first second of the year 10000. Dates in seconds are earlier; dates in milliseconds since 1978 are later.
END_OF_DATES = 253_402_300_800
#: Limits of Linux.
MOST_PATH_BYTES = 4_096
MOST_NAME_BYTES = 255
#: `inspect.CO_COROUTINE`; `inspect` is not imported in searches.
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
    """Return a short, printable repr of any value for an error message; never raises."""
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
    """Truncate another error's message to 500 characters."""
    return text if len(text) <= 500 else text[:500] + "..."


def exact(value: Any) -> Any:
    """Convert subclasses of `str`, `int` and `float` to the plain type; return other values unchanged."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return value if isinstance(value, bool) else int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    return value


def utf8(value: object, name: str, error: type[Exception] = EntryError, most: int | None = None) -> str:
    """Return a text; raise `error` for another type, a lone surrogate, or more than `most` characters."""
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
        raise error(f"{name} has {len(value):,} characters: at most {most:,} are allowed; shorten it")
    return value


def whole(value: object, name: str, error: type[Exception], least: int, most: int | None = None) -> int:
    """Return a whole number, also of numpy, as an `int`; raise `error` for other values, and out of range."""
    if type(value) is not int and isinstance(number := exact(value), Integral) and not isinstance(number, bool):
        # numpy.timedelta64 is registered as Integral.
        with suppress(TypeError):
            value = int(number)
    if type(value) is not int or value < least or (most is not None and value > most):
        raise error(f"{name} is {shown(value)}: wanted a whole number {_range(least, most)}")
    return value


def real(
    value: object, name: str, error: type[Exception], least: float | None = None, most: float | None = None
) -> float:
    """Return a finite number, also whole or of numpy, as a `float`; raise `error` for others, and out of range."""
    number = exact(value)
    if not isinstance(number, bool) and isinstance(number, Real):
        try:
            result = float(number)
        except (OverflowError, TypeError):
            result = math.inf
        if math.isfinite(result) and (least is None or result >= least) and (most is None or result <= most):
            return result
    raise error(f"{name} is {shown(value)}: wanted a number {_range(least, most)}".rstrip())


def share(value: object, name: str, error: type[Exception]) -> float:
    """Return a number above 0 and at most 1; raise `error` for others."""
    result = real(value, name, error)
    if not 0 < result <= 1:
        raise error(f"{name} is {shown(value)}: wanted more than 0 and at most 1")
    return result


def clock_time(now: object, error: type[Exception]) -> float:
    """Return the result of the caller's clock; raise `error` outside the years 1 to 9999, as for milliseconds."""
    return real(now, "what clock() returned", error, BEGIN_OF_DATES, END_OF_DATES - 1)


def _range(least: float | None, most: float | None) -> str:
    if least is None:
        return "" if most is None else f"of at most {most:,}"
    return f"of at least {least:,}" if most is None else f"from {least:,} to {most:,}"


def listed(
    values: object, name: str, error: type[Exception], expected: str, most: int | None = None, *, of: type = object
) -> list[Any]:
    """Return a collection or iterable as a list; raise `error` for text, bytes, dicts and more than `most` values.

    Errors of the caller's iterator are raised unchanged.

    Args:
        expected: description for errors, such as ``a list of ids``.
        of: stop after the first value of another type, which the caller refuses.
    """
    if most is not None and _has_more(values, most):
        raise error(f"{name} has more than {most:,} values: split them into several calls")
    if type(values) in (list, tuple):
        items: list[Any] = list(values)  # type: ignore[call-overload]
    elif isinstance(values, (str, bytes, bytearray, memoryview, Mapping)) or not isinstance(values, Iterable):
        raise error(f"{name} is {shown(values)}: wanted {expected}")
    else:
        try:
            # Not `list(values)`, which preallocates by `len(values)`.
            source = iter(values)
        except TypeError:
            raise error(f"{name} is {shown(values)}: wanted {expected}") from None
        items = []
        for value in source:
            items.append(value)
            if not isinstance(value, of) or (most is not None and len(items) > most):
                break
    if most is not None and len(items) > most:
        raise error(f"{name} has more than {most:,} values: split them into several calls")
    return items


def _has_more(values: object, most: int) -> bool:
    """Return True if the `len` of a collection exceeds the maximum, before any value is read."""
    if isinstance(values, (str, bytes, bytearray, memoryview, Mapping)) or not isinstance(values, Sized):
        return False
    try:
        return len(values) > most
    except OverflowError:
        # A range of more than 64 bits.
        return True
    except Exception:  # noqa: BLE001 - the caller's `__len__` may raise anything; reading the values reports more
        return False


def as_text(value: object) -> object:
    """Convert a path-like object to text or bytes; return other values unchanged."""
    if not isinstance(value, str) and isinstance(value, os.PathLike):
        with suppress(TypeError):
            return os.fspath(value)
    return value


def absolute(path: str) -> str:
    """Return the absolute path; raise `StoreError` for a relative one if the working directory was deleted."""
    # Not pathlib, here and in searches: its import takes 3 ms.
    if os.path.isabs(path):  # noqa: PTH117
        return path
    try:
        return os.path.join(os.getcwd(), path)  # noqa: PTH109, PTH118
    except FileNotFoundError:
        raise StoreError(
            f"{path} cannot be found: the working directory is gone; change to another, or use an absolute path"
        ) from None


def file_path(value: object, name: str, error: type[Exception]) -> str:
    """Return a path as text.

    Raises:
        error: neither text nor a path of text; empty; contains NUL; longer than 4,096 bytes, or a name longer than 255.
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
    """Raise `error` if a value is neither True nor False."""
    if not isinstance(value, bool):
        raise error(f"{name} is {shown(value)}: wanted True or False")


def flags(values: Mapping[str, object], error: type[Exception]) -> None:
    """Raise `error` if one of these values, by name, is neither True nor False."""
    for name, value in values.items():
        flag(value, name, error)


def called(value: _Called, name: str, error: type[Exception]) -> _Called:
    """Return the caller's function, or None; raise `error` for an async function, and for other values."""
    if value is not None and not callable(value):
        raise error(f"{name} is {shown(value)}: wanted a function, or None")
    if getattr(getattr(value, "__code__", None), "co_flags", 0) & CO_COROUTINE:
        raise error(f"{name} is an async function: wanted a plain one, since it runs on threads without a loop")
    return value


def variables(environment: object, error: type[Exception]) -> Mapping[str, str]:
    """Return environment variables, those of the process for None; raise `error` for others than texts.

    Errors never show values, which may be API keys.
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
    """Convert a finite number or an aware `datetime` to epoch seconds, None to None; raise `error` for other values."""
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
        # An int may be too large for a float.
        with suppress(OverflowError):
            if math.isfinite(seconds := float(number)):
                return seconds
    raise error(f"{name} is {shown(value)}: wanted epoch seconds or a datetime with a time zone")
