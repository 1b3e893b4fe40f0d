"""What a shared object asks of the machine that loads it, and what it shows it."""

from __future__ import annotations

import io
import re
from typing import Any, NamedTuple

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from elftools.elf.sections import SymbolTableSection

GLIBC = re.compile(r"GLIBC_(\d+)\.(\d+)")


class Binary(NamedTuple):
    """The facts of an ELF file that a policy is about."""

    machine: str
    needed: tuple[str, ...]
    exported: tuple[str, ...]
    #: Versions of symbols that the file asks for, such as GLIBC_2.17.
    versions: tuple[str, ...]
    #: Sections that only a debugger reads.
    debugging: tuple[str, ...]
    run_paths: tuple[str, ...]

    @property
    def newest_glibc(self) -> tuple[int, int] | None:
        """The newest version of glibc that it asks for; None if it asks for none."""
        return max(((int(m[1]), int(m[2])) for v in self.versions if (m := GLIBC.match(v))), default=None)


def read_binary(content: bytes) -> Binary:
    """The facts of a shared object."""
    elf = ELFFile(io.BytesIO(content))
    needed, run_paths, exported, versions, debugging = [], [], [], set(), []
    for section in elf.iter_sections():
        if isinstance(section, DynamicSection):
            tags: list[Any] = list(section.iter_tags())
            needed += [tag.needed for tag in tags if tag.entry.d_tag == "DT_NEEDED"]
            run_paths += [tag.runpath for tag in tags if tag.entry.d_tag == "DT_RUNPATH"]
            run_paths += [tag.rpath for tag in tags if tag.entry.d_tag == "DT_RPATH"]
        elif isinstance(section, SymbolTableSection) and section.name == ".dynsym":
            exported += [
                symbol.name
                for symbol in section.iter_symbols()
                if symbol["st_shndx"] != "SHN_UNDEF"
                and symbol["st_info"]["bind"] in ("STB_GLOBAL", "STB_WEAK")
                and symbol["st_other"]["visibility"] in ("STV_DEFAULT", "STV_PROTECTED")
            ]
        elif isinstance(section, GNUVerNeedSection):
            versions |= {entry.name for _, entries in section.iter_versions() for entry in entries}
        if section.name == ".symtab" or section.name.startswith((".debug", ".zdebug")):
            debugging.append(section.name)
    return Binary(
        elf["e_machine"],
        tuple(needed),
        tuple(sorted(exported)),
        tuple(sorted(versions)),
        tuple(debugging),
        tuple(run_paths),
    )
