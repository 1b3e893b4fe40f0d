"""A part of a corpus with the statistics of the whole scores candidates as the whole does, to the last bit."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from septet import _core
from septet.ranking.pool import searched_text

WORDS = """auth authentication authors token tokens tokenizer refresh refreshing gate gateway kiwi plum quince café
cafeteria größe 東京タワー 東京 мир getUserName sha256 db""".split()
D = 3
WEIGHTS = np.array([0.5, 6.0, 2.0, 0.0, 3.0])
FACTS = ("created_at", "updated_at", "valid_from", "valid_until")

texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
units = st.tuples(*[st.floats(-1, 1, width=32)] * D).filter(lambda v: sum(map(abs, v)) > 0.1)
entries = st.tuples(texts, texts, texts, st.lists(st.sampled_from(WORDS), max_size=2), st.none() | units, st.booleans())
corpora = st.lists(entries, min_size=1, max_size=30)
queries = st.lists(st.sampled_from([*WORDS, "zebra", "authx", "refres"]), min_size=1, max_size=5).map(" ".join)


def rows_of(corpus):
    """What full text indexes of each entry, and what spelling and TF-IDF see of it."""
    rows, searched = [], []
    for at, (title, description, context, tags, *_) in enumerate(corpus):
        stored = json.dumps(tags, ensure_ascii=False)
        grams = _core.gram_text(f"e{at}", title, (description, context, *tags))
        rows.append((f"e{at}", title, description, context, stored, grams))
        searched.append(searched_text(title, description, context, stored))
    return rows, searched


class Part:
    """Some entries of a corpus, in some order, as a search sees them; without statistics they are all of it."""

    def __init__(self, corpus, places, counted, given=None):
        rows, searched = rows_of(corpus)
        self.places = np.array(places, dtype=np.int64)
        # Of what words begin, the words are not known before.
        of_all = given is None or any(given["texts"][3:])
        self.entries = _core.TextIndex(5, None if of_all else list(given["texts"][2]))
        self.grams = _core.TextIndex(1, None if of_all else list(given["grams"][2]))
        self.spelling, self.tokens = _core.SpellingIndex(), _core.TermIndex()
        self.entries.append([rows[at][:5] for at in places])
        self.grams.append([rows[at][5:] for at in places])
        self.spelling.append([searched[at] for at in places])
        self.tokens.append([searched[at] for at in places])
        slots = np.flatnonzero([at in counted for at in places])
        with_grams = slots[[bool(rows[places[slot]][5]) for slot in slots]] if len(slots) else slots
        if given is None:
            self.rows, self.gram_rows = self.entries.statistics(slots), self.grams.statistics(with_grams)
            self.spelt, self.frequencies = self.spelling.statistics(slots), self.tokens.frequencies(slots)
        else:
            self.rows = self.entries.statistics_given(slots, *given["texts"])
            self.gram_rows = self.grams.statistics_given(with_grams, *given["grams"])
            self.spelt = self.spelling.statistics_given(*given["trigrams"])
            self.frequencies = self.tokens.frequencies_given(*given["tfidf"])
        self.selection = _core.Selection(np.isin(np.arange(len(places)), slots))
        self.corpus = self._corpus()
        self.space = self._space(corpus, given)

    def _corpus(self):
        columns = dict.fromkeys(FACTS, self.places + 0.5)
        columns |= {name: np.zeros(len(self.places), dtype=np.int32) for name in ("kind", "severity", "domain")}
        names = _core.NameTable()
        names.extend(["x"])
        text = (self.entries, self.rows, self.grams, self.gram_rows, self.spelling, self.spelt)
        return _core.Corpus({"rows": self.places, **columns}, names, text=text, terms=(self.tokens, self.frequencies))

    def _space(self, corpus, given):
        # Of equal vectors the first one is nearer.
        ordered = np.argsort(self.places)
        slots = np.array([s for s in ordered if corpus[self.places[s]][4] is not None], dtype=np.int64)
        rows = np.array([corpus[self.places[slot]][4] for slot in slots], dtype=np.float32).reshape(-1, D)
        rows, codes = _core.unit_rows(rows), None
        if given is None:
            codes = _core.Codes(D)
            codes.append(rows)
        positions = np.full(len(self.places), -1, dtype=np.int32)
        positions[slots] = np.arange(len(slots))
        alive = np.ones(len(self.places), dtype=bool)
        if given is None:
            sample = _core.Sample(rows, _core.row_keys(rows), slots, alive)
        else:
            sampled, population = given["vectors"]
            of = np.zeros(len(sampled), dtype=np.int64)
            sample = _core.Sample(sampled, _core.row_keys(sampled), of, np.ones(1, dtype=bool), population=population)
        return 1, rows, slots, codes, positions, sample

    def options(self, columns, weights):
        return {"tier": 0, "weights": weights, "columns": columns, "space": self.space}

    def recall(self, query, k, feedback, columns, weights):
        options = self.options(columns, weights)
        (found,) = self.corpus.recall(
            [query], k=(k, k), guard=None, selection=self.selection, feedback=feedback, **options
        )
        return found


def counts_of(part, terms):
    """By term how many texts hold it, of a part of an `Analysis`."""
    held = dict(zip(part[0], np.bincount(part[2], minlength=len(part[0])).tolist()))
    return {term: held.get(name, 0) for term, name in zip(terms, _core.stored_terms(terms))}


def statistics_of(whole, corpus, counted, query, places, weights, feedback=None):
    """What a store would answer: the statistics of the whole, of the terms that matter alone."""
    rows, searched = rows_of(corpus)
    text, terms, *_, needed, steps = query
    analysis = _core.analysed([rows[at] for at in counted], [searched[at] for at in counted])
    forms = [form for some, pieces in needed for form in (*some, *pieces)]
    asked = {name for term in (*terms, *forms) for name in _core.index_terms(term)}
    here, grams = _core.TextIndex(5), _core.TextIndex(1)
    here.append([rows[at][:5] for at in places])
    grams.append([rows[at][5:] for at in places])
    told = asked | (set(here.statistics(np.arange(len(places))).to_dict()) if feedback else set())
    vectors = whole.space[1]
    sampled = vectors[_core.row_keys(vectors) <= _core.Sample.limit(len(vectors))][::-1].copy()
    begun = None
    if steps:
        _, found = whole.corpus.term_counts(terms, False, weights)
        begun = {stem: count for term, count in zip(terms, found) for stem in _core.index_terms(term)}
    _, trigrams, lengths = analysis.trigrams
    held = np.bincount(trigrams, minlength=1 << 18)
    with_grams = sum(bool(rows[at][5]) for at in counted)
    tokens = {*_core.tokenize(text), *(token for at in places for token in _core.tokenize(searched[at]))}
    return {
        "texts": (len(counted), int(analysis.texts[4].sum()), counts_of(analysis.texts, sorted(told)), begun),
        "grams": (with_grams, int(analysis.grams[4].sum()), counts_of(analysis.grams, sorted(asked))),
        "trigrams": (len(counted), int(lengths.sum()), {n: int(held[n]) for n in _core.trigram_numbers(text)}),
        "tfidf": (len(counted), counts_of(analysis.tfidf, sorted(tokens))),
        "vectors": (sampled, len(vectors)),
    }


def assert_equal(found, wanted):
    assert found.rows == wanted.rows
    columns, others = found.columns, wanted.columns
    assert columns.keys() == others.keys()
    for name, values in columns.items():
        np.testing.assert_array_equal(values, others[name], err_msg=name)


@given(
    corpora,
    queries,
    units,
    st.sampled_from(["any", "needed", "cascade"]),
    st.booleans(),
    st.integers(1, 12),
    st.data(),
)
def test_any_part_that_holds_the_candidates_scores_them_as_the_whole_does(
    corpus, text, vector, match, memories, k, data
):
    counted = [at for at, entry in enumerate(corpus) if memories or not entry[5]]
    weights = np.ones(5) if match == "any" and data.draw(st.booleans()) else WEIGHTS
    whole = Part(corpus, list(range(len(corpus))), counted)
    terms, words, _, phrase = _core.query_terms(text, True, match != "cascade", 99)
    steps, needed = (), ()
    if match == "cascade":
        begun, *_ = _core.cascade_words(text, True, 99)
        terms = tuple(word for word in begun if len(_core.index_terms(word)) == 1)
        words = len(terms)
        steps = [(True, list(range(len(terms)))), (False, list(range(len(terms))))]
    elif match == "needed":
        needed, phrase = _core.needed_words(text, True, True, 99)
    if phrase or not terms:
        return
    pair = _core.query_vector(np.array(vector, dtype=np.float32))
    query = (text, terms, words, match != "cascade", pair, None, needed, steps)
    columns = {"tfidf", "trigram", "feedback", "cosine", "vectors"}
    feedback = data.draw(st.sampled_from([None, (3, 4, 1, 0.9)]))
    pool, _, by_text, unknown, _, step, _ = whole.recall(query, k, feedback, columns, weights)
    others = data.draw(st.lists(st.integers(0, len(corpus) - 1), unique=True))
    places = data.draw(st.permutations(sorted({*pool.rows, *others})))
    if not places:
        return
    part = Part(corpus, places, counted, statistics_of(whole, corpus, counted, query, places, weights, feedback))
    found = part.recall(query, k, feedback, columns, weights)
    assert found[2:4] == (by_text, unknown) and found[5] == step
    assert_equal(found[0], pool)
    if step is not None:
        query = (*query[:-1], [steps[step]])
    slots = np.arange(len(places))
    options = part.options(columns - {"feedback"}, weights)
    wanted = whole.corpus.candidates_at(query, part.places, **whole.options(columns - {"feedback"}, weights))
    assert_equal(part.corpus.candidates_at(query, slots, **options), wanted)
    # Terms that nobody of the part holds are counted too.
    if not steps:
        alone = [term for term in terms if not whole.gram_rows.document_frequency(_core.index_terms(term)[0])]
        assert part.corpus.term_counts(alone, False) == whole.corpus.term_counts(alone, False)
    else:
        assert part.corpus.term_counts(terms, False, weights) == whole.corpus.term_counts(terms, False, weights)


def test_a_sample_is_the_same_from_the_rows_that_belong_to_it():
    rows = _core.unit_rows(np.random.default_rng(5).normal(size=(5_000, 8)).astype(np.float32))
    keys, slots = _core.row_keys(rows), np.arange(5_000)
    whole = _core.Sample(rows, keys, slots, np.ones(5_000, dtype=bool))
    some = np.flatnonzero(keys <= _core.Sample.limit(5_000))[::-1].copy()
    part = _core.Sample(rows[some], keys[some], some, np.ones(5_000, dtype=bool), population=5_000)
    assert (len(part), part.population, part.pairs) == (len(whole), 5_000, whole.pairs)
    assert part.cosines(rows[7]) == whole.cosines(rows[7])
    with pytest.raises(ValueError, match="population is 3, expected at least the rows that are given"):
        _core.Sample(rows[some], keys[some], some, np.ones(5_000, dtype=bool), population=3)


def test_each_wrong_use_of_given_statistics_says_what_is_wrong(tmp_path):
    index, none = _core.TextIndex(1), np.empty(0, dtype=np.int64)
    index.append([["red fox"], ["red owl"]])
    given = index.statistics_given(np.array([1]), 9, 40, {b"red": 5, b"yak": 3})
    assert (given.rows, given.tokens) == (9, 40)
    assert [given.document_frequency(term) for term in (b"red", b"yak", b"owl")] == [5, 3, 0]
    with pytest.raises(ValueError, match="slot 2 is out of range"):
        index.statistics_given(np.array([2]), 9, 40, {})
    with pytest.raises(ValueError, match="slot 0 is listed twice"):
        index.statistics_given(np.array([0, 0]), 9, 40, {})
    with pytest.raises(ValueError, match="can neither be moved nor written"):
        given.moved(index, none, none)
    with pytest.raises(ValueError, match="can neither be moved nor written"):
        _core.ArrayWriter(tmp_path / "a", b"").statistics("x.", given)
    with pytest.raises(ValueError, match="an index of some terms, can neither"):
        _core.ArrayWriter(tmp_path / "b", b"").text_index("x.", _core.TextIndex(1, [b"red"]))
    with pytest.raises(ValueError, match="trigram 181725 is out of range"):
        _core.SpellingIndex().statistics_given(1, 1, {50_653 + 131_072: 1})
    with pytest.raises(OverflowError):
        index.statistics_given(np.array([1]), 9, 40, {b"red": -1})
    with pytest.raises(TypeError):
        index.statistics_given(np.array([1]), 9, 40, {"red": 1})
    index.append([["yak yak"]])
    grown = index.statistics(np.arange(3))
    assert grown.document_frequency(b"yak") == 1 and len(grown.to_dict()) == 4
    parts = [(index, grown, np.ones(1))]
    assert _core.bm25_top_k(parts, ["yak"], 5)[0].tolist() == [2]


def test_a_cascade_wants_what_was_not_given():
    corpus = [("auth token", "", "", [], None, False), ("東京タワー kiwi", "", "", [], None, False)]
    whole = Part(corpus, [0, 1], [0, 1])
    query = ("aut", ("aut",), 1, False, None, None, (), [(True, [0])])
    given = statistics_of(whole, corpus, [0, 1], query, [0], np.ones(5))
    lacking = {**given, "texts": (*given["texts"][:3], {b"other": 1})}
    part = Part(corpus, [0], [0, 1], lacking)
    with pytest.raises(ValueError, match="the numbers of rows that hold beginnings are missing"):
        part.recall(query, 5, None, set(), np.ones(5))
    both = {**given, "texts": (2, 5, {b"kiwi": 1}), "grams": (2, 5, {b"kiwi": 1})}
    # No row holds a term in both tables.
    assert Part(corpus, [0], [0, 1], both).corpus.term_counts(["kiwi"], True) == (2, [2])


@given(st.lists(st.tuples(*[st.text(max_size=30) | texts] * 6), max_size=6))
def test_an_analysis_counts_what_the_indexes_count(rows):
    searched = [" ".join(row[1:5]) for row in rows]
    found = _core.analysed(rows, searched)
    for part, width, of in ((found.texts, 5, slice(0, 5)), (found.grams, 1, slice(5, 6))):
        names, offsets, terms, counts, tokens = part
        assert counts.shape == (len(terms), width) and len(offsets) == len(rows) + 1 == len(tokens) + 1
        for at, row in enumerate(rows):
            held = {}
            for column, text in enumerate(row[of]):
                for term in _core.stored_terms(_core.index_terms(text)):
                    held.setdefault(term, [0] * width)[column] += 1
            own = slice(offsets[at], offsets[at + 1])
            assert {names[t]: c.tolist() for t, c in zip(terms[own], counts[own])} == held
            assert tokens[at] == sum(map(sum, held.values()))
    offsets, trigrams, lengths = found.trigrams
    for at, text in enumerate(searched):
        assert trigrams[offsets[at] : offsets[at + 1]].tolist() == _core.trigram_numbers(text)
        spelt = [_core.fold(word) for word in _core.words(text)]
        kept = [w for w in spelt if w and w not in _core.stop_words() and not (len(w) == 1 and w.isascii())]
        assert lengths[at] == sum(map(len, kept))
        for (names, starts, numbers), wanted in ((found.words, kept), (found.tfidf, _core.tokenize(text))):
            own = [names[number] for number in numbers[starts[at] : starts[at + 1]]]
            assert sorted(own) == sorted(set(wanted))


def test_an_analysis_refuses_rows_that_do_not_fit():
    with pytest.raises(ValueError, match="a row has length 2, expected 6"):
        _core.analysed([("a", "b")], ["x"])
    with pytest.raises(ValueError, match="the searched texts has length 0, expected 1"):
        _core.analysed([("a",) * 6], [])
