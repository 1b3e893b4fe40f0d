"""Symbols: definitions in the files of a repository, near a query by its words and names; and renamed names."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from septet.errors import QueryError
from septet.inputs.arguments import utf8
from septet.model.entry import Entry
from septet.model.fields import Span
from septet.model.results import Hit, Scored, hits_of
from septet.notes import Note
from septet.retrieval.corpora.entry_cache import EntryCache
from septet.retrieval.corpora.folders import MOST_FILES, SKIPPED, Folder, FolderScan, entry_id, natural_words
from septet.retrieval.corpora.legs import MOST_ITEMS, searched_legs, time_left
from septet.retrieval.corpora.renames import ContractLike, Renames
from septet.retrieval.corpus import Answered, Asked, RankedList
from septet.retrieval.fusion import changed_hit
from septet.retrieval.knowledge import Knowledge, items_of

#: Path, line, name, kind, text of the line, score.
_Definition: TypeAlias = tuple[str, int, str, str, str, float]
#: Words about code that are seldom part of a name.
ABOUT_CODE = frozenset(
    "call called class code constant crate define defined defines definition does enum file find function handle "
    "handled happen happens implement implementation implemented implements interface located method module package "
    "show source struct symbol symbols trait type use used uses using variable work works".split()
)
#: Maximum names of a query, and the minimum characters of each.
MOST_NAMES, LEAST_NAME = 8, 3
#: Confidence of a definition whose exact name the query contains: above any confidence from words.
NAMED = 0.999
#: More than any repository has.
MOST_SYMBOLS = 1 << 40
_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:(?:::|\.|->|#)[A-Za-z_$][\w$]*)*")
_INSIDE = re.compile(r"_|\d|[a-z][A-Z]|[A-Z]{2}[a-z]|::|\.|->|#")


def names_in(query: str) -> list[str]:
    """Return the names in a query without their qualifiers: ``Vault.search`` gives ``search``.

    Names have an underscore, a digit, an inner capital, or a qualifier; a query of one word is a name.
    """
    names = [name for name in _NAME.findall(query) if _INSIDE.search(name) or len(query.split()) == 1]
    last = [re.split(r"::|\.|->|#", name)[-1] for name in names]
    return [name for name in dict.fromkeys(last) if len(name) >= LEAST_NAME][:MOST_NAMES]


class SymbolCorpus:
    """Definitions as entries of kind ``symbol``, with path and line: functions, classes, types, constants.

    A light scanner reads the common languages line by line; a file is read again when its size or time changes. The
    list ``symbols`` has the names nearest to the query, by its words and names, with scores of 0 to 1, and a confidence
    for exact names in the query. With a contract the list ``renamed`` has the retired names similar to the whole query,
    above 0.65, with their replacements. With a vault of entries of kind ``symbol`` (see `definitions`) the list
    ``vector`` has the nearest by vector, and a definition in both lists scores the mean.

    Args:
        folder: the folder, or a `Folder` shared by several corpora.
        name: the name in lists and hits.
        contract: retired names with the canonical ones, or a JSON file of them; see `Renames`.
        knowledge: a vault with symbols that have vectors.
        skip: names of skipped folders, if ``folder`` is a path.
        most_files: maximum files, if ``folder`` is a path.

    Raises:
        QueryError: an argument is invalid.
    """

    #: It waits for no other machine.
    local = True

    def __init__(
        self,
        folder: Folder | str | os.PathLike[str],
        *,
        name: str = "symbol_proximity",
        contract: ContractLike | None = None,
        knowledge: Knowledge | None = None,
        skip: Iterable[str] = SKIPPED,
        most_files: int = MOST_FILES,
    ) -> None:
        self.name = utf8(name, "name", QueryError, 256)
        self._folder = folder if isinstance(folder, Folder) else Folder(folder, skip=skip, most_files=most_files)
        self._renames = None if contract is None else Renames(contract, self._folder.path)
        self._knowledge = knowledge
        self._cache = EntryCache()

    def search(self, asked: Asked) -> Answered:
        """Return the lists ``symbols``, with a contract ``renamed``, and with a vault ``vector``.

        Raises:
            StoreError: the vault cannot be read.
        """
        limit = max(1, min(asked.limit, MOST_ITEMS))
        lists: dict[str, list[Hit]] = {}
        notes: list[Note] = []
        if asked.mode != "vector":
            scan = self._folder.listed(time_left(asked), symbols=True)
            notes += scan.notes
            lists["symbols"] = self._near(scan, asked.query, limit)
            if self._renames is not None:
                lists["renamed"] = self._renamed(scan, asked.query)[:limit]
                if self._renames.fault is not None:
                    notes.append(Note("corpus_failed", self._renames.fault, "fix the file", self.name))
        if self._knowledge is not None and asked.mode != "full_text" and asked.variant == 0:
            vectors = asked._replace(mode="vector")
            legs = searched_legs(self._knowledge, vectors, tier=self.name, limit=limit, kinds=["symbol"])
            lists["vector"] = list(legs.vector or ())
            notes += [note for note in legs.notes if asked.mode == "vector" or note.code != "no_embedder"]
            _average(lists)
        for hits in lists.values():
            self._cache.keep(hits)
        store = self._folder.path
        ranked = [
            RankedList(name, self.name, items_of(store, hits), variant=asked.variant) for name, hits in lists.items()
        ]
        named = max((hit.confidence for hit in lists.get("symbols", ())), default=0.0)
        return Answered(ranked, ["symbol_proximity"], notes, confidence=named or None)

    def get(self, entry_id: str) -> Entry | None:
        """Return the definition of a recent hit or in the vault; None for other ids.

        Raises:
            StoreError: the vault cannot be read.
        """
        entry = self._cache.get(entry_id)
        if entry is None and self._knowledge is not None:
            entry = self._knowledge.get(entry_id)
        return entry if entry is not None and entry.kind == "symbol" else None

    def definitions(self) -> Iterator[Entry]:
        """Yield all definitions as entries, for a vault that embeds them: ``vault.add_many(...)``."""
        known = self._folder.listed(symbols=True).repository
        yield from map(self._entry, known.symbols([], [], MOST_SYMBOLS))

    def _near(self, scan: FolderScan, query: str, limit: int) -> list[Hit]:
        words = [word for word in natural_words(query, ABOUT_CODE) if "/" not in word]
        names = names_in(query)
        # Without words and names every definition would match.
        definitions = scan.repository.symbols(words, names, limit) if words or names else []
        rows = ((self._entry(definition), definition[-1]) for definition in definitions)
        hits = self._hits([(entry, score, {"symbol": score}) for entry, score in rows])
        return [changed_hit(hit, confidence=NAMED) if hit.title in names else hit for hit in hits]

    def _renamed(self, scan: FolderScan, query: str) -> list[Hit]:
        hits = list[tuple[Entry, float, dict[str, "float | None"]]]()
        for renamed in self._renames.near(query) if self._renames is not None else ():
            last = re.split(r"::|\.|->|#", renamed.canonical)[-1]
            known = scan.repository.symbols([], [last], 1)
            # Only an exact name gives the place.
            place = known[0] if known and known[0][2] == last else None
            title = f"{renamed.retired} is now {renamed.canonical}"
            entry = Entry(
                id=entry_id("renamed", f"{renamed.retired}:{renamed.canonical}"),
                title=title,
                description=f"{title}." + (f" It is defined in {place[0]}, line {place[1]}." if place else ""),
                kind="symbol",
                type="renamed",
                attrs={"retired": renamed.retired, "canonical": renamed.canonical},
                span=Span(place[0], place[1], place[1]) if place else None,
                source=self._folder.path,
            )
            hits.append((entry, renamed.nearness, {"proximity": renamed.nearness}))
        return self._hits(hits)

    def _entry(self, definition: _Definition) -> Entry:
        path, line, name, kind, text, _ = definition
        return Entry(
            id=entry_id("symbol", f"{path}#L{line}:{name}"),
            title=name,
            description=text,
            context=path,
            kind="symbol",
            type=kind,
            attrs={"path": path, "line": line},
            span=Span(path, line, line),
            source=self._folder.path,
        )

    def _hits(self, rows: Iterable[tuple[Entry, float, dict[str, float | None]]]) -> list[Hit]:
        entries, scored = [], list[Scored]()
        for entry, score, raw in rows:
            entries.append(entry)
            scored.append((score, self.name, {}, {}, 0.0, raw))
        return list(hits_of(entries, scored, full=True))


def _average(lists: dict[str, list[Hit]]) -> None:
    """Score definitions in both lists by the mean, and sort the first list again."""
    near = {hit.id: hit.score for hit in lists["vector"]}
    weighed = []
    for hit in lists.get("symbols", ()):
        cosine = near.get(hit.id)
        score = hit.score if cosine is None else (hit.score + max(0.0, cosine)) / 2
        weighed.append(changed_hit(hit, score=score, raw={**hit.raw, "cosine": cosine}))
    if "symbols" in lists:
        lists["symbols"] = sorted(weighed, key=lambda hit: -hit.score)
