"""Which charts there are, and which lines of the report each shows."""

from __future__ import annotations

import re
from collections.abc import Callable

from .curves import Line, Plot, curves
from .report import Figure, MissingFigure, Report
from .rows import Bar, Section, Time, ratios, speedups, times
from .scales import trimmed

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


def beside(work: str, figures: list[Figure]) -> Section:
    """Put the peers of the same work below ours, the fastest first."""
    peers = sorted((figure.theirs, plain_name(figure.peer)) for figure in figures)
    return Section(work, (Time("Septet", figures[0].ours, ours=True), *(Time(name, value) for value, name in peers)))


def overview(report: Report) -> str:
    scan = ("numpy", "faiss", "simsimd", "usearch exact")
    words = ("FTS5 with join", "tantivy", "tantivy, 1 column")
    text, top = report.section("Full text"), "BM25 top 30 of 100,000"
    searches = report.section("Whole searches")
    groups = [
        beside(
            "A whole hybrid search: words, vectors, ten entries",
            named(searches, "hybrid, 100,000 entries", ("lancedb",)),
        ),
        beside("Vectors: the ten nearest, exactly", named(first_level(report), "100,000 x 384, real", scan)),
        beside("Full text: the best 30 by BM25, five words of a text", named(text, f"{top}, 5 natural words", words)),
        beside("Full text: the best 30 by BM25, five rare words", named(text, f"{top}, 5 rare words", words)),
    ]
    notes = (
        "Medians on one core, all asked in turns; 384 dimensions. lancedb: a full-text index, exact vectors, RRF.",
        "Vectors and full text: the indexes alone. FTS5 makes the join that a search needs; tantivy returns addresses.",
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
    if not bars:
        raise MissingFigure("no exact searches")
    notes = (
        "The best 10 rows by cosine, exact to float64; one thread. Bar: beside the fastest library; dots: the others.",
        "An aim is drawn where one was set beside the fastest. usearch HNSW is not exact, so it is in the table only.",
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
        "Both sides do the same work in turns, on one core unless a line says otherwise. Grey, to the left: the other",
        "side is faster. FTS5 gives the same rows and scores to the last bit; tantivy's BM25 is another one.",
    )
    return ratios("Beside other programs", "Times faster than the other side", sections, notes, report.origin)


def labelled(figure: Figure, with_peer: bool) -> str:
    name = re.sub(r"^BM25 top 30 of 100,000, ", "", figure.name).replace("documents", "texts").replace(" in memory", "")
    return f"{name} · {plain_name(figure.peer)}" if with_peer else name


#: Limits that are kept with more room than this are counted and not drawn.
ROOM = 2.0


def limits(report: Report) -> str:
    """A bar for every limit that is missed, or kept with little room: how far below it we are, or above."""
    sections, roomy = [], 0
    for title in dict.fromkeys(figure.section for figure in report.figures):
        found = [figure for figure in report.section(title) if figure.limit and figure.wanted and title != "Vectors"]
        close = [figure for figure in found if figure.missed or figure.ratio < ROOM]
        roomy += len(found) - len(close)
        if close:
            bars = [Bar(shortened(f.name), f.ratio, f.bar, f.missed, value=of_limit(f)) for f in close]
            sections.append(Section(title, bars))
    if not sections:
        raise MissingFigure("no limits")
    wanted = [figure for figure in report.figures if figure.wanted]
    kept = sum(not figure.missed for figure in wanted)
    notes = (
        f"Not drawn: {roomy} limits that are kept with more than twice the room.",
        f"Of all {len(wanted)} aims of the report, those beside peers included, {kept} are reached.",
    )
    about = "Limit ÷ figure (a rate: figure ÷ limit), so that right of 1 is within the limit"
    return ratios("Limits set before measuring", about, sections, notes, report.origin, steps=(1, 2, 5))


def of_limit(figure: Figure) -> str:
    return f"{trimmed(figure.ours)} of {trimmed(figure.theirs)} {figure.unit}"


def shortened(name: str) -> str:
    changes = (
        ("extra time of the search that finds it", "search after it, extra"),
        (" entries", ""), (" values of", ","), ("times the kernels", "× its kernels"),
        (", times one thread on one core", ", × one"), ("resident after 1,000 searches", "memory after 1,000 searches"),
        (": times ", ": × "), ("beyond numpy and pydantic", "beyond numpy, pydantic"),
        (", 18 tasks search and 2 write, longest step of the loop", ": longest step of a loop"),
        ("counts of terms, of the server's time for", "counts of terms, share of"),
        ("facets of a result beside the search: ", "facets of a result: "),
    )  # fmt: skip
    for long, short in changes:
        name = name.replace(long, short)
    return name


#: Figures of whole searches that have several sizes, with their names in the chart and colours.
GROWING = {
    "hybrid, {} entries, p50": ("hybrid", "one"),
    "hybrid, one domain of 20, {} entries, p50": ("hybrid, one domain", "four"),
    "text alone, {} entries, p50": ("text alone", "two"),
    "one add, {} entries, p50": ("one add", "three"),
    "extra time of the search that finds it, {} entries, p50": ("extra after an add", "five"),
}


def growth(report: Report) -> str:
    lines = []
    for pattern, (name, kind) in GROWING.items():
        before, after = (re.escape(part) for part in pattern.split("{}"))
        found = [(re.fullmatch(rf"{before}([\d,]+){after}", f.name), f) for f in report.section("Whole searches")]
        points = sorted((float(match[1].replace(",", "")), f.ours) for match, f in found if match)
        if len(points) < 2:
            raise MissingFigure(f"no two sizes of {pattern!r}")
        lines.append(Line(name, points, kind))
    (n, first), (last, _) = lines[0].points[0], lines[0].points[-1]
    lines.append(Line("hybrid, if linear", [(n, first), (last, first * last / n)], "seven", dashed=True))
    plot = Plot("entries", "ms", log_x=True, log_y=True)
    notes = (
        "Medians on one core, 384 dimensions, ten whole entries, everything in memory. Both scales are logarithmic.",
        "One domain: of twenty. Extra after an add: what the first search after it takes longer than the one before.",
    )
    return curves("From 10,000 entries on", "Milliseconds by the number of entries", lines, plot, notes, report.origin)


def threads(report: Report) -> str:
    """Draw the speed of two threads on two cores, relative to one."""
    bars = []
    for figure in report.section("Several threads"):
        if figure.peer == "one thread":
            name = figure.name.replace(" entries, 200 queries, 2 threads", "")
            bars.append(Bar(name, figure.ratio, figure.bar, figure.missed))
        elif figure.name.endswith("times one thread on one core"):
            name = figure.name.partition(", times")[0].replace(" entries", "")
            bars.append(Bar(name, figure.ours, figure.theirs, figure.missed))
    for figure in first_level(report):
        if figure.peer.startswith("one thread"):
            name = figure.name.partition(" [")[0].replace(", 2 threads", "")
            bars.append(Bar(f"one scan, {name}", figure.ratio, figure.bar, figure.missed))
    fits = {figure.name: figure.ours for figure in report.section("TF-IDF")}
    for name, ours in fits.items():
        if name.endswith(", 2 threads"):
            alone = fits[name.replace("2 threads", "1 thread")]
            bars.append(Bar(name.removesuffix(", 2 threads").replace("documents", "texts"), alone / ours))
    if not bars:
        raise MissingFigure("no figures of threads")
    notes = ("search_many answers 200 queries in one call. One scan takes about 1 ms: a second thread adds nothing.",)
    return speedups(
        "What a second core gives", "Times as fast as one thread; 2 would be all of it", bars, notes, report.origin
    )


#: Charts by the name of their file.
CHARTS: dict[str, Callable[[Report], str]] = {
    "overview": overview,
    "vectors": vectors,
    "peers": peers,
    "limits": limits,
    "growth": growth,
    "threads": threads,
}
