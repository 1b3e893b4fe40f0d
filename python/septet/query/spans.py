"""Patterns of the times that a question asks for, in English; `septet.query.times` loads them for few questions."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import Literal, NamedTuple, TypeAlias

from septet.query.conversation import is_listing, is_request
from septet.query.lexicon import MONTHS, NUMBERS, WEEKDAYS

Order: TypeAlias = Literal["oldest", "newest"]

_MONTH = "(?:" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?\b"
_YEAR = r"(?:,? (?P<{}>(?:19|20)\d\d)\b)?"
_COUNT = "|".join((r"\d{1,3}", "an?", "one", *NUMBERS))
_UNIT = "(?P<{}>day|week|month|year)s?"
_WEEKDAY = "|".join(day for day in WEEKDAYS if not day.endswith("s"))
_PHRASE = re.compile(
    r"\b(?:(?P<bound>since|after|before|by|until|till|every|next) )?(?:"
    r"(?P<iso>(?:19|20)\d\d-\d\d-\d\d)\b"
    rf"|(?P<month_first>{_MONTH}) (?P<day_last>{_DAY}){_YEAR.format('year_1')}"
    rf"|(?P<day_first>{_DAY}) (?:of )?(?P<month_last>{_MONTH}){_YEAR.format('year_2')}"
    rf"|(?<=since )(?P<since_month>{_MONTH})|(?:in|during|last) (?P<month>{_MONTH}){_YEAR.format('year_3')}"
    rf"|(?<=since )(?P<since_weekday>{_WEEKDAY})\b|(?:on|this|last) (?P<weekday>{_WEEKDAY})\b"
    rf"|(?P<ago>{_COUNT}) {_UNIT.format('ago_unit')} ago\b"
    rf"|(?:in|over|during|within) the (?:last|past)(?: (?P<recent>{_COUNT}))? {_UNIT.format('recent_unit')}\b"
    rf"|(?P<which>this|last) {_UNIT.format('period')}\b"
    r"|(?P<today>today|this morning)\b|(?P<yesterday>yesterday|last night)\b)",
    re.IGNORECASE,
)
#: Words before a phrase that make it no span of what was said.
_NO_SPAN = ("before", "by", "until", "till", "every", "next")
_NOUN_BEFORE = "".join(
    rf"(?<!\b{word} )" for word in "the my our your his her their its this a and or 's".split()
).replace(r"\b's", "'s")
#: `first` and `last` behind the verb of a question, not before a noun, as in `my first sprint`.
_ADVERB = rf"\b(?:did|was|were|had|have|has)\b[^?.!]{{0,200}} {_NOUN_BEFORE}"
_OLDEST = re.compile(
    rf"\bat first\b|\b(?:originally|initially)\b|\bin the beginning\b|\bthe first time\b|{_ADVERB}first\b(?!-)",
    re.IGNORECASE,
)
_NEWEST = re.compile(
    r"(?<!\bat the )\blatest\b|\bmost recent(?:ly)?\b|\bthe last time\b"
    rf"|{_ADVERB}last\b(?! (?:{_WEEKDAY}|{_MONTH}|day|night|week|month|year))",
    re.IGNORECASE,
)
#: Words of a question about two moments, or a duration.
_TWO = re.compile(
    r"\b(?:how long|between|compared?|from .* to|and when|first (?:and|or) last|and the (?:last|latest))\b",
    re.IGNORECASE,
)
_COUNTED_FROM_NOW = frozenset({"ago_unit", "recent_unit", "period", "today", "yesterday"})
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}


class TimeSpan(NamedTuple):
    """A span of time.

    Attributes:
        begins, ends: epoch seconds; ``ends`` is outside.
        names: words of a date that count as well if a text has them, such as `July 8`; None if only times count.
    """

    begins: float
    ends: float
    names: re.Pattern[str] | None = None


def named_spans(query: str, now: float) -> list[TimeSpan]:
    """Return the spans that a question names; see `septet.query.times.asked_spans`."""
    if is_request(query):
        return []
    try:
        today = datetime.fromtimestamp(now, timezone.utc).replace(hour=0, minute=0, second=0, microsecond=0)
    except (ValueError, OverflowError, OSError):
        # A clock outside of what dates can express.
        return []
    spans = []
    for match in _PHRASE.finditer(query):
        bound = (match["bound"] or "").lower()
        if bound in _NO_SPAN:
            continue
        try:
            span = _span(match, today)
        except (ValueError, OverflowError):
            # No such day, such as 30 February, or one that dates cannot express.
            continue
        if bound == "since":
            span = TimeSpan(span.begins, now)
        elif bound == "after":
            span = TimeSpan(span.ends, now)
        spans.append(span)
    return spans


def without_relative(query: str) -> str:
    """Return a query without its phrases that count from now, unless no word would be left."""
    left = _PHRASE.sub(lambda match: " " if match.lastgroup in _COUNTED_FROM_NOW else match[0], query)
    return left if any(map(str.isalnum, left)) else query


def named_order(query: str) -> Order | None:
    """Return the order that a question names; see `septet.query.times.asked_order`."""
    oldest, newest = _OLDEST.search(query) is not None, _NEWEST.search(query) is not None
    if oldest == newest or _TWO.search(query) is not None or is_listing(query) or is_request(query):
        return None
    return "oldest" if oldest else "newest"


def _span(match: re.Match[str], today: datetime) -> TimeSpan:
    groups = {name: text.lower() for name, text in match.groupdict().items() if text is not None}
    if "today" in groups:
        return _days(today, 1)
    if "yesterday" in groups:
        return _days(today, 1, back=1)
    if "ago" in groups:
        return _ago(today, _number(groups["ago"]), groups["ago_unit"])
    if "recent_unit" in groups:
        back = _number(groups.get("recent", "1")) * _DAYS[groups["recent_unit"]]
        return _days(today, back + 1, back=back)
    if "period" in groups:
        return _period(today, groups["period"], 1 if groups["which"] == "last" else 0)
    if (weekday := groups.get("weekday") or groups.get("since_weekday")) is not None:
        back = (today.weekday() - [*dict.fromkeys(WEEKDAYS.values())].index(WEEKDAYS[weekday])) % 7
        return _days(today, 1, back=back or 7 * match[0].lower().startswith("last"))
    if "iso" in groups:
        return _days(datetime.fromisoformat(groups["iso"]).replace(tzinfo=timezone.utc), 1)
    return _named(groups, today)


def _named(groups: dict[str, str], today: datetime) -> TimeSpan:
    """Return the span of a day of a month, or of a month, with its names."""
    year = next((int(groups[name]) for name in ("year_1", "year_2", "year_3") if name in groups), None)
    word = next(groups[name] for name in ("month_first", "month_last", "month", "since_month") if name in groups)
    digits = groups.get("day_last") or groups.get("day_first") or "1"
    month, day = int(MONTHS[word]), int("".join(filter(str.isdecimal, digits)))
    begins = datetime(year or today.year, month, day, tzinfo=timezone.utc)
    if year is None and begins > today:
        begins = datetime(today.year - 1, month, day, tzinfo=timezone.utc)
    if "month_first" not in groups and "month_last" not in groups:
        return TimeSpan(begins.timestamp(), (begins + timedelta(days=31)).replace(day=1).timestamp())
    whole = max((name for name in MONTHS if MONTHS[name] == MONTHS[word]), key=len)
    written = rf"\b{whole[:3]}(?:{whole[3:]}|t)?\b\.?"
    names = rf"{written} 0?{day}(?:st|nd|rd|th)?\b|\b0?{day}(?:st|nd|rd|th)? (?:of )?{written}|-{month:02}-{day:02}\b"
    return _days(begins, 1)._replace(names=re.compile(names, re.IGNORECASE))


def _ago(today: datetime, count: int, unit: str) -> TimeSpan:
    if unit == "day":
        return _days(today, 1, back=count)
    if unit == "week":
        # People count weeks roughly: three days on both sides.
        return _days(today, 7, back=7 * count + 3)
    return _period(today, unit, count)


def _period(today: datetime, unit: str, back: int) -> TimeSpan:
    """Return the day, week, month or year that many before today's."""
    if unit == "day":
        return _days(today, 1, back=back)
    if unit == "week":
        return _days(today, 7, back=today.weekday() + 7 * back)
    months = 12 * today.year + today.month - 1 - back if unit == "month" else 12 * (today.year - back)
    ends = months + (1 if unit == "month" else 12)
    first, last = (today.replace(year=at // 12, month=at % 12 + 1, day=1) for at in (months, ends))
    return TimeSpan(first.timestamp(), last.timestamp())


def _days(today: datetime, count: int, *, back: int = 0) -> TimeSpan:
    begins = today - timedelta(days=back)
    return TimeSpan(begins.timestamp(), (begins + timedelta(days=count)).timestamp())


def _number(word: str) -> int:
    return int(NUMBERS.get(word, "1" if word in ("a", "an", "one") else word))
