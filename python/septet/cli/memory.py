"""Opening the vault or tiers of a command, and completion of shortened ids."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from septet.cli.places import existing, writable
from septet.cli.terminal import say
from septet.errors import EntryError, EntryNotFound, TierError

if TYPE_CHECKING:
    from septet.model.entry import Entry
    from septet.notes import Note
    from septet.service.vaults import VaultPlace

#: Environment variables: the default vault, and the default configuration with tiers.
_VAULT_VARIABLE = "SEPTET_VAULT"
CONFIG_VARIABLE = "SEPTET_CONFIG"
#: Minimum characters of a shortened id.
LEAST_ID = 4
#: Maximum candidates to list for an ambiguous id.
_CANDIDATES = 10


@contextmanager
def memory(
    vault: VaultPlace | None,
    config: Path | None,
    *,
    write: bool = False,
    create: bool = False,
    embeds: bool = False,
    embedding: str | None = None,
    close_wait_s: float | None = None,
) -> Iterator[Any]:
    """Open a `Vault`; or a `Federation`, with ``--config``, or with ``SEPTET_CONFIG`` if no vault is named.

    Args:
        write: open for writing.
        create: create a missing vault.
        embeds: use the embedder named by ``embedding``, or the configured one.
        close_wait_s: maximum wait for vectors when closing; None for the default.

    Raises:
        TierError: both a vault and a configuration are named; or the configuration is malformed.
        SeptetError: a vault cannot be opened.
    """
    file = str(config) if config is not None else os.environ.get(CONFIG_VARIABLE, "").strip()
    check_one(vault, config)
    embedder: dict[str, Any] = {}
    if embeds:
        from septet.cli import settings

        embedder = settings.find(embedding).embedder
    if embedder and close_wait_s is not None:
        from septet.embedding.options import EmbeddingOptions

        embedder["embedding_options"] = EmbeddingOptions(close_wait_s=close_wait_s)
    if not file or (config is None and vault is not None):
        if create:
            with writable(vault, **embedder) as opened:
                yield opened
        else:
            with existing(vault, read_only=not write, **embedder) as opened:
                yield opened
        return
    from septet.service.opening import opened as tiers_of

    # --embedding overrides the embedder of the tiers' file; a configured embedder is only the default.
    override: dict[str, Any] = {"embedder" if embedding is not None or not embeds else "default_embedder": embedder}
    with tiers_of(None, file, read_only=not write, **override) as served:
        for why in served.left_out:
            say(f"skipped: {why}")
        yield served.blocking


def check_one(vault: VaultPlace | None, config: Path | None) -> None:
    """Raise `TierError` if both a vault and a configuration are named; --config overrides ``SEPTET_VAULT``."""
    if config is not None and vault is not None and str(vault) != os.environ.get(_VAULT_VARIABLE):
        raise TierError("--vault and --config: wanted either a vault or a configuration, not both")


def keep_index(opened: Any, notes: Iterable[Note]) -> None:
    """Write the index if a search of a file ran without one, for later commands."""
    if any(note.code == "index_building" for note in notes) and isinstance(path := getattr(opened, "path", None), str):
        from septet.sqlite.snapshot.optimize import keep_beside

        keep_beside(path)


def in_tier(opened: Any, tier: str | None) -> dict[str, Any]:
    """Return the ``tier`` argument of calls, empty without a tier.

    Raises:
        TierError: ``opened`` has no tiers.
    """
    if tier is None:
        return {}
    if not hasattr(opened, "tiers"):
        raise TierError("--tier requires a configuration with tiers: name it with --config")
    return {"tier": tier}


def whole_ids(opened: Any, texts: Sequence[str], **tier: Any) -> dict[str, str | None]:
    """Resolve whole or shortened ids or paths to ids; None for those without an entry.

    Tries, in order: the id itself; the only id with this prefix, of at least `LEAST_ID` characters; the first chunk of
    the file with this path, or for ``path#L10`` the chunk with that line.

    Raises:
        EntryError: the text is a prefix of several ids, or of several paths; the message lists them.
    """
    known = {entry.id for entry in opened.load(texts, **tier)}
    return {text: text if text in known else _complete(opened, text, tier) or _at(opened, text, tier) for text in texts}


def whole_id(opened: Any, text: str, **tier: Any) -> str:
    """Resolve a whole or shortened id or path, as `whole_ids`.

    Raises:
        EntryNotFound: no entry has it.
        EntryError: it is ambiguous.
    """
    id = whole_ids(opened, [text], **tier)[text]
    if id is None:
        raise EntryNotFound(f"no entry {text!r} in {place_of(opened)}")
    return id


class SourceFile(NamedTuple):
    """The place of a chunk in a followed file.

    Attributes:
        file: the absolute path.
        line: the first line of the chunk.
        root: the folder or file that the vault follows.
        which: the ``tier`` argument for the tier that follows it.
    """

    file: str
    line: int
    root: str
    which: Mapping[str, Any]


def source_file(opened: Any, entry: Entry, which: Mapping[str, Any]) -> SourceFile | None:
    """Return the place of a chunk in a followed file; None for other entries."""
    if entry.kind != "chunk" or entry.span is None or not hasattr(opened, "roots"):
        return None
    tiers = [{"tier": name} for name in opened.tiers()] if hasattr(opened, "tiers") and not which else [which]
    for tier in tiers:
        # A tier on a server has no folders.
        with suppress(TierError):
            for root in opened.roots(**tier):
                if root.name == entry.source:
                    folder = Path(root.path) if Path(root.path).is_dir() else Path(root.path).parent
                    file = os.path.normpath(folder / entry.span.path)
                    return SourceFile(file, entry.span.first_line, root.path, tier)
    return None


def not_of_files(opened: Any, entries: Iterable[Entry], todo: str, which: Mapping[str, Any]) -> None:
    """Refuse chunks of followed files: the next sync would undo the change.

    Args:
        todo: the action to recommend, on the file.
        which: the ``tier`` argument.

    Raises:
        EntryError: an entry is a chunk of a followed file; the message contains file and line.
    """
    for entry in entries:
        if (place := source_file(opened, entry, which)) is not None:
            raise followed(entry, place, todo)


def followed(entry: Entry, place: SourceFile, todo: str) -> EntryError:
    """Return the error for a chunk of a followed file."""
    where = f"line {place.line} of {place.file}"
    return EntryError(f"{entry.id} is {where}, which the vault follows: {todo} there, and `septet sync`")


def place_of(opened: Any) -> str:
    """Return the path of a vault or the names of the tiers, for messages."""
    return str(opened.path) if hasattr(opened, "path") else f"the tiers {', '.join(opened.tiers())}"


def _complete(opened: Any, text: str, tier: dict[str, Any]) -> str | None:
    from septet.model.entry import MAX_ID_CHARS

    if not LEAST_ID <= len(text) <= MAX_ID_CHARS:
        return None
    ids = opened.ids_beginning(text, limit=_CANDIDATES + 1, **tier)
    if len(ids) < 2:
        return ids[0] if ids else None
    more = ", and others" if len(ids) > _CANDIDATES else ""
    raise EntryError(f"{text!r} may be {', '.join(map(repr, ids[:_CANDIDATES]))}{more}: give more of it")


def _at(opened: Any, path: str, tier: dict[str, Any]) -> str | None:
    from septet.vault.places import entry_at

    entry = entry_at(opened, path, **tier)
    return None if entry is None else entry.id
