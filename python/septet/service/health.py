"""Health of a memory: sizes, backlogs and faults by tier; and the weights that its feedback has led to."""

from __future__ import annotations

import time
from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from septet.errors import SeptetError
from septet.federation import Federation
from septet.profiles import ProfileLike, resolve
from septet.ranking.adaptive import weights_of
from septet.vault import Vault
from septet.vault.anywhere import AnyVault

if TYPE_CHECKING:
    from septet.files.status import RootStatus
    from septet.service.running import Memory

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
    return {name: memory._named(name) for name in sorted(memory.tiers(), key=lambda name: -memory.tiers()[name])}


def _vault_of(memory: Memory, tier: str) -> Any:
    return memory._named(tier) if isinstance(memory, Federation) else memory


def _tier_health(name: str, vault: Any, folders: bool) -> dict[str, Any]:
    try:
        counts = vault.stats().to_dict()
        values = {field: counts[field] for field in _COUNTS}
        if isinstance(vault, AnyVault):
            values |= _embedding_health(vault)
        if isinstance(vault, Vault):
            values |= _file_health(vault, folders)
    except SeptetError as fault:
        return {"name": name, "error": str(fault)}
    return {"name": name, "error": None, **values}


_COUNTS = ("entries", "links", "feedback", "generation", "size_bytes", "notes")
_SPACE = ("model", "dimensions", "entries", "missing", "active", "given", "standby")


def _embedding_health(vault: AnyVault) -> dict[str, Any]:
    """Return the embedding state of a vault that is open in this process."""
    embedding = vault.embedding_status()
    return {
        "spaces": [{field: getattr(space, field) for field in _SPACE} for space in vault.spaces()],
        "embedding": {
            "model": embedding.model,
            "activity": embedding.activity,
            "asking": embedding.asking,
            "models": [
                {name: getattr(model, name) for name in ("model", "configured", "fault")} for model in embedding.models
            ],
            "notes": [note.to_dict() for note in embedding.notes],
        },
    }


def _file_health(vault: Vault, folders: bool) -> dict[str, Any]:
    """Return the state of a vault's file, its sidecar, and optionally its folders."""
    values: dict[str, Any] = {"sidecar": _sidecar_health(vault)}
    if folders:
        status = vault.sync_status()
        values["folders"] = {
            "in_step": status.in_step,
            "running": status.running,
            "folders": [_folder_health(root) for root in status.roots],
        }
    return values


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
