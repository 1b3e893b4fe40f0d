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
from septet.cli.memory import InFile, followed, in_file, in_tier, memory, whole_id
from septet.cli.options import ConfigFile, Embedding, Id, TierName, VaultPath
from septet.cli.terminal import say
from septet.errors import EntryError, EntryNotFound, SeptetError

if TYPE_CHECKING:
    from septet.model.entry import Entry

__all__ = ["edit"]

#: What is tried where the environment names no editor.
_EDITORS = ("sensible-editor", "nano", "vi", "notepad.exe")
#: Editors that take ``+10 FILE``.
_PLUS = frozenset("vi vim nvim view gvim mvim elvis nano pico emacs emacsclient kak joe jed ne".split())
#: Those that take ``FILE:10``.
_COLON = frozenset("hx helix subl sublime_text zed".split())
#: Those that take it behind ``--goto``.
_GOTO = frozenset("code code-insiders codium vscodium code-oss cursor windsurf".split())
#: The line of a place in a file, such as ``a.md#L10-L12``.
_LINE = re.compile(r"#L(\d{1,9})(?:-L?\d+)?$")
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
    kept in a file, and so is one whose entry another program changed meanwhile. A chunk of a followed
    folder opens its file at its line, and the folder is synced afterwards; without a terminal the place is named.
    """
    with memory(vault, config) as opened:
        which = in_tier(opened, tier)
        whole = whole_id(opened, id, **which)
        before = opened.get(whole, **which)
        place = None if before is None else in_file(opened, before, which)
    if before is not None and place is not None:
        if source is not None or not sys.stdin.isatty():
            raise followed(before, place, "edit it")
        _edit_in_place(place, id, vault, config, embedding)
        return
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


def _edit_in_place(place: InFile, given: str, vault: Any, config: Path | None, embedding: str | None) -> None:
    """Open the file of a chunk at its line, or at the one that was asked for, and sync its folder afterwards.

    Raises:
        EntryError: the file is gone, or there is no editor.
        typer.Exit: the editor failed, or the sync has something left to do.
    """
    from septet.cli.commands.syncing import brought_in, tell

    if not Path(place.file).is_file():
        raise EntryError(f"{place.file} is not there any more: `septet sync` brings the vault in step")
    asked = _LINE.search(given)
    if code := _opened_in_editor(Path(place.file), int(asked[1]) if asked else place.line):
        say(f"the editor ended with {code}: `septet sync` brings in what it saved")
        raise typer.Exit(NOTHING)
    with memory(vault, config, write=True, embeds=True, embedding=embedding) as opened:
        done = brought_in(opened, place.root, **place.which)
    tell(*done)


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
        code = _opened_in_editor(path)
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


def _opened_in_editor(path: Path, line: int | None = None) -> int:
    """Open a file in ``$VISUAL``, else in ``$EDITOR``, and return the exit code of the editor.

    Args:
        line: where to begin, from 1, if it is an editor of which is known how; None for the beginning.

    Raises:
        EntryError: there is no editor, or it cannot be run.
    """
    command = _editor()
    sys.stdout.flush()
    try:
        return subprocess.run([*command, *_at(command[0], path, line)], check=False).returncode
    except OSError as fault:
        raise EntryError(f"the editor {command[0]} cannot be run: {fault.strerror}") from None


def _at(editor: str, path: Path, line: int | None) -> list[str]:
    """Return the arguments that open a file at a line."""
    name = Path(editor).name.lower().removesuffix(".exe")
    if line is None:
        return [str(path)]
    if name in _PLUS:
        return [f"+{line}", str(path)]
    if name in _GOTO:
        return ["--goto", f"{path}:{line}"]
    return [f"{path}:{line}" if name in _COLON else str(path)]


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
