"""Paths and names, ranked in native code, against the same rules in plain Python."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from septet import _core
from septet.retrieval.corpora.folders import path_words
from twins.corpora import path_score, similarity

PARTS = st.sampled_from(["a", "b", "ab", "A.b", "lib", "policy", "Policy.RS", "größe", "x_y-z"])
QUERIES = st.text("abAlpoicy/._- ?ß", max_size=12)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("repository")


@given(paths=st.sets(st.lists(PARTS, min_size=1, max_size=3).map(tuple), max_size=12), query=QUERIES)
def test_paths_rank_as_each_alone_scores(tmp_path_factory, paths, query):
    root = tmp_path_factory.mktemp("paths")
    there = set()
    for parts in paths:
        path = root.joinpath(*parts)
        # A name may be that of a folder already, or of a file.
        if not path.exists() and not any(parent.is_file() for parent in path.parents):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            there.add("/".join(parts))
    words = path_words(query)
    found = _core.Repository(str(root), [], [], 1000).looked(None).paths(words, 1000)
    scores = {path: score for path in there if (score := path_score(query, path)) > 0}
    assert [path for path, _ in found] == sorted(scores, key=lambda path: (-scores[path], path.encode()))
    assert dict(found) == pytest.approx(scores)


@given(name=st.text("abcö ", max_size=8), others=st.lists(st.text("abcö ", max_size=8), max_size=5))
def test_names_are_near_as_documented(name, others):
    for other, found in zip(others, _core.proximities(name, others)):
        shorter, longer = sorted((name, other), key=len)
        if name == other:
            wanted = 1.0 if name else 0.0
        elif len(shorter) >= 3 and shorter in longer:
            wanted = 1.0
        else:
            wanted = similarity(name, other)
        assert found == pytest.approx(wanted, abs=1e-12)


NAMES = st.lists(st.sampled_from(["get", "user", "Name", "parse", "config", "HTTP"]), min_size=1, max_size=3)


@given(names=st.lists(NAMES.map("_".join), min_size=1, max_size=6, unique=True), data=st.data())
def test_a_definition_is_found_first_by_its_own_name(folder, names, data):
    (folder / "a.py").write_text("".join(f"def {name}(): 1\n" for name in names))
    # As if it had been written at another time than the file before it.
    os.utime(folder / "a.py", (len(names), hash(tuple(names)) % 10**9))
    asked = data.draw(st.sampled_from(names))
    symbols = _core.Repository(str(folder), [], [], 10).looked(None, 1 << 20)
    found = symbols.symbols([asked], [asked], 10)
    assert found[0][2].lower() == asked.lower()
    assert found[0][5] == 1.0
    assert all(0 < one[5] <= 1 for one in found)
    assert [one[5] for one in found] == sorted((one[5] for one in found), reverse=True)
    assert [one[2] for one in symbols.symbols([], [], 100)] == names
