"""The text of PDF and HTML files, with the page or the line of the file that each line of it comes from."""

from __future__ import annotations

import codecs
import logging
import time
from collections.abc import Callable
from io import BytesIO
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from septet.files.steady import decoded

__all__ = ["Extracted", "extracted"]

#: So many bytes of a file are read, so many pages, so many characters of text, and for so many seconds.
MOST_PDF_BYTES, MOST_HTML_BYTES = 128 << 20, 16 << 20
MOST_PAGES, MOST_CHARS, MOST_S = 5_000, 32 << 20, 60.0
#: So many pages that cannot be read are named.
MOST_NAMED = 5
#: Elements without a text of the page, and those that begin and end a line.
_SILENT = ("head", "nav", "script", "style", "template", "noscript", "svg", "iframe", "button", "select", "textarea")
_HEADINGS = {f"h{level}": f"{'#' * level} " for level in range(1, 7)}
_BLOCKS = frozenset(
    "address article aside blockquote body caption center dd details div dl dt fieldset figcaption figure footer form "
    "header hgroup hr html legend li main ol p section summary table tbody tfoot thead tr ul".split()
) | frozenset(_HEADINGS)  # fmt: skip
_CELLS = ("td", "th")


class Extracted(NamedTuple):
    """The text of a file.

    Attributes:
        text: its lines, joined by LF.
        places: of each line the page of the PDF, or the line of the HTML, that it begins on.
        title: as the file has it; empty if it has none.
        markup: ``markdown`` where headings and links stand in the text as there, or ``plain``.
        problems: what was left out, in sentences.
    """

    text: str
    places: list[int]
    title: str
    markup: str
    problems: tuple[str, ...]

    def place(self, line: int) -> int:
        """Return the page or the line of the file that a line of the text, from 1, begins on."""
        return self.places[min(line, len(self.places)) - 1] if self.places else 1


class _Late(Exception):
    """The time for a file is over."""


def extracted(data: bytes, ending: str) -> Extracted | str:
    """Return the text of a PDF or HTML file, or in one word (of `trees.LEFT_OUT`) why there is none.

    What a damaged or hostile file makes its reader raise ends in that word too.

    Args:
        ending: of its name, ``.pdf`` or one of HTML.
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
    except Exception:  # noqa: BLE001 - the readers raise what they meet
        return "damaged"


# -- PDF ---------------------------------------------------------------------------------------------------------------


def _pdf(data: bytes, check: Callable[..., None]) -> Extracted | str:
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, FileNotDecryptedError, WrongPasswordError

    # It tells of each oddity that it can live with; without a handler such lines would be on the terminal.
    logging.getLogger("pypdf").addHandler(logging.NullHandler())
    try:
        reader = PdfReader(BytesIO(data))
        # Most encrypted files can be read by everybody: their password is empty.
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
        own = [line.rstrip() for line in text.split("\n")]
        lines += own
        places += [number] * len(own)
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
    return Extracted("\n".join(lines), places, _pdf_title(reader), "plain", tuple(problems))


def _pdf_title(reader: Any) -> str:
    try:
        title = reader.metadata.title if reader.metadata is not None else None
    except Exception:  # noqa: BLE001 - a title that cannot be read is none
        return ""
    return " ".join(title.replace("\0", " ").split()) if isinstance(title, str) else ""


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
        # As the page says itself, or the one that pages have which say none.
        encoding = None
    parser = etree.HTMLParser(encoding=encoding, remove_comments=True, remove_pis=True, no_network=True)
    tree = etree.fromstring(data, parser) if data.strip() else None
    if tree is None:
        return Extracted("", [], "", "markdown", ("it has no text",) if data.strip() else ())
    title = " ".join((tree.findtext(".//title") or "").split())
    body = next((one for one in tree.iter("main", "div") if "main" in (one.tag, one.get("role"))), None)
    page = _Page()
    walk = etree.iterwalk(tree if body is None else body, events=("start", "end"))
    for count, (event, element) in enumerate(walk):
        if not count % 1_024:
            check()
        if event == "end":
            page.end(element)
            # What stands behind the main part is none of it.
            if element is not body:
                page.say(element.tail or "")
        elif element.tag in _SILENT:
            walk.skip_subtree()
        else:
            page.begin(element)
    page.flush()
    while page.lines and not page.lines[-1]:
        page.lines.pop()
    deep = any("xcessive depth" in one.message for one in parser.error_log)
    problems = ["its elements are nested too deep: what is in the deepest was left out"] if deep else []
    if not page.lines:
        problems.append("it has no text")
    return Extracted("\n".join(page.lines), page.places[: len(page.lines)], title, "markdown", tuple(problems))


class _Page:
    """The lines of a page as Markdown, with the lines of the file that they begin on."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.places: list[int] = []
        self._said: list[str] = []
        #: What stands before the next line, the line of the file that was reached, the one where the text began.
        self._ahead, self._line, self._start, self._pre = "", 1, 1, 0
        #: Where the links that are open begin in what was said, None for those that lead elsewhere.
        self._links: list[int | None] = []

    def begin(self, element: Any) -> None:
        """Begin an element, and say the text that it begins with."""
        tag = element.tag
        if tag in _BLOCKS:
            self.flush(gap=tag != "li" and tag != "tr")
            self._ahead = _HEADINGS.get(tag, "- " if tag == "li" else self._ahead if tag == "p" else "")
        elif tag == "pre":
            self.flush(gap=True)
            self._pre += 1
        elif tag == "br":
            self.say("\n") if self._pre else self.flush()
        elif tag in _CELLS and self._said:
            self.say(" | ")
        self._line = max(self._line, element.sourceline or 1)
        if tag == "a":
            self._links.append(len(self._said) if _is_near(element.get("href")) else None)
        self.say(element.text or "")

    def end(self, element: Any) -> None:
        """End an element; what stands behind it is said by the caller."""
        tag = element.tag
        if tag == "a" and self._links and (start := self._links.pop()) is not None and not self._pre:
            self._link(start, element.get("href"))
        elif tag == "pre" and self._pre:
            self._pre -= 1
            self._preformatted()
        elif tag in _BLOCKS:
            self.flush(gap=tag in _HEADINGS or tag == "p")

    def say(self, text: str) -> None:
        """Add a text to the line."""
        if text:
            if not self._said:
                self._start = self._line
            self._said.append(text)

    def flush(self, *, gap: bool = False) -> None:
        """End the line; with a gap, an empty one follows."""
        if self._pre:
            return
        text = " ".join("".join(self._said).split())
        self._said = []
        if text:
            self._add(self._ahead + text, self._start)
            self._ahead = ""
        if gap and self.lines and self.lines[-1]:
            self._add("", self.places[-1])

    def _add(self, line: str, place: int) -> None:
        self.lines.append(line)
        self.places.append(max(place, self.places[-1]) if self.places else place)

    def _link(self, start: int, href: str) -> None:
        # Brackets would begin another link.
        text = " ".join("".join(self._said[start:]).split()).translate(_NO_BRACKETS)
        address = "%20".join(href.split()).translate(_ESCAPED)
        if text:
            self._said[start:] = [f"[{text}]({address})"]

    def _preformatted(self) -> None:
        text = "".join(self._said).replace("\r\n", "\n").strip("\n")
        self._said = []
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
    """Say whether a link leads to another file of the folder."""
    try:
        parts = urlsplit((href or "").strip())
    except ValueError:
        return False
    return bool(parts.path) and not parts.scheme and not parts.netloc
