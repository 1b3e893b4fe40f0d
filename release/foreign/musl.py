"""A CPython whose C library is musl, from source: with SQLite and zlib, whose sources two crates carry."""

from __future__ import annotations

import os
import shutil
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
"""
#: musl-gcc names the C library of the compiler that it wraps, which Python's configure takes for a mistake.
COMPILER = """#!/bin/sh
[ "$1" = --print-multiarch ] && { echo x86_64-linux-musl; exit; }
exec musl-gcc "$@"
"""


def built_python(folder: Path) -> Path:
    """The interpreter, built unless it was built before: its modules are shared objects, as an ordinary one's."""
    python = folder / "python" / "bin" / f"python{debian.SOURCE_PYTHON}"
    if python.is_file():
        return python
    folder.mkdir(parents=True, exist_ok=True)
    compiler = folder / "cc"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    include, lib = _libraries(folder, compiler)
    sources = debian.Sources(folder)
    source = folder / "source"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir()
    run(["tar", "-xf", sources.python(), "-C", source, "--strip-components=1"])
    settings = {
        "CC": compiler,
        "CFLAGS": "-O1 -g0",
        # The musl of musl-gcc may be older than what wheels of others need: relocations as DT_RELR, of musl 1.2.4.
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
    run(["./configure", "-q", *chosen, *(f"{name}={value}" for name, value in settings.items())], cwd=source)
    run(["make", "-s", f"-j{os.cpu_count()}"], cwd=source)
    # Whole or not at all: what is in its place was installed to the end.
    run(["make", "-s", "install", f"DESTDIR={part}"], cwd=source)
    (part / (folder / "python").relative_to("/")).rename(folder / "python")
    shutil.rmtree(part)
    return python


def _libraries(folder: Path, compiler: Path) -> tuple[Path, Path]:
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
        run([compiler, "-O1", "-fPIC", *options, "-c", *sources], cwd=objects)
        run(["ar", "rcs", lib / f"lib{name}.a", *(objects / f"{source.stem}.o" for source in sources)])
    for header in (*sqlite.glob("sqlite3*.h"), *zlib.glob("z*.h")):
        shutil.copy(header, include)
    return include, lib
