"""What is asked next: the rewritten query of a verification, follow-up queries, and where a question belongs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from septet import _core
from septet.errors import QueryError
from septet.inputs.arguments import flag, listed, real, shown, utf8, whole
from septet.retrieval.planning.policy import Policy, policy_of
from septet.retrieval.planning.query_words import found_in, normalized, tokens_of

__all__ = ["Clue", "Route", "continues", "follow_up_queries", "rewritten_query", "route"]

#: Where the answer of a question is.
Route: TypeAlias = Literal["retrieve", "in_context", "web_search"]

#: A rewritten query has tokens of more bytes, so that a single character of a script without blanks is one.
SHORT_BYTES = 2
#: Names are looked for in so many snippets, and in so many characters of each.
MOST_SNIPPETS, MOST_CHARS = 5, 10_000
MOST_CLUES = 10_000
LEAST_LETTERS = 4
#: What is asked about hits that contradict, about weak ones, and where nothing else is to be asked.
CONFLICT = "conflicting evidence source comparison"
WEAK = ("primary source evidence", "independent corroborating sources")
BROAD = ("latest developments", "detailed comparison")

_RECORDED_NAMES = re.compile(r"[A-Z][a-z]{3,}(?:\s[A-Z][a-z]{3,})*")
_WORDS = re.compile(r"[^\W\d_]+")


class Clue(NamedTuple):
    """What a hit tells a follow-up query.

    Attributes:
        score: of the hit, 0 to 1; None where it is unknown.
        snippet: its text.
        contradiction: it contradicts another one.
    """

    score: float | None
    snippet: str
    contradiction: bool = False


def rewritten_query(query: str, policy: Policy | None = None) -> str | None:
    """Return what a verification asks: the tokens of a query in lower case, without short ones and stop words.

    Args:
        query: the text.
        policy: has the stop words. With `Policy.words` ``substring``, tokens are as recorded: all but ASCII letters
            cuts words in pieces.

    Returns:
        The tokens; None if none is left.
    """
    policy = policy_of(policy)
    tokens = tokens_of(utf8(query, "query", QueryError), recorded=policy.words == "substring")
    stop = {word.lower() for word in policy.verification_stop_words}
    kept = [token for token in tokens if len(token.encode()) > SHORT_BYTES and token not in stop]
    return " ".join(kept) or None


def follow_up_queries(query: str, clues: Sequence[Clue], policy: Policy | None = None) -> tuple[str, ...]:
    """Return what to ask next about what was found, at most `Policy.follow_up_max_queries`.

    The query with each name from the first five snippets that it lacks (capitalised words of four letters or more, and
    runs of them); then for contradictions a comparison; then, if the mean score is under `Policy.follow_up_weak_score`,
    primary and further sources; if all this gives nothing, two broad ones.

    Args:
        query: the text.
        clues: of the hits, best first. Unknown scores do not count in the mean.
        policy: its numbers. With `Policy.words` ``substring``, names are as recorded: ASCII, also inside words, and
            words such as ``This``.

    Raises:
        QueryError: the query is no text, or a score no finite number.
    """
    policy = policy_of(policy)
    query = normalized(utf8(query, "query", QueryError))
    clues = listed(clues, "clues", QueryError, "what hits tell, as Clue values", MOST_CLUES, of=Clue)
    if wrong := [clue for clue in clues if not isinstance(clue, Clue)]:
        raise QueryError(f"clues has {shown(wrong[0])}: wanted Clue(score, snippet)")
    most = policy.follow_up_max_queries
    asked: dict[str, str] = {}
    for clue in clues[:MOST_SNIPPETS]:
        for name in _names(clue.snippet, policy):
            if len(asked) < most and name.lower() not in query.lower():
                _put(asked, query, name)
    if any(clue.contradiction for clue in clues):
        _put(asked, query, CONFLICT)
    scores = [real(clue.score, "a score", QueryError) for clue in clues if clue.score is not None]
    if not clues or (scores and sum(scores) / len(scores) < policy.follow_up_weak_score):
        for ending in WEAK:
            _put(asked, query, ending)
    if not asked:
        for ending in BROAD:
            _put(asked, query, ending)
    return tuple(asked.values())[:most]


def continues(quality: float | None, hops_left: int, policy: Policy | None = None) -> bool:
    """Say whether a further hop is made: hops are left, and the quality is under `Policy.follow_up_target_quality`.

    An unknown quality is under no target.

    Raises:
        QueryError: the quality is no finite number, or the hops are negative.
    """
    left = whole(hops_left, "hops_left", QueryError, 0)
    target = policy_of(policy).follow_up_target_quality
    return quality is not None and real(quality, "quality", QueryError) < target and left > 0


def route(query: str, policy: Policy | None = None, *, complex_task: bool = False) -> Route:
    """Return where the answer of a question is, by the words of `Policy.route_web_words` and phrases after them.

    It advises an agent; a plan leaves the web out unless the policy allows it, whatever the route.

    Args:
        query: the text.
        policy: has the lists; see `Policy.words` for how they are compared.
        complex_task: the task is of moderate complexity or more, which leads to the web.

    Raises:
        QueryError: the query is no text.
    """
    policy = policy_of(policy)
    text = normalized(utf8(query, "query", QueryError))
    flag(complex_task, "complex_task", QueryError)
    recorded = policy.words == "substring"
    if complex_task or found_in(text, policy.route_web_words, recorded):
        return "web_search"
    return "in_context" if found_in(text, policy.route_context_phrases, recorded) else "retrieve"


def _put(asked: dict[str, str], query: str, ending: str) -> None:
    whole_query = f"{query} {ending}" if query else ending
    asked.setdefault(whole_query.lower(), whole_query)


def _names(snippet: str, policy: Policy) -> Iterable[str]:
    if not isinstance(snippet, str):
        raise QueryError(f"a snippet is {shown(snippet)}: wanted text")
    text = snippet[:MOST_CHARS]
    if policy.words == "substring":
        return dict.fromkeys(_RECORDED_NAMES.findall(text))
    return dict.fromkeys(_runs(text))


def _runs(text: str) -> Iterable[str]:
    """Return runs of capitalised words with one blank between them."""
    stop = _core.stop_words()
    run: list[str] = []
    end = -1
    for match in _WORDS.finditer(text):
        word = match.group()
        named = len(word) >= LEAST_LETTERS and word[0].isupper() and word[1:].islower() and word.lower() not in stop
        joined = run and match.start() == end + 1 and text[end].isspace()
        if run and not (named and joined):
            yield " ".join(run)
            run = []
        if named and not _glued(text, match):
            run.append(word)
            end = match.end()
    if run:
        yield " ".join(run)


def _glued(text: str, match: re.Match[str]) -> bool:
    """Say whether a run of letters is part of a longer name, such as one with digits or underscores."""
    before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    return any(c.isalnum() or c == "_" for c in (before, after))
