"""What a program that uses a vault of a server looks like: type checkers pass it in strict mode, and it runs."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import septet
from septet import AsyncClient, Client, Entry, Federation, Results, Unreachable, Vault
from septet.federation import Member
from septet.types import Suggestion

#: Where nobody answers: what comes back is the same that a vault gives.
NOWHERE = "http://127.0.0.1:9"


def ask(client: Client) -> None:
    found: Results = client.search("jwt", limit=3, where={"domain": "auth"})
    entry: Entry | None = client.get(found.ids[0])
    stored: list[str] = client.add_many([{"title": "Rotate keys"}], on_similar="skip")
    suggestion: Suggestion = client.remember("Keys rotate daily", on_similar="suggest")
    count: int = client.count() + len(client)
    print(entry, stored, count, suggestion.verdict, client.add(title="Sign in", tags=["auth"]))


async def wait(url: str) -> None:
    async with AsyncClient(url, token="secret", timeout_s=1) as memory:
        found: Results = await memory.search("jwt", limit=3)
        entries: list[Entry] = await memory.load(found.ids)
        suggestion: Suggestion = await memory.add(title="Rotate keys", on_similar="suggest")
        print(suggestion.other, (await memory.remember("Keys rotate", on_similar="supersede")).upper())
        print(entries, await memory.delete(*found.ids), [entry.id async for entry in memory])


def together(folder: Path) -> None:
    with Vault(folder / "agent.db") as agent, Client(NOWHERE, timeout_s=1) as client:
        agent.add(id="own", title="jwt of the agent")
        members: dict[str, Member] = {"agent": agent, "team": client}
        found = Federation(members).search("jwt")
        assert found.ids == ["own"] and [note.code for note in found.notes] == ["tier_failed"]
        try:
            ask(client)
        except Unreachable as fault:
            print(fault.code)
    try:
        asyncio.run(wait(NOWHERE))
    except Unreachable as fault:
        print(fault.code)


if __name__ == "__main__":
    together(Path(sys.argv[1]))
    print(septet.__version__)
