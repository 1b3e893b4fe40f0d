# pyright: standard
"""Mistakes that users make. Type checkers find each of them, on the lines marked `# error`, and nothing else."""

from __future__ import annotations

import septet
from septet import AsyncVault, Entry, Federation, Hit, NoteCode, Space, Vault, VectorIndex, evaluate, tune
from septet.exchange import Imported

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
vault.add(title="An entry", typo=1)  # error
vault.add(title="An entry", trust="a little")  # error
vault.search_many(["query"], profil="septet")  # error
vault.entries(order="title")  # error
imported: Imported = vault.import_("notes.csv", on_error="ignore")  # error
spaces: list[Space] = vault.stats()  # error
VectorIndex(3).search([1.0, 2.0, 3.0], k="3")  # error
vault.search("query").to_prompt(max_token=100)  # error
evaluate(vault, {"q": "query"}, {"q": ["id"]}, mesures=["MAP"])  # error
entry: Entry = tune(vault).profile  # error


async def forgotten() -> None:
    """Use what was not awaited."""
    AsyncVault.of(vault).search("query").ids.clear()  # error


Federation({"agent": vault}).search("query", mode="scan", legs=["text", "vector"])
VectorIndex(3).search([1.0, 2.0, 3.0], k=3)
