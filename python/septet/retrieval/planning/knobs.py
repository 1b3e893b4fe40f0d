"""Knobs: the settings of a policy, each with its bounds, its names in the environment, and what it does."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import field
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from septet.inputs.arguments import cut, exact, shown

__all__ = ["OURS", "THEIRS", "Bad", "Kind", "Knob", "checked_value", "knob", "parsed_value", "wanted_of"]

Kind: TypeAlias = Literal["number", "whole", "switch", "text", "address", "choice", "words"]

#: Before the names of knobs in the environment: Septet's own, which win, and the documented ones.
OURS = "SEPTET_SEARCH_"
THEIRS = "VOX_SEARCH_"

#: Words that mean yes and no, as documented.
YES, NO = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})
#: A longer text may be a key that stands in the wrong place; no problem shows it.
MOST_SHOWN = 24
MOST_WORDS, MOST_CHARS = 1_000, 4_096


class Knob(NamedTuple):
    """One setting.

    Attributes:
        kind: what a value is.
        variable: its name in the environment, behind the prefix.
        about: what it does, in a sentence without its end.
        least: the smallest number.
        most: the largest number, or the most characters of a text; 0 for 4,096.
        choices: what a choice may be.
        pattern: what a text must match as a whole.
        aliases: whole names in the environment besides those with the two prefixes.
        inverted: a yes in the environment turns it off.
        documented: the documented system has this name for it, behind its own prefix.
    """

    kind: Kind
    variable: str
    about: str
    least: float = 0
    most: float = 0
    choices: tuple[str, ...] = ()
    pattern: str = ""
    aliases: tuple[str, ...] = ()
    inverted: bool = False
    documented: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """Its names in the environment; the first that is set counts."""
        theirs = (THEIRS + self.variable,) if self.documented and not self.aliases else ()
        return (OURS + self.variable, *theirs, *self.aliases)


class Bad(NamedTuple):
    """A value that cannot be.

    Attributes:
        said: what is wrong, without the name of the knob.
        instead: the nearest value that can be; None where there is none.
    """

    said: str
    instead: float | int | None = None


def knob(default: object, kind: Kind, variable: str, about: str, **rest: Any) -> Any:
    """Return the field of a dataclass that is a knob."""
    return field(default=default, metadata={"knob": Knob(kind, variable, about, **rest)})


def wanted_of(one: Knob) -> str:
    """Return what a value must be, in words."""
    if one.kind in ("number", "whole"):
        noun = "a number" if one.kind == "number" else "a whole number"
        form = "g" if one.kind == "number" else ","
        return f"{noun} from {one.least:{form}} to {one.most:{form}}"
    if one.kind == "choice":
        return f"one of {', '.join(one.choices)}"
    return {
        "switch": "true or false",
        "address": "the address of a server that begins with http:// or https://, without a name, key or query",
        "words": f"up to {MOST_WORDS:,} words of up to {MOST_CHARS:,} characters, a list or separated by commas",
        "text": f"text of 1 to {one.most or MOST_CHARS:,} characters" + (f" like {one.pattern}" if one.pattern else ""),
    }[one.kind]


def checked_value(one: Knob, value: object, default: object) -> Any:
    """Return a value as the knob keeps it, or a `Bad` that says why it cannot be."""
    value = exact(value)
    if value is None:
        return None if default is None else _bad(one, value)
    if one.kind in ("number", "whole"):
        return _number(one, value)
    if one.kind == "switch":
        return value if isinstance(value, bool) else _bad(one, value)
    if one.kind == "words":
        return _words(one, value)
    if not isinstance(value, str):
        return _bad(one, value)
    return _text(one, value.strip(), default)


def parsed_value(one: Knob, text: str, default: object) -> Any:
    """Return what a text from the environment says, or a `Bad`."""
    text = text.strip()
    value: object = text
    if one.kind == "switch":
        if (word := text.lower()) not in YES | NO:
            return Bad(f"is {_seen(text)}: wanted {', '.join(sorted(YES))}, or {', '.join(sorted(NO))}")
        value = (word in YES) is not one.inverted
    elif one.kind in ("number", "whole"):
        try:
            value = int(text) if one.kind == "whole" and re.fullmatch(r"[+-]?\d{1,30}", text) else float(text)
        except ValueError:
            return _bad(one, text)
    elif one.kind == "words":
        value = [word.strip() for word in text.split(",") if word.strip()]
    return checked_value(one, value, default)


def _number(one: Knob, value: object) -> Any:
    if isinstance(value, bool) or not isinstance(value, Real):
        return _bad(one, value)
    try:
        number = float(value)
    except (OverflowError, TypeError):
        number = math.inf
    if not math.isfinite(number):
        return _bad(one, number)
    if one.kind == "whole":
        if not isinstance(value, Integral) and not number.is_integer():
            return _bad(one, number)
        number = int(value) if isinstance(value, Integral) else int(number)
    nearest = number
    if number < one.least:
        nearest = type(number)(one.least)
    elif number > one.most:
        nearest = type(number)(one.most)
    return number if nearest == number else Bad(f"is {number:g}: wanted {wanted_of(one)}", nearest)


def _words(one: Knob, value: object) -> Any:
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, Sequence) or isinstance(value, (bytes, bytearray)) or len(value) > MOST_WORDS:
        return _bad(one, value)
    found = []
    for word in value:
        word = exact(word)
        if not isinstance(word, str) or not word.strip() or len(word) > MOST_CHARS or not word.isprintable():
            return _bad(one, word)
        found.append(word.strip())
    return tuple(dict.fromkeys(found)) if found else _bad(one, value)


def _text(one: Knob, text: str, default: object) -> Any:
    if not text:
        return None if default is None else _bad(one, text)
    if len(text) > (one.most or MOST_CHARS) or not text.isprintable():
        return _bad(one, text)
    if one.kind == "choice":
        return text if text in one.choices else _bad(one, text)
    if one.kind == "address" and not _is_address(text):
        # Not what it is: it may hold a password.
        return Bad(f"is no such address: wanted {wanted_of(one)}")
    if one.pattern and not re.fullmatch(one.pattern, text):
        return _bad(one, text)
    return text


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port_fits = parts.port is None or parts.port > 0
    except ValueError:
        return False
    secrets = parts.username or parts.password or parts.query or parts.fragment
    return parts.scheme in ("http", "https") and bool(parts.hostname) and port_fits and not secrets and " " not in text


def _bad(one: Knob, value: object) -> Bad:
    return Bad(f"is {_seen(value)}: wanted {wanted_of(one)}")


def _seen(value: object) -> str:
    if isinstance(value, str) and len(value) > MOST_SHOWN:
        return f"a text of {len(value):,} characters"
    return cut(shown(value))
