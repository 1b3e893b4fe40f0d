"""Redactor: masks secrets in texts before anything else sees them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from septet._core import Redactions
from septet.errors import EntryError
from septet.files.secrets import RULES, RedactionRule
from septet.inputs.arguments import cut, listed, shown

__all__ = ["Redacted", "RedactionRule", "Redactor", "encodable", "joined"]

#: Raised when a check changes what the same rules find.
_VERSION = 1
#: So many rules a redactor takes, and characters a pattern.
MOST_RULES = 1_000
MOST_PATTERN_CHARS = 10_000
#: So many texts at once.
MOST_TEXTS = 1_000_000
_MASKS = ("hidden", "documented", "block")
_CHECKS = ("any", "value", "random", "mixed")


class Redacted(NamedTuple):
    """A text without its secrets.

    Attributes:
        text: the text, with a mask in place of each secret.
        counts: how many each rule found, by its name; rules that found none are left out.
    """

    text: str
    counts: dict[str, int]


class Redactor:
    """Masks secrets in texts: keys, tokens, passwords, private keys, cookies, passwords in addresses.

    The rules are patterns that run in linear time on any text. A secret becomes ``***``, and nothing of it stays; line
    breaks stay where they were, so lines keep their numbers. A text that was redacted is not changed again.

    Args:
        rules: ``default``, or ``literal``: the 16 rules first documented, which keep both ends of a long secret.
        add: more rules, each a `RedactionRule` or a tuple or dict of its fields; they run first.
        without: names of rules to switch off.

    Attributes:
        rules: the rules, in the order in which they run.
        identity: a digest of the rules; texts redacted under another one may differ.

    Raises:
        EntryError: a set of rules or a name is unknown, or a rule malformed.
    """

    def __init__(
        self,
        rules: str = "default",
        *,
        add: Iterable[RedactionRule | Sequence[str] | Mapping[str, str]] = (),
        without: str | Iterable[str] = (),
    ) -> None:
        if not isinstance(rules, str) or rules not in RULES:
            raise EntryError(f"rules is {shown(rules)}: known are {', '.join(RULES)}")
        given = listed(add, "add", EntryError, "rules", MOST_RULES)
        own = tuple(_rule(one) for one in given)
        off: Any = [without] if isinstance(without, str) else without
        names = listed(off, "without", EntryError, "names of rules, as text", MOST_RULES, of=str)
        known = {rule.name for rule in RULES[rules]}
        for name in names:
            if not isinstance(name, str) or name not in known:
                raise EntryError(f"without names {shown(name)}: known are {', '.join(sorted(known))}")
        self.rules: tuple[RedactionRule, ...] = (*own, *(rule for rule in RULES[rules] if rule.name not in names))
        self._settings = {"rules": rules, "add": [list(rule) for rule in own], "without": sorted(set(names))}
        if own:
            # What is wrong with them is said here, not by the first text.
            _native(self.rules)
        said = json.dumps([_VERSION, self.rules], ensure_ascii=True)
        self.identity = hashlib.sha256(said.encode()).hexdigest()[:16]

    def __repr__(self) -> str:
        return f"Redactor({self._settings['rules']!r}, {len(self.rules)} rules)"

    @property
    def settings(self) -> dict[str, Any]:
        """What makes the same redactor again, as values of JSON: ``Redactor(**settings)``."""
        return json.loads(json.dumps(self._settings))  # type: ignore[no-any-return]

    @property
    def _native(self) -> Redactions:
        return _native(self.rules)

    def redact(self, text: str) -> Redacted:
        """Return a text without its secrets, and how many each rule found.

        Half characters (surrogates that stand alone) become U+FFFD, for no file can hold them.

        Raises:
            EntryError: it is no text.
        """
        if not isinstance(text, str):
            raise EntryError(f"text is {shown(text)}: wanted text")
        made, found = self._native.redact(encodable(text))
        return Redacted(made, self._named(found) if any(found) else {})

    def redact_all(self, texts: Sequence[str]) -> list[tuple[int, Redacted]]:
        """Return of those texts that hold secrets the position and what `redact` makes of them.

        Raises:
            EntryError: it is no list of texts.
        """
        given = listed(texts, "texts", EntryError, "texts", MOST_TEXTS, of=str)
        for text in given:
            if not isinstance(text, str):
                raise EntryError(f"one of the texts is {shown(text)}: wanted text")
        found = self._native.redact_all([encodable(text) for text in given])
        return [(at, Redacted(made, self._named(counts))) for at, made, counts in found]

    def spans(self, text: str) -> tuple[list[tuple[int, int]], dict[str, int]]:
        """Return where in a text secrets are, each its start and end, ascending, and how many each rule found.

        Raises:
            EntryError: it is no text.
        """
        if not isinstance(text, str):
            raise EntryError(f"text is {shown(text)}: wanted text")
        spans, found = self._native.spans(encodable(text))
        return [(start, end) for start, end, _ in spans], self._named(found)

    def _named(self, found: Sequence[int]) -> dict[str, int]:
        """Return counts by the names of the rules; several rules may share one."""
        counts: dict[str, int] = {}
        for rule, count in zip(self.rules, found):
            if count:
                counts[rule.name] = counts.get(rule.name, 0) + count
        return counts


def joined(redactor: Redactor, settings: Mapping[str, Any] | None) -> Redactor:
    """Return a redactor that masks what one does, and what one of other settings (None: of no) would."""
    if settings is None:
        return redactor
    mine, theirs = redactor.settings, {"rules": "default", "add": [], "without": [], **settings}
    rules = mine["rules"] if mine["rules"] == theirs["rules"] else "default"
    more = [rule for rule in theirs["add"] if rule not in mine["add"]]
    off = [set(given["without"]) for given in (mine, theirs) if given["rules"] == rules]
    return Redactor(rules, add=[*mine["add"], *more], without=sorted(set.intersection(*off)))


def encodable(text: str) -> str:
    """Return a text with U+FFFD for surrogates that stand alone."""
    # Any `str` of a subclass becomes a plain one.
    text = str.__str__(text)
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def _rule(given: object) -> RedactionRule:
    """Return a rule, checked.

    Raises:
        EntryError: it is malformed.
    """
    try:
        if isinstance(given, Mapping):
            rule = RedactionRule(**given)
        elif isinstance(given, (tuple, list)):
            rule = RedactionRule(*given)
        else:
            raise TypeError
    except TypeError:
        raise EntryError(f"a rule is {shown(given)}: wanted a RedactionRule, or name and pattern") from None
    if not all(isinstance(part, str) and part for part in rule):
        raise EntryError(f"a rule is {shown(tuple(rule))}: wanted texts, none of them empty")
    if rule.mask not in _MASKS or rule.check not in _CHECKS:
        known = f"masks are {', '.join(_MASKS)}; checks are {', '.join(_CHECKS)}"
        raise EntryError(f"rule {shown(rule.name)} has the mask {shown(rule.mask)}, check {shown(rule.check)}: {known}")
    if len(rule.pattern) > MOST_PATTERN_CHARS:
        raise EntryError(
            f"the pattern of rule {shown(rule.name)} has {len(rule.pattern):,} characters: the most is "
            f"{MOST_PATTERN_CHARS:,}; divide it among several rules"
        )
    return RedactionRule(*map(encodable, rule))


# Making one takes 70 ms: most of a sync of nothing new.
@lru_cache(8)
def _native(rules: tuple[RedactionRule, ...]) -> Redactions:
    try:
        return Redactions([rule[1:] for rule in rules])
    except ValueError:
        for rule in rules:
            try:
                Redactions([rule[1:]])
            except ValueError as fault:
                # Before that comes the pattern itself, over several lines.
                said = str(fault).removeprefix("a pattern cannot be used: ").rpartition("\nerror: ")[2].rstrip(".")
                raise EntryError(
                    f"the pattern of rule {shown(rule.name)} cannot be used: {cut(said)}; "
                    "patterns are of Rust's regex, without look-around"
                ) from None
        raise
