"""Documents: configuration files as plain values, within bounds of size, depth and number that no file can exceed."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from septet.errors import SeptetError, printable

__all__ = [
    "MAX_BYTES",
    "SUFFIXES",
    "NoReader",
    "Unreadable",
    "bounded",
    "open_regular",
    "parse_document",
    "read_bytes",
    "read_document",
    "read_settings",
]

#: A profile has two thousand bytes; YAML takes seconds for a megabyte.
MAX_BYTES = 256 * 2**10
MAX_DEPTH = 32
#: The most values of a document, those that YAML's aliases repeat counted as often as they are repeated.
MAX_VALUES = 20_000
MAX_INT_BITS = 64
MAX_QUOTED = 300

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
#: Strings and comments as a whole, and what nests: brackets, and the dots of TOML's keys.
_TOKENS = re.compile(
    r'"""(?:[^"\\]|\\.?|"(?!""))*(?:""")?'
    r"|'''(?:[^']|'(?!''))*(?:''')?"
    r'|"(?:[^"\\\n]|\\.?)*"?'
    r"|'[^'\n]*'?"
    r"|\#[^\n]*"
    r"|[\[\]{}.,=\n]",
    re.DOTALL,
)


class Unreadable(ValueError):
    """A file is no document. The message begins with a verb, so that a caller can put the path before it.

    Attributes:
        line: where, from 1; 0 if that is unknown.
        quoted: what the parser says; it may quote the file, and with it an API key.
    """

    def __init__(self, said: str, *, line: int = 0, quoted: str = "") -> None:
        super().__init__(said)
        self.line = line
        self.quoted = " ".join(quoted.split())[:MAX_QUOTED]


class NoReader(Unreadable):
    """A document of a form that nothing installed here reads."""


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading. Pipes and devices, which may have no end or none to write, are refused unopened.

    Raises:
        Unreadable: it is no regular file, or the system refuses it.
    """
    file = -1
    try:
        _expect_regular(path.stat().st_mode)
        # Between the look and the opening, a pipe may have come in its place.
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        _expect_regular(os.fstat(file).st_mode)
        opened, file = os.fdopen(file, "rb"), -1
        return opened
    except OSError as fault:
        raise Unreadable(f"cannot be read: {fault.strerror or fault}") from None
    except ValueError as fault:
        if isinstance(fault, Unreadable):
            raise
        # A NUL in the path.
        raise Unreadable(f"cannot be read: {fault}") from None
    finally:
        if file >= 0:
            os.close(file)


def read_bytes(path: Path, most: int) -> bytes:
    """Return the content of a file; see `open_regular`.

    Raises:
        Unreadable: it cannot be opened or read, or has more than `most` bytes.
    """
    with open_regular(path) as opened:
        try:
            content = opened.read(most + 1)
        except OSError as fault:
            raise Unreadable(f"cannot be read: {fault.strerror or fault}") from None
    if len(content) > most:
        raise Unreadable(f"has more than {most:,} bytes, the most that is read: is it the right file?")
    return content


def read_document(path: Path) -> Any:
    """Return the value in a ``.toml``, ``.yaml``/``.yml`` or ``.json`` file.

    Raises:
        Unreadable: see `read_bytes`; or the file is not UTF-8, malformed, nested too deeply, or too much; keys are
            repeated or no text; an integer has more than 64 bits.
        KeyError: the name has another ending.
    """
    if path.suffix not in _READERS:
        raise KeyError(path.suffix)
    content = read_bytes(path, MAX_BYTES)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = content.count(b"\n", 0, fault.start) + 1
        raise Unreadable(f"is not UTF-8 (line {line}): convert it", line=line) from None
    return parse_document(text, path.suffix)


def read_settings(path: Path, error: type[SeptetError]) -> Mapping[str, Any]:
    """Return the mapping in a file of settings, an empty one for an empty file.

    Raises:
        error: the file cannot be read, or holds something else. No line of it is quoted: it may hold a key.
    """
    try:
        data = read_document(path)
    except KeyError:
        raise error(f"{printable(path)}: a configuration file must end in {', '.join(SUFFIXES)}") from None
    except Unreadable as fault:
        raise error(f"{path} {fault}") from None
    if data is None:
        return {}
    if not isinstance(data, Mapping):
        raise error(f"{path} must contain a mapping")
    return data


def parse_document(text: str, suffix: str) -> Any:
    """Return the value in a text, given the ending of files of its form; the text is no longer than `MAX_BYTES`.

    Raises:
        Unreadable: as `read_document`.
        KeyError: another ending.
    """
    reader = _READERS[suffix]
    try:
        data = reader(text)
    except RecursionError:
        raise _too_deep() from None
    except (LookupError, AttributeError, TypeError, ArithmeticError) as fault:
        # What PyYAML raises of a value that is none of the tag before it, as `!!bool maybe`.
        raise _malformed(suffix.removeprefix(".").upper(), 0, f"{type(fault).__name__}: {fault}") from None
    except ValueError as fault:
        if isinstance(fault, Unreadable):
            raise
        # Parsers know the line by different names; the exact words differ by version.
        found = re.search(r"line (\d+)", str(fault))
        line = getattr(fault, "lineno", 0) or (int(found[1]) if found else 0)
        kind = suffix.removeprefix(".").upper()
        raise _malformed(kind, line, str(fault)) from None
    bounded(data)
    return data


def bounded(data: Any) -> None:
    """Check values that came from a document.

    Raises:
        Unreadable: they are nested too deeply or too many, a key is no text, or an integer has more than 64 bits.
    """
    left = MAX_VALUES
    waiting = [iter((data,))]
    while waiting:
        value = next(waiting[-1], _END)
        if value is _END:
            waiting.pop()
            continue
        left -= 1
        if left < 0:
            raise _too_many()
        if isinstance(value, int) and value.bit_length() > MAX_INT_BITS:
            raise Unreadable(f"has an integer of {value.bit_length():,} bits: the most is {MAX_INT_BITS}")
        inner = _inner(value)
        if inner is not None:
            if len(waiting) > MAX_DEPTH:
                raise _too_deep()
            waiting.append(inner)


_END = object()


def _inner(value: Any) -> Iterator[Any] | None:
    if isinstance(value, Mapping):
        odd = next((key for key in value if not isinstance(key, str)), None)
        if odd is not None or None in value:
            short = isinstance(odd, int) and odd.bit_length() <= MAX_INT_BITS
            said = f"{type(odd).__name__}{f' {odd}' if short else ''}"
            raise Unreadable(f"has a key that is no text but {said}: put it in quotes")
        return iter(value.values())
    return iter(value) if isinstance(value, (list, tuple, set)) else None


def _expect_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "no file")
        raise Unreadable(f"cannot be read: it is {kind}, where a regular file is wanted")


def _too_deep() -> Unreadable:
    return Unreadable(f"is nested more than {MAX_DEPTH} levels deep: write it flatter")


def _too_many() -> Unreadable:
    return Unreadable(f"holds more than {MAX_VALUES:,} values, repeated ones included: write less")


def _malformed(kind: str, line: int, quoted: str) -> Unreadable:
    where = f" at line {line}" if line else ""
    return Unreadable(f"is not valid {kind}{where}", line=line, quoted=quoted)


def _expect_flat(text: str) -> None:
    """Refuse JSON or TOML whose brackets, or whose keys with dots, nest deeply: parsers recurse over them."""
    depth = dots = 0
    for found in _TOKENS.finditer(text):
        mark = found[0]
        if mark in "[{":
            depth += 1
        elif mark in "]}":
            depth -= 1
        dots = dots + 1 if mark == "." else dots if mark[0] in "\"'" else 0
        if depth > MAX_DEPTH or dots > MAX_DEPTH:
            raise _too_deep()


def _toml(text: str) -> Any:
    _expect_flat(text)
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text)


def _json(text: str) -> Any:
    import json

    _expect_flat(text)
    return json.loads(text, object_pairs_hook=_unrepeated)


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _repeated(name)
            seen.add(name)
    return found


def _repeated(name: str, line: int = 0) -> Unreadable:
    where = f" at line {line}" if line else ""
    return Unreadable(f"has the key {name[:80]!r} twice{where}: keep one", line=line)


def _yaml(text: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise NoReader("is YAML, which needs the extra: pip install 'septet[yaml]'; TOML and JSON do not") from None
    # libyaml, which most builds have, takes a tenth of the time. Where it fails, the other one says what is wrong.
    if fast := getattr(yaml, "CSafeLoader", None):
        with suppress(yaml.YAMLError):
            return _loaded(text, fast, yaml)
    try:
        return _loaded(text, yaml.SafeLoader, yaml)
    except yaml.YAMLError as fault:
        mark = getattr(fault, "problem_mark", None)
        raise _malformed("YAML", mark.line + 1 if mark is not None else 0, str(fault)) from None


def _loaded(text: str, loader: Any, yaml: Any) -> Any:
    _expect_small(yaml.parse(text, loader), yaml)
    return yaml.load(text, loader)


def _expect_small(events: Iterator[Any], yaml: Any) -> None:
    """Refuse YAML that is deep, repeats keys, or becomes large by its aliases, before any of it is made.

    A collection is a row on a stack: its anchor, the values before it, and the keys if it is a mapping.
    """
    sizes: dict[str, int] = {}
    stack: list[tuple[str | None, int, set[str] | None]] = []
    values = 0
    is_key = [False]
    for event in events:
        if isinstance(event, yaml.CollectionEndEvent):
            anchor, before, _ = stack.pop()
            is_key.pop()
            if anchor is not None:
                sizes[anchor] = values - before
        elif isinstance(event, yaml.NodeEvent):
            keys = stack[-1][2] if stack else None
            if keys is not None:
                is_key[-1] = not is_key[-1]
                if is_key[-1] and isinstance(event, yaml.ScalarEvent):
                    if event.value in keys:
                        raise _repeated(event.value, event.start_mark.line + 1)
                    keys.add(event.value)
            begun = values
            values += 1 if not isinstance(event, yaml.AliasEvent) else _size_of(event, sizes)
            if isinstance(event, yaml.CollectionStartEvent):
                stack.append((event.anchor, begun, set() if isinstance(event, yaml.MappingStartEvent) else None))
                is_key.append(False)
            elif event.anchor is not None and isinstance(event, yaml.ScalarEvent):
                sizes[event.anchor] = 1
        if values > MAX_VALUES:
            raise _too_many()
        if len(stack) > MAX_DEPTH:
            raise _too_deep()


def _size_of(alias: Any, sizes: Mapping[str, int]) -> int:
    if alias.anchor not in sizes:
        line = alias.start_mark.line + 1
        raise Unreadable(f"has an alias of nothing, or of itself, at line {line}: write the value", line=line)
    return sizes[alias.anchor]


_READERS: Mapping[str, Callable[[str], Any]] = {".toml": _toml, ".yaml": _yaml, ".yml": _yaml, ".json": _json}
#: The endings of documents.
SUFFIXES = tuple(_READERS)
