"""Folders of Markdown, plain text and session transcripts, synchronised with a vault as chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # For type checkers and editors; a test compares these names with the table below.
    from septet.files.chunking import Chunk as Chunk
    from septet.files.flush import FlushLimits as FlushLimits
    from septet.files.flush import flush_limits as flush_limits
    from septet.files.flush import flush_prompt as flush_prompt
    from septet.files.flush import should_flush as should_flush
    from septet.files.redaction import Redacted as Redacted
    from septet.files.report import PendingFile as PendingFile
    from septet.files.report import RedactReport as RedactReport
    from septet.files.report import SecretLeft as SecretLeft
    from septet.files.report import SkippedFile as SkippedFile
    from septet.files.roots import Layout as Layout
    from septet.files.secrets import RedactionRule as RedactionRule
    from septet.files.status import RootStatus as RootStatus
    from septet.files.status import SyncStatus as SyncStatus
    from septet.files.tracking import Redact as Redact
else:
    from septet.system.late import loaded_late

    #: Loaded on first access.
    _NAMES = {
        "chunking": "Chunk",
        "flush": "FlushLimits flush_limits flush_prompt should_flush",
        "redaction": "Redacted",
        "report": "PendingFile RedactReport SecretLeft SkippedFile",
        "roots": "Layout",
        "secrets": "RedactionRule",
        "status": "RootStatus SyncStatus",
        "tracking": "Redact",
    }
    __all__, __getattr__, __dir__ = loaded_late(__name__, _NAMES)
