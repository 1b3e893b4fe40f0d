"""Tiers: places that can recall candidates; a federation asks several at once."""

from septet.tiers.protocol import Recalled, Session, Tier

__all__ = ["Recalled", "Session", "Tier"]
