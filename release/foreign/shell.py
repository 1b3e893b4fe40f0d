"""Commands: run to their end, with what they printed kept for the case that they fail."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

#: How much of a failed command's words is shown.
SHOWN = 20_000
#: The Debian package of each command that is used.
PACKAGES = {
    "qemu-aarch64-static": "qemu-user-static",
    "aarch64-linux-gnu-gcc": "gcc-aarch64-linux-gnu",
    "mmdebstrap": "mmdebstrap",
    "make": "make",
    "gcc": "gcc",
}


class FailedError(RuntimeError):
    """A command that did not do what it was run for."""


def run(command: Sequence[str | Path], *, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
    """What a command printed; raises with the end of it when the command failed. `env` is added to the environment."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise FailedError(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout[-SHOWN:]}")
    return done.stdout


def ensure_commands(*commands: str) -> None:
    """See that commands are there: root has Debian install them, others are told what to install."""
    missing = sorted({PACKAGES[command] for command in commands if shutil.which(command) is None})
    if not missing:
        return
    if os.geteuid() or shutil.which("apt-get") is None:
        raise FailedError(f"these are needed: apt-get install --no-install-recommends {' '.join(missing)} libc6-dev")
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    run(["apt-get", "update", "-qq"])
    run(["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing, *_headers(missing)], env=quiet)


def _headers(packages: list[str]) -> list[str]:
    """What a cross compiler needs beside itself, where nothing is installed that is only recommended."""
    return ["libc6-dev-arm64-cross"] if "gcc-aarch64-linux-gnu" in packages else []
