"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from septet.cli.settings import EMBEDDING_HELP, VARIABLE

__all__ = ["AsJson", "Embedding", "VaultPath"]

VaultPath = Annotated[
    Path | None,
    typer.Option(
        "--vault", envvar="SEPTET_VAULT", metavar="FILE", help="The vault; default ~/.local/share/septet/vault.db."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Embedding = Annotated[
    str | None, typer.Option("--embedding", metavar="FILE|NAME", help=f"{EMBEDDING_HELP} Or {VARIABLE}.")
]
