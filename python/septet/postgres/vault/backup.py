"""A vault on a server as a file of this machine."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from septet.errors import StoreError
from septet.exchange.copying import copy_vault
from septet.inputs.arguments import shown
from septet.vault.anywhere import AnyVault
from septet.vault.vault import Vault


def backup(vault: AnyVault, path: str, progress: Callable[[int, int], None] | None) -> None:
    """Copy a vault to a new file, which appears when it is complete; see `PostgresVault.backup`.

    Raises:
        StoreError: there is a file of this name, the vault cannot be read, or the copy cannot be written.
    """
    target = Path(path)
    if os.path.lexists(target):
        raise StoreError(f"{shown(path)} is there already: name a file that is not, or delete it first")
    part = target.with_name(f".{target.name}.{uuid4().hex}.part")
    try:
        with Vault(part, sidecar=False, history=0) as copy:
            copied = copy_vault(vault, copy, progress=progress)
        if copied.differences:
            raise StoreError(f"the copy differs: {copied.differences[0]}; copy it once more")
        part.rename(target)
    except OSError as fault:
        raise StoreError(f"{shown(path)} cannot be written: {fault.strerror}") from fault
    finally:
        for left in target.parent.glob(f"{part.name}*"):
            with suppress(OSError):
                left.unlink()
