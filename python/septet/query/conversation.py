"""Questions about a conversation: their topic, requests, and standing instructions, in English."""

from __future__ import annotations

import re

# Patterns that few queries need are texts, which `re` compiles at their first use.
_SUMMARY = r"\bsummar(?:y|ies|i[sz]e\w*)\b|\boverview\b|\brecap\b"
_ORDER = r"\border in which\b|\bin (?:what |which |chronological )?order\b(?! to\b)"
_SUMMARIES = re.compile(_SUMMARY, re.IGNORECASE)
#: Queries that ask for a list of what was talked about.
_LISTING = re.compile(f"{_SUMMARY}|{_ORDER}", re.IGNORECASE)
#: Phrases of such a query that say nothing of its topic.
_FRAME = (
    r"(?i)\b(?:can you|could you|please|list|walk me through|go through|give me|provide|mention only(?: and only)?"
    r"(?: \w+ (?:items?|things|points))?|(?:the )?order in which|in (?:what |which |chronological )?order(?! to\b)"
    r"|i brought up|(?:different )?(?:aspects|parts) of"
    r"|(?:throughout|across|through|in|over|from|based on) our (?:\w+ )?"
    r"(?:conversations?|discussions?|chats?|sessions?)"
    rf"|(?:a |an |the )?(?:(?:clear|comprehensive|complete|detailed|quick|short|brief) )?(?:{_SUMMARY})(?: of)?"
    r"|over time|so far|how (?:i|we|my))\b"
)
#: Words that ask for help with what comes next.
_REQUEST = re.compile(
    r"\b(?:should (?:i|we)|(?:could|can|would|will) you|help (?:me|us)|suggest\w*|recommend\w*|show me|advice|tips"
    r"|i(?:'m|\u2019m| am) (?:planning|looking|trying|working|thinking|about to|going to)"
    r"|(?:i|we)(?:'d| would)? (?:want|need|like) to"
    r"|ways? to|how (?:do|can|to))\b"
    r"|^(?:please )?(?:add|build|change|create|debug|design|draft|explain|fix|generate|implement|improve|make|plan"
    r"|refactor|review|set up|show|test|update|write)\b",
    re.IGNORECASE,
)
#: Words that ask for what was said or done.
_PAST = (
    r"(?i)\b(?:did|was|were|had|have (?:i|we)|has (?:my|our)|do (?:i|we) have|am i|earlier|previously|discussed|said"
    r"|mentioned|told|brought up|how (?:many|much|long|often)|when (?:do|does|is|are)|what (?:is|are) (?:my|our))\b"
)
#: Instructions and preferences that hold until they are withdrawn.
_INSTRUCTION = (
    r"(?i)(?:^|[.!?:;\n]\s*|\bplease )(?:always|never)\b|\bfrom now on\b"
    r"|\b(?:i|we|user)(?:'d| would)? (?:always |strongly |really |much )?prefers?\b|\b(?:my|our) preferences?\b"
)
#: Words without which a text has none, and characters around them in which the pattern looks, as it takes longer.
_STANDING, _AROUND = ("always", "never", "prefer", "from now on"), 40
#: Maximum characters of a query that is a question, and of a text in which an instruction is looked for.
MOST_QUERY_CHARS, MOST_CHARS = 2_000, 20_000


def topic_of(query: str) -> str:
    """Return a query that asks for a summary or an order without the phrases that say so; others as they are."""
    if len(query) > MOST_QUERY_CHARS or _LISTING.search(query) is None:
        return query
    topic = re.sub(_FRAME, " ", query)
    return topic if any(map(str.isalnum, topic)) else query


def is_request(query: str) -> bool:
    """Return True if a query asks for help with what comes next, not for what was said."""
    query = query[:MOST_QUERY_CHARS]
    return bool(_REQUEST.search(query)) and not (re.search(_PAST, query) or _LISTING.search(query))


def is_summary(query: str) -> bool:
    """Return True if a query asks for a summary, which answers of an assistant are nearer to than questions."""
    return _SUMMARIES.search(query[:MOST_QUERY_CHARS]) is not None


def is_instruction(text: str) -> bool:
    """Return True if a text has a standing instruction or a preference: `always …`, `I prefer …`, `from now on …`."""
    lower = text[:MOST_CHARS].lower()
    for word in _STANDING:
        at = lower.find(word)
        while at >= 0:
            if re.compile(_INSTRUCTION).search(lower, max(0, at - _AROUND), at + _AROUND) is not None:
                return True
            at = lower.find(word, at + len(word))
    return False
