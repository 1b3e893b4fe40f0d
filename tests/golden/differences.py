"""Every deliberate difference between Septet and the recorded system, by name, with its reason.

``SWITCHES`` are implemented by `reference`: a test gives the reference exactly the switches listed here for a case,
demands that it then gives Septet's answer, and that it no longer does so when any one of them is turned back. So a
listed difference that has no effect fails, and so does an effect that is not listed.

``CHOICES`` have no recorded number to switch to; each has tests of its own, marked by `differs`. ``LEFT_OUT`` names
the recorded data that Septet has no counterpart for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

Test = TypeVar("Test", bound=Callable[..., Any])

SWITCHES: Mapping[str, str] = {
    "unicode-terms": "The document says that accents and scripts are handled; the recorded system deletes every letter "
    "outside a-z from the full-text terms, so that Übersetzung becomes bersetzung and finds nothing.",
    "all-punctuation-splits": "All punctuation separates terms, as it does in the index; the recorded system glues "
    "title:jwt to titlejwt and don't to dont, which no entry can hold.",
    "short-terms-last": "The document strips first and drops short terms then, and never leaves a query empty; the "
    "recorded system drops first, so that single letters slip through or whole queries pass as raw text.",
    "never-raw": "A query without any term finds nothing; the recorded system hands it to MATCH as it is and hides the "
    "syntax error.",
    "quoted-terms": "Every term is quoted, so that no text of a user can become an operator.",
    "unicode-tokens": "TF-IDF sees the letters of every script. In the recorded system non-ASCII letters are blanks, "
    "so that a Japanese entry whose only ASCII word is the tag jwt is a perfect match for jwt.",
    "filters-everywhere": "Candidates found by vectors and links pass the filters too; in the recorded system they "
    "leak past them.",
    "validity-everywhere": "Candidates found by vectors and links must be valid now; in the recorded system expired "
    "entries come back, sometimes as the best.",
    "explicit-limit-is-hard": "A limit that the caller names is kept, because it guards the size of a context window; "
    "the recorded guard overrides it.",
    "guard-counts-full-text": "The document's guard counts full-text matches; the recorded one adds what the vectors "
    "found, so that it fires for nearly every hybrid query.",
    "guard-counts-every-match": "The guard counts all matches; the recorded one counts those left by the cut to 30, "
    "so that it fires for a word that thousands of entries hold and still drops matches of a small vault.",
    "guard-returns-everything": "The document's guard returns all results; the recorded one as many as it counted, so "
    "that neighbours found by links push out matches.",
    "text-weights-without-a-vector": "A query without a vector is weighted as text; the recorded system keeps the "
    "weights of the hybrid search and gives the missing vector a 0.",
    "over-fetch-in-every-tier": "Every tier gives three times the limit, at least 30; the recorded system asks 10 of "
    "each, whatever the limit.",
    "exact-document-frequencies": "Document frequencies are exact after every change; the recorded vocabulary drifts "
    "until it is rebuilt by hand.",
    "decay-from-the-store": "Entries keep their times, so that age counts as documented; the recorded system loses "
    "them on the way from the database.",
    "adaptive-both-ways": "With vectors the semantic weight moves by 0.15 both ways, as documented; the recorded "
    "system clamps it at its base and can only raise it.",
    "higher-tier-wins": "Of copies in several tiers the one of the highest tier is kept; the recorded system keeps the "
    "one with the larger weighted BM25, whose numbers belong to different corpora.",
    "fallback-keeps-the-expression": "Without bm25() the same expression is ranked by FTS5's default; the recorded "
    "system passes the raw query, so that all words must match and punctuation is an error.",
    "memories-by-the-same-terms": "Memories are asked for the same terms as entries; the recorded system passes the "
    "raw query, so that all words must match and operators are live.",
    "snippet-by-characters": "A snippet has 120 characters and texts are measured in characters; the recorded system "
    "counts UTF-16 units and can cut an emoji in two.",
    "one-space-a-search": "Vectors are compared within one model and dimension; the recorded system compares a prefix "
    "of shorter vectors and makes NaN of longer ones.",
}

CHOICES: Mapping[str, str] = {
    "a-limit-is-positive": "A limit of 0 is a mistake and raises; the recorded system answers with nothing.",
    "zero-vectors-are-refused": "A vector without direction raises; the recorded system stores and skips it.",
    "words-counted-per-tier": "Each tier has its own document frequencies, so that a tier can live elsewhere; the "
    "recorded system counts over all tiers and keeps the first copy of an id.",
    "tiers-do-not-scale": "A tier's priority decides between copies and breaks ties; the recorded federation also "
    "multiplies BM25 by it, and forgets it when the results are ranked.",
    "origin-is-an-attr": "Septet has no field for where an entry came from; the recorded filter is one on an attr.",
    "acceptance-as-weighted": "The reported rate is the one that moves the weights; the recorded report counts failed "
    "rows and takes modified ones as dismissed.",
    "changed-text-drops-its-vector": "A vector belongs to the text it was given with; the recorded system keeps the "
    "old vector of a changed entry.",
    "changed-text-is-embedded-again": "A text that changed gets a new vector; the recorded pipeline asks for the model "
    "alone, so that the vector of the old text stays.",
    "no-vector-is-no-success": "A text without a vector in the answer has failed; the recorded pipeline counts it as "
    "embedded and stores an empty vector.",
    "every-write-is-embedded": "Whatever is written is embedded in the background, in batches, changes too; the "
    "recorded system makes a call for each entry, none for changes, and none for writes of more than a hundred.",
    "missing-entries-are-errors": "A link to an entry that does not exist raises.",
    "explicit-key-wins": "A key in the configuration wins over the pool, as documented; in the recorded system the "
    "pool wins.",
    "curated-files-of-both-versions": "MEMORY.md, memory.md and USER.md all count, the first two as documented, the "
    "last as later versions do; the recorded versions know two of the three each.",
    "what-is-left-out-is-told": "A link that is not followed, a path that is missing and a file of another ending are "
    "reported; the recorded system passes them over in silence.",
    "memory-paths-are-below-the-root": "A path that leads out of the root, is absolute, has backslashes on a system "
    "where they are letters, or names a file that is never listed is no memory path; the recorded check of a path says "
    "yes to all of these.",
    "network-errors-are-tried-again": "A broken connection and a timeout pass as a 503 does; the recorded systems give "
    "up at once.",
    "a-used-up-quota-is-final": "A quota that is used up is not tried again, whatever the message says besides; the "
    "recorded system tries again whatever has 429 in its words.",
    "auto-takes-no-fallback": "`auto` chooses among what is configured and takes no fallback; the recorded system "
    "passes over one that is given with it.",
    "nothing-is-sent-unasked": "Without a configuration nothing is embedded; the recorded default is the first "
    "provider whose key is there.",
    "one-voyage-model": "Voyage's default is that of the first recorded system, voyage-3.5; another one has "
    "voyage-4-large, and no default can be both.",
    "vectors-in-base64": "OpenAI and Voyage are asked for vectors in base64, a quarter of the size; the recorded "
    "requests name no format.",
    "nothing-is-cut-in-silence": "Voyage is told to refuse a text that is too long, which is then embedded in pieces; "
    "the recorded request lets its end be dropped.",
    "rows-of-unit-length": "Every provider's rows have unit length; the recorded systems store remote rows as they "
    "came.",
    "directionless-rows-are-errors": "A row too short to have a direction raises; the recorded system stores it.",
    "one-space-a-model": "A fallback to another model fills a space of its own while the first one fails, and the "
    "first one's vectors stay; the recorded system embeds everything again, for good, and takes along the address and "
    "the key of the first one.",
    "every-failure-falls-back": "Whatever keeps a provider from embedding leads to the next one, judged by its kind; "
    "the recorded system reads the words of the message, so that a lost connection or a used up quota leads nowhere.",
    "lengths-by-tokens": "A text goes whole when its estimated tokens fit, and is cut by bytes only when it is refused "
    "all the same; the recorded system takes the token limit for one of bytes.",
    "a-late-job-is-waited-for": "A batch job that takes long is waited for, or collected later: it is paid for; the "
    "recorded system tries it twice and embeds its texts once more.",
    "a-run-forgets-the-failures-before-it": "Failed batch jobs count within one run, whose report says so; in the "
    "recorded system they count until the program ends.",
    "a-wrong-setting-raises": "A setting that cannot be raises, and says so; the recorded system takes its default or "
    "the nearest value instead, and nobody learns of the mistake.",
    "settings-as-given": "Weights, the least score and the number of candidates count as they are given: a cosine may "
    "be under 0, and a hundred times the limit may be wanted; the recorded system brings them into a range.",
    "halves-are-replaced": "A character that is cut in two becomes U+FFFD on either side, as in the recorded digests; "
    "the recorded texts keep halves, which no encoded text can hold.",
    "no-end-is-dropped": "A long text is embedded in pieces whose vectors are averaged; the recorded system drops what "
    "is over its limit.",
    "masks-show-nothing": "A secret that was masked shows nothing of itself, since ten characters of it help to guess "
    "the rest and to recognise it elsewhere; the recorded masks show both ends.",
    "marks-belong-to-letters": "A combining mark belongs to the letter before it; the recorded tokens end at it, so "
    "that a decomposed ệ becomes e.",
    "underscores-separate": "The index cuts at underscores, so each part is a word that is needed; the recorded token "
    "is a phrase of them, in that order.",
    "single-letters-last": "Words of one letter count where a query has no others; the recorded expression demands "
    "them of every text.",
    "each-word-once": "A word that is asked for twice is needed once; the recorded expression repeats it.",
    "words-in-any-form": "A word is held in any of its forms: its stem, without accents, as pairs of characters in "
    "scripts without blanks; the recorded index knows whole runs alone, so that 支付模块 is not found in a longer one.",
    "accents-first": "Texts with the accents that are asked for come before folded ones; the recorded order lets thanh "
    "toan outrank thanh toán.",
    "relaxed-by-bm25": "Where few texts hold every word, those that hold some are ranked by BM25 for any word, in one "
    "search; the recorded system searches for up to six keywords one by one, without the words of its lists.",
    "characters-of-words": "A word of several Han characters finds texts with two that stand together; the recorded "
    "keywords are also its single characters.",
    "weights-count-something": "Weights that are all 0 are refused; the recorded system scores everything 0, in the "
    "order it was found.",
    "words-by-bm25": "Words count by how well they match; the recorded system gives 1 to whatever they match, so that "
    "a text that only words find never reaches the least score.",
    "same-texts-once": "A text that several chunks have is embedded once; the recorded system sends it with each.",
    "names-stand-for-headings": "A chunk under no heading has the name of its file for a title, which is embedded: so "
    "it is embedded anew when the file is renamed; the recorded system embeds texts without any title.",
    "words-are-kept": "What words found is raised to the least score, so that it never drops them; the recorded "
    "systems drop them, always or where something else reaches that score.",
    "late-vectors-are-estimated": "While a chunk has no vector yet, its cosine is estimated from its words; the "
    "recorded systems count it 0, so that whatever has a vector comes before it.",
    "coverage-is-no-score": "Words count by BM25 alone; the newest recorded version adds the share of the query's "
    "words, their density, and a bonus for every text of more than a few words.",
    "importance-as-given": "An importance between two whole numbers counts as it is; the recorded one is rounded down.",
    "letters-make-words": "Letters of every script make words, with their accents; the recorded tokens are runs of "
    "ASCII and CJK characters, so that accents cut words in pieces, and all Cyrillic texts are alike.",
    "a-half-life-is-positive": "A half-life of 0, less, or without end is refused; the recorded systems take it for no "
    "decay at all.",
    "names-of-any-folder-are-dated": "A name that begins with a day dates its file in every folder, whatever it ends "
    "with; the recorded systems look at .md files of a memory folder alone.",
    "cut-after-characters": "A text that is to be cut is cut after so many characters; the recorded cut counts UTF-16 "
    "units, and leaves out a character that stands across it.",
    "phrasings-anywhere-in-a-reply": "The first array that holds a string is taken, in a fence of any kind, between "
    "prose, or inside of another value, after what a model thinks aloud; the recorded parser wants the reply to be the "
    "array, in a fence that says json or in none.",
    "phrasings-trimmed": "A phrasing is on one line, without blanks around it; the recorded ones stay as they came.",
    "phrasings-once": "A phrasing that only repeats the query, or one before it, in another case is left out, and does "
    "not count as one of three; the recorded system searches for it again, so that its results count twice.",
    "phrasings-are-short": "A phrasing of more than 1,000 characters is left out; the recorded ones have no bound.",
    "ranks-of-fts5-only": "A score is made of BM25 as FTS5 has it, where more is better and nothing is under 0; the "
    "recorded function also takes ranks that no match has, and rates the worst of them like good ones.",
    "nothing-is-asked-of-a-model-unasked": "Other phrasings and embeddings are off unless they are configured, as the "
    "pull requests that brought them document; later recorded versions turn both on.",
    "a-model-goes-with-its-provider": "A model that nobody names is that of the provider; the recorded default is one "
    "model for all of them, which most do not have.",
    "unknown-settings-are-errors": "A setting that does not exist is an error that names the nearest one; the recorded "
    "system drops it without a word.",
    "seen-by-every-leg": "Who may see an entry holds for words and vectors alike, before anything is ranked; the "
    "recorded vectors find what other projects keep to themselves.",
    "best-first-under-each-heading": "Results under one heading are in the order of their scores; the recorded system "
    "puts them in groups by what they are, so that a better one may stand below a worse one.",
    "letters-of-every-script": "Letters and digits of every script are words; the recorded words are ASCII, so that "
    "café becomes caf, größe gr, and Japanese text vanishes.",
    "identifiers-are-cut": "The parts of an identifier are words of their own, as they are in the index; the recorded "
    "word is a phrase of them.",
    "case-is-dropped": "Words are in lower case, as they are in the index; the recorded ones keep their case, which "
    "changes nothing that is found.",
    "operators-are-words": "Every word is quoted, so that AND, OR and NOT are words; the recorded expression is then "
    "an error of syntax, and nothing is found.",
    "statistics-of-a-vault": "Rows are counted over all kinds of a vault; the recorded system has a table for each "
    "source, whose counts a vault of its own gives.",
    "ids-count-in-lengths": "An id that holds letters or digits counts in the length of its entry, whatever its "
    "weight; the recorded tables have no column for it.",
    "scores-are-shown-as-they-are": "Scores and BM25 are shown as they are; the recorded display scales those of one "
    "list, so that the last one shows 0 however good it is.",
    "once-in-a-list": "An item that a list repeats counts there once, at its best rank; the recorded system adds up "
    "its ranks, so that a list that repeats itself outvotes the others.",
    "ties-have-an-order": "Equal scores keep the order in which their items were first met; the recorded system "
    "leaves it to a hash table, so that the same search answers in different orders.",
    "authority-by-host": "The authority of an address is that of its host; the recorded test looks for the name "
    "anywhere in it, so that notgithub.com counts as GitHub.",
    "credits-as-the-provider-counts": "A Tavily search of the depth advanced takes two credits, as Tavily counts it; "
    "the recorded system counts one for each call.",
    "robots-are-kept-to": "Where pages are read, robots.txt is fetched and kept to unless it is switched off; the "
    "recorded default is off, and the file is never fetched.",
    "text-is-asked-of-pages": "The least share of text counts whether robots.txt does or not; the recorded check does "
    "nothing while that is off, which is its default.",
    "abstracts-are-results": "Of DuckDuckGo's answers the abstract and the topics in groups are results too; the "
    "recorded system reads related topics alone, and takes groups for a failure.",
    "whole-words-of-lists": "A word of a list counts as a whole word, also in the plural; the recorded planner "
    "looks for it anywhere, so that a profile is a file and a showcase asks how.",
    "the-web-is-off": "Plans leave the web out until a policy allows it; the recorded ones send plain questions out.",
    "backends-follow-the-mode": "A plan prefers the backends that its mode uses; the recorded lists keep to the "
    "intent, whatever mode is asked for.",
    "letters-make-tokens": "Tokens of queries have letters of every script, without the full stop behind them; the "
    "recorded ones end at every letter beyond ASCII, so that Über becomes ber.",
    "vectors-are-a-tier": "A retrieval whose vectors alone found something rests on them; the recorded tier is none.",
    "letters-in-another-case-are-no-other-query": "A query that differs in the case of its letters alone is not asked "
    "again; the recorded system takes it for another one, which finds the same.",
    "names-are-whole-words": "Follow-up queries take names that are whole words of any script, and none that only "
    "begins a sentence, such as This; the recorded names are ASCII, and ends of longer words too.",
    "near-vectors-come-first": "What points the same way as the query is the best by vectors; the recorded search "
    "takes the cosine of memories for a distance, so that the least alike come first.",
    "words-rank-chunks-and-nodes": "Chunks and nodes rank by how well their words match; the recorded lists are "
    "ordered by date, so that the score of a rank says how new a chunk is.",
    "ages-without-version-control": "The age of a memory is that of its front matter, or its file; the recorded one "
    "is told by version control alone, and what is not in it loses nine tenths of its score.",
    "edited-memories-are-found": "What changes in a folder is found by the next search after a sync; the recorded "
    "cache looks at the time of the folder, which the change of a file in it leaves alone.",
    "short-names-are-in-no-other": "A retired name of one or two letters is in no query, nor a query in a name, "
    "unless they are equal; in the recorded search it is a part of nearly all, and near them by 1.",
    "common-words-tell-nothing": "BM25 is that of SQLite, whose IDF of a word in half of the entries or more is nearly "
    "nothing; the recorded one is ln(1 + ...), so that every word tells something (the pure function has it).",
    "long-queries-for-any-word": "Queries of more than 64 words are searched for any of them at once; the recorded "
    "system tries all of them first, then drops one after the other, as many searches as there are words.",
    "stop-words-name-no-path": "Words that tell nothing are looked for in no path; in the recorded inventory they "
    "count like others (which can be asked for).",
}

LEFT_OUT: Mapping[tuple[str, str], str] = {
    ("text", "generateTags"): "Septet stores the tags it is given and makes up none.",
    ("text", "contentHash"): "Entries are known by id; the recorded content hash serves an import that Septet lacks.",
    ("graph", "suggestLinks"): "Septet stores the links it is given and makes up none.",
}

_TEXT, _GRAPH, _HYBRID = "timestamps-fts", "timestamps-graph", "timestamps-hybrid-graph"
_QUERIES: list[tuple[str, str, tuple[str, ...]]] = [
    (_TEXT, "unicode-tokens", ("JWT validation", "cafe", "認証", "中文全文检索", "пошук")),
    (_TEXT, "guard-counts-every-match", ("the is a of and",)),
    (_TEXT, "unicode-terms unicode-tokens", ("Übersetzung",)),
    (_TEXT, "all-punctuation-splits short-terms-last", ("4.5:1",)),
    (_TEXT, "all-punctuation-splits unicode-tokens", ("title:jwt", "NEAR(jwt token)")),
    (_TEXT, "explicit-limit-is-hard", ("performance",)),
    (_GRAPH, "unicode-tokens", ("JWT validation", "cafe", "認証", "中文全文检索", "пошук", "NEAR(jwt token)")),
    (_GRAPH, "validity-everywhere", ("database migration", "deployment rollback", "deployment hosts gateway vpn")),
    (_GRAPH, "guard-counts-every-match", ("the is a of and",)),
    (_GRAPH, "guard-returns-everything validity-everywhere", ("don't sleep in tests",)),
    (_GRAPH, "unicode-terms unicode-tokens", ("Übersetzung",)),
    (_GRAPH, "all-punctuation-splits short-terms-last", ("4.5:1",)),
    (_GRAPH, "all-punctuation-splits unicode-tokens", ("title:jwt",)),
    (_GRAPH, "filters-everywhere", ("database", "validation security")),
    (_GRAPH, "explicit-limit-is-hard", ("performance",)),
    (_HYBRID, "guard-counts-full-text unicode-tokens", ("JWT validation", "title:jwt", "NEAR(jwt token)")),
    (_HYBRID, "guard-counts-full-text", ("authentication", "smoke-test-entry", "C# naming", "4.5:1", "n+1 queries")),
    (_HYBRID, "guard-counts-full-text", ("prompt injection",)),
    (_HYBRID, "guard-counts-full-text validity-everywhere", ("database migration", "ops-canary", "validation")),
    (_HYBRID, "guard-counts-full-text validity-everywhere", ("deployment rollback", "deployment hosts gateway vpn")),
    (_HYBRID, "guard-counts-full-text validity-everywhere", ("tls network", "xyzzy nonexistent")),
    (_HYBRID, "guard-counts-every-match", ("the is a of and",)),
    (_HYBRID, "guard-counts-full-text unicode-tokens validity-everywhere", ("cafe", "Übersetzung")),
    (_HYBRID, "text-weights-without-a-vector unicode-tokens", ("認証", "中文全文检索", "пошук")),
    (_HYBRID, "filters-everywhere", ("database", "validation security")),
    (_HYBRID, "explicit-limit-is-hard", ("performance", "event sourcing audit")),
    (_HYBRID, "validity-everywhere", ("a", "testing", "use")),
]
#: The switches of each query of each configuration; all others have none.
QUERIES = {(config, query): frozenset(names.split()) for config, names, queries in _QUERIES for query in queries}

_TERMS: Mapping[str, tuple[str, ...]] = {
    "short-terms-last": ("a", "x y z", "c"),
    "never-raw": ("   ", '"', "🎉", "-", "...", "*"),
    "all-punctuation-splits": (
        "don't sleep in tests",
        "C# naming",
        "n+1 queries",
        "title:jwt",
        "NEAR(jwt token)",
        "key=value",
    ),
    "unicode-terms": ("Übersetzung", "認証", "中文全文检索", "пошук", "ﬁligree", "ＪＷＴ", "日本語 and", "éa"),
    "all-punctuation-splits short-terms-last": ("4.5:1",),
}
#: The switches of each query's full-text terms, beside ``quoted-terms``.
TERMS = {query: frozenset(names.split()) for names, queries in _TERMS.items() for query in queries}

_LOW = (1, 2, 3, 4, 5, 7, 10, 12, 15, 16, 17, 20, 24)
_HARD = {3: _LOW[:1], 5: _LOW[:2], 9: _LOW[:4], 19: _LOW[:6], 21: _LOW[:7], 29: _LOW[:8], 31: _LOW[:9], 49: _LOW}
_HARD |= dict.fromkeys((51, 99, 120), _LOW[:10])
_HARD_MANAGED = {3: _LOW[:1], 5: _LOW[:2]} | dict.fromkeys((9, 19, 21, 29, 31, 49, 51, 99, 120), _LOW[:4])
_BOTH = {29: _LOW[7:8], 31: _LOW[7:9], 49: _LOW[7:]} | dict.fromkeys((51, 99, 120), _LOW[7:10])
_TAKEN = dict.fromkeys((19, 21), (12, 15, 16, 17, 20, 24, 25, 30, 40))
_TAKEN |= {29: _TAKEN[19][1:], 31: _TAKEN[19][2:], 49: _TAKEN[19][6:]}
_TAKEN |= dict.fromkeys((51, 99, 120), _TAKEN[19][3:])
_ALWAYS: Mapping[int, tuple[int | None, ...]] = dict.fromkeys((31, 49, 51, 99, 120), (None,))


def _guard(table: Mapping[str, Mapping[int, tuple[int | None, ...]]]) -> dict[tuple[int, int | None], frozenset[str]]:
    return {
        (matching, limit): frozenset(names.split())
        for names, rows in table.items()
        for matching, limits in rows.items()
        for limit in limits
    }


#: By number of matches and limit (None when the caller names none), for one vault and for one of several.
GUARD = _guard({"explicit-limit-is-hard": _HARD, "guard-counts-every-match": _ALWAYS})
GUARD_MANAGED = _guard(
    {
        "explicit-limit-is-hard": _HARD_MANAGED,
        "over-fetch-in-every-tier": _TAKEN,
        "explicit-limit-is-hard over-fetch-in-every-tier": _BOTH,
    }
)


def differs(*names: str) -> Callable[[Test], Test]:
    """Mark a test that proves a difference which the tables above cannot list."""
    for name in names:
        if name not in SWITCHES and name not in CHOICES:
            raise ValueError(f"{name!r} is no listed difference")
    return lambda test: test
