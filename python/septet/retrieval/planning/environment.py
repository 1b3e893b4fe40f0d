"""Knobs as they are written: in the environment, in a block of a configuration, and keys from a resolver."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from septet.errors import ProfileError
from septet.inputs.arguments import cut, exact, shown
from septet.retrieval.planning.knobs import OURS, Bad, Knob, checked_value, parsed_value

if TYPE_CHECKING:
    from pydantic import SecretStr

__all__ = [
    "SECRETS",
    "Knobs",
    "Read",
    "Resolver",
    "checked_keys",
    "error_of",
    "read_block",
    "read_keys",
    "read_values",
    "read_variables",
]

#: What knows secrets by name: the names of environment variables. None where it has none.
Resolver: TypeAlias = Callable[[str], "str | None"]
#: Knobs by name, each with its default.
Knobs: TypeAlias = Mapping[str, tuple[Knob, object]]
#: Values by name, and what is wrong.
Read: TypeAlias = "tuple[dict[str, Any], list[str]]"

#: Keys, by the names under which a resolver is asked for them; the first that it knows counts.
SECRETS: Mapping[str, tuple[str, ...]] = {
    "tavily_api_key": (OURS + "TAVILY_API_KEY", "TAVILY_API_KEY", "VOX_TAVILY_API_KEY"),
    "qdrant_api_key": (OURS + "QDRANT_API_KEY", "VOX_SEARCH_QDRANT_API_KEY"),
}
#: An error lists so many problems.
MOST_PROBLEMS = 40


def read_values(given: Mapping[str, object], knobs: Knobs, strict: bool = True) -> Read:
    """Return the values as their knobs keep them; one that cannot be is left out, or the nearest that can."""
    values: dict[str, Any] = {}
    problems = []
    for name, value in given.items():
        found = checked_value(knobs[name][0], value, knobs[name][1])
        if isinstance(found, Bad):
            problems.append(_problem(name, found, strict))
            found = found.instead
            if found is None:
                continue
        values[name] = found
    return values, problems


def read_variables(source: Mapping[str, str], knobs: Knobs, strict: bool = True) -> Read:
    """Return the values that environment variables name. An empty variable is none."""
    values: dict[str, Any] = {}
    problems = []
    for name, (one, default) in knobs.items():
        found = next(((variable, text) for variable in one.names if (text := text_of(source, variable))), None)
        if found is None:
            continue
        value = parsed_value(one, found[1], default)
        if isinstance(value, Bad):
            problems.append(_problem(found[0], value, strict))
            value = value.instead
        if value is not None:
            values[name] = value
    known = {name for one, _ in knobs.values() for name in one.names} | {n for names in SECRETS.values() for n in names}
    ours = sorted(name for name in source if isinstance(name, str) and name.startswith(OURS))
    problems += [_near(f"{shown(name)} is no knob", name, known) for name in ours if name not in known]
    return values, problems


def read_block(data: object, knobs: Knobs, strict: bool = True) -> Read:
    """Return the values of a dict, or of its block ``policy``; names in ``snake_case`` or ``camelCase``.

    Raises:
        ProfileError: it is no dict.
    """
    block = data.get("policy", data) if isinstance(data, Mapping) else data
    if not isinstance(block, Mapping):
        raise ProfileError(f"policy is {shown(block)}: wanted a dict of its knobs")
    known = {spelling: name for name in knobs for spelling in (name, _camel(name))}
    given: dict[str, object] = {}
    problems = []
    for key, value in block.items():
        name = known.get(exact(key)) if isinstance(key, str) else None
        if name is None:
            problems.append(_unknown(key, known))
        elif name in given:
            problems.append(f"{name} is given twice: name it once")
        else:
            given[name] = value
    values, bad = read_values(given, knobs, strict)
    return values, problems + bad


def read_keys(resolver: Resolver) -> tuple[dict[str, SecretStr], list[str]]:
    """Return the keys that a resolver has now, by the names of `SECRETS`, and what is wrong with others."""
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


def checked_keys(given: object) -> tuple[dict[str, SecretStr], list[str]]:
    """Return keys that are given by the names of `SECRETS`, and what is wrong with others, without a text of them."""
    if not isinstance(given, Mapping) or not all(isinstance(name, str) and name in SECRETS for name in given):
        return {}, [f"secrets are no keys by their names: wanted {' or '.join(SECRETS)}"]
    found = {name: _key(given.get, name) for name in given}
    keys = {name: key for name, (key, _) in found.items() if key is not None}
    return keys, [problem for _, problem in found.values() if problem]


def error_of(what: str, problems: list[str]) -> ProfileError:
    """Return the error that lists what is wrong."""
    more = len(problems) - MOST_PROBLEMS
    listed = "; ".join(problems[:MOST_PROBLEMS]) + (f"; and {more:,} more" if more > 0 else "")
    return ProfileError(f"{what} is invalid: {listed}")


def text_of(source: Mapping[str, str], name: str) -> str | None:
    """Return a variable that is set to more than blanks."""
    value = source.get(name)
    return value.strip() or None if isinstance(value, str) else None


def _problem(name: str, bad: Bad, strict: bool) -> str:
    if strict:
        return f"{name} {bad.said}"
    return f"{name} {bad.said}; " + ("it is left as it was" if bad.instead is None else f"{bad.instead:g} is used")


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.title() for part in rest)


def _unknown(key: Any, known: Iterable[str]) -> str:
    key = exact(key)
    if not isinstance(key, str):
        return f"{shown(key)} is no knob: names are text"
    for secret, variables in SECRETS.items():
        if key in (secret, _camel(secret)):
            return f"{secret} is a key, and keys are no settings: pass secrets=, or set {variables[0]}"
    return _near(f"{shown(key)} is no knob", key, known)


def _near(said: str, name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name[:100], sorted(known), 1)
    return f"{said}: " + (f"did you mean {near[0]}?" if near else "docs/policy.md lists their names")


def _key(resolver: Resolver, variable: str) -> tuple[SecretStr | None, str]:
    from pydantic import SecretStr

    try:
        value: object = resolver(variable)
    except Exception as fault:  # noqa: BLE001 - a resolver may raise anything; what it says may hold the key
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
