"""The machines that wheels are made for, and what a wheel may expect of each."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

#: The checkout, or the unpacked sdist, that this folder stands in.
ROOT = Path(__file__).resolve().parent.parent

#: What PEP 600 lets a wheel load from a machine with glibc, and what a Rust library may ask for.
GLIBC_LIBRARIES = frozenset({"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libgcc_s.so.1"})
#: What Windows 10 brings, or a CPython for it; `api-ms-win-…` names parts of Windows.
WINDOWS_LIBRARIES = frozenset(
    "advapi32.dll bcrypt.dll bcryptprimitives.dll kernel32.dll msvcrt.dll ntdll.dll python3.dll userenv.dll "
    "vcruntime140.dll ws2_32.dll".split()
)


class Target(NamedTuple):
    """One kind of machine: its name in the tables here, Rust's name of it, and the tag of its wheels."""

    name: str
    triple: str
    policy: str
    machine: str
    elf_machine: str
    libraries: frozenset[str]
    #: The newest version of glibc's symbols; None where the C library has no versions.
    glibc: tuple[int, int] | None

    @property
    def module(self) -> str:
        """The name of the compiled module in a wheel."""
        return "septet/_core.pyd" if "windows" in self.triple else "septet/_core.abi3.so"

    @property
    def platform(self) -> str:
        """The tag of the platform, as the wheel's name ends with it."""
        return f"{self.policy}_{self.machine}"


def _gnu(machine: str, elf: str, loader: str) -> Target:
    libraries = GLIBC_LIBRARIES | {loader}
    triple = f"{machine}-unknown-linux-gnu"
    return Target(f"manylinux-{machine}", triple, "manylinux_2_17", machine, elf, libraries, (2, 17))


def _musl(machine: str, elf: str) -> Target:
    libraries = frozenset({f"libc.musl-{machine}.so.1"})
    return Target(
        f"musllinux-{machine}", f"{machine}-unknown-linux-musl", "musllinux_1_2", machine, elf, libraries, None
    )


TARGETS = {
    target.name: target
    for target in (
        _gnu("x86_64", "EM_X86_64", "ld-linux-x86-64.so.2"),
        _gnu("aarch64", "EM_AARCH64", "ld-linux-aarch64.so.1"),
        _musl("x86_64", "EM_X86_64"),
        _musl("aarch64", "EM_AARCH64"),
    )
}


def _windows(machine: str, tag: str) -> Target:
    return Target(f"windows-{machine}", f"{machine}-pc-windows-msvc", "win", tag, machine, WINDOWS_LIBRARIES, None)


#: Built on Windows itself, by `python -m release.msvc`.
WINDOWS = {target.name: target for target in (_windows("x86_64", "amd64"), _windows("aarch64", "arm64"))}


def target_of(wheel: str) -> Target:
    """The target that a wheel of this file name says it is for."""
    known = {**TARGETS, **WINDOWS}
    for target in known.values():
        if target.platform in wheel.removesuffix(".whl").split("-")[-1].split("."):
            return target
    raise ValueError(f"{wheel} is for none of {', '.join(known)}")
