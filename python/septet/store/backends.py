"""Static checks that each backend implements the protocols; never run.

A new backend adds two functions: one for its store and transactions, one for the modules of its tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple, TypeAlias

    from septet.postgres.store.store import PostgresStore
    from septet.postgres.store.transactions import PostgresReading, PostgresWriting
    from septet.sqlite.store import store
    from septet.store import protocol
    from septet.store import table_protocols as of
    from septet.store import vector_protocols as by_vector

    class _Given(NamedTuple):
        """`septet.store.protocol.Tables` as modules."""

        changing: of.Changing
        claims: by_vector.Claims
        entries: of.Entries
        feedback: of.FeedbackRows
        history: of.History
        indexing: of.Indexing
        jobs: by_vector.Jobs
        links: of.Links
        listings: of.Runs
        marks: of.Marks
        parts: of.Parts
        texts: by_vector.Texts
        vectors: by_vector.Vectors

    _Store: TypeAlias = tuple[protocol.Store, protocol.Reading, protocol.Writing]

    def _file(db: store.SqliteStore, read: store.SqliteReading, write: store.SqliteWriting) -> _Store:
        return db, read, write

    def _tables_of_a_file() -> protocol.Tables:
        from septet.sqlite.tables import (
            changing,
            claims,
            entries,
            feedback,
            history,
            indexing,
            jobs,
            links,
            listings,
            marks,
            parts,
            texts,
            vectors,
        )

        first = (changing, claims, entries, feedback, history, indexing, jobs)
        return _Given(*first, links, listings, marks, parts, texts, vectors)

    def _server(db: PostgresStore, read: PostgresReading, write: PostgresWriting) -> _Store:
        return db, read, write

    def _tables_of_a_server() -> protocol.Tables:
        from septet.postgres.tables import (
            changing,
            claims,
            entries,
            feedback,
            history,
            indexing,
            jobs,
            links,
            listings,
            marks,
            parts,
            texts,
            vectors,
        )

        first = (changing, claims, entries, feedback, history, indexing, jobs)
        return _Given(*first, links, listings, marks, parts, texts, vectors)
