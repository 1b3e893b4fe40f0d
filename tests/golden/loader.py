"""The recorded data, and vaults filled with it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from septet import Vault

DATA = Path(__file__).parent / "data"
NOW = 1_760_000_000.0
SIGNALS = ("semantic", "vector", "severity", "temporal_decay", "tag_overlap", "domain_match", "graph_proximity")


def where_of(options: dict[str, Any]) -> dict[str, Any]:
    """Return ``where`` with the recorded options that are fields of it, which are taken out of the options."""
    fields = {name: options.pop(name) for name in ("type", "severity") if name in options}
    return {"where": {**options.get("where", {}), **fields}} if fields else {}


_TIMES = {"createdAt": "created_at", "updatedAt": "updated_at", "validFrom": "valid_from", "validUntil": "valid_until"}
_ATTRS = {"example": "example", "counterExample": "counter_example", "why": "why", "origin": "origin"}

Raw = Mapping[str, Any]


@cache
def recording(name: str) -> dict[str, Any]:
    """Return one recorded file, ``soleri-NAME.json``."""
    return dict(json.loads((DATA / f"soleri-{name}.json").read_text(encoding="utf-8")))


@cache
def other_recording(name: str) -> dict[str, Any]:
    """Return one recorded file of another system than the first, by its whole name without the ending."""
    return dict(json.loads((DATA / f"{name}.json").read_text(encoding="utf-8")))


def fields_of(entry: Raw) -> dict[str, Any]:
    """Return the arguments of `Vault.add` for a recorded entry."""
    fields: dict[str, Any] = {}
    attrs: dict[str, Any] = {}
    for key, value in entry.items():
        if key in _ATTRS:
            attrs[_ATTRS[key]] = value
        else:
            fields[_TIMES.get(key, key)] = value
    return {**fields, "attrs": attrs} if attrs else fields


def is_zero(vector: Iterable[float]) -> bool:
    """Say whether a vector has no direction; the vault refuses such vectors."""
    return not any(vector)


def vault_of(
    entries: Iterable[Raw],
    *,
    links: Iterable[Raw] = (),
    vectors: Mapping[str, list[float]] | None = None,
    memories: Iterable[Raw] = (),
) -> Vault:
    """Return a vault in memory, at the recorded view, that ranks by the documented seven signals."""
    vault = Vault(":memory:", clock=lambda: NOW, profile="seven-signals")
    for entry in entries:
        vector = (vectors or {}).get(entry["id"])
        vault.add(**fields_of(entry), vector=None if vector is None or is_zero(vector) else vector)
    vault.link_many([(link["sourceId"], link["targetId"], link["linkType"]) for link in links])
    for memory in memories:
        # An archived memory is one that is no longer valid.
        vault.remember(
            memory["context"],
            memory["summary"],
            memory["topics"],
            id=memory["id"],
            type=memory["type"],
            created_at=memory["createdAt"],
            valid_until=memory["archivedAt"],
            attrs={"project_path": memory["projectPath"]},
        )
    return vault


def agent_vault(*, links: bool = False, vectors: bool = False) -> Vault:
    """Return the recorded agent vault, with or without its links and vectors."""
    corpus = recording("corpus")
    return vault_of(
        corpus["agent"],
        links=corpus["links"] if links else (),
        vectors=corpus["vectors"]["entryVectors"] if vectors else None,
    )
