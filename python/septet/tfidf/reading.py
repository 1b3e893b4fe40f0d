"""Read documents as text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from septet.errors import QueryError
from septet.inputs.arguments import file_path, listed, shown, utf8

INPUTS = ("content", "filename", "file")
DECODE_ERRORS = ("strict", "ignore", "replace")
#: Maximum documents per call.
MOST_TEXTS = 100_000_000


class DocumentReading(NamedTuple):
    """Checked parameters for reading documents; see `septet.TfidfVectorizer`."""

    input: str
    encoding: str
    decode_error: str
    #: True if a function of the caller gets the documents, which may be of any type.
    anything: bool = False

    def texts(self, documents: Iterable[Any]) -> list[Any]:
        """Return the documents as texts.

        Raises:
            QueryError: the documents are one text or cannot be listed, or a document does not fit ``input``, cannot be
                read, or cannot be decoded.
        """
        if isinstance(documents, (str, bytes)):
            raise QueryError(f"texts is one {type(documents).__name__}: wanted several, as in [text]")
        if isinstance(documents, Sized):
            documents = listed(documents, "texts", QueryError, "a list of texts", MOST_TEXTS)
            if self.input == "content" and all(type(document) is str for document in documents):
                return documents
        try:
            source = map(self._text, documents, count())
        except TypeError:
            raise QueryError(f"texts is {shown(documents)}: wanted a list of texts") from None
        return listed(source, "texts", QueryError, "a list of texts", MOST_TEXTS)

    def _text(self, document: Any, at: int) -> Any:
        if self.input == "filename":
            try:
                document = Path(file_path(document, f"text {at}", QueryError)).read_bytes()
            except OSError as error:
                raise QueryError(f"text {at}, {shown(document)}, cannot be read: {error.strerror or error}") from error
        elif self.input == "file":
            read: Callable[[], Any] | None = getattr(document, "read", None)
            if not callable(read):
                raise QueryError(f"text {at} is {shown(document)}: wanted a file, with read(), for input='file'")
            document = read()
        if isinstance(document, bytes):
            try:
                return document.decode(self.encoding, self.decode_error)
            except UnicodeError as error:
                raise QueryError(
                    f"text {at} is not {self.encoding} ({error}): name its encoding, or set decode_error='replace'"
                ) from error
        missing = isinstance(document, float) and document != document
        if missing or not (self.anything or isinstance(document, str)):
            raise QueryError(f"text {at} is {shown(document)}, of type {type(document).__name__}: wanted text")
        return document


def checked_encoding(value: object) -> str:
    """Check the name of a text encoding.

    Raises:
        QueryError: unknown encoding.
    """
    name = utf8(value, "encoding", QueryError)
    try:
        b"text".decode(name, "replace")
    except (LookupError, ValueError, TypeError, AssertionError):
        raise QueryError(f"encoding is {shown(name)}: wanted an encoding of text, such as 'utf-8'") from None
    return name
