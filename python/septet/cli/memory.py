"""What a command reads or writes: a vault, or the tiers of a configuration; and the entry that a shortened id means."""

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

__all__ = [
    "CONFIG_VARIABLE",
    "LEAST_ID",
    "InFile",
    "check_one",
    "followed",
    "in_file",
    "in_tier",
    "keep_index",
    "memory",
    "not_of_files",
    "place_of",
    "whole_id",
    "whole_ids",
]

#: The variables that name a vault, and that of a configuration with tiers.
_VAULT_VARIABLE = "SEPTET_VAULT"
CONFIG_VARIABLE = "SEPTET_CONFIG"
#: So many characters of an id say which one is meant, if no other begins so.
LEAST_ID = 4
#: So many ids are listed that a shortened one may mean.
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
    """Open a `Vault`; where ``--config``, or without a vault ``SEPTET_CONFIG``, names a configuration, a `Federation`.

    Args:
        write: for writing.
        create: make the vault if it does not exist.
        embeds: with the embedder that ``embedding`` names, or that is configured.
        close_wait_s: how long closing waits for vectors; None as long as usual.

    Raises:
        TierError: both a vault and a configuration are named; or the configuration is malformed.
        SeptetError: a vault cannot be opened.
    """
    given = str(config) if config is not None else os.environ.get(CONFIG_VARIABLE, "").strip()
    check_one(vault, config)
    made: dict[str, Any] = {}
    if embeds:
        from septet.cli import settings

        made = settings.find(embedding).embedder
    if made and close_wait_s is not None:
        from septet.embedding.options import EmbeddingOptions

        made["embedding_options"] = EmbeddingOptions(close_wait_s=close_wait_s)
    if not given or (config is None and vault is not None):
        if create:
            with writable(vault, **made) as opened:
                yield opened
        else:
            with existing(vault, read_only=not write, **made) as opened:
                yield opened
        return
    from septet.service.opening import opened as tiers_of

    # What is named on the command line comes before what the file says; what is configured elsewhere does not.
    which: dict[str, Any] = {"embedder" if embedding is not None or not embeds else "default_embedder": made}
    with tiers_of(None, given, read_only=not write, **which) as served:
        for why in served.left_out:
            say(f"left out: {why}")
        yield served.blocking


def check_one(vault: VaultPlace | None, config: Path | None) -> None:
    """Check that not both a vault and a configuration are named; ``SEPTET_VAULT`` gives way.

    Raises:
        TierError: both are.
    """
    if config is not None and vault is not None and str(vault) != os.environ.get(_VAULT_VARIABLE):
        raise TierError("--vault and --config: wanted either a vault or a configuration, not both")


def keep_index(opened: Any, notes: Iterable[Note]) -> None:
    """Write the index that a search of a file had to do without, for the commands that follow."""
    if any(note.code == "index_building" for note in notes) and isinstance(path := getattr(opened, "path", None), str):
        from septet.sqlite.snapshot.optimize import keep_beside

        keep_beside(path)


def in_tier(opened: Any, tier: str | None) -> dict[str, Any]:
    """Return the arguments that make a call mean one tier.

    Raises:
        TierError: there are no tiers.
    """
    if tier is None:
        return {}
    if not hasattr(opened, "tiers"):
        raise TierError("--tier names a tier of a configuration: give one with --config")
    return {"tier": tier}


def whole_ids(opened: Any, given: Sequence[str], **tier: Any) -> dict[str, str | None]:
    """Return the ids that are meant by whole or shortened ones; None where no entry has it.

    An id that exists means itself. Others mean the one entry whose id begins so, from `LEAST_ID` characters on; else
    the first chunk of the file with this path, or with ``#L10`` behind it the chunk that holds the line.

    Raises:
        EntryError: several ids begin so, or several files have the path; the message lists them.
    """
    there = {entry.id for entry in opened.load(given, **tier)}
    return {id: id if id in there else _completed(opened, id, tier) or _at_place(opened, id, tier) for id in given}


def whole_id(opened: Any, given: str, **tier: Any) -> str:
    """Return the id that is meant by a whole or shortened one.

    Raises:
        EntryNotFound: no entry has it.
        EntryError: several ids begin so.
    """
    found = whole_ids(opened, [given], **tier)[given]
    if found is None:
        raise EntryNotFound(f"no entry {given!r} in {place_of(opened)}")
    return found


class InFile(NamedTuple):
    """Where a chunk of a file that a vault follows stands.

    Attributes:
        file: the whole path.
        line: its first line.
        root: the folder or file that the vault follows.
        which: the arguments that make a call mean the tier that follows it.
    """

    file: str
    line: int
    root: str
    which: Mapping[str, Any]


def in_file(opened: Any, entry: Entry, which: Mapping[str, Any]) -> InFile | None:
    """Return where a chunk stands in a file that the vault, or one of its tiers, follows; None for other entries."""
    if entry.kind != "chunk" or entry.span is None or not hasattr(opened, "roots"):
        return None
    tiers = [{"tier": name} for name in opened.tiers()] if hasattr(opened, "tiers") and not which else [which]
    for tier in tiers:
        # A tier on a server follows nothing.
        with suppress(TierError):
            for root in opened.roots(**tier):
                if root.name == entry.source:
                    folder = Path(root.path) if Path(root.path).is_dir() else Path(root.path).parent
                    file = os.path.normpath(folder / entry.span.path)
                    return InFile(file, entry.span.first_line, root.path, tier)
    return None


def not_of_files(opened: Any, entries: Iterable[Entry], todo: str, which: Mapping[str, Any]) -> None:
    """Refuse chunks of files that a vault follows: changed in the vault alone, they would say what no file says.

    Args:
        todo: what to do in the file instead.
        which: the arguments that make a call mean one tier.

    Raises:
        EntryError: one of the entries is such a chunk; the message names file and line.
    """
    for one in entries:
        if (place := in_file(opened, one, which)) is not None:
            raise followed(one, place, todo)


def followed(entry: Entry, place: InFile, todo: str) -> EntryError:
    """Return the error that an entry is a chunk of a file that the vault follows."""
    where = f"line {place.line} of {place.file}"
    return EntryError(f"{entry.id} is {where}, which the vault follows: {todo} there, and `septet sync`")


def place_of(opened: Any) -> str:
    """Return where a vault is, or which tiers were asked."""
    return str(opened.path) if hasattr(opened, "path") else f"the tiers {', '.join(opened.tiers())}"


def _completed(opened: Any, text: str, tier: dict[str, Any]) -> str | None:
    from septet.model.entry import MAX_ID_CHARS

    if not LEAST_ID <= len(text) <= MAX_ID_CHARS:
        return None
    found = opened.ids_beginning(text, limit=_CANDIDATES + 1, **tier)
    if len(found) < 2:
        return found[0] if found else None
    more = ", and others" if len(found) > _CANDIDATES else ""
    raise EntryError(f"{text!r} may be {', '.join(map(repr, found[:_CANDIDATES]))}{more}: give more of it")


def _at_place(opened: Any, text: str, tier: dict[str, Any]) -> str | None:
    from septet.vault.places import entry_at

    found = entry_at(opened, text, **tier)
    return None if found is None else found.id
