"""The roots that a vault follows, with all that says how their files are read."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from septet.errors import EntryError, StoreError
from septet.files.chunking import Chunking
from septet.files.roots import Root, root_at
from septet.files.sources import path_in
from septet.files.storing import erase_files
from septet.inputs.arguments import absolute, exact, file_path, listed, shown, utf8
from septet.model.drafts import draft
from septet.model.entry import TRUSTS, json_of
from septet.sqlite.store.store import Reading, Store, Writing
from septet.sqlite.tables import files, staged
from septet.sqlite.tables.files import RootRow

if TYPE_CHECKING:
    from septet.files.redaction import Redactor

__all__ = [
    "Followed",
    "Redact",
    "by_root",
    "follow",
    "followed_now",
    "followed_of",
    "forget",
    "options_of",
    "redact_from_now",
    "still_followed",
    "would_follow",
]

Redact: TypeAlias = "bool | Literal['all']"

#: So many paths one call takes.
MOST_PATHS = 1_000_000
#: Of what of Septet's own the chunks of files depend, beside the chunker and the rules.
VERSION = 1
#: Options of a new root; those that a vault follows already keep theirs.
NEW_ROOT = {"redact": "all", "session_trust": "unverified"}


class Followed(NamedTuple):
    """A root and how its files are read.

    Attributes:
        number: of its row.
        stored: the identity with which its chunks were made.
        redact: whether secrets are masked in transcripts, or in ``all`` files.
        rules: settings of the `Redactor` that does so; None for the rules of every root.
        session_trust: of chunks of transcripts, where ``trust`` is None.
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

    def given(self, kind: str) -> dict[str, Any]:
        """Return the fields that all its chunks of files of a kind have, ``text`` or ``session``."""
        trust = self.trust or (self.session_trust if kind == "session" else None)
        return {"source": self.root.name} | ({} if trust is None else {"trust": trust})

    @property
    def identity(self) -> str:
        """What its chunks are made by: another one makes other chunks of the same bytes."""
        parts: dict[str, Any] = {"version": VERSION, "chunking": self.chunking.identity, "trust": self.trust}
        if self.redact:
            parts["redact"] = self.redactor().identity
        if self.redact == "all":
            parts["redacted"] = "all"
        if self.session_trust is not None:
            parts["session_trust"] = self.session_trust
        return json.dumps(parts, sort_keys=True)

    @property
    def is_read_otherwise(self) -> bool:
        """Whether its chunks were made in another way than they would be now."""
        return self.stored not in ("", self.identity)

    def below(self, path: str) -> str | None:
        """Return an absolute path as files of the root have theirs; None if it is in no place of the root."""
        return path_in(self.root, path)

    def redactor(self) -> Any:
        """Return what masks secrets."""
        from septet.files.redaction import Redactor

        return Redactor(**(self.rules or {}))


def followed_of(row: RootRow) -> Followed:
    """Return a root from its row."""
    options = json_of(row.options, dict)
    if "\0" in row.path:
        raise StoreError(f"the path of root {shown(row.name)} is damaged, or of another program: {shown(row.path)}")
    # Where it was may be a link now, to where it is: links below it alone are none of its own.
    root = Root.from_json(os.path.realpath(row.path), row.name, row.options)
    chunking = Chunking(**options.get("chunking", {}))
    redact, trust, rules = options.get("redact", True), options.get("trust"), options.get("redactor")
    return Followed(row.root, root, chunking, redact, trust, row.identity, rules, options.get("session_trust"))


def followed_now(store: Store, before: Sequence[Followed]) -> list[Followed]:
    """Return those of some roots that the vault still follows, as they are read now."""
    with store.reading() as read:
        now = {row.root: followed_of(row) for row in files.roots(read)}
    return [now[one.number] for one in before if one.number in now]


def still_followed(read: Reading | Writing, before: Followed) -> Followed | None:
    """Return a root as it is followed now; None if it was forgotten, or has its secrets masked in another way.

    The number of one that was forgotten may be that of another now.
    """
    now = next((followed_of(row) for row in files.roots(read) if row.root == before.number), None)
    if now is None or (now.root.path, now.name) != (before.root.path, before.name):
        return None
    return now if (now.redact, now.rules) == (before.redact, before.rules) else None


def redact_from_now(write: Writing, kinds: Mapping[int, set[str]], redactor: Redactor) -> list[str]:
    """Have secrets masked in files of roots from now on, as a vault was redacted; return the names of those roots.

    Args:
        kinds: by root number, of what kind the files with secrets are: ``text`` or ``session``.
    """
    from septet.files.redaction import Redactor, joined

    names = []
    for row in files.roots(write):
        if row.root not in kinds:
            continue
        options = json_of(row.options, dict)
        made = {**options, "redact": "all" if "text" in kinds[row.root] else options.get("redact", True) or True}
        # What was masked in it before stays masked.
        rules = joined(redactor, options.get("redactor", {}) if options.get("redact", True) else None)
        if rules.identity != Redactor().identity:
            made["redactor"] = rules.settings
        if made != options:
            files.set_options(write, row.root, json.dumps(made, ensure_ascii=False, sort_keys=True))
            names.append(row.name)
    return names


def options_of(root: Root, before: Mapping[str, Any], chunking: object, redact: object, trust: object) -> str:
    """Return the options of a root as they are stored; those that are None stay as they were.

    Raises:
        EntryError: one of them does not fit.
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
    store: Store, path: str | os.PathLike[str], name: object, options: Mapping[str, Any], more: Mapping[str, Any]
) -> None:
    """Remember a root with its options; those that are None stay as they were, or take their defaults.

    Args:
        more: ``chunking``, ``redact`` and ``trust``.

    Raises:
        EntryError: an option does not fit, the root is new and not there, it is a device, a pipe or a socket, or its
            name is taken.
    """
    with store.reading() as read:
        known = files.roots(read)
    there, made = _wanted(known, path, name, options, more)
    if made == there:
        return
    with store.bookkeeping() as write:
        known = files.roots(write)
        now = _followed_at(known, made.path)
        # Others may have followed it, forgotten it, or changed its options, of which theirs stay.
        same = now == there if now is None or there is None else now[:4] == there[:4]
        if same and there is not None:
            files.set_options(write, there.root, made.options)
        elif same:
            _check_free(known, made.name)
            files.add_root(write, made.path, made.name, made.options, "")
    if not same:
        follow(store, path, name, options, more)


def would_follow(
    store: Store, path: str | os.PathLike[str], name: object, options: Mapping[str, Any], more: Mapping[str, Any]
) -> Followed:
    """Return a root as `follow` would have it followed; one that the vault does not follow has the number 0.

    Raises:
        EntryError: as that function.
    """
    with store.reading() as read:
        known = files.roots(read)
    there, made = _wanted(known, path, name, options, more)
    if there is None:
        _check_free(known, made.name)
    return followed_of(made)


def _wanted(
    known: Sequence[RootRow],
    path: str | os.PathLike[str],
    name: object,
    options: Mapping[str, Any],
    more: Mapping[str, Any],
) -> tuple[RootRow | None, RootRow]:
    """Return a root as it is followed, if it is, and as it should be.

    Raises:
        EntryError: as `follow`, but for a name that is taken.
    """
    wanted = root_at(path)
    there = _followed_at(known, wanted.path)
    if there is None and not os.path.exists(wanted.path):
        raise EntryError(f"{shown(wanted.path)} is not there: name a folder, or a file")
    if os.path.exists(wanted.path) and not (os.path.isdir(wanted.path) or os.path.isfile(wanted.path)):
        raise EntryError(f"{shown(wanted.path)} is a device, a pipe or a socket: name a folder, or a regular file")
    if there is not None and name is not None and utf8(name, "name", EntryError).strip() != there.name:
        raise EntryError(
            f"{shown(there.path)} is followed as {shown(there.name)}, which stays: forget_root({there.name!r}) first"
        )
    root = wanted if there is None else Root.from_json(there.path, there.name, there.options)
    root = root.changed(**options, name=name)
    _check_name(root.name)
    before = NEW_ROOT if there is None else json_of(there.options, dict)
    made = options_of(root, before, more["chunking"], more["redact"], more["trust"])
    if there is not None:
        return there, there._replace(options=made)
    return None, RootRow(0, root.path, root.name, made, "", None, None)


def _check_free(known: Sequence[RootRow], name: str) -> None:
    """Raise if a root has the name."""
    taken = next((row for row in known if row.name == name), None)
    if taken is not None:
        raise EntryError(f"{shown(taken.path)} is followed as {shown(name)}: give this root another name=")


def _followed_at(known: Sequence[RootRow], path: str) -> RootRow | None:
    """Return the root at a path."""
    return next((row for row in known if path in (row.path, os.path.realpath(row.path))), None)


def forget(write: Writing, name: str) -> int:
    """Stop following a root, by name or path, and erase its chunks; return how many.

    Raises:
        EntryError: there is no such root.
    """
    known = files.roots(write)
    row = next((row for row in known if row.name == name), None)
    if row is None and "\0" not in name:
        row = _followed_at(known, os.path.realpath(absolute(os.path.expanduser(name))))
    if row is None:
        names = ", ".join(repr(one.name) for one in known) or "none"
        raise EntryError(f"the vault follows no root {shown(name)}: known are {names}")
    _, chunks = erase_files(write, files.of_root(write, row.root))
    staged.end(write, row.root)
    files.remove_root(write, row.root)
    return chunks


def _check_name(name: str) -> None:
    """Raise unless a name can be the ``source`` of an entry."""
    draft({"title": "-", "source": name}, now=0.0)


def by_root(paths: object, followed: Sequence[Followed]) -> dict[int, list[str]]:
    """Return paths below the roots that have them, by the root's number.

    Raises:
        EntryError: no root has one of them.
    """
    given = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    found: dict[int, list[str]] = {}
    for value in listed(given, "paths", EntryError, "paths of files", MOST_PATHS):
        plain = os.path.abspath(absolute(os.path.expanduser(file_path(value, "a path", EntryError))))
        folder, name = os.path.split(plain)
        real_path = os.path.join(os.path.realpath(folder), name)
        fits = False
        for one in followed:
            if (below := one.below(real_path)) is not None:
                found.setdefault(one.number, []).append(below)
                fits = True
        if not fits:
            known = ", ".join(one.root.path for one in followed) or "none"
            raise EntryError(f"{shown(plain)} is in no folder that the vault follows ({known}): sync its folder first")
    return found
