"""The SQL of the package, a module per table."""

from __future__ import annotations

from typing import Any

from septet.store import LateTables

__all__ = ["LOCAL"]

LOCAL: Any = LateTables(__name__)
