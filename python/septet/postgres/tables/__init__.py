"""One module per table of PostgreSQL, with the functions and signatures of its twin in `septet.sqlite.tables`.

SQL names the vault in every statement, and the buckets where it knows them. Values are parameters, cast where
PostgreSQL cannot tell their type (`%s::text`), which Citus needs.
"""

from __future__ import annotations

from typing import Any

from septet.sqlite.tables import LateTables

__all__ = ["ON_A_SERVER"]

ON_A_SERVER: Any = LateTables(__name__)
