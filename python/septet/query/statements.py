"""Statements: the words, values and polarity of a short text, in English as far as words of change and denial go."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from septet._core import index_terms
from septet.query.lexicon import (
    CANON,
    CHANGES,
    DENIALS,
    DOUBTFUL_MONTHS,
    ENDED,
    FREQUENCIES,
    MONTHS,
    NUMBERS,
    OPPOSITES,
    SCALES,
    STOP,
    UNITS,
    VERBS,
    WEEKDAYS,
)

#: Maximum characters of a text that are read, and of its words.
MOST_CHARS, MOST_WORDS = 4_000, 400
_TOKEN = re.compile(r"[$€£]?\d+(?:[.,:/-]\d+)*(?:%|[a-z]{1,2}\b)?|/?[^\W_]+(?:['’._/@:+-]+[^\W_]+)*")
_TIME = re.compile(r"\b(\d{1,2})(?::(\d\d))?(?: ?(am|pm)\b|(?<=:\d\d)\b)", re.IGNORECASE)
_ISO = re.compile(r"\b\d{4}-(\d\d)-(\d\d)\b")
_NUMBER = re.compile(r"([$€£]?)(\d+(?:[.,:/-]\d+)*)(%|[a-z]{0,2})")
_ORDINAL = frozenset({"st", "nd", "rd", "th"})
#: A capital inside a sentence: of a name, also where the word says nothing else, as `Go`.
_NAMED = re.compile(r"(?<=[^\W\d_A-Z] )[A-Z][a-z]+\b")
_ASKING = re.compile(r"\?\s*$|^\s*(?:what|which|who|whom|whose|when|where|why|how|is there|does|do we|did)\b")
_MINUTES = 60
#: Maximum words of a former value, and words that end it.
_LEAVING = ("left", "gave", "quit")
_TAKEN = frozenset({"took", "takes", "inherited"})
#: Words before and after `on` where it is a state.
_STATING = frozenset("is are was were be been being stays stay turned switched turn switch".split())
_AFTER_STATES = frozenset(["", *"by in for at and but since until while again now".split()])
_MOST_FORMER, _ENDS = 8, ("and", "but", "since", "because", "to")


class Value(NamedTuple):
    """A value of a statement: a number, date, time, weekday, version, or name with digits.

    Attributes:
        kind: values of different kinds do not replace each other; the unit of a number belongs to it.
        key: its form to compare.
        text: its form to show.
    """

    kind: str
    key: str
    text: str


class Claim(NamedTuple):
    """The parts of a text that are compared.

    Attributes:
        tokens: its words and numbers, in order, without case and punctuation.
        words: the text of each content word by its stem, in order; synonyms have one stem.
        values: its values, in order, each once.
        subject: stems and keys of values before the first verb.
        names: stems of words with a capital inside a sentence.
        denials: number of words that deny.
        opposites: stems whose opposite is in the text.
        former: stems and keys of values that hold no longer: `from A to B`, `instead of A`, `no longer A but B`.
        changes: True if a word of change is in the text.
        asks: True for a question.
    """

    tokens: tuple[str, ...]
    words: dict[str, str]
    values: dict[tuple[str, str], Value]
    subject: frozenset[str]
    names: frozenset[str]
    denials: int
    opposites: frozenset[str]
    former: frozenset[str]
    changes: bool
    asks: bool


def statement_of(text: str) -> Claim:
    """Return what a text says; of a long text, what its first 4,000 characters and 400 words say."""
    lower = unicodedata.normalize("NFKC", text[:MOST_CHARS]).lower()[:MOST_CHARS].replace("\u2019", "'")
    timed_text, timed = _with_times(lower)
    changes = CHANGES.search(lower) is not None
    tokens = _TOKEN.findall(timed_text)[:MOST_WORDS]
    read = _ClaimReader(tokens, timed, changes, _names_in(text[:MOST_CHARS]))
    return Claim(
        tuple(tokens),
        read.words,
        read.values,
        frozenset(read.subject if read.verb else ()),
        frozenset(read.names),
        read.denials,
        frozenset(read.opposites),
        frozenset(read.former),
        changes,
        _ASKING.search(lower) is not None,
    )


class _ClaimReader:
    """Reads the tokens of a text; see `Claim`."""

    def __init__(self, tokens: list[str], timed: dict[str, str], changes: bool, named: frozenset[str]) -> None:
        self._named = named
        self.words: dict[str, str] = {}
        self.values: dict[tuple[str, str], Value] = {}
        self.subject: set[str] = set()
        self.names: set[str] = set()
        self.opposites: set[str] = set()
        self.former: set[str] = set()
        self.denials, self.verb = 0, False
        over, at = _over(tokens) if changes else frozenset(), 0
        while at < len(tokens):
            value, taken = _value_at(tokens, at, timed)
            if value is None:
                self._word(tokens[at], tokens[at - 1] if at else "", "".join(tokens[at + 1 : at + 2]), at in over)
            elif at in over:
                self.former.add(value.key)
            else:
                self.values.setdefault((value.kind, value.key), value)
                if not self.verb:
                    self.subject.add(value.key)
            at += taken

    def _word(self, token: str, before: str, following: str, over: bool) -> None:
        """Add a word that is no value; ``over`` if it is of a former one."""
        if token.endswith("n't") or token in DENIALS:
            self.denials += not over
            self.verb = self.verb or "'" in token
            return
        plain = token[:-2] if token.endswith("'s") else token
        self.verb = self.verb or plain in VERBS
        # `Server A runs`: an article is followed by its noun.
        # `The flag is on`, not `The meeting is on Monday`.
        is_state = plain == "off" or (plain == "on" and before in _STATING and following in _AFTER_STATES)
        is_named = is_state or plain in self._named
        names = is_named or plain not in STOP or (plain == "a" and (following in VERBS or not following))
        is_letter = len(plain) == 1 and plain.isascii() and names
        if not (is_letter or is_named) and (plain in STOP or CHANGES.fullmatch(plain)):
            return
        for stem in _stems(plain) or [plain]:
            stem = stem if is_state else CANON.get(stem, stem)
            self.denials += stem in ENDED
            if stem in OPPOSITES:
                stem = OPPOSITES[stem]
                self.opposites.add(stem)
            if len(stem) == 1 and stem.isascii() and not is_letter:
                continue
            if over:
                self.former.add(stem)
                continue
            self.words.setdefault(stem, plain)
            if is_named and not is_state:
                self.names.add(stem)
            if not self.verb:
                self.subject.add(stem)


def _over(tokens: list[str]) -> frozenset[int]:
    """Return the places of tokens that name former values, in a text with a word of change."""
    places: set[int] = set()
    for at, token in enumerate(tokens):
        until: tuple[str, ...] = ()
        before, after = tokens[max(at - 2, 0) : at], tokens[at + 1 :]
        if token == "from" and "to" in after[: _MOST_FORMER - 1]:
            until = ("to",)
        elif (token == "of" and before[-1:] == ["instead"]) or (
            token == "from" and before != ["now", "on"] and _TAKEN & {*tokens[:at]}
        ):
            until = _ENDS
        elif token in ("replaced", "replaces") and "as" in after:
            until = ("as",)
        elif "and" in after and (token in _LEAVING or (token == "was" and {"is", "now"} & {*after})):
            until = ("and",)
        elif token == "longer" and before[-1:] == ["no"] and "but" in after:
            places.add(at - 1)
            until = ("but",)
        if until:
            for place in range(at + 1, min(at + _MOST_FORMER, len(tokens))):
                if tokens[place] in until:
                    break
                places.add(place)
    return frozenset(places)


def _names_in(text: str) -> frozenset[str]:
    """Return the words with a capital inside a sentence, in lower case; none of a text in title case."""
    named = _NAMED.findall(text)
    return frozenset(map(str.lower, named)) if 3 * len(named) <= len(text.split()) else frozenset()


def _stems(word: str) -> list[str]:
    return [term.decode("utf-8", "replace") for term in index_terms(word)]


def _with_times(text: str) -> tuple[str, dict[str, str]]:
    """Return the text with each time and date of digits as one token, and the text to show of each token."""
    shown: dict[str, str] = {}

    def time(match: re.Match[str]) -> str:
        hour, minute, half = int(match[1]), int(match[2] or 0), match[3]
        if half is not None:
            hour = hour % 12 + 12 * (half == "pm")
        token = f"{hour * _MINUTES + minute}:00:00"
        shown[token] = match[0]
        return token

    text = _ISO.sub(lambda match: f"{_name(match[1])} {match[2]}", text)
    return _TIME.sub(time, text), shown


def _name(month: str) -> str:
    return next((name for name, number in MONTHS.items() if number == month), "")


def _value_at(tokens: list[str], at: int, timed: dict[str, str]) -> tuple[Value | None, int]:
    """Return the value that begins at a token, and the number of its tokens; None if none does."""
    token = tokens[at]
    following = tokens[at + 1] if at + 1 < len(tokens) else ""
    if token in timed:
        return Value("time", token, timed[token]), 1
    if token in WEEKDAYS:
        return Value("weekday", WEEKDAYS[token], token), 1
    if token in MONTHS:
        day = _day(following)
        if day is not None:
            return Value("date", f"{MONTHS[token]}-{day:02}", f"{token} {following}"), 2 + _is_year(tokens, at + 2)
        if token not in DOUBTFUL_MONTHS:
            return Value("month", MONTHS[token], token), 1
        return None, 1
    if following in MONTHS and (day := _day(token)) is not None:
        key = f"{MONTHS[following]}-{day:02}"
        return Value("date", key, f"{token} {following}"), 2 + _is_year(tokens, at + 2)
    if token in FREQUENCIES:
        return Value("frequency", FREQUENCIES[token], token), 1
    if token in ("every", "each") and following in UNITS:
        return Value("frequency", UNITS[following][1], f"{token} {following}"), 2
    if token in ("once", "twice") and "".join(tokens[at + 2 : at + 3]) in UNITS:
        return Value("frequency", token + UNITS[tokens[at + 2]][1], " ".join(tokens[at : at + 3])), 3
    if token == "one" and following in UNITS:
        return _number("1", "", following, token)
    if token in NUMBERS:
        return _number(NUMBERS[token], "", following, token)
    match = _NUMBER.fullmatch(token[1:] if token[0] == "v" else token)
    if match is not None:
        return _number(match[2], match[1] or match[3], following, token)
    if any(map(str.isdecimal, token)):
        return Value("name", token, token), 1
    return None, 1


def _number(digits: str, sign: str, following: str, token: str) -> tuple[Value, int]:
    """Return the value of a number with a sign or unit, or one in the next word, and the number of its tokens."""
    plain = digits.replace(",", "")
    scale = SCALES.get(sign) or SCALES.get(following)
    taken = 1
    if scale is not None and plain.isdecimal() and len(plain) < 10:
        plain, taken = str(int(plain) * scale), 1 + (sign not in SCALES)
        sign = "" if sign in SCALES else sign
    measured = UNITS.get(sign)
    if measured is None and taken == 1 and following in UNITS:
        measured, taken = UNITS[following], 2
        token = f"{token} {following}"
    kind, unit = measured or ("version" if plain.count(".") > 1 else "number", "")
    return Value(kind, plain + unit, token), taken


def _day(token: str) -> int | None:
    """Return a day of a month; None for other tokens."""
    digits = token[:-2] if token[-2:] in _ORDINAL else token
    return int(digits) if digits.isdecimal() and len(digits) < 3 and 1 <= int(digits) <= 31 else None


def _is_year(tokens: list[str], at: int) -> bool:
    return at < len(tokens) and len(tokens[at]) == 4 and tokens[at].isdecimal() and tokens[at][:2] in ("19", "20")
