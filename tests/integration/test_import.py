"""What people have becomes entries: formats, names, dates, what is skipped, and a second run."""

import csv
import gzip
import io
import json
from datetime import date, datetime, timedelta, timezone

import pytest

from septet import BatchError, Entry, EntryError, Vault
from septet.exchange import ImportFault

NOW = 1_700_000_000.0
ROWS = [
    {"id": "a", "title": "First", "description": "one, and\n\ntwo", "tags": ["x", "y"], "price": "7"},
    {"id": "b", "title": 'Quoted "word"', "domain": "d", "created_at": "2024-05-31T12:00:00Z"},
    {"id": "c", "title": "日本語", "description": "x" * 200_000, "severity": "critical"},
    {"id": "d", "title": "Last", "created_at": "2024-05-31"},
]


def table(rows, delimiter):
    out = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(out, names, delimiter=delimiter)
    writer.writeheader()
    writer.writerows({**row, "tags": ",".join(row.get("tags", ()))} for row in rows)
    return out.getvalue()


FORMS = {
    "lines.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS),
    "lines.ndjson": "\n \n".join(json.dumps(row, ensure_ascii=False) for row in ROWS),
    "array.json": json.dumps(ROWS),
    "indented.json": json.dumps(ROWS, indent=4, ensure_ascii=False),
    "objects.json": "\n".join(json.dumps(row, indent=1) for row in ROWS),
    "comma.csv": table(ROWS, ","),
    "semicolon.csv": table(ROWS, ";"),
    "pipe.csv": table(ROWS, "|"),
    "tab.tsv": table(ROWS, "\t"),
    "array": "  \n" + json.dumps(ROWS),
    "lines": "".join(json.dumps(row) + "\r\n" for row in ROWS),
}


@pytest.fixture
def vault():
    with Vault(":memory:", clock=lambda: NOW) as made:
        yield made


def by_hand(source):
    with Vault(":memory:", clock=lambda: NOW) as made:
        for row in ROWS:
            fields = {name: value for name, value in row.items() if name != "price"}
            if "created_at" in row:
                fields["created_at"] = datetime.fromisoformat(row["created_at"].replace("Z", "")).replace(
                    tzinfo=timezone.utc
                )
            made.add(
                **fields, attrs={"price": row["price"]} if "price" in row else {}, source=source, trust="unverified"
            )
        return made.load(list("abcd"))


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("name", FORMS)
def test_every_format_gives_the_same_entries(tmp_path, vault, name, mark):
    path = tmp_path / name
    path.write_text(mark + FORMS[name], encoding="utf-8", newline="")
    done = vault.import_(path)
    assert (done.entries, done.skipped, done.unchanged) == (4, 0, 0)
    assert vault.load(list("abcd")) == by_hand(f"import:{name}")
    assert done.notes == ("1 times without a zone were taken as UTC",)


@pytest.mark.parametrize("kind", [io.StringIO, lambda text: io.BytesIO(text.encode())])
@pytest.mark.parametrize("name", FORMS)
def test_streams_say_their_format_or_show_it(vault, name, kind):
    form = {"csv": "csv", "tsv": "tsv", "json": "json"}.get(name.rpartition(".")[2])
    assert vault.import_(kind(FORMS[name].strip()), format=form).entries == 4
    assert vault.load(list("abcd")) == by_hand("import")


def test_dicts_entries_and_lines_may_come_from_a_generator(vault):
    def source():
        yield ROWS[0]
        yield json.dumps(ROWS[1])
        yield json.dumps(ROWS[2]).encode()
        yield Entry(id="e", title="An entry", created_at=5.0, updated_at=6.0)

    assert vault.import_(source()).entries == 4
    assert vault.load(list("abc")) == by_hand("import")[:3] and vault.get("e").updated_at == 6.0


@pytest.mark.parametrize("size", [1, 2, 7, 1_000])
@pytest.mark.parametrize("name", ["array.json", "indented.json", "objects.json"])
def test_an_array_may_be_cut_anywhere(vault, monkeypatch, size, name):
    monkeypatch.setattr("septet.exchange.sources.PIECE_CHARS", size)
    text = FORMS[name].replace("x" * 200_000, "x" * 50)
    assert vault.import_(io.BytesIO(text.encode()), format="json").entries == 4
    found = vault.load(list("abcd"))
    assert [entry.title for entry in found] == [row["title"] for row in ROWS]
    assert found[2].description == "x" * 50


# -- names -----------------------------------------------------------------------------------------------------------


def test_fields_are_mapped_dropped_and_kept(vault):
    record = {
        "key": 17,
        "name": "A title",
        "text": "The text",
        "description": "a field of its own",
        "meta": {"author": {"name": "Ann", "age": 5}, "lang": "en"},
        "junk": "x",
        "price": 1.5,
    }
    mapped = {"key": "id", "name": "title", "text": "description", "meta.author.name": "attrs.by.name", "junk": None}
    assert vault.import_([record], map=mapped).entries == 1
    entry = vault.get("17")
    assert (entry.title, entry.description) == ("A title", "The text")
    assert entry.attrs == {
        "by": {"name": "Ann"},
        "description": "a field of its own",
        "meta": {"author": {"age": 5}, "lang": "en"},
        "price": 1.5,
    }
    assert record["meta"]["author"]["name"] == "Ann"
    vault.import_([record], map=mapped, rest="drop")
    assert vault.get("17").attrs == {"by": {"name": "Ann"}}
    with pytest.raises(BatchError, match="record 1: unknown field 'description'"):
        vault.import_([record], map=mapped, rest="error")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"map": [1]}, "map is"),
        ({"map": {"a": "nothing"}}, "'nothing'; wanted a field"),
        ({"map": {"a": "attrs."}}, "wanted a field"),
        ({"map": {"a": "title", "b": "title"}}, "two names for 'title'"),
        ({"map": {1: "title"}}, "wanted a dict"),
        ({"rest": "keep"}, "rest is 'keep'"),
        ({"on_error": "ignore"}, "on_error is 'ignore'"),
        ({"format": "xml"}, "format is 'xml'"),
        ({"format": "text"}, "requires the path"),
    ],
)
def test_an_unknown_option_is_refused_with_what_is_wanted(vault, options, said):
    with pytest.raises(EntryError, match=said):
        vault.import_([{"title": "t"}], **options)
    assert len(vault) == 0


def test_foreign_fields_never_overwrite_attrs(vault):
    vault.import_([{"id": "a", "title": "t", "attrs": {"x": 1}, "y": 2, "z": float("nan")}])
    assert vault.get("a").attrs == {"x": 1, "y": 2}
    with pytest.raises(BatchError, match="field 'x' would overwrite"):
        vault.import_([{"title": "t", "attrs": {"x": 1}, "x": 2}])


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("One line", "One line"),
        ("\n\n## A heading ##\nmore", "A heading"),
        ("word " * 40, ("word " * 15).strip() + "..."),
        ("x" * 100, "x" * 77 + "..."),
    ],
)
def test_a_missing_title_is_made_of_the_text(vault, text, title):
    for record in ({"description": text}, {"title": " ", "description": text}, {"title": None, "description": text}):
        vault.import_([{"id": "a", **record}])
        assert (vault.get("a").title, vault.get("a").description) == (title, text)


def test_a_record_without_title_and_text_says_what_to_map(vault):
    with pytest.raises(BatchError, match=r"line 1: .*it has 'id', 'content'.*map=\{'content': 'description'\}"):
        vault.import_(['{"id": "c", "content": "..."}'])


# -- times and other values ------------------------------------------------------------------------------------------

UTC = timezone.utc
TIMES = {
    "2024-05-31": datetime(2024, 5, 31, tzinfo=UTC),
    "2024-05-31 12:30": datetime(2024, 5, 31, 12, 30, tzinfo=UTC),
    "2024-05-31T12:30:15.5": datetime(2024, 5, 31, 12, 30, 15, 500_000, tzinfo=UTC),
    "2024-05-31T12:30:15,123456789Z": datetime(2024, 5, 31, 12, 30, 15, 123_456, tzinfo=UTC),
    "2024-05-31T12:30:15+02:00": datetime(2024, 5, 31, 10, 30, 15, tzinfo=UTC),
    "2024-05-31T12:30:15-0530": datetime(2024, 5, 31, 18, 0, 15, tzinfo=UTC),
    "2024-05-31T12:30:15 +02": datetime(2024, 5, 31, 10, 30, 15, tzinfo=UTC),
    "1700000000": 1.7e9,
    "1700000000.25": 1_700_000_000.25,
    "-5": -5.0,
    1_700_000_000: 1.7e9,
    1_700_000_000_000: 1.7e9,
    "1700000000000": 1.7e9,
    253_402_300_799: 253_402_300_799.0,
    date(2024, 5, 31): datetime(2024, 5, 31, tzinfo=UTC),
    datetime(2024, 5, 31, 1): datetime(2024, 5, 31, 1, tzinfo=UTC),
    datetime(2024, 5, 31, 1, tzinfo=timezone(timedelta(hours=1))): datetime(2024, 5, 31, tzinfo=UTC),
    "": NOW,
    None: NOW,
    float("nan"): NOW,
}


@pytest.mark.parametrize("given", TIMES, ids=repr)
def test_times_come_as_people_write_them(vault, given):
    done = vault.import_([{"id": "a", "title": "t", "created_at": given}])
    wanted = TIMES[given]
    assert vault.get("a").created_at == (wanted.timestamp() if isinstance(wanted, datetime) else wanted)
    guessed = isinstance(given, (date, datetime)) and getattr(given, "tzinfo", None) is None
    guessed = guessed or (isinstance(given, str) and given[-3:] in (":30", "-31", "5.5"))
    assert (done.notes == ("1 times without a zone were taken as UTC",)) == guessed
    assert any("milliseconds" in note for note in done.notes) == (str(given) == "1700000000000")


@pytest.mark.parametrize(
    "given", ["yesterday", "31.05.2024", "2024-02-30", "2024-05-31T25:00", "1e9", "١٧٠٠", "+99" * 9]
)
def test_a_text_that_is_no_time_is_refused(vault, given):
    with pytest.raises(BatchError, match=r"valid_until is .*wanted an ISO date"):
        vault.import_([{"title": "t", "valid_until": given}])


def test_an_export_is_taken_word_for_word(vault):
    line = json.dumps({"record": "entry", "id": "a", "title": "t", "valid_until": 1e12, "attrs": {"x": None}})
    assert vault.import_([line]).notes == ()
    assert (vault.get("a").valid_until, vault.get("a").attrs) == (1e12, {"x": None})
    with pytest.raises(BatchError, match="unknown field 'colour'"):
        vault.import_([json.dumps({"record": "entry", "title": "t", "colour": "red"})])


@pytest.mark.parametrize(
    ("given", "tags"),
    [("a, b;c", "abc"), ('["a,b", "c"]', ["a,b", "c"]), ("", ()), (" , ", ()), (["a"], "a"), (None, ())],
)
def test_tags_may_be_one_text(vault, given, tags):
    vault.import_([{"id": "a", "title": "t", "tags": given}])
    assert vault.get("a").tags == tuple(tags)


def test_vectors_may_be_text(vault):
    vault.import_(["id,title,vector,model", 'a,t,"[1, 2]",m', "b,t,,"], format="csv")
    assert [(space.model, space.entries) for space in vault.stats().spaces] == [("m", 1)]


# -- what cannot be stored -------------------------------------------------------------------------------------------

MIXED = ["title,id", "one,1", '"two', 'lines",2', ",3", "four,4", "five,5,6", "six,6"]


def test_an_import_stops_at_a_record_that_cannot_be_stored(vault):
    why = r"^line 5: title and description are missing.*; nothing was stored$"
    with pytest.raises(BatchError, match=why) as stopped:
        vault.import_(MIXED, format="csv")
    assert (stopped.value.written, stopped.value.index, len(vault)) == (0, 2, 0)


def test_records_that_cannot_be_stored_are_skipped_and_told_by_line(vault):
    told = []
    for on_error in ("skip", told.append):
        done = vault.import_(MIXED, format="csv", on_error=on_error)
        assert (done.entries, done.skipped, len(vault)) == (4, 2, 4)
        assert [(fault.line, fault.place) for fault in done.errors] == [(5, "line 5"), (7, "line 7")]
        assert "the row has 3 fields" in done.errors[1].message
    assert tuple(told) == done.errors and isinstance(told[0], ImportFault)


def test_what_the_function_raises_ends_the_import(vault):
    def raises(fault):
        raise LookupError(fault.message)

    with pytest.raises(LookupError, match="title"):
        vault.import_(MIXED, format="csv", on_error=raises)


def test_many_faults_are_counted_and_a_hundred_kept(vault):
    done = vault.import_(["{}"] * 150 + ['{"title": "t"}'], on_error="skip")
    assert (done.entries, done.skipped, len(done.errors)) == (1, 150, 100)


@pytest.mark.parametrize("wrong", [(), (0,), (17, 40), range(50), range(49), range(100)])
def test_vectors_of_another_dimension_are_skipped_among_others(vault, wrong):
    vault.add(id="first", title="t", vector=[1, 2])
    records = [{"id": f"{n}", "title": f"t {n}", "vector": [1, 2, 3] if n in wrong else [n, 2]} for n in range(100)]
    done = vault.import_(records, on_error="skip")
    assert {fault.line - 1 for fault in done.errors} == set(wrong)
    assert (done.entries, done.skipped, len(vault)) == (100 - len(wrong), len(wrong), 101 - len(wrong))


def test_links_and_feedback_that_fit_nothing_are_skipped(vault):
    records = [
        {"title": "a", "id": "a"},
        {"title": "b", "id": "b"},
        *({"record": "link", "source": "a", "target": to} for to in ("b", "c", "a")),
        *({"record": "feedback", "query": "q", "entry_id": "a", "action": act} for act in ("accepted", "liked")),
    ]
    done = vault.import_(records, on_error="skip")
    assert (done.entries, done.links, done.feedback, done.skipped) == (2, 1, 1, 3)
    assert [fault.line for fault in done.errors] == [4, 5, 7]


@pytest.mark.parametrize(
    ("names", "missing"),
    [
        ({}, []),
        ({"name": "title"}, []),
        ({"name": "title", "rare": "attrs.rare", "meta.by": None}, []),
        ({"subject": "title", "name": "description"}, ["subject"]),
        ({"name": "title", "Rare": None, "meta.to": "attrs.to", "meta.by": "source"}, ["Rare", "meta.to"]),
    ],
)
def test_names_in_map_that_no_record_has_are_noted(vault, names, missing):
    records = [{"name": f"n{n}", "title": f"t{n}", "meta": {"by": "x"}} for n in range(3)]
    records[2]["rare"] = 1
    done = vault.import_(records, map=names)
    assert done.entries == 3
    first = "the first record has 'name', 'title', 'meta'"
    said = f"map has names that no record has: {', '.join(map(repr, missing))}; {first}"
    assert done.notes == ((said,) if missing else ())
    assert vault.import_([], map=names).notes == ()


@pytest.mark.parametrize("name", [*FORMS, "lines.jsonl.gz", "text.md"])
def test_what_gzip_packed_is_refused_by_name_and_taken_as_a_stream(tmp_path, vault, name):
    path, text = tmp_path / name, FORMS.get(name, FORMS["lines.jsonl"])
    path.write_bytes(gzip.compress(text.strip().encode()))
    if name == "text.md":
        (fault,) = vault.import_(path).errors
        assert "gzip-compressed: decompress it" in fault.message
        return
    with pytest.raises(EntryError, match="gzip-compressed: decompress it"):
        vault.import_(path)
    with path.open("rb") as packed, pytest.raises(EntryError, match="gzip-compressed: decompress it"):
        vault.import_(packed)
    assert len(vault) == 0
    form = {"csv": "csv", "tsv": "tsv", "json": "json"}.get(name.rpartition(".")[2])
    with gzip.open(path) as stream:
        assert vault.import_(stream, format=form).entries == 4
