"""An edit of another program's settings: text is inserted, and taken out again; no other byte changes.

A record of the insertions is kept, so that the removal restores the exact bytes as long as the file is as it was left.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from septet.errors import StoreError, printable
from septet.hooks import state
from septet.hooks.json_text import Insertion, JsonValue, added, apply, parsed, without
from septet.inputs.session_log import hooks_folder
from septet.system.session import session
from septet.system.target import complete_file, target_fault

#: Maximum bytes of a settings file.
MOST_BYTES = 8 * 2**20
#: The name of the command, at the end of a word.
_SEPTET = re.compile(r"(?:^|[/\\])septet(?:\.exe)?$")


class SettingsEntry(NamedTuple):
    """A value to add to settings.

    Attributes:
        path: the names of objects down to the value.
        value: JSON-ready.
        to_array: True to append the value to an array; False for a value that is only set if it is missing.
    """

    path: tuple[str, ...]
    value: Any
    to_array: bool = True


class SettingsFile:
    """A file of settings with entries of Septet.

    Attributes:
        path: as users name it; a symbolic link stays one.
    """

    def __init__(self, path: Path, program: str, member: tuple[str, ...] = ()) -> None:
        self.path = path
        self._program = program
        #: The path of the one value of Septet, in settings that name no command.
        self._member = member

    def commands(self) -> list[str]:
        """Return the commands of Septet in the file; empty without a file.

        Raises:
            StoreError: the file cannot be read, or is not valid.
        """
        text = self._text()
        return [] if not (text or "").strip("\ufeff \t\r\n") else list(self._commands(self._parsed(text or "")))

    def install(self, entries: Sequence[SettingsEntry]) -> bool:
        """Add entries to the file, in the place of earlier ones of Septet; return False if nothing changes.

        Raises:
            StoreError: the file is not valid, or cannot be written; it is as it was.
        """
        before = self._text()
        clean, _ = self._removed(before)
        text, steps = clean or "", list[list[Insertion]]()
        try:
            for entry in entries:
                steps.append(added(text, entry.path, entry.value, to_array=entry.to_array))
                text = apply(text, steps[-1])
            parsed(text)
        except StoreError as fault:
            raise self._fault(fault) from None
        if text == before:
            return False
        self._refuse_read_only()
        record = {"path": str(self.path), "existed": clean is not None, "steps": steps, "after": text}
        note = json.dumps({**record, "after": _digest(text)}).encode("utf-8", "surrogatepass")
        try:
            self._record.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            state.replace(self._record, note)
        except OSError as fault:
            raise target_fault(self._record, fault.strerror or str(fault), fault.errno) from fault
        self._write(before, text)
        return True

    def uninstall(self) -> bool:
        """Remove the entries of Septet from the file, and a file that held nothing else; return False without any.

        Raises:
            StoreError: the file is not valid, or cannot be written; it is as it was.
        """
        before = self._text()
        text, exact = self._removed(before)
        if text == before:
            return False
        self._refuse_read_only()
        self._write(before, text)
        if exact:
            # One that stays is of no text that the file has.
            with suppress(OSError):
                self._record.unlink()
        return True

    @property
    def _record(self) -> Path:
        key = crc32(os.path.realpath(self.path).encode("utf-8", "surrogatepass"))
        return Path(hooks_folder(), "settings", f"{self._program}-{key:08x}.json")

    def _removed(self, text: str | None) -> tuple[str | None, bool]:
        """Return a text without the entries of Septet, None for no file; and True if it is as before them."""
        record: dict[str, Any] = {}
        with suppress(OSError, ValueError):
            record = json.loads(self._record.read_bytes())
        if text is not None and record.get("after") == _digest(text):
            with suppress(KeyError, TypeError, ValueError):
                for step in reversed(record["steps"]):
                    text = _taken_out(text, [Insertion(*insertion) for insertion in step])
                return (text if record["existed"] else None), True
        if not (text or "").strip("\ufeff \t\r\n"):
            return text, False
        while text is not None and (shorter := self._without_first(text)) != text:
            text = shorter
        return text, False

    def _without_first(self, text: str) -> str:
        """Return a text without the first entry of Septet: in ``hooks``, an event, maybe a group of hooks."""
        whole = self._parsed(text)
        if self._member:
            holder = _at(whole, self._member[:-1])
            if holder is None or holder.get(self._member[-1]) is None:
                return text
            return without(text, holder, len(holder.names) - 1 - holder.names[::-1].index(self._member[-1]))
        hooks = whole.get("hooks")
        for event in hooks.items if hooks is not None else ():
            for number, item in enumerate(event.items if event.kind == "array" else ()):
                if self._is_own(item):
                    return without(text, event, number)
                inner = item.get("hooks")
                handlers = inner.items if inner is not None and inner.kind == "array" else ()
                for at, handler in enumerate(handlers):
                    if self._is_own(handler):
                        assert inner is not None
                        return without(text, event, number) if len(handlers) == 1 else without(text, inner, at)
        return text

    def _commands(self, whole: JsonValue) -> Sequence[str]:
        if self._member:
            return [".".join(self._member)] if _at(whole, self._member) is not None else []
        hooks = whole.get("hooks")
        items = [item for event in (hooks.items if hooks is not None else ()) for item in event.items]
        items += [handler for item in items if (inner := item.get("hooks")) is not None for handler in inner.items]
        return [value.text for item in items if self._is_own(item) and (value := item.get("command")) is not None]

    def _is_own(self, item: JsonValue) -> bool:
        value = item.get("command")
        return value is not None and _calls(value.text, self._program)

    def _text(self) -> str | None:
        """Return the text of the file; None if it does not exist."""
        try:
            if not self.path.is_file():
                if self.path.exists() or self.path.is_symlink():
                    raise StoreError(f"{printable(self.path)} is no file: nothing was changed")
                return None
            with self.path.open("rb") as file:
                raw = file.read(MOST_BYTES + 1)
        except OSError as fault:
            raise StoreError(f"{printable(self.path)} cannot be read: {fault.strerror}") from None
        if len(raw) > MOST_BYTES:
            raise StoreError(f"{printable(self.path)} has more than {MOST_BYTES // 2**20} MB: nothing was changed")
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError:
            raise StoreError(f"{printable(self.path)} is not UTF-8: nothing was changed") from None

    def _parsed(self, text: str) -> JsonValue:
        try:
            whole = parsed(text)
        except StoreError as fault:
            raise self._fault(fault) from None
        if whole.kind != "object":
            raise StoreError(f"{printable(self.path)} is no JSON object: nothing was changed")
        return whole

    def _refuse_read_only(self) -> None:
        """Raise `StoreError` for a file that its owner made read-only: renaming another over it would not ask."""
        if self.path.exists() and not self.path.stat().st_mode & 0o222:
            raise StoreError(f"{printable(self.path)} is read-only: nothing was changed")

    def _fault(self, fault: StoreError) -> StoreError:
        return StoreError(f"{printable(self.path)} was not changed: {fault}")

    def _write(self, before: str | None, text: str | None) -> None:
        """Replace the file as a whole, unless another program changed it in between."""
        real = Path(os.path.realpath(self.path))
        if text is None:
            try:
                real.unlink(missing_ok=True)
            except OSError as fault:
                raise target_fault(real, fault.strerror or str(fault), fault.errno) from fault
            return
        try:
            real.parent.mkdir(parents=True, exist_ok=True)
        except OSError as fault:
            raise StoreError(f"{printable(real.parent)} cannot be created: {fault.strerror}") from None
        with complete_file(real) as part:
            part.write(text.encode("utf-8"))
            if self._text() != before:
                raise StoreError(f"{printable(self.path)} was changed by another program in between: try again")


def _calls(line: str, program: str) -> bool:
    """Return True for a command line with ``septet hooks run PROGRAM``, not for one with it inside of a text."""
    try:
        words = session.words(line)
    except ValueError:
        return False
    calls = zip(words, words[1:], words[2:], words[3:])
    return any(_SEPTET.search(name) and rest == ["hooks", "run", program] for name, *rest in calls)


def _taken_out(text: str, insertions: Sequence[Insertion]) -> str:
    """Return the text before insertions (`ValueError`)."""
    for at, new in reversed(insertions):
        at += sum(len(earlier.text) for earlier in insertions if earlier.at < at)
        if text[at : at + len(new)] != new:
            raise ValueError("the text is another")
        text = text[:at] + text[at + len(new) :]
    return text


def _at(whole: JsonValue, path: Sequence[str]) -> JsonValue | None:
    """Return the value at a path; None without one."""
    place: JsonValue | None = whole
    for name in path:
        place = place.get(name) if place is not None and place.kind == "object" else None
    return place


def _digest(text: str) -> str:
    from hashlib import sha256

    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
