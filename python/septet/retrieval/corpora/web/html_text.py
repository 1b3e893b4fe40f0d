"""The text of an HTML page: visible text, title, and the share of text in the page."""

from __future__ import annotations

import codecs
import math
import re
import time
from html.parser import HTMLParser
from typing import NamedTuple

#: Elements with invisible content.
_UNSEEN = frozenset({"script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "math", "select"})
#: Elements beside the content of a page: navigation, footers and controls.
_BESIDE = frozenset({"nav", "footer", "aside", "button", "dialog", "menu"})
_LEFT_OUT = _UNSEEN | _BESIDE
#: Elements that end a line.
_BLOCKS = frozenset(
    {"address", "article", "aside", "blockquote", "br", "caption", "dd", "div", "dl", "dt", "figcaption", "figure"}
    | {"footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "nav", "ol", "p", "pre"}
    | {"section", "summary", "table", "td", "th", "title", "tr", "ul"}
)
#: Characters per step of the parser; the clock is checked between steps.
_STEP_CHARS = 8_192
#: Maximum seconds of parsing a page.
_MOST_S = 1.0
_CHARSET = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)
_HEADER = re.compile(r"""charset\s*=\s*["']?\s*([A-Za-z0-9_.:-]{1,40})""", re.IGNORECASE)
#: Encodings known to browsers; Python has others that pages do not use.
_KNOWN = re.compile(
    r"utf-?8|utf-?16(-?[lb]e)?|ascii|latin-1|iso8859-\d+|cp125\d|cp866|cp874|cp932|cp949|koi8-[ru]|mac-(roman|cyrillic)|"
    r"shift_jis|euc_jp|iso2022_jp|euc_kr|gbk|gb2312|gb18030|big5|big5hkscs",
    re.IGNORECASE,
)
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))


class PageText(NamedTuple):
    """The visible text of a page.

    Attributes:
        title: of the page; empty if it has none.
        text: a line for each block.
        density: the share of the text among text, names of tags and texts of links, 0 to 1. Attributes of tags,
            invisible content and content beside the main one do not count.
    """

    title: str
    text: str
    density: float


def decoded(content: bytes | bytearray, content_type: str) -> str:
    """Return the text of a body: by its byte order mark, header or meta element, if valid, else as UTF-8 or 1252.

    Undecodable bytes become U+FFFD; NUL is removed.
    """
    body = bytes(content)
    marked = next((name for mark, name in _MARKS if body.startswith(mark)), None)
    header, meta = _HEADER.search(content_type), _CHARSET.search(body[:2_048])
    named = [marked, header and header[1], meta and meta[1].decode("ascii"), "utf-8"]
    encodings = [encoding_name for name in named if name is not None and (encoding_name := _encoding(name)) is not None]
    for encoding in encodings:
        try:
            return body.decode(encoding).replace("\0", "")
        except (UnicodeError, ValueError):
            continue
    # A few broken characters do not mean another encoding.
    text = body.decode(encodings[0], "replace")
    if encodings[0].startswith("utf-8") and text.count("\ufffd") > len(text) // 100:
        text = body.decode("cp1252", "replace")
    return text.replace("\0", "")


def text_of_html(html: str, most_chars: int, ends_at: float = math.inf) -> PageText:
    """Return the visible text of a page, at most ``most_chars``.

    Parsing stops at ``ends_at``, in seconds of `time.monotonic`, or after a second.
    """
    reader = _Reader(most_chars)
    ends_at = min(ends_at, time.monotonic() + _MOST_S)
    for start in range(0, len(html), _STEP_CHARS):
        try:
            reader.feed(html[start : start + _STEP_CHARS])
        except (AssertionError, ValueError):
            # The parser raises on some declarations.
            break
        if reader.full or time.monotonic() > ends_at:
            break
    return reader.page()


class _Reader(HTMLParser):
    """Collects text and counts characters of text and of tags."""

    def __init__(self, most_chars: int) -> None:
        super().__init__(convert_charrefs=True)
        self._most_chars = most_chars
        self._pieces: list[str] = []
        self._title: list[str] = []
        self._hidden: list[str] = []
        self._in_title = self._in_link = False
        self._text_chars = self._link_chars = self._tag_chars = 0

    @property
    def full(self) -> bool:
        """True if the maximum of text is reached."""
        return self._text_chars + self._link_chars >= self._most_chars

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Start hidden elements and lines."""
        if tag in _LEFT_OUT:
            if len(self._hidden) < 1_000:
                self._hidden.append(tag)
            return
        if self._hidden:
            return
        self._tag_chars += len(tag) + 2
        self._in_title = tag == "title"
        # An unclosed link ends with its line.
        self._in_link = tag == "a" or (self._in_link and tag not in _BLOCKS)
        if tag in _BLOCKS:
            self._pieces.append("\n")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Treat a self-closing element as empty."""
        if tag not in _LEFT_OUT and tag != "a":
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        """End hidden elements and lines."""
        if tag in _LEFT_OUT:
            # An unclosed element ends with its parent.
            while tag in self._hidden and self._hidden.pop() != tag:
                pass
            return
        if self._hidden:
            # An unclosed element hides at most the rest of its parent.
            if tag in ("body", "html", "head"):
                self._hidden.clear()
            return
        self._tag_chars += len(tag) + 3
        if tag == "title":
            self._in_title = False
        if tag == "a":
            self._in_link = False
        if tag in _BLOCKS:
            self._pieces.append("\n")

    def handle_data(self, data: str) -> None:
        """Collect visible text."""
        if self._hidden:
            return
        if self._in_title:
            self._title.append(data)
            return
        self._pieces.append(data)
        chars = len("".join(data.split()))
        if self._in_link:
            self._link_chars += chars
        else:
            self._text_chars += chars

    def unknown_decl(self, data: str) -> None:
        """Ignore declarations that are not HTML."""

    def page(self) -> PageText:
        """Return the collected text."""
        lines = (" ".join(line.split()) for line in "".join(self._pieces).split("\n"))
        text = "\n".join(line for line in lines if line)[: self._most_chars]
        every = self._text_chars + self._link_chars + self._tag_chars
        density = self._text_chars / every if every else 0.0
        return PageText(" ".join("".join(self._title).split())[:500], text, density)


def _encoding(name: str) -> str | None:
    """Return the encoding that browsers use for a name; None if unknown."""
    if name == "utf-8-sig":
        return name
    try:
        codec = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    if not _KNOWN.fullmatch(codec):
        return None
    # Browsers decode these as their supersets.
    return {"ascii": "cp1252", "iso8859-1": "cp1252", "iso8859-9": "cp1254", "gb2312": "gbk"}.get(codec, codec)
