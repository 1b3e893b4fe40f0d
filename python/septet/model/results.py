"""Results of a search: hits, notes, and a report per tier."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, overload

from septet.model.codec import OMITTED, Plain, as_json, attributes
from septet.model.entry import CHARS_A_TOKEN, SNIPPET_CHARS, Entry, Shown, Tabular
from septet.notes import DEGRADING, Note
from septet.system.records import NamedTuple, dataclass

if TYPE_CHECKING:
    from os import PathLike

    from septet.model.fields import Severity, Trust
    from septet.model.matches import Match
    from septet.model.pages import Facets

#: The fields of a `septet.model.matches.Sought`; most searches do not import that module.
SoughtParts: TypeAlias = tuple[tuple[str, ...], tuple[str, ...], bool]
#: Fields of the dict of a hit in mode ``full``, and in mode ``scan``.
_WHOLE = ("id", "entry", "score", "breakdown", "signals", "confidence", "raw", "tier")
_LIGHT = (
    *("id", "title", "score", "confidence", "kind", "type", "domain", "severity", "tags", "source", "trust"),
    *("snippet", "token_estimate", "tier"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(Shown):
    """One result.

    Attributes:
        score: higher is better; it orders the hits of one query, relative to its best (``septet``: 0 to 1).
        confidence: probability that this entry answers the query, 0 to 1, by the same formula in every vault. It never
            increases in the order of scores. Memories with a fixed score were not compared, and have 0.
        raw: ``cosine``, ``bm25`` and ``tfidf``, from which signals are computed; None if unknown or not requested.
        breakdown: weight × signal for each signal, in the profile's order; the values sum to ``score``.
        signals: the raw signal values, each 0 to 1 unless the profile defines another range; None if unknown.
        tier: the name of the entry's tier.
        entry: the whole entry in mode ``full``, None in mode ``scan``.
        parent: the id of the entry that this one is a part of, or None.
        source: origin of the text; None if unknown.
        trust: reliability of the text.
        parts: with ``group_by``, the other hits with the same parent, best first.
        snippet: the passage around the best match in the description or the context, with ``...`` for omitted text; the
            beginning of the description if nothing matches or the profile requires it (``text.snippet``). 120
            characters, or ``text.snippet_chars`` of the profile. See `excerpt`.
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
            # Computed on first use.
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
        """Location of the text: ``path#L5-L20``, ``path#L7`` for a single line; None without a span."""
        entry = self.entry if self._origin is None else self._origin[0]
        return None if entry is None else entry.citation

    @property
    def matches(self) -> tuple[Match, ...]:
        """The matches of the query's words in the entry, by field and position; computed on access.

        Words match as in the full text: by stem, without accents, by parts of identifiers, and in scripts without
        blanks by pairs of characters. Empty for an entry that only its vector matched.
        """
        if self._origin is None:
            return ()
        from septet.model.matches import Sought, matches_of

        entry, parts, _ = self._origin
        return matches_of(entry, Sought(*parts))

    def excerpt(
        self, chars: int = 160, *, marks: tuple[str, str] | None = None, escape: Callable[[str], str] | None = None
    ) -> str:
        """Return the passage of the description, or the context, with the most words of the query.

        Args:
            chars: maximum characters of the text, without ``...`` and marks.
            marks: texts before and after each match, such as ``("<b>", "</b>")``; None for no marks.
            escape: called with each piece of text between marks, such as `html.escape`.

        Raises:
            QueryError: an argument is malformed.
        """
        if self._origin is None:
            from septet.errors import QueryError

            raise QueryError(f"hit {self.id!r} has no query: only hits of a search have excerpts")
        from septet.model.matches import Sought, excerpt_of

        entry, parts, _ = self._origin
        return excerpt_of(entry, Sought(*parts), chars, marks, escape)

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict: the whole entry with its scores, or the light fields in mode ``scan``."""
        light = self.entry is None
        out = attributes(self, _LIGHT if light else _WHOLE)
        if self.parts:
            out["parts"] = as_json(self.parts)
        if (citation := self.citation) is not None:
            out["citation"] = citation
        if light and self.parent is not None:
            out["parent"] = self.parent
        return out


class Reranker(Protocol):
    """Rescores hits: a function of the query and whole hits, best first, that returns a number per hit, best highest.

    It runs on a separate thread, for at most 10 s, after the vaults are released: it may read them. For a model of
    another library: ``lambda query, hits: model.predict([(query, hit.entry.description) for hit in hits])``;
    `septet.embedding.LocalReranker` runs one itself.
    """

    def __call__(self, query: str, hits: Sequence[Hit], /) -> Iterable[float]:
        """Return a finite number for each hit, in their order. A generator's numbers count even if it is late."""


class Reranking(NamedTuple):
    """A reranker with its limits, for ``rerank`` of a search.

    Attributes:
        function: the reranker, or the folder or package of a `septet.embedding.LocalReranker`.
        top: number of best hits to rerank, 1 to 1,000; each leg takes at least as many candidates.
        timeout_s: time limit in seconds, 0.01 to 86,400; capped by ``timeout_s`` of the search.
    """

    function: Reranker | str | PathLike[str]
    top: int = 50
    timeout_s: float = 10.0


class _HitBuilder(Shown):
    """A mutable `Hit` under construction; see `septet.model.entry`."""

    __slots__ = Hit.__slots__


#: The output of ranking per hit: score, tier, weight x signal, signals, confidence and raw values.
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
    """Convert ranked entries to hits.

    Args:
        full: include the whole entries.
        sought: the terms of the query.
        around: True if snippets are taken around the best match.
        snippet_chars: maximum characters of a snippet.
    """
    hits = []
    for entry, scores in zip(entries, scored):
        score, tier, breakdown, signals, confidence, raw = scores
        hit: Any = _HitBuilder()
        hit.id, hit.title, hit.score, hit.type = entry.id, entry.title, score, entry.type
        hit.domain, hit.severity, hit.tags, hit.kind = entry.domain, entry.severity, entry.tags, entry.kind
        # `snippet` and `token_estimate` of the entry, inlined: forty calls less for ten entries.
        text = entry.description
        chars = entry.text_chars if entry.attrs else len(entry.title) + len(text) + len(entry.context)
        hit.token_estimate, hit.tier = -(-chars // CHARS_A_TOKEN), tier
        if not around:
            hit.snippet = text if len(text) <= snippet_chars else text[:snippet_chars] + "..."
        hit.breakdown, hit.signals, hit.confidence, hit.raw = breakdown, signals, confidence, raw
        hit.entry, hit.parent, hit.parts = entry if full else None, entry.parent, ()
        hit.source, hit.trust = entry.source, entry.trust
        hit._origin = None if sought is None else (entry, sought, snippet_chars)
        hit.__class__ = Hit
        hits.append(hit)
    return tuple(hits)


@dataclass(frozen=True, slots=True)
class TierReport:
    """The part of one tier in a search.

    Attributes:
        name: the tier.
        priority: its priority in the federation.
        candidates: number of its candidates.
        generation: the state of the vault that it read; each write transaction adds 1.
        took_ms: its time in milliseconds.
        error: the error; empty if it succeeded.
    """

    name: str
    priority: float
    candidates: int
    generation: int
    took_ms: float
    error: str = ""


class Hits(Sequence[Hit], Tabular):
    """Hits, best first, with notes: the common base of search and retrieval results."""

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
        """True if a note reports a missing leg, tier, corpus, vectors or part of the query."""
        return any(n.code in DEGRADING for n in self.notes)

    def to_prompt(self, max_tokens: int | None = None, citations: bool = True, *, boundary: str | None = None) -> str:
        """Return the hits as text for the prompt of a language model, which retrieved text cannot break out of.

        The first line states that passages are data, not instructions. Each passage is enclosed by two lines with a
        boundary that occurs in no passage; a line of JSON has its id, title, tier, source and trust, and for whole
        entries the location in a file and the day of the last change; each line of its text begins with ``|``. Control
        characters and invisible controls are replaced. No wrapping guarantees that a model ignores instructions in a
        text: trust the model's output only as far as the text. For a group (``group_by``) the best part is included.
        Single-line hits with derived ids, such as short memories, share one boundary.

        Args:
            max_tokens: maximum tokens, (characters of the result) / 4. Hits that do not fit are skipped, a last line
                counts them, and the best hit is cut if no hit fits as a whole (``"cut": true``).
            citations: number the passages by rank, and request citations such as ``[1]``.
            boundary: 8 to 64 letters and digits, for a reproducible text; None draws a random one.

        Raises:
            QueryError: an argument is malformed, a passage contains the boundary, or the budget is too small for the
                first line.
        """
        from septet.model.prompt import prompt_of

        return prompt_of(self.hits, max_tokens=max_tokens, citations=citations, boundary=boundary)

    def to_trec(self, qid: str, tag: str = "septet", *, parents: bool = False) -> str:
        """Return the hits as lines of a TREC run for ``trec_eval``: ``qid Q0 docid rank score tag``.

        Ranks count from 1. Scores decrease strictly, since ``trec_eval`` orders only by score, as float32: a score that
        is not lower than the previous one is written as the float32 below it.

        Args:
            qid: the id of the query in the judgements.
            tag: the name of the run.
            parents: write the parent's id for hits that have one, for judgements of whole documents; with
                ``group_by="parent"`` each is written once.

        Raises:
            QueryError: the query's id, the tag or the id of a hit is empty or contains a blank, which separates
                columns; or ``parents`` is neither True nor False.
        """
        from septet.errors import QueryError
        from septet.inputs.arguments import flag
        from septet.model.trec import run_lines

        flag(parents, "parents", QueryError)
        return run_lines(qid, [((h.parent or h.id) if parents else h.id, h.score) for h in self.hits], tag)


@dataclass(frozen=True, slots=True)
class Results(Hits, Plain):
    """The hits of one search, best first, with metadata.

    Attributes:
        hits: the results.
        query: the query as passed.
        profile: the name of the ranking profile.
        mode: ``full`` or ``scan``.
        weights: the weight of each signal in this query.
        confidence: probability that the vault has an answer, 0 to 1, estimated from the best candidates, including
            those beyond the limit.
        notes: deviations and failures of the search.
        tiers: a report per tier.
        took_ms: the time of the search in milliseconds.
        total: number of entries that contain a word of the query and pass the filters: exact, at the state that was
            searched. In a federation, the sum over the tiers that succeeded. None if only vectors were compared;
            entries matched only by vectors are not counted. Cuts by score, confidence, tokens and groups do not change
            it.
        offset: number of results skipped before the first.
        facets: with ``facets=``, the number of entries of ``total`` per value, by field: the 100 most frequent. If only
            vectors were compared, all entries that pass the filters count. In a federation, the sum over the tiers that
            succeeded.
        understood: with ``syntax="web"``, the parsed query: ``text``, ``must``, ``must_not`` (several words: in a row;
            a star: a prefix), ``phrase``, ``prefix`` and ``where``.
        matched_by: if the profile requires all words, then fewer, then any (``text.match = "cascade"``), the first step
            with a result: ``all``, ``4 of 6``, ``any``; in a federation the strictest of a tier. None if no entry
            contains a word, and for other profiles.
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
    understood: Mapping[str, Any] | None = field(default=None, metadata=OMITTED)
    facets: Mapping[str, Facets] = field(default_factory=dict, metadata=OMITTED)
    matched_by: str | None = field(default=None, metadata=OMITTED)

    def __repr__(self) -> str:
        lines = [f"<Results {len(self)} for {self.query[:60]!r} in {self.took_ms:.1f} ms>"]
        for hit in self.hits:
            lines.append(f"  {hit.score:.3f}  {hit.id}  {hit.title}")
            lines += [f"         {passage}"] if (passage := " ".join(hit.snippet.split())) else []
        lines += [f"  note {n}" for n in self.notes]
        return "\n".join(lines)
