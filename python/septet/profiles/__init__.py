"""Profiles: how a product ranks, as data."""

from septet.profiles.builtin import BUILTIN
from septet.profiles.load import ProfileLike, resolve
from septet.ranking.profile import Profile

__all__ = ["BUILTIN", "Profile", "ProfileLike", "resolve"]
