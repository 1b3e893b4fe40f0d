"""Queries and judgements, as values and as files."""

import gzip
import json

import numpy as np
import pytest

from septet.errors import QueryError
from septet.evaluation.judgements import Query, judged

ONE = [Query("1", "ducks", {"a": 1})]


def written(path, text):
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def test_queries_are_a_dict_with_judgements_beside_it():
    assert judged({"1": "ducks", "2": "geese"}, {"1": {"a": 2, "b": 0}, "2": ["c"]}) == [
        Query("1", "ducks", {"a": 2, "b": 0}),
        Query("2", "geese", {"c": 1}),
    ]


def test_queries_are_dicts_that_bring_their_judgements_and_count_themselves():
    given = [{"query": "ducks", "relevant": ["a"]}, {"id": 7, "text": "geese", "relevant": {"c": 2}}]
    assert judged(given, None) == [Query("1", "ducks", {"a": 1}), Query("7", "geese", {"c": 2})]
    assert judged(iter(given), None) == judged(given, None)


@pytest.mark.parametrize("name", ["queries.jsonl", "queries.jsonl.gz"])
def test_queries_are_json_lines_as_of_beir(tmp_path, name):
    lines = [{"_id": "1", "text": "ducks", "metadata": {}}, {"_id": "2", "text": "geese"}]
    path = written(tmp_path / name, "\n".join(map(json.dumps, lines)) + "\n\n")
    assert judged(path, {"1": ["a"]}) == [*ONE, Query("2", "geese", None)]


@pytest.mark.parametrize("text", ["1\tducks\n", "\ufeff1\tducks\r\n", "qid\tquery\n1\tducks\n"])
def test_queries_are_lines_of_id_and_text(tmp_path, text):
    assert judged(str(written(tmp_path / "queries.tsv", text)), {"1": ["a"]}) == ONE


@pytest.mark.parametrize(
    "text",
    [
        "1 0 a 1\n",
        "1\t0\ta\t1\n\n",
        "1 a 1\n",
        "query-id\tcorpus-id\tscore\n1\ta\t1\n",
        "9 0 a 1\n1 Q0 a 1\n",
    ],
)
def test_judgements_are_the_four_columns_of_trec_or_the_three_of_beir(tmp_path, text):
    assert judged({"1": "ducks"}, written(tmp_path / "qrels.txt", text)) == ONE


def test_ids_with_blanks_are_taken_where_tabulators_separate(tmp_path):
    path = written(tmp_path / "qrels.tsv", "1\t0\ta page.md\t2\n")
    assert judged({"1": "ducks"}, path)[0].grades == {"a page.md": 2}


@pytest.mark.parametrize(
    ("queries", "qrels", "said"),
    [
        ({}, {}, "none of 0 queries is judged"),
        ({"1": "ducks"}, None, "none of 1 queries is judged"),
        ({"1": "ducks"}, {"2": ["a"]}, "do the ids of both agree"),
        ({"1": "ducks"}, {"1": []}, "none of 1 queries"),
        ([{"query": "ducks", "relevant": ["a"]}], {"1": ["a"]}, "omit one of them"),
        ([{"id": 1, "query": "x"}, {"id": "1", "query": "y"}], {"1": ["a"]}, "duplicate query id"),
        ([{"relevant": ["a"]}], None, "query 1 has no text"),
        (["ducks"], {"1": ["a"]}, "query 1 is 'ducks'"),
        ([{"query": "x", "relevant": "a"}], None, "wanted ids, or grades by id"),
        ([{"query": "x", "relevant": {"a": "high"}}], None, "the grade of 'a' is 'high'"),
        ([{"query": "x", "relevant": {"a": float("nan")}}], None, "the grade of 'a' is nan"),
        ([{"query": "x", "relevant": {"a": True}}], None, "the grade of 'a' is True"),
        ([{"query": "x", "relevant": [3]}], None, "not text"),
        ({"1": 3}, {"1": ["a"]}, "not text"),
        (3, {"1": ["a"]}, "queries is 3"),
        ({"1": "ducks"}, 3, "qrels is 3"),
        ("no-such-file.tsv", None, "no-such-file.tsv"),
    ],
)
def test_what_cannot_be_understood_is_refused_by_name(queries, qrels, said):
    with pytest.raises(QueryError, match=said):
        judged(queries, qrels)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("q.jsonl", '{"query": "a", "relevant": ["x"]}\n{"query"\n', "line 2 is not JSON"),
        ("q.jsonl", "[" * 100_000, "line 1"),
        ("q.jsonl", '{"relevant": []}', "line 1 has no text"),
        ("q.tsv", "1 ducks\n", "line 1 is '1 ducks'"),
        ("q.tsv.gz", None, "cannot be read"),
        ("q.tsv", b"1\t\xff\n", "line 1: not UTF-8"),
    ],
)
def test_a_line_of_a_file_of_queries_is_refused_with_its_number(tmp_path, name, text, said):
    path = tmp_path / name
    path.write_bytes(b"no gzip" if text is None else text if isinstance(text, bytes) else text.encode())
    with pytest.raises(QueryError, match=said):
        judged(path, {"1": ["a"]} if "relevant" not in str(text) else None)


@pytest.mark.parametrize("text", ["1 0 a 1\n1 0 b much\n", "1 0 a 1\n1 0\n", "1 0 a 1\n1 0 b 99999999999\n"])
def test_a_line_of_judgements_is_refused_with_its_number(tmp_path, text):
    with pytest.raises(QueryError, match="line 2"):
        judged({"1": "ducks"}, written(tmp_path / "qrels", text))


def test_a_pipe_is_no_file_of_queries(tmp_path):
    import os

    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(QueryError, match="pipe"):
        judged(tmp_path / "pipe", None)


def test_grades_with_a_point_are_read_and_whole_ones_are_whole(tmp_path):
    asked = [{"query": "x", "relevant": {"a": 1.0, "b": 0.5, "c": np.float32(2), "d": 3}}]
    assert repr(judged(asked, None)[0].grades) == "{'a': 1, 'b': 0.5, 'c': 2, 'd': 3}"
    (tmp_path / "qrels").write_text("query-id corpus-id score\n1 a 1.0\n1 b 0.5\n1 c 2\n", encoding="utf-8")
    assert repr(judged({"1": "x"}, tmp_path / "qrels")[0].grades) == "{'a': 1, 'b': 0.5, 'c': 2}"


@pytest.mark.parametrize("grade", ["nan", "inf", "1e99", "1,5", "high"])
def test_a_grade_of_a_file_that_is_no_number_is_named_with_its_line(tmp_path, grade):
    (tmp_path / "qrels").write_text(f"1 b 1\n1 a {grade}\n", encoding="utf-8")
    with pytest.raises(QueryError, match="line 2: the grade is"):
        judged({"1": "x"}, tmp_path / "qrels")
