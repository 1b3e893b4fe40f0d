"""What a server tells of itself: figures, timings, its log; and the tools of agents."""

import io
import json
import logging

import pytest

pytest.importorskip("uvicorn")
from prometheus_client.parser import text_string_to_metric_families

from septet import Client, Federation, Vault
from septet.server.access_log import AccessLog
from serving import ask, serving


@pytest.fixture
def vault(tmp_path):
    with Vault(tmp_path / "v.db") as vault:
        vault.add(id="a", title="Rotate session cookies")
        yield vault


def read(text):
    """Return the samples of an exposition by name and labels, as the official client reads them."""
    families = list(text_string_to_metric_families(text))
    assert len({family.name for family in families}) == len(families)
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families
        for sample in family.samples
    }


def figure(found, name, **labels):
    return found.get((name, frozenset(labels.items())))


def test_searches_writes_and_requests_are_counted(vault):
    with serving(vault) as url:
        for query in ("cookies", "nothing of it", ""):
            ask.post(f"{url}v1/search", json={"query": query})
        ask.post(f"{url}v1/search", json={"query": "x", "limit": 0})
        ask.post(f"{url}v1/search_many", json={"queries": ["a", "b"]})
        ask.post(f"{url}v1/entries", json={"title": "Two"})
        ask.get(f"{url}v1/entries/a")
        ask.get(f"{url}v1/entries/b")
        ask.get(f"{url}nowhere")
        answer = ask.get(f"{url}metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    found = read(answer.text)
    assert figure(found, "septet_searches_total", method="search") == 3
    assert figure(found, "septet_queries_total", method="search_many") == 2
    assert figure(found, "septet_notes_total", code="no_terms") == 1
    assert figure(found, "septet_writes_total", method="add") == 1
    assert figure(found, "septet_search_seconds_count", method="search") == 3
    assert figure(found, "septet_search_stage_seconds_count", stage="recall") >= 1
    assert figure(found, "septet_http_requests_total", method="GET", route="/v1/entries/{id}", status="404") == 1
    assert figure(found, "septet_http_requests_total", method="POST", route="/v1/search", status="422") == 1
    assert figure(found, "septet_http_requests_total", method="GET", route="other", status="404") == 1
    assert figure(found, "septet_entries", tier="") == 2
    assert figure(found, "septet_up") == 1


def test_buckets_are_bounded_in_seconds_and_no_series_tells_when_one_began(vault):
    with serving(vault) as url:
        ask.post(f"{url}v1/search", json={"query": "cookies"})
        found = read(ask.get(f"{url}metrics").text)
    buckets = [dict(labels)["le"] for name, labels in found if name == "septet_search_seconds_bucket"]
    assert (buckets[0], buckets[-2:], len(buckets)) == ("0.0001", ["30.0", "+Inf"], 18)
    assert [name for name, _ in found if name.endswith("_created")] == []


@pytest.mark.parametrize("value", ['a"b', "a\\b", "a\nb", "ü\u2028", '\\"\n', "a,b}"])
def test_the_values_of_labels_are_escaped(tmp_path, value):
    with Vault(tmp_path / "a.db") as vault, Federation({value: vault}) as tiers, serving(tiers) as url:
        assert figure(read(ask.get(f"{url}metrics").text), "septet_entries", tier=value) == 0


def test_each_server_of_a_process_counts_for_itself(vault):
    with serving(vault) as url, serving(vault) as other:
        ask.get(f"{url}v1/entries/a")
        found = read(ask.get(f"{other}metrics").text)
    assert [name for name, labels in found if ("route", "/v1/entries/{id}") in labels] == []


def test_the_stages_of_a_search_are_in_a_header(vault):
    with serving(vault) as url:
        timing = ask.post(f"{url}v1/search", json={"query": "cookies"}).headers["server-timing"]
        assert "server-timing" not in ask.get(f"{url}v1/stats").headers
    stages = dict(part.split(";dur=") for part in timing.split(", "))
    assert {"plan", "open", "recall", "rank", "read", "hits"} <= set(stages)
    assert all(float(ms) >= 0 for ms in stages.values())


def test_hooks_that_a_vault_was_opened_with_are_told_as_well(tmp_path):
    told = []
    with Vault(tmp_path / "h.db", on_search=told.append, on_write=told.append) as vault, serving(vault) as url:
        ask.post(f"{url}v1/entries", json={"title": "x"})
        ask.post(f"{url}v1/search", json={"query": "x"})
        found = read(ask.get(f"{url}metrics").text)
    assert [event.method for event in told] == ["add", "search"]
    assert figure(found, "septet_searches_total", method="search") == 1


@pytest.mark.parametrize("queries", [False, True])
def test_the_log_tells_of_each_request_and_of_queries_only_when_asked(vault, queries):
    stream = io.StringIO()
    log = AccessLog(stream, queries=queries)
    with serving(vault, log=log) as url:
        ask.post(f"{url}v1/search", json={"query": "secret\x1b[31m\x7f\nquery"})
        ask.get(f"{url}v1/entries/secret")
        ask.get(f"{url}v1/none", headers={"Host": "evil"})
    logger = logging.Logger("x")
    logger.addHandler(log)
    logger.error("it broke\n%s", "\x1b[0m")
    log.close()
    text = stream.getvalue()
    assert text.isprintable() or (set(text) - {"\n"} and all(c.isprintable() or c == "\n" for c in text))
    lines = [json.loads(line) for line in text.splitlines()]
    assert [line.get("status") for line in lines] == [200, 404, 403, None]
    assert [line.get("route") for line in lines] == ["/v1/search", "/v1/entries/{id}", "other", None]
    assert lines[3]["message"] == "it broke\n\x1b[0m"
    assert ("secret" in text) is queries
    if queries:
        assert lines[0]["query"] == "secret\x1b[31m\x7f\nquery"
        assert lines[1]["path"] == "/v1/entries/secret"


def test_a_log_whose_reader_went_holds_up_nothing(vault):
    stream = io.StringIO()
    log = AccessLog(stream)
    stream.close()
    with serving(vault, log=log) as url:
        assert ask.get(f"{url}v1/stats").status_code == 200
    log.close()


def test_an_error_that_nobody_foresaw_is_told_to_the_log_alone(vault, monkeypatch):
    def broken(*args, **named):
        raise RuntimeError("the inside of it")

    monkeypatch.setattr(vault, "facets", broken)
    stream = io.StringIO()
    log = AccessLog(stream)
    logging.getLogger("septet.server").addHandler(log)
    try:
        with serving(vault, log=log) as url:
            answer = ask.post(f"{url}v1/facets", json={"field": "kind"})
    finally:
        logging.getLogger("septet.server").removeHandler(log)
        log.close()
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "internal_error")
    assert "inside" not in answer.text
    assert "the inside of it" in stream.getvalue()


@pytest.mark.parametrize("arguments", ["arguments", "args"])
def test_tools_are_called_as_the_documented_dashboard_calls_them(vault, arguments):
    with serving(vault) as url:
        answer = ask.post(f"{url}v1/tools/call", json={"name": "search", arguments: {"query": "cookies"}})
        said = answer.json()
        assert (answer.status_code, said["success"], said["is_error"]) == (200, True, False)
        assert [hit["id"] for hit in said["result"]["hits"]] == ["a"]
        assert "Rotate session cookies" in said["text"]
        for name, given, status, code in [
            ("none", {}, 422, "unknown_tool"),
            ("search", {}, 422, "invalid_request"),
            ("update_entry", {"id": "none", "title": "x"}, 404, "entry_not_found"),
        ]:
            answer = ask.post(f"{url}v1/tools/call", json={"name": name, arguments: given})
            said = answer.json()
            assert (answer.status_code, said["success"], said["is_error"]) == (status, False, True)
            assert said["error"]["code"] == code
        assert ask.post(f"{url}v1/tools/call", json={"name": 5}).json()["error"]["code"] == "invalid_request"


def test_what_was_noted_is_written_when_the_log_is_flushed():
    stream = io.StringIO()
    log = AccessLog(stream)
    log.emit(logging.LogRecord("septet", logging.WARNING, "", 0, "the last words", None, None))
    log.flush()
    assert json.loads(stream.getvalue())["message"] == "the last words"
    log.close()


def test_searches_of_a_federation_through_a_client_are_counted(tmp_path):
    with Vault(tmp_path / "far.db") as far, Vault(tmp_path / "near.db") as near, serving(far) as url:
        far.add(title="Ducks swim")
        with Client(url) as client, Federation({"near": near, "far": client}) as both:
            assert both.search("ducks")
            assert both.search("swim")
        assert 'septet_searches_total{method="search"} 2' in ask.get(f"{url}metrics").text
