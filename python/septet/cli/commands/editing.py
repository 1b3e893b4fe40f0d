"""`septet edit`."""

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

from septet.cli.command import SharedOptions, command
from septet.cli.exits import end_with
from septet.cli.ids import SourceFile, followed, source_file, whole_id
from septet.cli.options import Id
from septet.cli.terminal import say
from septet.errors import EntryError, EntryNotFound, SeptetError
from septet.system.session import session

if TYPE_CHECKING:
    from septet.model.entry import Entry

#: Fallbacks without ``$VISUAL`` and ``$EDITOR``, in order.
_EDITORS = ("sensible-editor", "nano", "vi", "notepad.exe")
#: Editors called with ``+10 FILE``.
_PLUS = frozenset("vi vim nvim view gvim mvim elvis nano pico emacs emacsclient kak joe jed ne".split())
#: Editors called with ``FILE:10``.
_COLON = frozenset("hx helix subl sublime_text zed".split())
#: Editors called with ``--goto FILE:10``.
_GOTO = frozenset("code code-insiders codium vscodium code-oss cursor windsurf".split())
#: The line of a place in a file, such as ``a.md#L10-L12``.
_LINE = re.compile(r"#L(\d{1,9})(?:-L?\d+)?$")
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")


@command("tier", "embedding", "memory")
def edit(
    shared: SharedOptions,
    id: Id,
    source: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="Read the new text from this file; open no editor.")
    ] = None,
) -> None:
    """Change an entry in your editor: $VISUAL, else $EDITOR.

    Its fields are TOML between two lines of +++, followed by its text in Markdown. If the result cannot be stored, or
    another program changed the entry, your text is kept in a file. A chunk of a followed folder opens its file at its
    line, and the folder is synced afterwards; without a terminal, the file and line are printed.
    """
    with shared.memory() as opened:
        whole = whole_id(opened, id)
        before = opened.get(whole)
        place = None if before is None else source_file(opened, before)
    if before is not None and place is not None:
        if source is not None or not sys.stdin.isatty():
            raise followed(before, place, "edit it")
        _edit_in_place(place, id, shared)
        return
    from septet.cli.front_matter import as_text, fields_in

    if before is None:
        raise EntryNotFound(f"no entry {whole!r}")
    text = as_text(before)
    path = _edited(text, whole) if source is None else source
    try:
        # Some editors write a byte order mark.
        changed = path.read_bytes().decode("utf-8-sig")
        new, old = fields_in(changed), fields_in(text)
        changes = {name: value for name, value in new.items() if value != old[name]}
        if not changes:
            say(f"{whole} is unchanged")
        else:
            with shared.memory(write=True, embeds=True) as opened:
                _store(opened, before, changes)
            say(f"changed {', '.join(changes)} of {whole}")
    except (SeptetError, UnicodeDecodeError) as fault:
        flags = {"--tier": shared.tier, "--config": shared.config, "--vault": shared.vault, "--from": path}
        options = [str(part) for flag, value in flags.items() if value is not None for part in (flag, value)]
        again = shlex.join(["septet", "edit", *([*options, "--", whole] if whole[0] == "-" else [whole, *options])])
        if not isinstance(fault, SeptetError):
            raise EntryError(f"the text is not UTF-8; your text is kept, retry with: {again}") from None
        # Keep the class, which sets the exit code.
        fault.args = (f"{fault}; your text is kept, retry with: {again}",)
        raise
    if source is None:
        shutil.rmtree(path.parent, ignore_errors=True)


def _edit_in_place(place: SourceFile, id: str, shared: SharedOptions) -> None:
    """Open the file of a chunk at its line, or at the line in the id, and sync its folder afterwards (`EntryError`)."""
    from septet.cli.commands.syncing import print_report, sync_and_embed

    if not Path(place.file).is_file():
        raise EntryError(f"{place.file} no longer exists: `septet sync` updates the vault")
    match = _LINE.search(id)
    if code := _run_editor(Path(place.file), int(match[1]) if match else place.line):
        end_with(f"the editor exited with {code}: `septet sync` reads what it saved")
    with shared._replace(tier=place.tier or shared.tier).memory(write=True, embeds=True) as opened:
        reports = sync_and_embed(opened, place.root)
    print_report(*reports)


def _store(opened: Any, before: Entry, changes: dict[str, Any]) -> None:
    """Store changes unless another program changed or deleted the entry since it was read (`EntryError`)."""
    now = opened.get(before.id)
    if now is None:
        raise EntryError(f"{before.id} was deleted by another program")
    if now != before:
        raise EntryError(f"{before.id} was changed by another program")
    opened.update(before.id, **changes)


def _edited(text: str, id: str) -> Path:
    """Open a text in the editor and return the path of the edited file; exit if the editor fails (`EntryError`)."""
    folder = Path(tempfile.mkdtemp(prefix="septet-"))
    path = folder / f"{_NOT_IN_NAMES.sub('_', id)[:80].strip('.') or 'entry'}.md"
    path.write_bytes(text.encode("utf-8"))
    try:
        code = _run_editor(path)
    except BaseException:
        # Ctrl-C reaches this process too while the editor has the text open.
        if place := _saved_text(path, text):
            say(f"interrupted: nothing was changed{place}")
        raise
    if code:
        end_with(f"the editor exited with {code}: nothing was changed{_saved_text(path, text)}")
    return path


def _saved_text(path: Path, text: str) -> str:
    """Return a message with the path of a changed text; delete an unchanged one."""
    if path.is_file() and path.read_bytes() != text.encode("utf-8"):
        return f"; your text is in {path}"
    shutil.rmtree(path.parent, ignore_errors=True)
    return ""


def _run_editor(path: Path, line: int | None = None) -> int:
    """Run ``$VISUAL``, else ``$EDITOR``, on a file, at a line from 1; return its exit code (`EntryError`)."""
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
                return session.words(command)
            except ValueError as fault:
                raise EntryError(f"${variable} is {command!r}: {fault}") from None
    if (editor := next((name for name in _EDITORS if shutil.which(name)), None)) is None:
        raise EntryError("no editor found: set $VISUAL or $EDITOR")
    return [editor]
