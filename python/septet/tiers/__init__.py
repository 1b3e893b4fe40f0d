"""Tiers: places that can recall candidates; a federation asks several at once."""

from septet.tiers.local import LocalTier
from septet.tiers.tier import Recalled, Session, Tier

__all__ = ["LocalTier", "Recalled", "Session", "Tier"]
