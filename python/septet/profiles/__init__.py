"""Profiles: ranking configurations as data, by name, from a dict, or from a TOML, YAML or JSON file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeAlias

from septet.errors import ProfileError
from septet.inputs.arguments import file_path, shown
from septet.profiles.builtin import BUILTIN
from septet.ranking.fusion import (
    Above,
    Balance,
    Clamp,
    Col,
    Confidence,
    Const,
    Decay,
    Expression,
    Found,
    Linear,
    Log1p,
    Missing,
    Only,
    Rrf,
    Saturate,
    Scale,
    Smoothing,
    Sum,
    Term,
    Unless,
)
from septet.ranking.profile import Adaptive, ColumnWeights, Cuts, Facts, Feedback, Graph, Profile, TextRules, WeightSet

__all__ = [
    "BUILTIN",
    "Above",
    "Adaptive",
    "Balance",
    "Clamp",
    "Col",
    "ColumnWeights",
    "Confidence",
    "Const",
    "Cuts",
    "Decay",
    "Expression",
    "Facts",
    "Feedback",
    "Found",
    "Graph",
    "Linear",
    "Log1p",
    "Missing",
    "Only",
    "Profile",
    "ProfileLike",
    "Rrf",
    "Saturate",
    "Scale",
    "Smoothing",
    "Sum",
    "Term",
    "TextRules",
    "Unless",
    "WeightSet",
    "resolve",
]

#: Suffixes of `septet.inputs.documents`, copied here because only profile files need that module.
_SUFFIXES = (".toml", ".yaml", ".yml", ".json")

#: A profile, a built-in name, a file, or a dict.
ProfileLike: TypeAlias = "str | os.PathLike[str] | Mapping[str, object] | Profile"


def resolve(profile: ProfileLike) -> Profile:
    """Return the profile that a name, a dict or a file describes.

    Args:
        profile: a built-in name; a `Profile`; a dict; or the path of a ``.toml``, ``.yaml``/``.yml`` or ``.json``
            file. A dict or file with ``extends: NAME`` names only what differs from that built-in profile.

    Raises:
        ProfileError: the name is unknown, the file cannot be read, or a field is invalid; the message names it.
    """
    if isinstance(profile, Profile):
        return profile
    if isinstance(profile, Mapping):
        from septet.inputs.documents import Unreadable, bounded

        try:
            bounded(profile)
        except Unreadable as fault:
            raise ProfileError(f"the profile {fault}") from None
        return _from_mapping(profile)
    if isinstance(profile, os.PathLike) or (isinstance(profile, str) and profile.endswith(_SUFFIXES)):
        return _from_mapping(_read(file_path(profile, "profile", ProfileError)))
    builtin = BUILTIN.get(profile) if isinstance(profile, str) else None
    if builtin is None:
        raise ProfileError(
            f"unknown profile {shown(profile)}: built in are {', '.join(BUILTIN)}; or pass a dict, a Profile or a file"
        )
    return builtin


def _from_mapping(data: Mapping[str, Any]) -> Profile:
    rest = dict(data)
    parent = rest.pop("extends", None)
    if parent is not None:
        if not isinstance(parent, str) or parent not in BUILTIN:
            raise ProfileError(
                f"profile extends {shown(parent)}, which is not built in: use one of {', '.join(BUILTIN)}"
            )
        rest.setdefault("name", f"{parent} (changed)")
        rest = _merged(BUILTIN[parent].to_dict(), rest)
    return Profile.checked(rest)


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Merge changes into a base, dict by dict; an expression is replaced as a whole."""
    out = dict(base)
    for key, value in changes.items():
        both = isinstance(value, Mapping) and isinstance(out.get(key), Mapping)
        if key in ("floor", "pinned"):
            out[key] = value
        elif key in ("signals", "factors") and both:
            out[key] = {**out[key], **value}
        else:
            out[key] = _merged(out[key], value) if both else value
    return out


def _read(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    from pathlib import Path

    from septet.inputs.documents import Unreadable, read_document

    try:
        data = read_document(Path(path))
    except KeyError:
        raise ProfileError(f"{path} is not a profile file: the name must end in {', '.join(_SUFFIXES)}") from None
    except Unreadable as fault:
        raise ProfileError(f"{path} {fault}{f' ({fault.quoted})' if fault.quoted else ''}") from None
    if not isinstance(data, Mapping):
        raise ProfileError(f"{path} does not contain a mapping")
    return data
