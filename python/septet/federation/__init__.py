"""Several vaults searched as one."""

from septet.federation.federation import Federation
from septet.federation.member import Member

__all__ = ["Federation", "Member"]
