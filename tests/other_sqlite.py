"""Runs the tests of storage and search on other versions of SQLite: the oldest supported, the newest, one without FTS5.

`make test-sqlite` calls it. The sources of SQLite are those that versions of two crates carry; each is compiled
to a library that takes the place of the system's while the tests run. It needs a C compiler, cargo, and a Python that
uses the system's library. Arguments are versions, such as `libsqlite3-sys=0.20.1`, in place of the two that are tested.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
WORK = ROOT / "target" / "sqlite"
#: Crates with the oldest SQLite that is supported, which is 3.34.1, and the newest there is.
CRATES = ("sqlite3-src=0.3.0", "libsqlite3-sys=*")
#: As distributions build it; what a vault needs is FTS5 and, in old versions, JSON.
OPTIONS = (
    *("ENABLE_FTS3", "ENABLE_FTS4", "ENABLE_JSON1", "ENABLE_DBSTAT_VTAB", "ENABLE_COLUMN_METADATA", "ENABLE_RTREE"),
    *("ENABLE_UNLOCK_NOTIFY", "ENABLE_MATH_FUNCTIONS", "ENABLE_DESERIALIZE", "USE_URI", "THREADSAFE=1"),
)
TESTS = (
    *("unit/test_engine.py", "property", "golden/test_fts.py"),
    *(f"*/test_{name}.py" for name in ("vault", "migrations", "restore", "restored_in_place", "listings")),
    *(f"*/test_{name}.py" for name in ("history", "split", "memories", "postings", "sync", "groups")),
    *(f"*/test_{name}.py" for name in ("sidecar", "portable", "opening", "pages", "staged", "processes")),
)
#: What a vault says where SQLite has no FTS5. The file must not have been touched.
REFUSED = """
import os, sys, septet
try:
    septet.Vault(sys.argv[1])
except septet.StoreError as refused:
    assert "was built without FTS5" in str(refused), refused
    assert not os.path.exists(sys.argv[1]) or os.path.getsize(sys.argv[1]) == 0
    print(refused)
else:
    sys.exit("a vault opened without FTS5")
"""


def amalgamation(crate: str) -> Path:
    """Fetch a version of a crate, and return the folder of its SQLite."""
    name, _, version = crate.partition("=")
    scratch = WORK / "crates" / re.sub(r"\W", "_", crate)
    (scratch / "src").mkdir(parents=True, exist_ok=True)
    (scratch / "src" / "lib.rs").write_text("", encoding="utf-8")
    wanted = version if version == "*" else f"={version}"
    (scratch / "Cargo.toml").write_text(
        '[package]\nname = "scratch"\nversion = "0.0.0"\nedition = "2021"\n[workspace]\n[dependencies]\n'
        f'{name} = {{ version = "{wanted}", default-features = false, features = ["bundled"] }}\n',
        encoding="utf-8",
    )
    command = ["cargo", "metadata", "--format-version", "1"]
    found = json.loads(subprocess.run(command, cwd=scratch, check=True, capture_output=True, text=True).stdout)
    package = next(one for one in found["packages"] if one["name"] == name)
    return next(Path(package["manifest_path"]).parent.glob("*/sqlite3.c")).parent


def version_of(sources: Path) -> str:
    """The version of an SQLite, as its header says it."""
    header = (sources / "sqlite3.h").read_text(encoding="utf-8")
    return re.findall(r'^#define SQLITE_VERSION\s+"([^"]+)"', header, re.MULTILINE)[0]


def compiled(sources: Path, *, full_text: bool = True) -> Path:
    """Compile an SQLite once, and return the folder of the library."""
    folder = WORK / (version_of(sources) if full_text else f"{version_of(sources)}-without-fts5")
    library = folder / "libsqlite3.so.0"
    if not library.exists():
        folder.mkdir(parents=True, exist_ok=True)
        options = [f"-DSQLITE_{one}" for one in (*OPTIONS, *(["ENABLE_FTS5"] if full_text else []))]
        shared = ["-O1", "-w", "-fPIC", "-shared", "-Wl,-soname,libsqlite3.so.0"]
        part = folder / "part.so"
        subprocess.run(
            ["cc", *shared, *options, "-o", part, sources / "sqlite3.c", "-lm", "-ldl", "-lpthread"], check=True
        )
        part.rename(library)
    return folder


def python_with(folder: Path, *command: object) -> int:
    """Run this Python with a library in place of the system's, and return its exit code."""
    env = {**os.environ, "LD_LIBRARY_PATH": str(folder), "PYTHONPATH": str(ROOT / "python")}
    return subprocess.run([sys.executable, *map(str, command)], cwd=ROOT, env=env, check=False).returncode


def used_by(folder: Path) -> str:
    """The version of SQLite that this Python uses with a library in place."""
    env = {**os.environ, "LD_LIBRARY_PATH": str(folder)}
    asked = [sys.executable, "-c", "import sqlite3; print(sqlite3.sqlite_version)"]
    return subprocess.run(asked, env=env, check=True, capture_output=True, text=True).stdout.strip()


def main(crates: tuple[str, ...]) -> int:
    """Test each version, then the refusal without FTS5; 0 if all hold."""
    failed = []
    for crate in crates:
        sources = amalgamation(crate)
        version, folder = version_of(sources), compiled(sources)
        if used_by(folder) != version:
            print(f"SKIPPED SQLite {version}: this Python brings SQLite {used_by(folder)} of its own")
            continue
        print(f"== SQLite {version}", flush=True)
        tests = [path for name in TESTS for path in sorted((ROOT / "tests").glob(name))]
        if python_with(folder, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider", *tests):
            failed.append(version)
    without = compiled(amalgamation(crates[-1]), full_text=False)
    print(f"== {without.name}", flush=True)
    file = WORK / "refused.db"
    file.unlink(missing_ok=True)
    if python_with(without, "-c", REFUSED, file):
        failed.append(without.name)
    print(f"failed: {', '.join(failed)}" if failed else "all passed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(tuple(sys.argv[1:]) or CRATES))
