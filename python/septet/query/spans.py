"""Patterns of the times that a question asks for, in English; `septet.query.times` loads them for few questions."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from septet.query.conversation import is_listing, is_request
from septet.query.lexicon import MONTHS, NUMBERS, WEEKDAYS

Order: TypeAlias = Literal["oldest", "newest"]

_MONTH = "(?:" + "|".join(sorted(MONTHS, key=len, reverse=True)) + r")\b"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)?\b"
_YEAR = r"(?:,? (?P<{}>(?:19|20)\d\d)\b)?"
_COUNT = "|".join((r"\d{1,3}", "a couple of", "an?", "one", *NUMBERS))
_UNIT = "(?P<{}>day|week|month|year)s?"
_WEEKDAY = "|".join(day for day in WEEKDAYS if not day.endswith("s"))


def _not_behind(*words: str) -> str:
    """Return a pattern that holds where none of these patterns, each of one length, ends."""
    return "".join(f"(?<!{word})" for word in words)


#: Words before a count of a rough time, or of the rest of one: `more than a week ago`, `two weeks and a day ago`.
_ROUGH = _not_behind(*r"[-.,\d]|half |than |over |or |and |to ".split("|"))
#: Words before `last` of something else than now, as in `the last week of the project`.
_LAST_OF = _not_behind(*r"\bthe |\bmy |\bour |\byour |\bhis |\bher |\btheir |\bits |'s |\u2019s ".split("|"))
#: Words behind a day that make it a number of other things: `tell May 2 days ago`.
_COUNTED = r"(?! (?:days|weeks|months|years|hours|minutes|times|percent)\b)"
#: Words before a phrase that make it no span of what was said.
_NO_SPAN = (*"before by until till every next not through than".split(), "as of", "week of", "up to", "prior to")
_PHRASE = re.compile(
    rf"\b(?:(?P<bound>since|after|{'|'.join(_NO_SPAN)}) )?(?:"
    r"(?P<iso>(?:19|20)\d\d-\d\d-\d\d)\b"
    rf"|(?P<month_first>{_MONTH}) (?P<day_last>{_DAY}){_COUNTED}{_YEAR.format('year_1')}"
    rf"|(?P<day_first>{_DAY}) (?:of )?(?P<month_last>{_MONTH}){_YEAR.format('year_2')}"
    rf"|(?<=since )(?P<since_month>{_MONTH})|(?:in|during|last) (?P<month>{_MONTH}){_YEAR.format('year_3')}"
    rf"|(?:in|during|(?<=since )) ?(?P<year>(?:19|20)\d\d)\b(?![-.:/]\d)"
    rf"|(?<=since )(?P<since_weekday>{_WEEKDAY})\b|(?P<day_of>on|this|last) (?P<weekday>{_WEEKDAY})\b(?! of\b)"
    rf"|{_ROUGH}(?P<ago>{_COUNT}) {_UNIT.format('ago_unit')} ago\b"
    rf"|(?:in|over|during|within) the (?:last|past)(?: (?P<recent>{_COUNT}))? {_UNIT.format('recent_unit')}\b(?! of\b)"
    rf"|(?P<which>this|{_LAST_OF}last|(?<=the )last(?= \w+\W*$)) (?P<period>weekend|week|month|year)s?\b(?! of\b)"
    r"|(?P<today>today|this (?:morning|afternoon|evening))\b"
    r"|(?P<before_yesterday>(?:the )?day before yesterday)\b|(?P<yesterday>yesterday|last night)\b)",
    re.IGNORECASE,
)
_POINT = (
    rf"(?:the )?((?:19|20)\d\d-\d\d-\d\d|(?:19|20)\d\d\b|{_MONTH}(?: {_DAY})?(?:,? (?:19|20)\d\d\b)?"
    rf"|{_DAY}(?: (?:of )?{_MONTH})?(?:,? (?:19|20)\d\d\b)?|(?:{_WEEKDAY})\b)"
)
#: Two times and all between them, without the words before them that `_PHRASE` wants.
_RANGE = re.compile(
    rf"\bbetween {_POINT} and {_POINT}|\bfrom {_POINT} (?:to|until|till|through) {_POINT}"
    rf"|\b({_MONTH} {_DAY}|{_DAY}) ?[-\u2013] ?({_MONTH} {_DAY}|{_DAY} {_MONTH}|{_DAY})(?:,? (?:19|20)\d\d\b)?",
    re.IGNORECASE,
)
#: Words of a question about what is or will be, whose dates are those of events, unless it has one of the past.
_AHEAD = re.compile(
    r"\b(?:is|are|am|does|do|will|can|should|shall|(?:what|who|when|where|how|it|that|there)['\u2019]s)\b",
    re.IGNORECASE,
)
_IRREGULAR = (
    "ate|began|bought|came|chose|drank|found|gave|got|left|made|met|paid|ran|read|sang|saw|sent|spent|spoke|took|went"
    "|wrote"
)
_BEHIND = re.compile(
    r"\b(?:did|didn['\u2019]t|was|were|had|has|been|have (?:i|we|you|they)|said|told|mentioned|remember|recall"
    rf"|(?:i|we|you|he|she|they) (?:\w+ed|{_IRREGULAR}))\b",
    re.IGNORECASE,
)
_NOUN_BEFORE = "".join(
    rf"(?<!\b{word} )" for word in "the my our your his her their its this a and or 's".split()
).replace(r"\b's", "'s")
#: `first` and `last` behind the verb of a question, not before a noun, as in `my first sprint`.
_ADVERB = rf"\b(?:did|was|were|had|have|has)\b[^?.!]{{0,200}} {_NOUN_BEFORE}"
_FIRST_OF = "aid|class|names?|grade|floor|half|hand|person|place|prize|round|things?"
#: Words behind `last` of a time, as in `last summer`, and behind the verb, as in `did the milk last until Sunday`.
_BEHIND_LAST = (
    f"{_WEEKDAY}|day|night|week|month|year|weekend|spring|summer|autumn|fall|winter|season|semester|quarter|term|session"
    "|meeting|sprint|decade|century|christmas|easter|thanksgiving|birthday|holidays?|vacation|morning|afternoon|evening"
    "|hour|minute|names?|few|until|till|for|through|long|longer|all|more|less|only"
)
_OLDEST = re.compile(
    r"\bat first\b|\b(?:originally|initially)\b(?! from\b)|\bin the beginning\b|\bthe first time\b"
    rf"|{_ADVERB}first\b(?!-| (?:{_FIRST_OF})\b)",
    re.IGNORECASE,
)
_NEWEST = re.compile(
    r"(?<!\bat the )\blatest\b|\bmost recent(?:ly)?\b|\bthe last time\b"
    rf"|{_ADVERB}last\b(?! (?:{_MONTH}|(?:{_BEHIND_LAST})s?\b|\d))",
    re.IGNORECASE,
)
#: Words of a question about two moments, or a duration.
_TWO = re.compile(
    r"\b(?:how long|how many (?:minutes|hours|days|nights|weeks|months|years)|between|compared?"
    r"|from .* to|and when|first (?:and|or) last|and the (?:last|latest))\b",
    re.IGNORECASE,
)
_COUNTED_FROM_NOW = frozenset({"ago_unit", "recent_unit", "period", "today", "before_yesterday", "yesterday"})
#: Phrases between which there is no more than this are one: `on Monday of last week`.
_JOINED = (" ", " of ", " of the ")
_YEARS = re.compile(r"\b(?:19|20)\d\d\b")
_MONTH_NAMES = re.compile(rf"(?<![a-z]){_MONTH}", re.IGNORECASE)
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
_DAY_S = 86_400


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
        # Without a zone: the days of the process's own zone, whatever their length.
        today = datetime.fromtimestamp(now).replace(hour=0, minute=0, second=0, microsecond=0)
    except (ValueError, OverflowError, OSError):
        # A clock outside of what dates can express.
        return []
    of_events = _AHEAD.search(query) is not None and _BEHIND.search(query) is None
    ranges = [(match, span) for match in _RANGE.finditer(query) if (span := _range(match, today)) is not None]
    spans = [] if of_events else [span for _, span in ranges]
    for match, _ in ranges:
        # Its two times are no phrases of their own.
        query = query[: match.start()] + "|" * len(match[0]) + query[match.end() :]
    alone: list[TimeSpan] = []
    ends = -1
    for match in _PHRASE.finditer(query):
        if _is_name(match) or (of_events and _is_date(match)):
            continue
        span = _bounded(match, today, now)
        if span is None:
            continue
        if alone and query[ends : match.start()] in _JOINED:
            alone[-1] = _joined(alone[-1], span)
        else:
            alone.append(span)
            if (match["day_of"] or "").lower() == "on" and span == _days(today, 1):
                # Said on that weekday, it is as often the one of last week.
                alone.insert(-1, _days(today, 1, back=7))
        ends = match.end()
    return spans + alone


def without_relative(query: str) -> str:
    """Return a query without its phrases that count from now, unless no word would be left."""

    def left_of(match: re.Match[str]) -> str:
        return " " if match.lastgroup in _COUNTED_FROM_NOW and not _is_name(match) else match[0]

    left = _PHRASE.sub(left_of, query)
    return left if any(map(str.isalnum, left)) else query


def inside(spans: list[TimeSpan], times: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return for times ``(n,)`` in epoch seconds, NaN for unknown, whether they are in one of the spans.

    Midnight in UTC is what a date without a time is stored as: that day of the process's own zone.
    """
    local = times.copy()
    for at in np.flatnonzero(times % _DAY_S == 0):
        with suppress(ValueError, OverflowError, OSError):
            local[at] = (datetime(1970, 1, 1) + timedelta(seconds=float(times[at]))).timestamp()
    mask = np.zeros(len(local), dtype=np.bool_)
    for span in spans:
        mask |= (span.begins <= local) & (local < span.ends)
    return mask


def named_order(query: str) -> Order | None:
    """Return the order that a question names; see `septet.query.times.asked_order`."""
    oldest, newest = _OLDEST.search(query) is not None, _NEWEST.search(query) is not None
    if oldest == newest or _TWO.search(query) is not None or is_listing(query) or is_request(query):
        return None
    return "oldest" if oldest else "newest"


def _is_name(match: re.Match[str]) -> bool:
    """Return True for a phrase that is the name of a film, a song or a newspaper: `Last Night in Soho`, `USA Today`."""
    if match.lastgroup not in _COUNTED_FROM_NOW:
        return False
    word, before = match[0], match.string[: match.start()]
    if before.endswith(("'", '"', "\u2018", "\u201c")):
        return True
    return word[0].isupper() and word[1:2].islower() and bool(before.strip()) and before.rstrip()[-1] not in ".?!:"


def _is_date(match: re.Match[str]) -> bool:
    """Return True for a phrase that may be the date of an event to come, too."""
    if match.lastgroup in _COUNTED_FROM_NOW or (match["bound"] or "").lower() == "since":
        return False
    return " last " not in f" {match[0].lower()} "


def _range(match: re.Match[str], today: datetime) -> TimeSpan | None:
    """Return the span from the first to the last time of `between … and …`; None if these are no two times."""
    parts = [part for part in match.groups() if part is not None]
    month, years = _MONTH_NAMES.search(match[0]), _YEARS.findall(match[0])
    spans = []
    for part in parts:
        if part[0].isdecimal() and _YEARS.match(part) is None and _MONTH_NAMES.search(part) is None:
            # A day that shares the month of the other one.
            part = f"{part.split(',')[0].split()[0]} {month[0]}" if month is not None else part
        if years and _YEARS.search(part) is None and _MONTH_NAMES.search(part) is not None:
            part = f"{part} {years[-1]}"
        point = next(filter(None, (_PHRASE.fullmatch(f"{word}{part}") for word in ("", "on ", "in "))), None)
        if point is None or (span := _bounded(point, today, 0.0)) is None:
            return None
        spans.append(span)
    first, last = spans
    if first.begins > last.begins and parts[0].lower() in WEEKDAYS:
        first = _days(datetime.fromtimestamp(first.begins), 1, back=7)
    return TimeSpan(first.begins, last.ends) if first.begins < last.ends else None


def _joined(first: TimeSpan, second: TimeSpan) -> TimeSpan:
    """Return the narrower of two spans if the other one has it inside, else the wider one."""
    narrow, wide = sorted((first, second), key=lambda span: span.ends - span.begins)
    return narrow if wide.begins <= narrow.begins and narrow.ends <= wide.ends else wide


def _bounded(match: re.Match[str], today: datetime, now: float) -> TimeSpan | None:
    """Return the span of a phrase with the word before it; None if it is none of the past, or no date has it."""
    bound = (match["bound"] or "").lower()
    if bound in _NO_SPAN:
        return None
    try:
        span = _span(match, today)
    except (ValueError, OverflowError, OSError):
        # No such day, such as 30 February, or one that dates cannot express.
        return None
    if bound == "since":
        return TimeSpan(span.begins, now)
    return TimeSpan(span.ends, now) if bound == "after" else span


def _span(match: re.Match[str], today: datetime) -> TimeSpan:
    groups = {name: text.lower() for name, text in match.groupdict().items() if text is not None}
    if "today" in groups:
        return _days(today, 1)
    if "before_yesterday" in groups:
        return _days(today, 1, back=2)
    if "yesterday" in groups:
        return _days(today, 1, back=1)
    if "ago" in groups:
        return _ago(today, _number(groups["ago"]), groups["ago_unit"])
    if "recent_unit" in groups:
        back = _number(groups.get("recent", "1")) * _DAYS[groups["recent_unit"]]
        return _days(today, back + 1, back=back)
    if "period" in groups:
        return _period(today, groups["period"], 1 if groups["which"] == "last" else 0)
    if "year" in groups:
        year = int(groups["year"])
        return TimeSpan(datetime(year, 1, 1).timestamp(), datetime(year + 1, 1, 1).timestamp())
    if (weekday := groups.get("weekday") or groups.get("since_weekday")) is not None:
        back = today.weekday() - [*dict.fromkeys(WEEKDAYS.values())].index(WEEKDAYS[weekday])
        if groups.get("day_of") == "this":
            return _days(today, 1, back=back)
        return _days(today, 1, back=back % 7 or 7 * (groups.get("day_of") != "on"))
    if "iso" in groups:
        return _days(datetime.fromisoformat(groups["iso"]), 1)
    return _named(groups, today)


def _named(groups: dict[str, str], today: datetime) -> TimeSpan:
    """Return the span of a day of a month, or of a month, with its names."""
    year = next((int(groups[name]) for name in ("year_1", "year_2", "year_3") if name in groups), None)
    word = next(groups[name] for name in ("month_first", "month_last", "month", "since_month") if name in groups)
    digits = groups.get("day_last") or groups.get("day_first") or "1"
    month, day = int(MONTHS[word]), int("".join(filter(str.isdecimal, digits)))
    begins = datetime(year or today.year, month, day)
    if year is None and begins > today:
        begins = datetime(today.year - 1, month, day)
    if "month_first" not in groups and "month_last" not in groups:
        return TimeSpan(begins.timestamp(), (begins + timedelta(days=31)).replace(day=1).timestamp())
    whole = max((name for name in MONTHS if MONTHS[name] == MONTHS[word]), key=len)
    written = rf"\b{whole[:3]}(?:{whole[3:]}|t)?\b\.?"
    names = rf"{written} 0?{day}(?:st|nd|rd|th)?\b|\b0?{day}(?:st|nd|rd|th)? (?:of )?{written}|-{month:02}-{day:02}\b"
    return _days(begins, 1)._replace(names=re.compile(names, re.IGNORECASE))


def _ago(today: datetime, count: int, unit: str) -> TimeSpan:
    if unit == "day":
        return _days(today, 1, back=count)
    # People count roughly: half a unit on both sides.
    back = _DAYS["year"] * count // 12 if unit == "month" else _DAYS[unit] * count
    return _days(today, _DAYS[unit], back=back + _DAYS[unit] // 2)


def _period(today: datetime, unit: str, back: int) -> TimeSpan:
    """Return the weekend, week, month or year that many before today's."""
    if unit == "weekend":
        return _days(today, 2, back=today.weekday() - 5 + 7 * back)
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
    return int(NUMBERS.get(word, {"a": "1", "an": "1", "one": "1", "a couple of": "2"}.get(word, word)))
