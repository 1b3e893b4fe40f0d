"""Detection of vault folders that other machines or programs also write, which matters to SQLite."""

from __future__ import annotations

from septet.notes import Note
from septet.system import filesystem


def place_note(path: str) -> Note | None:
    """Return the note on a vault's folder; None if only this machine writes it.

    Elsewhere a write-ahead log is unsafe: its index is memory of a single machine, and synchronisation copies the log
    separately from its database.
    """
    if not filesystem.is_local(path):
        cause = (
            f"{path} is on a network file system ({filesystem.file_system(path)}): it is written without a log, so "
            "searches and writes wait for each other"
        )
        return Note("network_folder", cause, "keep the vault on a disk of this machine, and copies of it there")
    program = filesystem.synchronised(path)
    if program:
        cause = (
            f"{path} is in a folder that {program} seems to synchronise: it is written without a log, so searches and "
            "writes wait for each other, and two machines that write it lose one of the two"
        )
        return Note("synchronised_folder", cause, "keep the vault elsewhere, and backup() into the folder")
    return None
