"""Symbols: definitions in the files of a repository, near a query by its words and names.

Renamed names are found by a contract: the replacements of retired names, from a dict or a JSON file of the repository.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from septet._core import proximities
from septet.errors import QueryError
from septet.files.steady import decoded, open_file
from septet.inputs.arguments import file_path, shown
from septet.model.entry import Entry
from septet.model.fields import Span
from septet.model.results import Hit, hits_of
from septet.notes import Note
from septet.retrieval.corpora.folders import (
    MOST_FILES,
    SKIPPED,
    Folder,
    FolderCorpus,
    FolderScan,
    entry_id,
    natural_words,
)
from septet.retrieval.corpora.legs import VaultSearch, limit_of, time_left
from septet.retrieval.corpus import CorpusAnswer, CorpusRequest
from septet.retrieval.fusion import changed_hit
from septet.retrieval.knowledge import Knowledge

#: Retired names with the canonical ones, or a JSON file of these.
ContractLike: TypeAlias = "Mapping[str, str] | str | os.PathLike[str]"
MOST_BYTES, MOST_RENAMES, MOST_NAME_CHARS, MOST_DEPTH = 4 << 20, 10_000, 256, 8
#: Minimum nearness of a hit, as documented.
LEAST = 0.65
_RETIRED = ("retired", "old", "from", "deprecated", "was")
_CANONICAL = ("canonical", "new", "to", "replacement", "now", "target")


class Renamed(NamedTuple):
    """A renamed name.

    Attributes:
        retired: the old name.
        canonical: the current name.
        nearness: similarity of the query to the old name, 0 to 1.
    """

    retired: str
    canonical: str
    nearness: float


class Renames:
    """Retired names and the canonical ones; a changed file is read again.

    A file contains an object of names, or objects with ``retired`` and ``canonical`` (also ``old`` and ``new``,
    ``from`` and ``to``), in lists and objects up to eight levels deep. At most 10,000 names and 4 MiB.

    Args:
        contract: the names, or the file.
        root: base of a relative path.

    Raises:
        QueryError: the contract is neither.
    """

    def __init__(self, contract: ContractLike, root: str = "") -> None:
        self.path: str | None = None
        self.fault: str | None = None
        self._names: dict[str, str] = {}
        self._seen: tuple[int, int] | None = None
        if isinstance(contract, Mapping):
            self._names = dict(_pairs(contract, 0))
        elif isinstance(contract, (str, os.PathLike)):
            self.path = os.path.join(root, file_path(contract, "contract", QueryError))  # noqa: PTH118 - text
        else:
            raise QueryError(f"contract is {shown(contract)}: wanted a dict of names, or a JSON file")

    def near(self, query: str) -> list[Renamed]:
        """Return the names similar to the whole query, nearest first, above a nearness of 0.65.

        Nearness is 1 if either contains the other (three characters or more), else 1 - Levenshtein distance / length of
        the longer, ignoring case.
        """
        if self.path is not None:
            self._look(self.path)
        names, sought = self._names, " ".join(query.lower().split())
        if not sought or not names:
            return []
        scores = proximities(sought, [name.lower() for name in names])
        near = [Renamed(*pair, score) for pair, score in zip(names.items(), scores) if score > LEAST]
        return sorted(near, key=lambda renamed: -renamed.nearness)

    def _look(self, path: str) -> None:
        try:
            about = os.stat(path)  # noqa: PTH116 - text
            seen = (about.st_size, about.st_mtime_ns)
            if seen == self._seen:
                return
            if not stat.S_ISREG(about.st_mode) or about.st_size > MOST_BYTES:
                raise ValueError(f"it is not a file, or larger than {MOST_BYTES:,} bytes")
            with open_file(os.path.realpath(path)) as file:
                names = dict(_pairs(json.loads(decoded(file.read(MOST_BYTES))[0]), 0))
        except (OSError, ValueError, RecursionError) as fault:
            self.fault = f"{path} cannot be read as names: {fault}"
            return
        self._names, self._seen, self.fault = names, seen, None


def _pairs(value: Any, depth: int) -> Iterator[tuple[str, str]]:
    """Yield at most `MOST_RENAMES` names of a value."""
    for number, pair in enumerate(_all_pairs(value, depth)):
        if number == MOST_RENAMES:
            return
        if all(0 < len(name.strip()) <= MOST_NAME_CHARS for name in pair):
            yield pair


def _all_pairs(value: Any, depth: int) -> Iterator[tuple[str, str]]:
    if depth > MOST_DEPTH:
        return
    if isinstance(value, Mapping):
        retired = next((value[name] for name in _RETIRED if isinstance(value.get(name), (str, list))), None)
        canonical = next((value[name] for name in _CANONICAL if isinstance(value.get(name), str)), None)
        if retired is not None and canonical is not None:
            each = [retired] if isinstance(retired, str) else retired
            yield from ((name, canonical) for name in each if isinstance(name, str))
            return
        for name, inner in value.items():
            if isinstance(name, str) and isinstance(inner, str):
                yield name, inner
            else:
                yield from _all_pairs(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            yield from _all_pairs(inner, depth + 1)


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


class SymbolCorpus(FolderCorpus):
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
        super().__init__(name, folder, skip, most_files)
        self._renames = None if contract is None else Renames(contract, self._folder.path)
        self._vault = None if knowledge is None else VaultSearch(name, knowledge, {}, kinds=["symbol"])

    def search(self, request: CorpusRequest) -> CorpusAnswer:
        """Return the lists ``symbols``, with a contract ``renamed``, and with a vault ``vector``."""
        limit = limit_of(request)
        lists: dict[str, list[Hit]] = {}
        notes: list[Note] = []
        if request.mode != "vector":
            scan = self._folder.listed(time_left(request), symbols=True)
            notes += scan.notes
            lists["symbols"] = self._near(scan, request.query, limit)
            if self._renames is not None:
                lists["renamed"] = self._renamed(scan, request.query)[:limit]
                if self._renames.fault is not None:
                    notes.append(Note("corpus_failed", self._renames.fault, "fix the file", self.name))
        if self._vault is not None and request.mode != "full_text" and request.variant == 0:
            leg_hits = self._vault._searched(request._replace(mode="vector"), limit)
            lists["vector"] = list(leg_hits.lists.get("vector", ()))
            notes += [note for note in leg_hits.notes if request.mode == "vector" or note.code != "no_embedder"]
            _average(lists)
        ranked = [self._list(name, request, hits) for name, hits in lists.items()]
        named = max((hit.confidence for hit in lists.get("symbols", ())), default=0.0)
        return CorpusAnswer(ranked, ["symbol_proximity"], notes, confidence=named or None)

    def get(self, entry_id: str) -> Entry | None:
        """Return the definition of a recent hit or in the vault; None for other ids."""
        entry = super().get(entry_id)
        if entry is None and self._vault is not None:
            entry = self._vault.get(entry_id)
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
        hits = [self._hit(self._entry(definition), definition[-1], "symbol") for definition in definitions]
        return [changed_hit(hit, confidence=NAMED) if hit.title in names else hit for hit in hits]

    def _renamed(self, scan: FolderScan, query: str) -> list[Hit]:
        hits = []
        for renamed in self._renames.near(query) if self._renames is not None else ():
            last = re.split(r"::|\.|->|#", renamed.canonical)[-1]
            known = scan.repository.symbols([], [last], 1)
            # Only an exact name gives the place.
            path, line, name, *_ = known[0] if known else ("", 0, "")
            is_placed = name == last
            title = f"{renamed.retired} is now {renamed.canonical}"
            entry = Entry(
                id=entry_id("renamed", f"{renamed.retired}:{renamed.canonical}"),
                title=title,
                description=f"{title}." + (f" It is defined in {path}, line {line}." if is_placed else ""),
                kind="symbol",
                type="renamed",
                attrs={"retired": renamed.retired, "canonical": renamed.canonical},
                span=Span(path, line, line) if is_placed else None,
                source=self._folder.path,
            )
            hits.append(self._hit(entry, renamed.nearness, "proximity"))
        return hits

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

    def _hit(self, entry: Entry, score: float, raw: str) -> Hit:
        return hits_of([entry], [(score, self.name, {}, {}, 0.0, {raw: score})], full=True)[0]


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
