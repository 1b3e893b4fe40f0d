"""Where a vault lies, as far as it matters to SQLite: folders that other machines or programs write too."""

from __future__ import annotations

from septet.notes import Note
from septet.system import filesystem

__all__ = ["place_note"]


def place_note(path: str) -> Note | None:
    """Return what there is to say of the folder of a vault; None for one that is this machine's alone.

    Elsewhere a write-ahead log is unsafe: its index is memory that only one machine sees, and a program that copies
    files copies the log apart from its database.
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
