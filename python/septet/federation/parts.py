"""The members of a federation, by priority and by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from septet.errors import EntryNotFound, SeptetError, TierError
from septet.federation.member import Member
from septet.inputs.arguments import shown
from septet.vault.anywhere import AnyVault

_Answer = TypeVar("_Answer")


class TierMembers:
    """Members by tier name, each with its priority."""

    _vaults: Mapping[str, tuple[Member, float]]

    def _each(self, ask: Callable[[Member], _Answer]) -> Iterator[tuple[Member, _Answer]]:
        """Call each member from the highest priority down; skip failures, unless all fail."""
        failures: list[SeptetError] = []
        for vault in self._by_priority():
            try:
                answer = ask(vault)
            except SeptetError as fault:
                failures.append(fault)
                continue
            yield vault, answer
        if failures and len(failures) == len(self._vaults):
            raise failures[0]

    def _by_priority(self) -> list[Member]:
        return [v for v, _ in sorted(self._vaults.values(), key=lambda vp: -vp[1])]

    def _here(self) -> dict[str, AnyVault]:
        """Return the vaults opened in this process by tier name, from the highest priority down."""
        named = sorted(self._vaults.items(), key=lambda item: -item[1][1])
        return {name: vault for name, (vault, _) in named if isinstance(vault, AnyVault)}

    def _local(self, member: Member) -> AnyVault:
        """Return a member that is a vault of this process.

        Raises:
            TierError: the member is a client of a server.
        """
        if not isinstance(member, AnyVault):
            name = next(name for name, (vault, _) in self._vaults.items() if vault is member)
            raise TierError(f"tier {shown(name)} is on a server of Septet: run this on that machine")
        return member

    def _named(self, tier: str) -> Member:
        """Return the vault of a tier.

        Raises:
            TierError: there is no such tier.
        """
        connected = self._vaults.get(tier) if isinstance(tier, str) else None
        if connected is None:
            known = ", ".join(map(shown, self._vaults)) or "none"
            raise TierError(f"there is no tier {shown(tier)}; available: {known}")
        return connected[0]

    def _holding(self, id: str, tier: str | None) -> Member:
        """Return the vault of a tier, or that of the highest tier that has the entry.

        Raises:
            EntryNotFound: no tier has the entry.
            TierError: there is no such tier.
            SeptetError: every tier failed; the first error.
        """
        if tier is not None:
            return self._named(tier)
        for vault, has in self._each(lambda vault: id in vault):
            if has:
                return vault
        raise EntryNotFound(f"no entry {shown(id)} in {', '.join(map(shown, self._vaults))}: check the id")

    def _first(self) -> Member:
        """Return the vault of the highest tier.

        Raises:
            TierError: there is no tier.
        """
        if not self._vaults:
            raise TierError("the federation has no tier: connect a vault first")
        return self._by_priority()[0]

    def _meant(self, tier: str | None) -> Member:
        """Return the vault of a tier that must be named.

        Raises:
            TierError: it is not, or there is no such tier.
        """
        if tier is None:
            known = ", ".join(map(shown, self._vaults)) or "none"
            raise TierError(f"a call that changes many entries requires tier=; available: {known}")
        return self._named(tier)
