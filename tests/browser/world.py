"""A vault that is small and has everything: kinds, domains, links, a hub, memories, feedback, and hostile entries."""

from __future__ import annotations

import math

from septet import Vault

__all__ = ["ALARM", "DAY", "HOSTILE", "HUB", "NOW", "ODD_ID", "filled"]

#: 24 March 2026, noon.
NOW = 1_774_353_600.0
DAY = 86_400.0
#: What a script that runs would set.
ALARM = "septetRan"
HOSTILE = '<script>window.septetRan=1</script><img src=x onerror="window.septetRan=2">'
HUB = "hub"
ODD_ID = "../a b?#%/ü 日本"
TOPICS = (
    ("http", "Retry with backoff", "Wait longer after each failure, and stop after five."),
    ("sql", "Use an index for lookups", "A scan of a table grows with the table."),
    ("web", "Rotate session cookies", "Give a new cookie after login, so that an old one is worth nothing."),
    ("files", "Write then rename", "Write to a new file, then rename it over the old one."),
    ("tests", "Name tests as sentences", "A test that fails should say what does not hold."),
)


def filled(path, *, entries=70):
    """Return an open vault at a path, filled."""
    now = [NOW]
    vault = Vault(path, clock=lambda: now[0])
    for n in range(entries):
        domain, title, text = TOPICS[n % len(TOPICS)]
        now[0] = NOW - (entries - n) * 3 * DAY
        vault.add(
            id=f"entry-{n:02}",
            title=f"{title} ({n})",
            description=text,
            context=f"Case {n}: {text} Seen again in release {n // 7}.",
            domain=domain,
            kind=("knowledge", "knowledge", "decision")[n % 3],
            severity=("suggestion", "warning", "critical")[n % 7 % 3],
            tags=[domain, f"release-{n // 20}"],
            attrs={"team": ("core", "edge")[n % 2], "case": n},
            vector=_direction(n) if n % 10 else None,
            model="tests/plain",
        )
    now[0] = NOW
    _linked(vault, entries)
    _hostile(vault)
    vault.add(**{**vault.get("entry-02").to_dict(), "id": "twin"})
    vault.update("entry-03", title="Write to a new file, then rename", tags=["files", "atomic"])
    now[0] += 60
    vault.update("entry-03", context="The rename is atomic within one file system.", attrs={"team": "edge"})
    vault.remember("The team deploys on Tuesdays.", topics=["release"])
    vault.remember("Customers of the edge team want fewer retries.", topics=["http"])
    for n in range(60):
        now[0] = NOW - (60 - n) * DAY / 2
        vault.feedback("retry", "entry-00", ("accepted", "accepted", "modified", "dismissed")[(n // 20 + n) % 4])
    return vault


def _linked(vault, entries):
    vault.add(id=HUB, title="Everything hangs here", kind="decision", domain="files", tags=["hub"])
    for n in range(entries):
        vault.link(HUB, f"entry-{n:02}", type="collects", note=f"number {n}")
    vault.link("entry-01", "entry-02", type="related", note="both about <b>state</b>")
    vault.link("entry-02", "entry-03")
    vault.link("entry-03", "entry-04", type="needs")


def _hostile(vault):
    vault.add(
        id=HOSTILE,
        title=f"Hostile {HOSTILE}",
        description=HOSTILE,
        context=f"retry {HOSTILE}",
        kind="knowledge",
        domain="web",
        tags=[HOSTILE, "hostile"],
        attrs={HOSTILE: HOSTILE},
    )
    vault.add(id=ODD_ID, title="ü ?#% in an id, 日本語 in a title 😀", context="retry", tags=["日本"], domain="web")
    vault.link(HOSTILE, ODD_ID, type='"><script>', note=HOSTILE)


def _direction(n):
    return [math.cos(n / 5 + k) for k in range(8)]
