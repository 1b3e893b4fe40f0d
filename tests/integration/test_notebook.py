"""What notebooks and data frames show of hits, entries, explanations and evaluations."""

from html.parser import HTMLParser

import pytest

from septet import SeptetError, Vault, evaluate

NASTY = "<script>alert(1)</script> & \"quoted\" 'so'"


class Text(HTMLParser):
    """Reads HTML, checks that every element is closed, and keeps text and tags."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.text = [], [], ""
        self.feed(html)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: 1.7e9) as made:
        made.add(id="jwt", title="JWT validation", description=f"Check exp and aud. {NASTY}", tags=["auth"],
                 span={"path": "notes/jwt.md", "first_line": 3, "last_line": 9})  # fmt: skip
        made.add(id="cookies", title=NASTY, description="Set HttpOnly on cookies, check SameSite")
        made.add_many({"id": f"e{n}", "title": f"entry {n}", "description": "check it " * 40} for n in range(70))
        yield made


def shown(vault):
    found = vault.search("check exp", limit=60)
    queries, judged = {"q1": "check exp", "q2": "cookies"}, {"q1": {"jwt": 1}, "q2": {"cookies": 1}}
    before, after = (evaluate(vault, queries, judged, profile=name) for name in ("six-signals", "septet"))
    yield from (found, found[0], vault.get("jwt"), vault.entries(limit=60), vault.explain("check exp", "jwt"))
    yield from (vault.explain("check exp", "cookies"), before, after.compare(before))


def test_every_value_is_whole_html_without_a_script_or_a_fixed_ground(vault):
    for value in shown(vault):
        html = value._repr_html_()
        read = Text(html)
        assert {tag for tag, _ in read.tags} <= {
            "div",
            "span",
            "b",
            "br",
            "mark",
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
        }
        styles = " ".join(attrs.get("style", "") for _, attrs in read.tags)
        assert "color:black" not in styles and "color:#000" not in styles and "background:#fff" not in styles
        assert read.text.strip()


def test_results_show_place_passage_with_marks_and_bars_by_signal(vault):
    found = vault.search("check exp", limit=60)
    read = Text(found._repr_html_())
    assert "notes/jwt.md#L3-L9" in read.text and "JWT validation" in read.text and "and 10 more" in read.text
    assert "check" in read.text.lower() and sum(tag == "mark" for tag, _ in read.tags) >= 2
    bars = [attrs for tag, attrs in read.tags if tag == "span" and attrs.get("title", "").startswith("semantic")]
    assert len(bars) == 50


def test_nothing_found_is_shown_too(vault):
    assert "0 for" in Text(vault.search("zeppelin")._repr_html_()).text


def test_rows_are_flat_and_hold_no_private_field(vault):
    found = vault.search("check exp", limit=3)
    rows = found.to_dicts()
    assert [row["rank"] for row in rows] == [1, 2, 3] and [row["id"] for row in rows] == found.ids
    assert rows[0]["citation"] == "notes/jwt.md#L3-L9" and not any(name.startswith("_") for name in rows[0])
    assert [row["id"] for row in vault.entries(limit=2).to_dicts()] == vault.entries(limit=2).ids


def test_frames_have_the_rows_and_times_that_are_times(vault):
    pandas = pytest.importorskip("pandas")
    *_, evaluation, comparison = shown(vault)
    found = vault.search("check exp", limit=3)
    assert found.to_pandas()["id"].tolist() == found.ids
    assert str(vault.entries(limit=3).to_pandas()["created_at"].dtype).endswith(", UTC]")
    assert evaluation.to_pandas()["query"].tolist() == ["q1", "q2"]
    assert set(comparison.to_pandas()["measure"]) == set(comparison.differences)
    assert vault.search("zeppelin").to_pandas().empty
    assert isinstance(found.to_pandas(), pandas.DataFrame)


def test_without_pandas_the_error_says_what_to_install(vault, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(SeptetError, match="pip install pandas"):
        vault.search("check").to_pandas()


def test_a_hit_is_one_short_line_and_results_show_passages(vault):
    vault.add(
        id="x" * 200,
        title="word " * 60,
        description="check exp",
        span={"path": "p/" * 90, "first_line": 1, "last_line": 2},
    )
    found = vault.search("check exp")
    assert all(len(repr(hit)) <= 140 and "\n" not in repr(hit) for hit in found)
    assert "Check exp and aud" in repr(found) and "jwt" in repr(found)
