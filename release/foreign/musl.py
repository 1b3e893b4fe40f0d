"""A CPython whose C library is musl, from source: with SQLite and zlib, whose sources two crates carry."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sys
from pathlib import Path

from release.foreign import debian
from release.foreign.shell import run

#: The newest SQLite, with what a vault needs of it.
SQLITE_OPTIONS = ("-DSQLITE_ENABLE_FTS5", "-DSQLITE_ENABLE_MATH_FUNCTIONS", "-DSQLITE_THREADSAFE=1")
MANIFEST = """[package]
name = "sources"
version = "0.0.0"
edition = "2021"

[lib]
path = "lib.rs"

[dependencies]
libsqlite3-sys = "0.40"
libz-sys = "1"

[workspace]
"""
#: zig has musl's headers for every machine. Links are static unless it is told otherwise.
COMPILER = """#!/bin/sh
[ "$1" = --print-multiarch ] && {{ echo {machine}-linux-musl; exit; }}
exec {zig} cc -target {machine}-linux-musl -dynamic "$@"
"""
ARCHIVER = """#!/bin/sh
exec {zig} ar "$@"
"""
#: What configure would find out by programs that only the other machine can run.
FOUND = ("ac_cv_file__dev_ptmx=yes", "ac_cv_file__dev_ptc=no", "ac_cv_buggy_getaddrinfo=no")


def built_python(folder: Path, machine: str, builder: Path | None = None) -> Path:
    """The interpreter, built unless it was built before: its modules are shared objects, as an ordinary one's.

    Args:
        machine: `x86_64` or `aarch64`.
        builder: a Python of the same version that runs here, if what is built does not.
    """
    python = folder / "python" / "bin" / f"python{debian.SOURCE_PYTHON}"
    if python.is_file():
        return python
    folder.mkdir(parents=True, exist_ok=True)
    compiler, archiver = _tool(folder / "cc", COMPILER, machine), _tool(folder / "ar", ARCHIVER, machine)
    include, lib = _libraries(folder, compiler, archiver)
    sources = debian.Sources(folder, machine)
    source = folder / "source"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir()
    run(["tar", "-xf", sources.python(), "-C", source, "--strip-components=1"])
    settings = {
        "CC": compiler,
        # By this macro of musl's headers configure knows that it is musl; clang's stand before them.
        "CPP": f"{compiler} -E -D__DEFINED_va_list",
        "AR": archiver,
        "READELF": "readelf",
        # zig calls the date of a build, which Python tells, a mistake.
        "CFLAGS": "-O1 -g0 -Wno-date-time",
        # Wheels of others may need a newer musl than this machine's: relocations as DT_RELR, of musl 1.2.4.
        "LDFLAGS": f"-Wl,-dynamic-linker,{sources.musl()}",
        "PKG_CONFIG": "false",
        "ZLIB_CFLAGS": f"-I{include}",
        "ZLIB_LIBS": f"-L{lib} -lz",
        "LIBSQLITE3_CFLAGS": f"-I{include}",
        "LIBSQLITE3_LIBS": f"-L{lib} -lsqlite3 -lm",
    }
    part = folder / "python.part"
    shutil.rmtree(part, ignore_errors=True)
    chosen = ["--without-ensurepip", "--disable-test-modules", "--without-doc-strings", f"--prefix={folder / 'python'}"]
    if builder is not None:
        chosen += [f"--build={platform.machine()}-linux-gnu", f"--host={machine}-linux-musl"]
        chosen += [f"--with-build-python={builder}", *FOUND]
    run(["./configure", "-q", *chosen, *(f"{name}={value}" for name, value in settings.items())], cwd=source)
    run(["make", "-s", f"-j{os.cpu_count()}"], cwd=source)
    # Whole or not at all: what is in its place was installed to the end.
    run(["make", "-s", "install", f"DESTDIR={part}"], cwd=source)
    (part / (folder / "python").relative_to("/")).rename(folder / "python")
    shutil.rmtree(part)
    return python


def _tool(path: Path, script: str, machine: str) -> Path:
    path.write_text(script.format(machine=machine, zig=shlex.join([sys.executable, "-m", "ziglang"])))
    path.chmod(0o755)
    return path


def _libraries(folder: Path, compiler: Path, archiver: Path) -> tuple[Path, Path]:
    """SQLite and zlib as archives, and their headers."""
    crates, include, lib, objects = (folder / name for name in ("crates", "include", "lib", "objects"))
    for made in (crates, include, lib, objects):
        made.mkdir(exist_ok=True)
    (crates / "Cargo.toml").write_text(MANIFEST)
    (crates / "lib.rs").touch()
    run(["cargo", "vendor", "--quiet", "vendor"], cwd=crates)
    sqlite = crates / "vendor/libsqlite3-sys/sqlite3"
    zlib = crates / "vendor/libz-sys/src/zlib"
    for name, sources, options in (
        ("sqlite3", [sqlite / "sqlite3.c"], SQLITE_OPTIONS),
        ("z", sorted(zlib.glob("*.c")), ("-DHAVE_UNISTD_H",)),
    ):
        # zig keeps one object of a command.
        for source in sources:
            run([compiler, "-O1", "-g0", "-fPIC", *options, "-c", source], cwd=objects)
        run([archiver, "rcs", lib / f"lib{name}.a", *(objects / f"{source.stem}.o" for source in sources)])
    for header in (*sqlite.glob("sqlite3*.h"), *zlib.glob("z*.h")):
        shutil.copy(header, include)
    return include, lib
