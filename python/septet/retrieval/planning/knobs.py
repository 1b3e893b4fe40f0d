"""Knobs: the settings of a policy, with their bounds, variables and descriptions."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import field
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from septet.inputs.arguments import cut, exact, shown

Kind: TypeAlias = Literal["number", "whole", "switch", "text", "address", "choice", "words"]

#: Prefixes of knobs in the environment: Septet's own, which takes precedence, and the documented one.
OURS = "SEPTET_SEARCH_"
THEIRS = "VOX_SEARCH_"

#: Values of a switch, as documented.
YES, NO = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})
#: Maximum characters of a text shown in a problem: a longer one may be a misplaced key.
MOST_SHOWN = 24
MOST_WORDS, MOST_CHARS = 1_000, 4_096


class Knob(NamedTuple):
    """One setting.

    Attributes:
        kind: type of the value.
        variable: name in the environment, after the prefix.
        about: its effect, as a sentence without a full stop.
        least: minimum of a number.
        most: maximum of a number, or of the characters of a text; 0 for 4,096.
        choices: the valid choices.
        pattern: pattern of the whole text.
        aliases: whole names in the environment besides those with the two prefixes.
        inverted: True if a yes in the environment turns it off.
        documented: True if the documented system has this name after its own prefix.
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
        """Its names in the environment, by precedence."""
        theirs = (THEIRS + self.variable,) if self.documented and not self.aliases else ()
        return (OURS + self.variable, *theirs, *self.aliases)


class Bad(NamedTuple):
    """An invalid value.

    Attributes:
        problem: the problem, without the name of the knob.
        instead: the nearest valid value; None if there is none.
    """

    problem: str
    instead: float | int | None = None


def knob(default: object, kind: Kind, variable: str, about: str, **rest: Any) -> Any:
    """Return a dataclass field for a knob."""
    return field(default=default, metadata={"knob": Knob(kind, variable, about, **rest)})


def expected_value(setting: Knob) -> str:
    """Return the description of a valid value."""
    if setting.kind in ("number", "whole"):
        noun = "a number" if setting.kind == "number" else "a whole number"
        form = "g" if setting.kind == "number" else ","
        return f"{noun} from {setting.least:{form}} to {setting.most:{form}}"
    if setting.kind == "choice":
        return f"one of {', '.join(setting.choices)}"
    return {
        "switch": "true or false",
        "address": "the address of a server that begins with http:// or https://, without a name, key or query",
        "words": f"up to {MOST_WORDS:,} words of up to {MOST_CHARS:,} characters, a list or separated by commas",
        "text": f"text of 1 to {setting.most or MOST_CHARS:,} characters"
        + (f" like {setting.pattern}" if setting.pattern else ""),
    }[setting.kind]


def checked_value(setting: Knob, value: object, default: object) -> Any:
    """Return a value converted to the type of the knob, or a `Bad`."""
    value = exact(value)
    if value is None:
        return None if default is None else _bad(setting, value)
    if setting.kind in ("number", "whole"):
        return _number(setting, value)
    if setting.kind == "switch":
        return value if isinstance(value, bool) else _bad(setting, value)
    if setting.kind == "words":
        return _words(setting, value)
    if not isinstance(value, str):
        return _bad(setting, value)
    return _text(setting, value.strip(), default)


def parsed_value(setting: Knob, text: str, default: object) -> Any:
    """Return the value of a text from the environment, or a `Bad`."""
    text = text.strip()
    value: object = text
    if setting.kind == "switch":
        if (word := text.lower()) not in YES | NO:
            return Bad(f"is {_seen(text)}: wanted {', '.join(sorted(YES))}, or {', '.join(sorted(NO))}")
        value = (word in YES) is not setting.inverted
    elif setting.kind in ("number", "whole"):
        try:
            value = int(text) if setting.kind == "whole" and re.fullmatch(r"[+-]?\d{1,30}", text) else float(text)
        except ValueError:
            return _bad(setting, text)
    elif setting.kind == "words":
        value = [word.strip() for word in text.split(",") if word.strip()]
    return checked_value(setting, value, default)


def _number(setting: Knob, value: object) -> Any:
    if isinstance(value, bool) or not isinstance(value, Real):
        return _bad(setting, value)
    try:
        number = float(value)
    except (OverflowError, TypeError):
        number = math.inf
    if not math.isfinite(number):
        return _bad(setting, number)
    if setting.kind == "whole":
        if not isinstance(value, Integral) and not number.is_integer():
            return _bad(setting, number)
        number = int(value) if isinstance(value, Integral) else int(number)
    nearest = number
    if number < setting.least:
        nearest = type(number)(setting.least)
    elif number > setting.most:
        nearest = type(number)(setting.most)
    return number if nearest == number else Bad(f"is {number:g}: wanted {expected_value(setting)}", nearest)


def _words(setting: Knob, value: object) -> Any:
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, Sequence) or isinstance(value, (bytes, bytearray)) or len(value) > MOST_WORDS:
        return _bad(setting, value)
    words = []
    for word in value:
        word = exact(word)
        if not isinstance(word, str) or not word.strip() or len(word) > MOST_CHARS or not word.isprintable():
            return _bad(setting, word)
        words.append(word.strip())
    return tuple(dict.fromkeys(words)) if words else _bad(setting, value)


def _text(setting: Knob, text: str, default: object) -> Any:
    if not text:
        return None if default is None else _bad(setting, text)
    if len(text) > (setting.most or MOST_CHARS) or not text.isprintable():
        return _bad(setting, text)
    if setting.kind == "choice":
        return text if text in setting.choices else _bad(setting, text)
    if setting.kind == "address" and not _is_address(text):
        # The value is not shown: it may contain a password.
        return Bad(f"is not such an address: wanted {expected_value(setting)}")
    if setting.pattern and not re.fullmatch(setting.pattern, text):
        return _bad(setting, text)
    return text


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        port_fits = parts.port is None or parts.port > 0
    except ValueError:
        return False
    secrets = parts.username or parts.password or parts.query or parts.fragment
    return parts.scheme in ("http", "https") and bool(parts.hostname) and port_fits and not secrets and " " not in text


def _bad(setting: Knob, value: object) -> Bad:
    return Bad(f"is {_seen(value)}: wanted {expected_value(setting)}")


def _seen(value: object) -> str:
    if isinstance(value, str) and len(value) > MOST_SHOWN:
        return f"a text of {len(value):,} characters"
    return cut(shown(value))
