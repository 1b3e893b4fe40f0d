"""Notes: what a search, or a run of embedding, could not do or did differently.

Codes, with what each means:

==========================  =========================================================================================
``approximate``             an index on the server chose what is near the query vector; it may have missed some
``bad_vector``              a provider sent vectors that are all zero, or hold NaN or infinity
``batch_failed``            a batch of texts was not embedded; the next run tries again
``batches_given_up``        two batch jobs in a row failed; the rest is embedded request by request
``bm25_unavailable``        this SQLite has no ``bm25()``; FTS5's default rank was used
``cache_unusable``          the embedding cache cannot be opened or read; vectors are made without it
``constants_of_fts5``       FTS5 ranked full text by its own k1 and b, not those of the profile
``corpus_failed``           a corpus of a retrieval failed; the others answered
``deadline``                something did not answer within ``timeout_s``; the search went on without it
``did_you_mean``            no entry holds a word of the query; words near it are named, or were searched for instead
``diversity_by_words``      candidates have no vector; their likeness was measured by words
``embedding_fallback``      a model failed or lacks vectors; another one of its chain was used in its place
``embedding_refused``       the provider refused to embed the query; searched without vectors
``embedding_stopped``       automatic embedding stopped because of an error; it is tried again
``embedding_unavailable``   the provider did not embed the query in time; searched without vectors
``expansion_failed``        a query was not said in other words; it was searched as it is, alone
``external_failed``         the memory of another program failed, or cannot follow an option; the vault answered
``filter_mismatch``         a comparison in ``where`` holds for no entry, as the field is absent or has another type
``folder_cut``              a folder was not looked at as a whole; what was found of it was searched
``gave_up``                 five batches in a row failed; the run ended early
``in_jobs``                 texts are in batch jobs that are not over
``index_behind``            files on the disk are not as they are indexed, or a folder is not there
``index_building``          full text is not in memory yet; FTS5 ranks it, without comparing the spelling of words
``index_mismatch``          full text in memory disagrees with FTS5; FTS5 answers, more slowly
``job_failed``              a batch job brought no vector
``job_incomplete``          a batch job left out some of its texts
``jobs_unreachable``        the provider does not say how its batch jobs stand
``memories_left_out``       memories match the query too; searches leave them out unless they are asked for
``model_assumed``           vectors of several models fit the query vector; one was chosen
``network_folder``          the vault is on a network file system; it is written without a log
``no_batch_api``            the provider has no batch API; texts are embedded request by request
``no_embedder``             an embedder was asked for and there is none; searched without vectors
``no_terms``                the query holds no letter or digit; of filters alone, what passes them is listed
``no_vectors``              no entry has a vector; searched without vectors
``not_all``                 texts are left that another process embeds, or that were just written
``other_model``             the vectors are of a model that no embedder at hand has
``over_budget``             results were left out, because ``max_tokens`` has no room for them
``phrase_cut``              a word of the query is several to full text, and too many entries hold all of these
``provider_refuses``        the provider refuses every request; the run ended early
``query_cut``               the query is too long; its last terms were left out
``query_too_vague``         nothing but stop words is in the query, and the profile searches for nothing then
``reranker_failed``         the reranker gave no usable scores in time; the order is that of the scores
``rows_left_out``           rows hold what Septet does not write, damaged or of another program; the others answered
``sidecar_damaged``         a file of the sidecar was damaged; it is made anew
``space_incomplete``        some entries have no vector of the model yet
``synchronised_folder``     a program synchronises the vault's folder; it is written without a log
``tavily_budget_exhausted`` Tavily was not asked: its credits for this session are spent
``tavily_budget_low``       few credits are left for Tavily
``tavily_no_key``           Tavily is switched on and has no key
``text_refused``            the provider refuses this one text
``tier_failed``             a tier failed; the other tiers answered
``unknown_words``           no entry holds a word or phrase that results must have
``vault_replaced``          the file was deleted or replaced; what was open before answered
``vector_mismatch``         the query vector fits no vectors of the tier
``vectors_disagree``        entries that share rare words are hardly nearer by vectors; words decide
``vectors_incomplete``      some entries have no vector yet; how near they are to the query was estimated
``web_failed``              a search service of the web failed or rests; the next one was asked, if there is one
``web_not_kept``            a hit of the web could not be stored in the vault
``web_page_unread``         pages that a web search found were not read; what it shows of them stands for them
``words_relaxed``           no entry holds every word of the query, as the profile asks; those with fewer were searched
==========================  =========================================================================================
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

__all__ = ["DEGRADING", "Note", "NoteCode", "printed"]

#: What a note is about; the module's docstring lists the meanings.
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
    "rows_left_out",
    "sidecar_damaged",
    "space_incomplete",
    "synchronised_folder",
    "tavily_budget_exhausted",
    "tavily_budget_low",
    "tavily_no_key",
    "text_refused",
    "tier_failed",
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
