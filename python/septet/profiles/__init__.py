"""Profiles: how searches rank, as data."""

from septet.profiles.builtin import BUILTIN
from septet.profiles.load import ProfileLike, resolve
from septet.ranking.fusion import Col, Const, Expression, Missing, Only, Rrf, Scale, Sum, Term
from septet.ranking.profile import Adaptive, ColumnWeights, Cuts, Facts, Graph, Profile, TextRules, WeightSet

__all__ = [
    "BUILTIN",
    "Adaptive",
    "Col",
    "ColumnWeights",
    "Const",
    "Cuts",
    "Expression",
    "Facts",
    "Graph",
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
