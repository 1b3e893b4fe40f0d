"""Parsing of times: ISO dates, with or without a zone, and epoch numbers."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone

from septet.errors import EntryError
from septet.inputs.arguments import END_OF_DATES, exact, shown

# Patterns are texts, which `re` compiles at their first use: most processes show times, and read none.
_ISO = (
    r"(?a)(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?\s?(?:([Zz])|([+-])(\d\d):?(\d\d)?)?)?"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_NUMBER = r"(?a)[+-]?\d{1,15}(?:\.\d{1,9})?"


class Times:
    """Parses the times of records, and counts guesses.

    Attributes:
        zoneless: times without a zone, taken as UTC.
        millis: numbers taken as milliseconds.
    """

    def __init__(self) -> None:
        self.zoneless = 0
        self.millis = 0

    def epoch(self, value: object, name: str) -> object:
        """Return a time as epoch seconds or a datetime with a zone; other values are returned for the full checks.

        Raises:
            EntryError: a text that is not a time.
        """
        value = exact(value)
        if isinstance(value, str):
            text = value.strip()
            if not text:
                return None
            return self._seconds(float(text)) if re.fullmatch(_NUMBER, text) else self._aware(_parsed(text, name))
        if isinstance(value, datetime):
            return self._aware(value)
        if isinstance(value, date):
            return self._aware(datetime(value.year, value.month, value.day))
        return self._seconds(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value

    def notes(self) -> list[str]:
        """Return the guesses as sentences."""
        notes = []
        if self.zoneless:
            notes.append(f"{self.zoneless:,} times without a zone were taken as UTC")
        if self.millis:
            notes.append(f"{self.millis:,} numbers past the year 9999 were taken as milliseconds")
        return notes

    def _aware(self, value: datetime) -> datetime:
        if value.tzinfo is not None:
            return value
        self.zoneless += 1
        return value.replace(tzinfo=timezone.utc)

    def _seconds(self, value: float) -> float:
        if END_OF_DATES <= value < END_OF_DATES * 1_000:
            self.millis += 1
            return value / 1_000
        return value


def utc_time(epoch: float) -> datetime:
    """Return epoch seconds as a time in UTC (`OverflowError`, `ValueError` outside years 1 to 9999).

    Windows refuses `datetime.fromtimestamp` before 1970.
    """
    return _EPOCH + timedelta(seconds=epoch)


def iso_time(epoch: float) -> str:
    """Return epoch seconds as ISO text in UTC; as a number of seconds where no date is so early or late."""
    try:
        return utc_time(epoch).isoformat().replace("+00:00", "Z")
    except (OverflowError, OSError, ValueError):
        return repr(float(epoch))


def _parsed(text: str, name: str) -> datetime:
    # `datetime.fromisoformat` takes "Z" and short fractions only from Python 3.11 on.
    match = re.fullmatch(_ISO, text)
    if match is not None:
        year, month, day, hour, minute, second, fraction, utc, sign, hours, minutes = match.groups()
        zone = timezone.utc if utc else None
        try:
            if sign:
                offset = timedelta(hours=int(hours), minutes=int(minutes or 0))
                zone = timezone(-offset if sign == "-" else offset)
            micros = int((fraction or "0").ljust(6, "0")[:6])
            clock = int(hour or 0), int(minute or 0), int(second or 0), micros, zone
            return datetime(int(year), int(month), int(day), *clock)
        except ValueError:
            pass
    raise EntryError(
        f"{name} is {shown(text)}: wanted an ISO date such as 2024-05-31 or 2024-05-31T12:00:00Z, or epoch seconds"
    )
