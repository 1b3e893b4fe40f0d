"""Keeping a vault in step with folders on the disk."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from septet.errors import EntryError, ReadOnly
from septet.inputs.arguments import as_text, flag, real, utf8
from septet.model.entry import json_of
from septet.sqlite.store.store import Store
from septet.watch.progress import Progress, reporter, with_progress

if TYPE_CHECKING:
    from septet.embedding.report import Tally
    from septet.files.chunking import Chunking
    from septet.files.report import RootInfo, SyncReport
    from septet.files.roots import Layout
    from septet.files.tracking import Followed, Redact
    from septet.files.turns import Asked
    from septet.model.fields import Strings, Trust

__all__ = ["Synced"]

#: The longest ``timeout_s``, in seconds: a year.
MOST_WAIT_S = 366 * 86_400.0


class Synced:
    """A store whose chunks follow the files of some folders."""

    _store: Store
    _clock: Callable[[], float]
    _written: Callable[[], None]
    _loading: Callable[[], AbstractContextManager[None]]
    _embed_ahead: Callable[[Callable[[], bool], set[str]], Tally | None]
    #: Whether it was synced by this object, and so may have a sync to come to an end.
    _has_synced = False

    @with_progress("files", EntryError)
    def sync(
        self,
        root: str | os.PathLike[str] | None = None,
        *,
        paths: Iterable[str | os.PathLike[str]] | None = None,
        name: str | None = None,
        layout: Layout | None = None,
        include: Strings | None = None,
        exclude: Strings | None = None,
        extra: Iterable[str | os.PathLike[str]] | None = None,
        follow_symlinks: bool | None = None,
        chunking: Chunking | None = None,
        redact: Redact | None = None,
        trust: Trust | None = None,
        force: bool = False,
        dry_run: bool = False,
        timeout_s: float | None = None,
        progress: Progress | None = None,
    ) -> SyncReport:
        """Bring the vault in step with a folder of Markdown, text and transcripts, or with all that it follows.

        With the extra ``files``, PDF and HTML are read too; ``span`` of a PDF has its pages.

        The folder is remembered with its options. Each of its files is an entry for each of its chunks, of kind
        ``chunk``, with the file's id as ``parent``, the folder's name as ``source`` and its lines as ``span``. Files
        are compared by size and time, and read where these differ (``force=True`` finds a change that keeps both); only
        what has changed is made into chunks. A chunk whose text stays keeps its id, links, feedback and vector, also
        when its file is renamed. What is deleted on the disk is erased here; what cannot be read stays, and so does all
        of a folder that is not there, or that is empty and on another file system than before. Each transaction holds
        whole files, so no search sees half of one. One sync of a vault runs at a time, in all processes; who waited for
        another is not kept longer than for a look at the disk.

        A chunk that is changed by `update` becomes what its file says when the file changes; one that is deleted comes
        back then. ``force=True`` does so at once.

        With another ``chunking``, ``redact`` or ``trust``, or a version of Septet that cuts otherwise, the chunks of
        all files are made anew beside those that answer, and their texts embedded; then one transaction puts them in
        their place. Files that change meanwhile are brought in at once, in the new way. A sync that ends before that
        leaves what it has made to the next one.

        Args:
            root: a folder, or one file; None for all that the vault follows.
            paths: only these files, absolute or seen from the working directory, of folders that the vault follows.
            name: what the chunks have as ``source``; the folder's name unless given. It cannot be changed.
            layout: ``folder`` for all texts below it; ``memory`` for MEMORY.md, memory.md, USER.md and ``memory/``.
            include: globs; other files are left out.
            exclude: globs to leave out, beside what .gitignore and .septetignore do.
            extra: more files, folders and globs, seen from the root.
            follow_symlinks: look at what links lead to; otherwise they are reported.
            chunking: how files are cut; `Chunking` has the defaults.
            redact: mask secrets in every file (``"all"``, as in a new root), in transcripts (True), or in none (False).
            trust: of the chunks, as for `add`; those of transcripts are ``unverified`` unless given.
            force: read every file and make its chunks anew.
            dry_run: write nothing, embed nothing, and remember no folder; the report says what a sync would do.
            timeout_s: stop between two files after so many seconds; the report says how many are left.
            progress: called with the number of files read so far and their total; True shows a bar, as of `embed`.

        Options that are not given stay as they were.

        Raises:
            EntryError: an option does not fit, there is no such folder, the root is neither a folder nor a regular
                file, or no folder that the vault follows has a path.
            ReadOnly: the vault was opened for reading, and this is no dry run.
            StoreError: the vault cannot be written, or its disk has too little room for chunks made anew: these are not
                begun, and all else is done. A file that cannot be read is no error, but in the report.
        """
        from septet.files.tracking import by_root, follow, would_follow
        from septet.files.turns import Asked

        flag(force, "force", EntryError)
        flag(dry_run, "dry_run", EntryError)
        limit = None if timeout_s is None else real(timeout_s, "timeout_s", EntryError, 0, MOST_WAIT_S)
        options = {
            "layout": layout,
            "include": include,
            "exclude": exclude,
            "paths": extra,
            "follow_symlinks": follow_symlinks,
        }
        more = {"chunking": chunking, "redact": redact, "trust": trust}
        given = [key for key, value in {"name": name, **options, **more}.items() if value is not None]
        if root is None and given:
            raise EntryError(f"{given[0]} is an option of a root: name the root, as in sync('notes', ...)")
        if self._store.read_only and not dry_run:
            raise ReadOnly(f"{self._store.path} was opened with read_only=True: open it for writing to sync it")
        if root is not None and dry_run:
            followed = [would_follow(self._store, root, name, options, more)]
        else:
            if root is not None:
                follow(self._store, root, name, options, more)
            followed = self._followed(root)
        wanted = None if paths is None else by_root(paths, followed)
        deadline = None if limit is None else time.monotonic() + limit
        asked = Asked(followed, wanted, force, deadline, reporter(progress))
        if dry_run:
            from septet.files.rehearsing import rehearse_roots

            return rehearse_roots(self._store, asked, clock=self._clock)
        with self._loading():
            return self._synced(asked, root)

    def roots(self) -> list[RootInfo]:
        """Return the folders that the vault follows.

        Raises:
            StoreError: the vault cannot be read.
        """
        from septet.files.report import RootInfo
        from septet.sqlite.tables import files

        with self._store.reading() as read:
            return [
                RootInfo(
                    name=row.name,
                    path=row.path,
                    options=json_of(row.options, dict),
                    files=files.count_files(read, row.root),
                    chunks=files.count_chunks(read, row.root),
                    synced_at=row.synced_at,
                    problem=row.problem,
                )
                for row in files.roots(read)
            ]

    def forget_root(self, name: str | os.PathLike[str]) -> int:
        """Stop following a folder, and erase its chunks, as `delete` does; return how many. The disk stays as it is.

        Args:
            name: of the root, or its path.

        Raises:
            EntryError: the vault follows no such folder.
            StoreError: the vault cannot be written.
        """
        from septet.files.tracking import forget

        text = utf8(as_text(name), "name", EntryError)
        with self._store.writing() as write:
            return forget(write, text)

    # -- inside ------------------------------------------------------------------------------------------------------

    def _followed(self, root: str | os.PathLike[str] | None) -> list[Followed]:
        from septet.files.roots import root_at
        from septet.files.tracking import followed_of
        from septet.sqlite.tables import files

        with self._store.reading() as read:
            found = [followed_of(row) for row in files.roots(read)]
        if root is None:
            return found
        path = root_at(root).path
        return [one for one in found if one.root.path == path]

    def _synced(self, asked: Asked, root: str | os.PathLike[str] | None) -> SyncReport:
        from septet.files.syncing import sync_roots
        from septet.files.turns import in_turn

        def run(ending: Callable[[], bool]) -> SyncReport:
            # While others synced, a root may have been forgotten, or made anew.
            now = asked._replace(followed=self._followed(root), ending=ending)
            return sync_roots(self._store, now, clock=self._clock, written=self._written, embed_ahead=self._embed_ahead)

        self._has_synced = True
        return in_turn(self._store, asked, run)
