"""EmbeddingOptions: how a vault embeds, beside with what."""

from __future__ import annotations

from dataclasses import dataclass

from septet.embedding.cache import CACHE_LIMIT
from septet.embedding.pipeline import BATCH_TEXTS
from septet.errors import EmbeddingConfigError

__all__ = ["EmbeddingOptions"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingOptions:
    """How a vault embeds.

    Attributes:
        automatic: embed in the background what was written.
        batch_texts: texts a batch; a provider that takes fewer a request gets fewer.
        query_timeout_s: how long a search waits for its question's vector, all attempts together. None takes what the
            embedder's configuration says, or 3 s.
        query_memory: how many questions' vectors are kept in memory; 0 keeps none.
        rest_s: after a question that failed, how long until another is tried, in the background; twice as long after
            each further failure, up to ``longest_rest_s``.
        close_wait_s: how long closing a vault, or the exit of the program, waits for automatic embedding.
        poll_s: the longest wait between two questions whether batch jobs are done; the first are shorter.
        jobs_at_once: batch jobs that are waited for at a time.
        job_texts: the most texts of a batch job; fewer where the provider, or memory, takes no more.
        cache_limit: vectors that a cache named by its path keeps.

    Raises:
        EmbeddingConfigError: a number out of range.
    """

    automatic: bool = True
    batch_texts: int = BATCH_TEXTS
    query_timeout_s: float | None = None
    query_memory: int = 256
    rest_s: float = 1.0
    longest_rest_s: float = 60.0
    close_wait_s: float = 5.0
    poll_s: float = 60.0
    jobs_at_once: int = 4
    job_texts: int = 50_000
    cache_limit: int = CACHE_LIMIT

    def __post_init__(self) -> None:
        least = {"batch_texts": 1, "query_memory": 0, "rest_s": 0, "longest_rest_s": 0, "close_wait_s": 0}
        least |= {"cache_limit": 1, "poll_s": 0, "jobs_at_once": 1, "job_texts": 1}
        for name, minimum in least.items():
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= minimum:
                raise EmbeddingConfigError(f"{name} is {value!r}: wanted a number of at least {minimum}")
        if self.query_timeout_s is not None and not self.query_timeout_s > 0:
            raise EmbeddingConfigError(f"query_timeout_s is {self.query_timeout_s!r}: wanted more than 0, or None")
