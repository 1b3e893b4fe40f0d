"""Shell completion of ids and profiles. Errors are suppressed: a shell would show them as completions."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

#: Set by shells to request completions, such as to ``complete_bash``.
COMPLETE_VARIABLE = "_SEPTET_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
MOST = 100


def completion_asked() -> None:
    """Register the shells if this process was started for completions."""
    if COMPLETE_VARIABLE in os.environ:
        from typer.completion import get_completion_inspect_parameters

        # Registers the shells as a side effect; typer does so itself only with `add_completion`.
        get_completion_inspect_parameters()


def script(shell: str) -> str:
    """Return the completion script for a shell.

    Raises:
        QueryError: an unsupported shell.
    """
    from septet.errors import QueryError

    if shell not in SHELLS:
        raise QueryError(f"unsupported shell {shell!r}; available: {', '.join(SHELLS)}")
    from typer._completion_shared import get_completion_script

    return str(get_completion_script(prog_name="septet", complete_var=COMPLETE_VARIABLE, shell=shell))


def complete_ids(ctx: Any, incomplete: str) -> list[str]:
    """Return the ids of the vault with a prefix, without those on the line."""
    from septet.cli.places import existing

    typed = ctx.params.get("ids") or ()
    with suppress(Exception), existing(ctx.params.get("vault") or os.environ.get("SEPTET_VAULT")) as opened:
        return [id for id in opened.ids_beginning(incomplete, limit=MOST) if id not in typed]
    return []


def complete_profiles(incomplete: str) -> list[str]:
    """Return the names of profiles with a prefix."""
    from septet.profiles import BUILTIN

    return [name for name in BUILTIN if name.startswith(incomplete)]
