"""Configuration files as plain values, with limits on size, depth and number of values."""

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
from septet.system.host import host

#: A profile has two thousand bytes; YAML takes seconds for a megabyte.
MAX_BYTES = 256 * 2**10
MAX_DEPTH = 32
#: Maximum values of a document; values of a YAML alias count for each use.
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
#: Whole strings and comments, brackets, and the dots of TOML's keys.
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
    """A file is not a valid document. The message begins with a verb, so that callers can prepend the path.

    Attributes:
        line: line of the error, from 1; 0 if unknown.
        quoted: the parser's message; it may quote the file, and with it an API key.
    """

    def __init__(self, reason: str, *, line: int = 0, quoted: str = "") -> None:
        super().__init__(reason)
        self.line = line
        self.quoted = " ".join(quoted.split())[:MAX_QUOTED]


class NoReader(Unreadable):
    """The package that reads this format is not installed."""


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading; raise `Unreadable` for others, and if the system refuses.

    Pipes and devices are refused before opening, which might block.
    """
    file = -1
    try:
        _expect_regular(path.stat().st_mode)
        # Checked again: a pipe may have replaced the file since.
        file = os.open(path, host.READ_FLAGS)
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
    """Return the content of a regular file; raise `Unreadable` if that fails, or for more than `most` bytes."""
    with open_regular(path) as opened:
        try:
            content = opened.read(most + 1)
        except OSError as fault:
            raise Unreadable(f"cannot be read: {fault.strerror or fault}") from None
    if len(content) > most:
        raise Unreadable(f"has more than {most:,} bytes, the maximum: is it the right file?")
    return content


def read_document(path: Path) -> Any:
    """Return the value in a ``.toml``, ``.yaml``/``.yml`` or ``.json`` file.

    Raises:
        Unreadable: see `read_bytes`; or the file is not UTF-8, malformed, nested too deeply, or has too many values; a
            key is repeated or not text; an integer has more than 64 bits.
        KeyError: an unknown file extension.
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
    """Return the mapping in a configuration file, empty for an empty file.

    Raises:
        error: the file cannot be read, or is not a mapping. No line is quoted: it may contain a key.
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
    """Parse a text of at most `MAX_BYTES` by the file extension of its format; errors as for `read_document`."""
    reader = _READERS[suffix]
    try:
        data = reader(text)
    except RecursionError:
        raise _too_deep() from None
    except (LookupError, AttributeError, TypeError, ArithmeticError) as fault:
        # PyYAML raises these for a value that does not fit its tag, such as `!!bool maybe`.
        raise _malformed(suffix.removeprefix(".").upper(), 0, f"{type(fault).__name__}: {fault}") from None
    except ValueError as fault:
        if isinstance(fault, Unreadable):
            raise
        # Parsers report the line in different ways, which vary by version.
        match = re.search(r"line (\d+)", str(fault))
        line = getattr(fault, "lineno", 0) or (int(match[1]) if match else 0)
        kind = suffix.removeprefix(".").upper()
        raise _malformed(kind, line, str(fault)) from None
    bounded(data)
    return data


def bounded(data: Any) -> None:
    """Raise `Unreadable` if a document is nested too deeply, or has too many values, odd keys, or huge integers."""
    remaining = MAX_VALUES
    waiting = [iter((data,))]
    while waiting:
        value = next(waiting[-1], _END)
        if value is _END:
            waiting.pop()
            continue
        remaining -= 1
        if remaining < 0:
            raise _too_many()
        if isinstance(value, int) and value.bit_length() > MAX_INT_BITS:
            raise Unreadable(f"has an integer of {value.bit_length():,} bits: the maximum is {MAX_INT_BITS}")
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
            kind = f"{type(odd).__name__}{f' {odd}' if short else ''}"
            raise Unreadable(f"has a key of type {kind}: put it in quotes")
        return iter(value.values())
    return iter(value) if isinstance(value, (list, tuple, set)) else None


def _expect_regular(mode: int) -> None:
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "not a file")
        raise Unreadable(f"cannot be read: it is {kind}; a regular file is required")


def _too_deep() -> Unreadable:
    return Unreadable(f"is nested more than {MAX_DEPTH} levels deep: flatten it")


def _too_many() -> Unreadable:
    return Unreadable(f"has more than {MAX_VALUES:,} values, including YAML aliases: shorten it")


def _malformed(kind: str, line: int, quoted: str) -> Unreadable:
    where = f" at line {line}" if line else ""
    return Unreadable(f"is not valid {kind}{where}", line=line, quoted=quoted)


def _expect_flat(text: str) -> None:
    """Refuse JSON or TOML with deeply nested brackets or dotted keys, on which parsers recurse."""
    depth = dots = 0
    for match in _TOKENS.finditer(text):
        mark = match[0]
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
    unique = dict(pairs)
    if len(unique) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _repeated(name)
            seen.add(name)
    return unique


def _repeated(name: str, line: int = 0) -> Unreadable:
    where = f" at line {line}" if line else ""
    return Unreadable(f"has the key {name[:80]!r} twice{where}: keep one", line=line)


def _yaml(text: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise NoReader("is YAML, which needs the extra: pip install 'septet[yaml]'; TOML and JSON do not") from None
    # libyaml, in most builds, takes a tenth of the time. If it fails, the pure Python loader reports the error.
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
    """Refuse YAML with deep nesting, repeated keys, or aliases that expand too far, before loading it.

    The stack has a row per open collection: its anchor, the number of values before it, and the keys of a mapping.
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
            if isinstance(event, yaml.AliasEvent) and event.anchor not in sizes:
                line = event.start_mark.line + 1
                raise Unreadable(f"has an undefined or recursive alias at line {line}: write the value", line=line)
            values += sizes[event.anchor] if isinstance(event, yaml.AliasEvent) else 1
            if isinstance(event, yaml.CollectionStartEvent):
                stack.append((event.anchor, begun, set() if isinstance(event, yaml.MappingStartEvent) else None))
                is_key.append(False)
            elif event.anchor is not None and isinstance(event, yaml.ScalarEvent):
                sizes[event.anchor] = 1
        if values > MAX_VALUES:
            raise _too_many()
        if len(stack) > MAX_DEPTH:
            raise _too_deep()


_READERS: Mapping[str, Callable[[str], Any]] = {".toml": _toml, ".yaml": _yaml, ".yml": _yaml, ".json": _json}
#: The endings of documents.
SUFFIXES = tuple(_READERS)
