"""Types of arguments and of parts of results, for annotations."""

from septet.listing.request import OrderBy
from septet.model.context import ContextItem, LeftOutEntry
from septet.model.explanation import LegReport, Remedy
from septet.model.fields import (
    Action,
    BulkChanges,
    EntryChanges,
    EntryFields,
    EntryItem,
    EntryOverrides,
    FrameLike,
    MemoryFields,
    OnSimilar,
    Severity,
    SpanFields,
    Split,
    Strings,
    Suggest,
    Time,
    Trust,
    VectorLike,
)
from septet.model.pages import FacetValue
from septet.model.results import Reranker, Reranking, TierReport
from septet.model.stats import Optimized
from septet.model.suggestion import Suggestion
from septet.query.facets import Bucket
from septet.query.options import Leg, Mode, RecallOptions, SearchOptions, Words
from septet.query.refine import Deadline

__all__ = [
    "Action",
    "Bucket",
    "BulkChanges",
    "ContextItem",
    "Deadline",
    "EntryChanges",
    "EntryFields",
    "EntryItem",
    "EntryOverrides",
    "FacetValue",
    "FrameLike",
    "LeftOutEntry",
    "Leg",
    "LegReport",
    "MemoryFields",
    "Mode",
    "OnSimilar",
    "Optimized",
    "OrderBy",
    "RecallOptions",
    "Remedy",
    "Reranker",
    "Reranking",
    "SearchOptions",
    "Severity",
    "SpanFields",
    "Split",
    "Strings",
    "Suggest",
    "Suggestion",
    "TierReport",
    "Time",
    "Trust",
    "VectorLike",
    "Words",
]
