"""The layers of the package, each of which imports only from those below it."""

from __future__ import annotations

from charting.svg import Drawing

__all__ = ["FLOORS", "house", "writes"]

#: From the roof to the ground: what a floor is for, and its packages in the order of ARCHITECTURE.md, upside down.
FLOORS = (
    ("Ways in", "commands, HTTP, MCP, frameworks", ("cli", "server", "mcp", "hooks", "adapters", "service")),
    (
        "What you import", "Vault, Federation, their async and remote twins",
        ("septet", "evaluation", "client", "postgres.aio", "aio", "tfidf", "index", "federation", "postgres.vault",
         "vault", "exchange"),
    ),
    ("Several corpora", "waves of questions, one fused answer", ("retrieval",)),
    ("Folders of files", "in step with the disk, cut into chunks", ("files",)),
    ("A search", "from a plan to hits, over one or many stores", ("search", "postgres.tier", "sqlite.tier", "tiers")),
    ("Vectors", "providers, local models, caches", ("embedding",)),
    ("Arrays", "what is derived from a store, at one generation", ("listing", "sqlite.snapshot")),
    (
        "The truth", "SQLite or PostgreSQL; all SQL is here",
        ("postgres.tables", "postgres.store", "sqlite.tables", "sqlite.store", "store"),
    ),
    ("Decisions", "pure: queries, profiles, scores", ("query", "profiles", "ranking")),
    ("Values", "entries, errors, notes, results", ("_core", "net", "system", "inputs", "model", "notes", "errors")),
)  # fmt: skip
#: The floors that ask the Rust core most, and what of it.
RUST = ("recall and fusion", "full text: postings, BM25", "vectors: exact top-k", "array files", "local models")


def house(_: object) -> str:
    """Draw the floors, and the core beside those that use it."""
    width, top, high, left, wide = 760, 68, 46, 20, 528
    height = top + high * len(FLOORS) + 50
    told = "; ".join(f"{name}: {', '.join(packages)}" for name, _, packages in FLOORS)
    drawing = Drawing(width, height, "The house", f"Floors from the roof down, which import downward only. {told}.")
    drawing.text(20, 30, "The house", size=16, bold=True)
    drawing.text(20, 50, "Imports go down, never up; below each floor's name, its packages", "soft", size=12)
    for i, (name, what, packages) in enumerate(FLOORS):
        y = top + high * i
        drawing.rect(left, y, wide, high - 5, "pale" if name in ("A search", "The truth") else "wash", round=5)
        drawing.text(left + 12, y + 17, name, size=13, bold=True)
        drawing.text(left + wide - 12, y + 17, what, "soft", anchor="end", size=12)
        # PostgreSQL's rooms stand beside SQLite's.
        drawing.text(left + 12, y + 34, " · ".join(p for p in packages if "postgres." not in p), "ours", size=11)
    x = left + wide + 22
    first, last = 4, 8
    y = top + high * first
    drawing.rect(x, y, width - 20 - x, high * (last - first) - 5, "pale", round=5)
    drawing.text(x + 12, y + 20, "Rust core", size=13, bold=True)
    for i, line in enumerate(RUST):
        drawing.text(x + 12, y + 44 + 18 * i, line, "soft", size=12)
    for i in (4, 5, 6):
        drawing.arrow([(left + wide, top + high * i + 20), (x, top + high * i + 20)])
    drawing.text(x + 12, y + high * 4 - 32, "sees arrays and texts,", "ours", size=11)
    drawing.text(x + 12, y + high * 4 - 18, "never a store", "ours", size=11)
    drawing.text(
        20,
        height - 18,
        "The order is that of ARCHITECTURE.md; a test checks every import.",
        "soft",
        size=11,
    )
    return drawing.svg()


def writes(_: object) -> str:
    """Draw how one write becomes visible, along time."""
    drawing = Drawing(
        760, 366, "How a write becomes visible",
        "A writer takes the file from generation 41 to 42 in one transaction. A reader that began before the commit "
        "sees 41 to its end; one that begins after it lets the snapshot catch up by the rows that changed, and sees "
        "42. Killed before the commit, the file is still at 41.",
    )  # fmt: skip
    drawing.text(20, 30, "How a write becomes visible", size=16, bold=True)
    drawing.text(20, 50, "One writer, two readers; time goes to the right", "soft", size=12)
    lanes = {"writer": 92, "file": 150, "snapshot": 202, "reader A": 254, "reader B": 306}
    for name, y in lanes.items():
        drawing.text(20, y + 5, name, size=13, bold=True)
        below = y + (28 if name == "writer" else 22)
        drawing.line(110, below, 740, below, "grid")
    bar(drawing, 190, 400, lanes["writer"], "one transaction", "pale")
    bar(drawing, 110, 400, lanes["file"], "generation 41", "wash")
    bar(drawing, 404, 740, lanes["file"], "generation 42", "pale")
    bar(drawing, 110, 560, lanes["snapshot"], "arrays of generation 41, read-only", "wash")
    bar(drawing, 634, 740, lanes["snapshot"], "arrays of 42", "pale")
    bar(drawing, 300, 560, lanes["reader A"], "began at 41, sees 41 to its end", "wash")
    bar(drawing, 586, 740, lanes["reader B"], "next search: sees 42", "pale")
    drawing.line(402, 76, 402, 166, "ours-line", width=2)
    drawing.text(410, 90, "commit", "ours", size=12, bold=True)
    drawing.arrow([(602, lanes["reader B"] - 13), (602, lanes["snapshot"]), (630, lanes["snapshot"])], "ours-line")
    drawing.text(740, lanes["reader A"] - 10, "catches up", "ours", anchor="end", size=11)
    drawing.text(740, lanes["reader A"] + 4, "by what changed", "ours", anchor="end", size=11)
    for up in (-5, 5):
        drawing.line(375, 92 + up, 385, 92 - up, "miss-line", width=2)
    drawing.text(392, 116, "killed before the commit: 41 stays, nothing to repair", "miss", anchor="end", size=11)
    note = "A reader never waits for the writer. Arrays are derived: thrown away, they are made again from the file."
    drawing.text(20, 350, note, "soft", size=11)
    return drawing.svg()


def bar(drawing: Drawing, start: float, end: float, y: float, words: str, kind: str) -> None:
    drawing.rect(start, y - 13, end - start, 26, kind, round=4)
    drawing.text(start + 10, y + 4, words, size=12)
