"""Queries: their words, code in them, and further ones.

Further ones are the rewritten query of a verification and follow-up queries; a question is routed by its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, TypeAlias

from septet import _core
from septet.errors import QueryError
from septet.inputs.arguments import flag, listed, real, shown, utf8, whole
from septet.retrieval.planning.policy import Policy, policy_of

#: Recorded tokens are ASCII; natural ones have letters and digits of every script.
_RECORDED = re.compile(r"[A-Za-z0-9_\-/.]+")
_TOKENS = re.compile(r"[\w\-/.]+")
#: Scripts without blanks between words; two of their characters count as a word.
_RUNS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")
#: Maximum characters searched: a query is not a document.
MOST_LOOKED_AT = 10_000

#: File extensions common in questions about code.
_ENDINGS = (
    "c cc cfg cpp cs css csv go h hpp html ini ipynb java js json jsx kt lock lua md php pl proto ps1 py pyi rb rs rst "
    "scala sh sql svelte swift toml ts tsx txt vue xml yaml yml zig"
).split()
#: Candidates for code, between blanks, quotes and letters of other scripts.
_PIECES = re.compile(r"[\w./\\:~()@-]+", re.ASCII)
_CODE = re.compile(
    r"""(?xa)
      [A-Za-z_]\w*(?:::~?[A-Za-z_]\w*)+                      # std::fs
    | [A-Za-z_][\w.]*\(\)                                    # close()
    | [A-Za-z][A-Za-z0-9]*(?:_+[A-Za-z0-9]+)+ | __?[a-z]\w+  # snake_case, __init__
    | [a-z]{2,}[0-9]*[A-Z][a-z]\w*                          # getUser
    | [A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+){2,}                  # MemorySearchEngine
    | [A-Za-z_]\w+(?:\.[A-Za-z_]\w+){2,}                    # os.path.join
    | (?:\.{0,2}/|~/|[A-Za-z]:\\)[\w.-]+(?:[/\\][\w.-]+)*  # ./run.sh, /etc/hosts
    | [\w.-]+(?:/[\w.-]+){2,}/?                             # crates/core/src
    | (?!(?i:d3|express|next|node|nuxt|three|vue)\.js)      # not the products
      [\w.-]+(?:/[\w.-]+)*\.(?:"""
    + "|".join(_ENDINGS)
    + ")"
)
#: Maximum characters of a name.
MOST_NAME = 200


def normalized(query: str) -> str:
    """Return the query stripped, with runs of blanks collapsed."""
    return " ".join(query.split())


def tokens_of(query: str, recorded: bool = False) -> list[str]:
    """Return the tokens of a query in lower case: runs of letters, digits and ``_ - / .``.

    Hyphens around a token and full stops at its end are stripped. With ``recorded``, only ASCII letters and digits
    count, as recorded, so that other letters split words.
    """
    if recorded:
        return [_lower(token) for token in _RECORDED.findall(query)]
    tokens = []
    for run in _TOKENS.findall(query):
        token = run.strip("-").rstrip("./-")
        if token.strip("_"):
            tokens.append(token.lower())
    return tokens


def length_of(query: str) -> int:
    """Return the number of words; in scripts without blanks, two characters count as one."""
    words = 0
    for token in tokens_of(query):
        runs = _RUNS.findall(token)
        words += sum([(len(run) + 1) // 2 for run in runs]) if runs else 1
    return words


def found_in(query: str, words: Iterable[str], recorded: bool = False) -> list[str]:
    """Return the given words that occur in a query, in their order, ignoring case: whole words, also in the plural.

    A word may be a phrase, or a part that begins or ends with another sign, such as ``src/``. With ``recorded``, any
    substring counts, as recorded: ``file`` occurs in ``profile``.
    """
    if recorded:
        lowered = _lower(query)
        return [word for word in words if word in lowered]
    text = query[:MOST_LOOKED_AT]
    return [word for word in words if _pattern(word).search(text)]


def code_in(query: str) -> list[str]:
    """Return the code in a query, in order: paths, names of files, ``a::b``, ``f()``, snake_case and CamelCase.

    Names of two humps, such as GitHub and PyTorch, are skipped: they are often brands.
    """
    names: dict[str, None] = {}
    for piece in _PIECES.findall(query[:MOST_LOOKED_AT]):
        name = piece if piece.isalnum() else _bare(piece)
        if len(name) <= MOST_NAME and _CODE.fullmatch(name):
            names[name] = None
    return [*names]


def _bare(piece: str) -> str:
    """Strip the brackets and stops around a piece."""
    bare = piece.lstrip("(").rstrip(".:-")
    closing = bare.count(")") - bare.count("(")
    return bare[:-closing].rstrip(".:-") if closing > 0 and bare.endswith(")" * closing) else bare


def _lower(text: str) -> str:
    return "".join(c.lower() if c.isascii() else c for c in text)


@lru_cache(maxsize=1_024)
def _pattern(word: str) -> re.Pattern[str]:
    # An underscore ends a word: `file_path` has both.
    text = r"\s+".join(re.escape(part) for part in word.split())
    if word[-1].isalpha():
        text = f"{text[:-1]}(?:y|ies)" if word.endswith("y") else f"{text}(?:e?s)?"
    before = r"(?<![^\W_])" if word[0].isalnum() else ""
    after = r"(?![^\W_])" if word[-1].isalnum() else ""
    return re.compile(before + text + after, re.IGNORECASE)


#: The source of an answer.
Route: TypeAlias = Literal["retrieve", "in_context", "web_search"]

#: Tokens up to this many bytes are dropped; a character of a script without blanks has more.
SHORT_BYTES = 2
#: Maximum snippets searched for names, and maximum characters of each.
MOST_SNIPPETS, MOST_CHARS = 5, 10_000
MOST_CLUES = 10_000
LEAST_LETTERS = 4
#: Endings of queries about contradictory hits, about weak hits, and as the last resort.
CONFLICT = "conflicting evidence source comparison"
WEAK = ("primary source evidence", "independent corroborating sources")
BROAD = ("latest developments", "detailed comparison")

_RECORDED_NAMES = re.compile(r"[A-Z][a-z]{3,}(?:\s[A-Z][a-z]{3,})*")
_WORDS = re.compile(r"[^\W\d_]+")


class Clue(NamedTuple):
    """The part of a hit that a follow-up query uses.

    Attributes:
        score: of the hit, 0 to 1; None if unknown.
        snippet: its text.
        contradiction: True if it contradicts another hit.
    """

    score: float | None
    snippet: str
    contradiction: bool = False


def rewritten_query(query: str, policy: Policy | None = None) -> str | None:
    """Return the query of a verification: the tokens of a query in lower case, without short ones and stop words.

    With `Policy.words` ``substring``, tokens are as recorded: letters outside ASCII split words. None if no token
    remains.
    """
    policy = policy_of(policy)
    tokens = tokens_of(utf8(query, "query", QueryError), recorded=policy.words == "substring")
    stop = {word.lower() for word in policy.verification_stop_words}
    words = [token for token in tokens if len(token.encode()) > SHORT_BYTES and token not in stop]
    return " ".join(words) or None


def follow_up_queries(query: str, clues: Sequence[Clue], policy: Policy | None = None) -> tuple[str, ...]:
    """Return the follow-up queries of hits, best first, at most `Policy.follow_up_max_queries`.

    The query extended by each new name in the first five snippets (capitalised words of four letters or more, and
    runs of them); then for contradictions a comparison; then, if the mean score is under `Policy.follow_up_weak_score`,
    primary and further sources; if there are none of these, two broad ones. With `Policy.words` ``substring``, names
    are as recorded: ASCII, also inside words, and words such as ``This``.

    Raises:
        QueryError: the query is not text, or a score is not finite.
    """
    policy = policy_of(policy)
    query = normalized(utf8(query, "query", QueryError))
    clues = listed(clues, "clues", QueryError, "what hits tell, as Clue values", MOST_CLUES, of=Clue)
    if wrong := [clue for clue in clues if not isinstance(clue, Clue)]:
        raise QueryError(f"clues has {shown(wrong[0])}: wanted Clue(score, snippet)")
    most = policy.follow_up_max_queries
    queries: dict[str, str] = {}
    for clue in clues[:MOST_SNIPPETS]:
        for name in _names(clue.snippet, policy):
            if len(queries) < most and name.lower() not in query.lower():
                _put(queries, query, name)
    if any(clue.contradiction for clue in clues):
        _put(queries, query, CONFLICT)
    scores = [real(clue.score, "a score", QueryError) for clue in clues if clue.score is not None]
    if not clues or (scores and sum(scores) / len(scores) < policy.follow_up_weak_score):
        for ending in WEAK:
            _put(queries, query, ending)
    if not queries:
        for ending in BROAD:
            _put(queries, query, ending)
    return tuple(queries.values())[:most]


def continues(quality: float | None, hops_left: int, policy: Policy | None = None) -> bool:
    """Return True if hops remain and the quality is below `Policy.follow_up_target_quality`.

    An unknown quality is not below it.

    Raises:
        QueryError: the quality is not finite, or the hops are negative.
    """
    remaining = whole(hops_left, "hops_left", QueryError, 0)
    target = policy_of(policy).follow_up_target_quality
    return quality is not None and real(quality, "quality", QueryError) < target and remaining > 0


def route(query: str, policy: Policy | None = None, *, complex_task: bool = False) -> Route:
    """Return the route of a question, by the words of `Policy.route_web_words` and the phrases listed after them.

    This is advice for an agent; a plan uses the web only if the policy allows it. ``complex_task``, moderate complexity
    or more, routes to the web.

    Raises:
        QueryError: the query is not text.
    """
    policy = policy_of(policy)
    text = normalized(utf8(query, "query", QueryError))
    flag(complex_task, "complex_task", QueryError)
    recorded = policy.words == "substring"
    if complex_task or found_in(text, policy.route_web_words, recorded):
        return "web_search"
    return "in_context" if found_in(text, policy.route_context_phrases, recorded) else "retrieve"


def _put(queries: dict[str, str], query: str, ending: str) -> None:
    whole_query = f"{query} {ending}" if query else ending
    queries.setdefault(whole_query.lower(), whole_query)


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
    """Return True if a run of letters is part of a longer name, such as one with digits or underscores."""
    before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
    return any(c.isalnum() or c == "_" for c in (before, after))
