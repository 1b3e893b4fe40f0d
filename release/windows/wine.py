"""wine: a folder that is its drive C, and the programs of Windows that are started in it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

from release.foreign.shell import FailedError, run

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Where Debian keeps wine, which is not on the PATH without the package `wine`.
WINE = "/usr/lib/wine/wine64"
COMPILER = "/usr/bin/x86_64-w64-mingw32-gcc"
#: wine 8 has no `ProcessPrng`, by which Rust's standard library asks Windows for randomness.
RANDOMNESS = """
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T length) {
    return SystemFunction036(data, (ULONG)length);
}
"""
SERVER = "/usr/lib/wine/wineserver64"
#: The Debian package of each file that is needed.
PACKAGES = {WINE: "wine64", COMPILER: "gcc-mingw-w64-x86-64"}
#: The exit code that stands for a program that ran out of time.
TIMED_OUT = -1
#: Maximum wait for the output of programs that outlive the one that started them, in seconds.
LEFT_S = 5.0


class Ended(NamedTuple):
    """A program's end: exit code, and standard output and error together."""

    code: int
    printed: str


class Wine(NamedTuple):
    """A drive C, as Windows 10."""

    folder: Path

    @property
    def env(self) -> dict[str, str]:
        """The environment of programs of Windows: without those of .NET and of Internet Explorer, and silent."""
        return {"WINEPREFIX": str(self.folder), "WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree,mshtml,winedbg="}

    def prepare(self) -> None:
        """Make the drive, unless it was made before."""
        library = self.folder / "drive_c" / "windows" / "system32" / "bcryptprimitives.dll"
        if library.is_file():
            return
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        run([WINE, "wineboot", "--init"], env=self.env)
        run([WINE, "reg", "add", r"HKCU\Software\Wine", "/v", "Version", "/d", "win10", "/f"], env=self.env)
        with tempfile.TemporaryDirectory() as work:
            source = Path(work) / "randomness.c"
            source.write_text(RANDOMNESS)
            run([COMPILER, "-shared", "-O1", "-o", library, source, "-ladvapi32"])

    def start(self, *words: str | Path, cwd: Path, env: Mapping[str, str], seconds: float) -> Ended:
        """Run a program to its end, or until its time is over."""
        command = [WINE, *map(str, words)]
        environment = {**os.environ, **self.env, **env}
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert process.stdout is not None
        read, printed = partial(os.read, process.stdout.fileno(), 2**16), list[bytes]()
        reader = Thread(target=lambda: printed.extend(iter(read, b"")), daemon=True)
        reader.start()
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            code = TIMED_OUT
        # A process that a test left behind may hold the other end for long.
        reader.join(LEFT_S)
        return Ended(code, b"".join(printed).decode(errors="replace").replace("\r\n", "\n"))

    def end(self) -> None:
        """End the programs that are left in the drive."""
        subprocess.run([SERVER, "--kill"], env={**os.environ, **self.env}, check=False)

    def run(self, *words: str | Path, cwd: Path, env: Mapping[str, str] | None = None, seconds: float = 600) -> str:
        """Return what a program printed; raises when it failed."""
        ended = self.start(*words, cwd=cwd, env=env or {}, seconds=seconds)
        if ended.code:
            raise FailedError(f"{' '.join(map(str, words))} ended with {ended.code}:\n{ended.printed[-4000:]}")
        return ended.printed


def named(path: Path) -> str:
    """A path of this machine as programs of Windows name it: wine shows the root as drive Z."""
    return "Z:" + str(path).replace("/", "\\")


def ensure_wine() -> None:
    """See that wine and the compiler are there: root has Debian install them, others are told what to install."""
    missing = sorted(package for file, package in PACKAGES.items() if not Path(file).exists())
    if not missing:
        return
    if os.geteuid():
        raise FailedError(f"these are needed: apt-get install --no-install-recommends {' '.join(missing)}")
    run(["apt-get", "update", "-qq"])
    run(
        ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing],
        env={"DEBIAN_FRONTEND": "noninteractive"},
    )
