"""Notes: deviations and failures of a search or an embedding run.

Codes and their meanings:

==========================  =========================================================================================
``approximate``             near vectors may be missing: an index on a server was used, or lists (``recall`` below 1)
``bad_vector``              a provider sent vectors that are all zero, or contain NaN or infinity
``batch_failed``            a batch of texts was not embedded; the next run retries it
``batches_given_up``        two batch jobs in a row failed; the rest is embedded request by request
``bm25_unavailable``        this SQLite has no ``bm25()``; FTS5's default rank was used
``cache_unusable``          the embedding cache cannot be opened or read; texts are embedded without it
``constants_of_fts5``       FTS5 ranked full text with its own k1 and b, not those of the profile
``corpus_failed``           a corpus of a retrieval failed; the others were used
``deadline``                a tier or provider exceeded ``timeout_s``; the search continued without it
``did_you_mean``            no entry contains a word of the query; similar words are suggested, or were searched instead
``diversity_by_words``      candidates have no vector; their similarity was computed from words
``embedding_fallback``      a model failed or lacks vectors; another model of its chain was used
``embedding_refused``       the provider refused to embed the query; searched without vectors
``embedding_stopped``       automatic embedding stopped because of an error; it will be retried
``embedding_unavailable``   the provider did not embed the query in time; searched without vectors
``expansion_failed``        rephrasing a query failed; only the query itself was searched
``external_failed``         an external memory failed, or does not support an option; the vault was used
``filter_mismatch``         a comparison in ``where`` matches no entry: the field is absent or has another type
``folder_cut``              a folder was only partly read; that part was searched
``gave_up``                 five batches in a row failed; the run ended early
``in_jobs``                 texts are in unfinished batch jobs
``index_behind``            files on the disk differ from the index, or a folder is missing
``index_building``          the full-text index in memory is not built yet; FTS5 ranks, without comparing spelling
``index_mismatch``          the full-text index in memory disagrees with FTS5; FTS5 is used, which is slower
``job_failed``              a batch job returned no vector
``job_incomplete``          some texts are missing from the result of a batch job
``jobs_unreachable``        the provider does not return the status of its batch jobs
``memories_left_out``       memories match the query too; pass ``include_memories=True`` to search them
``model_assumed``           vectors of several models fit the query vector; one was chosen
``network_folder``          the vault is on a network file system; it is written without a write-ahead log
``no_batch_api``            the provider has no batch API; texts are embedded request by request
``no_embedder``             an embedder was requested but none is available; searched without vectors
``no_terms``                the query has no letter or digit; a query of only filters lists the entries that pass
``no_vectors``              no entry has a vector; searched without vectors
``not_all``                 some texts are embedded by another process, or were just written
``other_model``             the vectors are of a model that no available embedder has
``over_budget``             results were dropped because they exceed ``max_tokens``, or pins, as there are over 100
``phrase_cut``              a word of the query is a phrase to full text, and too many entries contain its words
``provider_refuses``        the provider refuses every request; the run ended early
``query_cut``               the query is too long; its last terms were dropped
``query_too_vague``         the query has only stop words, which the profile does not search for
``reranker_failed``         the reranker returned no usable scores in time; hits are ordered by score
``reranker_late``           the reranker scored only the first hits in time; they come first
``rows_left_out``           some rows are damaged or written by another program; they were skipped
``sidecar_damaged``         a file of the sidecar was damaged; it is rebuilt
``space_incomplete``        some entries have no vector of the model yet
``synchronised_folder``     a program synchronises the vault's folder; it is written without a write-ahead log
``tavily_budget_exhausted`` Tavily was skipped: its credits for this session are spent
``tavily_budget_low``       few credits are left for Tavily
``tavily_no_key``           Tavily is enabled but has no key
``text_refused``            the provider refuses a single text
``tier_failed``             a tier failed; the other tiers were used
``unknown_script``          the model of the vectors was not made for the script of the query
``unknown_words``           no entry contains a required word or phrase
``vault_replaced``          the file was deleted or replaced; the file opened before was searched
``vector_mismatch``         the query vector matches no vectors of the tier
``vectors_disagree``        entries with common rare words are hardly nearer by vectors; words decide
``vectors_incomplete``      some entries have no vector yet; their similarity to the query was estimated
``web_failed``              a web search service failed or is paused; the next one was used, if any
``web_not_kept``            a web hit could not be stored in the vault
``web_page_unread``         pages of web hits were not read; their snippets are used instead
``words_relaxed``           no entry contains every word of the query, as the profile requires; fewer were required
==========================  =========================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Literal, TypeAlias

from septet.system.records import dataclass

__all__ = ["DEGRADING", "Note", "NoteCode", "printed"]

#: Codes of notes; see the module's docstring for their meanings.
NoteCode: TypeAlias = Literal[
    "approximate",
    "bad_vector",
    "batch_failed",
    "batches_given_up",
    "bm25_unavailable",
    "cache_unusable",
    "constants_of_fts5",
    "corpus_failed",
    "did_you_mean",
    "deadline",
    "diversity_by_words",
    "embedding_fallback",
    "embedding_refused",
    "embedding_stopped",
    "embedding_unavailable",
    "expansion_failed",
    "external_failed",
    "filter_mismatch",
    "folder_cut",
    "gave_up",
    "in_jobs",
    "index_behind",
    "index_building",
    "index_mismatch",
    "job_failed",
    "job_incomplete",
    "jobs_unreachable",
    "memories_left_out",
    "model_assumed",
    "network_folder",
    "no_batch_api",
    "no_embedder",
    "no_terms",
    "no_vectors",
    "not_all",
    "other_model",
    "over_budget",
    "phrase_cut",
    "provider_refuses",
    "query_cut",
    "query_too_vague",
    "reranker_failed",
    "reranker_late",
    "rows_left_out",
    "sidecar_damaged",
    "space_incomplete",
    "synchronised_folder",
    "tavily_budget_exhausted",
    "tavily_budget_low",
    "tavily_no_key",
    "text_refused",
    "tier_failed",
    "unknown_script",
    "unknown_words",
    "vault_replaced",
    "vector_mismatch",
    "vectors_disagree",
    "vectors_incomplete",
    "web_failed",
    "web_not_kept",
    "web_page_unread",
    "words_relaxed",
]

#: Codes that mean: the answer is less than it could be.
DEGRADING: frozenset[NoteCode] = frozenset(
    {
        "bm25_unavailable",
        "corpus_failed",
        "deadline",
        "embedding_refused",
        "embedding_unavailable",
        "expansion_failed",
        "external_failed",
        "folder_cut",
        "index_behind",
        "no_embedder",
        "no_vectors",
        "other_model",
        "query_cut",
        "reranker_failed",
        "reranker_late",
        "rows_left_out",
        "space_incomplete",
        "tier_failed",
        "vault_replaced",
        "vector_mismatch",
        "web_failed",
    }
)


@dataclass(frozen=True, slots=True)
class Note:
    """Something that could not be done, or was done differently.

    Attributes:
        code: what to test for; see `septet.notes` for the list.
        cause: what happened, in one sentence.
        cure: what to do about it.
        tier: the name of the tier it happened in; empty if it concerns the whole search.
    """

    code: NoteCode
    cause: str
    cure: str = ""
    tier: str = ""

    def __str__(self) -> str:
        where = f" [{self.tier}]" if self.tier else ""
        return f"{self.code}{where}: {self.cause}" + (f" ({self.cure})" if self.cure else "")

    def to_dict(self) -> dict[str, str]:
        """Return the four fields as a dict."""
        return {"code": self.code, "cause": self.cause, "cure": self.cure, "tier": self.tier}


def printed(notes: Iterable[Note]) -> list[str]:
    """Return notes as lines to print; what several tiers say alike is one line, with all their names."""
    tiers: dict[Note, list[str]] = {}
    for note in notes:
        tiers.setdefault(replace(note, tier=""), []).append(note.tier)
    return [str(replace(note, tier=", ".join(filter(None, names)))) for note, names in tiers.items()]
