"""Septet is for Linux, macOS and Windows, and what differs between them is in one place of each of its two halves."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "python" / "septet"
#: What code for Windows holds.
WINDOWS = re.compile(r"win32|msvcrt|os\.name\b|cfg!?\(windows|os::windows|not\(unix\)|target_os = \"windows\"")
#: What code for Unix alone holds, in Python.
UNIX = re.compile(r"import fcntl|import resource|os\.fork|SIGPIPE|O_NOFOLLOW|O_NONBLOCK|statvfs|getuid")


def imported_on(platform):
    program = f"import sys; sys.platform = {platform!r}; import septet; print('imported')"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


def test_importing_the_package_on_macos_is_no_error():
    assert imported_on("darwin").stdout == "imported\n"


def places(pattern, files):
    return {path.relative_to(ROOT).as_posix() for path in files if pattern.search(path.read_text(encoding="utf-8"))}


def test_code_for_windows_is_in_the_modules_of_systems():
    rust = [path for path in (ROOT / "rust").rglob("*.rs") if not path.stem.endswith("tests")]
    names = places(WINDOWS, [*PACKAGE.rglob("*.py"), *rust])
    elsewhere = {path for path in names if not path.startswith(("python/septet/system/", "rust/core/src/system/"))}
    # An error of the system has its number under another name.
    assert elsewhere == {"rust/binding/src/errors.rs"}


def test_code_for_unix_is_in_the_modules_of_systems():
    names = places(UNIX, PACKAGE.rglob("*.py"))
    elsewhere = {path for path in names if not path.startswith("python/septet/system/")}
    # A comment on a signal.
    assert elsewhere == {"python/septet/cli/stdlib_docs.py"}
