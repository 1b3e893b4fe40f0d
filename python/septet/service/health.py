"""How a memory is: what fills, what is behind, what it weighs; and what feedback has made of its weights."""

from __future__ import annotations

import time
from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from septet.errors import SeptetError
from septet.federation import Federation
from septet.profiles import resolve
from septet.ranking.adaptive import weights_of
from septet.vault import Vault
from septet.vault.anywhere import AnyVault

if TYPE_CHECKING:
    from septet.files.status import RootStatus
    from septet.service.running import Memory

__all__ = ["health", "learned"]

#: So many days with feedback are told one by one, the last ones.
MOST_DAYS = 400


def health(memory: Memory, *, folders: bool) -> dict[str, Any]:
    """Return the health of each tier; one that cannot be read is told as such.

    Args:
        memory: what is asked.
        folders: compare the folders with the disk too.
    """
    return {"at": time.time(), "tiers": [_told(name, one, folders) for name, one in _vaults(memory).items()]}


def learned(memory: Memory, *, profile: Any = None, tier: str | None = None) -> dict[str, Any]:
    """Return the weights that a profile had after each day of feedback, by the rule that searches use.

    Args:
        memory: what is asked.
        profile: None for its own.
        tier: the feedback of one tier alone; None for all, as searches count it.

    Raises:
        TierError: there is no such tier.
    """
    chosen = resolve(memory._profile if profile is None else profile)
    vaults = _vaults(memory) if tier is None else {tier: _one(memory, tier)}
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
    """Return the vaults by tier, the highest first; a tier of another machine may be no `Vault`."""
    if isinstance(memory, AnyVault):
        return {"vault": memory}
    return {name: memory._named(name) for name in sorted(memory.tiers(), key=lambda name: -memory.tiers()[name])}


def _one(memory: Memory, tier: str) -> Any:
    return memory._named(tier) if isinstance(memory, Federation) else memory


def _told(name: str, vault: Any, folders: bool) -> dict[str, Any]:
    try:
        counted = vault.stats().to_dict()
        told = {field: counted[field] for field in _COUNTED}
        if isinstance(vault, AnyVault):
            told |= _of_embedding(vault)
        if isinstance(vault, Vault):
            told |= _of_file(vault, folders)
    except SeptetError as fault:
        return {"name": name, "error": str(fault)}
    return {"name": name, "error": None, **told}


_COUNTED = ("entries", "links", "feedback", "generation", "size_bytes", "notes")
_SPACE = ("model", "dimensions", "entries", "missing", "active", "given", "standby")


def _of_embedding(vault: AnyVault) -> dict[str, Any]:
    """Return how far the entries of a vault that is open here are embedded."""
    embedding = vault.embedding_status()
    return {
        "spaces": [{field: getattr(space, field) for field in _SPACE} for space in vault.spaces()],
        "embedding": {
            "model": embedding.model,
            "activity": embedding.activity,
            "asking": embedding.asking,
            "models": [
                {"model": one.model, "configured": one.configured, "fault": one.fault} for one in embedding.models
            ],
            "notes": [note.to_dict() for note in embedding.notes],
        },
    }


def _of_file(vault: Vault, folders: bool) -> dict[str, Any]:
    """Return what is known of the file of a vault, of what is beside it, and of its folders."""
    told: dict[str, Any] = {"sidecar": _sidecar(vault)}
    if folders:
        status = vault.sync_status()
        told["folders"] = {
            "in_step": status.in_step,
            "running": status.running,
            "folders": [_folder(one) for one in status.roots],
        }
    return told


def _sidecar(vault: Vault) -> dict[str, Any]:
    sidecar = vault._tier.manager.sidecar
    if sidecar is None:
        return {"state": "off", "behind": 0, "size_bytes": 0}
    with vault._store.reading() as read:
        found, place, now = sidecar.latest(read), sidecar.current_file(read), read.generation
    if found is None or place is None:
        return {"state": "none", "behind": 0, "size_bytes": 0}
    behind = now - found[0].generation
    return {"state": "behind" if behind else "current", "behind": behind, "size_bytes": place[1]}


def _folder(root: RootStatus) -> dict[str, Any]:
    """Return a folder in figures: which paths a server has is not told."""
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
    """Return a day since 1970 as text; one that no calendar has, as its number."""
    try:
        return (datetime(1970, 1, 1) + timedelta(days=day)).date().isoformat()
    except OverflowError:
        return str(day)
