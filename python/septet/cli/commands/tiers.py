"""`septet tiers`: what a configuration puts together, and whether it can be opened."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated, Any

import typer

from septet.cli.exits import STORE
from septet.cli.formats import FormatOption, Found, format_of, show
from septet.cli.memory import check_one
from septet.cli.options import AsJson, ConfigFile, VaultPath
from septet.cli.places import existing
from septet.cli.terminal import say
from septet.errors import SeptetError

if TYPE_CHECKING:
    from septet.service.configuration import Configuration
    from septet.service.vaults import VaultPlace

__all__ = ["tiers"]

COLUMNS = ("tier", "priority", "entries", "writable", "place", "problem")


def tiers(
    named: Annotated[
        str | None,
        typer.Argument(metavar="[VAULT]", help="A vault, which is one tier; as --vault.", show_default=False),
    ] = None,
    format: FormatOption = None,
    as_json: AsJson = False,
    config: ConfigFile = None,
    vault: VaultPath = None,
) -> None:
    """List the tiers of a configuration, the highest first, and what each holds; of a vault, that one.

    Without --config, a vault and SEPTET_CONFIG these are the tiers that servers find: those of
    ~/.config/septet/config.toml, else your own vault and .septet/vault.db of the project that the current folder
    belongs to.
    """
    from septet.service.configuration import configuration

    wanted = format_of(format, as_json)
    for one in (named, vault):
        check_one(one, config)
    place = vault if named is None else named
    if place is not None and config is None:
        found, records = None, [_alone(place)]
    else:
        found = configuration(config)
        records = sorted((_asked(found, name) for name in found.tiers), key=lambda one: -one["priority"])
    source = None if found is None or found.source is None else str(found.source)
    show(Found(whole={"source": source, "tiers": records}, records=records, columns=COLUMNS,
               ids=[one["tier"] for one in records]), wanted)  # fmt: skip
    failed = [one for one in records if one["problem"]]
    for one in failed:
        say(f"{one['tier']}: {one['problem']}")
    if any(found is None or not found.tiers[one["tier"]].optional for one in failed):
        raise typer.Exit(STORE)


def _alone(place: VaultPlace) -> dict[str, Any]:
    """Return what there is to say of a vault, whose searches call their one tier so."""
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


def _asked(found: Configuration, name: str) -> dict[str, Any]:
    """Return what there is to say of a tier; it is opened alone, for reading."""
    from septet.profiles.builtin import TIER_PRIORITIES
    from septet.service.opening import opened

    table = found.tiers[name]
    entries, problem = None, ""
    alone = found._replace(tiers={name: table.model_copy(update={"optional": False})})
    try:
        with opened(None, alone, read_only=True, embedder={}) as served:
            entries = served.blocking.stats().entries
    except SeptetError as fault:
        problem = str(fault)
    priority = table.priority if table.priority is not None else TIER_PRIORITIES.get(name, 0.5)
    return _record(name, priority, entries, not table.read_only, table.place, problem)
