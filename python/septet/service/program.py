"""The command that starts this program again, for the configurations of others."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

#: The name of the command.
NAME = "septet"


def installing(extra: str) -> list[str] | None:
    """Return the command that installs `septet` for one run, with absolute paths; None if this one is here to stay.

    An environment of `uvx` or `pipx run` lies in a cache, and may be gone tomorrow.
    """
    if any((folder / "CACHEDIR.TAG").is_file() for folder in Path(sys.prefix).parents):
        if uv := os.environ.get("UV"):  # set by uv for what it runs
            return [str(Path(uv).absolute()), "tool", "run", "--from", f"septet[{extra}]", NAME]
        if pipx := shutil.which("pipx"):
            return [str(Path(pipx).absolute()), "run", "--spec", f"septet[{extra}]", NAME]
    return None


def command(extra: str) -> list[str]:
    """Return the command that starts this `septet`, with absolute paths; ``extra`` is the one that it needs."""
    if again := installing(extra):
        return again
    names = (Path(sys.executable).with_name(f"septet{ending}") for ending in ("", ".exe"))
    beside = next((path for path in names if path.is_file()), None)
    if beside is not None:
        return [str(beside.absolute())]
    # Programs start it in a folder that may be anybody's project: `-P` loads no module from there.
    return [str(Path(sys.executable).absolute()), *["-P"] * (sys.version_info >= (3, 11)), "-m", NAME]
