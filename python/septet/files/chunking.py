"""Split a text into chunks of whole lines, with line numbers and digests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias, get_args

from septet import _core
from septet.errors import EntryError
from septet.inputs.arguments import exact, shown, whole
from septet.model.codec import Plain

#: Chunking algorithm; see `chunk_markdown`.
Variant: TypeAlias = Literal["capped", "literal", "entries"]
VARIANTS: tuple[Variant, ...] = get_args(Variant)
#: Increment when the same text gives different chunks: stored files are then chunked again.
VERSION = 2
MOST_TOKENS = 100_000
MOST_TEXT = 2**30


class Chunk(NamedTuple):
    """A part of a text.

    Attributes:
        text: its lines, joined by LF.
        first_line: number of its first line, from 1.
        last_line: number of its last line.
        hash: SHA-256 of the text in UTF-8, hexadecimal.
    """

    text: str
    first_line: int
    last_line: int
    hash: str


@dataclass(frozen=True)
class Chunking(Plain):
    """Chunking parameters of files; see `chunk_markdown`.

    Args:
        tokens: chunk size in tokens of four characters, 1 to 100,000.
        overlap: tokens repeated from the previous chunk, 0 to ``tokens`` - 1.
        variant: ``capped``, ``literal`` or ``entries``.

    Raises:
        EntryError: a value has the wrong type or is out of range.
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
        """Identity of the chunking, with the chunker's version: chunks with another identity are rebuilt."""
        return f"{self.variant}/{VERSION}/{self.tokens}/{self.overlap}"


def chunk_markdown(
    text: str, *, tokens: int = 400, overlap: int = 80, variant: Variant = "capped", max_bytes: int | None = None
) -> list[Chunk]:
    """Split a text into chunks of whole lines that cover it; an empty text is one empty chunk.

    Only LF ends a line. The budget is four units per token, at least 32; a line end costs one. A line larger than the
    budget is split into pieces, which count as lines with the same number: a chunk has a line end between them.

    ``capped``: no chunk exceeds the budget, its overlap included. A character costs one unit, or two beyond the Basic
    Multilingual Plane; 4 (ideographs, kana, Hangul), 8, 12 or 16 if tokenizers split it further. Pieces end between
    characters. A chunk repeats the last lines of the previous one that cost at most ``overlap`` and fit beside its
    first new line; if no line fits, the end of the last one.

    ``entries``: like ``capped``, for curated lists. Each line that begins with ``- ``, and each heading, begins a chunk
    without overlap; in a transcript, each turn does.

    ``literal``: the algorithm of a documented system. Lengths are UTF-16 units. A chunk repeats lines of at least
    ``overlap`` and adds its first new line unchecked, so it may have twice the budget. Long lines are split at the
    budget; a character split in two becomes U+FFFD on either side.

    Args:
        text: Markdown or any other text. A lone surrogate is replaced by U+FFFD.
        tokens: chunk size, 1 to 100,000.
        overlap: tokens repeated from the previous chunk, 0 to 100,000.
        variant: chunking algorithm.
        max_bytes: maximum bytes (UTF-8) of a chunk; larger ones are split between characters, and the parts keep the
            line numbers of the whole.

    Raises:
        EntryError: a value has the wrong type or is out of range, or the overlap makes the chunks larger than 16 times
            the text (and 64 MiB).
    """
    most = 0 if max_bytes is None else whole(max_bytes, "max_bytes", EntryError, 1, MOST_TEXT)
    size = whole(tokens, "tokens", EntryError, 1, MOST_TOKENS)
    shared = whole(overlap, "overlap", EntryError, 0, MOST_TOKENS)
    kind = checked_variant(variant)
    try:
        return [Chunk(*row) for row in _core.chunk_markdown(encodable(text), size, shared, kind, most)]
    except ValueError as fault:
        if isinstance(fault, EntryError):
            raise
        raise EntryError(
            f"overlap is {shared} of {size} tokens: chunks of this text would have more than 16 times its size; "
            "wanted a smaller overlap"
        ) from None


def cut(text: str, chunking: Chunking) -> list[Chunk]:
    """Return the chunks of a text, including blank ones; see `chunk_markdown`."""
    return chunk_markdown(text, tokens=chunking.tokens, overlap=chunking.overlap, variant=chunking.variant)


def checked_variant(value: object) -> Variant:
    """Return a chunking algorithm.

    Raises:
        EntryError: an unknown variant.
    """
    name = exact(value)
    if isinstance(name, str) and name in VARIANTS:
        return VARIANTS[VARIANTS.index(name)]
    raise EntryError(f"variant is {shown(value)}: wanted one of {', '.join(VARIANTS)}")


def encodable(text: object) -> str:
    """Return a text with U+FFFD in place of lone surrogates.

    Raises:
        EntryError: it is not a text, or is longer than 2**30 characters.
    """
    if not isinstance(text, str):
        hint = "decode bytes as UTF-8 first" if isinstance(text, (bytes, bytearray)) else f"got {shown(text)}"
        raise EntryError(f"text is {type(text).__name__}, not text: {hint}")
    text = str.__str__(text)
    if len(text) > MOST_TEXT:
        raise EntryError(f"text has {len(text):,} characters: at most {MOST_TEXT:,} are allowed; split it")
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        # A high and a low surrogate in a row are one character.
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
