"""Profiles: how searches rank, as data."""

from septet.profiles.builtin import BUILTIN
from septet.profiles.load import ProfileLike, resolve
from septet.ranking.fusion import Clamp, Col, Const, Decay, Expression, Log1p, Missing, Only, Rrf, Scale, Sum, Term
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
    "Graph",
    "Log1p",
    "Missing",
    "Only",
    "Profile",
    "ProfileLike",
    "Rrf",
    "Scale",
    "Sum",
    "Term",
    "TextRules",
    "WeightSet",
    "resolve",
]
