"""Tiers: places that can recall candidates; a federation asks several at once."""

from septet.tiers.local.tier import LocalTier
from septet.tiers.protocol import Recalled, Session, Tier

__all__ = ["LocalTier", "Recalled", "Session", "Tier"]
