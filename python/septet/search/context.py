"""The context of a prompt: pins, names in the query, and matches, cut by confidence, repetition and a budget."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from septet.errors import QueryError
from septet.inputs.arguments import real, utf8, whole
from septet.model.entry import CHARS_A_TOKEN, SNIPPET_CHARS, TRUSTS
from septet.notes import DEGRADING, Note
from septet.profiles.builtin import CONTEXT_CUT, SEPTET
from septet.query.plan import MOST_QUERY_CHARS
from septet.search.named import ALIAS_WORD, PIN, alias_filter, has_name, names_of, part_number, plain
from septet.search.run import run
from septet.search.searchable import Searchable
from septet.system.records import NamedTuple

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from septet.model.context import Context, ContextCode, LeftOutEntry
    from septet.model.fields import Strings, Time
    from septet.model.results import Hit, Results
    from septet.profiles import ProfileLike
    from septet.query.filters import Filter

#: The default budget in tokens, and the confidence at which an answer is as likely as not.
TOKENS, CONFIDENCE = 800, 0.5
#: Maximum matches that are considered, and that are in a context.
MOST_MATCHES, MOST_ITEMS = 16, 8
#: Maximum characters of a passage of an entry that has no room as a whole.
PASSAGE_CHARS = 400
#: Maximum pins and named entries, and the number up to which they are looked for without a filter.
MOST_STANDING, FEW_STANDING = 100, 64
#: Minimum time for pins and names, in seconds, after a search that took all of it.
LEAST_S = 0.01


class ContextRequest(NamedTuple):
    """A request for a context.

    Attributes:
        query: as for `Vault.context`.
        options: options of a search, without a limit and a least confidence.
        max_tokens: the budget.
        min_confidence: least confidence of a match.
        pins: include pins.
        skips: returns True for entries that the model has already; None for none.
    """

    query: str
    options: Mapping[str, Any]
    max_tokens: int = TOKENS
    min_confidence: float = CONFIDENCE
    pins: bool = True
    skips: Callable[[Hit], bool] | None = None


class Reasoned(NamedTuple):
    """An entry with the reason for it."""

    hit: Hit
    code: ContextCode
    reason: str


class GivesContext(Searchable):
    """A store that says what belongs into a prompt."""

    def context(
        self,
        query: str,
        *,
        max_tokens: int = TOKENS,
        min_confidence: float = CONFIDENCE,
        domain: str | None = None,
        where: Mapping[str, object] | None = None,
        kinds: str | Collection[str] | None = None,
        include_memories: bool | None = None,
        as_of: Time | None = None,
        profile: ProfileLike | None = None,
        tiers: str | Strings | None = None,
        query_vector: ArrayLike | None = None,
        model: str | None = None,
        timeout_s: float | None = None,
    ) -> Context:
        """Return what belongs into the prompt of a language model for a query, and no more, with the reasons.

        In this order: *pins*, the entries with the tag ``always``, the most trusted and the newest first; entries that
        the query *names*: those with a tag ``alias:NAME`` whose name is in the query as a whole word or phrase, in any
        case; and *matches*, those of the best hits that are likely to help, at most 8: their confidence is at least
        ``min_confidence``, and their score at least half of the best. All options apply to pins and names, too.

        Entries that say the same are taken once: a pin, or the most trusted and then the newest; of short ones, also
        in other words, and without those that a newer one changes or denies (see `Suggestion`). Entries outside
        their validity are never taken, such as superseded ones, and ``untrusted`` ones only if ``where`` compares
        ``trust``. Pins have half of the budget, and what the others leave. Where not all texts have room, long ones are
        cut to the 400 characters with the most words of the query, except the best ones as far as there is room.

        Args:
            query: as for `search`; empty for pins alone. Names may begin with its first 100 different words.
            max_tokens: maximum tokens of the text, (characters) / 4.
            min_confidence: minimum confidence of a match, 0 to 1.
            domain: as for `search`.
            where: as for `search`.
            kinds: as for `search`.
            include_memories: include memories; None includes them unless ``kinds`` are named.
            as_of: as for `search`.
            profile: as for `search`.
            tiers: as for `search`.
            query_vector: as for `search`.
            model: as for `search`.
            timeout_s: as for `search`.

        Raises:
            QueryError: an argument is malformed.
            ProfileError: as for `search`.
            VectorError: as for `search`.
            TierError: as for `search`.
            StoreError: the vault cannot be read.
        """
        options = {
            "domain": domain,
            "where": where,
            "kinds": kinds,
            "include_memories": kinds is None if include_memories is None else include_memories,
            "as_of": as_of,
            "profile": profile,
            "tiers": tiers,
            "query_vector": query_vector,
            "model": model,
            "timeout_s": timeout_s,
        }
        return self._context(ContextRequest(query, options, max_tokens, min_confidence))

    def _context(self, request: ContextRequest) -> Context:
        """Check a request and return what belongs into a prompt."""
        query = request.query
        if type(query) is not str or len(query) > MOST_QUERY_CHARS:
            query = utf8(query, "query", QueryError, MOST_QUERY_CHARS)
        most = CHARS_A_TOKEN * whole(request.max_tokens, "max_tokens", QueryError, 1)
        least = real(request.min_confidence, "min_confidence", QueryError, 0, 1)
        skips = request.skips or (lambda _: False)
        results = _matches(self, query, request.options)
        hits = [hit for hit in results if not skips(hit)]
        # As in a search, half a character is no error.
        text = query.encode("utf-8", "replace").decode("utf-8")
        standing, notes = _standing(self, text, request, results.took_ms)
        standing = [item for item in standing if not skips(item.hit)]
        taken, left_out = _cut(hits, least, max((hit.score for hit in results), default=0.0))
        merged = _merged(standing, taken)
        # A single entry repeats none, and the modules that compare entries take longer to load than a search.
        chosen, repeated = _each_once(merged) if len(merged) > 1 else (merged, [])
        left_out = [*repeated, *(item for item in left_out if item.id not in {known.hit.id for known in standing})]
        # An empty query is a request for pins.
        notes += [note for note in results.notes if note.code != "no_terms" or query.strip()]
        return _fitted(chosen, left_out, most, results, notes)


def _fitted(
    chosen: Sequence[Reasoned], left_out: Sequence[LeftOutEntry], most: int, results: Results, notes: Sequence[Note]
) -> Context:
    from septet.model.context import Context, ContextItem, LeftOutEntry
    from septet.model.prompt import fitted_prompt

    pins = sum(item.code == "pinned" for item in chosen)
    hits = [item.hit for item in chosen]
    prompt = fitted_prompt(hits, most, pins=pins, passages=lambda: _passages(hits, pins))
    places = prompt.places if prompt.text else ()
    text = prompt.text if places else ""
    tokens = [-(-count // CHARS_A_TOKEN) for count in prompt.chars]
    missing = [item for place, item in enumerate(chosen) if place not in places]
    no_room = [LeftOutEntry(item.hit.id, "budget", f"no room in {most // CHARS_A_TOKEN} tokens") for item in missing]
    return Context(
        text=text,
        items=tuple(ContextItem(*chosen[place], count) for place, count in zip(places, tokens)),
        left_out=(*no_room, *left_out),
        tokens=-(-len(text) // CHARS_A_TOKEN),
        confidence=results.confidence,
        profile=results.profile,
        notes=tuple(dict.fromkeys(notes)),
    )


def _passages(hits: Sequence[Hit], pins: int) -> dict[int, str]:
    """Return the passages of long entries that are no pins, by place."""
    long = [place for place in range(pins, len(hits)) if CHARS_A_TOKEN * hits[place].token_estimate > 2 * PASSAGE_CHARS]
    return {place: hits[place].excerpt(PASSAGE_CHARS) for place in long}


# -- matches -----------------------------------------------------------------------------------------------------------


def _matches(vault: Searchable, query: str, options: Mapping[str, Any]) -> Results:
    """Return the best hits, without untrusted ones unless the filter names trust."""
    options = {**options, "limit": MOST_MATCHES}
    results = vault.search(query, **options)
    where = options.get("where")
    if _names_trust(where) or all(hit.trust != "untrusted" for hit in results):
        return results
    # Most vaults have none, and filters cost a process more than a search.
    trusted: Mapping[str, Any] = {"trust": {"$ne": "untrusted"}}
    return vault.search(query, **{**options, "where": {"$and": [where, trusted]} if where else trusted})


def _names_trust(where: object) -> bool:
    """Return True if a filter compares trust."""
    if isinstance(where, Mapping):
        return "trust" in where or any(map(_names_trust, where.values()))
    # Lists of values may be long, and have no filters.
    return (
        isinstance(where, Sequence) and isinstance(next(iter(where), None), Mapping) and any(map(_names_trust, where))
    )


def _cut(hits: Sequence[Hit], least: float, best: float) -> tuple[list[Reasoned], list[LeftOutEntry]]:
    """Return the hits that are likely to help, and the others.

    Args:
        least: minimum confidence.
        best: the best score, also of a hit that is skipped.
    """
    from septet.model.context import LeftOutEntry

    taken, left_out = list[Reasoned](), list[LeftOutEntry]()
    for hit in hits:
        shown = f"confidence {hit.confidence:.2f}"
        if hit.confidence < least:
            left_out.append(LeftOutEntry(hit.id, "below", f"{shown} is below {least:.2f}"))
        elif hit.score < CONTEXT_CUT * max(best, 0.0):
            left_out.append(LeftOutEntry(hit.id, "below", f"score {hit.score:.2f} is far below {best:.2f}, the best"))
        elif len(taken) == MOST_ITEMS:
            left_out.append(LeftOutEntry(hit.id, "below", f"{MOST_ITEMS} others match better"))
        else:
            taken.append(Reasoned(hit, "matches", f"matches the query, {shown}"))
    return taken, left_out


# -- pins and names ----------------------------------------------------------------------------------------------------


def _standing(
    vault: Searchable, query: str, request: ContextRequest, took_ms: float
) -> tuple[list[Reasoned], list[Note]]:
    """Return pins, then the entries that a query names, and notes on tiers that failed and on pins left out."""
    options = {**request.options, "query_vector": None, "model": None, "profile": SEPTET, "typos": False}
    if (timeout_s := options.get("timeout_s")) is not None:
        options["timeout_s"] = max(float(timeout_s) - took_ms / 1_000, LEAST_S)
    filters: dict[str, Callable[[], Filter]] = {PIN: _pin_filter} if request.pins else {}
    if any(map(str.isalnum, query)):
        filters[ALIAS_WORD] = lambda: alias_filter(query)
    untrusted, text = _names_trust(request.options.get("where")), plain(query)
    by_word = _with_words(vault, query, filters, options, untrusted=untrusted)
    pins, named = dict[str, Reasoned](), dict[str, Reasoned]()
    for hit in _trusted(by_word.get(PIN, ()), untrusted=untrusted):
        if PIN in hit.tags:
            pins[hit.id] = Reasoned(_unscored(hit), "pinned", f"has the tag {PIN}")
    for hit in _trusted(by_word.get(ALIAS_WORD, ()), untrusted=untrusted):
        name = next((name for name in names_of(hit) if has_name(text, name)), "")
        # The other parts of a long entry are matches or nothing: the first one says what it is.
        if name and hit.id not in pins and part_number(hit) < 2:
            named[hit.id] = Reasoned(_unscored(hit), "alias", f"the query has its name {name}")
    notes = [note for results in by_word.values() for note in results.notes if note.code in DEGRADING]
    if len(pins) >= MOST_STANDING < (total := by_word[PIN].total or 0):
        cause = f"{total:,} entries have the tag {PIN}; {MOST_STANDING} of them were considered"
        notes.append(Note("over_budget", cause, "take the tag from those that are not always wanted"))
    return [*pins.values(), *named.values()], notes


def _with_words(
    vault: Searchable,
    query: str,
    filters: Mapping[str, Callable[[], Filter]],
    options: Mapping[str, Any],
    *,
    untrusted: bool,
) -> dict[str, Results]:
    """Return by word the entries that have it in their full text; all that may have it in a tag are among them.

    Where more may have it than are considered, those with words of the query are among them.

    Args:
        filters: by word, makes a filter that entries with the tag pass, for words that are frequent in texts, too.
        untrusted: include untrusted entries, which would else take the places of others.
    """
    if not filters:
        return {}
    words = [*filters]
    plan = vault._plan(words[0], {**options, "limit": FEW_STANDING}, "context")
    plan = plan._replace(legs=frozenset({"text"}), follows=True)
    tiers, threads = vault._tiers() if plan.tiers is None else vault._named_tiers(plan.tiers), vault._tier_threads()
    plans = [plan.of_query(word, None, False) for word in words]
    by_word = dict(zip(words, run(tiers, plans, threads)))
    for word, few in zip(words, plans):
        total = by_word[word].total
        if total is None or total > FEW_STANDING:
            wanted = {**plan.filters, "standing": filters[word](), **({} if untrusted else _trust_filter())}
            most = few._replace(limit=MOST_STANDING, filters=wanted)
            by_word[word] = run(tiers, [most], threads)[0]
            if word == ALIAS_WORD and (by_word[word].total or 0) > MOST_STANDING:
                by_words = run(tiers, [most.of_query(query, None, False)], threads)[0]
                by_word[word] = by_words if by_words.total else by_word[word]
    return by_word


def _trusted(hits: Iterable[Hit], *, untrusted: bool) -> list[Hit]:
    """Return hits, the most trusted and the newest first, parts in order; without untrusted ones unless wanted."""
    wanted = [hit for hit in hits if untrusted or hit.trust != "untrusted"]
    parents = {hit.id: hit.id if hit.parent is None else hit.parent for hit in wanted}
    key = {hit.id: (*_worth(hit)[:2], parents[hit.id], -part_number(hit), hit.id) for hit in wanted}
    return sorted(wanted, key=lambda hit: key[hit.id], reverse=True)


def _unscored(hit: Hit) -> Hit:
    """Return a hit without what compares it to words that the query does not have."""
    entry, unknown = hit.entry, dict.fromkeys(hit.raw)
    assert entry is not None
    unsought = (entry, ((), (), False), SNIPPET_CHARS)
    none: Any = {"score": 0.0, "confidence": 0.0, "breakdown": {}, "signals": {}, "raw": unknown}
    return replace(hit, **none, snippet=entry.snippet, _origin=unsought)


def _worth(hit: Hit) -> tuple[int, float, str]:
    """Return the order of entries of which one is taken first: the most trusted, then the newest."""
    changed = 0.0 if hit.entry is None else hit.entry.updated_at
    return TRUSTS.index(hit.trust), changed, hit.id


def _pin_filter() -> Filter:
    """Return a filter of pins; the full text finds them, as tags are no column that a store looks a value up in."""
    from septet.query.filters import AllOf, Compare, Holds

    return AllOf((Holds(f'"{PIN}"', ()), Compare("tags", "$eq", PIN)))


def _trust_filter() -> dict[str, Filter]:
    from septet.query.filters import Compare

    return {"trusted": Compare("trust", "$ne", "untrusted")}


# -- repetitions -------------------------------------------------------------------------------------------------------


def _merged(standing: Sequence[Reasoned], matches: Sequence[Reasoned]) -> list[Reasoned]:
    """Return each entry once, with the first reason for it and the scores of a match."""
    scored = {item.hit.id: item.hit for item in matches}
    known = {item.hit.id for item in standing}
    first = [item._replace(hit=scored.get(item.hit.id, item.hit)) for item in standing]
    return [*first, *(item for item in matches if item.hit.id not in known)]


def _each_once(items: Sequence[Reasoned]) -> tuple[list[Reasoned], list[LeftOutEntry]]:
    """Return the items that no better one makes needless, and the others."""
    from septet.search.repeated import ComparedEntry, needless

    by_worth = sorted(items, key=lambda item: (item.code == "pinned", *_worth(item.hit)), reverse=True)
    kept: list[ComparedEntry] = []
    left_out: list[LeftOutEntry] = []
    for item in by_worth:
        assert item.hit.entry is not None
        compared, pinned = ComparedEntry(item.hit.entry), item.code == "pinned"
        missing = next(filter(None, (needless(compared, other, pinned=pinned) for other in kept)), None)
        if missing is None:
            kept.append(compared)
        else:
            left_out.append(missing)
    ids = {compared.entry.id for compared in kept}
    return [item for item in items if item.hit.id in ids], left_out
