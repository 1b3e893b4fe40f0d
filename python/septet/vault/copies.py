"""Copies of a vault: everything as JSON lines, and what comes in from other programs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import IO, TYPE_CHECKING, Any

from septet.errors import EntryError, StoreError
from septet.inputs.arguments import file_path
from septet.vault.history import Historic
from septet.vault.judged import Judged
from septet.watch.progress import Progress, reporter, with_progress

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from septet.exchange.imported import Format, Imported, OnError, Rest
    from septet.model.fields import FrameLike, Split

__all__ = ["Copied"]


class Copied(Historic, Judged):
    """A store that can be copied whole, and filled from a copy."""

    def export(self, target: str | os.PathLike[str] | IO[str]) -> int:
        """Write everything (entries, memories, vectors, links, feedback) as JSON lines; return the number of lines.

        Args:
            target: an open stream, or a file, which appears when it is complete; a new one is its owner's alone.

        Raises:
            StoreError: the vault cannot be read, or the target cannot be written: it belongs to a vault or a database
                in use, or is no file.
        """
        from septet.exchange.export import export

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
        """Store what a source holds: an export, or records and texts of other programs.

        A record becomes an entry. Its fields are those of `add`, after ``map``; a title that is missing is made of the
        first line of the text. Times may be ISO dates (without a zone UTC, which ``notes`` say) or epoch seconds, tags
        one text with commas; links and feedback of an export come last. Ids are those of the source, or made from
        title and text, so importing the same source again changes nothing: entries that are stored already just as they
        are, are counted as ``unchanged`` and not written. After an interrupt, import the source again.

        What `export` wrote comes back as it was. Other entries are stored with the ``source`` ``import:`` and the name
        of the file, and ``unverified`` for ``trust``, unless they say otherwise; `update` raises them once somebody has
        read them.

        Args:
            source: a file; a folder of texts (each file an entry, its path in the folder the id); an open stream; lines
                of JSON; dicts and entries, also from an iterator; or a data frame of pandas, polars or Arrow.
            format: ``jsonl`` (an object a line), ``json`` (an array, or objects one behind the other, read piece by
                piece), ``csv`` (with a header; the delimiter is found), ``tsv``, or ``text``; None goes by the name of
                the file, else by its beginning. All are UTF-8.
            map: fields of the source to those of an entry: ``{"body": "description", "meta.author": "attrs.author",
                "junk": None}``; None leaves one out.
            rest: fields that an entry does not have go to ``attrs``, are left out (``drop``), or are an ``error``.
            on_error: what happens at a record that cannot be stored: ``stop``, ``skip``, or a function that is called
                with the `ImportFault`, after which it is skipped.
            vectors: numbers of shape ``(n, d)``, a row for each record of a list or a frame, in turn.
            model: the model that made ``vectors``.
            split: as for `add_many`.
            progress: called after each transaction with the number of entries stored and the total, which is estimated
                from the part of a file that was read, or None; True shows a bar, as of `embed`.

        Returns:
            What was stored and what was not.

        Raises:
            BatchError: a record cannot be stored; the ``written`` entries before it are.
            EntryError: the source cannot be read, or an option is unknown.
        """
        from septet.exchange.run import import_from

        options: dict[str, Any] = {"format": format, "map": map, "rest": rest, "on_error": on_error}
        report = reporter(progress)
        return import_from(self, source, **options, vectors=vectors, model=model, split=split, progress=report)
