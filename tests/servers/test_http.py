"""The operations over HTTP, asked of a real server."""

import pytest

pytest.importorskip("uvicorn")

from septet import Client, EntryError, Vault
from serving import ask, serving

#: Ids that others would take for parts of a path, of a query, or of an escape.
ODD_IDS = [
    "a/b",
    "..",
    ".",
    "../../etc/passwd",
    "ü ?#%",
    "%2F",
    "a%2Fb",
    "a//b",
    "/",
    "日本",
    "x" * 256,
    "\U0001f600&=+",
]


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    with Vault(tmp_path_factory.mktemp("http") / "v.db") as vault:
        vault.add(id="cookies", title="Rotate session cookies", tags=["web"])
        for id in ODD_IDS:
            vault.add(id=id, title=f"Entry {id}")
        with serving(vault) as url:
            yield url


def quoted(id):
    return "".join(f"%{byte:02X}" for byte in id.encode())


def test_a_search_answers_as_the_vault_does(url):
    found = ask.post(f"{url}v1/search", json={"query": "session cookies", "limit": 3})
    assert (found.status_code, found.headers["content-type"]) == (200, "application/json")
    assert found.json()["hits"][0]["entry"]["title"] == "Rotate session cookies"


@pytest.mark.parametrize("id", ODD_IDS)
def test_an_entry_is_read_and_changed_by_any_id(url, id):
    # httpx takes dots out of a path, as the standard says; what is quoted stays.
    at = f"{url}v1/entries/{quoted(id)}"
    assert ask.get(at).json()["id"] == id
    changed = ask.patch(at, json={"context": f"seen {id}"})
    assert (changed.status_code, changed.json()["context"]) == (200, f"seen {id}")
    assert ask.get(at).json()["context"] == f"seen {id}"


def test_an_entry_is_read_by_its_path_in_a_file_and_a_client_reads_it_so(tmp_path):
    for root in ("notes", "more"):
        (tmp_path / root / "deep").mkdir(parents=True)
        (tmp_path / root / "deep" / f"{root}.md").write_text(f"# About {root}\n", encoding="utf-8")
        (tmp_path / root / "same.md").write_text(f"# Same in {root}\n", encoding="utf-8")
    with Vault(":memory:") as vault:
        vault.sync(tmp_path / "notes")
        vault.sync(tmp_path / "more")
        with serving(vault) as url, Client(url) as client:
            for place in ("deep/notes.md", "deep/notes.md#L1"):
                assert ask.get(f"{url}v1/entries/{quoted(place)}").json()["title"] == "About notes"
                assert client.get(place).title == "About notes" and place not in client
            answer = ask.get(f"{url}v1/entries/same.md")
            assert answer.status_code == 422 and "of more" in answer.text and "of notes" in answer.text
            with pytest.raises(EntryError, match="of more"):
                client.get("same.md")
            assert client.get("gone.md") is None and client.get("") is None and client.get("x" * 300) is None


@pytest.mark.parametrize(
    ("verb", "path", "body", "status", "code"),
    [
        ("GET", "v1/entries/none", None, 404, "entry_not_found"),
        ("GET", "v1/nothing", None, 404, "no_such_route"),
        ("PUT", "v1/search", "{}", 405, "method_not_allowed"),
        ("POST", "v1/search", "{", 422, "invalid_request"),
        ("POST", "v1/search", "{}", 422, "invalid_request"),
        ("POST", "v1/search", "[]", 422, "invalid_request"),
        ("POST", "v1/search", '{"query": "x", "limit": "3"}', 422, "invalid_request"),
        ("POST", "v1/search", '{"query": "x", "profile": "/etc/passwd"}', 422, "invalid_request"),
        ("PATCH", "v1/entries/cookies", '{"id": "other"}', 422, "invalid_request"),
        ("PATCH", "v1/entries/cookies", '{"split": "5"}', 422, "invalid_request"),
        ("GET", "v1/entries/%ff", None, 400, "invalid_request"),
    ],
)
def test_a_mistake_is_told_with_its_code(url, verb, path, body, status, code):
    answer = ask.request(verb, f"{url}{path}", content=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


@pytest.mark.parametrize(
    ("query", "options"),
    [
        ("q=session+cookies", {}),
        ("q=entry&limit=3&mode=scan&offset=1", {"limit": 3, "mode": "scan", "offset": 1}),
        ("q=cookies&tag=web&kind=entry", {"where": {"tags": "web"}, "kinds": ["entry"]}),
        ("q=cookies&legs=text&profile=six-signals&include_memories=true", {"legs": "text", "profile": "six-signals"}),
    ],
)
def test_a_search_by_address_finds_what_a_posted_one_finds(url, query, options):
    asked = {"query": dict(part.split("=") for part in query.split("&"))["q"].replace("+", " "), **options}
    posted, found = ask.post(f"{url}v1/search", json=asked), ask.get(f"{url}v1/search?{query}")
    assert found.status_code == 200 and found.json()["hits"]
    assert [hit["id"] for hit in found.json()["hits"]] == [hit["id"] for hit in posted.json()["hits"]]
    assert found.json()["profile"] == posted.json()["profile"]


@pytest.mark.parametrize("query", ["", "limit=3", "q=a&limit=0", "q=a&many=1", "q=a&profile=none", "q=a&q=b"])
def test_a_search_by_address_that_is_wrong_is_refused_with_the_field(url, query):
    answer = ask.get(f"{url}v1/search?{query}")
    assert answer.status_code == 422 and answer.json()["error"]["code"] == "invalid_request"


def test_the_document_tells_the_fields_of_a_search_by_address(url):
    operation = ask.get(f"{url}openapi.json").json()["paths"]["/v1/search"]["get"]
    fields = {one["name"]: one["required"] for one in operation["parameters"]}
    assert fields["q"] is True and {"limit", "kind", "tag", "min_score"} <= fields.keys()


def test_the_page_of_the_api_names_every_route_and_asks_nothing_of_others(url):
    page = ask.get(f"{url}docs")
    assert page.status_code == 200 and page.headers["content-type"].startswith("text/html")
    assert page.headers["content-security-policy"] == ask.get(url).headers["content-security-policy"]
    for path, verbs in ask.get(f"{url}openapi.json").json()["paths"].items():
        for verb in verbs:
            assert f"<code>{verb.upper()} {path}</code>" in page.text
    assert "<script" not in page.text and "style=" not in page.text and "://" not in page.text
    tag = page.headers["etag"]
    assert ask.get(f"{url}docs", headers={"if-none-match": tag}).status_code == 304
