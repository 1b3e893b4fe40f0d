"""`septet edit`: an entry in the editor of the user."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from septet.cli.exits import NOTHING
from septet.cli.memory import in_tier, memory, not_of_files, whole_id
from septet.cli.options import ConfigFile, Embedding, Id, TierName, VaultPath
from septet.cli.terminal import say
from septet.errors import EntryError, EntryNotFound, SeptetError

if TYPE_CHECKING:
    from septet.entry import Entry

__all__ = ["edit"]

#: What is tried where the environment names no editor.
_EDITORS = ("sensible-editor", "nano", "vi", "notepad.exe")
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")


def edit(
    id: Id,
    source: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="Take what this file holds; no editor is opened.")
    ] = None,
    tier: TierName = None,
    embedding: Embedding = None,
    config: ConfigFile = None,
    vault: VaultPath = None,
) -> None:
    """Change an entry in your editor: $VISUAL, else $EDITOR.

    Its fields stand as TOML between two lines of +++, its text below them in Markdown. A text that cannot be stored is
    kept in a file, and so is one whose entry another program changed meanwhile. Refuses a chunk of a followed
    folder, and names the file and line to edit.
    """
    with memory(vault, config) as opened:
        which = in_tier(opened, tier)
        whole = whole_id(opened, id, **which)
        before = opened.get(whole, **which)
        if before is not None:
            not_of_files(opened, [before], "edit it")
    from septet.cli.front_matter import as_text, fields_in

    if before is None:
        raise EntryNotFound(f"no entry {whole!r}")
    text = as_text(before)
    path = _edited(text, whole) if source is None else source
    try:
        # Some editors put a mark of the byte order first.
        changed = path.read_bytes().decode("utf-8-sig")
        given, known = fields_in(changed), fields_in(text)
        changes = {name: value for name, value in given.items() if value != known[name]}
        if not changes:
            say(f"{whole} is unchanged")
        else:
            with memory(vault, config, write=True, embeds=True, embedding=embedding) as opened:
                _store(opened, before, changes, which)
            say(f"changed {', '.join(changes)} of {whole}")
    except (SeptetError, UnicodeDecodeError) as fault:
        named = {"--tier": tier, "--config": config, "--vault": vault, "--from": path}
        options = [str(part) for option in named.items() if option[1] is not None for part in option]
        again = shlex.join(["septet", "edit", *([*options, "--", whole] if whole[0] == "-" else [whole, *options])])
        kept = f"{_reason(fault)}; your text is kept: {again}"
        if isinstance(fault, SeptetError):
            # The class, and with it the exit code, stays.
            fault.args = (kept,)
            raise
        raise EntryError(kept) from None
    if source is None:
        shutil.rmtree(path.parent, ignore_errors=True)


def _store(opened: Any, before: Entry, changes: dict[str, Any], which: dict[str, Any]) -> None:
    """Store changes, unless the entry is not any more what was edited.

    Raises:
        EntryError: it changed or is gone.
    """
    now = opened.get(before.id, **which)
    if now is None:
        raise EntryError(f"{before.id} was deleted meanwhile")
    if now != before:
        raise EntryError(f"{before.id} was changed by another program meanwhile")
    opened.update(before.id, **changes, **which)


def _edited(text: str, id: str) -> Path:
    """Return the file that holds the text as the user left it.

    Raises:
        EntryError: there is no editor, or it failed.
    """
    folder = Path(tempfile.mkdtemp(prefix="septet-"))
    path = folder / f"{_NOT_IN_NAMES.sub('_', id)[:80].strip('.') or 'entry'}.md"
    path.write_bytes(text.encode("utf-8"))
    try:
        command = _editor()
        sys.stdout.flush()
        code = subprocess.run([*command, str(path)], check=False).returncode
    except OSError as fault:
        shutil.rmtree(folder, ignore_errors=True)
        raise EntryError(f"the editor {command[0]} cannot be run: {fault.strerror}") from None
    except BaseException:
        # Ctrl-C reaches this process as well as an editor that has the text open.
        if left := _left(path, text):
            say(f"interrupted: nothing was changed{left}")
        raise
    if code:
        say(f"the editor ended with {code}: nothing was changed{_left(path, text)}")
        raise typer.Exit(NOTHING)
    return path


def _left(path: Path, text: str) -> str:
    """Return where the text of the user is, for a message; where it is as it was, or gone, delete its folder."""
    if path.is_file() and path.read_bytes() != text.encode("utf-8"):
        return f"; your text is in {path}"
    shutil.rmtree(path.parent, ignore_errors=True)
    return ""


def _editor() -> list[str]:
    for variable in ("VISUAL", "EDITOR"):
        if command := os.environ.get(variable, "").strip():
            try:
                return shlex.split(command)
            except ValueError as fault:
                raise EntryError(f"${variable} is {command!r}: {fault}") from None
    if (found := next((name for name in _EDITORS if shutil.which(name)), None)) is None:
        raise EntryError("there is no editor: name one with $VISUAL or $EDITOR")
    return [found]


def _reason(fault: Exception) -> str:
    return "the text is not UTF-8" if isinstance(fault, UnicodeDecodeError) else str(fault)
