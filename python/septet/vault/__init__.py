"""A vault: one SQLite file of knowledge. Its methods by subject: reading, writing, embedded, copies."""

from septet.vault.vault import Vault

__all__ = ["Vault"]
