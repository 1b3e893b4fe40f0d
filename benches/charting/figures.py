"""Which charts there are, and which lines of the report each shows."""

from __future__ import annotations

import re
from collections.abc import Callable

from .bars import Bar, Section, ratios
from .dots import Group, Time, times
from .report import Figure, MissingFigure, Report
from .scales import told

__all__ = ["CHARTS"]


def plain_name(peer: str) -> str:
    """Name a peer without the kernel that ran, or the share of rows that it agrees on."""
    return peer.partition(" [")[0].partition(" (")[0]


def first_level(report: Report) -> list[Figure]:
    """Return the lines about vectors that the machine's best kernel ran: they stand first."""
    found = report.section("Vectors")
    levels = [figure.name.rpartition("[")[2] for figure in found]
    return [figure for figure, level in zip(found, levels) if level.partition("]")[0] == levels[0].partition("]")[0]]


def named(figures: list[Figure], name: str, peers: tuple[str, ...] = ()) -> list[Figure]:
    """Return the lines of a name, all of them or those beside some peers."""
    found = [f for f in figures if f.name.partition(" [")[0] == name and (not peers or plain_name(f.peer) in peers)]
    if not found:
        raise MissingFigure(f"no figure {name!r} beside {' or '.join(peers) or 'anybody'}")
    return found


def beside(work: str, figures: list[Figure]) -> Group:
    """Put the peers of the same work below ours, the fastest first."""
    peers = sorted((figure.theirs, plain_name(figure.peer)) for figure in figures)
    return Group(work, (Time("Septet", figures[0].ours, ours=True), *(Time(name, value) for value, name in peers)))


def overview(report: Report) -> str:
    scan = ("numpy", "faiss", "simsimd", "usearch exact")
    words = ("FTS5 with join", "tantivy", "tantivy, 1 column")
    text, top = report.section("Full text"), "BM25 top 30 of 100,000"
    searches = report.section("Whole searches")
    groups = [
        beside("A whole hybrid search: words, vectors, ten entries", named(searches, "hybrid, 100,000 entries", ("lancedb",))),
        beside("Vectors: the ten nearest, exactly", named(first_level(report), "100,000 x 384, real", scan)),
        beside("Full text: the best 30 by BM25, five words of a text", named(text, f"{top}, 5 natural words", words)),
        beside("Full text: the best 30 by BM25, five rare words", named(text, f"{top}, 5 rare words", words)),
    ]
    notes = (
        "Medians on one core, all asked in turns. 384 dimensions, vectors of real texts. lancedb: a full-text index, exact vectors, RRF.",
        "Vectors and full text are the indexes alone. FTS5 is SQLite's own, with the join that a search needs; tantivy returns addresses.",
    )
    return times("One search of 100,000 entries", groups, "ms", notes, report.origin)


#: Peers in the section of vectors that are no libraries: a kernel of ours, reading the same bytes, the fastest of all.
NO_LIBRARY = ("float32", "read", "best", "one thread", "usearch HNSW")


def vectors(report: Report) -> str:
    """A bar against the fastest library in each case; dots for the others."""
    cases: dict[str, list[Figure]] = {}
    for figure in first_level(report):
        cases.setdefault(figure.name.partition(" [")[0], []).append(figure)
    bars = [case(name, found) for name, found in cases.items() if any(figure.peer == "best" for figure in found)]
    notes = (
        "The best 10 rows by cosine, exact to float64, on one thread. Bar: against the fastest library; dots: against the others.",
        "usearch HNSW, which is not exact, is not in it: see the table. An aim is drawn where it was set for the peer that it names.",
    )
    about = "Times faster than numpy, faiss, simsimd and usearch (exact): rows x dimensions"
    return ratios("The ten nearest vectors", about, [Section("", bars)], notes, report.origin)


def case(name: str, figures: list[Figure]) -> Bar:
    [best] = [figure for figure in figures if figure.peer == "best"]
    libraries = [figure for figure in figures if plain_name(figure.peer) not in NO_LIBRARY]
    fastest = min(libraries, key=lambda figure: figure.theirs)
    others = tuple(figure.ratio for figure in libraries if figure is not fastest)
    # The aim is that against the fastest, wherever the table has it.
    aimed = next((figure for figure in (best, fastest) if figure.wanted), None)
    aim, missed = (aimed.bar, aimed.missed) if aimed else (float("nan"), False)
    return Bar(f"{name} · {plain_name(fastest.peer)}", best.ratio, aim, missed, others)


def peers(report: Report) -> str:
    """A bar beside every other program and way, but for vectors."""
    chosen = {
        "Full text": "",
        "TF-IDF": "scikit-learn",
        "Fusion, rank by rank": "dict loop",
        "A whole hybrid search": "lancedb",
        "Bulk load into a file": "FTS5 alone",
        "A local embedding model": "numpy",
    }
    sources = dict(zip(chosen, ("Full text", "TF-IDF", "Fusion", "Whole searches", "Bulk loads", "A local model")))
    sections = []
    for heading, peer in chosen.items():
        figures = [f for f in report.section(sources[heading]) if f.peer and not f.limit and peer in (f.peer, "")]
        if not figures:
            raise MissingFigure(f"no figure beside others in {sources[heading]!r}")
        title = f"{heading} · {peer}" if peer else heading
        sections.append(Section(title, [Bar(labelled(f, not peer), f.ratio, f.bar, f.missed) for f in figures]))
    notes = (
        "Septet does the same work as the other side, in turns, on one core unless a line says otherwise. Grey, to the left: the other",
        "side is faster. FTS5 gives the same rows and scores to the last bit; the other BM25 is another one.",
    )
    return ratios("Beside other programs", "Times faster than the other side", sections, notes, report.origin)


def labelled(figure: Figure, with_peer: bool) -> str:
    name = re.sub(r"^BM25 top 30 of 100,000, ", "", figure.name).replace("documents", "texts")
    return f"{name} · {plain_name(figure.peer)}" if with_peer else name


def limits(report: Report) -> str:
    """A bar for every limit: how far below it we are, or above."""
    sections = []
    for title in dict.fromkeys(figure.section for figure in report.figures):
        found = [figure for figure in report.section(title) if figure.limit and figure.wanted]
        if found and title != "Vectors":
            bars = [Bar(shortened(f.name), f.ratio, f.bar, f.missed, value=of_limit(f)) for f in found]
            sections.append(Section(title, bars))
    if not sections:
        raise MissingFigure("no limits")
    wanted = [figure for figure in report.figures if figure.wanted]
    kept = sum(not figure.missed for figure in wanted)
    notes = (f"Of all {len(wanted)} aims of the report, those beside peers included, {kept} are reached.",)
    about = "Limit ÷ figure (a rate: figure ÷ limit), so that right of 1 is within the limit"
    return ratios("Limits set before measuring", about, sections, notes, report.origin)


def of_limit(figure: Figure) -> str:
    return f"{told(figure.ours)} of {told(figure.theirs)} {figure.unit}"


def shortened(name: str) -> str:
    changes = (
        ("extra time of the search that finds it", "search after it, extra"),
        (" entries", ""), (": time beside linear growth", ""), (" values of", ","), ("times the kernels", "× its kernels"),
        (", times one thread on one core", ", × one"), ("resident after 1,000 searches", "memory after 1,000 searches"),
        (": times ", ": × "), ("beyond numpy and pydantic", "beyond numpy, pydantic"),
    )  # fmt: skip
    for long, short in changes:
        name = name.replace(long, short)
    return name


#: Charts by the name of their file.
CHARTS: dict[str, Callable[[Report], str]] = {
    "overview": overview,
    "vectors": vectors,
    "peers": peers,
    "limits": limits,
}
