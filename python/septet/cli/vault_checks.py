"""The checks of a vault, and what mends it: derived data is made anew, what ended processes left is cleared.

Nothing that somebody stored is touched: a file that SQLite itself finds damaged is left as it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from septet.cli.check import Check
from septet.cli.exits import STORE
from septet.cli.places import default_vault, shown
from septet.embedding.embedder import Embedder
from septet.embedding.query.selection import SpaceStatus
from septet.errors import NotAVault, ReadOnly, SeptetError, StoreBusy, StoreError
from septet.files.report import counted
from septet.sqlite.snapshot.sidecar import Sidecar
from septet.sqlite.snapshot.sidecar_state import LEAST_SLOTS
from septet.sqlite.store import mending
from septet.sqlite.store.checking import full_text_faults
from septet.sqlite.store.connection import SCHEMA_VERSION
from septet.sqlite.store.soundness import table_faults, unsound_rows
from septet.sqlite.store.store import Store
from septet.system.target import left_unfinished, sweep
from septet.vault import Vault

#: So many rows are named.
MOST_ROWS = 20

__all__ = ["vault_checks", "vectors_check"]


def vault_checks(path: Path | None, models: Sequence[Embedder]) -> list[Check]:
    """Check a vault; the first check says whether it can be opened at all."""
    wanted = path or default_vault()
    if not wanted.exists():
        return [Check("vault", "none", f"none at {shown(wanted)}", {"path": str(wanted)})]
    try:
        with Vault(wanted, read_only=True, embedder=models or None) as vault:
            stats, spaces = vault.stats(), vault.spaces()
    except SeptetError as fault:
        found = Check("vault", "fault", str(fault), {"path": str(wanted)}, STORE)
        return [found] if isinstance(fault, NotAVault) else [found, _file(wanted), _rows(wanted)]
    facts = {"path": str(wanted), "entries": stats.entries, "generation": stats.generation, "bytes": stats.size_bytes}
    said = f"{stats.entries:,} entries, {stats.size_bytes / 1e6:.1f} MB, in {shown(wanted)}"
    return [
        Check("vault", "ok", said, facts),
        _file(wanted),
        _rows(wanted),
        _full_text(wanted),
        _sidecar(wanted, stats.entries),
        _left_behind(wanted),
        vectors_check(spaces),
    ]


def _file(path: Path) -> Check:
    store = Store(str(path), read_only=True)
    try:
        with store.reading() as read:
            faults = [*mending.file_faults(read), *table_faults(read.sql)]
            version = mending.version_of(read)
    except StoreError as fault:
        faults, version = [str(fault)], SCHEMA_VERSION
    finally:
        store.close()
    facts = {"faults": faults, "version": version}
    if faults:
        cure = "restore a backup, or export what can be read and import it into a new vault"
        return Check("file", "fault", f"{'; '.join(faults)}: {cure}", facts, STORE)
    if version < SCHEMA_VERSION:
        said = f"sound; of version {version}, which the next program that writes to it upgrades to {SCHEMA_VERSION}"
        return Check("file", "ok", said, facts, cure="upgrade it", mend=partial(_upgraded, path))
    return Check("file", "ok", "sound, as SQLite says", facts)


def _rows(path: Path) -> Check:
    found, unread = unsound_rows(str(path))
    said = [str(one) for one in found[:MOST_ROWS]]
    facts = {"count": len(found), "faults": said}
    if unread:
        said.append(f"not all could be read: {unread}")
    if not said:
        return Check("rows", "ok", "all hold what Septet writes", facts)
    more = f"; {len(found) - MOST_ROWS:,} more" if len(found) > MOST_ROWS else ""
    cure = "searches and exports go on without them; store them again, or restore a backup"
    told = f"{len(found):,} damaged, or of another program: {'; '.join(said)}{more}: {cure}"
    return Check("rows", "fault", told, facts, STORE)


def _full_text(path: Path) -> Check:
    try:
        faults = full_text_faults(str(path))
    except (ReadOnly, StoreBusy) as fault:
        return Check("full text", "none", f"not checked: {fault}", {"faults": []})
    except StoreError as fault:
        faults = [str(fault)]
    if faults:
        facts = {"faults": faults}
        cure = "make it anew from the entries"
        return Check("full text", "fault", "; ".join(faults), facts, STORE, cure, partial(_reindexed, path))
    return Check("full text", "ok", "the index agrees with the entries", {"faults": []})


def _sidecar(path: Path, entries: int) -> Check:
    sidecar = Sidecar(str(path), read_only=True)
    if sidecar.linked:
        said = f"{shown(sidecar.folder)} is a link, which may lead anywhere: searches do without it; remove the link"
        return Check("sidecar", "fault", said, {"path": None}, STORE)
    store = Store(str(path), read_only=True)
    try:
        with store.reading() as read:
            found, place, now = sidecar.latest(read), sidecar.current_file(read), read.generation
        faults = sidecar.faults()
    except StoreError as fault:
        return Check("sidecar", "fault", str(fault), {"path": None}, STORE)
    finally:
        store.close()
    if faults:
        said = f"damaged: {'; '.join(faults)}; searches do without it"
        broken: dict[str, object] = {"path": None, "faults": faults}
        return Check("sidecar", "fault", said, broken, STORE, "write it anew", partial(_optimized, path))
    if found is None or place is None:
        said = "none: searches write one for vaults of 2,000 entries or more"
        if entries < LEAST_SLOTS:
            return Check("sidecar", "none", said, {"path": None})
        return Check("sidecar", "none", said, {"path": None}, cure="write one", mend=partial(_optimized, path))
    behind = now - found[0].generation
    facts = {"path": str(place[0]), "generation": found[0].generation, "behind": behind}
    if not behind:
        return Check("sidecar", "ok", f"{shown(place[0])}, of the newest write", facts)
    said = f"{shown(place[0])}, {counted(behind, 'write')} ago"
    return Check("sidecar", "ok", said, facts, cure="bring it up to date", mend=partial(_optimized, path))


def _left_behind(path: Path) -> Check:
    """Look for what processes left that ended in the midst of something."""
    sidecar, store = Sidecar(str(path), read_only=True), Store(str(path), read_only=True)
    try:
        with store.reading() as read:
            claims = mending.dead_claims(read)
        files = sidecar.unfinished() + len(left_unfinished(path.parent))
    except (StoreError, OSError) as fault:
        return Check("left behind", "none", f"not checked: {fault}", {})
    finally:
        store.close()
    facts = {"claims": claims, "files": files}
    if not claims and not files:
        return Check("left behind", "none", "nothing", facts)
    said = f"{claims:,} claims of processes that ended, {files:,} half-written files"
    return Check("left behind", "ok", said, facts, cure="clear them", mend=partial(_cleared, path))


def _upgraded(path: Path) -> str:
    with Vault(path) as vault:
        return f"upgraded to version {SCHEMA_VERSION}, {len(vault):,} entries"


def _reindexed(path: Path) -> str:
    store = Store(str(path))
    try:
        return f"made anew, {mending.rebuild_full_text(store):,} rows"
    finally:
        store.close()


def _optimized(path: Path) -> str:
    # What it holds is derived from the vault: nothing else is lost with it.
    Sidecar(str(path)).erase()
    with Vault(path) as vault:
        made = vault.optimize()
    return f"written anew, {made.entries:,} entries, {made.size_bytes / 1e6:.1f} MB"


def _cleared(path: Path) -> str:
    store = Store(str(path))
    try:
        claims = mending.clear_claims(store)
    finally:
        store.close()
    files = Sidecar(str(path)).sweep() + len(left_unfinished(path.parent))
    sweep(path.parent)
    return f"cleared {claims:,} claims and {files:,} files"


def vectors_check(spaces: Sequence[SpaceStatus]) -> Check:
    """Say which models have vectors, and of how many entries."""
    facts = {
        "spaces": [
            {
                "model": s.model,
                "dimensions": s.dimensions,
                "entries": s.entries,
                "missing": s.missing,
                "active": s.active,
                "given": s.given,
            }
            for s in spaces
        ]
    }
    if not spaces:
        return Check("vectors", "none", "none", facts)
    said = "; ".join(_space_said(s) for s in spaces)
    return Check("vectors", "ok", said, facts)


def _space_said(space: SpaceStatus) -> str:
    length = f" ({space.dimensions} dimensions)" if space.dimensions else ""
    given = ", given by the caller" if space.given else ""
    state = "" if space.active else ", being filled" if space.entries else ", not begun"
    missing = f"{space.missing:,} missing" if space.missing else "none missing"
    cure = ": run `septet embed`" if space.missing and not space.given else ""
    return f"{space.model}{length}: {space.entries:,} entries{given}{state}, {missing}{cure}"
