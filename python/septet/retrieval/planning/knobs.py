"""Knobs: the settings of a policy, with their bounds, variables and descriptions.

Their values are read from the environment and from a configuration block, keys from a resolver.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from itertools import islice
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias
from urllib.parse import urlsplit

from septet.errors import ProfileError
from septet.inputs.arguments import cut, exact, shown

if TYPE_CHECKING:
    from pydantic import SecretStr

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


class Bad(Exception):
    """An invalid value.

    Attributes:
        problem: the problem, without the name of the knob.
        instead: the nearest valid value; None if there is none.
    """

    def __init__(self, problem: str, instead: float | None = None) -> None:
        super().__init__(problem)
        self.problem, self.instead = problem, instead


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


def _checked_value(setting: Knob, value: object, default: object) -> Any:
    """Return a value converted to the type of the knob."""
    value = exact(value)
    if value is None and default is None:
        return None
    if setting.kind in ("number", "whole"):
        return _number(setting, value)
    if setting.kind == "words":
        return _words(setting, value)
    if setting.kind == "switch" and isinstance(value, bool):
        return value
    if setting.kind == "switch" or not isinstance(value, str):
        raise _bad(setting, value)
    text = value.strip()
    if not text and default is None:
        return None
    if not text or len(text) > (setting.most or MOST_CHARS) or not text.isprintable():
        raise _bad(setting, text)
    if setting.kind == "choice" and text not in setting.choices:
        raise _bad(setting, text)
    if setting.kind == "address" and not _is_address(text):
        # The value is not shown: it may contain a password.
        raise Bad(f"is not such an address: wanted {expected_value(setting)}")
    if setting.pattern and not re.fullmatch(setting.pattern, text):
        raise _bad(setting, text)
    return text


def _parsed_value(setting: Knob, text: str, default: object) -> Any:
    """Return the value of a text from the environment."""
    value: object = text
    if setting.kind == "switch":
        if (word := text.lower()) not in YES | NO:
            raise Bad(f"is {_seen(text)}: wanted {', '.join(sorted(YES))}, or {', '.join(sorted(NO))}")
        value = (word in YES) is not setting.inverted
    elif setting.kind in ("number", "whole"):
        try:
            value = int(text) if setting.kind == "whole" and re.fullmatch(r"[+-]?\d{1,30}", text) else float(text)
        except ValueError:
            raise _bad(setting, text) from None
    elif setting.kind == "words":
        value = [word.strip() for word in text.split(",") if word.strip()]
    return _checked_value(setting, value, default)


def _number(setting: Knob, value: object) -> Any:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise _bad(setting, value)
    try:
        number = float(value)
    except (OverflowError, TypeError):
        number = math.inf
    if not math.isfinite(number) or (setting.kind == "whole" and not number.is_integer()):
        raise _bad(setting, number)
    if setting.kind == "whole":
        number = int(value) if isinstance(value, Integral) else int(number)
    nearest = type(number)(min(max(number, setting.least), setting.most))
    if number != nearest:
        raise Bad(f"is {number:g}: wanted {expected_value(setting)}", nearest)
    return number


def _words(setting: Knob, value: object) -> Any:
    if isinstance(value, str):
        value = value.split(",")
    if not isinstance(value, Sequence) or isinstance(value, (bytes, bytearray)) or not 0 < len(value) <= MOST_WORDS:
        raise _bad(setting, value)
    words = []
    for word in map(exact, value):
        if not isinstance(word, str) or not word.strip() or len(word) > MOST_CHARS or not word.isprintable():
            raise _bad(setting, word)
        words.append(word.strip())
    return tuple(dict.fromkeys(words))


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


#: Returns the secret of a name, that of an environment variable; None if unknown.
Resolver: TypeAlias = Callable[[str], "str | None"]
#: Knobs by name, each with its default.
Knobs: TypeAlias = Mapping[str, tuple[Knob, object]]
#: Values by name, and problems.
Read: TypeAlias = "tuple[dict[str, Any], list[str]]"

#: Names of keys for a resolver, by precedence.
SECRETS: Mapping[str, tuple[str, ...]] = {
    "tavily_api_key": (OURS + "TAVILY_API_KEY", "TAVILY_API_KEY", "VOX_TAVILY_API_KEY"),
    "qdrant_api_key": (OURS + "QDRANT_API_KEY", "VOX_SEARCH_QDRANT_API_KEY"),
}
#: Maximum problems listed in an error.
MOST_PROBLEMS = 40


def read_values(raw: Mapping[str, object], knobs: Knobs, strict: bool = True) -> Read:
    """Return the values converted to their knobs' types; invalid ones become the nearest valid one, or are dropped."""
    return _read(((name, name, value) for name, value in raw.items()), knobs, strict, _checked_value)


def _read(
    raw: Iterable[tuple[str, str, Any]], knobs: Knobs, strict: bool, read: Callable[[Knob, Any, object], Any]
) -> Read:
    """Return the values of knobs, each with the name that a problem shows, and the problems."""
    values: dict[str, Any] = {}
    problems = []
    for name, shown_name, value in raw:
        try:
            values[name] = read(knobs[name][0], value, knobs[name][1])
        except Bad as bad:
            nearest = "it is left as it was" if bad.instead is None else f"{bad.instead:g} is used"
            problems.append(f"{shown_name} {bad.problem}" + ("" if strict else f"; {nearest}"))
            if bad.instead is not None:
                values[name] = bad.instead
    return values, problems


def read_variables(source: Mapping[str, str], knobs: Knobs, strict: bool = True) -> Read:
    """Return the values of environment variables; empty ones are ignored."""
    raw = []
    for name, (setting, _) in knobs.items():
        pairs = ((name, variable, text) for variable in setting.names if (text := text_of(source, variable)))
        raw += [*islice(pairs, 1)]
    values, problems = _read(raw, knobs, strict, _parsed_value)
    known = {name for known_knob, _ in knobs.values() for name in known_knob.names} | {
        n for names in SECRETS.values() for n in names
    }
    ours = sorted(name for name in source if isinstance(name, str) and name.startswith(OURS))
    problems += [_near(f"unknown policy setting {shown(name)}", name, known) for name in ours if name not in known]
    return values, problems


def read_block(data: object, knobs: Knobs, strict: bool = True) -> Read:
    """Return the values of a dict, or of its block ``policy``; names in ``snake_case`` or ``camelCase``.

    Raises:
        ProfileError: `data` is not a dict.
    """
    block = data.get("policy", data) if isinstance(data, Mapping) else data
    if not isinstance(block, Mapping):
        raise ProfileError(f"policy is {shown(block)}: wanted a dict of its knobs")
    known = {spelling: name for name in knobs for spelling in (name, _camel(name))}
    raw: dict[str, object] = {}
    problems = []
    for key, value in block.items():
        name = known.get(exact(key)) if isinstance(key, str) else None
        if name is None:
            problems.append(_unknown(key, known))
        elif name in raw:
            problems.append(f"{name} is given twice: name it once")
        else:
            raw[name] = value
    values, bad = read_values(raw, knobs, strict)
    return values, problems + bad


def read_keys(resolver: Resolver) -> tuple[dict[str, SecretStr], list[str]]:
    """Return the keys of a resolver by the names of `SECRETS`, and the problems of invalid ones."""
    keys: dict[str, SecretStr] = {}
    problems = []
    for name, variables in SECRETS.items():
        for variable in variables:
            key, problem = _key(resolver, variable)
            if problem:
                problems.append(problem)
            elif key is not None:
                keys[name] = key
                break
    return keys, problems


def checked_keys(secrets: object) -> tuple[dict[str, SecretStr], list[str]]:
    """Return the valid keys, and the problems of invalid ones without their values."""
    if not isinstance(secrets, Mapping) or not all(isinstance(name, str) and name in SECRETS for name in secrets):
        return {}, [f"secrets is not a dict of API keys by name: wanted {' or '.join(SECRETS)}"]
    checked = {name: _key(secrets.get, name) for name in secrets}
    keys = {name: key for name, (key, _) in checked.items() if key is not None}
    return keys, [problem for _, problem in checked.values() if problem]


def error_of(what: str, problems: list[str]) -> ProfileError:
    """Return the error that lists the problems."""
    more = len(problems) - MOST_PROBLEMS
    listed = "; ".join(problems[:MOST_PROBLEMS]) + (f"; and {more:,} more" if more > 0 else "")
    return ProfileError(f"{what} is invalid: {listed}")


def text_of(source: Mapping[str, str], name: str) -> str | None:
    """Return the stripped value of a variable; None if unset or blank."""
    value = source.get(name)
    return value.strip() or None if isinstance(value, str) else None


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def _unknown(key: Any, known: Iterable[str]) -> str:
    key = exact(key)
    if not isinstance(key, str):
        return f"unknown policy setting {shown(key)}: names are text"
    for secret, variables in SECRETS.items():
        if key in (secret, _camel(secret)):
            return f"{secret} is an API key, which a policy cannot contain: pass it in secrets=, or set {variables[0]}"
    return _near(f"unknown policy setting {shown(key)}", key, known)


def _near(problem: str, name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name[:100], sorted(known), 1)
    return f"{problem}: " + (f"did you mean {near[0]}?" if near else "docs/policy.md lists their names")


def _key(resolver: Resolver, variable: str) -> tuple[SecretStr | None, str]:
    from pydantic import SecretStr

    try:
        value: object = resolver(variable)
    except Exception as fault:  # noqa: BLE001 - a resolver may raise anything; its message may contain the key
        return None, f"the resolver of secrets raised {cut(type(fault).__name__)} for {variable}"
    if isinstance(value, SecretStr):
        value = value.get_secret_value()
    if value is None or (isinstance(value, str) and not value.strip()):
        return None, ""
    if not isinstance(value, str):
        return None, f"the key {variable} is {type(value).__name__}: wanted text"
    key = value.strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        return None, f"the key {variable} is not printable ASCII without blanks"
    return SecretStr(key), ""
