"""Operations of the inspector page: health by tier, learned weights, and the neighbourhood of an entry."""

from __future__ import annotations

import time
from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from typing_extensions import NotRequired, TypedDict

from septet.client.shapes import LinkAnswer, NoteAnswer
from septet.errors import EntryNotFound, SeptetError
from septet.federation import Federation
from septet.model.codec import as_json, attributes
from septet.model.fields import Severity
from septet.profiles import ProfileLike, resolve
from septet.ranking.score import weights_of
from septet.vault import Vault
from septet.vault.anywhere import AnyVault

if TYPE_CHECKING:
    from septet.files.status import RootStatus
    from septet.model.links import Link
    from septet.service.running import Memory


class NodeAnswer(TypedDict):
    """An entry of a neighbourhood: ``steps`` from the middle, its number of ``links``, and of those ``shown``."""

    id: str
    title: str
    kind: str
    domain: str
    severity: Severity
    steps: int
    links: int
    shown: int


class NeighbourhoodAnswer(TypedDict):
    """Entries around one, itself first, and the links between them; ``left_out`` neighbours exceed the limit."""

    nodes: list[NodeAnswer]
    links: list[LinkAnswer]
    left_out: int


class SpaceHealthAnswer(TypedDict):
    """The completeness of the vectors of a model."""

    model: str
    dimensions: int | None
    entries: int
    missing: int
    active: bool
    given: bool
    standby: bool


class ModelHealthAnswer(TypedDict):
    """A model to embed with, and the fault that prevents it."""

    model: str
    configured: bool
    fault: str | None


class EmbeddingHealthAnswer(TypedDict):
    """The embedder and its activity."""

    model: str | None
    activity: str
    asking: bool
    models: list[ModelHealthAnswer]
    notes: list[NoteAnswer]


class SidecarHealthAnswer(TypedDict):
    """The sidecar of the file: ``current``, ``behind`` by this number of writes, ``none``, or ``off``."""

    state: str
    behind: int
    size_bytes: int


class FolderHealthAnswer(TypedDict):
    """A followed folder: the number of files that differ, and the time of the last sync."""

    name: str
    files: int
    chunks: int
    new: int
    changed: int
    gone: int
    skipped: int
    problems: int
    missing: bool
    rebuilding: bool
    failed: bool
    synced_at: float | None


class FoldersHealthAnswer(TypedDict):
    """The followed folders of a tier; ``in_step`` is True if every file is indexed as it is on disk."""

    in_step: bool
    running: bool
    folders: list[FolderHealthAnswer]


class TierHealthAnswer(TypedDict):
    """One tier, or the only vault as ``vault``; only ``error`` if it cannot be read."""

    name: str
    error: str | None
    entries: NotRequired[int]
    links: NotRequired[int]
    feedback: NotRequired[dict[str, int]]
    generation: NotRequired[int]
    size_bytes: NotRequired[int]
    notes: NotRequired[list[NoteAnswer]]
    spaces: NotRequired[list[SpaceHealthAnswer]]
    embedding: NotRequired[EmbeddingHealthAnswer]
    sidecar: NotRequired[SidecarHealthAnswer]
    folders: NotRequired[FoldersHealthAnswer]


class HealthAnswer(TypedDict):
    """The health of a memory by tier."""

    at: float
    tiers: list[TierHealthAnswer]


class LearnedDayAnswer(TypedDict):
    """A day with feedback: its feedback by action, and the weights after it."""

    day: str
    actions: dict[str, int]
    counted: int
    accept_rate: float | None
    weights: dict[str, float]


class LearnedAnswer(TypedDict):
    """The weights of a profile by day of feedback; ``base`` are those without feedback."""

    profile: str
    row: str
    min_rows: int
    base: dict[str, float]
    cause: str
    earlier_days: int
    days: list[LearnedDayAnswer]


#: Maximum number of second-step links per entry: a hub would crowd out all others.
MOST_OF_ONE = 6


def neighbourhood(memory: Memory, id: str, *, limit: int = 40) -> dict[str, Any]:
    """Return an entry, those within two links in either direction, and the links between them.

    Half of the places are for direct neighbours, more if those have few further ones. Links to missing entries are
    dropped.

    Args:
        memory: the vault or federation, or one of its tiers.
        id: the entry in the middle.
        limit: maximum number of entries.

    Raises:
        EntryNotFound: no entry has this id.
    """
    if not memory.load([id]):
        raise EntryNotFound(f"there is no entry {id!r}")
    center_links = memory.links(id)
    steps, links = {id: 0}, {id: center_links}
    first = _neighbours_of(id, center_links)
    second: list[str] = []
    for neighbour in first[: limit - 1]:
        links[neighbour] = memory.links(neighbour)
    direct = first[: max(limit // 2, limit - 1 - sum(min(len(links[n]), MOST_OF_ONE) for n in first[: limit - 1]))]
    steps |= dict.fromkeys(direct, 1)
    for neighbour in direct:
        second += [n for n in _neighbours_of(neighbour, links[neighbour])[:MOST_OF_ONE] if n not in steps]
    steps |= dict.fromkeys([*dict.fromkeys(second)][: limit - len(steps)], 2)
    # Remaining direct neighbours fill the remaining places.
    steps |= dict.fromkeys([n for n in first if n not in steps][: limit - len(steps)], 1)
    entries = {entry.id: entry for entry in memory.load(steps)}
    links |= {entry_id: memory.links(entry_id) for entry_id in entries if entry_id not in links}
    between = {(link.source, link.target): link for entry_id in entries for link in links[entry_id]}
    shown = [link for ends, link in sorted(between.items()) if entries.keys() >= {*ends}]
    return {
        "nodes": [
            {
                **attributes(entries[entry_id], ("id", "title", "kind", "domain", "severity")),
                "steps": step,
                "links": len(links[entry_id]),
                "shown": sum(entry_id in (link.source, link.target) for link in shown),
            }
            for entry_id, step in steps.items()
            if entry_id in entries
        ],
        "links": as_json(shown),
        "left_out": len(first) - sum(entry_id in steps for entry_id in first),
    }


def _neighbours_of(id: str, links: list[Link]) -> list[str]:
    """Return the neighbours of an entry, targets of its links first."""
    ends = [link.target for link in links if link.source == id] + [link.source for link in links if link.target == id]
    return [*dict.fromkeys(end for end in ends if end != id)]


#: Maximum number of days with feedback to list, the latest ones.
MOST_DAYS = 400


def health(memory: Memory, *, folders: bool = True) -> dict[str, Any]:
    """Return the health of each tier; for one that cannot be read, its error.

    Args:
        memory: the vault or federation.
        folders: True to compare the followed folders with the disk.
    """
    return {"at": time.time(), "tiers": [_tier_health(name, vault, folders) for name, vault in _vaults(memory).items()]}


def learned(memory: Memory, *, profile: ProfileLike | None = None, tier: str | None = None) -> dict[str, Any]:
    """Return the weights of a profile after each day of feedback, computed as in searches.

    Args:
        memory: the vault or federation.
        profile: None for that of the memory.
        tier: the tier whose feedback counts; None for all, as in searches.

    Raises:
        TierError: no tier has this name.
    """
    chosen = resolve(memory._profile if profile is None else profile)
    vaults = _vaults(memory) if tier is None else {tier: _vault_of(memory, tier)}
    by_day: dict[int, Counter[str]] = {}
    for vault in vaults.values():
        if isinstance(vault, AnyVault):
            for day, action, count in vault._feedback_days():
                by_day.setdefault(day, Counter())[action] += count
    row, total = memory.weights(profile=chosen).row, Counter[str]()
    days = []
    for day in sorted(by_day):
        total.update(by_day[day])
        after = weights_of(chosen, row, total)  # type: ignore[arg-type]  # one of its two rows
        days.append(
            {
                "day": _date(day),
                "actions": dict(by_day[day]),
                "counted": after.counted,
                "accept_rate": after.accept_rate,
                "weights": dict(after.values),
            }
        )
    now, base = weights_of(chosen, row, total), weights_of(chosen, row, {})  # type: ignore[arg-type]
    return {
        "profile": now.profile,
        "row": row,
        "min_rows": chosen.adaptive.min_rows,
        "base": dict(base.values),
        "cause": now.cause,
        "earlier_days": max(0, len(days) - MOST_DAYS),
        "days": days[-MOST_DAYS:],
    }


def _vaults(memory: Memory) -> dict[str, Any]:
    """Return the vaults by tier, highest priority first; a remote tier may be no `Vault`."""
    if isinstance(memory, AnyVault):
        return {"vault": memory}
    return {name: memory.tier(name) for name in sorted(memory.tiers(), key=lambda name: -memory.tiers()[name])}


def _vault_of(memory: Memory, tier: str) -> Any:
    return memory.tier(tier) if isinstance(memory, Federation) else memory


def _tier_health(name: str, vault: Any, folders: bool) -> dict[str, Any]:
    try:
        counts = vault.stats().to_dict()
        values = {field: counts[field] for field in _COUNTS}
        if isinstance(vault, AnyVault):
            embedding = vault.embedding_status()
            values["spaces"] = as_json(embedding.spaces)
            values["embedding"] = attributes(embedding, ("model", "activity", "asking", "models", "notes"))
        if isinstance(vault, Vault):
            values["sidecar"] = _sidecar_health(vault)
        if isinstance(vault, Vault) and folders:
            status = vault.sync_status()
            values["folders"] = {
                **attributes(status, ("in_step", "running")),
                "folders": [_folder_health(root) for root in status.roots],
            }
    except SeptetError as fault:
        return {"name": name, "error": str(fault)}
    return {"name": name, "error": None, **values}


_COUNTS = ("entries", "links", "feedback", "generation", "size_bytes", "notes")


def _sidecar_health(vault: Vault) -> dict[str, Any]:
    sidecar = vault._tier.manager.sidecar
    if sidecar is None:
        return {"state": "off", "behind": 0, "size_bytes": 0}
    with vault._store.reading() as read:
        latest, place, now = sidecar.latest(read), sidecar.current_file(read), read.generation
    if latest is None or place is None:
        return {"state": "none", "behind": 0, "size_bytes": 0}
    lag = now - latest[0].generation
    return {"state": "behind" if lag else "current", "behind": lag, "size_bytes": place[1]}


def _folder_health(root: RootStatus) -> dict[str, Any]:
    """Return the counts of a folder; paths of the server are omitted."""
    return {
        "name": root.name,
        "files": root.files,
        "chunks": root.chunks,
        **{name: len(getattr(root, name)) for name in ("new", "changed", "gone", "skipped", "problems")},
        "missing": root.missing is not None,
        "rebuilding": root.rebuilding,
        "failed": root.problem is not None,
        "synced_at": root.synced_at,
    }


def _date(day: int) -> str:
    """Return a day since 1970 as ISO date; a day outside the calendar as its number."""
    try:
        return (datetime(1970, 1, 1) + timedelta(days=day)).date().isoformat()
    except OverflowError:
        return str(day)
