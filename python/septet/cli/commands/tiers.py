"""`septet tiers`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from septet.cli.command import SharedOptions, check_one, command
from septet.cli.exits import STORE
from septet.cli.formats import Output, show
from septet.cli.places import existing
from septet.cli.terminal import say
from septet.errors import SeptetError

if TYPE_CHECKING:
    from septet.service.configuration import Configuration
    from septet.service.vaults import VaultPlace

COLUMNS = ("tier", "priority", "entries", "writable", "place", "problem")


@command("format", "memory")
def tiers(
    shared: SharedOptions,
    named: Annotated[
        str | None,
        typer.Argument(metavar="[VAULT]", help="A vault to show as one tier; same as --vault.", show_default=False),
    ] = None,
) -> None:
    """List the tiers of a configuration, highest first, with their entries.

    Without --config, a vault and SEPTET_CONFIG, these are the default tiers of servers: those of
    ~/.config/septet/config.toml, else your own vault and .septet/vault.db of the current project.
    """
    from septet.service.configuration import configuration

    for argument in (named, shared.vault):
        check_one(argument, shared.config)
    place = shared.vault if named is None else named
    if place is not None and shared.config is None:
        federation, records = None, [_vault_record(place)]
    else:
        federation = configuration(shared.config)
        records = sorted((_tier_record(federation, name) for name in federation.tiers), key=lambda r: -r["priority"])
    source = None if federation is None or federation.source is None else str(federation.source)
    show(Output(whole={"source": source, "tiers": records}, records=records, columns=COLUMNS,
                ids=[record["tier"] for record in records]), shared.format)  # fmt: skip
    failed = [record for record in records if record["problem"]]
    for record in failed:
        say(f"{record['tier']}: {record['problem']}")
    if any(federation is None or not federation.tiers[record["tier"]].optional for record in failed):
        raise typer.Exit(STORE)


def _vault_record(place: VaultPlace) -> dict[str, Any]:
    """Return the record of a single vault, with the tier name that its searches use."""
    from septet.postgres.store.dsn import is_dsn, without_passwords

    entries, problem = None, ""
    try:
        with existing(place) as opened:
            entries = len(opened)
    except SeptetError as fault:
        problem = str(fault)
    writable = is_dsn(place) or os.access(place, os.W_OK)
    return _record("vault", 1.0, entries, writable, without_passwords(str(place)), problem)


def _record(
    tier: str, priority: float, entries: int | None, writable: bool, place: str, problem: str
) -> dict[str, Any]:
    return dict(zip(COLUMNS, (tier, priority, entries, writable, place, problem), strict=True))


def _tier_record(federation: Configuration, name: str) -> dict[str, Any]:
    """Open a tier by itself, read-only, and return its record."""
    from septet.profiles.builtin import TIER_PRIORITIES
    from septet.service.opening import opened

    table = federation.tiers[name]
    entries, problem = None, ""
    single = federation._replace(tiers={name: table.model_copy(update={"optional": False})})
    try:
        with opened(None, single, read_only=True, embedder={}) as served:
            entries = served.blocking.stats().entries
    except SeptetError as fault:
        problem = str(fault)
    priority = table.priority if table.priority is not None else TIER_PRIORITIES.get(name, 0.5)
    return _record(name, priority, entries, not table.read_only, table.place, problem)
