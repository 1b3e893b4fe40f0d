"""Tiers: places that return candidates; a federation asks several at once."""

from septet.tiers.protocol import Session, Tier, TierCandidates

__all__ = ["Session", "Tier", "TierCandidates"]
