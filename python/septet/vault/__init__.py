"""A vault: one SQLite file of knowledge. Its methods by subject: reading, writing, embedded, following."""

from septet.vault.vault import Vault

__all__ = ["Vault"]
