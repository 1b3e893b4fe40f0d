"""Configurations and front matter as large as may be are read, or refused, in seconds whatever they hold."""

import time

import pytest

from septet.files.front_matter import front_matter
from septet.inputs.documents import MAX_BYTES, Unreadable, parse_document


def in_seconds(call):
    begun = time.process_time()
    result = call()
    assert time.process_time() - begun < 4
    return result


def test_json_with_many_keys_of_which_the_last_stands_twice_is_refused_at_once():
    text = "{" + ",".join(f'"k{i}":1' for i in range(20_000)) + ',"k19999":1}'
    assert len(text) <= MAX_BYTES
    with pytest.raises(Unreadable, match="'k19999' twice"):
        in_seconds(lambda: parse_document(text, ".json"))


@pytest.mark.parametrize(("fence", "field", "bad"), [("+++", "a{}.b.c.d = 1", "x = "), ("---", "a{}: 1", "x: [")])
def test_a_field_that_cannot_be_read_behind_thousands_costs_no_minutes(fence, field, bad):
    lines = [field.format(i) for i in range(5_000)]
    read = in_seconds(lambda: front_matter("\n".join([fence, *lines, bad, fence, "# T", ""])))
    assert len(read.values) >= 5_000
    assert "at line 5002" in read.problem or "at line 5003" in read.problem


def test_the_first_of_a_field_that_stands_twice_counts():
    read = front_matter("---\na: 1\nb: [\na: 2\n---\n# T\n")
    assert read.values["a"] == 1
