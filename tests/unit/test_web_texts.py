"""The text of pages, the rules of robots.txt, and which addresses are public."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from septet.errors import QueryError
from septet.retrieval.corpora.web.calls import is_public, usable_url
from septet.retrieval.corpora.web.courtesy import robots_of
from septet.retrieval.corpora.web.html_text import decoded, text_of_html
from septet.retrieval.corpora.web.pages import PageReader, PageRules

PAGE = """<!DOCTYPE html><html><head><title>Doves &amp; more</title><style>p { color: red }</style>
<script>if (1 < 2) { document.write("<p>unseen</p>") }</script></head>
<body><nav><a href="/">Home</a></nav><!-- unseen <p> -->
<h1>Doves</h1><p>They <b>fly</b>,&nbsp;well.</p><ul><li>rock<li>turtle</ul>
<svg><title>unseen</title><text>unseen</text></svg><noscript>unseen</noscript>
<table><tr><td>a</td><td>b</td></tr></table><pre>x = 1
y = 2</pre></body></html>"""


def test_a_reader_sees_the_text_and_no_scripts_or_ways_around() -> None:
    page = text_of_html(PAGE, 1_000)
    assert page.title == "Doves & more"
    assert page.text.split("\n") == ["Doves", "They fly, well.", "rock", "turtle", "a", "b", "x = 1", "y = 2"]
    assert 0 < page.density < 1


def test_density_is_the_share_of_text_among_text_and_tags() -> None:
    assert text_of_html("<p>abc</p>", 99).density == 3 / 10
    assert text_of_html("<p>abc</p><script>" + "x" * 999 + "</script><!-- " + "y" * 999 + " -->", 99).density == 3 / 10
    # Attributes are nothing, and the text of a link is none of the page's own, until its line ends.
    assert text_of_html('<p class="a b c">abc</p>', 99).density == 3 / 10
    assert text_of_html("<p>abc<a href='/a/b/c'>de</a></p>", 99).density == 3 / 19
    assert text_of_html("<a>de<p>abc</p>", 99).density == 3 / 15
    assert text_of_html("<nav>Home</nav><p>abc</p><footer>(c)<a>us</a></footer>", 99) == ("", "abc", 3 / 10)
    assert text_of_html("abc", 99).density == 1.0
    assert text_of_html("<p></p>", 99).density == text_of_html("", 99).density == 0.0


HARD = (
    "<",
    "<!--",
    "<a ",
    '<a href="',
    "<![CDATA[",
    "&",
    "</",
    "<script>",
    "<!",
    "<?",
    "<a b=c ",
    "<div>",
    "<svg>",
    "&#x",
)


@given(
    st.lists(st.sampled_from((*HARD, ">", "a", "-->", "</p>", "]]>", '"', "=", " ", "</svg>", "</body>"))), st.text()
)
def test_anything_has_a_text(pieces: list[str], text: str) -> None:
    for html in ("".join(pieces), text, "".join(pieces) + text):
        page = text_of_html(html, 100)
        assert 0.0 <= page.density <= 1.0 and len(page.text) <= 100


@given(st.binary(max_size=60), st.sampled_from(["", "text/html; charset=utf-16", "charset=hex", "charset=undefined"]))
def test_any_bytes_are_decoded(body: bytes, content_type: str) -> None:
    text = decoded(body, content_type)
    assert "\0" not in text
    text.encode()


def allowed(text: str, path: str, agent: str = "septet") -> bool:
    return robots_of(text.encode(), agent).allows(path)


@pytest.mark.parametrize(
    ("rules", "path", "expected"),
    [
        ("", "/a", True),
        ("Disallow: /", "/a", False),
        ("Disallow:", "/a", True),
        ("Disallow: /a", "/ab", False),
        ("Disallow: /a/", "/a", True),
        ("Disallow: /a$", "/ab", True),
        ("Disallow: /a$", "/a", False),
        ("Disallow: /*.pdf$", "/x/y.pdf", False),
        ("Disallow: /*.pdf$", "/x/y.pdf?a", True),
        ("Disallow: /a*b*c", "/axxbxxc", False),
        ("Disallow: /a*b*c", "/axxcxxb", True),
        ("Disallow: /a*a$", "/a", True),
        ("Disallow: /a\nAllow: /a/b", "/a/b", True),
        ("Allow: /a\nDisallow: /a/b", "/a/b", False),
        ("Allow: /a\nDisallow: /a", "/a", True),
        ("Disallow: /%7Eme", "/~me", False),
        ("Disallow: /~me", "/%7eme", False),
        ("Disallow: /a%2Fb", "/a/b", True),
        ("Disallow: /ä", "/%C3%A4", False),
        ("Disallow: /search?q=", "/search?q=doves", False),
        ("Disallow: /  # all of it", "/a", False),
        ("disALLOW : /a", "/a", False),
        ("Disallow: /", "/robots.txt", True),
    ],
)
def test_rules_of_robots_txt_are_those_of_its_standard(rules: str, path: str, expected: bool) -> None:
    assert allowed(f"User-agent: *\n{rules}\n", path) is expected


def test_the_groups_that_name_a_program_count_for_it() -> None:
    text = "User-agent: other\nUser-agent: Septet/9\nDisallow: /a\n\nUser-agent: *\nDisallow: /\n"
    text += "Sitemap: https://a.example/map\nUser-agent: septet\nDisallow: /b\nCrawl-delay: 3\n"
    for agent in ("septet", "SEPTET/0.1 (+https://s.example)"):
        assert [allowed(text, path, agent) for path in ("/", "/a", "/b")] == [True, False, False]
        assert robots_of(text.encode(), agent).delay_s == 3.0
    assert [allowed(text, path, "other") for path in ("/", "/a")] == [True, False]
    assert not allowed(text, "/", "third") and not allowed(text, "/", "")
    assert robots_of(b"User-agent: *\nCrawl-delay: nan", "septet").delay_s == 0.0


def test_the_byte_order_mark_before_a_robots_txt_is_no_part_of_it() -> None:
    assert not allowed("\ufeffUser-agent: *\nDisallow: /a", "/a")


def test_the_rules_of_many_programs_are_kept_once() -> None:
    # Once for each of them takes seconds, and 500 KiB then take hours.
    agents, rules = (f"User-agent: a{n}\n" for n in range(2_000)), (f"Disallow: /{n}\n" for n in range(2_000))
    assert allowed("".join([*agents, *rules]), "/7")


@given(st.text(st.sampled_from("ab/*$%2Fé"), max_size=12), st.text(st.sampled_from("ab/é"), max_size=12))
def test_stars_and_ends_are_those_of_a_regular_expression(pattern: str, path: str) -> None:
    pattern, path = "/" + pattern.replace("%", "").replace("2", "").replace("F", ""), "/" + path
    ends = pattern.endswith("$")
    body = pattern[:-1] if ends else pattern
    twin = ".*".join(re.escape(piece) for piece in body.split("*")) + ("\\Z" if ends else "")
    assert allowed(f"User-agent: *\nDisallow: {pattern}", path) is (re.match(twin, path, re.DOTALL) is None)


@given(st.text(max_size=60), st.text(max_size=20))
def test_any_robots_txt_has_rules(text: str, path: str) -> None:
    assert allowed(text, path) in (True, False)
    assert allowed("User-agent: *\nDisallow: " + "*a" * 50, "/" + "a" * 49) is True


def test_without_the_extra_an_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("septet.retrieval.corpora.web.courtesy.find_spec", lambda name: None)
    with pytest.raises(QueryError, match=r"pip install 'septet\[web\]'"):
        PageReader(PageRules())
    PageReader(PageRules(robots=False)).close()


PRIVATE = """
127.0.0.1 127.9.9.9 10.1.2.3 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 255.255.255.255 224.0.0.1
198.18.0.1 192.0.2.1 240.0.0.1 ::1 :: fe80::1 fe80::1%eth0 fc00::1 fd12::1 ff02::1 ::ffff:127.0.0.1 ::ffff:10.0.0.1
::7f00:1 2002:7f00:1:: 64:ff9b::7f00:1 64:ff9b::a00:1 64:ff9b:1::1 2001:0:7f00:1:: 2001:db8::1 fec0::1 x 1.2.3 1.2.3.4.5
192.88.99.1 192.88.99.2 192.0.0.8 192.0.0.170 198.19.255.255 198.51.100.1 203.0.113.1 239.1.2.3 ::ffff:192.88.99.1
64:ff9b::c058:6301 3fff::1 3fff:fff:ffff::1 100::1 100:0:0:1::1 2001:2::1 2001:10::1 2001:1ff::1 2002:101:101:: 5f00::1
2001:0:4136:e378:8000:63bf:3fff:fdd2 4000::1 fdff::1 febf::1 feff::1
2600::5efe:a00:1 2600::200:5efe:7f00:1 fe80::5efe:101:101
""".split()


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_are_no_public_ones(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "1.1.1.1",
        "93.184.216.34",
        "2606:4700::1111",
        "3fff:1000::1",
        "2001:200::1",
        "192.88.98.1",
        "::ffff:1.1.1.1",
        "64:ff9b::101:101",
        "2600::5efe:101:101",
    ],
)
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(address)


@given(st.one_of(st.text(), st.none(), st.integers(), st.from_regex(r"https?://[^/]{0,20}/.{0,10}")))
def test_usable_addresses_have_a_scheme_and_a_host(url: object) -> None:
    found = usable_url(url)
    assert found is None or re.match(r"https?://[^/]", found, re.IGNORECASE)
