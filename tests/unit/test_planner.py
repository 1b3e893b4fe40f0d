"""Plans of retrievals: documented rules, what callers set, and why each corpus is asked or not."""

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from septet import QueryError
from septet.retrieval.planning.plan import CORPORA, INTENTS, MODES, RetrievalPlan
from septet.retrieval.planning.planner import looks_like_code, plan
from septet.retrieval.planning.policy import Policy
from septet.retrieval.planning.queries import code_in, found_in, length_of, tokens_of

SEPTET = Policy.named("septet")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
QUERIES = TEXTS | st.lists(
    st.sampled_from(["where", "files", "src/lib.rs", "how", "Über", "認証", "a::b", "getUser", "latest", "repo", "x"]),
    max_size=12,
).map(" ".join)
NAMES = st.lists(st.sampled_from([*CORPORA, "tickets", "wiki"]), max_size=6)


@given(
    QUERIES,
    st.sampled_from([Policy(), SEPTET, Policy(words="substring"), Policy(web_enabled=True, broad_tokens=0)]),
    st.booleans(),
    st.none() | st.sampled_from(MODES),
    st.none() | st.sampled_from(INTENTS),
    st.none() | NAMES,
    st.none() | st.tuples(NAMES, NAMES),
)
def test_every_text_has_a_plan_that_comes_back_from_json_and_tells_why(
    query, policy, verification, mode, intent, available, named
):
    corpora = None if named is None else [name for name in named[0] if available is None or name in available]
    found = plan(
        query, policy=policy, verification=verification, mode=mode, intent=intent, corpora=corpora, available=available
    )
    assert RetrievalPlan.from_dict(json.loads(json.dumps(found.to_dict(), allow_nan=False))) == found
    assert found.normalized_query == " ".join(query.split()) == found.query
    assert len(set(found.corpora)) == len(found.corpora)
    assert available is None or set(found.corpora) <= set(available)
    assert policy.web_enabled or "web_research" not in found.corpora
    assert found.allow_verification_pass == (found.intent != "verification")
    for name in CORPORA:
        assert found.why(name).startswith(f"{name} is {'asked' if name in found.corpora else 'not asked'}: ")
    assert len(str(found).splitlines()) < 16
    if verification:
        assert (found.intent, found.mode, found.overrides[:1]) in (
            ("verification", "hybrid", ()),
            ("verification", "hybrid", tuple(one for one in found.overrides if one.what == "corpora")[:1]),
        )
    elif intent is not None:
        assert found.intent == intent
    if corpora is not None:
        assert set(found.corpora) == set(corpora) - ({"web_research"} if not policy.web_enabled else set())


@pytest.mark.parametrize(
    ("query", "intent"),
    [
        ("show me the profile page", "factual_lookup"),
        ("empathy and sympathy", "factual_lookup"),
        ("infrastructure cost", "factual_lookup"),
        ("structure", "repo_structure"),
        ("somewhere nice", "factual_lookup"),
        ("showcase", "factual_lookup"),
        ("list the Files", "code_navigation"),
        ("file_path", "code_navigation"),
        ("which repositories are there", "repo_structure"),
        ("WHERE are the invoices", "repo_structure"),
        ("open main.rs", "code_navigation"),
        ("a .rst document", "factual_lookup"),
        ("mysrc/x", "factual_lookup"),
        ("src/x", "code_navigation"),
        ("one two three four five six seven eight", "factual_lookup"),
        ("one two three four five six seven eight nine", "broad_research"),
        ("что изменилось", "factual_lookup"),
        ("認証トークンの有効期限を確認する方法を教えてください", "broad_research"),
        ("", "factual_lookup"),
    ],
)
def test_the_documented_rules_take_whole_words_of_every_script(query, intent):
    assert plan(query).intent == intent


@pytest.mark.parametrize(
    "name",
    "std::fs close() snake_case __init__ _private getUserName MemorySearchEngine os.path.join ./run.sh /etc/hosts ~/x "
    "crates/core/src main.py docs/index.md MOST_CHARS C:\\dir\\x Foo::~bar a/b/c/".split(),
)
def test_what_looks_like_code_counts_in_every_language_where_the_policy_says_so(name):
    for query in (
        name,
        f"почему {name} падает",
        f"認証の{name}の",
        f"why, ({name}) again?",
        f"why '{name}'.",
        f"{name}: x",
    ):
        assert code_in(query) == [name]
        assert plan(query, policy=SEPTET).intent == "code_navigation"
        assert looks_like_code(query, SEPTET)


@pytest.mark.parametrize(
    "text",
    "GitHub PyTorch macOS iPhone eBay and/or TCP/IP 24/7 e.g. i.e. U.S.A. example.com v1.2.3 3.14 1_000 Node.js "
    "http/1.1 user@example.com https://a.b/c/d.py C++ naïve re-use x.y.z ... / // - _ __ ()".split(),
)
def test_what_looks_like_a_brand_a_number_or_an_address_is_no_code(text):
    assert code_in(f"about {text} today") == []


def test_the_policy_of_the_document_knows_words_alone():
    assert plan("getUserName").intent == "factual_lookup"
    assert plan("getUserName", policy=SEPTET).mode == "hybrid"
    assert plan("the function", policy=Policy()).mode == "full_text"
    assert plan("the function", policy=Policy(code_mode="vector")).mode == "vector"


def test_lists_of_words_are_those_of_the_policy():
    policy = Policy(code_words=("widget",), code_marks=("=>",), structure_words=("big picture",), broad_tokens=2)
    assert plan("the file", policy=policy).intent == "factual_lookup"
    assert plan("Widgets", policy=policy).intent == "code_navigation"
    assert plan("a=>b", policy=policy).intent == "code_navigation"
    assert plan("the big \n picture", policy=policy).intent == "repo_structure"
    assert plan("one two three", policy=policy).intent == "broad_research"


def test_what_the_caller_sets_wins_and_is_told():
    found = plan("auth token expiry", intent="code_navigation", mode="vector", corpora=["memory", "wiki"])
    assert (found.intent, found.mode, found.corpora) == ("code_navigation", "vector", ("memory", "wiki"))
    assert [(one.what, one.given) for one in found.overrides] == [
        ("intent", "code_navigation"),
        ("mode", "vector"),
        ("corpora", "memory, wiki"),
    ]
    assert found.overrides[0].planned == "factual_lookup"
    assert found.preferred_backends == ("memory_vector", "wiki")
    assert found.why("memory") == "memory is asked: the caller names it"
    assert found.why("document_chunks") == "document_chunks is not asked: the caller names others"
    same = plan("auth token expiry", intent="factual_lookup", mode="hybrid", corpora=plan("auth token expiry").corpora)
    assert same.overrides == ()


def test_a_verification_keeps_its_mode_and_says_so():
    found = plan("the function", verification=True, mode="vector", intent="code_navigation")
    assert (found.intent, found.mode, found.overrides) == ("verification", "hybrid", ())
    assert any("mode vector is not used" in note for note in found.notes)


def test_only_corpora_that_are_there_are_asked_and_those_of_the_caller_always():
    found = plan("who pays", available=["tickets", "memory", "document_chunks", "docs_mirror", "semantic_files"])
    assert found.corpora == ("memory", "document_chunks", "docs_mirror", "tickets")
    assert found.why("docs_mirror").startswith("docs_mirror is asked: beside document_chunks")
    assert found.why("remote") == "remote is not asked: the retriever has no such corpus"
    assert "name it to use it" in found.why("semantic_files")
    assert found.why("tickets") == "tickets is asked: custom corpora are always searched"
    assert plan("who pays", available=["memory", "semantic_files"], corpora=["semantic_files"]).corpora == (
        "semantic_files",
    )
    with pytest.raises(QueryError, match="wanted some of memory"):
        plan("who pays", available=["memory"], corpora=["wiki"])
    nothing = plan("who pays", available=[])
    assert nothing.corpora == ()
    assert "no corpus remains to search" in nothing.notes


def test_the_web_stays_off_whoever_names_it():
    found = plan("latest news", corpora=["web_research", "memory"])
    assert found.corpora == ("memory",)
    assert found.why("web_research").endswith("the policy keeps the web off (web_enabled)")
    assert plan("latest news", corpora=["web_research"], policy=Policy(web_enabled=True)).corpora == ("web_research",)


def test_the_plan_of_a_verification_asks_the_same_corpora_for_the_rewritten_query():
    first = plan("Where is the function", policy=Policy(version=7))
    second = first.verifying("function")
    assert (second.query, second.intent, second.mode) == ("function", "verification", "hybrid")
    assert second.corpora == first.corpora
    assert not second.allow_verification_pass
    assert "memory_vector" in second.preferred_backends
    assert second.policy_version == 7
    assert second.normalized_query == first.query


def test_a_plan_with_nothing_set_is_the_documented_one():
    empty = RetrievalPlan(normalized_query="")
    assert (empty.intent, empty.mode, empty.allow_verification_pass) == ("broad_research", "hybrid", True)
    assert empty.corpora == ("memory", "knowledge_graph", "document_chunks")
    assert RetrievalPlan.from_dict({"normalized_query": ""}) == empty
    assert empty.why("memory") == "memory is asked: the plan names it"
    assert empty.why("nothing") == "nothing is not asked: it is unknown to the plan"


def test_a_plan_prints_on_a_few_lines():
    lines = str(plan("where is it", available=["memory", "repo_inventory"])).splitlines()
    assert lines == [
        "repo_structure, hybrid: 'where is it'",
        "intent=repo_structure: it has 'where', as questions about a repository do",
        "asks repo_inventory, memory",
        "not knowledge_graph, document_chunks, docs_mirror, remote, web_research, symbol_proximity, semantic_files: "
        "the retriever has no such corpus",
        "a question about a whole repository searches its paths first",
    ]


def test_a_query_in_other_letters_is_told_what_tells_its_intent():
    assert any("word lists are English" in note for note in plan("кто платит").notes)
    assert not any("English" in note for note in plan("who pays in Łódź").notes)


@pytest.mark.parametrize(
    "wrong",
    [
        {"query": 3},
        {"query": "\ud800"},
        {"mode": "fast"},
        {"intent": "other"},
        {"words": "parts"},
        {"corpora": "memory"},
        {"corpora": [""]},
        {"corpora": [1]},
        {"corpora": ["a"] * 65},
        {"available": 3},
        {"verification": 1},
        {"policy": {}},
    ],
)
def test_an_argument_that_cannot_be_raises(wrong):
    with pytest.raises(QueryError):
        plan(**{"query": "x", **wrong})


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        [],
        {},
        {"normalized_query": 3},
        {"normalized_query": "x", "inten": "y"},
        {"normalized_query": "x", "intent": "y"},
        {"normalized_query": "x", "retrieval_mode": None},
        {"normalized_query": "x", "corpora": "memory"},
        {"normalized_query": "x", "corpora": [3]},
        {"normalized_query": "x", "allow_verification_pass": "yes"},
        {"normalized_query": "x", "policy_version": -1},
        {"normalized_query": "x", "overrides": [{"what": "mode"}]},
        {"normalized_query": "x", "overrides": ["abc"]},
        {"normalized_query": "x", "reasons": {"memory": 3}},
        {"normalized_query": "x", "reasons": [["memory"]]},
    ],
)
def test_a_dict_that_is_no_plan_raises(wrong):
    with pytest.raises(QueryError):
        RetrievalPlan.from_dict(wrong)


def test_a_plan_that_names_a_corpus_twice_asks_it_once():
    again = RetrievalPlan.from_dict({**plan("x").to_dict(), "corpora": ["memory", "document_chunks", "memory"]})
    assert again.corpora == ("memory", "document_chunks")


def test_a_plan_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        plan("x").mode = "vector"


@given(TEXTS)
def test_tokens_are_lower_case_words_of_the_query(text):
    for recorded in (False, True):
        for token in tokens_of(text, recorded):
            assert token
            assert not any(c.isspace() for c in token)
            assert not recorded or (token.isascii() and token in "".join(c.lower() if c.isascii() else c for c in text))
    assert length_of(text) >= 0


@given(TEXTS, st.lists(st.sampled_from(["file", "where", "src/", "::", "repository"]), unique=True))
def test_whole_words_are_among_the_parts_of_words_but_for_plurals_in_ies(text, words):
    whole = found_in(text.replace("ſ", "").replace("\u212a", ""), words)
    assert [word for word in words if word in whole] == whole
    assert {word for word in whole if word != "repository"} <= set(found_in(text, words, recorded=True))


@pytest.mark.parametrize("query", ["how do tokens refresh", "where do we keep invoices"])
def test_how_and_where_ask_of_a_repository_in_planned_retrieval_alone(query):
    assert plan(query, policy=Policy.named("planned-retrieval")).intent == "repo_structure"
    assert plan(query, policy=Policy.named("septet")).intent == "factual_lookup"
