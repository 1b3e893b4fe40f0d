"""The answer to a call of a hook, in a process that the program started, or in the helper."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from septet.errors import QueryError
from septet.hooks.calls import HookCall, HookOptions, HookOutput
from septet.hooks.state import note_compaction
from septet.system.host import host

if TYPE_CHECKING:
    from septet.vault import Vault

#: Calls a function with a vault that is open for reading, or returns nothing if the vault does not exist.
Reading = Callable[[str, Callable[["Vault"], HookOutput]], HookOutput]


def vault_of(options: HookOptions, folder: str) -> str:
    """Return the absolute path of the vault of a call.

    Raises:
        QueryError: it is on a server.
    """
    if options.vault is None:
        # That of `septet.service.places`, whose module needs pathlib.
        return os.path.join(host.data_folder(), "vault.db")
    # The scheme of an address alone: its module is large.
    if "://" in options.vault:
        raise QueryError("hooks require a vault in a file")
    return os.path.join(folder, os.path.expanduser(options.vault))


def answer(call: HookCall, options: HookOptions, reading: Reading, folder: str) -> HookOutput:
    """Return the output of a call; for an event that keeps the transcript, only note it.

    Raises:
        SeptetError: the vault cannot be read.
        OSError: the transcript cannot be noted.
    """
    vault = vault_of(options, folder)
    if call.work in ("compact", "end"):
        from septet.hooks import keeping

        if call.work == "compact":
            note_compaction(call.session)
        transcript = call.transcript
        if call.messages:
            transcript = keeping.write_transcript(options.program, call.session, call.messages)
        keeping.add_pending(options.program, transcript, vault)
    elif call.work is not None:
        from septet.hooks.telling import has_topic, output_of

        if call.work == "prompt" and not call.first and not has_topic(call.prompt):
            # Opening the vault takes longer than all else.
            return HookOutput()
        return reading(vault, lambda opened: output_of(opened, call, options))
    return HookOutput()


def read_once(vault: str, work: Callable[[Vault], HookOutput]) -> HookOutput:
    """Open a vault for reading, call a function with it, and close it; nothing if it does not exist.

    Raises:
        SeptetError: it cannot be opened.
    """
    if not os.path.exists(vault):
        return HookOutput()
    from septet.vault import Vault

    with Vault(vault, read_only=True) as opened:
        return work(opened)
