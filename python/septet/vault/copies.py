"""Export of a vault as JSON lines, and import from exports and other programs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import IO, TYPE_CHECKING, Any

from septet.errors import EntryError, StoreError
from septet.inputs.arguments import file_path
from septet.vault.history import Historic, Judged
from septet.watch.progress import Progress, reporter, with_progress

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from septet.exchange.source import Format, Imported, OnError, Rest
    from septet.model.fields import FrameLike, Split


class Copied(Historic, Judged):
    """A store with export and import."""

    def export(self, target: str | os.PathLike[str] | IO[str]) -> int:
        """Write everything (entries, memories, vectors, links, feedback) as JSON lines; return the number of lines.

        Args:
            target: an open stream, or a file, which appears when complete; a new file is readable by its owner only.

        Raises:
            StoreError: the vault cannot be read, or the target cannot be written: it belongs to a vault or a database
                in use, or is not a file.
        """
        from septet.exchange.copying import export

        return export(self._store, target if hasattr(target, "write") else file_path(target, "target", StoreError))

    @with_progress("entries", EntryError)
    def import_(
        self,
        source: str | os.PathLike[str] | Iterable[Any] | FrameLike,
        *,
        format: Format | None = None,
        map: Mapping[str, str | None] | None = None,
        rest: Rest = "attrs",
        on_error: OnError = "stop",
        vectors: ArrayLike | None = None,
        model: str | None = None,
        split: Split | None = None,
        progress: Progress | None = None,
    ) -> Imported:
        """Import an export, or records and texts of other programs.

        Each record becomes an entry. Its fields are those of `add`, after ``map``; a missing title is taken from the
        first line of the text. Times may be ISO dates (UTC without a zone, with a note) or epoch seconds, tags one
        comma-separated text; links and feedback of an export come last. Ids are those of the source, or derived from
        title and text, so importing the same source again changes nothing: entries that are already stored are
        counted as ``unchanged`` and not written. After an interrupt, import the source again.

        An `export` is restored exactly. Other entries are stored with ``import:`` and the file name as ``source``, and
        ``unverified`` as ``trust``, unless the record has these fields; raise the trust with `update` after a review.

        Args:
            source: a file; a folder of texts (each file an entry, its path in the folder the id); an open stream; lines
                of JSON; dicts and entries, also from an iterator; or a data frame of pandas, polars or Arrow.
            format: ``jsonl`` (an object per line), ``json`` (an array, or concatenated objects, read incrementally),
                ``csv`` (with a header; the delimiter is detected), ``tsv``, or ``text``; None detects it by the file
                name, else by the first bytes. All are UTF-8.
            map: fields of the source to those of an entry: ``{"body": "description", "meta.author": "attrs.author",
                "junk": None}``; None drops a field.
            rest: unknown fields are stored in ``attrs``, dropped (``drop``), or raise an error (``error``).
            on_error: action for a record that cannot be stored: ``stop``, ``skip``, or a function that is called with
                the `ImportFault`; the record is then skipped.
            vectors: numbers of shape ``(n, d)``, one row per record of a list or a frame, in order.
            model: the model that produced ``vectors``.
            split: as for `add_many`.
            progress: called after each transaction with the number of entries stored and the total, which is estimated
                from the part of a file that was read, or None; True shows a bar, as of `embed`.

        Returns:
            Counts of stored, unchanged and skipped records.

        Raises:
            BatchError: a record cannot be stored; the ``written`` entries before it are.
            EntryError: the source cannot be read, or an option is unknown.
        """
        from septet.exchange.run import import_from

        options: dict[str, Any] = {"format": format, "map": map, "rest": rest, "on_error": on_error}
        report = reporter(progress)
        return import_from(self, source, **options, vectors=vectors, model=model, split=split, progress=report)
