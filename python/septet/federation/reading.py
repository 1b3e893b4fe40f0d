"""Reading a federation without a query: each entry from the highest tier that has it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

from septet.errors import SeptetError
from septet.federation.member import TierMembers
from septet.model.entry import Entry
from septet.model.links import Link
from septet.model.vector import Space
from septet.vault.batch import ids_of
from septet.vault.listed import Lists
from septet.vault.reading import ReadById, asked_model, fullest, rows_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from septet.federation.member import Member
    from septet.listing.queries import ListingQuery, Shadowing, Shadows
    from septet.model.arrays import Mask
    from septet.model.stats import Stats

_Answer = TypeVar("_Answer")


class ReadableTiers(TierMembers, Lists, ReadById):
    """Tiers read as one store."""

    _known_shadows: Shadows | None = None

    def load(self, ids: Iterable[str]) -> list[Entry]:
        """Return whole entries in the order of the ids, each from the highest tier that has it.

        Unknown ids and failing tiers are skipped.

        Args:
            ids: of entries.

        Raises:
            EntryError: an id is not text.
            SeptetError: every tier failed; the first error.
        """
        wanted_ids = ids_of([ids] if isinstance(ids, str) else ids)
        by_id: dict[str, Entry] = {}
        for _, entries in self._each(lambda vault: vault.load([i for i in wanted_ids if i not in by_id])):
            by_id.update((e.id, e) for e in entries)
        return [by_id[i] for i in wanted_ids if i in by_id]

    def _ids_beginning(self, text: str, *, limit: int = 20) -> list[str]:
        """Return the ids that begin with a text, in order, of all tiers.

        Args:
            text: the prefix; case-sensitive.
            limit: maximum number of ids, at least 1.

        Raises:
            EntryError: an argument is malformed.
            SeptetError: every tier failed; the first error.
        """
        matching = {id for _, ids in self._each(lambda vault: vault._ids_beginning(text, limit=limit)) for id in ids}
        return sorted(matching)[:limit]

    def vectors(self, ids: Iterable[str], model: str | None = None) -> NDArray[np.float32]:
        """Return the vectors of entries, one row per id, from the highest tier that has the entry.

        See `Vault.vectors`. A row is NaN if the highest copy has no vector, even if a lower one has.

        Args:
            ids: of entries.
            model: as for a vault; None for the model with the most entries in all tiers.

        Raises:
            EntryError: an id is not text.
            VectorError: no tier has vectors, or none of this model.
            SeptetError: every tier failed; the first error.
        """
        wanted_ids, name = ids_of([ids] if isinstance(ids, str) else ids), asked_model(model)
        layout = fullest([layouts for _, layouts in self._each(lambda vault: vault._layouts())], name, "the federation")
        blobs: dict[str, bytes] = {}
        remaining = [*dict.fromkeys(wanted_ids)]

        def read(vault: Member) -> tuple[dict[str, bytes], frozenset[str]]:
            return vault._vectors_of(remaining, layout), vault._held(remaining)

        for _, (stored, live) in self._each(read):
            blobs.update(stored)
            remaining = [i for i in remaining if i not in live]
        return rows_of(wanted_ids, layout, blobs)

    def links(self, id: str) -> list[Link]:
        """Return the links from and to an entry, in all tiers; a link in several tiers is that of the highest.

        Args:
            id: the entry.

        Raises:
            SeptetError: every tier failed; the first error.
        """
        by_ends: dict[tuple[str, str], Link] = {}
        for _, links in self._each(lambda vault: vault.links(id)):
            for link in links:
                by_ends.setdefault((link.source, link.target), link)
        return [by_ends[ends] for ends in sorted(by_ends)]

    def stats(self) -> Stats:
        """Return counts of the tiers' contents.

        Entries and kinds count each id once. Links, feedback, spaces, sizes and generations are sums over the tiers;
        ``tiers`` has the figures of each. Tiers that fail are skipped.

        Raises:
            SeptetError: every tier failed; the first error.
        """
        from septet.model.stats import Stats

        every = dict(self._each(lambda vault: vault.stats()))
        named = sorted(self._vaults.items(), key=lambda item: -item[1][1])
        tiers = {name: every[vault] for name, (vault, _) in named if vault in every}
        kinds = self.facets("kind", limit=None)
        feedback: Counter[str] = Counter()
        spaces: Counter[tuple[str, int, str]] = Counter()
        for stats in tiers.values():
            feedback.update(stats.feedback)
            for space in stats.spaces:
                spaces[space.model, space.dimensions, space.keyed_by] += space.entries
        return Stats(
            path="",
            entries=kinds.total,
            kinds={str(kind): kinds[kind] for kind in sorted(kinds, key=str)},
            links=sum(stats.links for stats in tiers.values()),
            feedback=dict(feedback),
            spaces=[Space(number, *its, entries) for number, (its, entries) in enumerate(spaces.most_common(), 1)],
            generation=sum(stats.generation for stats in tiers.values()),
            size_bytes=sum(stats.size_bytes for stats in tiers.values()),
            notes=tuple(note for stats in tiers.values() for note in stats.notes),
            tiers=tiers,
        )

    def __iter__(self) -> Iterator[Entry]:
        """Iterate over all entries, each id once, from the highest tier down, some hundred in memory at a time.

        See `Vault.__iter__`; tiers that fail are skipped.

        Raises:
            SeptetError: every tier failed; the first error.
        """
        vaults, failures = self._by_priority(), []
        for place, vault in enumerate(vaults):
            try:
                for part in vault._parts():
                    hidden = _held([entry.id for entry in part], vaults[:place])
                    yield from (entry for entry in part if entry.id not in hidden)
            except SeptetError as fault:
                failures.append(fault)
        if failures and len(failures) == len(vaults):
            raise failures[0]

    def __bool__(self) -> bool:
        return True

    def __len__(self) -> int:
        return self.count()

    def __contains__(self, id: object) -> bool:
        return any(has for _, has in self._each(lambda vault: id in vault))

    def _asked_listings(
        self, query: ListingQuery[_Answer], as_of: float | None, tiers: frozenset[str] | None
    ) -> list[tuple[str, _Answer]]:
        from septet.listing.queries import Shadows

        shadows = self._known_shadows = self._known_shadows or Shadows()
        higher: list[Shadowing] = []

        def hidden(listing: Shadowing) -> Mask | None:
            return shadows.hidden(listing, higher, as_of)

        names = {id(vault): name for name, (vault, _) in self._vaults.items() if tiers is None or name in tiers}
        several = hidden if len(names) > 1 else None
        answers: list[tuple[str, _Answer]] = []
        for vault, result in self._each(lambda vault: vault._listed(query, several) if id(vault) in names else None):
            if result is None:
                continue
            answers.append((names[id(vault)], result[0]))
            if result[1] is not None:
                higher.append(result[1])
        return answers

    @property
    def _has_tiers(self) -> bool:
        return len(self._vaults) > 1


def _held(ids: list[str], vaults: list[Member]) -> set[str]:
    """Return the ids that any of the vaults has; failing vaults are skipped."""
    live: set[str] = set()
    for vault in vaults:
        try:
            live |= vault._held(ids)
        except SeptetError:
            continue
    return live
