"""The user's session on this system: `septet.system.unix_session` or `septet.system.windows_session`."""

from __future__ import annotations

import sys

if sys.platform == "win32":
    from septet.system import windows_session

    session = windows_session
else:
    from septet.system import unix_session

    session = unix_session
