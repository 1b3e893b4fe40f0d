"""The files of a plugin, which belong to Septet as a whole: written, and removed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from septet.errors import StoreError, printable
from septet.system.target import complete_file, target_fault

#: In each file: one without it belongs to its owner.
MARK = "septet hooks"
#: Bytes read of a file: more than those of Septet have.
_MOST_BYTES = 65_536
_PLUGINS = Path(__file__).with_name("plugins")
_COMMAND = re.compile(r"^const COMMAND = (\[.*\]);$", re.MULTILINE)


class PluginFiles:
    """The files of a plugin.

    Attributes:
        texts: the text of each file by its path.
    """

    def __init__(self, texts: Mapping[Path, str]) -> None:
        self.texts = texts

    def check(self) -> None:
        """Raise `StoreError` if one of the files belongs to another."""
        for path in self.texts:
            text = _text(path)
            if text is not None and MARK not in text:
                raise StoreError(f"{printable(path)} is not of septet: nothing was changed")

    def install(self) -> bool:
        """Write the files; return False if nothing changes (`StoreError`)."""
        self.check()
        changed = False
        for path, text in self.texts.items():
            if _text(path) != text:
                changed = True
                try:
                    path.parent.mkdir(parents=True, exist_ok=True)
                except OSError as fault:
                    raise StoreError(f"{printable(path.parent)} cannot be created: {fault.strerror}") from None
                with complete_file(path) as part:
                    part.write(text.encode())
        return changed

    def uninstall(self) -> bool:
        """Remove the files, and their folder if it is empty; return False without any (`StoreError`)."""
        self.check()
        present = [path for path in self.texts if path.exists()]
        for path in present:
            try:
                path.unlink()
            except OSError as fault:
                raise target_fault(path, fault.strerror or str(fault), fault.errno) from fault
        for folder in {path.parent for path in present if path.parent.name.startswith("septet")}:
            with suppress(OSError):
                folder.rmdir()
        return bool(present)

    def commands(self) -> list[str]:
        """Return the command that the files call; empty without files."""
        texts = [text for path in self.texts if (text := _text(path)) is not None and MARK in text]
        return [" ".join(json.loads(match[1])) for text in texts if (match := _COMMAND.search(text))]


def script(name: str, words: list[str]) -> str:
    """Return the script of a plugin that calls a command."""
    text = (_PLUGINS / name).read_text("utf-8")
    return text.replace("const COMMAND = [];", f"const COMMAND = {json.dumps(words)};")


def _text(path: Path) -> str | None:
    try:
        if path.exists() and not path.is_file():
            raise StoreError(f"{printable(path)} is no file: nothing was changed")
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except OSError as fault:
        raise StoreError(f"{printable(path)} cannot be read: {fault.strerror}") from None
