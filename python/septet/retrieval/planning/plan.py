"""The plan of a retrieval: a value to show, store and replay."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from septet.errors import QueryError
from septet.inputs.arguments import flag, listed, shown, utf8, whole
from septet.model.codec import as_json
from septet.retrieval.corpus import RetrievalMode

#: The intent of a query.
Intent: TypeAlias = Literal["factual_lookup", "code_navigation", "repo_structure", "broad_research", "verification"]
INTENTS: tuple[Intent, ...] = get_args(Intent)
MODES: tuple[RetrievalMode, ...] = get_args(RetrievalMode)

#: The corpora of planned retrieval, each with its backends by words and by vectors.
CORPORA: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "memory": (("memory_bm25",), ("memory_vector",)),
    "knowledge_graph": (("knowledge_fts",), ()),
    "document_chunks": (("chunk_fts",), ("chunk_vector",)),
    "repo_inventory": (("repo_path",), ()),
    "web_research": (("web",), ()),
    "symbol_proximity": (("symbol_proximity",), ()),
    "docs_mirror": (("docs_fts",), ()),
    "remote": ((), ("remote_vector",)),
    "semantic_files": (("repo_path",), ()),
}
#: Corpora available to every plan.
LOCAL = ("memory", "knowledge_graph", "document_chunks")


class Override(NamedTuple):
    """A caller's replacement of a planned value.

    Attributes:
        what: ``intent``, ``mode`` or ``corpora``.
        planned: the planned value.
        given: the caller's value.
    """

    what: str
    planned: str
    given: str


@dataclass(frozen=True, kw_only=True)
class RetrievalPlan:
    """All decisions of a retrieval, made before any corpus is searched; `str` shows it on a few lines.

    Attributes:
        normalized_query: the query, with runs of blanks collapsed.
        rewritten_query: the query that replaces it; None in a plan for the query itself.
        intent: the intent of the query.
        mode: the legs that corpora use.
        corpora: names of the corpora to search, in order.
        preferred_backends: their backends, in order.
        allow_verification_pass: True if weak evidence may lead to a second wave.
        rationale: the reasons, line by line.
        notes: further remarks.
        overrides: the values set by the caller.
        reasons: the reason for including or excluding each corpus; see `why`.
        policy_version: version of the policy that made it.
    """

    normalized_query: str
    rewritten_query: str | None = None
    intent: Intent = "broad_research"
    mode: RetrievalMode = "hybrid"
    corpora: tuple[str, ...] = LOCAL
    preferred_backends: tuple[str, ...] = ("memory_bm25", "memory_vector", "knowledge_fts", "chunk_fts")
    allow_verification_pass: bool = True
    rationale: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    overrides: tuple[Override, ...] = ()
    reasons: tuple[tuple[str, str], ...] = ()
    policy_version: int = 1

    @property
    def query(self) -> str:
        """The query to search: the rewritten one, if there is one."""
        return self.normalized_query if self.rewritten_query is None else self.rewritten_query

    def why(self, corpus: str) -> str:
        """Return the reason for including or excluding a corpus, as a sentence.

        Raises:
            QueryError: the name is not text.
        """
        name = utf8(corpus, "corpus", QueryError)
        verdict = f"{shown(name)[1:-1]} is {'asked' if name in self.corpora else 'not asked'}"
        reason = dict(self.reasons).get(name)
        if reason is None:
            reason = "the plan names it" if name in self.corpora else "it is unknown to the plan"
        return f"{verdict}: {reason}"

    def verifying(self, query: str) -> RetrievalPlan:
        """Return the plan of a verification: a rewritten query, by words and by vectors, over the same corpora."""
        return replace(
            self,
            rewritten_query=query,
            intent="verification",
            mode="hybrid",
            allow_verification_pass=False,
            preferred_backends=backends_of(self.corpora, "hybrid"),
            notes=(*self.notes, "searched again, rewritten"),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict with the documented names; `from_dict` restores an equal plan."""
        values = {member.name: as_json(getattr(self, member.name)) for member in fields(self)}
        values["reasons"] = dict(self.reasons)
        return {"retrieval_mode" if name == "mode" else name: value for name, value in values.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> RetrievalPlan:
        """Return the plan of a dict, to show or replay it; missing fields have their defaults.

        Raises:
            QueryError: a field is unknown or invalid.
        """
        if not isinstance(data, Mapping):
            raise QueryError(f"plan is {shown(data)}: wanted a RetrievalPlan, or what its to_dict returned")
        values: dict[str, Any] = {"mode" if key == "retrieval_mode" else key: value for key, value in data.items()}
        known = {member.name for member in fields(cls)}
        if unknown := [key for key in values if not isinstance(key, str) or key not in known]:
            raise QueryError(f"plan has no field {shown(unknown[0])}: its fields are {', '.join(sorted(known))}")
        if "normalized_query" not in values:
            raise QueryError("plan has no normalized_query: a plan is for a query")
        if isinstance(values.get("reasons"), Mapping):
            values["reasons"] = tuple(_rows(values["reasons"].items()))
        values["overrides"] = tuple(
            tuple(row.get(name) for name in Override._fields) if isinstance(row, Mapping) else row
            for row in _rows(values.get("overrides", ()))
        )
        return cls(**values)._checked()

    def _checked(self) -> RetrievalPlan:
        """Return the plan with its fields checked and converted to plain values."""
        utf8(self.normalized_query, "normalized_query", QueryError)
        if self.rewritten_query is not None:
            utf8(self.rewritten_query, "rewritten_query", QueryError)
        one_of(self.intent, "intent", INTENTS)
        one_of(self.mode, "mode", MODES)
        flag(self.allow_verification_pass, "allow_verification_pass", QueryError)
        whole(self.policy_version, "policy_version", QueryError, 0)
        reasons = (_texts(row, "reasons", 2) for row in _rows(self.reasons))
        return replace(
            self,
            # A repeated corpus is searched once.
            corpora=tuple(dict.fromkeys(_texts(self.corpora, "corpora"))),
            preferred_backends=_texts(self.preferred_backends, "preferred_backends"),
            rationale=_texts(self.rationale, "rationale"),
            notes=_texts(self.notes, "notes"),
            overrides=tuple(Override(*_texts(row, "overrides", 3)) for row in _rows(self.overrides)),
            reasons=tuple((name, reason) for name, reason in reasons),
        )

    def __str__(self) -> str:
        lines = [f"{self.intent}, {self.mode}: {shown(self.query)}", f"asks {', '.join(self.corpora) or 'nothing'}"]
        lines += [f"{override.what}: {override.given} instead of {override.planned}" for override in self.overrides]
        others: dict[str, list[str]] = {}
        for name, reason in self.reasons:
            if name not in self.corpora:
                others.setdefault(reason, []).append(name)
        lines += [f"not {', '.join(names)}: {reason}" for reason, names in others.items()]
        return "\n".join([lines[0], *self.rationale[:1], *lines[1:], *self.notes])


def backends_of(corpora: Iterable[str], mode: RetrievalMode) -> tuple[str, ...]:
    """Return the backends of corpora in a mode, without duplicates, in order."""
    backends: dict[str, None] = {}
    for name in corpora:
        words, vectors = CORPORA.get(name, ((name,), ()))
        # A corpus without vectors is searched by words in every mode.
        used = (*words, *vectors) if mode == "hybrid" else (vectors or words) if mode == "vector" else words
        backends.update(dict.fromkeys(used))
    return tuple(backends)


def one_of(value: Any, name: str, choices: Collection[str]) -> Any:
    """Return a choice as plain text."""
    if not isinstance(value, str) or value not in choices:
        raise QueryError(f"{name} is {shown(value)}: wanted one of {', '.join(choices)}")
    return str.__str__(value)


def _rows(values: object, what: str = "a field of a plan", most: int = 1_000) -> list[Any]:
    return listed(values, what, QueryError, f"a list of at most {most}", most)


def _texts(values: object, what: str, exactly: int | None = None) -> tuple[str, ...]:
    texts = tuple(utf8(value, what, QueryError) for value in _rows(values, what))
    if exactly is not None and len(texts) != exactly:
        raise QueryError(f"{what} of a plan have {exactly} texts each, not {len(texts)}")
    return texts
