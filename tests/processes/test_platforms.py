"""Septet is for Linux and macOS, and each of its two halves says so by itself."""

import re
import subprocess
import sys
from pathlib import Path

import septet

ROOT = Path(__file__).parents[2]
PACKAGE = Path(septet.__file__).parent
#: What code for Windows would hold.
WINDOWS = re.compile(r"win32|msvcrt|os\.name\b|cfg!?\(windows|os::windows|not\(unix\)|target_os = \"windows\"")


def imported_on(platform):
    told = f"import sys; sys.platform = {platform!r}; import septet; print('imported')"
    return subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=False)


def test_importing_the_package_on_windows_says_where_it_runs():
    ran = imported_on("win32")
    assert ran.returncode == 1
    assert ran.stderr.splitlines()[-1] == (
        "ImportError: Septet runs on Linux and macOS, not on Windows; in WSL 2 it is on Linux"
    )


def test_importing_the_package_on_macos_is_no_error():
    assert imported_on("darwin").stdout == "imported\n"


def test_compiling_the_crate_for_windows_says_where_it_runs():
    crate = (ROOT / "rust/core/src/lib.rs").read_text(encoding="utf-8")
    assert re.search(r'^#\[cfg\(not\(unix\)\)\]\ncompile_error!\("Septet runs on Linux and macOS', crate, re.M)


def test_no_other_place_has_a_branch_for_windows():
    sources = [*PACKAGE.rglob("*.py"), *(ROOT / "rust").rglob("*.rs"), ROOT / "Cargo.toml"]
    found = {path.relative_to(ROOT).as_posix() for path in sources if WINDOWS.search(path.read_text(encoding="utf-8"))}
    assert found == {"python/septet/__init__.py", "rust/core/src/lib.rs"}
