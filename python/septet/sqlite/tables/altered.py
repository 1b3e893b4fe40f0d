"""Files whose chunks were changed or deleted in the vault, and so differ from the disk."""

from __future__ import annotations

import json
from collections.abc import Sequence

from septet.sqlite.store.store import SqliteWriting

#: The note on such a file until it is read again.
ALTERED = "chunks of it were changed or deleted in the vault; a sync with force makes them what the file says"


def note_altered(write: SqliteWriting, rows: Sequence[int]) -> None:
    """Note that the chunks at these rows differ from their files.

    The next sync that stores the file replaces the note.
    """
    if not rows:
        return
    write.sql.execute(
        "UPDATE files SET problem = CASE WHEN problem IS NULL THEN ?1 ELSE problem || '; ' || ?1 END "
        "WHERE id IN (SELECT e.parent FROM json_each(?2) j JOIN entries e ON e.row = j.value "
        "WHERE e.live AND e.kind = 'chunk' AND e.parent IS NOT NULL) "
        "AND (problem IS NULL OR instr(problem, ?1) = 0)",
        (ALTERED, json.dumps(list(rows))),
    )
