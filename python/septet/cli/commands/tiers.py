"""`septet tiers`: what a configuration puts together, and whether it can be opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from septet.cli.exits import STORE
from septet.cli.formats import FormatOption, Found, format_of, show
from septet.cli.options import AsJson, ConfigFile
from septet.cli.terminal import say
from septet.errors import SeptetError

if TYPE_CHECKING:
    from septet.service.configuration import Configuration

__all__ = ["tiers"]

COLUMNS = ("tier", "priority", "entries", "writable", "place", "problem")


def tiers(config: ConfigFile = None, format: FormatOption = None, as_json: AsJson = False) -> None:
    """List the tiers of a configuration, the highest first, and what each holds.

    Without --config and SEPTET_CONFIG these are the tiers that servers find: those of ~/.config/septet/config.toml,
    else your own vault and .septet/vault.db of the project that the current folder belongs to.
    """
    from septet.service.configuration import configuration

    wanted = format_of(format, as_json)
    found = configuration(config)
    records = sorted((_asked(found, name) for name in found.tiers), key=lambda one: -one["priority"])
    source = None if found.source is None else str(found.source)
    show(Found(whole={"source": source, "tiers": records}, records=records, columns=COLUMNS,
               ids=[one["tier"] for one in records]), wanted)  # fmt: skip
    failed = [one for one in records if one["problem"]]
    for one in failed:
        say(f"{one['tier']}: {one['problem']}")
    if any(not found.tiers[one["tier"]].optional for one in failed):
        raise typer.Exit(STORE)


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
    return {
        "tier": name, "priority": priority, "entries": entries, "writable": not table.read_only,
        "place": table.place, "problem": problem,
    }  # fmt: skip
