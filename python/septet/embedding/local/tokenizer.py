"""ModelTokenizer: a ``tokenizer.json``, checked before the library loads it; and the windows of long texts.

The library trusts its files: it panics on invalid numbers, allocates any requested memory, and runs any regular
expression, in native code that this process cannot interrupt. A child process would double the processes that embed.
Therefore files are refused that could need much time or memory: by size, nesting, growth of texts in normalizers, and
backtracking expressions. Other invalid files still panic; panics become errors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pydantic_core import from_json

from septet._core import windows
from septet.embedding.local.folder import local_fault
from septet.embedding.local.scripts import known_scripts, unknown_script
from septet.inputs.documents import Unreadable, read_bytes

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

#: The largest files of supported models have 17 MB.
MAX_FILE_BYTES = 64 * 2**20
MAX_WORDS = 2_000_000
MAX_WORD_CHARS = 1_024
#: Added tokens are compiled into one automaton.
MAX_ADDED_CHARS = 1_000_000
#: Maximum steps over the text, including nested ones, and maximum depth.
MAX_STEPS = 64
MAX_DEPTH = 12
MAX_VALUES = 20_000
MAX_TEXT_CHARS = 1_024
#: Maximum factor by which all replacements together lengthen a text.
MAX_GROWTH = 64
#: Maximum characters of a word in WordPiece, whose time is quadratic in them.
MAX_CHARS_PER_WORD = 1_000
MAX_INT = 2**31
#: Maximum tokens that a model adds to a text; supported models add fewer.
MAX_SPECIAL_TOKENS = 4

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

#: An alternative matched without backtracking: characters and classes, of which only the last may be repeated.
_ATOM = r"(?:\\[pP]\{\w{1,20}\}|\\[^pPgkGzZK0-9]|\[(?:\\.|[^\]\\\[])+\]|[^\\\[\](){}?*+|])"
_LINEAR = re.compile(rf"(?:{_ATOM}\??)*(?:{_ATOM}(?:[*+]|\{{\d{{1,3}},?\d{{0,3}}\}}))?")
#: From the expressions of GPT-2 and its successors: whitespace except the last character before a word.
_BLANKS = r"\s+(?!\S)"

#: Other expressions of published models. Their time is linear: another alternative consumes all that one gives back.
_AFTER = r"[^\r\n\p{L}\p{N}]?"
_ENDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_REST = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_PUBLISHED = {
    r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    *(
        rf"{_ENDS}|{_AFTER}\p{{L}}+|{digits}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_REST}"
        for digits in (r"\p{N}", r"\p{N}{1,3}")
    ),
    rf"{_AFTER}{_UPPER}*{_LOWER}+{_ENDS}?|{_AFTER}{_UPPER}+{_LOWER}*{_ENDS}?|"
    rf"\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_REST}",
}


class Tokens(NamedTuple):
    """The tokens of a text, including special ones.

    Attributes:
        ids: the first tokens, within the model's limit.
        rest: all further ones, in pieces within the limit.
        end: the characters of the text up to the last of `ids`.
    """

    ids: list[int]
    rest: list[list[int]]
    end: int


class TextTokenizer(Protocol):
    """A tokenizer with the limit of its model."""

    def encode(self, text: str) -> Tokens:
        """Return the tokens of a text."""

    def unknown_script(self, text: str) -> str | None:
        """Return the script of a text that the model was not made for, such as Cyrillic; else None."""


class ModelTokenizer:
    """The tokenizer of a model folder. Ignores the padding and truncation of its file.

    Args:
        path: of the ``tokenizer.json``.
        max_tokens: further tokens are returned in `Tokens.rest`.

    Raises:
        EmbeddingConfigError: the file is damaged, or could take too much time or memory. The message names the file.
    """

    def __init__(self, path: Path, max_tokens: int) -> None:
        self._path = path
        try:
            content = read_bytes(path, MAX_FILE_BYTES)
            _check(content)
        except Unreadable as fault:
            raise local_fault(f"{path} {fault}; fetch it again") from None
        self._inner = self._load(content, max_tokens)
        self._known: frozenset[str] | None = None

    def encode(self, text: str) -> Tokens:
        """Return the tokens of a text; raise `EmbeddingConfigError` if the tokenizer is damaged."""
        try:
            encoding = self._inner.encode(text)
        except BaseException as error:  # noqa: BLE001 - a panic of the library is no Exception
            raise self._damage_error(error) from None
        end = max((end for _, end in encoding.offsets), default=0)
        return Tokens(encoding.ids, [more.ids for more in encoding.overflowing], end)

    def encode_pair(self, first: str, second: str) -> Encoding:
        """Return the tokens of two texts, the longer of which is cut; raise as `encode`."""
        try:
            return self._inner.encode(first, second)
        except BaseException as error:  # noqa: BLE001 - a panic of the library is no Exception
            raise self._damage_error(error) from None

    def token(self, number: int) -> str | None:
        """Return the text of a token."""
        text: str | None = self._inner.id_to_token(number)
        return text

    def number(self, token: str) -> int | None:
        """Return the number of a token; None if it is unknown."""
        number: int | None = self._inner.token_to_id(token)
        return number

    def unknown_script(self, text: str) -> str | None:
        """Return the script of a text, such as Cyrillic, if the vocabulary has next to no pieces of it; else None.

        A vocabulary of bytes has none of any script, so nothing is said about it.
        """
        if text.isascii() or type(self._inner.model).__name__ not in ("WordPiece", "Unigram"):
            return None
        if self._known is None:
            self._known = known_scripts(self._inner.get_vocab())
        return unknown_script(text, self._known)

    def _load(self, content: bytes, max_tokens: int) -> Tokenizer:
        from tokenizers import Tokenizer

        try:
            tokenizer = Tokenizer.from_buffer(content)
            added = tokenizer.num_special_tokens_to_add(False)
            if added <= MAX_SPECIAL_TOKENS:
                tokenizer.no_padding()
                tokenizer.enable_truncation(max_tokens)
                return tokenizer
        except BaseException as error:  # noqa: BLE001 - a panic of the library is no Exception
            raise self._damage_error(error) from None
        raise local_fault(f"{self._path} adds {added} tokens to each text: at most {MAX_SPECIAL_TOKENS} are supported")

    def _damage_error(self, error: BaseException) -> BaseException:
        # A panic is no Exception, and its class has no public name.
        panic = type(error).__module__ == "pyo3_runtime"
        if not panic and not isinstance(error, Exception):
            return error
        message = " ".join(str(error).split())[:300]
        return local_fault(f"{self._path} cannot be used: {message}; it is damaged, fetch it again")


def pieces(tokenizer: TextTokenizer, text: str, prefix: str, max_tokens: int, *, titled: bool) -> Iterator[list[int]]:
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
    tokens = whole(tokenizer, prefix + text, max_tokens)
    if tokens is not None:
        yield tokens.ids
        return
    title, body = _split_title(text) if titled else ("", text)
    any_windows = False
    for ids in _windows(tokenizer, prefix + title, body, WINDOW_WORDS):
        any_windows = True
        yield ids
    if not any_windows:
        # Whitespace only, which this model tokenises.
        yield tokenizer.encode(prefix + text).ids


def whole(tokenizer: TextTokenizer, text: str, max_tokens: int) -> Tokens | None:
    """Return the tokens of a text; None if there are too many.

    The tokenizer also reads the text that it truncates, so it gets growing prefixes of a long text until one suffices.
    """
    length = _MARGIN + _CHARACTERS * max_tokens
    while True:
        tokens = tokenizer.encode(text[:length])
        if length >= len(text):
            return None if tokens.rest else tokens
        if tokens.rest and tokens.end < length - _MARGIN:
            return None
        length *= 4


def _windows(tokenizer: TextTokenizer, head: str, body: str, words: int) -> Iterator[list[int]]:
    for start, end, _, _ in windows(body, words):
        window = body[start:end]
        if not window.strip():
            continue
        tokens = tokenizer.encode(head + window.strip())
        if tokens.rest and words // 2 >= LEAST_WORDS:
            yield from _windows(tokenizer, head, window, words // 2)
        else:
            yield tokens.ids
            # Words of hundreds of tokens are split by the tokenizer.
            yield from tokens.rest


def _split_title(text: str) -> tuple[str, str]:
    """Return the title with its newline, empty if the first line is too long, and the remaining text."""
    title, newline, body = text.partition("\n")
    if newline and body.strip() and len(windows(title, TITLE_WORDS)) == 1:
        return title + newline, body
    return "", text


def _check(content: bytes) -> None:
    try:
        data = from_json(content)
    except ValueError as fault:
        raise Unreadable(f"is not valid JSON: {' '.join(str(fault).split())[:200]}") from None
    if not isinstance(data, dict) or not isinstance(data.get("model"), dict):
        raise Unreadable("is not a tokenizer: it needs an object with a model")
    model = data.pop("model")
    _check_words(model)
    _check_added(data.pop("added_tokens", None))
    _check_steps({**data, "model": {name: value for name, value in model.items() if name not in ("vocab", "merges")}})
    most = model.get("max_input_chars_per_word", 0)
    if not isinstance(most, int) or not 0 <= most <= MAX_CHARS_PER_WORD:
        raise Unreadable(f"reads words of {str(most)[:40]} characters: at most {MAX_CHARS_PER_WORD:,} are supported")
    if model.get("dropout"):
        raise Unreadable("drops merges at random, so vectors vary: set dropout to null")


def _check_words(model: Mapping[str, Any]) -> None:
    words, merges = model.get("vocab"), model.get("merges", [])
    if not isinstance(words, (dict, list)) or not words or not isinstance(merges, list):
        raise Unreadable("has a model without words: it needs a vocab")
    if len(words) > MAX_WORDS or len(merges) > MAX_WORDS:
        raise Unreadable(f"has {max(len(words), len(merges)):,} words or merges: at most {MAX_WORDS:,} are supported")
    if isinstance(words, dict):
        number = next((n for n in words.values() if not isinstance(n, int) or not 0 <= n < MAX_INT), None)
        if number is not None or None in words.values():
            raise Unreadable(f"has a word with the number {str(number)[:40]}: use 0 to {MAX_INT - 1:,}")
        longest = max(map(len, words))
    else:
        odd = next((w for w in words if not (isinstance(w, list) and len(w) == 2 and isinstance(w[0], str))), None)
        if odd is not None or None in words:
            raise Unreadable("has a word that is not a pair of a text and a number")
        longest = max(len(word[0]) for word in words)
    if longest > MAX_WORD_CHARS:
        raise Unreadable(f"has a word of {longest:,} characters: at most {MAX_WORD_CHARS:,} are supported")


def _check_added(added: Any) -> None:
    listed = [] if added is None else added
    if not isinstance(listed, list):
        raise Unreadable("has added_tokens that are not a list")
    sizes = []
    for token in listed:
        text = token.get("content") if isinstance(token, dict) else None
        if not isinstance(text, str):
            raise Unreadable("has an added token without a content")
        sizes.append(len(text))
    size = sum(sizes)
    if size > MAX_ADDED_CHARS or max(sizes, default=0) > MAX_WORD_CHARS:
        raise Unreadable(
            f"adds tokens of {size:,} characters: at most {MAX_ADDED_CHARS:,}, each {MAX_WORD_CHARS:,}, are supported"
        )


def _check_steps(data: Mapping[str, Any]) -> None:
    steps = growth = 1
    for step in _objects(data):
        steps += "type" in step
        if "Regex" in step:
            _check_expression(step["Regex"])
        if step.get("String") == "":
            raise Unreadable("replaces or splits at the empty text, which matches everywhere")
        if step.get("type") == "Replace":
            growth *= max(1, len(str(step.get("content", ""))))
        if step.get("type") == "Prepend":
            growth += len(str(step.get("prepend", "")))
    if steps > MAX_STEPS:
        raise Unreadable(f"has {steps} steps: at most {MAX_STEPS} are supported")
    if growth > MAX_GROWTH:
        raise Unreadable(f"can make a text {growth:,} times longer: at most {MAX_GROWTH} times is supported")


def _objects(data: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield all objects of the steps; check depth, texts and numbers."""
    pending: list[tuple[str, Any, int]] = [("", data, 0)]
    values = 0
    while pending:
        name, value, depth = pending.pop()
        values += 1
        if depth > MAX_DEPTH or values > MAX_VALUES:
            raise Unreadable(f"nests more than {MAX_DEPTH} levels deep, or holds more than {MAX_VALUES:,} values")
        if isinstance(value, str) and len(value) > MAX_TEXT_CHARS and name != "precompiled_charsmap":
            raise Unreadable(f"has {name!r:.40} of {len(value):,} characters: at most {MAX_TEXT_CHARS:,} are supported")
        if isinstance(value, (int, float)) and not -1 <= value < 2.0**64:
            raise Unreadable(f"has {name!r:.40} of {str(value)[:40]}: use 0 or more")
        if isinstance(value, dict):
            yield value
            pending += [(key, inner, depth + 1) for key, inner in value.items()]
        elif isinstance(value, list):
            pending += [(name, inner, depth + 1) for inner in value]


def _check_expression(expression: object) -> None:
    if isinstance(expression, str) and expression in _PUBLISHED:
        return
    if isinstance(expression, str) and len(expression) <= MAX_TEXT_CHARS:
        alternatives = re.split(r"(?<!\\)\|", expression)
        if all(part == _BLANKS or (part and part.count("?") <= 2 and _LINEAR.fullmatch(part)) for part in alternatives):
            return
    raise Unreadable(
        f"has the unsupported regular expression {expression!r:.80}, which may backtrack without end: use only "
        "characters and classes, the last one repeated"
    )
