"""Translates messages of the library to the command line: calls become commands, arguments become options.

`terminal.say`, and printers of the library's sentences, pass all messages through `in_commands`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from septet.system.session import session

#: Options by argument.
_OPTIONS: Mapping[str, str] = {
    "include_memories": "--memories", "include_expired": "--expired", "timeout_s": "--timeout",
    **{name: f"--{name.replace('_', '-')}" for name in (
        "after", "as_of", "batch", "boost_tags", "diversity", "domain", "force", "format", "limit", "map", "max_tokens",
        "min_confidence", "min_score", "mode", "must", "must_not", "name", "offset", "on_error", "order_by", "phrase",
        "prefix", "profile", "repo", "rest", "severity", "split", "syntax", "text", "tier", "type", "typos", "vectors",
        "where",
    )},
}  # fmt: skip
#: Arguments that messages may name without `=`; other names may be fields of entries.
_LEADING = frozenset(
    "after as_of diversity include_expired include_memories limit max_tokens min_confidence min_score must must_not "
    "offset on_error order_by phrase syntax timeout_s".split()
)
#: Commands by method.
_COMMANDS: Mapping[str, str] = {
    "load": "get", "entries": "list", "sync_status": "status", "import_": "import",
    **{name: name.replace("_", "-") for name in (
        "add", "backup", "context", "count", "delete", "embed", "export", "facets", "feedback", "forget", "forget_root",
        "get", "history", "link", "links", "optimize", "recall", "redact", "remember", "restore", "retrieve", "search",
        "similar", "stats", "sync", "unlink", "update",
    )},
}  # fmt: skip

#: Phrases that the rules below do not cover: rephrased, or dropped if they apply to Python only.
_PHRASES: tuple[tuple[str, str], ...] = (
    ("include_memories=True (--memories)", "--memories"),
    ("embed(), or add entries with vector=", "run `septet embed`"),
    (", or open the vault with embedder=", ", or an embedder"),
    ("add entries with vector=, or an embedder", "run `septet embed` with an embedder, which --embedding names"),
    ("add entries with vector=", "run `septet embed`"),
    ("open it with embedder=", "name one with --embedding"),
    (", or give query_vector=", ""),
    (", or give previous_embedder=", ""),
    (", or raise max_bytes=", ""),
    ("name another model=, or re-add every vector", "give the model another name, or import every vector again"),
    (", or open the vault with sidecar=False", ""),
    ("open the vault with recall=1", "name it in a configuration, without recall"),
    ("open the vault with prepare=False", "name it in a configuration, with prepare = false"),
    ("; try read_only=True", ""),
    (", and read_only=True cannot make one: open it for writing once", ": `septet add` or `septet import` makes one"),
    ("a listing with another where, order_by or as_of: pass the same ones with every page, or omit after",
     "a list with other filters or another order: pass the same ones with every page, or omit --after"),
    ("wanted the `next` of a page", "wanted the --after value that the previous page printed"),
    ("decompress it, or give the stream gzip.open(path)", "decompress it: `zcat FILE | septet import -`"),
    ("decompress it, for example with gzip.open(stream)", "decompress it: `zcat FILE | septet import -`"),
    ("or split=None", "or leave out --split"),
    ("pass typos=False to turn off", "pass --no-typos to turn off"),
    ("pass it in secrets=, or set", "set"),
    ("add session=NAME", "name it with --scope"),
    ("update_many() ", "an update by --where "),
    ("choose one with Client(url, tier=...)", "it must serve one of them alone"),
    ("and pass token=", "and name the token with token_env or token_file"),
    ("out of where", "out of --where"),
    ("requires a tier; available", "requires --tier; available"),
)  # fmt: skip
#: The same with variable parts: a substring to test first, pattern and replacement.
_PATTERNS: tuple[tuple[str, str, str], ...] = (
    (
        "read_only",
        r" (?:was opened|is opened) with read_only=True(?:, which does not sync)?: .*",
        " is open for reading only",
    ),
    ("map=", r"map=\{'([^']*)': '([^']*)'\}", r"--map \1=\2"),
    ("=True", r"(leave out|omit) (batch|force)=True", r"\1 --\2"),
    ("to mean every entry", r"say (\{.*\}) to mean", r"say '\1' to mean"),
)
#: Not within a word, a quoted text, a path, an address, or the value of --map.
_NOT_INSIDE = r"(?<![\w.`'\"/?&=-])(?<!--map )"
_TEXT = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_CALL = rf"{_NOT_INSIDE}(call )?([a-z_]+)\(((?:{_TEXT}|[^()'\"])*)\)"
_PART = rf"(?:{_TEXT}|[^,'\"])+"
_QUOTED = r"(?<![\w`])`([a-z_]+)`"
_KEYWORD = rf"{_NOT_INSIDE}([a-z_]+)=(True|False|None|{_TEXT}|-?\d[\d.]*|\{{.*?\}}+|\.\.\.)?"
#: At the beginning of an error.
_ARGUMENT = (
    r"^((?:septet: )?)(after|diversity|limit|must|offset|phrase|syntax)(?= (?:is|has|are|names|says|belongs|wants)\b)"
)
_CHANGED = r"\b((?:raise|lower|leave out|omit) )([a-z_]+)\b(?!=)"


def in_commands(text: str) -> str:
    """Replace calls and arguments in a message by commands and options."""
    for phrase, words in _PHRASES:
        text = text.replace(phrase, words)
    for sign, pattern, words in _PATTERNS:
        text = re.sub(pattern, words, text) if sign in text else text
    if "(" in text:
        text = re.sub(_CALL, _command, text)
    if "`" in text:
        text = re.sub(
            _QUOTED, lambda match: f"`septet {_COMMANDS[match[1]]}`" if match[1] in _COMMANDS else match[0], text
        )
    if "=" in text:
        text = re.sub(_KEYWORD, lambda match: _option(match[1], match[2]) if match[1] in _OPTIONS else match[0], text)
    for pattern in (_ARGUMENT, _CHANGED):
        text = re.sub(
            pattern, lambda match: match[1] + (_OPTIONS[match[2]] if match[2] in _LEADING else match[2]), text
        )
    return text


def _command(match: re.Match[str]) -> str:
    if match[2] not in _COMMANDS:
        return match[0]
    words = ["septet", _COMMANDS[match[2]]]
    for argument in filter(None, (part.strip() for part in re.findall(_PART, match[3]))):
        keyword = re.fullmatch(_KEYWORD, argument)
        if keyword is not None and keyword[1] in _OPTIONS:
            words.append(_option(keyword[1], keyword[2]))
        else:
            words.append("--where JSON" if argument == "where" else session.quoted(_plain(argument)))
    return f"{'run ' if match[1] else ''}`{' '.join(words)}`"


def _option(name: str, value: str | None) -> str:
    option = _OPTIONS[name]
    if value in (None, "True", "..."):
        return option
    if value in ("False", "None"):
        return f"--no-{option[2:]}"
    return f"{option} {value}" if value[0] == "{" else f"{option} {session.quoted(_plain(value))}"


def _plain(value: str) -> str:
    """Return a value, without Python's quotes."""
    return str(ast.literal_eval(value)) if re.fullmatch(_TEXT, value) else value
