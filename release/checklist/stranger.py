"""A stranger's path: the wheel in an empty home, README's first example, the demo; in under a minute."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from release.checklist.item import Outcome, Work, failed, held

__all__ = ["MOST_S", "first_example", "walked", "wheel_here"]

MOST_S = 60.0
_EXAMPLE = re.compile(r"^```python\n((?:(?!```).*\n)*)```\n+```text\n((?:(?!```).*\n)*)```", re.MULTILINE)


def first_example(readme: str) -> tuple[str, str]:
    """Return the first program of README and what it prints.

    Raises:
        ValueError: there is none.
    """
    found = _EXAMPLE.search(readme)
    if found is None:
        raise ValueError("README.md has no Python block with its output below")
    return found[1], found[2]


def wheel_here(dist: Path) -> Path | None:
    """Return the wheel for this machine; None if there is none."""
    kind = "musllinux" if platform.libc_ver()[0] != "glibc" else "manylinux"
    found = sorted(dist.glob(f"septet-*-cp310-abi3-{kind}*_{platform.machine()}.whl"))
    return found[-1] if found else None


def walked(work: Work) -> Outcome:
    """Install, run the first example, run the demo; each must end well, and all in a minute."""
    wheel = wheel_here(work.dist)
    if wheel is None:
        return failed(f"dist/ has no wheel for {platform.machine()}: make wheels")
    try:
        program, expected = first_example((work.root / "README.md").read_text(encoding="utf-8"))
    except ValueError as fault:
        return failed(str(fault))
    with tempfile.TemporaryDirectory() as folder:
        return _walk(work.python, wheel, Path(folder), program, expected)


def _walk(python: str, wheel: Path, home: Path, program: str, expected: str) -> Outcome:
    inside, env = home / "venv" / "bin", _empty(home)
    took: dict[str, float] = {}
    steps: Sequence[tuple[str, Sequence[str]]] = (
        ("venv", (python, "-m", "venv", str(inside.parent))),
        ("install", (str(inside / "pip"), "install", "--quiet", "--disable-pip-version-check", f"{wheel}[cli]")),
        ("first example", (str(inside / "python"), "-c", program)),
        ("demo", (str(inside / "septet"), "demo")),
    )
    for name, command in steps:
        begun = time.monotonic()
        done = subprocess.run(command, cwd=home, env=env, capture_output=True, text=True, check=False)
        took[name] = time.monotonic() - begun
        if done.returncode:
            return failed(f"{name} ended with {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}")
        if name == "first example" and done.stdout != expected:
            return failed(f"the first example prints {done.stdout[:200]!r}, README says {expected[:200]!r}")
    told = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in took.items())
    # Who else uses the machine makes a walk longer, and the minute is one of a machine that is free.
    told += f"; load {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores"
    if sum(took.values()) > MOST_S:
        return failed(f"{sum(took.values()):.0f} s, more than {MOST_S:.0f}: {told}")
    return held(f"{sum(took.values()):.0f} s: {told}")


def _empty(home: Path) -> Mapping[str, str]:
    """Return the environment of somebody who has nothing yet; pip alone keeps where it looks for packages."""
    kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name.endswith("_proxy")}
    if (settings := Path.home() / ".config" / "pip" / "pip.conf").is_file():
        kept.setdefault("PIP_CONFIG_FILE", str(settings))
    return {**kept, "HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
