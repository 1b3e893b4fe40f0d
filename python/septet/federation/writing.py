"""Writing to a federation: into the highest tier, or the highest tier that has the entry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from septet.errors import EntryError, EntryNotFound
from septet.federation.member import TierMembers, of_highest, of_holder
from septet.inputs.arguments import flag, shown, utf8
from septet.model.entry import Version
from septet.vault.anywhere import AnyVault
from septet.vault.batch import ids_to_delete
from septet.vault.vault import Vault


class WritableTiers(TierMembers):
    """Tiers written as one store.

    New entries and folders go to the highest tier; an existing entry is changed in the highest tier that has it. For
    another tier, and for what changes many entries, call the methods of `tier`.
    """

    add = of_highest(AnyVault.add)
    add_many = of_highest(AnyVault.add_many)
    remember = of_highest(AnyVault.remember)
    import_ = of_highest(AnyVault.import_)
    sync = of_highest(Vault.sync)
    forget_root = of_highest(Vault.forget_root)
    sync_status = of_highest(Vault.sync_status)
    watch_files = of_highest(Vault.watch_files)

    update = of_holder(AnyVault.update)
    supersede = of_holder(AnyVault.supersede, "old")
    reinstate = of_holder(AnyVault.reinstate)
    feedback = of_holder(AnyVault.feedback)

    def history(self, id: str) -> list[Version]:
        """Return the earlier versions of an entry in the highest tier that has it; see `Vault.history`.

        Raises:
            SeptetError: as that method.
        """
        try:
            return self._holding(utf8(id, "id")).history(id)
        except EntryNotFound:
            return []

    def delete(
        self, *ids: str | Iterable[str], where: Mapping[str, object] | None = None, dry_run: bool = False
    ) -> int:
        """Delete entries, each from the highest tier that has it; return the number deleted.

        A copy in a lower tier stays, and searches return it from then on. See `Vault.delete`.

        Raises:
            TierError: ``where`` is passed: call `delete` of one `tier`.
            SeptetError: as that method.
        """
        return self._delete_each(ids, where, dry_run, None)

    def forget(
        self, *ids: str | Iterable[str], where: Mapping[str, object] | None = None, dry_run: bool = False
    ) -> int:
        """Delete memories, each from the highest tier that has it; return the number deleted. See `Vault.forget`.

        Raises:
            TierError: ``where`` is passed: call `forget` of one `tier`.
            SeptetError: as that method.
        """
        return self._delete_each(ids, where, dry_run, "memory")

    def link(self, source: str, target: str, type: str = "related", *, note: str = "") -> None:
        """Link two entries in the highest tier that has both; see `Vault.link`.

        Raises:
            EntryNotFound: no tier has both.
            SeptetError: as that method.
        """
        ends = [utf8(source, "source"), utf8(target, "target")]
        for vault, count in self._each(lambda vault: len(vault.load(ends))):
            if count == len(set(ends)):
                return vault.link(source, target, type, note=note)
        raise EntryNotFound(
            f"no tier has both {shown(source)} and {shown(target)}: a link joins entries of one tier; "
            "`add` a copy first"
        )

    def unlink(self, source: str, target: str) -> bool:
        """Remove a link from the highest tier that has it; return True if it existed.

        Raises:
            SeptetError: as `Vault.unlink`.
        """
        utf8(source, "source"), utf8(target, "target")
        return any(removed for _, removed in self._each(lambda vault: vault.unlink(source, target)))

    # -- inside ------------------------------------------------------------------------------------------------------

    def _delete_each(self, ids: tuple[str | Iterable[str], ...], where: object, dry_run: bool, kind: str | None) -> int:
        """Delete entries, optionally of one kind, each from the highest tier that has it; return the number deleted."""
        flag(dry_run, "dry_run", EntryError)
        if where is not None:
            self._one(None)
        entry_ids, count = ids_to_delete(ids), 0
        done: set[str] = set()
        for vault, known in self._each(lambda vault: vault._holds(entry_ids, kind)):
            mine = known - done
            if mine:
                count += (vault.delete if kind is None else vault.forget)(mine, dry_run=dry_run)
            done |= mine
        return count
