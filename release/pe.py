"""Imports, exports and sections of a Windows DLL."""

from __future__ import annotations

import struct
from typing import NamedTuple

#: Names of machines by their code in the header.
MACHINES = {0x8664: "x86_64", 0xAA64: "aarch64"}
#: Directories of the optional header: what is exported, imported, and of debuggers.
_EXPORTS, _IMPORTS, _DEBUG = 0, 1, 6
#: The size of a row of a section, and of an import.
_SECTION, _IMPORT = 40, 20
#: The kind of the debugging entry that names a file of symbols.
_CODEVIEW = 2


class Library(NamedTuple):
    """The facts of a DLL that a policy is about."""

    machine: str
    needed: tuple[str, ...]
    exported: tuple[str, ...]
    #: Sections and files that only a debugger reads.
    debugging: tuple[str, ...]


class _Image:
    """A DLL as bytes, with addresses of memory."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        start = self._number("<I", 0x3C)
        if content[:2] != b"MZ" or content[start : start + 4] != b"PE\0\0":
            raise ValueError("it is no DLL")
        self.machine, count, _, symbols, _, optional = struct.unpack_from("<HHIIIH", content, start + 4)
        self.has_symbols = bool(symbols)
        head = start + 24
        if self._number("<H", head) != 0x20B:
            raise ValueError("it is not of 64 bits")
        self._directories = head + 112
        self.sections = []
        for at in range(head + optional, head + optional + count * _SECTION, _SECTION):
            name, size, address, raw_size, raw = struct.unpack_from("<8sIIII", content, at)
            self.sections.append((name.rstrip(b"\0").decode(), address, max(size, raw_size), raw))

    def _number(self, kind: str, at: int) -> int:
        return int(struct.unpack_from(kind, self._content, at)[0])

    def directory(self, number: int) -> tuple[int, int]:
        """Address and size of a directory."""
        address, size = struct.unpack_from("<II", self._content, self._directories + 8 * number)
        return address, size

    def _place(self, address: int) -> int:
        for _, start, size, raw in self.sections:
            if start <= address < start + size:
                return int(address - start + raw)
        raise ValueError(f"nothing is at {address:#x}")

    def numbers(self, kind: str, address: int) -> tuple[int, ...]:
        """Numbers at an address."""
        return struct.unpack_from(kind, self._content, self._place(address))

    def text(self, address: int) -> str:
        """The text at an address, up to a zero byte."""
        at = self._place(address)
        return self._content[at : self._content.index(b"\0", at)].decode()


def read_library(content: bytes) -> Library:
    """The facts of a DLL."""
    image = _Image(content)
    needed, exported, debugging = [], [], []
    address, size = image.directory(_IMPORTS)
    while size and (name := image.numbers("<5I", address)[3]):
        needed.append(image.text(name))
        address += _IMPORT
    address, size = image.directory(_EXPORTS)
    if size:
        *_, count, _, names, _ = image.numbers("<IIHHIIIIIII", address)
        exported = [image.text(image.numbers("<I", names + 4 * number)[0]) for number in range(count)]
    address, size = image.directory(_DEBUG)
    for at in range(address, address + size, 28):
        kind, length, place = image.numbers("<IIIIIII", at)[3:6]
        if kind == _CODEVIEW and length > 24:
            debugging.append(image.text(place + 24))
    debugging += [name for name, *_ in image.sections if name.startswith((".debug", "/"))]
    debugging += ["symbols"] if image.has_symbols else []
    machine = MACHINES.get(image.machine, hex(image.machine))
    return Library(machine, tuple(sorted(needed)), tuple(sorted(exported)), tuple(debugging))
