"""What a search returns: hits, notes on what it could not do, and a report per tier."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, overload

from septet.model.entry import SNIPPET_CHARS, Entry, Shown, Tabular, previews
from septet.notes import DEGRADING, Note

if TYPE_CHECKING:
    from septet.model.fields import Severity, Trust
    from septet.model.matches import Match
    from septet.model.pages import Facets

__all__ = ["Hit", "Hits", "Note", "Reranker", "Results", "TierReport", "hits_of"]

#: The parts of a `septet.model.matches.Sought`, a module that most searches do without.
SoughtParts: TypeAlias = tuple[tuple[str, ...], tuple[str, ...], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(Shown):
    """One result.

    Attributes:
        score: higher is better; it orders the hits of one query, relative to its best (``septet``: 0 to 1).
        confidence: how likely this entry answers the query, 0 to 1, estimated by the same formula in every vault. In
            the order of scores no hit has more than the one before it. Memories of a fixed score were compared with
            nothing and have 0.
        raw: ``cosine``, ``bm25`` and ``tfidf`` before signals were made of them; None where unknown or not asked for.
        breakdown: weight × signal for each signal, in the profile's order; the values sum to ``score``.
        signals: the raw signal values, each 0 to 1 unless the profile says otherwise; None where unknown.
        tier: the name of the tier that the entry comes from.
        entry: the whole entry in mode ``full``, None in mode ``scan``.
        parent: the id of the entry that this one is a part of; None for none.
        source: where the text comes from; None where nobody said.
        trust: whether it may be relied on.
        parts: with ``group_by``, the other hits with the same parent, best first.
        snippet: characters around the best match in the description or the context, ``...`` where more stands before
            or behind; the first ones of the description where nothing matches, and where the profile says so
            (``text.snippet``): 120, unless its ``text.snippet_chars`` names another number. See `excerpt`.
    """

    _shown_as = "hit"

    id: str
    title: str
    score: float
    type: str
    domain: str
    severity: Severity
    tags: tuple[str, ...]
    kind: str
    snippet: str
    token_estimate: int
    tier: str
    breakdown: Mapping[str, float]
    signals: Mapping[str, float | None]
    confidence: float
    raw: Mapping[str, float | None]
    entry: Entry | None = field(default=None, repr=False)
    parent: str | None = None
    source: str | None = None
    trust: Trust = "trusted"
    parts: tuple[Hit, ...] = ()
    _origin: tuple[Entry, SoughtParts, int] | None = field(default=None, repr=False, compare=False)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            # Whoever does not look at the passage does not wait for it.
            if name != "snippet" or self._origin is None:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            from septet.model.matches import Sought, passage_of

            entry, parts, chars = self._origin
            object.__setattr__(self, "snippet", passage_of(entry, Sought(*parts), chars))
            return self.snippet

    def __repr__(self) -> str:
        title = self.title if len(self.title) <= 40 else f"{self.title[:39]}…"
        where = f", {f'…{place[-29:]}' if len(place) > 30 else place!r}" if (place := self.citation) else ""
        return f"Hit({self.score:.3f}, {title!r}, id={self.id[:24]!r}{where})"

    @property
    def citation(self) -> str | None:
        """Where the text stands: ``path#L5-L20``, ``path#L7`` for a single line; None without a span."""
        entry = self.entry if self._origin is None else self._origin[0]
        return None if entry is None else entry.citation

    @property
    def matches(self) -> tuple[Match, ...]:
        """Where the words of the query stand in the entry, by field and position; computed when it is asked for.

        Words match as in the full text: in any form (stems), without accents, parts of identifiers, in scripts without
        blanks pairs of characters. Empty for an entry that only its vector found.
        """
        if self._origin is None:
            return ()
        from septet.model.matches import Sought, matches_of

        entry, parts, _ = self._origin
        return matches_of(entry, Sought(*parts))

    def excerpt(
        self,
        chars: int = 160,
        *,
        marks: tuple[str, str] | None = None,
        escape: Callable[[str], str] | None = None,
    ) -> str:
        """Return the passage of the description, or the context, that holds most of the query's words.

        Args:
            chars: how many characters of the text at most; ``...`` and marks come on top.
            marks: what stands before and behind each match, such as ``("<b>", "</b>")``; None for nothing.
            escape: called with each piece of text between marks, such as `html.escape`.

        Raises:
            QueryError: an argument that cannot be understood.
        """
        if self._origin is None:
            from septet.errors import QueryError

            raise QueryError(f"hit {self.id!r} comes from no search: it knows no query")
        from septet.model.matches import Sought, excerpt_of

        entry, parts, _ = self._origin
        return excerpt_of(entry, Sought(*parts), chars, marks, escape)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict: the whole entry with its scores, or the light fields in mode ``scan``."""
        more: dict[str, Any] = {"parts": [part.to_dict() for part in self.parts]} if self.parts else {}
        if (citation := self.citation) is not None:
            more["citation"] = citation
        if self.entry is None:
            if self.parent is not None:
                more["parent"] = self.parent
            return {
                "id": self.id,
                "title": self.title,
                "score": self.score,
                "confidence": self.confidence,
                "kind": self.kind,
                "type": self.type,
                "domain": self.domain,
                "severity": self.severity,
                "tags": list(self.tags),
                "source": self.source,
                "trust": self.trust,
                "snippet": self.snippet,
                "token_estimate": self.token_estimate,
                "tier": self.tier,
                **more,
            }
        return {
            "id": self.id,
            "entry": self.entry.to_dict(),
            "score": self.score,
            "breakdown": dict(self.breakdown),
            "signals": dict(self.signals),
            "confidence": self.confidence,
            "raw": dict(self.raw),
            "tier": self.tier,
            **more,
        }


class Reranker(Protocol):
    """Scores hits anew: a function of the query and whole hits, best first, with one number for each, higher is better.

    It runs on a thread of its own, at most ``rerank_timeout_s`` seconds, when the vaults were let go of: it may read
    them. For a cross-encoder: ``lambda query, hits: model.predict([(query, hit.entry.description) for hit in hits])``.
    """

    def __call__(self, query: str, hits: Sequence[Hit], /) -> Iterable[float]:
        """Return a finite number for each hit, in their order."""


class _Filling(Shown):
    """A `Hit` while its fields are filled in; see `septet.model.entry`."""

    __slots__ = Hit.__slots__


#: What ranking says of a hit: its score, its tier, weight x signal, signals, confidence and raw values.
Scored: TypeAlias = tuple[
    float, str, Mapping[str, float], Mapping[str, "float | None"], float, Mapping[str, "float | None"]
]


def hits_of(
    entries: Sequence[Entry],
    scored: Iterable[Scored],
    *,
    full: bool,
    sought: SoughtParts | None = None,
    around: bool = False,
    snippet_chars: int = SNIPPET_CHARS,
) -> tuple[Hit, ...]:
    """Return ranked entries as hits, with the whole entries if they are wanted.

    Args:
        sought: what the query looks for in them.
        around: their snippets are around the best match.
        snippet_chars: how long these are.
    """
    hits = []
    for entry, found, (snippet, tokens) in zip(entries, scored, previews(entries, snippet_chars)):
        score, tier, breakdown, signals, confidence, raw = found
        hit: Any = _Filling()
        hit.id, hit.title, hit.score, hit.type = entry.id, entry.title, score, entry.type
        hit.domain, hit.severity, hit.tags, hit.kind = entry.domain, entry.severity, entry.tags, entry.kind
        hit.token_estimate, hit.tier = tokens, tier
        if not around:
            hit.snippet = snippet
        hit.breakdown, hit.signals, hit.confidence, hit.raw = breakdown, signals, confidence, raw
        hit.entry, hit.parent, hit.parts = entry if full else None, entry.parent, ()
        hit.source, hit.trust = entry.source, entry.trust
        hit._origin = None if sought is None else (entry, sought, snippet_chars)
        hit.__class__ = Hit
        hits.append(hit)
    return tuple(hits)


@dataclass(frozen=True, slots=True)
class TierReport:
    """What one tier did in a search.

    Attributes:
        name: the tier.
        priority: its priority in the federation.
        candidates: how many candidates it found.
        generation: the state of the vault that it read; each write transaction adds 1.
        took_ms: how long it took, in milliseconds.
        error: why it failed; empty if it did not.
    """

    name: str
    priority: float
    candidates: int
    generation: int
    took_ms: float
    error: str = ""


class Hits(Sequence[Hit], Tabular):
    """Hits, best first, with notes: what a search and a retrieval return have in common."""

    _shown_as = "hits"

    __slots__ = ()

    hits: tuple[Hit, ...]
    notes: tuple[Note, ...]

    def __len__(self) -> int:
        return len(self.hits)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Hit]: ...
    def __getitem__(self, index: int | slice) -> Hit | Sequence[Hit]:
        return self.hits[index]

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    @property
    def ids(self) -> list[str]:
        """The ids of the hits, best first."""
        return [h.id for h in self.hits]

    @property
    def degraded(self) -> bool:
        """True if a note says that a leg, a tier, a corpus, vectors or part of the query were missing."""
        return any(n.code in DEGRADING for n in self.notes)

    def to_prompt(self, max_tokens: int | None = None, citations: bool = True, *, boundary: str | None = None) -> str:
        """Return the hits as text for the prompt of a language model, which retrieved text cannot break out of.

        A first line says that passages are data, not instructions. Each stands between two lines with a boundary that
        occurs in none of them; a line of JSON has its id, title, tier, source and trust, and of whole entries the place
        in a file and the day of the last change; each line of its text begins with ``|``. Control characters and
        invisible ones that steer are replaced. No text makes a model obey or ignore it: treat what a model does with
        retrieved text as you would treat the text. Of a group (``group_by``) the best part is shown.
        Where all are a line alone with an id made from it, such as short memories, they share one boundary.

        Args:
            max_tokens: at most so many tokens, (characters of what is returned) / 4. A hit that has no room is left
                out, a last line counts such hits, and the best one is cut if no hit fits as a whole (``"cut": true``).
            citations: number the passages by their places among the hits, and ask for citations such as ``[1]``.
            boundary: 8 to 64 letters and digits, to get the same text every time; None draws a random one.

        Raises:
            QueryError: an argument is none of these, a passage holds the boundary, or the budget has no room for the
                first line.
        """
        from septet.model.prompt import prompt_of

        return prompt_of(self.hits, max_tokens=max_tokens, citations=citations, boundary=boundary)

    def to_trec(self, qid: str, tag: str = "septet", *, parents: bool = False) -> str:
        """Return the hits as lines of a TREC run, ``qid Q0 docid rank score tag``: what ``trec_eval`` reads.

        Ranks count from 1. Scores fall strictly, as ``trec_eval`` orders by them alone: where the next one would not
        be lower as a float32, which is how it keeps them, it is written as the float32 below the last.

        Args:
            qid: the id of the query in the judgements.
            tag: the name of the run.
            parents: name the parents of hits that have one, for judgements of whole documents; with
                ``group_by="parent"`` each comes once.

        Raises:
            QueryError: the query's id, the tag or the id of a hit is empty or has a blank, which separates columns;
                or ``parents`` is neither True nor False.
        """
        from septet.errors import QueryError
        from septet.inputs.arguments import flag
        from septet.model.trec import run_lines

        flag(parents, "parents", QueryError)
        return run_lines(qid, [((h.parent or h.id) if parents else h.id, h.score) for h in self.hits], tag)


@dataclass(frozen=True, slots=True)
class Results(Hits):
    """The hits of one search, best first, and how it went.

    Attributes:
        hits: the results.
        query: as it was given.
        profile: the name of the profile that ranked them.
        mode: ``full`` or ``scan``.
        weights: the weight of each signal, as it counted for this query.
        confidence: how likely an answer is there at all, 0 to 1: 0.5 is where it is as likely as none. Judged by the
            best candidates, those that the limit leaves out too.
        notes: what the search could not do, or did differently.
        tiers: a report per tier.
        took_ms: how long the search took, in milliseconds.
        total: how many entries hold a word of the query and pass the filters, however many are returned: exact, at the
            state that was searched. In a federation the sum over the tiers that answered. None where vectors alone
            were compared; what only they find is not counted. Cuts by score, confidence, tokens and groups do not
            change it.
        offset: how many results are left out before the first.
        facets: with ``facets=``, how many of the entries that ``total`` counts have each value, by field: the 100 most
            frequent. Where vectors alone were compared, all entries that pass the filters count. In a federation the
            sum over the tiers that answered, as ``total``.
        understood: with ``syntax="web"``, what the query was taken for: its ``text``, and what it asks of ``must``,
            ``must_not`` (several words: in a row; a star: words that begin so), ``phrase``, ``prefix`` and ``where``.
        matched_by: where the profile asks for all words, then fewer, then any (``text.match = "cascade"``), which of
            these has an answer: ``all``, ``4 of 6``, ``any``; in a federation the strictest of a tier. None where no
            entry holds a word, and with other profiles.
    """

    hits: tuple[Hit, ...]
    query: str
    profile: str
    mode: str
    weights: Mapping[str, float]
    confidence: float
    notes: tuple[Note, ...]
    tiers: tuple[TierReport, ...]
    took_ms: float
    total: int | None = None
    offset: int = 0
    understood: Mapping[str, Any] | None = None
    facets: Mapping[str, Facets] = field(default_factory=dict)
    matched_by: str | None = None

    def __repr__(self) -> str:
        lines = [f"<Results {len(self)} for {self.query[:60]!r} in {self.took_ms:.1f} ms>"]
        for hit in self.hits:
            lines.append(f"  {hit.score:.3f}  {hit.id}  {hit.title}")
            lines += [f"         {passage}"] if (passage := " ".join(hit.snippet.split())) else []
        lines += [f"  note {n}" for n in self.notes]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as a JSON-ready dict."""
        return {
            "query": self.query,
            "profile": self.profile,
            "mode": self.mode,
            "took_ms": self.took_ms,
            "weights": dict(self.weights),
            "confidence": self.confidence,
            "total": self.total,
            "offset": self.offset,
            **({"facets": {name: one.to_dict() for name, one in self.facets.items()}} if self.facets else {}),
            **({} if self.understood is None else {"understood": dict(self.understood)}),
            **({} if self.matched_by is None else {"matched_by": self.matched_by}),
            "hits": [h.to_dict() for h in self.hits],
            "notes": [n.to_dict() for n in self.notes],
            "tiers": [{name: getattr(t, name) for name in TierReport.__slots__} for t in self.tiers],
        }
