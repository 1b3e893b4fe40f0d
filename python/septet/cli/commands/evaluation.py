"""The commands that work with judged queries: eval measures answers, tune fits weights to them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from septet.cli.exits import NOTHING
from septet.cli.formats import Format, FormatOption, Found, format_of, show
from septet.cli.options import AsJson, Embedding, VaultPath, search_options, takes_search_options
from septet.cli.places import existing
from septet.cli.terminal import print_json, say
from septet.errors import QueryError

if TYPE_CHECKING:
    from septet.evaluation import Evaluation
    from septet.vault import Vault

__all__ = ["evaluate", "tune"]

Judged = Annotated[
    str | None,
    typer.Argument(
        metavar="FILE",
        help='Queries as JSON lines, {"query": "...", "relevant": ["id"]} or {"id": grade}; - for standard input. '
        "Without it, the feedback of the vault.",
    ),
]
Qrels = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Judgements in columns, as of TREC or BEIR, if FILE has none.")
]
Measures = Annotated[
    str | None,
    typer.Option("-m", "--measures", metavar="NAMES", help="As nDCG@10,MAP,MRR@10,P@5,R@100,Success@1."),
]
Against = Annotated[
    str | None,
    typer.Option(metavar="NAME|FILE", help="Another profile: is --profile better, and is it more than chance?"),
]
Worst = Annotated[
    int, typer.Option(metavar="N", min=0, help="Also list the N queries with the least of the first measure.")
]
Tune = Annotated[Path | None, typer.Option(metavar="FILE.json", help="Do what `septet tune --write FILE.json` does.")]


@takes_search_options("mode")
def evaluate(
    file: Judged = None,
    *,
    qrels: Qrels = None,
    measures: Measures = None,
    against: Against = None,
    worst: Worst = 0,
    tune: Tune = None,
    as_json: AsJson = False,
    embedding: Embedding = None,
    vault: VaultPath = None,
    **options: Any,
) -> None:
    """Measure how good answers are, by queries whose answers are known.

    Each measure is taken of a search as deep as its rank, at least 10; --limit takes all of one search. Exits with 1
    if the vault holds none of the relevant ids.
    """
    from septet.cli import settings
    from septet.evaluation import evaluate as measured
    from septet.evaluation.judgements import judged
    from septet.evaluation.measures import MEASURES, measures_of

    names = MEASURES if measures is None else [name.strip() for name in measures.split(",")]
    measures_of(names)
    given = _given(file)
    queries = None if given is None else [query.to_dict() for query in judged(given, qrels)]
    asked = search_options(options)
    with existing(vault, **settings.find(embedding).embedder) as opened:
        queries = _feedback(opened, qrels) if queries is None else queries
        if tune is not None:
            _tuned(opened, queries, names[0], tune, asked, format_of(None, as_json))
            return
        found = measured(opened, queries, None, names, **asked)
        before = None if against is None else measured(opened, queries, None, names, **{**asked, "profile": against})
    change = None if before is None else found.compare(before)
    if as_json:
        more = {} if before is None or change is None else {"against": before.to_dict(), "comparison": change.to_dict()}
        print_json({**found.to_dict(), **more})
    else:
        _print(found)
        if change is not None:
            print(change)
        for id, value in found.worst(names[0], worst) if worst else ():
            print(f"{value:.4f}  {id}  {next(query['query'] for query in queries if query['id'] == id)}")
    if _relevant(queries) and _relevant(queries) <= set(found.unknown):
        raise typer.Exit(NOTHING)


@takes_search_options("mode")
def tune(
    file: Judged = None,
    *,
    qrels: Qrels = None,
    measure: Annotated[str, typer.Option("-m", "--measure", metavar="NAME", help="What to raise.")] = "nDCG@10",
    write: Annotated[
        Path | None,
        typer.Option(metavar="FILE.json", help="Write a profile with them; one that was there is FILE.json.before."),
    ] = None,
    format: FormatOption = None,
    as_json: AsJson = False,
    embedding: Embedding = None,
    vault: VaultPath = None,
    **options: Any,
) -> None:
    """Fit the weights of a profile to queries whose answers are known.

    Prints the weights before and after, and what they gain on queries that they were not fitted on. Exits with 1, and
    writes nothing, if that is not above noise. Nothing uses them until --profile names the file of --write.
    """
    from septet.cli import settings
    from septet.evaluation.judgements import judged

    wanted = format_of(format, as_json)
    given = _given(file)
    queries = None if given is None else [query.to_dict() for query in judged(given, qrels)]
    with existing(vault, **settings.find(embedding).embedder) as opened:
        queries = _feedback(opened, qrels) if queries is None else queries
        _tuned(opened, queries, measure, write, search_options(options), wanted)


def _relevant(queries: list[dict[str, Any]]) -> set[str]:
    return {id for query in queries for id, grade in query.get("relevant", {}).items() if grade > 0}


def _tuned(
    vault: Vault, queries: list[dict[str, Any]], measure: str, path: Path | None, options: Any, format: Format
) -> None:
    from septet.evaluation import tune as fitted

    if path is not None and path.suffix != ".json":
        raise QueryError(f"{path} is no name for a profile: wanted one that ends in .json")
    tuned = fitted(vault, queries, measure=measure, **options)
    records = [
        {"searches": row, "signal": signal, "before": value, "after": tuned.after[row][signal]}
        for row, weights in tuned.before.items()
        for signal, value in weights.items()
    ]
    reason = f"{'accepted' if tuned.accepted else 'refused'}: {tuned.reason}"
    if format is Format.table:
        print(reason)
    show(Found(whole=tuned.to_dict(), records=records, columns=("searches", "signal", "before", "after")), format)
    if format not in (Format.table, Format.json):
        say(reason)
    if not tuned.accepted:
        raise typer.Exit(NOTHING)
    if path is None:
        say("--write FILE.json writes them as a profile, for --profile FILE.json")
        return
    was = path.is_file()
    tuned.save(path)
    say(f"written to {path}: use it with --profile {path}" + (f"; the one before is {path}.before" if was else ""))


def _feedback(vault: Vault, qrels: Path | None) -> list[dict[str, Any]]:
    from septet.evaluation.feedback import feedback_judgements

    if qrels is not None:
        raise QueryError("--qrels needs the queries: name FILE")
    return feedback_judgements(vault)


def _given(file: str | None) -> Any:
    if file != "-":
        return file
    from septet.evaluation.judgements import queries_in

    return [query.to_dict() for query in queries_in(sys.stdin.buffer, "standard input")]


def _print(found: Evaluation) -> None:
    for name, value in found.means.items():
        print(f"{name:<10} {value:.4f}")
    say(f"{found.profile} over {len(found.per_query)} queries")
    if found.unjudged:
        say(f"{len(found.unjudged)} queries without a judgement were left out")
    if found.unknown:
        say(f"{len(found.unknown)} relevant ids are not in the vault, such as {found.unknown[0]!r}: do they agree?")
    for code, count in found.notes.items():
        say(f"note {code} for {count} queries")
