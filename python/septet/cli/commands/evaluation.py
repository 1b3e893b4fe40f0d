"""`septet eval` and `septet tune`, which work with judged queries."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from septet.cli.command import SharedOptions, command
from septet.cli.exits import NOTHING
from septet.cli.formats import Format, Output, show
from septet.cli.options import search_options, searching
from septet.cli.places import existing
from septet.cli.terminal import print_json, say
from septet.errors import QueryError

if TYPE_CHECKING:
    from septet.evaluation import Evaluation
    from septet.vault import Vault

Judged = Annotated[
    str | None,
    typer.Argument(
        metavar="FILE",
        help='Queries as JSON lines, {"query": "...", "relevant": ["id"]} or {"id": grade}; - for standard input. '
        "Without it, the feedback of the vault.",
    ),
]
Qrels = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Judgements in columns, as in TREC or BEIR, if FILE has none.")
]
Measures = Annotated[
    str | None,
    typer.Option("-m", "--measures", metavar="NAMES", help="Such as nDCG@10,MAP,MRR@10,P@5,R@100,Success@1."),
]
Against = Annotated[
    str | None,
    typer.Option(metavar="NAME|FILE", help="Compare --profile with this profile, with a significance test."),
]
Worst = Annotated[int, typer.Option(metavar="N", min=0, help="Also list the N queries with the lowest first measure.")]
Tune = Annotated[Path | None, typer.Option(metavar="FILE.json", help="Same as `septet tune --write FILE.json`.")]


@command("json", "embedding", "vault", options=searching("mode"))
def evaluate(
    shared: SharedOptions,
    file: Judged = None,
    *,
    qrels: Qrels = None,
    measures: Measures = None,
    against: Against = None,
    worst: Worst = 0,
    tune: Tune = None,
    **options: Any,
) -> None:
    """Measure search quality with judged queries.

    Each measure uses a search as deep as its rank, at least 10; --limit sets one depth for all. Exits with 1 if the
    vault contains none of the relevant ids.
    """
    from septet.evaluation import evaluate as run
    from septet.evaluation.measures import MEASURES, measures_of

    names = MEASURES if measures is None else [name.strip() for name in measures.split(",")]
    measures_of(names)
    queries = _judged(file, qrels)
    searches = search_options(options)
    with existing(shared.vault, **shared.embedder()) as opened:
        queries = _feedback(opened, qrels) if queries is None else queries
        if tune is not None:
            _tune(opened, queries, names[0], tune, searches, shared.format)
            return
        result = run(opened, queries, None, names, **searches)
        other = None if against is None else run(opened, queries, None, names, **{**searches, "profile": against})
    change = None if other is None else result.compare(other)
    if shared.as_json:
        more = {} if other is None or change is None else {"against": other.to_dict(), "comparison": change.to_dict()}
        print_json({**result.to_dict(), **more})
    else:
        _print(result)
        if change is not None:
            print(change)
        for id, value in result.worst(names[0], worst) if worst else ():
            print(f"{value:.4f}  {id}  {next(query['query'] for query in queries if query['id'] == id)}")
    if _relevant(queries) and _relevant(queries) <= set(result.unknown):
        raise typer.Exit(NOTHING)


@command("format", "embedding", "vault", options=searching("mode"))
def tune(
    shared: SharedOptions,
    file: Judged = None,
    *,
    qrels: Qrels = None,
    measure: Annotated[str, typer.Option("-m", "--measure", metavar="NAME", help="The measure to raise.")] = "nDCG@10",
    write: Annotated[
        Path | None,
        typer.Option(metavar="FILE.json", help="Write them as a profile; an existing file becomes FILE.json.before."),
    ] = None,
    **options: Any,
) -> None:
    """Fit the weights of a profile to judged queries.

    Prints the weights before and after, and their gain on held-out queries. Exits with 1, and writes nothing, if the
    gain is not above noise. Searches use the new weights once --profile names the file of --write.
    """
    queries = _judged(file, qrels)
    with existing(shared.vault, **shared.embedder()) as opened:
        queries = _feedback(opened, qrels) if queries is None else queries
        _tune(opened, queries, measure, write, search_options(options), shared.format)


def _relevant(queries: list[dict[str, Any]]) -> set[str]:
    return {id for query in queries for id, grade in query.get("relevant", {}).items() if grade > 0}


def _tune(
    vault: Vault, queries: list[dict[str, Any]], measure: str, path: Path | None, options: Any, format: Format
) -> None:
    from septet.evaluation import tune as fitted

    if path is not None and path.suffix != ".json":
        raise QueryError(f"{path} is not a profile name: wanted a name that ends in .json")
    tuned = fitted(vault, queries, measure=measure, **options)
    records = [
        {"searches": row, "signal": signal, "before": value, "after": tuned.after[row][signal]}
        for row, weights in tuned.before.items()
        for signal, value in weights.items()
    ]
    reason = f"{'accepted' if tuned.accepted else 'refused'}: {tuned.reason}"
    if format is Format.table:
        print(reason)
    show(Output(whole=tuned.to_dict(), records=records, columns=("searches", "signal", "before", "after")), format)
    if format not in (Format.table, Format.json):
        say(reason)
    if not tuned.accepted:
        raise typer.Exit(NOTHING)
    if path is None:
        say("--write FILE.json writes them as a profile, for --profile FILE.json")
        return
    replaced = path.is_file()
    tuned.save(path)
    say(f"written to {path}: use it with --profile {path}" + (f"; the old file is {path}.before" if replaced else ""))


def _feedback(vault: Vault, qrels: Path | None) -> list[dict[str, Any]]:
    from septet.evaluation.evaluator import feedback_judgements

    if qrels is not None:
        raise QueryError("--qrels needs the queries: pass FILE")
    return feedback_judgements(vault)


def _judged(file: str | None, qrels: Path | None) -> list[dict[str, Any]] | None:
    """Return the queries of a file, or of standard input; None without one."""
    from septet.evaluation.judgements import judged, queries_in

    if file is None:
        return None
    source: Any = file
    if file == "-":
        source = [query.to_dict() for query in queries_in(sys.stdin.buffer, "standard input")]
    return [query.to_dict() for query in judged(source, qrels)]


def _print(result: Evaluation) -> None:
    for name, value in result.means.items():
        print(f"{name:<10} {value:.4f}")
    say(f"{result.profile} over {len(result.per_query)} queries")
    if result.unjudged:
        say(f"skipped {len(result.unjudged)} queries without a judgement")
    if result.unknown:
        say(f"{len(result.unknown)} relevant ids are not in the vault, such as {result.unknown[0]!r}: check their form")
    for code, count in result.notes.items():
        say(f"note {code} for {count} queries")
