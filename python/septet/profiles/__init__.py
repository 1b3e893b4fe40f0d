"""Profiles: how searches rank, as data."""

from septet.profiles.builtin import BUILTIN
from septet.profiles.load import ProfileLike, resolve
from septet.ranking.fusion import (
    Clamp,
    Col,
    Const,
    Decay,
    Expression,
    Found,
    Linear,
    Log1p,
    Missing,
    Only,
    Rrf,
    Saturate,
    Scale,
    Sum,
    Term,
    Unless,
)
from septet.ranking.profile import Adaptive, ColumnWeights, Cuts, Facts, Graph, Profile, TextRules, WeightSet

__all__ = [
    "BUILTIN",
    "Adaptive",
    "Clamp",
    "Col",
    "ColumnWeights",
    "Const",
    "Cuts",
    "Decay",
    "Expression",
    "Facts",
    "Found",
    "Graph",
    "Linear",
    "Log1p",
    "Missing",
    "Only",
    "Profile",
    "ProfileLike",
    "Rrf",
    "Saturate",
    "Scale",
    "Sum",
    "Term",
    "TextRules",
    "Unless",
    "WeightSet",
    "resolve",
]
