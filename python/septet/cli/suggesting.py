"""Suggestions for unknown options and commands: synonyms from other programs, and spelling corrections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

#: Minimum similarity by `difflib`: one wrong letter in five.
_ALIKE = 0.8
#: Minimum characters of a prefix.
_LEAST_PREFIX = 3
_MOST = 3

#: Synonyms of options in other programs.
_OPTIONS: Mapping[str, Sequence[str]] = {
    "order-by": "sort sort-by sortby sorted order orderby orderby rank-by by".split(),
    "limit": "top top-k topk k num number max max-results results size first head count per-page n".split(),
    "after": "cursor next continue page".split(),
    "offset": "skip start-at page".split(),
    "where": "filter filters match condition query attr attrs".split(),
    "vault": "db database store file path sqlite".split(),
    "format": "output-format fmt as csv jsonl ndjson markdown md table ids out-format".split(),
    "write": "output out o save save-to".split(),
    "tag": "label labels tags topic keyword".split(),
    "boost-tags": "tag label labels topic keyword".split(),
    "topic": "tag tags label".split(),
    "type": "category class".split(),
    "since": "newer newer-than start begin from changed-since modified-since updated date after".split(),
    "until": "older older-than before to end up-to".split(),
    "typos": "fuzzy spelling spellcheck".split(),
    "embedding": "model embedder provider embed vectors semantic".split(),
    "force": "overwrite replace clobber".split(),
    "yes": "force no-confirm assume-yes confirm".split(),
    "dry-run": "dryrun simulate preview noop no-act check".split(),
    "min-score": "threshold score cutoff".split(),
    "min-confidence": "confidence sure".split(),
    "max-tokens": "tokens budget".split(),
    "must-not": "exclude not without none ignore".split(),
    "must": "include contains required all".split(),
    "phrase": "exact literal quoted".split(),
    "prefix": "begins starts-with autocomplete wildcard".split(),
    "diversity": "mmr diverse".split(),
    "profile": "weights ranking preset".split(),
    "explain": "details detail why scores breakdown".split(),
    "config": "config-file settings conf tiers".split(),
    "memories": "memory include-memories".split(),
    "expired": "include-expired".split(),
    "timeout": "deadline timeout-s wait".split(),
    "measures": "metric metrics measure".split(),
    "measure": "metric metrics measures".split(),
    "set": "field change".split(),
    "description": "text body content message desc".split(),
    "text": "query like".split(),
    "severity": "priority level importance".split(),
    "domain": "topic area namespace".split(),
    "exclude": "ignore skip".split(),
    "include": "glob pattern match".split(),
    "redact": "mask secrets".split(),
    "split": "chunk chunks".split(),
    "host": "bind address listen".split(),
    "fix": "repair mend".split(),
}
#: Synonyms of commands in other programs.
_COMMANDS: Mapping[str, Sequence[str]] = {
    "search": "find query ask grep lookup".split(),
    "get": "show cat view read open print fetch".split(),
    "list": "ls entries dir all".split(),
    "count": "len length wc size number".split(),
    "add": "new create insert put store write".split(),
    "delete": "rm remove del erase drop".split(),
    "update": "set modify change rename patch".split(),
    "export": "dump".split(),
    "import": "load ingest bulk".split(),
    "sync": "index ingest scan crawl follow".split(),
    "watch": "follow".split(),
    "forget-root": "unfollow unsync remove-root".split(),
    "stats": "info stat summary".split(),
    "optimize": "optimise vacuum compact reindex rebuild".split(),
    "doctor": "check fsck health verify repair fix diagnose test".split(),
    "serve": "server http api run start".split(),
    "eval": "evaluate bench benchmark measure".split(),
    "tune": "train fit learn calibrate".split(),
    "explain": "why".split(),
    "similar": "like related neighbors neighbours".split(),
    "history": "log versions revisions".split(),
    "facets": "tags group aggregate".split(),
    "embed": "vectors embeddings vectorize vectorise".split(),
    "models": "providers".split(),
    "push": "upload".split(),
    "pull": "download".split(),
    "redact": "mask secrets scrub".split(),
    "remember": "memorize memorise".split(),
    "recall": "memories".split(),
    "link": "connect relate".split(),
    "backup": "copy snapshot".split(),
    "completion": "completions autocomplete".split(),
}


def nearest_commands(typed: str, commands: Iterable[str]) -> list[str]:
    """Return the commands that an unknown one may mean, such as ``list`` for ``ls``."""
    return _nearest(typed, commands, _COMMANDS)


def explain_option(fault: Any, options: Iterable[str], hint: str = "") -> None:
    """Add a suggestion to an error about an unknown option, such as ``--order-by`` for ``--sort``.

    Args:
        fault: the parser's error; other errors are not changed.
        options: all options of the command, with dashes.
        hint: the text if no option is similar.
    """
    typed = getattr(fault, "option_name", None)
    if not isinstance(typed, str) or not hasattr(fault, "possibilities"):
        return
    fault.possibilities = None
    names = [option[2:] for option in options if option.startswith("--")]
    if typed.startswith("--") and (near := _nearest(typed[2:], names, _OPTIONS)):
        hint = f"Did you mean {' or '.join(f'--{name}' for name in near)}?"
    fault.message = f"{fault.message.rstrip('.')}. {hint}".rstrip()


def _nearest(typed: str, names: Iterable[str], others: Mapping[str, Sequence[str]]) -> list[str]:
    word = typed.lower().replace("_", "-")
    known = sorted(names)
    if word in known:
        return [word]
    if synonyms := [name for name, words in others.items() if word in words and name in known]:
        return synonyms[:1] if len(word) < _LEAST_PREFIX else synonyms[:_MOST]
    if alike := get_close_matches(word, known, _MOST, _ALIKE):
        return alike
    if anagrams := [name for name in known if len(word) > 2 and sorted(name) == sorted(word)]:
        return anagrams
    return [name for name in known if len(word) >= _LEAST_PREFIX and name.startswith(word)][:_MOST]
