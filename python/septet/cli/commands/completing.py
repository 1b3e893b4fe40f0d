"""`septet completion`."""

from __future__ import annotations

from typing import Annotated

import typer


def completion(shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")]) -> None:
    """Print a shell script that completes commands, options and ids.

    For bash: eval "$(septet completion bash)" in ~/.bashrc; zsh likewise, after compinit; fish: septet completion
    fish > ~/.config/fish/completions/septet.fish.
    """
    from septet.cli.completing import script

    print(script(shell))
