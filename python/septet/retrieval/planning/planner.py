"""Plans a query by the documented heuristics: corpora, mode and reasons."""

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
from septet.retrieval.planning.queries import code_in, found_in, length_of, normalized, tokens_of

#: Corpora searched beside the document chunks, if available.
BESIDE_CHUNKS = ("docs_mirror", "remote")
#: Corpora searched only if the caller names them.
BY_NAME = {"semantic_files": "it ranks the same paths as repo_inventory; name it to use it"}

_BY_INTENT: Mapping[Intent, tuple[str, ...]] = {
    "factual_lookup": (*LOCAL, "repo_inventory", "web_research"),
    "broad_research": (*LOCAL, "repo_inventory", "web_research"),
    "code_navigation": ("symbol_proximity", "repo_inventory", "document_chunks", "knowledge_graph", "memory"),
    "repo_structure": ("repo_inventory", *LOCAL),
    "verification": LOCAL,
}
_NOTES: Mapping[Intent, str] = {
    "factual_lookup": "a short question searches all local corpora, by words and by vectors",
    "broad_research": "a long question searches all local corpora, by words and by vectors",
    "code_navigation": "a question about code searches symbols and paths first",
    "repo_structure": "a question about a whole repository searches its paths first",
    "verification": "a verification searches broadly once more before an answer",
}
#: Differences of the recorded test for code after a search from that of the plan.
_RECORDED_AFTER = (frozenset({"defined"}), ("impl",))
MOST_CORPORA, MOST_NAME = 64, 200
#: Maximum corpora of a retriever, the caller's included.
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

    The lists are English: for other languages only rule 4 and `Policy.identifiers` apply.

    Args:
        query: the text.
        policy: lists, modes and switches; the documented ones by default.
        verification: True for a verification, which ignores `mode` and `intent`.
        mode: replaces the planned mode.
        corpora: names that replace the planned ones. The web is used only if the policy allows it.
        intent: replaces the intent of the rules; mode and corpora follow it.
        words: replaces `Policy.words`.
        available: names of the available corpora. The plan uses no others, and adds custom ones.

    Raises:
        QueryError: an argument is invalid, or names an unknown corpus.
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
    planned_intent: Intent = "verification"
    why = "it verifies an answer"
    if not verification:
        planned_intent, why = _intent_of(text, policy)
    overrides, notes = [], []
    if intent is not None and intent != planned_intent and not verification:
        overrides.append(Override("intent", planned_intent, intent))
        planned_intent, why = intent, "the caller names this intent"
    verifies = planned_intent == "verification"
    chosen: RetrievalMode = "hybrid"
    if planned_intent == "code_navigation":
        chosen = next(mode for mode in MODES if mode == policy.code_mode)
    if verification and mode not in (None, chosen):
        notes.append(f"mode {mode} is not used: a verification is hybrid")
    elif mode is not None and mode != chosen:
        overrides.append(Override("mode", chosen, mode))
        chosen = mode
    chosen_corpora, reasons = _selected(_BY_INTENT[planned_intent], why, policy, there)
    if named is not None:
        planned = chosen_corpora
        chosen_corpora, reasons = _named(named, chosen_corpora, policy, there)
        if chosen_corpora != planned:
            overrides.append(Override("corpora", ", ".join(planned), ", ".join(named)))
    notes.insert(0, _NOTES[planned_intent])
    if not text.isascii() and not any(c.isascii() and c.isalpha() for c in text):
        notes.append("the word lists are English: this query's intent depends on length and code only")
    if not chosen_corpora:
        notes.append("no corpus remains to search")
    return RetrievalPlan(
        normalized_query=text,
        intent=planned_intent,
        mode=chosen,
        corpora=chosen_corpora,
        preferred_backends=_preferred(chosen_corpora, chosen, planned_intent, policy, overridden=named is not None),
        allow_verification_pass=not verifies,
        rationale=(f"intent={planned_intent}: {why}", f"mode={chosen}", f"corpora=[{', '.join(chosen_corpora)}]"),
        notes=tuple(notes),
        overrides=tuple(overrides),
        reasons=tuple(reasons.items()),
        policy_version=policy.version,
    )


def looks_like_code(query: str, policy: Policy | None = None) -> bool:
    """Return True if a query is about code, by the rule of `plan`; then a lone corpus leads to the repository.

    With `Policy.words` ``substring`` the recorded rule is used, which has ``impl`` and lacks ``defined``.
    """
    text = normalized(utf8(query, "query", QueryError))
    policy = policy_of(policy)
    if policy.words == "substring":
        without, besides = _RECORDED_AFTER
        words = [word for word in policy.code_words if word not in without]
        return bool(found_in(text, (*words, *policy.code_marks, *besides), recorded=True))
    return bool(_code_of(text, policy))


def _code_of(text: str, policy: Policy) -> list[str]:
    recorded = policy.words == "substring"
    words = found_in(text, (*policy.code_words, *policy.code_marks), recorded)
    return words or (code_in(text) if policy.identifiers else [])


def _intent_of(text: str, policy: Policy) -> tuple[Intent, str]:
    recorded = policy.words == "substring"
    if matches := _code_of(text, policy):
        return "code_navigation", f"it has {shown(matches[0])}, as questions about code do"
    if matches := found_in(text, policy.structure_words, recorded):
        return "repo_structure", f"it has {shown(matches[0])}, as questions about a repository do"
    words = len(tokens_of(text, True)) if recorded else length_of(text)
    if words > policy.broad_tokens:
        return (
            "broad_research",
            f"it has no listed word, and is longer than {policy.broad_tokens} words ({words})",
        )
    return "factual_lookup", f"it has no listed word, and is no longer than {policy.broad_tokens} words ({words})"


def _selected(
    names: tuple[str, ...], why: str, policy: Policy, there: tuple[str, ...] | None
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the corpora by the rules, and the reason for including or excluding each."""
    corpora: list[str] = []
    reasons: dict[str, str] = {}
    for name in names:
        beside = BESIDE_CHUNKS if name == "document_chunks" else ()
        for corpus in (name, *beside):
            if there is not None and corpus not in there:
                reasons[corpus] = "the retriever has no such corpus"
            elif corpus in beside and there is None:
                reasons[corpus] = "it is searched if available"
            elif corpus == "web_research" and not policy.web_enabled:
                reasons[corpus] = "the policy keeps the web off (web_enabled)"
            else:
                corpora.append(corpus)
                reasons[corpus] = f"beside {name}: {why}" if corpus in beside else why
    for name in there or ():
        if name not in CORPORA:
            corpora.append(name)
            reasons[name] = "custom corpora are always searched"
    for name in CORPORA:
        if name not in reasons:
            missing = there is not None and name not in there
            reason = "the retriever has no such corpus" if missing else f"{why}; such queries do not use it"
            reasons[name] = reason if missing else BY_NAME.get(name, reason)
    return tuple(corpora), reasons


def _named(
    named: tuple[str, ...], planned: tuple[str, ...], policy: Policy, there: tuple[str, ...] | None
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the corpora named by the caller, and the reason for including or excluding each."""
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
    corpora: tuple[str, ...], mode: RetrievalMode, intent: Intent, policy: Policy, *, overridden: bool
) -> tuple[str, ...]:
    if policy.words == "substring" and not overridden:
        # As recorded: by the intent alone, whatever the mode.
        if intent == "verification":
            return RetrievalPlan.preferred_backends
        return backends_of(corpora, "full_text" if intent == "code_navigation" else "hybrid")
    return backends_of(corpora, mode)


def _names(values: object, what: str, most: int) -> tuple[str, ...]:
    names = [
        utf8(name, f"a name in {what}", QueryError, MOST_NAME)
        for name in listed(values, what, QueryError, "names of corpora", most)
    ]
    for name in names:
        if not (name.strip() and name.isprintable()):
            raise QueryError(f"{what} is {shown(values)}: wanted printable names of corpora")
    return tuple(dict.fromkeys(names))
