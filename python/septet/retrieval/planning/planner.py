"""Which corpora a query is asked of, how, and why: the documented heuristics."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Literal

from septet.errors import QueryError
from septet.inputs.arguments import flag, listed, shown, utf8
from septet.retrieval.corpus import RetrievalMode
from septet.retrieval.planning.plan import (
    CORPORA,
    INTENTS,
    LOCAL,
    MODES,
    Intent,
    Override,
    RetrievalPlan,
    backends_of,
    one_of,
)
from septet.retrieval.planning.policy import Policy, policy_of
from septet.retrieval.planning.query_words import code_in, found_in, length_of, normalized, tokens_of

__all__ = ["CORPORA", "INTENTS", "MODES", "Intent", "Override", "RetrievalPlan", "looks_like_code", "plan"]

#: Asked with the document chunks where a retriever has them.
BESIDE_CHUNKS = ("docs_mirror", "remote")
#: Asked by name alone.
BY_NAME = {"semantic_files": "it ranks the same paths as repo_inventory, and is asked by name alone"}

_ASKED: Mapping[Intent, tuple[str, ...]] = {
    "factual_lookup": (*LOCAL, "repo_inventory", "web_research"),
    "broad_research": (*LOCAL, "repo_inventory", "web_research"),
    "code_navigation": ("symbol_proximity", "repo_inventory", "document_chunks", "knowledge_graph", "memory"),
    "repo_structure": ("repo_inventory", *LOCAL),
    "verification": LOCAL,
}
_NOTES: Mapping[Intent, str] = {
    "factual_lookup": "a question of few words is asked of everything local, by words and by vectors",
    "broad_research": "a question of many words is asked of everything local, by words and by vectors",
    "code_navigation": "a question about code is asked of symbols and paths first",
    "repo_structure": "a question about a repository as a whole is asked of its paths first",
    "verification": "a verification asks broadly once more before an answer",
}
#: The recorded test for code after a search differs from that of the plan by these.
_RECORDED_AFTER = (frozenset({"defined"}), ("impl",))
MOST_CORPORA, MOST_NAME = 64, 200
#: Those of a retriever: its own, and as many as a caller may bring along.
MOST_AVAILABLE = 1_000


def plan(
    query: str,
    *,
    policy: Policy | None = None,
    verification: bool = False,
    mode: RetrievalMode | None = None,
    corpora: Iterable[str] | None = None,
    intent: Intent | None = None,
    words: Literal["whole", "substring"] | None = None,
    available: Collection[str] | None = None,
) -> RetrievalPlan:
    """Return the plan for a query, by the documented heuristics. The first rule that fits decides.

    1. A verification asks the three local corpora, by words and by vectors.
    2. A word of `Policy.code_words` or a part of `Policy.code_marks`: ``code_navigation``. With `Policy.identifiers`
       whatever looks like code counts too, in every language.
    3. A word of `Policy.structure_words`: ``repo_structure``.
    4. More than `Policy.broad_tokens` words: ``broad_research``; else ``factual_lookup``.

    The lists are English: a query in another language is told from the others by 4, and by what looks like code.

    Args:
        query: the text.
        policy: lists, modes and switches; the documented ones by default.
        verification: this is a second look; `mode` and `intent` are not used then.
        mode: in place of the planned one.
        corpora: names, in place of the planned ones. The web is asked only if the policy allows it.
        intent: in place of the one that the rules find; mode and corpora follow it.
        words: in place of `Policy.words`.
        available: the names of the corpora that there are. The plan asks no others, and adds those of your own.

    Raises:
        QueryError: an argument cannot be, or names a corpus that there is not.
    """
    text = normalized(utf8(query, "query", QueryError))
    policy = policy_of(policy)
    flag(verification, "verification", QueryError)
    if words is not None:
        policy = replace(policy, words=one_of(words, "words", ("whole", "substring")))
    if mode is not None:
        one_of(mode, "mode", MODES)
    if intent is not None:
        one_of(intent, "intent", INTENTS)
    there = None if available is None else _names(available, "available", MOST_AVAILABLE)
    named = None if corpora is None else _names(corpora, "corpora", MOST_CORPORA)
    found: Intent = "verification"
    why = "it verifies an answer"
    if not verification:
        found, why = _intent_of(text, policy)
    overrides, notes = [], []
    if intent is not None and intent != found and not verification:
        overrides.append(Override("intent", found, intent))
        found, why = intent, "the caller names this intent"
    verifies = found == "verification"
    chosen: RetrievalMode = _mode_of(policy) if found == "code_navigation" else "hybrid"
    if verification and mode not in (None, chosen):
        notes.append(f"mode {mode} is not used: a verification is hybrid")
    elif mode is not None and mode != chosen:
        overrides.append(Override("mode", chosen, mode))
        chosen = mode
    asked, reasons = _chosen(_ASKED[found], why, policy, there)
    if named is not None:
        planned = asked
        asked, reasons = _named(named, asked, policy, there)
        if asked != planned:
            overrides.append(Override("corpora", ", ".join(planned), ", ".join(named)))
    notes.insert(0, _NOTES[found])
    if not text.isascii() and not any(c.isascii() and c.isalpha() for c in text):
        notes.append("the lists of words are English: only length and what looks like code tell this query's intent")
    if not asked:
        notes.append("no corpus is left to ask")
    return RetrievalPlan(
        normalized_query=text,
        intent=found,
        mode=chosen,
        corpora=asked,
        preferred_backends=_preferred(asked, chosen, found, policy, overridden=named is not None),
        allow_verification_pass=not verifies,
        rationale=(f"intent={found}: {why}", f"mode={chosen}", f"corpora=[{', '.join(asked)}]"),
        notes=tuple(notes),
        overrides=tuple(overrides),
        reasons=tuple(reasons.items()),
        policy_version=policy.version,
    )


def looks_like_code(query: str, policy: Policy | None = None) -> bool:
    """Say whether a query is about code, by the rule of `plan`; so judged, a lone corpus leads to the repository.

    With `Policy.words` ``substring`` the recorded rule is used, which has ``impl`` and lacks ``defined``.
    """
    text = normalized(utf8(query, "query", QueryError))
    policy = policy_of(policy)
    if policy.words == "substring":
        without, besides = _RECORDED_AFTER
        kept = [word for word in policy.code_words if word not in without]
        return bool(found_in(text, (*kept, *policy.code_marks, *besides), recorded=True))
    return bool(_code_of(text, policy))


def _code_of(text: str, policy: Policy) -> list[str]:
    recorded = policy.words == "substring"
    found = found_in(text, (*policy.code_words, *policy.code_marks), recorded)
    return found or (code_in(text) if policy.identifiers else [])


def _intent_of(text: str, policy: Policy) -> tuple[Intent, str]:
    recorded = policy.words == "substring"
    if found := _code_of(text, policy):
        return "code_navigation", f"it has {shown(found[0])}, as questions about code do"
    if found := found_in(text, policy.structure_words, recorded):
        return "repo_structure", f"it has {shown(found[0])}, as questions about a repository do"
    words = len(tokens_of(text, True)) if recorded else length_of(text)
    if words > policy.broad_tokens:
        return (
            "broad_research",
            f"it has no word of the lists, and is longer than {policy.broad_tokens} words ({words})",
        )
    return "factual_lookup", f"it has no word of the lists, and is no longer than {policy.broad_tokens} words ({words})"


def _mode_of(policy: Policy) -> RetrievalMode:
    return next(mode for mode in MODES if mode == policy.code_mode)


def _chosen(
    wanted: tuple[str, ...], why: str, policy: Policy, there: tuple[str, ...] | None
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the corpora to ask by the rules, and for each why, or why not."""
    asked: list[str] = []
    reasons: dict[str, str] = {}
    for name in wanted:
        beside = BESIDE_CHUNKS if name == "document_chunks" else ()
        for one in (name, *beside):
            if there is not None and one not in there:
                reasons[one] = "there is no such corpus here"
            elif one in beside and there is None:
                reasons[one] = "it is asked where it is known to be there"
            elif one == "web_research" and not policy.web_enabled:
                reasons[one] = "the policy keeps the web off (web_enabled)"
            else:
                asked.append(one)
                reasons[one] = f"beside {name}: {why}" if one in beside else why
    for name in (one for one in there or () if one not in CORPORA):
        asked.append(name)
        reasons[name] = "corpora of your own are asked always"
    for name in CORPORA:
        if name not in reasons:
            missing = there is not None and name not in there
            said = "there is no such corpus here" if missing else f"{why}, and such questions are not asked of it"
            reasons[name] = said if missing else BY_NAME.get(name, said)
    return tuple(asked), reasons


def _named(
    named: tuple[str, ...], planned: tuple[str, ...], policy: Policy, there: tuple[str, ...] | None
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the corpora that a caller names, and for each why, or why not."""
    known = CORPORA if there is None else there
    if there is not None and (unknown := [name for name in named if name not in there]):
        raise QueryError(f"corpora has {shown(unknown[0])}: wanted some of {', '.join(there) or 'none'}")
    reasons = dict.fromkeys([*known, *planned], "the caller names others")
    reasons.update(dict.fromkeys(named, "the caller names it"))
    if "web_research" in named and not policy.web_enabled:
        reasons["web_research"] = "the caller names it, and the policy keeps the web off (web_enabled)"
        named = tuple(name for name in named if name != "web_research")
    return named, reasons


def _preferred(
    asked: tuple[str, ...], mode: RetrievalMode, intent: Intent, policy: Policy, *, overridden: bool
) -> tuple[str, ...]:
    if policy.words == "substring" and not overridden:
        # As recorded, by the intent: a mode that was asked for changes nothing.
        if intent == "verification":
            return RetrievalPlan.preferred_backends
        return backends_of(asked, "full_text" if intent == "code_navigation" else "hybrid")
    return backends_of(asked, mode)


def _names(values: object, what: str, most: int) -> tuple[str, ...]:
    names = [
        utf8(name, f"a name in {what}", QueryError, MOST_NAME)
        for name in listed(values, what, QueryError, "names of corpora", most)
    ]
    if not all(name.strip() and name.isprintable() for name in names):
        raise QueryError(f"{what} is {shown(values)}: wanted printable names of corpora")
    return tuple(dict.fromkeys(names))
