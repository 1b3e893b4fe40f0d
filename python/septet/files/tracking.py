"""The roots followed by a vault, with the options for reading their files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from septet.errors import EntryError, StoreError
from septet.files.chunking import Chunking
from septet.files.roots import Root, real_path, root_at
from septet.files.sources import path_in
from septet.files.storing import erase_files
from septet.inputs.arguments import absolute, exact, file_path, listed, shown, utf8
from septet.model.drafts import draft
from septet.model.entry import TRUSTS, json_of
from septet.sqlite.store.store import SqliteReading, SqliteStore, SqliteWriting
from septet.sqlite.tables import files, staged
from septet.sqlite.tables.files import RootRow

if TYPE_CHECKING:
    from septet.files.redaction import Redactor

Redact: TypeAlias = "bool | Literal['all']"

#: Maximum paths of a call.
MOST_PATHS = 1_000_000
#: Increment when files give different chunks for a reason other than the chunker or the redaction rules.
VERSION = 1
#: Options of a new root; existing roots keep theirs.
NEW_ROOT = {"redact": "all", "session_trust": "unverified"}


class Followed(NamedTuple):
    """A root with its reading options.

    Attributes:
        number: number of its row.
        stored: identity of its stored chunks.
        redact: True to mask secrets in transcripts, ``all`` in every file.
        rules: settings of the `Redactor`; None for the defaults.
        session_trust: trust of chunks of transcripts if ``trust`` is None.
    """

    number: int
    root: Root
    chunking: Chunking
    redact: Redact
    trust: str | None
    stored: str
    rules: Mapping[str, Any] | None = None
    session_trust: str | None = None

    @property
    def name(self) -> str:
        """The ``source`` of its chunks."""
        return self.root.name

    def fields(self, kind: str) -> dict[str, Any]:
        """Return the fields shared by its chunks of a kind, ``text`` or ``session``."""
        trust = self.trust or (self.session_trust if kind == "session" else None)
        return {"source": self.root.name} | ({} if trust is None else {"trust": trust})

    @property
    def identity(self) -> str:
        """Identity of the reading options: another identity gives other chunks for the same bytes."""
        rules = json.dumps(self.rules or {}, sort_keys=True) if self.redact else None
        return _identity(self.chunking.identity, self.trust, rules, self.redact == "all", self.session_trust)

    @property
    def is_read_otherwise(self) -> bool:
        """True if its stored chunks have another identity, so that a rebuild is due."""
        return self.stored not in ("", self.identity)

    def below(self, path: str) -> str | None:
        """Return an absolute path relative to the root; None if it is outside the root and its extra paths."""
        return path_in(self.root, path)

    def redactor(self) -> Any:
        """Return the redactor."""
        return _redactor(json.dumps(self.rules or {}, sort_keys=True))


@lru_cache(64)
def _identity(chunking: str, trust: str | None, rules: str | None, redacts_all: bool, session_trust: str | None) -> str:
    parts: dict[str, Any] = {"version": VERSION, "chunking": chunking, "trust": trust}
    if rules is not None:
        parts["redact"] = _redactor(rules).identity
    if redacts_all:
        parts["redacted"] = "all"
    if session_trust is not None:
        parts["session_trust"] = session_trust
    return json.dumps(parts, sort_keys=True)


@lru_cache(8)
def _redactor(settings: str) -> Redactor:
    from septet.files.redaction import Redactor

    return Redactor(**json.loads(settings))


def followed_of(row: RootRow) -> Followed:
    """Return a root from its row."""
    if "\0" in row.path:
        raise StoreError(f"the path of root {shown(row.name)} is damaged, or of another program: {shown(row.path)}")
    # A root moved away and replaced by a link to its new place is still followed.
    return _followed(row.root, os.path.realpath(row.path), row.name, row.options, row.identity)


@lru_cache(64)
def _followed(number: int, path: str, name: str, text: str, identity: str) -> Followed:
    options = json_of(text, dict)
    root, chunking = Root.from_json(path, name, text), Chunking(**options.get("chunking", {}))
    redact, trust, rules = options.get("redact", True), options.get("trust"), options.get("redactor")
    return Followed(number, root, chunking, redact, trust, identity, rules, options.get("session_trust"))


def still_followed(read: SqliteReading | SqliteWriting, before: Followed) -> Followed | None:
    """Return a root with its current options; None if it was forgotten or its redaction changed.

    The number of a forgotten root may be reused.
    """
    now = next((followed_of(row) for row in files.roots(read) if row.root == before.number), None)
    if now is None or (now.root.path, now.name) != (before.root.path, before.name):
        return None
    return now if (now.redact, now.rules) == (before.redact, before.rules) else None


def redact_from_now(write: SqliteWriting, kinds: Mapping[int, set[str]], redactor: Redactor) -> list[str]:
    """Extend the redaction of roots to the kinds of files with secrets; return the names of the changed roots.

    Args:
        kinds: kinds of files with secrets, ``text`` or ``session``, by root number.
    """
    from septet.files.redaction import Redactor, joined

    names = []
    for row in files.roots(write):
        if row.root not in kinds:
            continue
        options = json_of(row.options, dict)
        changed = {**options, "redact": "all" if "text" in kinds[row.root] else options.get("redact", True) or True}
        # Keep masking whatever was masked before.
        rules = joined(redactor, options.get("redactor", {}) if options.get("redact", True) else None)
        if rules.identity != Redactor().identity:
            changed["redactor"] = rules.settings
        if changed != options:
            files.set_options(write, row.root, json.dumps(changed, ensure_ascii=False, sort_keys=True))
            names.append(row.name)
    return names


def options_of(root: Root, before: Mapping[str, Any], chunking: object, redact: object, trust: object) -> str:
    """Return the options of a root as stored; options that are None stay.

    Raises:
        EntryError: an invalid option.
    """
    options = {**before, **json.loads(root.to_json())}
    if chunking is not None:
        if not isinstance(chunking, Chunking):
            raise EntryError(f"chunking is {shown(chunking)}: wanted a septet.Chunking")
        options["chunking"] = {name: getattr(chunking, name) for name in ("tokens", "overlap", "variant")}
    if redact is not None:
        if not isinstance(redact, bool) and not (isinstance(redact, str) and exact(redact) == "all"):
            raise EntryError(f"redact is {shown(redact)}: wanted True, False or 'all'")
        options["redact"] = exact(redact)
    if trust is not None:
        if not isinstance(trust, str) or exact(trust) not in TRUSTS:
            raise EntryError(f"trust is {shown(trust)}: wanted one of {', '.join(TRUSTS)}")
        options["trust"] = exact(trust)
    return json.dumps(options, ensure_ascii=False, sort_keys=True)


def follow(
    store: SqliteStore, path: str | os.PathLike[str], name: object, options: Mapping[str, Any], more: Mapping[str, Any]
) -> Followed:
    """Add a root or update its options, and return it; options that are None stay, or get their defaults.

    Args:
        more: ``chunking``, ``redact`` and ``trust``.

    Raises:
        EntryError: an invalid option, a new root that does not exist or is a device, pipe or socket, or a name in use.
    """
    with store.reading() as read:
        known = files.roots(read)
    before, after = _planned(known, path, name, options, more)
    if after == before:
        return followed_of(after)
    with store.bookkeeping() as write:
        known = files.roots(write)
        now = _followed_at(known, after.path)
        # Another process may have added or removed the root, or changed its options: then try again.
        same = now == before if now is None or before is None else now[:4] == before[:4]
        if same and before is not None:
            files.set_options(write, before.root, after.options)
        elif same:
            _check_free(known, after.name)
            after = after._replace(root=files.add_root(write, after.path, after.name, after.options, ""))
    return followed_of(after) if same else follow(store, path, name, options, more)


def would_follow(
    store: SqliteStore, path: str | os.PathLike[str], name: object, options: Mapping[str, Any], more: Mapping[str, Any]
) -> Followed:
    """Return the root that `follow` would store; a new one has number 0.

    Raises:
        EntryError: as `follow`.
    """
    with store.reading() as read:
        known = files.roots(read)
    before, after = _planned(known, path, name, options, more)
    if before is None:
        _check_free(known, after.name)
    return followed_of(after)


def _planned(
    known: Sequence[RootRow],
    path: str | os.PathLike[str],
    name: object,
    options: Mapping[str, Any],
    more: Mapping[str, Any],
) -> tuple[RootRow | None, RootRow]:
    """Return the stored row of a root, or None, and its new row.

    Raises:
        EntryError: as `follow`, except for a name in use.
    """
    real = real_path(path)
    stored = _followed_at(known, real)
    if stored is None and not os.path.exists(real):
        raise EntryError(f"{shown(real)} is not there: name a folder, or a file")
    if os.path.exists(real) and not (os.path.isdir(real) or os.path.isfile(real)):
        raise EntryError(f"{shown(real)} is a device, a pipe or a socket: name a folder, or a regular file")
    if stored is not None and name is not None and utf8(name, "name", EntryError).strip() != stored.name:
        raise EntryError(
            f"{shown(stored.path)} is already followed as {shown(stored.name)}: call forget_root({stored.name!r}) first"
        )
    root = root_at(path) if stored is None else Root.from_json(stored.path, stored.name, stored.options)
    if stored is not None and not [value for value in (name, *options.values(), *more.values()) if value is not None]:
        return stored, stored
    root = root.changed(**options, name=name)
    # Raises unless the name can be the ``source`` of an entry.
    draft({"title": "-", "source": root.name}, now=0.0)
    before = NEW_ROOT if stored is None else json_of(stored.options, dict)
    options_json = options_of(root, before, more["chunking"], more["redact"], more["trust"])
    if stored is not None:
        return stored, stored._replace(options=options_json)
    return None, RootRow(0, root.path, root.name, options_json, "", None, None)


def _check_free(known: Sequence[RootRow], name: str) -> None:
    """Raise if a root has the name."""
    taken = next((row for row in known if row.name == name), None)
    if taken is not None:
        raise EntryError(f"{shown(taken.path)} is followed as {shown(name)}: give this root another name=")


def _followed_at(known: Sequence[RootRow], path: str) -> RootRow | None:
    """Return the root at a path."""
    return next((row for row in known if row.path == path or os.path.realpath(row.path) == path), None)


def forget(write: SqliteWriting, name: str) -> int:
    """Stop following a root, by name or path, and erase its chunks; return their number.

    Raises:
        EntryError: unknown root.
    """
    known = files.roots(write)
    row = next((row for row in known if row.name == name), None)
    if row is None and "\0" not in name:
        row = _followed_at(known, os.path.realpath(absolute(os.path.expanduser(name))))
    if row is None:
        names = ", ".join(repr(root.name) for root in known) or "none"
        raise EntryError(f"the vault follows no root {shown(name)}: known are {names}")
    _, chunks = erase_files(write, files.of_root(write, row.root))
    staged.end(write, row.root)
    files.remove_root(write, row.root)
    return chunks


def by_root(paths: object, followed: Sequence[Followed]) -> dict[int, list[str]]:
    """Return relative paths by root number.

    Raises:
        EntryError: a path is in no root.
    """
    values = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    relative: dict[int, list[str]] = {}
    for value in listed(values, "paths", EntryError, "paths of files", MOST_PATHS):
        plain = os.path.abspath(absolute(os.path.expanduser(file_path(value, "a path", EntryError))))
        folder, name = os.path.split(plain)
        real_path = os.path.join(os.path.realpath(folder), name)
        below = [(root.number, path) for root in followed if (path := root.below(real_path)) is not None]
        for number, path in below:
            relative.setdefault(number, []).append(path)
        if not below:
            known = ", ".join(root.root.path for root in followed) or "none"
            raise EntryError(f"{shown(plain)} is in no folder that the vault follows ({known}): sync its folder first")
    return relative
