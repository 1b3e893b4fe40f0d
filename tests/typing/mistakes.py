# pyright: standard
"""Ten mistakes that users make. Type checkers find each of them, on the lines marked `# error`, and nothing else."""

from __future__ import annotations

import septet
from septet import Federation, Hit, NoteCode, Vault, VectorIndex

septet.Vualt("notes.db")  # error
vault = Vault("notes.db", embedder=lambda texts: [[1.0] for _ in texts])  # error
vault.add(description="an entry without a title")  # error
vault.add(title="An entry", severity="urgent")  # error
vault.add(title="An entry", tags="auth")  # error
vault.update("id", titel="A typing error")  # error
vault.feedback("query", "id", "liked")  # error
results = vault.search("query", limt=5)  # error
hit: Hit | None = vault.get("id")  # error
codes: list[NoteCode] = ["no_vector"]  # error
Federation({"agent": vault}).search("query", mode="scan", legs=["text", "vector"])
VectorIndex(3).search([1.0, 2.0, 3.0], k=3)
