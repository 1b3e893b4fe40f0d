"""Extract the text of PDF and HTML files, with the page or line number of each line."""

from __future__ import annotations

import codecs
import logging
import time
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from septet.files.steady import decoded

#: Maximum bytes of a file, pages, characters of text, and seconds.
MOST_PDF_BYTES, MOST_HTML_BYTES = 128 << 20, 16 << 20
MOST_PAGES, MOST_CHARS, MOST_S = 5_000, 32 << 20, 60.0
#: Maximum unreadable pages named in a problem.
MOST_NAMED = 5
#: Elements without content text, and elements that begin and end a line.
_SILENT = ("head", "nav", "script", "style", "template", "noscript", "svg", "iframe", "button", "select", "textarea")
_HEADINGS = {f"h{level}": f"{'#' * level} " for level in range(1, 7)}
_BLOCKS = frozenset(
    "address article aside blockquote body caption center dd details div dl dt fieldset figcaption figure footer form "
    "header hgroup hr html legend li main ol p section summary table tbody tfoot thead tr ul".split()
) | frozenset(_HEADINGS)  # fmt: skip
_CELLS = ("td", "th")


class Extracted(NamedTuple):
    """The extracted text of a file.

    Attributes:
        text: its lines, joined by LF.
        places: for each line the page of the PDF, or the line of the HTML, where it begins.
        title: title of the document; empty without one.
        markup: ``markdown`` for HTML, whose headings and links are converted, or ``plain``.
        problems: omitted parts, as sentences.
    """

    text: str
    places: list[int]
    title: str
    markup: str
    problems: tuple[str, ...]

    def place(self, line: int) -> int:
        """Return the page or line of the file where a line of the text (from 1) begins."""
        return self.places[min(line, len(self.places)) - 1] if self.places else 1


class _Late(Exception):
    """The time limit of a file has passed."""


def extracted(data: bytes, ending: str) -> Extracted | str:
    """Return the text of a PDF or HTML file, or the reason (one of `roots.LEFT_OUT`) why there is none.

    Exceptions of a reader on a damaged or hostile file become a reason too.

    Args:
        ending: suffix of the file: ``.pdf`` or one of HTML's.
    """
    read, most = (_pdf, MOST_PDF_BYTES) if ending == ".pdf" else (_html, MOST_HTML_BYTES)
    if len(data) > most:
        return "too_large"
    until = time.monotonic() + MOST_S

    def check(*_: object) -> None:
        if time.monotonic() > until:
            raise _Late

    try:
        return read(data, check)
    except _Late:
        return "too_large"
    except ImportError:
        raise
    except Exception:  # noqa: BLE001 - the readers may raise anything
        return "damaged"


# -- PDF ---------------------------------------------------------------------------------------------------------------


def _pdf(data: bytes, check: Callable[..., None]) -> Extracted | str:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError, WrongPasswordError

    # It logs each tolerated defect; without a handler `logging` prints these on the terminal.
    logging.getLogger("pypdf").addHandler(logging.NullHandler())
    try:
        reader = PdfReader(BytesIO(data))
        # Most encrypted files have an empty user password.
        if reader.is_encrypted and not reader.decrypt(""):
            return "encrypted"
        count = len(reader.pages)
    except (DependencyError, FileNotDecryptedError, WrongPasswordError):
        return "encrypted"
    lines: list[str] = []
    places: list[int] = []
    bad: list[int] = []
    read = chars = 0
    for number in range(1, min(count, MOST_PAGES) + 1):
        try:
            text = reader.pages[number - 1].extract_text(visitor_operand_before=check).replace("\0", " ")
        except _Late:
            break
        except Exception:  # noqa: BLE001 - one page never costs the others
            bad.append(number)
            text = ""
        read, chars = number, chars + len(text)
        if chars > MOST_CHARS:
            break
        page_lines = [line.rstrip() for line in text.split("\n")]
        lines += page_lines
        places += [number] * len(page_lines)
    if bad and len(bad) == read:
        return "damaged"
    problems = []
    if bad:
        more = f" and {len(bad) - MOST_NAMED:,} more" if len(bad) > MOST_NAMED else ""
        problems.append(f"of its {count:,} pages these cannot be read: {', '.join(map(str, bad[:MOST_NAMED]))}{more}")
    if read < count:
        problems.append(f"it is too large: of its {count:,} pages the first {read:,} were read")
    if not bad and not any(lines):
        problems.append("it has no text: its pages may be pictures")
    title = None
    # An unreadable title counts as none.
    with suppress(Exception):
        title = reader.metadata.title if reader.metadata is not None else None
    title = " ".join(title.replace("\0", " ").split()) if isinstance(title, str) else ""
    return Extracted("\n".join(lines), places, title, "plain", tuple(problems))


# -- HTML --------------------------------------------------------------------------------------------------------------


def _html(data: bytes, check: Callable[..., None]) -> Extracted | str:
    from lxml import etree

    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        data = decoded(data)[0].encode("utf-8", "replace")
    elif b"\0" in data:
        return "binary"
    try:
        data.decode("utf-8")
        encoding = "utf-8"
    except UnicodeDecodeError:
        # The page's declared encoding, or the default of HTML.
        encoding = None
    parser = etree.HTMLParser(encoding=encoding, remove_comments=True, remove_pis=True, no_network=True)
    tree = etree.fromstring(data, parser) if data.strip() else None
    if tree is None:
        return Extracted("", [], "", "markdown", ("it has no text",) if data.strip() else ())
    title = " ".join((tree.findtext(".//title") or "").split())
    mains = (node for node in tree.iter("main", "div") if "main" in (node.tag, node.get("role")))
    body = next(mains, None)
    page = _Page()
    walk = etree.iterwalk(tree if body is None else body, events=("start", "end"))
    for count, (event, element) in enumerate(walk):
        if not count % 1_024:
            check()
        if event == "end":
            page.end(element)
            # The tail of the main element is outside it.
            if element is not body:
                page.add(element.tail or "")
        elif element.tag in _SILENT:
            walk.skip_subtree()
        else:
            page.begin(element)
    page.flush()
    while page.lines and not page.lines[-1]:
        page.lines.pop()
    deep = any("xcessive depth" in error.message for error in parser.error_log)
    problems = ["its elements are nested too deeply: the deepest were skipped"] if deep else []
    if not page.lines:
        problems.append("it has no text")
    return Extracted("\n".join(page.lines), page.places[: len(page.lines)], title, "markdown", tuple(problems))


class _Page:
    """The lines of a page as Markdown, with their line numbers in the file."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.places: list[int] = []
        self._parts: list[str] = []
        #: Prefix of the next line, current line of the file, line of the first text part, depth of ``pre``.
        self._ahead, self._line, self._start, self._pre = "", 1, 1, 0
        #: For each open link the index of its first text part; None for links to other sites.
        self._links: list[int | None] = []

    def begin(self, element: Any) -> None:
        """Begin an element and add its leading text."""
        tag = element.tag
        if tag in _BLOCKS:
            self.flush(gap=tag != "li" and tag != "tr")
            self._ahead = _HEADINGS.get(tag, "- " if tag == "li" else self._ahead if tag == "p" else "")
        elif tag == "pre":
            self.flush(gap=True)
            self._pre += 1
        elif tag == "br":
            self.add("\n") if self._pre else self.flush()
        elif tag in _CELLS and self._parts:
            self.add(" | ")
        self._line = max(self._line, element.sourceline or 1)
        if tag == "a":
            self._links.append(len(self._parts) if _is_near(element.get("href")) else None)
        self.add(element.text or "")

    def end(self, element: Any) -> None:
        """End an element; the caller adds its tail."""
        tag = element.tag
        if tag == "a" and self._links and (start := self._links.pop()) is not None and not self._pre:
            self._link(start, element.get("href"))
        elif tag == "pre" and self._pre:
            self._pre -= 1
            self._preformatted()
        elif tag in _BLOCKS:
            self.flush(gap=tag in _HEADINGS or tag == "p")

    def add(self, text: str) -> None:
        """Add a text to the line."""
        if text:
            if not self._parts:
                self._start = self._line
            self._parts.append(text)

    def flush(self, *, gap: bool = False) -> None:
        """End the line; with ``gap``, add an empty one."""
        if self._pre:
            return
        text = " ".join("".join(self._parts).split())
        self._parts = []
        if text:
            self._add(self._ahead + text, self._start)
            self._ahead = ""
        if gap and self.lines and self.lines[-1]:
            self._add("", self.places[-1])

    def _add(self, line: str, place: int) -> None:
        self.lines.append(line)
        self.places.append(max(place, self.places[-1]) if self.places else place)

    def _link(self, start: int, href: str) -> None:
        # Brackets in the text would break the link.
        text = " ".join("".join(self._parts[start:]).split()).translate(_NO_BRACKETS)
        address = "%20".join(href.split()).translate(_ESCAPED)
        if text:
            self._parts[start:] = [f"[{text}]({address})"]

    def _preformatted(self) -> None:
        text = "".join(self._parts).replace("\r\n", "\n").strip("\n")
        self._parts = []
        if text.strip():
            fence = "~~~~" if "```" in text else "```"
            self._add(fence, self._start)
            for place, line in enumerate(text.split("\n"), self._start):
                self._add(line.rstrip(), place)
            self._add(fence, place)
            self._add("", place)


_NO_BRACKETS = {ord("["): "(", ord("]"): ")"}
_ESCAPED = {ord(sign): f"%{ord(sign):02X}" for sign in "()<>"}


def _is_near(href: str | None) -> bool:
    """Return True if a link is relative, to another file of the folder."""
    try:
        parts = urlsplit((href or "").strip())
    except ValueError:
        return False
    return bool(parts.path) and not parts.scheme and not parts.netloc
