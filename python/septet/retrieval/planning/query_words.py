"""The words of a query: tokens, words of a given list, and code in any language."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

#: Recorded tokens are ASCII; natural ones have letters and digits of every script.
_RECORDED = re.compile(r"[A-Za-z0-9_\-/.]+")
_TOKENS = re.compile(r"[\w\-/.]+")
#: Scripts without blanks between words; two of their characters count as a word.
_RUNS = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]+")
#: Maximum characters searched: a query is not a document.
MOST_LOOKED_AT = 10_000

#: File extensions common in questions about code.
_ENDINGS = (
    "c cc cfg cpp cs css csv go h hpp html ini ipynb java js json jsx kt lock lua md php pl proto ps1 py pyi rb rs rst "
    "scala sh sql svelte swift toml ts tsx txt vue xml yaml yml zig"
).split()
#: Candidates for code, between blanks, quotes and letters of other scripts.
_PIECES = re.compile(r"[\w./\\:~()@-]+", re.ASCII)
_CODE = re.compile(
    r"""(?xa)
      [A-Za-z_]\w*(?:::~?[A-Za-z_]\w*)+                      # std::fs
    | [A-Za-z_][\w.]*\(\)                                    # close()
    | [A-Za-z][A-Za-z0-9]*(?:_+[A-Za-z0-9]+)+ | __?[a-z]\w+  # snake_case, __init__
    | [a-z]{2,}[0-9]*[A-Z][a-z]\w*                          # getUser
    | [A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+){2,}                  # MemorySearchEngine
    | [A-Za-z_]\w+(?:\.[A-Za-z_]\w+){2,}                    # os.path.join
    | (?:\.{0,2}/|~/|[A-Za-z]:\\)[\w.-]+(?:[/\\][\w.-]+)*  # ./run.sh, /etc/hosts
    | [\w.-]+(?:/[\w.-]+){2,}/?                             # crates/core/src
    | (?!(?i:d3|express|next|node|nuxt|three|vue)\.js)      # not the products
      [\w.-]+(?:/[\w.-]+)*\.(?:"""
    + "|".join(_ENDINGS)
    + ")"
)
#: Maximum characters of a name.
MOST_NAME = 200


def normalized(query: str) -> str:
    """Return the query stripped, with runs of blanks collapsed."""
    return " ".join(query.split())


def tokens_of(query: str, recorded: bool = False) -> list[str]:
    """Return the tokens of a query, in lower case: runs of letters, digits and ``_ - / .``.

    Args:
        query: the text.
        recorded: True for ASCII letters and digits only, as recorded, so that other letters split words. If False,
            hyphens around a token and full stops at its end are stripped.
    """
    if recorded:
        return [_lower(token) for token in _RECORDED.findall(query)]
    tokens = (token.strip("-").rstrip("./-") for token in _TOKENS.findall(query))
    return [token.lower() for token in tokens if token.strip("_")]


def length_of(query: str) -> int:
    """Return the number of words; in scripts without blanks, two characters count as one."""
    words = 0
    for token in tokens_of(query):
        runs = _RUNS.findall(token)
        words += sum((len(run) + 1) // 2 for run in runs) if runs else 1
    return words


def found_in(query: str, words: Iterable[str], recorded: bool = False) -> list[str]:
    """Return the given words that occur in a query, in their order, ignoring case.

    Args:
        query: the text.
        words: words, phrases, or parts of words that begin or end with another sign, such as ``src/``.
        recorded: True for substrings, as recorded: ``file`` occurs in ``profile``. If False, whole words, also in the
            plural.
    """
    if recorded:
        lowered = _lower(query)
        return [word for word in words if word in lowered]
    text = query[:MOST_LOOKED_AT]
    return [word for word in words if _pattern(word).search(text)]


def code_in(query: str) -> list[str]:
    """Return the code in a query, in order: paths, names of files, ``a::b``, ``f()``, snake_case and CamelCase.

    Names of two humps, such as GitHub and PyTorch, are skipped: they are often brands.
    """
    names = (_bare(piece) for piece in _PIECES.findall(query[:MOST_LOOKED_AT]))
    return list(dict.fromkeys(name for name in names if len(name) <= MOST_NAME and _CODE.fullmatch(name)))


def _bare(piece: str) -> str:
    """Strip the brackets and stops around a piece."""
    bare = piece.lstrip("(").rstrip(".:-")
    closing = bare.count(")") - bare.count("(")
    return bare[:-closing].rstrip(".:-") if closing > 0 and bare.endswith(")" * closing) else bare


def _lower(text: str) -> str:
    return "".join(c.lower() if c.isascii() else c for c in text)


@lru_cache(maxsize=1_024)
def _pattern(word: str) -> re.Pattern[str]:
    # An underscore ends a word: `file_path` has both.
    text = r"\s+".join(re.escape(part) for part in word.split())
    if word[-1].isalpha():
        text = f"{text[:-1]}(?:y|ies)" if word.endswith("y") else f"{text}(?:e?s)?"
    before = r"(?<![^\W_])" if word[0].isalnum() else ""
    after = r"(?![^\W_])" if word[-1].isalnum() else ""
    return re.compile(before + text + after, re.IGNORECASE)
