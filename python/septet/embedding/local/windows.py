"""Splits texts beyond a model's limit into windows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from septet._core import windows

if TYPE_CHECKING:
    from tokenizers import Encoding

    from septet.embedding.local.tokenizer import ModelTokenizer

#: Words of a window. With a title, a window fits into 256 tokens, the limit of the smallest common models.
WINDOW_WORDS = 100
#: Maximum words of a title.
TITLE_WORDS = 32
#: Minimum words of a halved window.
LEAST_WORDS = 12

#: Characters per allowed token in the first attempt; few texts need more.
_CHARACTERS = 16
#: Characters after the last token that may still affect it.
_MARGIN = 1_000


def pieces(tokenizer: ModelTokenizer, text: str, prefix: str, max_tokens: int, *, titled: bool) -> Iterator[list[int]]:
    """Yield the tokens of a text, including special ones, in pieces within the model's limit.

    A text within the limit is one piece. A longer one is split into windows of 100 words, each prefixed with the first
    line if that is short enough for a title; a window beyond the limit is halved. No words are dropped.

    Args:
        tokenizer: truncates at `max_tokens`.
        prefix: prepended to each piece.
        titled: True if the first line may be a title.
    """
    # The tokenizer refuses lone surrogates, which are not characters.
    text = text.encode("utf-8", "replace").decode("utf-8")
    encoding = whole(tokenizer, prefix + text, max_tokens)
    if encoding is not None:
        yield encoding.ids
        return
    title, body = _split_title(text) if titled else ("", text)
    any_windows = False
    for ids in _windows(tokenizer, prefix + title, body, WINDOW_WORDS):
        any_windows = True
        yield ids
    if not any_windows:
        # Whitespace only, which this model tokenises.
        yield tokenizer.encode(prefix + text).ids


def whole(tokenizer: ModelTokenizer, text: str, max_tokens: int) -> Encoding | None:
    """Return the tokens of a text; None if there are too many.

    The tokenizer also reads the text that it truncates, so it gets growing prefixes of a long text until one suffices.
    """
    length = _MARGIN + _CHARACTERS * max_tokens
    while True:
        encoding = tokenizer.encode(text[:length])
        last_end = max(end for _, end in encoding.offsets) if encoding.offsets else 0
        if length >= len(text):
            return None if encoding.overflowing else encoding
        if encoding.overflowing and last_end < length - _MARGIN:
            return None
        length *= 4


def _windows(tokenizer: ModelTokenizer, head: str, body: str, words: int) -> Iterator[list[int]]:
    for start, end, _, _ in windows(body, words):
        window = body[start:end]
        if not window.strip():
            continue
        encoding = tokenizer.encode(head + window.strip())
        if encoding.overflowing and words // 2 >= LEAST_WORDS:
            yield from _windows(tokenizer, head, window, words // 2)
        else:
            yield encoding.ids
            # Words of hundreds of tokens are split by the tokenizer.
            yield from (rest.ids for rest in encoding.overflowing)


def _split_title(text: str) -> tuple[str, str]:
    """Return the title with its newline, empty if the first line is too long, and the remaining text."""
    title, newline, body = text.partition("\n")
    if newline and body.strip() and len(windows(title, TITLE_WORDS)) == 1:
        return title + newline, body
    return "", text
