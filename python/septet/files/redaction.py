"""Redactor: masks secrets in texts."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from septet._core import Redactions
from septet.errors import EntryError
from septet.files.chunking import encodable
from septet.files.secrets import RULES, RedactionRule
from septet.inputs.arguments import cut, listed, shown

#: Increment when the same rules find other secrets, after a change of a check.
_VERSION = 1
#: Maximum rules of a redactor, and characters of a pattern.
MOST_RULES = 1_000
MOST_PATTERN_CHARS = 10_000
#: Maximum texts of a call.
MOST_TEXTS = 1_000_000
_MASKS = ("hidden", "documented", "block")
_CHECKS = ("any", "value", "random", "mixed")


class Redacted(NamedTuple):
    """A text without its secrets.

    Attributes:
        text: the text with masked secrets.
        counts: number of secrets by rule, without zeros.
    """

    text: str
    counts: dict[str, int]


class Redactor:
    """Masks secrets in texts: keys, tokens, passwords, private keys, cookies, passwords in addresses.

    The rules are patterns that run in linear time on any text. A secret is replaced by ``***`` completely; line breaks
    stay, so line numbers do not change. Redaction is idempotent.

    Args:
        rules: ``default``, or ``literal``: the 16 rules first documented, which keep both ends of a long secret.
        add: extra rules, each a `RedactionRule` or a tuple or dict of its fields; they run first.
        without: names of rules to disable.

    Attributes:
        rules: the rules, in the order in which they run.
        identity: digest of the rules; another identity may mask other secrets.

    Raises:
        EntryError: an unknown set or name of rules, or a malformed rule.
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
        listed_rules = listed(add, "add", EntryError, "rules", MOST_RULES)
        added = tuple(_rule(rule) for rule in listed_rules)
        off: Any = [without] if isinstance(without, str) else without
        names = listed(off, "without", EntryError, "names of rules, as text", MOST_RULES, of=str)
        known = {rule.name for rule in RULES[rules]}
        for name in names:
            if not isinstance(name, str) or name not in known:
                raise EntryError(f"unknown rule {shown(name)} in without; available: {', '.join(sorted(known))}")
        self.rules: tuple[RedactionRule, ...] = (*added, *(rule for rule in RULES[rules] if rule.name not in names))
        self._settings = {"rules": rules, "add": [list(rule) for rule in added], "without": sorted(set(names))}
        if added:
            # Compile now, so that errors are raised here and not by the first text.
            _native(self.rules)
        definition = json.dumps([_VERSION, self.rules], ensure_ascii=True)
        self.identity = hashlib.sha256(definition.encode()).hexdigest()[:16]

    def __repr__(self) -> str:
        return f"Redactor({self._settings['rules']!r}, {len(self.rules)} rules)"

    @property
    def settings(self) -> dict[str, Any]:
        """Arguments of an equal redactor, as JSON values: ``Redactor(**settings)``."""
        return json.loads(json.dumps(self._settings))  # type: ignore[no-any-return]

    def redact(self, text: str) -> Redacted:
        """Return a text without its secrets, with counts by rule.

        Lone surrogates become U+FFFD, as they cannot be encoded.

        Raises:
            EntryError: it is not a text.
        """
        masked, counts = _native(self.rules).redact(_checked(text, "text"))
        return Redacted(masked, self._named(counts) if any(counts) else {})

    def redact_all(self, texts: Sequence[str]) -> list[tuple[int, Redacted]]:
        """Redact several texts; return position and result for each text with secrets.

        Raises:
            EntryError: it is not a list of texts.
        """
        checked = listed(texts, "texts", EntryError, "texts", MOST_TEXTS, of=str)
        rows = _native(self.rules).redact_all([_checked(text, "one of the texts") for text in checked])
        return [(position, Redacted(masked, self._named(counts))) for position, masked, counts in rows]

    def spans(self, text: str) -> tuple[list[tuple[int, int]], dict[str, int]]:
        """Return the spans of the secrets in a text, as start and end, ascending, with counts by rule.

        Raises:
            EntryError: it is not a text.
        """
        spans, counts = _native(self.rules).spans(_checked(text, "text"))
        return [(start, end) for start, end, _ in spans], self._named(counts)

    def _named(self, numbers: Sequence[int]) -> dict[str, int]:
        """Return counts by rule name; several rules may share a name."""
        counts = Counter[str]()
        for rule, count in zip(self.rules, numbers):
            if count:
                counts[rule.name] += count
        return dict(counts)


def joined(redactor: Redactor, settings: Mapping[str, Any] | None) -> Redactor:
    """Return a redactor that masks everything that a redactor or another one with the settings masks."""
    if settings is None:
        return redactor
    mine, theirs = redactor.settings, {"rules": "default", "add": [], "without": [], **settings}
    rules = mine["rules"] if mine["rules"] == theirs["rules"] else "default"
    more = [rule for rule in theirs["add"] if rule not in mine["add"]]
    off = [set(each["without"]) for each in (mine, theirs) if each["rules"] == rules]
    return Redactor(rules, add=[*mine["add"], *more], without=sorted(set.intersection(*off)))


def _checked(text: object, what: str) -> str:
    if not isinstance(text, str):
        raise EntryError(f"{what} is {shown(text)}: wanted text")
    return encodable(text)


def _rule(value: object) -> RedactionRule:
    """Return a rule, checked.

    Raises:
        EntryError: a malformed rule.
    """
    try:
        if isinstance(value, Mapping):
            rule = RedactionRule(**value)
        elif isinstance(value, (tuple, list)):
            rule = RedactionRule(*value)
        else:
            raise TypeError
    except TypeError:
        raise EntryError(f"a rule is {shown(value)}: wanted a RedactionRule, or name and pattern") from None
    if not all(isinstance(part, str) and part for part in rule):
        raise EntryError(f"a rule is {shown(tuple(rule))}: wanted texts, none of them empty")
    if rule.mask not in _MASKS or rule.check not in _CHECKS:
        known = f"masks are {', '.join(_MASKS)}; checks are {', '.join(_CHECKS)}"
        raise EntryError(f"rule {shown(rule.name)} has the mask {shown(rule.mask)}, check {shown(rule.check)}: {known}")
    if len(rule.pattern) > MOST_PATTERN_CHARS:
        raise EntryError(
            f"the pattern of rule {shown(rule.name)} has {len(rule.pattern):,} characters: at most "
            f"{MOST_PATTERN_CHARS:,} are allowed; split it into several rules"
        )
    return RedactionRule(*map(encodable, rule))


# Compiling takes 70 ms, most of the time of a sync without changes.
@lru_cache(8)
def _native(rules: tuple[RedactionRule, ...]) -> Redactions:
    try:
        return Redactions([rule[1:] for rule in rules])
    except ValueError:
        for rule in rules:
            try:
                Redactions([rule[1:]])
            except ValueError as fault:
                # The message begins with the pattern, over several lines.
                cause = str(fault).removeprefix("a pattern cannot be used: ").rpartition("\nerror: ")[2].rstrip(".")
                raise EntryError(
                    f"the pattern of rule {shown(rule.name)} cannot be used: {cut(cause)}; "
                    "patterns are of Rust's regex, without look-around"
                ) from None
        raise
