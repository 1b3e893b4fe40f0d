"""Import from and export to other programs, and restoring of backups.

An import: `sources` detects the format and opens the source; it, `tables` and `source` read one format each and yield
records; `mapping` converts a record to fields; `run` stores them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # For type checkers and editors; a test compares these names with the table below.
    from septet.exchange.restoring import restore as restore
    from septet.exchange.source import Format as Format
    from septet.exchange.source import Imported as Imported
    from septet.exchange.source import ImportFault as ImportFault
    from septet.exchange.source import OnError as OnError
    from septet.exchange.source import Rest as Rest
else:
    from septet.system.late import loaded_late

    #: Loaded on first access.
    _NAMES = {
        "restoring": "restore",
        "source": "Format ImportFault Imported OnError Rest",
    }
    __all__, __getattr__, __dir__ = loaded_late(__name__, _NAMES)
