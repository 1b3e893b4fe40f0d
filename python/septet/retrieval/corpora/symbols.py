"""Symbols: what the files of a repository define, near a query by its words and by its names; and what was renamed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from septet.errors import QueryError
from septet.inputs.arguments import utf8
from septet.model.entry import Entry, Span
from septet.model.results import Hit, Note, Scored, hits_of
from septet.retrieval.corpora.folders import MOST_FILES, SKIPPED, Folder, Listed, entry_id, natural_words
from septet.retrieval.corpora.kept import Kept
from septet.retrieval.corpora.legs import MOST_ITEMS, searched_legs, time_left
from septet.retrieval.corpora.renames import ContractLike, Renames
from septet.retrieval.corpus import Answered, Asked, RankedList
from septet.retrieval.fusion import changed_hit
from septet.retrieval.knowledge import Knowledge, items_of

__all__ = ["SymbolCorpus", "names_in"]

#: Path, line, name, kind, text of the line, score.
_Definition: TypeAlias = tuple[str, int, str, str, str, float]
#: Words about code that are seldom a part of the name that is meant.
ABOUT_CODE = frozenset(
    "call called class code constant crate define defined defines definition does enum file find function handle "
    "handled happen happens implement implementation implemented implements interface located method module package "
    "show source struct symbol symbols trait type use used uses using variable work works".split()
)
#: So many names of a query count, of three characters or more.
MOST_NAMES, LEAST_NAME = 8, 3
#: How likely a definition is meant whose very name the query has: nearly sure, and surer than what words suggest.
NAMED = 0.999
#: No repository has more.
MOST_SYMBOLS = 1 << 40
_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:(?:::|\.|->|#)[A-Za-z_$][\w$]*)*")
_INSIDE = re.compile(r"_|\d|[a-z][A-Z]|[A-Z]{2}[a-z]|::|\.|->|#")


def names_in(query: str) -> list[str]:
    """Return what may be names in a query, without what qualifies them: ``Vault.search`` gives ``search``.

    Names have an underscore, a digit, a capital inside, or something that qualifies them; a query of one word is one.
    """
    found = _NAME.findall(query)
    names = [one for one in found if _INSIDE.search(one) or len(query.split()) == 1]
    last = [re.split(r"::|\.|->|#", one)[-1] for one in names]
    return [one for one in dict.fromkeys(last) if len(one) >= LEAST_NAME][:MOST_NAMES]


class SymbolCorpus:
    """Definitions as entries of kind ``symbol``, with path and line: functions, classes, types, constants.

    A light scanner reads the common languages line by line; a file is read again when its size or time changes. The
    list ``symbols`` has the names nearest to the query, by its words and by what looks like a name, with scores of 0 to
    1, and a confidence for the very names that the query has. With a contract the list ``renamed`` has the names that
    the whole query is near to, above 0.65, and what replaced them. With a vault of entries of kind ``symbol`` (see
    `definitions`) the list ``vector`` has those whose vectors are nearest, and the score of what both know is the mean
    of both.

    Args:
        folder: the folder, or a `Folder` that several corpora share.
        name: what lists and hits call it.
        contract: retired names with the canonical ones, or a JSON file of them; see `Renames`.
        knowledge: a vault with symbols that have vectors.
        skip: names of folders that are passed over, if ``folder`` is a path.
        most_files: at most so many files, if ``folder`` is a path.

    Raises:
        QueryError: an argument is none of these.
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
        self._kept = Kept()

    def search(self, asked: Asked) -> Answered:
        """Return the lists ``symbols``, ``renamed`` and ``vector``, as far as there are a contract and a vault.

        Raises:
            StoreError: the vault cannot be read.
        """
        limit = max(1, min(asked.limit, MOST_ITEMS))
        lists: dict[str, list[Hit]] = {}
        notes: list[Note] = []
        if asked.mode != "vector":
            there = self._folder.listed(time_left(asked), symbols=True)
            notes += there.notes
            lists["symbols"] = self._near(there, asked.query, limit)
            if self._renames is not None:
                lists["renamed"] = self._renamed(there, asked.query)[:limit]
                if self._renames.fault is not None:
                    notes.append(Note("corpus_failed", self._renames.fault, "mend the file", self.name))
        if self._knowledge is not None and asked.mode != "full_text" and asked.variant == 0:
            vectors = asked._replace(mode="vector")
            found = searched_legs(self._knowledge, vectors, tier=self.name, limit=limit, kinds=["symbol"])
            lists["vector"] = list(found.vector or ())
            notes += [note for note in found.notes if asked.mode == "vector" or note.code != "no_embedder"]
            _average(lists)
        for hits in lists.values():
            self._kept.keep(hits)
        store = self._folder.path
        ranked = [
            RankedList(name, self.name, items_of(store, hits), variant=asked.variant) for name, hits in lists.items()
        ]
        named = max((hit.confidence for hit in lists.get("symbols", ())), default=0.0)
        return Answered(ranked, ["symbol_proximity"], notes, confidence=named or None)

    def get(self, entry_id: str) -> Entry | None:
        """Return a definition that was found lately, or is in the vault; None for any other entry.

        Raises:
            StoreError: the vault cannot be read.
        """
        found = self._kept.get(entry_id)
        if found is None and self._knowledge is not None:
            found = self._knowledge.get(entry_id)
        return found if found is not None and found.kind == "symbol" else None

    def definitions(self) -> Iterator[Entry]:
        """Yield all definitions as entries, for a vault that gives them vectors: ``vault.add_many(...)``."""
        known = self._folder.listed(symbols=True).repository
        yield from map(self._entry, known.symbols([], [], MOST_SYMBOLS))

    def _near(self, there: Listed, query: str, limit: int) -> list[Hit]:
        words = [word for word in natural_words(query, ABOUT_CODE) if "/" not in word]
        names = names_in(query)
        # Of no words at all, all there is would be meant.
        found = there.repository.symbols(words, names, limit) if words or names else []
        hits = self._hits([(self._entry(one), one[-1], {"symbol": one[-1]}) for one in found])
        return [changed_hit(hit, confidence=NAMED) if hit.title in names else hit for hit in hits]

    def _renamed(self, there: Listed, query: str) -> list[Hit]:
        hits = list[tuple[Entry, float, dict[str, "float | None"]]]()
        for one in self._renames.near(query) if self._renames is not None else ():
            last = re.split(r"::|\.|->|#", one.canonical)[-1]
            known = there.repository.symbols([], [last], 1)
            # Only the very name tells where it is.
            place = known[0] if known and known[0][2] == last else None
            title = f"{one.retired} is now {one.canonical}"
            entry = Entry(
                id=entry_id("renamed", f"{one.retired}:{one.canonical}"),
                title=title,
                description=f"{title}." + (f" It is defined in {place[0]}, line {place[1]}." if place else ""),
                kind="symbol",
                type="renamed",
                attrs={"retired": one.retired, "canonical": one.canonical},
                span=Span(place[0], place[1], place[1]) if place else None,
                source=self._folder.path,
            )
            hits.append((entry, one.nearness, {"proximity": one.nearness}))
        return self._hits(hits)

    def _entry(self, found: _Definition) -> Entry:
        path, line, name, kind, text, _ = found
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

    def _hits(self, found: Iterable[tuple[Entry, float, dict[str, float | None]]]) -> list[Hit]:
        entries, scored = [], list[Scored]()
        for entry, score, raw in found:
            entries.append(entry)
            scored.append((score, self.name, {}, {}, 0.0, raw))
        return list(hits_of(entries, scored, full=True))


def _average(lists: dict[str, list[Hit]]) -> None:
    """Give what both lists have the mean of its scores, and order the first one again."""
    near = {hit.id: hit.score for hit in lists["vector"]}
    weighed = []
    for hit in lists.get("symbols", ()):
        cosine = near.get(hit.id)
        score = hit.score if cosine is None else (hit.score + max(0.0, cosine)) / 2
        weighed.append(changed_hit(hit, score=score, raw={**hit.raw, "cosine": cosine}))
    if "symbols" in lists:
        lists["symbols"] = sorted(weighed, key=lambda hit: -hit.score)
