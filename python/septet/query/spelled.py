"""One way of writing for what is written in several ways: bounds, parts, times, amounts, spellings, short names."""

from __future__ import annotations

import re

#: A pattern of a text in lower case, and what stands for it.
_WAYS = tuple(
    (re.compile(pattern), way)
    for pattern, way in (
        (r"\b(?:no|not) (?:more|longer|larger|bigger|higher|later) than\b", "at most"),
        (r"\b(?:no|not) (?:less|fewer|shorter|smaller|lower|earlier) than\b", "at least"),
        (r"(?<!\d)(\d+) o.clock\b", r"\1:00"),
        (r"\b(?:noon|midday)\b", "12:00"),
        (r"\bmidnight\b", "0:00"),
        (r"\bhalf an? hour\b", "30 minutes"),
        (r"\ban hour and a half\b", "1.5 hours"),
        (r"\bhalf of (?=the|all|our|its|their|his|her|my)\b", "50% of "),
        (r"\ba quarter of (?=the|all|our|its|their|his|her|my)\b", "25% of "),
        (r"\ba dozen\b", "12"),
        (r"\b(?:biweekly|fortnightly|every fortnight)\b", "every 2 weeks"),
        (r"\bquarterly\b", "every 3 months"),
        (r"\b(?:every|each) other (day|week|month|year)\b", r"every 2 \1s"),
        (r"(?<=\d) %", "%"),
        (r"\b(\d[\d.,]*) ?([$€£])(?!\d)", r"\2\1"),
    )
)
#: A digit, or a word of a pattern that has none.
_MAY_CHANGE = re.compile(r"\d (?:%|o.c)|\d ?[$€£]|\b(?:than|noon|mid|half|quarter|dozen|biweek|fortnight|other)")
_SPELLINGS = (
    (re.compile(r"(\w{4,})is(e|es|ed|er|ers|ing|ation|ations)"), r"\1iz\2"),
    (re.compile(r"(\w{3,})our(s|ed|ing|able|ite|ites|ful|hood)?"), r"\1or\2"),
)
#: Short and other names of one thing.
_NAMES = {
    "k8s": "kubernetes",
    "postgres": "postgresql",
    "pg": "postgresql",
    "ts": "typescript",
    "js": "javascript",
    "prod": "production",
    "env": "environment",
    "gh": "github",
    "centre": "center",
    "metre": "meter",
    "metres": "meters",
    "licence": "license",
    "programme": "program",
    "grey": "gray",
    "theatre": "theater",
    "mon": "monday",
    "tue": "tuesday",
    "tues": "tuesday",
    "thu": "thursday",
    "thurs": "thursday",
    "fri": "friday",
}


def one_way(lower: str) -> str:
    """Return a text in lower case with its bounds, times and amounts in one way of writing."""
    if _MAY_CHANGE.search(lower) is None:
        return lower
    for pattern, way in _WAYS:
        lower = pattern.sub(way, lower)
    return lower


def one_spelling(word: str) -> str:
    """Return a word in American spelling, or the long name of a short one."""
    if word in _NAMES:
        return _NAMES[word]
    for pattern, spelling in _SPELLINGS:
        match = pattern.fullmatch(word)
        if match is not None:
            return match.expand(spelling)
    return word
