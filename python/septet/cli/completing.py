"""What a shell completes: ids of the vault that the line names, and profiles. Nothing that goes wrong is said there."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

__all__ = ["COMPLETE_VARIABLE", "complete_ids", "complete_profiles", "completion_asked", "script"]

#: Names what a shell asks for, such as ``complete_bash``.
COMPLETE_VARIABLE = "_SEPTET_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
MOST = 100


def completion_asked() -> None:
    """Get ready to answer a shell, if it asks."""
    if COMPLETE_VARIABLE in os.environ:
        from typer.completion import get_completion_inspect_parameters

        # Makes the shells known, as it does for a program whose own options show and install a script.
        get_completion_inspect_parameters()


def script(shell: str) -> str:
    """Return what a shell reads to complete the commands.

    Raises:
        QueryError: it is another shell.
    """
    from septet.errors import QueryError

    if shell not in SHELLS:
        raise QueryError(f"{shell!r} cannot be completed for: wanted {', '.join(SHELLS)}")
    from typer._completion_shared import get_completion_script

    return str(get_completion_script(prog_name="septet", complete_var=COMPLETE_VARIABLE, shell=shell))


def complete_ids(ctx: Any, incomplete: str) -> list[str]:
    """Return the ids of the vault that begin so."""
    from septet.cli.places import existing

    given = ctx.params.get("vault") or os.environ.get("SEPTET_VAULT")
    # A shell shows whatever is printed as what can be typed.
    with suppress(Exception), existing(given) as opened:
        return [one for one in opened.ids_beginning(incomplete, limit=MOST) if one not in (ctx.params.get("ids") or ())]
    return []


def complete_profiles(incomplete: str) -> list[str]:
    """Return the names of profiles that begin so."""
    from septet.profiles import BUILTIN

    return [name for name in BUILTIN if name.startswith(incomplete)]
