"""Several vaults searched as one."""

from septet.federation.federation import Federation

__all__ = ["Federation"]
