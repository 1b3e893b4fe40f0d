"""Files and processes of the system that this Python runs on: `septet.system.unix` or `septet.system.windows`."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from septet.system import windows

    host = windows
else:
    from septet.system import unix

    host = unix
