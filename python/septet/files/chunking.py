"""Chunks: a text cut into parts of whole lines, each with its lines and a digest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from septet import _core
from septet.errors import EntryError
from septet.inputs.arguments import exact, shown, whole

__all__ = ["Chunk", "Chunking", "Variant", "chunk_markdown", "cut", "encodable"]

#: How a text is cut: see `chunk_markdown`.
Variant: TypeAlias = Literal["capped", "literal", "entries"]
VARIANTS: tuple[Variant, ...] = get_args(Variant)
#: Another number says that the same text gives other chunks, so that what is stored is cut anew.
VERSION = 2
MOST_TOKENS = 100_000
MOST_TEXT = 2**30


class Chunk(NamedTuple):
    """A part of a text.

    Attributes:
        text: its lines, joined by LF.
        first_line: the line it begins on, from 1.
        last_line: the line it ends on.
        hash: the SHA-256 of the text in UTF-8, in hexadecimal digits.
    """

    text: str
    first_line: int
    last_line: int
    hash: str


@dataclass(frozen=True)
class Chunking:
    """How files are cut into chunks; see `chunk_markdown`.

    Args:
        tokens: the size of a chunk, 1 to 100,000, at four characters a token.
        overlap: how much a chunk repeats of the one before it, 0 to ``tokens`` - 1.
        variant: ``capped``, ``literal`` or ``entries``.

    Raises:
        EntryError: a value is of another type or out of range.
    """

    tokens: int = 400
    overlap: int = 80
    variant: Variant = "capped"

    def __post_init__(self) -> None:
        tokens = whole(self.tokens, "tokens", EntryError, 1, MOST_TOKENS)
        checked = tokens, whole(self.overlap, "overlap", EntryError, 0, tokens - 1), checked_variant(self.variant)
        for name, value in zip(("tokens", "overlap", "variant"), checked):
            object.__setattr__(self, name, value)

    @property
    def identity(self) -> str:
        """What the chunks of a text depend on, the version of the chunker included: stores of others are cut anew."""
        return f"{self.variant}/{VERSION}/{self.tokens}/{self.overlap}"

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready dict; ``Chunking(**made)`` gives an equal value."""
        return {"tokens": self.tokens, "overlap": self.overlap, "variant": self.variant}


def chunk_markdown(
    text: str, *, tokens: int = 400, overlap: int = 80, variant: Variant = "capped", max_bytes: int | None = None
) -> list[Chunk]:
    """Cut a text into chunks of whole lines that cover it; an empty text is one empty chunk.

    Lines end at LF alone. The budget is four units a token, at least 32; a line end costs one. A line larger than the
    budget is cut into pieces, which count as lines of the same number: a chunk has a line end between them.

    ``capped``: no chunk costs more than the budget, what it repeats included. A character costs a unit, or two beyond
    the Basic Multilingual Plane; where tokenizers make more of it, 4 (ideographs, kana, Hangul), 8, 12 or 16. Pieces
    end between characters. A chunk repeats the last lines of the one before that cost ``overlap`` at most and fit
    beside its first new line; where not even one does, the end of it.

    ``entries``: as ``capped``, for curated lists. Each line that begins with ``- ``, and each heading, begins a chunk,
    which repeats nothing of what is before it.

    ``literal``: as a documented system did. Lengths are UTF-16 units. A chunk repeats lines of ``overlap`` at least,
    and its first new line is added without looking again, so it may have twice the budget. Long lines are cut every
    so many units; a character cut in two becomes U+FFFD on either side.

    Args:
        text: Markdown or any other text. A lone surrogate is taken as U+FFFD.
        tokens: the size of a chunk, 1 to 100,000.
        overlap: how much a chunk repeats of the one before it, 0 to 100,000.
        variant: how chunks are cut.
        max_bytes: chunks of more bytes in UTF-8 are cut again, between characters; parts keep the lines of the whole.

    Raises:
        EntryError: a value is of another type or out of range, or the overlap makes more than 16 times the text (and
            more than 64 MiB).
    """
    most = 0 if max_bytes is None else whole(max_bytes, "max_bytes", EntryError, 1, MOST_TEXT)
    size = whole(tokens, "tokens", EntryError, 1, MOST_TOKENS)
    repeated = whole(overlap, "overlap", EntryError, 0, MOST_TOKENS)
    kind = checked_variant(variant)
    try:
        return [Chunk(*found) for found in _core.chunk_markdown(encodable(text), size, repeated, kind, most)]
    except ValueError as fault:
        if isinstance(fault, EntryError):
            raise
        raise EntryError(
            f"overlap is {repeated} of {size} tokens: chunks of this text would have more than 16 times its size; "
            "wanted a smaller overlap"
        ) from None


def cut(text: str, chunking: Chunking) -> list[Chunk]:
    """Return the chunks of a text, blank ones too; see `chunk_markdown`."""
    return chunk_markdown(text, tokens=chunking.tokens, overlap=chunking.overlap, variant=chunking.variant)


def checked_variant(value: object) -> Variant:
    """Return how a text is cut.

    Raises:
        EntryError: no known way.
    """
    given = exact(value)
    if isinstance(given, str) and given in VARIANTS:
        return VARIANTS[VARIANTS.index(given)]
    raise EntryError(f"variant is {shown(value)}: wanted one of {', '.join(VARIANTS)}")


def encodable(text: object) -> str:
    """Return a text with U+FFFD in place of lone surrogates.

    Raises:
        EntryError: it is no text, or longer than 2**30 characters.
    """
    if not isinstance(text, str):
        hint = "decode bytes as UTF-8 first" if isinstance(text, (bytes, bytearray)) else f"got {shown(text)}"
        raise EntryError(f"text is {type(text).__name__}, not text: {hint}")
    text = str.__str__(text)
    if len(text) > MOST_TEXT:
        raise EntryError(f"text has {len(text):,} characters: at most {MOST_TEXT:,} are taken; cut it into several")
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        # Two halves in a row are one character.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
