"""Syncing the tiers of a federation with folders; each folder belongs to one tier."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from septet.errors import TierError
from septet.federation.member import Member
from septet.federation.parts import TierMembers
from septet.inputs.arguments import shown
from septet.vault.vault import Vault
from septet.watch.progress import Progress

if TYPE_CHECKING:
    from septet.files.chunking import Chunking
    from septet.files.redact_report import RedactReport
    from septet.files.redaction import Redactor
    from septet.files.report import RootInfo, SyncReport
    from septet.files.roots import Layout
    from septet.files.tracking import Redact
    from septet.model.fields import Strings, Trust


class SyncedTiers(TierMembers):
    """Tiers that sync with folders."""

    def sync(
        self,
        root: str | os.PathLike[str] | None = None,
        *,
        paths: Iterable[str | os.PathLike[str]] | None = None,
        name: str | None = None,
        layout: Layout | None = None,
        include: Strings | None = None,
        exclude: Strings | None = None,
        extra: Iterable[str | os.PathLike[str]] | None = None,
        follow_symlinks: bool | None = None,
        chunking: Chunking | None = None,
        redact: Redact | None = None,
        trust: Trust | None = None,
        force: bool = False,
        dry_run: bool = False,
        timeout_s: float | None = None,
        progress: Progress | None = None,
        tier: str | None = None,
    ) -> SyncReport:
        """Sync a tier, the highest unless named, with folders; see `Vault.sync`.

        Raises:
            TierError: there is no such tier.
            SeptetError: as that method.
        """
        return self._synced_one(tier).sync(
            root, paths=paths, name=name, layout=layout, include=include, exclude=exclude, extra=extra,
            follow_symlinks=follow_symlinks, chunking=chunking, redact=redact, trust=trust, force=force,
            dry_run=dry_run, timeout_s=timeout_s, progress=progress,
        )  # fmt: skip

    def roots(self, *, tier: str | None = None) -> list[RootInfo]:
        """Return the folders that a tier, the highest unless named, follows; see `Vault.roots`.

        Raises:
            TierError: there is no such tier.
            SeptetError: as that method.
        """
        return self._synced_one(tier).roots()

    def forget_root(self, name: str | os.PathLike[str], *, tier: str | None = None) -> int:
        """Stop following a folder in a tier, the highest unless named; see `Vault.forget_root`.

        Raises:
            TierError: there is no such tier.
            SeptetError: as that method.
        """
        return self._synced_one(tier).forget_root(name)

    def redact(
        self,
        *,
        redactor: Redactor | None = None,
        where: Mapping[str, object] | None = None,
        dry_run: bool = False,
        progress: Progress | None = None,
        tier: str | None = None,
    ) -> RedactReport:
        """Mask the secrets in all data of a tier; see `Vault.redact`.

        Raises:
            TierError: no tier is named, or there is no such tier.
            SeptetError: as that method.
        """
        return self._filed(self._meant(tier)).redact(redactor=redactor, where=where, dry_run=dry_run, progress=progress)

    def _synced_one(self, tier: str | None) -> Vault:
        return self._filed(self._first() if tier is None else self._named(tier))

    def _filed(self, member: Member) -> Vault:
        """Return a member that is a vault in a file.

        Raises:
            TierError: the tier is on a server.
        """
        vault = self._local(member)
        if not isinstance(vault, Vault):
            name = next(name for name, (tier_vault, _) in self._vaults.items() if tier_vault is member)
            raise TierError(f"tier {shown(name)} is on a server, which does not support this: name a tier in a file")
        return vault
