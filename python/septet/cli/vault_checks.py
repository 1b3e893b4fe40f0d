"""The checks of a vault, in a file or on a server, and their repairs.

The repairs of a vault in a file rebuild derived data and remove remains of dead processes. Stored entries are never
touched; nor is a file that SQLite reports as damaged. Checks of a server offer no repairs: other programs share it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from septet.cli.exits import STORE
from septet.cli.places import shown
from septet.embedding.automatic import SpaceStatus
from septet.embedding.embedder import MULTILINGUAL, Embedder, space_name, unknown_script_of
from septet.errors import NotAVault, ReadOnly, SeptetError, StoreBusy, StoreError
from septet.files.report import counted
from septet.model.codec import attributes
from septet.service.places import default_vault, open_vault
from septet.sqlite.snapshot.sidecar import Sidecar
from septet.sqlite.snapshot.state import LEAST_SLOTS
from septet.sqlite.store import mending
from septet.sqlite.store.connection import SCHEMA_VERSION
from septet.sqlite.store.restoring import full_text_faults
from septet.sqlite.store.soundness import table_faults, unsound_rows
from septet.sqlite.store.store import SqliteStore
from septet.system.target import left_unfinished, sweep
from septet.vault import Vault
from septet.vault.anywhere import AnyVault

if TYPE_CHECKING:
    from septet.postgres.store.administration import ServerFacts

#: Entries whose script is looked at.
NEWEST = 200
#: Fewer than one in ten of another script are not reported.
FEW = 10
#: Maximum damaged rows to list.
MOST_ROWS = 20
_SPACE = ("model", "dimensions", "entries", "missing", "active", "given")


def vault_checks(path: Path | None, models: Sequence[Embedder]) -> list[Check]:
    """Check a vault in a file; the first check opens it."""
    path = path or default_vault()
    if not path.exists():
        return [Check("vault", "none", f"none at {shown(path)}", {"path": str(path)})]
    try:
        with Vault(path, read_only=True, embedder=models or None) as vault:
            stats, spaces = vault.stats(), vault.embedding_status().spaces
            scripts = script_checks(vault, models)
    except SeptetError as fault:
        check = Check("vault", "fault", str(fault), {"path": str(path)}, STORE)
        return [check] if isinstance(fault, NotAVault) else [check, _file(path), _rows(path)]
    facts = {"path": str(path), "entries": stats.entries, "generation": stats.generation, "bytes": stats.size_bytes}
    summary = f"{stats.entries:,} entries, {stats.size_bytes / 1e6:.1f} MB, in {shown(path)}"
    return [
        Check("vault", "ok", summary, facts),
        _file(path),
        _rows(path),
        _full_text(path),
        _sidecar(path, stats.entries),
        _remains(path),
        vectors_check(spaces),
        *scripts,
    ]


def _file(path: Path) -> Check:
    try:
        with closing(SqliteStore(str(path), read_only=True)) as store, store.reading() as read:
            faults = [*mending.file_faults(read), *table_faults(read.sql)]
            version = mending.version_of(read)
    except StoreError as fault:
        faults, version = [str(fault)], SCHEMA_VERSION
    facts = {"faults": faults, "version": version}
    if faults:
        cure = "restore a backup, or export what can be read and import it into a new vault"
        return Check("file", "fault", f"{'; '.join(faults)}: {cure}", facts, STORE)
    if version < SCHEMA_VERSION:
        summary = f"no damage; version {version}, which the next writing program upgrades to {SCHEMA_VERSION}"
        return Check("file", "ok", summary, facts, cure="upgrade it", mend=partial(_upgrade, path))
    return Check("file", "ok", "SQLite found no damage", facts)


def _rows(path: Path) -> Check:
    rows, unread = unsound_rows(str(path))
    faults = [str(row) for row in rows[:MOST_ROWS]]
    facts = {"count": len(rows), "faults": faults}
    if unread:
        faults.append(f"not all could be read: {unread}")
    if not faults:
        return Check("rows", "ok", "all are valid", facts)
    more = f"; {len(rows) - MOST_ROWS:,} more" if len(rows) > MOST_ROWS else ""
    cure = "searches and exports skip them; store them again, or restore a backup"
    summary = f"{len(rows):,} damaged, or of another program: {'; '.join(faults)}{more}: {cure}"
    return Check("rows", "fault", summary, facts, STORE)


def _full_text(path: Path) -> Check:
    try:
        faults = full_text_faults(str(path))
    except (ReadOnly, StoreBusy) as fault:
        return Check("full text", "none", f"not checked: {fault}", {"faults": []})
    except StoreError as fault:
        faults = [str(fault)]
    if faults:
        facts = {"faults": faults}
        cure = "rebuild it from the entries"
        return Check("full text", "fault", "; ".join(faults), facts, STORE, cure, partial(_reindex, path))
    return Check("full text", "ok", "the index agrees with the entries", {"faults": []})


def _sidecar(path: Path, entries: int) -> Check:
    sidecar = Sidecar(str(path), read_only=True)
    if sidecar.linked:
        summary = f"{shown(sidecar.folder)} is a symbolic link, which searches ignore: remove it"
        return Check("sidecar", "fault", summary, {"path": None}, STORE)
    try:
        with closing(SqliteStore(str(path), read_only=True)) as store, store.reading() as read:
            latest, current, generation = sidecar.latest(read), sidecar.current_file(read), read.generation
        faults = sidecar.faults()
    except StoreError as fault:
        return Check("sidecar", "fault", str(fault), {"path": None}, STORE)
    if faults:
        summary = f"damaged: {'; '.join(faults)}; searches ignore it"
        broken: dict[str, object] = {"path": None, "faults": faults}
        return Check("sidecar", "fault", summary, broken, STORE, "rebuild it", partial(rebuild_sidecar, path))
    if latest is None or current is None:
        summary = "none: searches write one for vaults of 2,000 entries or more"
        if entries < LEAST_SLOTS:
            return Check("sidecar", "none", summary, {"path": None})
        return Check("sidecar", "none", summary, {"path": None}, cure="write one", mend=partial(rebuild_sidecar, path))
    writes = generation - latest[0].generation
    facts = {"path": str(current[0]), "generation": latest[0].generation, "behind": writes}
    if not writes:
        return Check("sidecar", "ok", f"{shown(current[0])}, of the newest write", facts)
    summary = f"{shown(current[0])}, {counted(writes, 'write')} ago"
    return Check("sidecar", "ok", summary, facts, cure="update it", mend=partial(rebuild_sidecar, path))


def _remains(path: Path) -> Check:
    """Look for claims and files of processes that died."""
    try:
        with closing(SqliteStore(str(path), read_only=True)) as store, store.reading() as read:
            claims = mending.dead_claims(read)
        files = Sidecar(str(path), read_only=True).unfinished() + len(left_unfinished(path.parent))
    except (StoreError, OSError) as fault:
        return Check("left behind", "none", f"not checked: {fault}", {})
    facts = {"claims": claims, "files": files}
    if not claims and not files:
        return Check("left behind", "none", "nothing", facts)
    summary = f"{claims:,} claims of processes that ended, {files:,} half-written files"
    return Check("left behind", "ok", summary, facts, cure="clear them", mend=partial(_clear, path))


def _upgrade(path: Path) -> str:
    with Vault(path) as vault:
        return f"upgraded to version {SCHEMA_VERSION}, {len(vault):,} entries"


def _reindex(path: Path) -> str:
    with closing(SqliteStore(str(path))) as store:
        return f"rebuilt, {mending.rebuild_full_text(store):,} rows"


def rebuild_sidecar(path: Path) -> str:
    """Replace the sidecar; return a summary."""
    # The sidecar contains derived data only.
    Sidecar(str(path)).erase()
    with Vault(path) as vault:
        report = vault.optimize()
    return f"rebuilt, {report.entries:,} entries, {report.size_bytes / 1e6:.1f} MB"


def _clear(path: Path) -> str:
    with closing(SqliteStore(str(path))) as store:
        claims = mending.clear_claims(store)
    files = Sidecar(str(path)).sweep() + len(left_unfinished(path.parent))
    sweep(path.parent)
    return f"cleared {claims:,} claims and {files:,} files"


def vectors_check(spaces: Sequence[SpaceStatus]) -> Check:
    """Report the models with vectors, and their numbers of entries."""
    facts = {"spaces": [attributes(space, _SPACE) for space in spaces]}
    if not spaces:
        return Check("vectors", "none", "none", facts)
    return Check("vectors", "ok", "; ".join(map(_describe, spaces)), facts)


def script_checks(vault: AnyVault, models: Sequence[Embedder]) -> list[Check]:
    """Report the script of many of the newest entries, if the first model was not made for it."""
    if not models:
        return []
    page = vault.entries(order_by=[("created_at", "desc")], limit=NEWEST)
    scripts = Counter(unknown_script_of(models[0], f"{entry.title}\n{entry.description}") for entry in page)
    del scripts[None]
    script, count = next(iter(scripts.most_common(1)), (None, 0))
    if script is None or count * FEW < len(page):
        return []
    entries = f"{count:,} of the {len(page):,} newest entries are in {script}"
    summary = f"{entries}, for which {space_name(models[0])} was not made: {MULTILINGUAL}"
    return [Check("scripts", "fault", summary, {"script": script, "entries": count, "of": len(page)})]


def _describe(space: SpaceStatus) -> str:
    length = f" ({space.dimensions} dimensions)" if space.dimensions else ""
    origin = ", given by the caller" if space.given else ""
    state = "" if space.active else ", being filled" if space.entries else ", not begun"
    missing = f"{space.missing:,} missing" if space.missing else "none missing"
    cure = ": run `septet embed`" if space.missing and not space.given else ""
    return f"{space.model}{length}: {space.entries:,} entries{origin}{state}, {missing}{cure}"


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check.

    Attributes:
        state: ``none`` if there is nothing to check.
        summary: the result, for people.
        facts: the same for programs.
        exit_code: exit code of the command if this check fails.
        cure: the repair of `septet doctor --fix`, for people; empty without one.
        mend: runs the repair and returns a summary of it.
    """

    name: str
    state: Literal["ok", "fault", "none"]
    summary: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    exit_code: int = 0
    cure: str = ""
    mend: Callable[[], str] | None = None


def server_checks(address: str, models: Sequence[Embedder]) -> list[Check]:
    """Check a vault on a server; the first check opens it."""
    from septet.postgres.store.dsn import without_passwords

    try:
        with open_vault(address, read_only=True, embedder=models or None) as vault:
            # Import after opening, which reports missing packages of the extra.
            from septet.postgres.store.administration import server_facts
            from septet.postgres.store.vector_index import unfinished

            stats, spaces = vault.stats(), vault.embedding_status().spaces
            scripts = script_checks(vault, models)
            store: Any = vault._store
            with store.reading() as read:
                server: ServerFacts = server_facts(read)
                faults: list[str] = read.tables.checking.faults(read)
                broken = [space.model for space in unfinished(read)]
    except SeptetError as fault:
        return [Check("vault", "fault", str(fault), {"path": without_passwords(address)}, STORE)]
    facts = {
        "path": vault.path,
        "entries": stats.entries,
        "generation": stats.generation,
        "bytes": stats.size_bytes,
        "deleted": server.deleted,
    }
    deleted = f", {server.deleted:,} deleted ones that purge would remove" if server.deleted else ""
    summary = f"{stats.entries:,} entries{deleted}, in {vault.path}"
    return [
        Check("vault", "ok", summary, facts),
        _server(server),
        _role(server),
        _server_full_text(faults),
        _changes(server),
        vectors_check(spaces),
        *([_vector_index(broken)] if broken else []),
        *scripts,
    ]


def _server(server: ServerFacts) -> Check:
    facts: dict[str, Any] = {"server": server.server, "pgvector": server.pgvector, "schema": server.schema}
    which = "a standby, " if server.standby else ""
    summary = f"{which}PostgreSQL {server.server}, pgvector {server.pgvector}, tables of version {server.schema}"
    return Check("server", "ok", summary, facts | {"standby": server.standby})


def _role(server: ServerFacts) -> Check:
    may = "owns the tables" if server.owns else "may read and write" if server.may_write else "may only read"
    facts = {"role": server.role, "may_write": server.may_write, "owns": server.owns}
    return Check("role", "ok", f"{server.role} {may}", facts)


def _server_full_text(faults: Sequence[str]) -> Check:
    if faults:
        summary = f"{'; '.join(faults)}: `septet pull` the vault into a file, and `septet push` that as a new vault"
        return Check("full text", "fault", summary, {"faults": list(faults)}, STORE)
    return Check("full text", "ok", "postings and counts agree with the entries", {"faults": []})


def _vector_index(models: Sequence[str]) -> Check:
    calls = "; ".join(f"vault.index_vectors(model={model!r})" for model in models)
    summary = (
        f"building an index over {', '.join(models)} was interrupted: it slows writes, and searches do not use it; "
        f"call {calls} as the owner of the tables, or with 'none' to remove it"
    )
    return Check("vector index", "fault", summary, {"models": list(models)}, STORE)


def _changes(server: ServerFacts) -> Check:
    facts = {"changes": server.changes, "terms": server.terms}
    if not server.changes:
        return Check("counts", "ok", "all folded", facts)
    return Check("counts", "ok", f"{server.terms:,} changed counts are not folded yet", facts)
