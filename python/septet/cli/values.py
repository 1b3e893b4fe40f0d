"""Plain values of the command line, read without pydantic, which takes longer to load than a search.

Typer loads it for each value that is not a bool, even for a missing one.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from typing import Any, Literal, get_args, get_origin

import typer

#: Maximum digits of an integer.
_DIGITS = 18


def type_of(hint: Any) -> Any:
    """Return the type of a value from an annotation, without None, lists and metadata."""
    while get_origin(hint) is not None and get_origin(hint) is not Literal:
        hint = next(part for part in get_args(hint) if part is not type(None))
    return hint


def read_plainly(command: Any, ctx: Any) -> None:
    """Make the options of a command return plain values as they are; typer reads the others."""
    if hasattr(typer.main, "generate_enum_convertor"):
        # Older versions read values without pydantic, and convert them later.
        return
    for option in command.get_params(ctx):
        if getattr(option, "min", None) is None and getattr(option, "max", None) is None:
            option.process_value = partial(_read_value, option, option.process_value)


def _read_value(option: Any, process: Callable[[Any, Any], Any], ctx: Any, value: Any) -> Any:
    repeated = option.multiple or option.nargs == -1
    if value is None and not option.required:
        absent = () if repeated else None
        return absent if option.callback is None else option.callback(ctx, option, absent)
    if option.callback is not None or repeated is not isinstance(value, (list, tuple)):
        return process(ctx, value)
    kind = getattr(option, "plain_type", None)
    values = [plain_value(item, kind) for item in (value if repeated else [value])]
    if None in values or not values:
        return process(ctx, value)
    return values if repeated else values[0]


def plain_value(value: Any, kind: Any) -> Any:
    """Return a value as its type; None if it is not plain."""
    if not isinstance(value, str):
        return value if isinstance(kind, type) and kind is not Any and isinstance(value, kind) else None
    if kind is int and value.isascii() and value.isdigit() and len(value) <= _DIGITS:
        return int(value)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next((member for member in kind if member.value == value), None)
    # Lone surrogates, which no text contains, are not printable.
    return value if kind in (str, Any) and value.isprintable() else None
