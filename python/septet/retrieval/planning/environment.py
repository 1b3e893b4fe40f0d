"""Reads knobs from the environment and from a configuration block, and keys from a resolver."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from septet.errors import ProfileError
from septet.inputs.arguments import cut, exact, shown
from septet.retrieval.planning.knobs import OURS, Bad, Knob, checked_value, parsed_value

if TYPE_CHECKING:
    from pydantic import SecretStr

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
    values: dict[str, Any] = {}
    problems = []
    for name, value in raw.items():
        checked = checked_value(knobs[name][0], value, knobs[name][1])
        if isinstance(checked, Bad):
            problems.append(_problem(name, checked, strict))
            checked = checked.instead
            if checked is None:
                continue
        values[name] = checked
    return values, problems


def read_variables(source: Mapping[str, str], knobs: Knobs, strict: bool = True) -> Read:
    """Return the values of environment variables; empty ones are ignored."""
    values: dict[str, Any] = {}
    problems = []
    for name, (setting, default) in knobs.items():
        pairs = ((variable, text) for variable in setting.names if (text := text_of(source, variable)))
        variable, text = next(pairs, ("", ""))
        if not text:
            continue
        value = parsed_value(setting, text, default)
        if isinstance(value, Bad):
            problems.append(_problem(variable, value, strict))
            value = value.instead
        if value is not None:
            values[name] = value
    known = {name for known_knob, _ in knobs.values() for name in known_knob.names} | {
        n for names in SECRETS.values() for n in names
    }
    ours = sorted(name for name in source if isinstance(name, str) and name.startswith(OURS))
    problems += [_near(f"{shown(name)} is no knob", name, known) for name in ours if name not in known]
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
        return {}, [f"secrets are no keys by their names: wanted {' or '.join(SECRETS)}"]
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


def _problem(name: str, bad: Bad, strict: bool) -> str:
    if strict:
        return f"{name} {bad.problem}"
    return f"{name} {bad.problem}; " + ("it is left as it was" if bad.instead is None else f"{bad.instead:g} is used")


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
