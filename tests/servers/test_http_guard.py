"""Who may ask a server, and what of it: hosts, origins, tokens, paths, verbs."""

import ast
import inspect

import pytest

pytest.importorskip("uvicorn")

from septet import QueryError, Vault
from septet.server import guard
from septet.server.guard import tokens_in
from septet.server.page_files import page_files
from septet.server.settings import Settings
from serving import ask, raw, serving

TOKEN = "a token that nobody guesses"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    with Vault(tmp_path_factory.mktemp("guard") / "v.db") as vault:
        vault.add(id="a", title="Rotate session cookies")
        yield vault


@pytest.fixture(scope="module")
def url(vault):
    with serving(vault, allow_hosts=("memory.example.org",)) as url:
        yield url


@pytest.fixture(scope="module")
def locked(vault):
    with serving(vault, token=TOKEN) as url:
        yield url


def code_of(answer):
    return answer.json()["error"]["code"]


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "1.2.3.4", "[::2]", "", "a b", "@localhost"],
)
def test_another_name_that_leads_here_is_refused(url, host):
    for path in ("", "v1/stats", "healthz", "openapi.json", "mcp"):
        answer = ask.get(f"{url}{path}", headers={"Host": host})
        assert (answer.status_code, code_of(answer)) == (403, "host_not_allowed")


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1:80", "[::1]:9", "localhost.", "memory.example.org"]
)
def test_its_own_names_are_answered(url, host):
    assert ask.get(f"{url}v1/stats", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["localhost", "localhost:1"])
def test_two_hosts_are_refused(url, host):
    request = f"GET /v1/stats HTTP/1.1\r\nHost: {host}\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    assert raw(url, request.encode()).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://localhost:1",
        "https://127.0.0.1",
        "file://",
        "http://127.0.0.1@evil.example",
    ],
)
def test_pages_of_other_origins_are_refused_and_get_no_leave_to_read(url, origin):
    for verb in ("GET", "POST", "OPTIONS"):
        answer = ask.request(verb, f"{url}v1/search", headers={"Origin": origin})
        assert (answer.status_code, code_of(answer)) == (403, "origin_not_allowed")
        assert not [name for name in answer.headers if name.startswith("access-control-")]


def test_the_own_page_may_ask_and_another_site_may_only_link_to_it(url):
    own = {"Origin": url.rstrip("/"), "Sec-Fetch-Site": "same-origin"}
    assert ask.post(f"{url}v1/search", json={"query": "cookies"}, headers=own).status_code == 200
    other = {"Sec-Fetch-Site": "cross-site"}
    assert ask.get(url, headers=other).status_code == 200
    assert code_of(ask.get(f"{url}v1/stats", headers=other)) == "origin_not_allowed"


@pytest.mark.parametrize(
    "given",
    [
        None,
        "",
        "Bearer",
        f"Bearer {TOKEN}x",
        f"Bearer {TOKEN[:-1]}",
        f"Basic {TOKEN}",
        TOKEN,
        "Bearer \u00ff",
    ],
)
def test_without_the_token_nothing_is_told(locked, given):
    headers = [] if given is None else [(b"authorization", given.encode("latin-1"))]
    for verb, path in [
        ("GET", "v1/stats"),
        ("POST", "v1/bulk"),
        ("GET", "metrics"),
        ("GET", "openapi.json"),
        ("POST", "mcp"),
    ]:
        answer = ask.request(verb, f"{locked}{path}", headers=headers)
        assert (answer.status_code, code_of(answer)) == (401, "unauthorized")
        assert answer.headers["www-authenticate"] == "Bearer"


def test_with_the_token_everything_is_told_and_without_it_the_page_and_the_health(locked):
    assert ask.get(f"{locked}v1/stats", headers=BEARER).json()["entries"] == 1
    assert ask.get(f"{locked}v1/stats", headers={"Authorization": f"bearer {TOKEN}"}).status_code == 200
    for path in ("", "app.js", "healthz", "readyz"):
        assert ask.get(f"{locked}{path}").status_code == 200


def test_two_tokens_are_refused(locked):
    both = [("Authorization", "Bearer wrong"), ("Authorization", f"Bearer {TOKEN}")]
    assert ask.get(f"{locked}v1/stats", headers=both).status_code == 400


def test_the_token_is_compared_in_constant_time():
    # By construction: digests of one length, in `compare_digest`, and nothing else looks at them.
    tree = ast.parse(inspect.getsource(guard))
    found = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "_check_token")
    called = {
        node.func.id for node in ast.walk(found) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert {"compare_digest", "sha256"} <= called
    compared = [node for node in ast.walk(found) if isinstance(node, ast.Compare)]
    assert [ast.unparse(node) for node in compared] == ["scheme.lower() == b'bearer'"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.7", "memory.example.org"])
def test_an_address_that_others_reach_wants_a_token(host):
    with pytest.raises(QueryError, match="--token-file FILE or SEPTET_TOKEN"):
        Settings(host=host)
    assert Settings(host=host, token=TOKEN).token == TOKEN


@pytest.mark.parametrize("token", ["", " ", "ä", "a\nb", "a\x00"])
def test_a_token_that_no_header_can_carry_is_refused(token):
    with pytest.raises(QueryError, match="the token is empty or cannot be sent"):
        Settings(token=token)


def test_under_every_address_numbers_are_names_and_other_names_are_not(vault):
    with serving(vault, host="0.0.0.0", token=TOKEN) as url:
        for host, status in [("10.0.0.7:7077", 200), ("[fe80::1]", 200), ("evil.example", 403), ("localhost", 200)]:
            assert ask.get(f"{url}v1/stats", headers={**BEARER, "Host": host}).status_code == status


TRICKS = [
    "/../app.py", "/..%2fapp.py", "/%2e%2e/app.py", "/%2e%2e%2fsettings.py", "//etc/passwd", "/views/../../app.py",
    "/app.js%00", "/%00", "/./app.js", "/views/", "/views", "/views/..", "/page/index.html", "/app.js/", "/.app.js",
    "/index.html/../../guard.py", "/..\\app.py", "/%5c..%5capp.py", "/%c0%ae%c0%ae/app.py", "/file:///etc/passwd",
    "/APP.JS", "/__init__.py", "/v1/entries", "/v1/../app.js",
]  # fmt: skip


@pytest.mark.parametrize("path", TRICKS)
def test_no_path_leads_to_a_file_that_is_not_of_the_page(url, path):
    said = raw(url, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    head, _, body = said.partition(b"\r\n\r\n")
    assert int(head.split()[1]) in (200, 400, 404)
    # Only a list of entries is an answer here.
    assert head.split()[1] != b"200" or path == "/v1/entries"
    assert b"root:" not in body and b"import " not in body


def test_links_are_no_files_of_the_page(tmp_path):
    (tmp_path / "page").mkdir()
    (tmp_path / "secret.js").write_text("secret")
    (tmp_path / "page" / "app.js").write_text("app")
    (tmp_path / "page" / "notes.txt").write_text("of no known type")
    (tmp_path / "page" / "link.js").symlink_to(tmp_path / "secret.js")
    (tmp_path / "page" / "up").symlink_to(tmp_path)
    assert list(page_files(tmp_path / "page")) == [b"/app.js"]


def test_the_page_and_its_files_come_under_a_strict_policy(url):
    names = [name.decode() for name in page_files()]
    assert {"/", "/index.html", "/app.js", "/page.css"} <= set(names)
    for name in names:
        answer = ask.get(f"{url}{name[1:]}")
        policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
        assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
        assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
        assert "unsafe" not in str(policy)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"


def test_the_page_is_sent_once_and_answers_of_the_memory_are_never_kept(url):
    first = ask.get(f"{url}app.js")
    again = ask.get(f"{url}app.js", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert ask.get(f"{url}v1/stats").headers["cache-control"] == "no-store"


@pytest.mark.parametrize("verb", ["OPTIONS", "PUT", "TRACE", "PROPFIND"])
def test_other_verbs_are_named_as_such(url, verb):
    for path in ("v1/search", "v1/entries/a", "healthz", "metrics"):
        answer = ask.request(verb, f"{url}{path}")
        assert (answer.status_code, code_of(answer)) == (405, "method_not_allowed")
        assert answer.headers["allow"].split(", ") == answer.json()["error"]["details"]["allowed"]


@pytest.mark.parametrize("verb", ["GETGET", "get", "G\xe9T", "\x00"])
def test_verbs_that_are_none_are_refused(url, verb):
    said = raw(url, f"{verb} /v1/stats HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert said.split()[1] in (b"400", b"405")


def test_head_tells_of_an_answer_without_it(url):
    for path in ("", "app.js", "healthz", "v1/entries/a", "v1/stats"):
        told, whole = ask.head(f"{url}{path}"), ask.get(f"{url}{path}")
        assert (told.status_code, told.content) == (whole.status_code, b"")
        assert told.headers["content-type"] == whole.headers["content-type"]


@pytest.mark.parametrize("header", ["X-A: b\r\n c", "X-A: \x00", "X A: b", "X-A: b\nSet-Cookie: c=d", ": b"])
def test_headers_that_are_none_reach_nobody(url, header):
    said = raw(url, f"GET /v1/stats HTTP/1.1\r\nHost: localhost\r\n{header}\r\nConnection: close\r\n\r\n".encode())
    assert b"set-cookie" not in said.lower().partition(b"\r\n\r\n")[0]
    assert said.split()[1] in (b"400", b"200")


@pytest.mark.parametrize("id", ["a\r\nSet-Cookie: b=c", "a\nb", "a\x00b"])
def test_what_a_request_says_is_in_no_header_of_the_answer(url, id):
    quoted = "".join(f"%{byte:02X}" for byte in id.encode())
    for answer in (
        ask.get(f"{url}v1/entries/{quoted}"),
        ask.get(f"{url}{quoted}"),
        ask.post(f"{url}v1/search", json={"query": id}),
    ):
        assert "set-cookie" not in answer.headers
        assert answer.status_code in (200, 404, 422)


def test_a_memory_for_reading_refuses_every_change(vault):
    with serving(vault, writable=False) as url:
        for verb, path, body in [
            ("POST", "v1/entries", {"title": "x"}),
            ("PATCH", "v1/entries/a", {"title": "x"}),
            ("DELETE", "v1/entries/a", None),
            ("POST", "v1/delete", {"ids": ["a"]}),
            ("POST", "v1/feedback", {"query": "x", "id": "a", "action": "accepted"}),
            ("POST", "v1/bulk", None),
            ("POST", "v1/tools/call", {"name": "remember", "arguments": {"text": "x"}}),
        ]:
            answer = ask.request(verb, f"{url}{path}", json=body)
            assert (answer.status_code, code_of(answer)) == (403, "read_only")
        assert ask.get(f"{url}v1/status").json()["writable"] is False
        assert ask.get(f"{url}v1/entries/a").json()["title"] == "Rotate session cookies"


@pytest.mark.parametrize("profile", ["/etc/passwd", "../profile.toml", "profile.toml", "nonesuch", 5])
def test_a_profile_that_is_a_path_is_refused(url, profile):
    answer = ask.post(f"{url}v1/search", json={"query": "x", "profile": profile})
    assert (answer.status_code, code_of(answer)) == (422, "invalid_request")
    assert "passwd" not in answer.text and "toml" not in answer.text


READER, WRITER, ADMIN = ("a-token-for-reading", "a-token-for-writing", "a-token-for-all-there-is")


@pytest.mark.parametrize(
    ("verb", "path", "body", "wanted"),
    [
        ("POST", "v1/search", {"query": "cookies"}, "read"),
        ("GET", "v1/search?q=cookies", None, "read"),
        ("GET", "v1/export", None, "read"),
        ("POST", "v1/tools/call", {"name": "search", "arguments": {"query": "x"}}, "read"),
        ("POST", "v1/tools/call", {"name": "remember", "arguments": {"text": "x"}}, "write"),
        ("POST", "v1/entries", {"title": "x"}, "write"),
        ("PATCH", "v1/entries/a", {"title": "x"}, "write"),
        ("DELETE", "v1/entries/nobody", None, "write"),
        ("POST", "v1/feedback", {"query": "x", "id": "a", "action": "accepted"}, "write"),
        ("POST", "v1/bulk", None, "write"),
        ("POST", "mcp", {}, "write"),
        ("GET", "metrics", None, "admin"),
        ("POST", "v1/slow_searches", {}, "admin"),
        ("POST", "v1/sessions", {}, "admin"),
    ],
)
def test_a_token_lets_pass_what_its_scope_is_for(vault, verb, path, body, wanted):
    scopes = {READER: "read", WRITER: "write"}
    with serving(vault, token=ADMIN, tokens=scopes) as url:
        for token, held in [*scopes.items(), (ADMIN, "admin")]:
            answer = ask.request(verb, f"{url}{path}", json=body, headers={"authorization": f"Bearer {token}"})
            order = ("read", "write", "admin")
            if order.index(held) >= order.index(wanted):
                assert answer.status_code not in (401, 403)
                continue
            assert (answer.status_code, code_of(answer)) == (403, "scope_not_allowed")
            assert f"scope {held}" in answer.text and f"scope {wanted}" in answer.text
            assert 'error="insufficient_scope"' in answer.headers["www-authenticate"]
        assert ask.request(verb, f"{url}{path}", json=body).status_code == 401


def test_the_status_is_writable_for_tokens_that_may_write(vault):
    with serving(vault, token=ADMIN, tokens={READER: "read", WRITER: "write"}) as url:
        for token, writable in ((READER, False), (WRITER, True), (ADMIN, True)):
            answer = ask.get(f"{url}v1/status", headers={"Authorization": f"Bearer {token}"})
            assert answer.json()["writable"] is writable


def test_lines_of_a_token_file_are_scopes_and_tokens():
    assert tokens_in(f"{ADMIN}\n", "f") == {ADMIN: "admin"}
    assert tokens_in("a token of words", "f") == {"a token of words": "admin"}
    assert tokens_in(f"read {READER}\n\nwrite {WRITER}\n", "f") == {READER: "read", WRITER: "write"}
    assert tokens_in(f"read {READER}", "f") == {READER: "read"}
    for wrong in (f"read {READER}\n{WRITER}", f"read {READER}\nowner {WRITER}", f"read {READER}\nwrite {READER}"):
        with pytest.raises(QueryError, match="token 2 in f") as told:
            tokens_in(wrong, "f")
        assert READER not in str(told.value) and WRITER not in str(told.value)
    with pytest.raises(QueryError, match="wanted one of read, write, admin"):
        Settings(tokens={READER: "owner"})
