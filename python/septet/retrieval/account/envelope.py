"""The envelope: the account of one retrieval as a JSON object, the same for every caller."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, get_type_hints

from septet.errors import QueryError
from septet.inputs.arguments import shown
from septet.model.codec import Plain
from septet.notes import Note
from septet.retrieval.account.accounts import ExpansionTrace, WaveTrace, as_number, read_field
from septet.retrieval.planning.evidence import BUCKETS, Evidence
from septet.retrieval.planning.plan import RetrievalPlan

#: The form of the object; it grows when fields are added.
VERSION = 1
#: Suffixes of lexical backends; sources end in ``_text``.
_LEXICAL = ("_bm25", "_fts", "_text")


@dataclass(frozen=True, kw_only=True)
class Envelope(Plain):
    """Plan, numbers, backends, times and notes of one retrieval, JSON-ready.

    It contains the query and its other phrasings, unless made by `without_query`. It never contains keys.

    Attributes:
        trigger: the caller: ``explicit_tool_query``, ``auto_chat_preamble``, ``verification_pass``, or your own word.
        retrieval_tier: ``hybrid``, ``bm25``, ``lexical_fallback``, ``vector`` or ``none``.
        memory_hit_count: hits of the memory, before the limit; the following likewise.
        knowledge_hit_count: of the knowledge graph.
        chunk_hit_count: of document chunks, the docs mirror and remote vectors.
        repo_hit_count: of paths in a repository.
        web_hit_count: of the web.
        symbol_hit_count: of names in code.
        other_hit_count: of corpora of your own.
        rrf_fused_hit_count: distinct hits in the fused order.
        returned_hit_count: hits returned.
        used_vector: True if vectors produced hits.
        used_bm25: True if words produced hits.
        used_lexical_fallback: True if some corpus has hits of a fallback only.
        contradiction_count: hits that contradict others.
        top_score: the best score of the used wave, as documented.
        confidence: probability that the hits contain an answer, 0 to 1; None if unknown.
        search_intent: the plan's.
        selected_mode: the plan's.
        backend_mix: backends with hits.
        source_diversity: number of places with hits.
        evidence_kind: ``documented`` or ``calibrated``.
        evidence_quality: 0 to 1; None where it is unknown.
        citation_coverage: 0 to 1.
        verification_performed: True if there was a second wave.
        verification_reason: its reason.
        verification_query: its query.
        recommended_next_action: the remedy for poor evidence.
        search_plan: `RetrievalPlan.to_dict`.
        search_diagnostics: the documented details.
        sqlite_journal_mode: of the vault, ``wal``, ``delete`` or ``memory``; None of a federation.
        sqlite_fts5_reported: True if SQLite was compiled with full-text search; None likewise.
        sqlite_foreign_keys_on: True if SQLite checks references; None likewise.
        envelope_version: 1.
        policy_version: of the policy.
        profile: the profile's name.
        query: as passed by the caller; None if removed.
        hops: rounds of follow-up queries.
        expansion: other phrasings of the query; None without an expander.
        waves: the waves with their results.
        notes: problems and deviations.
        took_ms: duration of the call in milliseconds.
    """

    trigger: str = "explicit_tool_query"
    retrieval_tier: str = "none"
    memory_hit_count: int = 0
    knowledge_hit_count: int = 0
    chunk_hit_count: int = 0
    repo_hit_count: int = 0
    web_hit_count: int = 0
    symbol_hit_count: int = 0
    other_hit_count: int = 0
    rrf_fused_hit_count: int = 0
    returned_hit_count: int = 0
    used_vector: bool = False
    used_bm25: bool = False
    used_lexical_fallback: bool = False
    contradiction_count: int = 0
    top_score: float | None = None
    confidence: float | None = None
    search_intent: str = "broad_research"
    selected_mode: str = "hybrid"
    backend_mix: tuple[str, ...] = ()
    source_diversity: int = 0
    evidence_kind: str = "documented"
    evidence_quality: float | None = None
    citation_coverage: float = 0.0
    verification_performed: bool = False
    verification_reason: str | None = None
    verification_query: str | None = None
    recommended_next_action: str | None = None
    search_plan: Mapping[str, Any] = field(default_factory=dict)
    search_diagnostics: Mapping[str, Any] = field(default_factory=dict)
    sqlite_journal_mode: str | None = None
    sqlite_fts5_reported: bool | None = None
    sqlite_foreign_keys_on: bool | None = None
    envelope_version: int = VERSION
    policy_version: int = 1
    profile: str = ""
    query: str | None = None
    hops: int = 0
    expansion: ExpansionTrace | None = None
    waves: tuple[WaveTrace, ...] = ()
    notes: tuple[Note, ...] = ()
    took_ms: float = 0.0

    @property
    def hit_count(self) -> int:
        """Hits of all corpora, each counted in its own."""
        local = self.memory_hit_count + self.knowledge_hit_count + self.chunk_hit_count + self.repo_hit_count
        return local + self.web_hit_count + self.symbol_hit_count + self.other_hit_count

    @property
    def hit_counts(self) -> Mapping[str, int]:
        """Number of hits by corpus in the used waves, for the original query."""
        counts: dict[str, int] = {}
        for corpus in (reply for wave in self.waves if wave.kept for reply in wave.asked if reply.variant == 0):
            counts[corpus.corpus] = max(counts.get(corpus.corpus, 0), corpus.hits)
        return counts

    @property
    def citation_required(self) -> bool:
        """True if there are no hits, so that an answer needs another source."""
        return self.hit_count == 0

    @property
    def contradiction_ratio(self) -> float:
        """Contradictions as a share of the hits; 0 without hits."""
        return min(self.contradiction_count / self.hit_count, 1.0) if self.hit_count else 0.0

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Envelope:
        """Return the envelope of a dict; missing fields have their defaults, unknown ones are ignored.

        Raises:
            QueryError: a field has the wrong type.
        """
        if not isinstance(data, Mapping):
            raise QueryError(f"envelope is {shown(data)}: wanted what Envelope.to_dict returned")
        hints = get_type_hints(cls)
        known = [member.name for member in fields(cls) if member.name in data]
        return cls(**{name: read_field(name, hints[name], data[name]) for name in known})

    def without_query(self) -> Envelope:
        """Return the envelope without the query, its phrasings, and texts that may quote them."""
        plan = {**self.search_plan, "normalized_query": "", "rewritten_query": None, "rationale": [], "reasons": {}}
        diagnostics = {**self.search_diagnostics, "verification_query": None, "selection_rationale": [], "notes": []}
        spoken = self.expansion
        return replace(
            self,
            query=None,
            verification_query=None,
            search_plan=plan if self.search_plan else {},
            search_diagnostics=diagnostics if self.search_diagnostics else {},
            expansion=None if spoken is None else spoken._replace(variants=("",) * len(spoken.variants)),
            waves=tuple(wave._replace(query="") for wave in self.waves),
            notes=tuple(Note(note.code, "", "", note.tier) for note in self.notes),
        )


def retrieval_tier(*, used_vector: bool, used_bm25: bool, lexical_fallback: bool) -> str:
    """Return the legs with hits: ``hybrid``, ``bm25``, ``lexical_fallback``, ``vector`` or ``none``."""
    if used_vector and used_bm25:
        return "hybrid"
    if used_bm25:
        return "bm25"
    if lexical_fallback:
        return "lexical_fallback"
    return "vector" if used_vector else "none"


def envelope_of(
    *,
    query: str,
    profile: str,
    plan: RetrievalPlan,
    evidence: Evidence,
    waves: Sequence[WaveTrace] = (),
    initial: Evidence | None = None,
    verified: Evidence | None = None,
    notes: Iterable[Note] = (),
    fused: int = 0,
    returned: int = 0,
    confidence: float | None = None,
    expansion: ExpansionTrace | None = None,
    trigger: str | None = None,
    took_ms: float = 0.0,
    **sqlite: Any,
) -> Envelope:
    """Return the envelope of a retrieval; see `Envelope` for fields of the same name.

    ``evidence`` is that of the used wave, ``initial`` that of the first (by default the same), ``verified`` that of a
    verification, and ``fused`` the number of distinct hits in the order.
    """
    initial = initial or evidence
    notes = tuple(notes)
    verification = next((wave for wave in waves if wave.reason == "verification"), None)
    backends = tuple(dict.fromkeys(b for wave in waves if wave.kept for c in wave.asked if c.hits for b in c.backends))
    used_vector = any(name.endswith("_vector") for name in backends)
    used_bm25 = any(name.endswith(_LEXICAL) for name in backends)
    counts: dict[str, Any] = {}
    for name, count in evidence.hit_counts.items():
        place = BUCKETS.get(name, "other")
        member = f"{'chunk' if place in ('tantivy', 'qdrant') else place}_hit_count"
        counts[member] = counts.get(member, 0) + count
    return Envelope(
        trigger=trigger or ("verification_pass" if plan.intent == "verification" else "explicit_tool_query"),
        retrieval_tier=retrieval_tier(
            used_vector=used_vector, used_bm25=used_bm25, lexical_fallback=evidence.used_lexical_fallback
        ),
        rrf_fused_hit_count=fused,
        returned_hit_count=returned,
        used_vector=used_vector,
        used_bm25=used_bm25,
        used_lexical_fallback=evidence.used_lexical_fallback,
        contradiction_count=evidence.contradiction_count,
        top_score=as_number(evidence.top_score),
        confidence=confidence,
        search_intent=plan.intent,
        selected_mode=plan.mode,
        backend_mix=backends,
        source_diversity=evidence.source_diversity,
        evidence_kind=evidence.kind,
        evidence_quality=as_number(evidence.evidence_quality),
        citation_coverage=evidence.citation_coverage,
        verification_performed=verification is not None,
        verification_reason=None if verification is None else verification.why,
        verification_query=None if verification is None else verification.query,
        recommended_next_action=evidence.recommended_next_action,
        search_plan=plan.to_dict(),
        search_diagnostics=_diagnostics(plan, initial, verified, verification, backends, notes),
        policy_version=plan.policy_version,
        profile=profile,
        query=query,
        hops=sum(wave.reason == "follow_up" for wave in waves),
        expansion=expansion,
        waves=tuple(waves),
        notes=notes,
        took_ms=took_ms,
        **counts,
        **sqlite,
    )


def _diagnostics(
    plan: RetrievalPlan,
    initial: Evidence,
    verified: Evidence | None,
    verification: WaveTrace | None,
    backends: Sequence[str],
    notes: Sequence[Note],
) -> dict[str, Any]:
    """Return the documented details, whose numbers are those of the first wave."""
    before = as_number(initial.top_score)
    after = None if verified is None else as_number(verified.top_score)
    return {
        "policy_version": plan.policy_version,
        "selection_rationale": list(plan.rationale),
        "selected_mode": plan.mode,
        "backends_used": list(backends),
        "verification_performed": verification is not None,
        "verification_reason": None if verification is None else verification.why,
        "verification_query": None if verification is None else verification.query,
        "recommended_action": initial.recommended_next_action,
        "evidence_quality": as_number(initial.evidence_quality),
        "citation_coverage": initial.citation_coverage,
        "source_diversity": initial.source_diversity,
        "initial_top_score": before,
        "verified_top_score": after,
        "verification_top_score_delta": None if before is None or after is None else after - before,
        "verified_evidence_quality": None if verified is None else as_number(verified.evidence_quality),
        "verified_source_diversity": None if verified is None else verified.source_diversity,
        "notes": [
            *plan.notes,
            f"search_policy_version={plan.policy_version}",
            *(f"{n.code}: {n.cause}" for n in notes),
        ],
    }
