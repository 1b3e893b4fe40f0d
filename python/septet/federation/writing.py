"""Writing to a federation: into the named tier, or the tier that has the entry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from septet.errors import EntryError, EntryNotFound
from septet.federation.parts import TierMembers
from septet.inputs.arguments import flag, shown, utf8
from septet.model.links import Link
from septet.store.rules import feedback_row
from septet.vault.alike import KEEP, SIMILARITY
from septet.vault.batch import ids_to_delete

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

    from septet.federation.member import Member
    from septet.model.entry import Entry, Version
    from septet.model.fields import (
        Action,
        BulkChanges,
        EntryChanges,
        EntryItem,
        EntryOverrides,
        FrameLike,
        MemoryFields,
        OnSimilar,
        Split,
        Strings,
        VectorLike,
    )
    from septet.watch.progress import Progress


class WritableTiers(TierMembers):
    """Tiers written as one store.

    New entries are stored in the highest tier, unless ``tier`` names one. An existing entry is changed in the highest
    tier that has it; changes by filter require ``tier``. Arguments and errors are those of the methods of `Vault`; an
    unknown tier raises a `TierError`.
    """

    def add(
        self,
        entry: Entry | None = None,
        *,
        vector: VectorLike | None = None,
        model: str | None = None,
        split: Split | None = None,
        on_similar: OnSimilar = KEEP,
        similarity: float = SIMILARITY,
        tier: str | None = None,
        **fields: Unpack[EntryOverrides],
    ) -> str:
        """Store an entry in a tier, the highest unless named, and return its id; see `Vault.add`.

        With ``on_similar`` it is compared with the entries of that tier.

        Raises:
            TierError: there is no such tier.
            SeptetError: as that method.
        """
        options: Any = {"vector": vector, "model": model, "split": split, **fields}
        return self._into(tier).add(entry, on_similar=on_similar, similarity=similarity, **options)

    def add_many(
        self,
        items: Iterable[Entry | EntryItem | Mapping[str, object]] | FrameLike,
        *,
        vectors: ArrayLike | None = None,
        model: str | None = None,
        split: Split | None = None,
        progress: Progress | None = None,
        on_similar: OnSimilar = KEEP,
        similarity: float = SIMILARITY,
        tier: str | None = None,
    ) -> list[str]:
        """Store many entries in a tier, the highest unless named, and return their ids; see `Vault.add_many`.

        Raises:
            TierError: there is no such tier.
            SeptetError: as that method.
        """
        options: Any = {"vectors": vectors, "model": model, "split": split, "progress": progress}
        return self._into(tier).add_many(items, on_similar=on_similar, similarity=similarity, **options)

    def remember(
        self,
        text: str | None = None,
        details: str = "",
        topics: Strings = (),
        *,
        context: str | None = None,
        summary: str | None = None,
        id: str | None = None,
        vector: VectorLike | None = None,
        model: str | None = None,
        on_similar: OnSimilar = KEEP,
        similarity: float = SIMILARITY,
        tier: str | None = None,
        **fields: Unpack[MemoryFields],
    ) -> str:
        """Store a memory in a tier, the highest unless named, and return its id; see `Vault.remember`.

        Raises:
            TierError: there is no such tier.
            SeptetError: as that method.
        """
        options: Any = {"context": context, "summary": summary, "id": id, "vector": vector, "model": model, **fields}
        return self._into(tier).remember(text, details, topics, on_similar=on_similar, similarity=similarity, **options)

    def update(
        self,
        id: str,
        *,
        vector: VectorLike | None = None,
        model: str | None = None,
        split: Split | None = None,
        merge_attrs: Mapping[str, object] | None = None,
        tier: str | None = None,
        **changes: Unpack[EntryChanges],
    ) -> Entry:
        """Change an entry in the highest tier that has it, or in the tier named; see `Vault.update`.

        Raises:
            TierError: there is no such tier.
            SeptetError: as that method.
        """
        options: Any = {"vector": vector, "model": model, "split": split, "merge_attrs": merge_attrs, **changes}
        return self._holding(utf8(id, "id"), tier).update(id, **options)

    def update_many(
        self,
        where: Mapping[str, object],
        *,
        tier: str | None = None,
        merge_attrs: Mapping[str, object] | None = None,
        dry_run: bool = False,
        **changes: Unpack[BulkChanges],
    ) -> int:
        """Change every entry of a tier that passes a filter; return their number; see `Vault.update_many`.

        Raises:
            TierError: no tier is named, or there is no such tier.
            SeptetError: as that method.
        """
        return self._meant(tier).update_many(where, merge_attrs=merge_attrs, dry_run=dry_run, **changes)

    def rename_tag(
        self,
        old: str,
        new: str,
        *,
        tier: str | None = None,
        where: Mapping[str, object] | None = None,
        dry_run: bool = False,
    ) -> int:
        """Rename a tag in a tier; return the number of changed entries; see `Vault.rename_tag`.

        Raises:
            TierError: no tier is named, or there is no such tier.
            SeptetError: as that method.
        """
        return self._local(self._meant(tier)).rename_tag(old, new, where=where, dry_run=dry_run)

    def merge_domains(
        self, sources: str | Strings, into: str, *, tier: str | None = None, dry_run: bool = False
    ) -> int:
        """Move every entry of some domains of a tier into one; return their number; see `Vault.merge_domains`.

        Raises:
            TierError: no tier is named, or there is no such tier.
            SeptetError: as that method.
        """
        return self._local(self._meant(tier)).merge_domains(sources, into, dry_run=dry_run)

    def delete(
        self,
        *ids: str | Iterable[str],
        where: Mapping[str, object] | None = None,
        dry_run: bool = False,
        tier: str | None = None,
    ) -> int:
        """Delete entries, each from the highest tier that has it, or from the named tier; return the number deleted.

        A copy in a lower tier stays, and searches return it from then on. ``where`` requires ``tier``. See
        `Vault.delete`.

        Raises:
            TierError: there is no such tier.
            SeptetError: as that method.
        """
        flag(dry_run, "dry_run", EntryError)
        if where is not None or tier is not None:
            return self._meant(tier).delete(*ids, where=where, dry_run=dry_run)
        return self._delete_each(ids_to_delete(ids), dry_run)

    def forget(
        self,
        *ids: str | Iterable[str],
        where: Mapping[str, object] | None = None,
        dry_run: bool = False,
        tier: str | None = None,
    ) -> int:
        """Delete memories, each from the highest tier that has it, or from the named tier; return the number deleted.

        ``where`` requires ``tier``. See `Vault.forget`.

        Raises:
            TierError: there is no such tier.
            SeptetError: as that method.
        """
        if where is not None:
            return self._meant(tier).forget(*ids, where=where, dry_run=dry_run)
        flag(dry_run, "dry_run", EntryError)
        if tier is not None:
            return self._named(tier).forget(*ids, dry_run=dry_run)
        return self._delete_each(ids_to_delete(ids), dry_run, memories=True)

    def purge(
        self,
        *,
        tier: str | None = None,
        expired: bool = False,
        older_than: float | timedelta | None = None,
        history_older_than: float | timedelta | None = None,
        where: Mapping[str, object] | None = None,
        dry_run: bool = False,
    ) -> int:
        """Permanently remove deleted data of a tier; return the number of removed rows; see `Vault.purge`.

        Raises:
            TierError: no tier is named, or there is no such tier.
            SeptetError: as that method.
        """
        return self._local(self._meant(tier)).purge(
            expired=expired, older_than=older_than, history_older_than=history_older_than, where=where, dry_run=dry_run
        )

    def history(self, id: str, *, tier: str | None = None) -> list[Version]:
        """Return the earlier versions of an entry in the highest tier that has it; see `Vault.history`.

        Raises:
            TierError: there is no such tier.
            SeptetError: as that method.
        """
        try:
            return self._holding(utf8(id, "id"), tier).history(id)
        except EntryNotFound:
            return []

    def supersede(
        self,
        old: str,
        new: str | Entry | EntryItem | Mapping[str, object],
        reason: str = "",
        *,
        tier: str | None = None,
    ) -> str:
        """Replace an entry by another one, in the tier of the old one; see `Vault.supersede`.

        A copy of the old one in a lower tier stays valid, and searches return it from then on.

        Raises:
            TierError: there is no such tier.
            SeptetError: as that method.
        """
        return self._holding(utf8(old, "old"), tier).supersede(old, new, reason)

    def reinstate(self, id: str, *, tier: str | None = None) -> bool:
        """Undo `supersede` in the highest tier that has the entry; see `Vault.reinstate`.

        Raises:
            TierError: there is no such tier.
            SeptetError: as that method.
        """
        return self._holding(utf8(id, "id"), tier).reinstate(id)

    def link(self, source: str, target: str, type: str = "related", *, note: str = "", tier: str | None = None) -> None:
        """Link two entries in the highest tier that has both, or in the tier named; see `Vault.link`.

        Raises:
            TierError: there is no such tier.
            SeptetError: as that method.
        """
        ends = [utf8(source, "source"), utf8(target, "target")]
        if tier is None:
            for vault, count in self._each(lambda vault: len(vault.load(ends))):
                if count == len(set(ends)):
                    return vault.link(source, target, type, note=note)
            raise EntryNotFound(
                f"no tier has both {shown(source)} and {shown(target)}: a link joins entries of one tier; "
                "`add` a copy first"
            )
        return self._named(tier).link(source, target, type, note=note)

    def link_many(
        self,
        items: Iterable[Link | tuple[str, str] | tuple[str, str, str] | tuple[str, str, str, str]],
        *,
        tier: str | None = None,
    ) -> int:
        """Store many links in a tier; return their number; see `Vault.link_many`.

        Raises:
            TierError: no tier is named, or there is no such tier.
            SeptetError: as that method.
        """
        return self._meant(tier).link_many(items)

    def unlink(self, source: str, target: str, *, tier: str | None = None) -> bool:
        """Remove a link from the highest tier that has it, or from the named tier; return True if it existed.

        Raises:
            TierError: there is no such tier.
            SeptetError: as that method.
        """
        if tier is not None:
            return self._named(tier).unlink(source, target)
        utf8(source, "source"), utf8(target, "target")
        return any(removed for _, removed in self._each(lambda vault: vault.unlink(source, target)))

    def feedback(self, query: str, id: str, action: Action, *, tier: str | None = None) -> None:
        """Record the outcome of a result, in the highest tier that has the entry; see `Vault.feedback`.

        Args:
            query: the text of the search.
            id: the entry.
            action: the outcome.
            tier: the tier to write; None for the highest that has the entry.

        Raises:
            EntryNotFound: no tier has the entry.
            EntryError: an unknown action.
            TierError: there is no such tier.
            StoreError: the tier cannot be written, or every tier failed.
        """
        row = feedback_row(query, id, action, 0.0)
        self._holding(row.entry_id, tier).feedback(row.query, row.entry_id, action)

    def reset_feedback(self, *, tier: str | None = None) -> int:
        """Delete all feedback of a tier; return the number of deleted rows; see `Vault.reset_feedback`.

        Raises:
            TierError: no tier is named, or there is no such tier.
            SeptetError: as that method.
        """
        return self._local(self._meant(tier)).reset_feedback()

    # -- inside ------------------------------------------------------------------------------------------------------

    def _into(self, tier: str | None) -> Member:
        return self._first() if tier is None else self._named(tier)

    def _delete_each(self, ids: list[str], dry_run: bool, *, memories: bool = False) -> int:
        """Delete entries, or only memories, each from the highest tier that has it; return the number deleted."""
        kind = "memory" if memories else None
        count = 0
        done: set[str] = set()
        for vault, known in self._each(lambda vault: vault._holds(ids, kind)):
            mine = known - done
            if mine:
                count += (vault.forget if memories else vault.delete)(mine, dry_run=dry_run)
            done |= mine
        return count
