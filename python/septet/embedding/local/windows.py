"""Windows of a text that is longer than its model takes: what of it goes to the model, piece by piece."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from septet._core import windows

if TYPE_CHECKING:
    from tokenizers import Encoding

    from septet.embedding.local.tokenizer import ModelTokenizer

__all__ = ["WINDOW_WORDS", "pieces", "whole"]

#: Words of a window. With a title before it, a window fits into the 256 tokens that the smallest common models take.
WINDOW_WORDS = 100
#: A first line of more words is no title.
TITLE_WORDS = 32
#: Windows of fewer words are not halved again.
LEAST_WORDS = 12

#: Characters tokenised at first for each token that a text may have; few texts need more.
_CHARACTERS = 16
#: Characters after the last kept token; nothing beyond them can change it.
_MARGIN = 1_000


def pieces(tokenizer: ModelTokenizer, text: str, prefix: str, max_tokens: int, *, titled: bool) -> Iterator[list[int]]:
    """Yield the tokens of a text, special ones included, in pieces that the model takes.

    A text that fits is one piece. A longer one goes in windows of 100 words, each with the first line, if that is short
    enough for a title, before it; a window that does not fit is halved. Nothing is left out.

    Args:
        tokenizer: it cuts at `max_tokens`.
        prefix: comes before each piece.
        titled: whether the first line may be a title.
    """
    # The tokenizer refuses lone surrogates, which are not characters.
    text = text.encode("utf-8", "replace").decode("utf-8")
    encoding = whole(tokenizer, prefix + text, max_tokens)
    if encoding is not None:
        yield encoding.ids
        return
    title, body = _titled(text) if titled else ("", text)
    found = False
    for ids in _windows(tokenizer, prefix + title, body, WINDOW_WORDS):
        found = True
        yield ids
    if not found:
        # Blanks that are tokens to this model.
        yield tokenizer.encode(prefix + text).ids


def whole(tokenizer: ModelTokenizer, text: str, max_tokens: int) -> Encoding | None:
    """Return the tokens of a text, None if there are too many.

    The tokenizer reads even what it cuts, so it gets a longer and longer part of a long text until that suffices.
    """
    length = _MARGIN + _CHARACTERS * max_tokens
    while True:
        encoding = tokenizer.encode(text[:length])
        kept = max(end for _, end in encoding.offsets) if encoding.offsets else 0
        if length >= len(text):
            return None if encoding.overflowing else encoding
        if encoding.overflowing and kept < length - _MARGIN:
            return None
        length *= 4


def _windows(tokenizer: ModelTokenizer, head: str, body: str, words: int) -> Iterator[list[int]]:
    for start, end, _, _ in windows(body, words):
        own = body[start:end]
        if not own.strip():
            continue
        encoding = tokenizer.encode(head + own.strip())
        if encoding.overflowing and words // 2 >= LEAST_WORDS:
            yield from _windows(tokenizer, head, own, words // 2)
        else:
            yield encoding.ids
            # What does not fit even so, such as words of hundreds of tokens, goes as the tokenizer cuts it.
            yield from (more.ids for more in encoding.overflowing)


def _titled(text: str) -> tuple[str, str]:
    """Return the first line with its end, if it is short enough for a title, and the text behind it."""
    title, newline, body = text.partition("\n")
    if newline and body.strip() and len(windows(title, TITLE_WORDS)) == 1:
        return title + newline, body
    return "", text
