"""One module per table of PostgreSQL, with the functions and signatures of its twin in `septet.sqlite.tables`.

Every statement names the vault, and the buckets if they are known. Values are parameters, cast where PostgreSQL cannot
infer their type (`%s::text`), which Citus requires.
"""

from __future__ import annotations

from typing import Any

from septet.store import LateTables

__all__ = ["ON_A_SERVER"]

ON_A_SERVER: Any = LateTables(__name__)
