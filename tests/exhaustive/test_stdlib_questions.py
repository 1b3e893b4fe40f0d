"""The questions about the standard library: their answers are in this Python, and the corpora are what they say."""

import ast

import pytest

from septet.cli.stdlib_docs import words_of


@pytest.fixture(scope="module")
def asked_of(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(request.config.rootpath / "benches"))
        import stdlib_collection

        yield stdlib_collection


@pytest.fixture(scope="module")
def entries(asked_of):
    return asked_of.collection()


def test_every_answer_is_in_this_python(asked_of, entries):
    asked, lost = asked_of.known(asked_of.questions(), entries)
    assert lost == [] and asked == asked_of.questions()


def test_an_answer_that_is_not_there_is_told_and_its_question_left_out(asked_of):
    asked = [
        asked_of.Question("q1", "words", "a", {"docs:a": 2, "code:b": 1}),
        asked_of.Question("q2", "words", "b", {"docs:b": 2, "code:b": 1}),
    ]
    found, lost = asked_of.known(asked, {"docs": [{"id": "a"}], "code": [{"id": "b"}], "guide": []})
    assert found == asked[:1] and lost == ["docs:b"]


def test_a_hundred_questions_of_all_kinds_and_none_is_there_twice(asked_of):
    asked = asked_of.questions()
    assert len({q.text.casefold() for q in asked}) == len(asked) == 100
    assert {q.kind for q in asked} == set(asked_of.KINDS)
    assert all(sum(q.kind == kind for q in asked) >= 8 for kind in asked_of.KINDS)
    assert all(q.text == q.text.strip() and 3 <= len(q.text) <= 100 for q in asked)


def test_every_question_has_an_answer_and_its_grades_are_known(asked_of):
    for question in asked_of.questions():
        assert set(question.grades.values()) <= {1, 2} and max(question.grades.values()) == 2, question
        assert {key.partition(":")[0] for key in question.grades} <= set(asked_of.CORPORA), question
        assert 1 <= len(question.grades) <= 7, question


def test_each_corpus_alone_answers_some_questions_and_several_together_others(asked_of):
    of = [q.corpora for q in asked_of.questions()]
    assert all(of.count(frozenset({corpus})) >= 10 for corpus in asked_of.CORPORA)
    assert sum(len(corpora) > 1 for corpora in of) >= 25


def test_a_paraphrase_has_no_word_of_the_name_that_answers_it(asked_of):
    for question in asked_of.questions():
        if question.kind == "paraphrase":
            said = set(question.text.casefold().replace("-", " ").split())
            for key in (key for key, grade in question.grades.items() if grade == 2):
                name = key.rpartition(":")[2].rpartition("#")[2].rpartition(".")[2]
                assert said.isdisjoint(words_of(name)), (question.text, key)


def test_an_identifier_is_a_name_and_nothing_else(asked_of):
    for question in asked_of.questions():
        if question.kind == "identifier":
            words = question.text.replace(".", " ").split()
            last = {key.rpartition(":")[2].rpartition("#")[2].rpartition(".")[2] for key in question.grades}
            assert len(words) <= 3 and words[-1] in last, question


def test_ids_are_there_once_and_every_entry_has_a_text(entries):
    for corpus, own in entries.items():
        assert len({entry["id"] for entry in own}) == len(own) >= 100, corpus
        assert all(entry["title"] and entry["description"].strip() for entry in own), corpus


def test_code_has_path_and_line_and_no_docstring(entries):
    for entry in entries["code"]:
        assert entry["id"].startswith(f"{entry['attrs']['path']}#") and entry["attrs"]["line"] >= 1
    named = {entry["id"]: entry["description"] for entry in entries["code"]}
    assert "Find the n largest" not in named["heapq.py#nlargest"] and "sorted(iterable" in named["heapq.py#nlargest"]


@pytest.mark.parametrize("size", ["one", "class", "nested"])
def test_a_definition_is_its_lines_without_what_documents_it(asked_of, size):
    source = DEFINITIONS[size]
    found = {entry["id"]: entry["description"].split("\n") for entry in asked_of._definitions("a.py", source)}
    assert found == WANTED[size]
    assert ast.parse(source)


DEFINITIONS = {
    "one": 'def f(a):\n    """Say it."""\n    b = a\n    return b\n\n\ndef short():\n    return 1\n',
    "class": '@final\nclass C:\n    """Say it."""\n    x = 1\n\n    @wraps\n    def f(self):\n        """Say."""\n'
    "        y = 1\n        return y\n    z = 2\n",
    "nested": 'if True:\n    def f():\n        def g():\n            """Say\n            it."""\n            return 1\n'
    "        return g\nelse:\n    def f():\n        a = 1\n        return a\n",
}
WANTED = {
    "one": {"a.py#f": ["def f(a):", "    b = a", "    return b"]},
    "class": {
        "a.py#C": ["@final", "class C:", "    x = 1", "", "    z = 2"],
        "a.py#C.f": ["    @wraps", "    def f(self):", "        y = 1", "        return y"],
    },
    "nested": {"a.py#f": ["    def f():", "        def g():", "            return 1", "        return g"]},
}
