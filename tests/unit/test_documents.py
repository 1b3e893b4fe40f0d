"""Configuration files of strangers: whatever lies there ends as values or as an error, soon and in little memory."""

import json

import pytest

from septet import EmbeddingConfigError, ProfileError
from septet.embedding.config import config_of
from septet.inputs.documents import MAX_BYTES, MAX_DEPTH, MAX_VALUES, read_document
from septet.profiles import resolve

DEEP = (33, 1_000, 50_000, 100_000)


def laughs(levels, times=9):
    """Values that double and double again: three lines are a thousand, ten are a milliard."""
    lines = ["a0: &a0 [x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * times)}]" for n in range(1, levels)]
    return "\n".join(lines)


def merged(levels):
    lines = ["a0: &a0 {x: 1, y: 2}"]
    lines += [f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}], z{n}: 1}}" for n in range(1, levels)]
    return "\n".join(lines)


#: The name of a file, what lies in it, and what is said of it.
HOSTILE = {
    "laughs": ("x.yaml", laughs(10), "more than 20,000 values"),
    "laughs of merged mappings": ("x.yaml", merged(40), "more than 20,000 values"),
    "an alias of itself": ("x.yaml", "a: &a [*a]", "undefined or recursive alias at line 1"),
    "many values": ("x.json", json.dumps({"a": [0] * (MAX_VALUES + 1)}), "more than 20,000 values"),
    "many values of YAML": ("x.yml", "a: [" + "0," * (MAX_VALUES + 1) + "]", "more than 20,000 values"),
    "a long file": ("x.toml", "#" * (MAX_BYTES + 1), "more than 262,144 bytes"),
    "a key twice": ("x.json", '{"a": 1, "a": 2}', "key 'a' twice"),
    "a key twice in YAML": ("x.yaml", "b: 1\na: 1\na: 2", "key 'a' twice at line 3"),
    "a key twice in TOML": ("x.toml", "a = 1\na = 2", "not valid TOML"),
    "an integer": ("x.json", '{"a": 1' + "0" * 400 + "}", "integer of 1,329 bits"),
    "an integer of more digits than Python reads": ("x.json", '{"a": 1' + "0" * 9_000 + "}", "not valid JSON"),
    "an integer in sixteens": ("x.yaml", "a: 0x" + "f" * 9_000, "integer of 36,000 bits"),
    "a key that is a number": ("x.yaml", "1: 2", "key of type int"),
    "a key that is nothing": ("x.yaml", "~: 2", "key of type NoneType"),
    "a key that is a list": ("x.yaml", "? [a, b]\n: 2", "not valid YAML at line 1"),
    "a key that is a mapping": ("x.yaml", "? {a: b}\n: 2", "not valid YAML"),
    "a date that is none": ("x.yaml", "a: 2001-99-99", "not valid YAML"),
    "an object of Python": ("x.yaml", "a: !!python/object/apply:os.system [ls]", "not valid YAML at line 1"),
    "several documents": ("x.yaml", "a: 1\n---\nb: 2", "not valid YAML"),
    "bytes": ("x.json", b"\xff\xfe{\x00}\x00", "is not UTF-8"),
    "a tag that runs": ("x.toml", "[" * 3, "not valid TOML"),
    "a string without an end": ("x.json", '{"a": "' + '\\"' * 100_000, "not valid JSON"),
    "a string of TOML without an end": ("x.toml", 'a = """' + '\\"' * 100_000, "not valid TOML"),
    "quotes": ("x.toml", "a = " + '"' * 200_000, "not valid TOML"),
} | {
    f"{what}, {depth} deep": (name, text(depth), "more than 32 levels deep")
    for depth in DEEP
    for what, name, text in (
        ("lists", "x.json", lambda d: "[" * d + "]" * d),
        ("lists without an end", "x.json", lambda d: '{"a":' + "[" * d),
        ("objects", "x.json", lambda d: '{"a":' * min(d, 40_000) + "1" + "}" * min(d, 40_000)),
        ("lists of TOML", "x.toml", lambda d: "a = " + "[" * d + "]" * d),
        ("tables of TOML", "x.toml", lambda d: "a = " + "{a=" * min(d, 40_000) + "1" + "}" * min(d, 40_000)),
        ("keys of TOML", "x.toml", lambda d: ".".join(["a"] * (d + 1)) + " = 1"),
        ("headings of TOML", "x.toml", lambda d: f"[{'.'.join(['a'] * (d + 1))}]"),
        ("lists of YAML", "x.yaml", lambda d: "[" * d + "]" * d),
        ("lists of YAML without an end", "x.yaml", lambda d: "a: " + "[" * d),
        ("lines of YAML", "x.yaml", lambda d: "- " * d + "a"),
        ("blocks of YAML", "x.yaml", lambda d: "\n".join(" " * n + "a:" for n in range(min(d, 600)))),
    )
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_file_is_refused_with_its_name_and_what_is_wrong(tmp_path, what):
    name, text, said = HOSTILE[what]
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ProfileError, match=said) as refused:
        resolve(path)
    assert str(path) in str(refused.value) and len(str(refused.value)) < 2_000
    with pytest.raises(EmbeddingConfigError, match=said) as refused:
        config_of(path)
    assert str(path) in str(refused.value) and len(str(refused.value)) < 1_000


def test_a_nul_in_a_path_is_an_error_that_says_so():
    with pytest.raises(ProfileError, match="has a NUL character"):
        resolve("a\0.toml")
    with pytest.raises(EmbeddingConfigError, match="has a NUL character"):
        config_of("a\0.toml")


@pytest.mark.parametrize("depth", [1, 2, MAX_DEPTH // 2, MAX_DEPTH])
@pytest.mark.parametrize("name", ["x.json", "x.toml", "x.yaml"])
def test_what_is_within_the_bounds_is_read(tmp_path, name, depth):
    path = tmp_path / name
    inner = "[" * (depth - 1) + "1" + "]" * (depth - 1)
    text = {"x.json": f'{{"a": {inner}}}', "x.toml": f"a = {inner}", "x.yaml": f"a: {inner}"}[name]
    # Some editors of Windows begin a file so.
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert read_document(path) == {"a": json.loads(inner)}


def test_brackets_and_dots_in_texts_and_comments_do_not_count(tmp_path):
    path = tmp_path / "x.toml"
    text = "[" * 100 + " a.b" * 100
    path.write_text(
        f"# {text}\na = '{text}'\nb = \"{text}\\\"{text}\"\nc = '''\n{text}'{text}'''\nd = \"\"\"{text}\"\"\""
    )
    assert read_document(path)["b"] == f'{text}"{text}'
    numbers = tmp_path / "n.toml"
    numbers.write_text(f"a = [{', '.join(['0.5'] * 200)}]")
    assert len(read_document(numbers)["a"]) == 200


def test_aliases_that_repeat_little_are_followed(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text("a: &a {x: 1}\nb: *a\nc: {<<: *a, y: 2}\nd: &d [1]\ne: [*d, *d]")
    assert read_document(path) == {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2}, "d": [1], "e": [[1], [1]]}


@pytest.mark.parametrize("depth", [33, 1_000, 100_000])
def test_a_dict_that_is_too_deep_is_refused_like_a_file(depth):
    deep = {}
    for _ in range(depth):
        deep = {"a": deep}
    with pytest.raises(ProfileError, match="the profile is nested more than 32 levels deep"):
        resolve(deep)
    circle = {}
    circle["a"] = circle
    with pytest.raises(ProfileError, match="more than 32 levels"):
        resolve(circle)
    # A dict of 100,000 levels must not be torn down by recursion in the test either.
    while deep:
        deep = deep["a"]


@pytest.mark.parametrize("field", ["attemptTimeoutS", "queryTimeoutS"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1, 0, 1e5, 1e300, 10**400, "1e999"])
def test_a_time_that_no_clock_can_wait_is_refused(field, value):
    with pytest.raises(EmbeddingConfigError, match=field):
        config_of({"provider": "openai", field: value})


@pytest.mark.parametrize("name", ["~nobody-of-this-name/x.toml", "x" * 5_000 + ".toml", "\ud800.toml", "/dev/zero"])
def test_a_variable_that_names_no_file_is_a_configuration_error(name):
    from septet.cli.places import find_embedding

    with pytest.raises(EmbeddingConfigError):
        find_embedding(None, {"SEPTET_EMBEDDING": name})
    with pytest.raises(EmbeddingConfigError):
        find_embedding(name, {})
