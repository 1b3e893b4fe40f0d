"""EmbeddingOptions: options of a vault's embedding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from septet.embedding.batching import BATCH_TEXTS
from septet.embedding.cache import CACHE_LIMIT
from septet.errors import EmbeddingConfigError
from septet.inputs.arguments import real, shown, whole

#: Maximum count, and maximum seconds (a year).
MOST, MOST_SECONDS = 2**31 - 1, 366 * 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingOptions:
    """Options of a vault's embedding.

    Attributes:
        automatic: embed new texts in the background.
        batch_texts: texts per batch; fewer if the provider accepts fewer per request.
        batch_tokens: maximum tokens of a batch, each text counted like the longest, for models that pad their batches.
            A token has four characters; a longer text makes a separate batch. None for the embedder's bound, if any.
            The documented batches of local models are ``batch_texts=8, batch_tokens=4096``.
        query_timeout_s: maximum wait of a search for its query's vector, over all attempts. None for the embedder's
            configuration, or 3 s.
        query_memory: maximum query vectors in memory; 0 for none.
        rest_s: pause after a failed query before the next one is tried, in the background, and of a model of a chain
            after a failure. Doubles with each further failure, up to ``longest_rest_s``.
        fallback_texts: the texts that a fallback of another model embeds while the models before it fail: ``all``, so
            that its space can answer searches, or ``missing``, those without a vector of a model before it.
        close_wait_s: maximum wait of a vault's `close` and of the program's exit for automatic embedding.
        poll_s: maximum wait between two polls of batch jobs; the first waits are shorter.
        jobs_at_once: maximum running batch jobs.
        job_texts: maximum texts of a batch job; the provider or memory may allow fewer.
        cache_limit: maximum vectors of a cache that is passed as a path.

    Raises:
        EmbeddingConfigError: a number is out of range: counts up to 2**31 - 1, times up to a year.
    """

    automatic: bool = True
    batch_texts: int = BATCH_TEXTS
    batch_tokens: int | None = None
    query_timeout_s: float | None = None
    query_memory: int = 256
    rest_s: float = 1.0
    longest_rest_s: float = 60.0
    fallback_texts: Literal["all", "missing"] = "all"
    close_wait_s: float = 5.0
    poll_s: float = 60.0
    jobs_at_once: int = 4
    job_texts: int = 50_000
    cache_limit: int = CACHE_LIMIT

    def __post_init__(self) -> None:
        if not isinstance(self.automatic, bool):
            raise EmbeddingConfigError(f"automatic is {shown(self.automatic)}: wanted True or False")
        if not isinstance(self.fallback_texts, str) or self.fallback_texts not in ("all", "missing"):
            raise EmbeddingConfigError(f"fallback_texts is {shown(self.fallback_texts)}: wanted 'all' or 'missing'")
        least = {"batch_texts": 1, "query_memory": 0, "rest_s": 0, "longest_rest_s": 0, "close_wait_s": 0}
        least |= {"cache_limit": 1, "poll_s": 0, "jobs_at_once": 1, "job_texts": 1}
        for name, minimum in least.items():
            value = getattr(self, name)
            if name.endswith("_s"):
                real(value, name, EmbeddingConfigError, minimum, MOST_SECONDS)
            else:
                whole(value, name, EmbeddingConfigError, minimum, MOST)
        if self.batch_tokens is not None:
            whole(self.batch_tokens, "batch_tokens", EmbeddingConfigError, 1, MOST)
        if self.query_timeout_s is not None and not real(
            self.query_timeout_s, "query_timeout_s", EmbeddingConfigError, 0, MOST_SECONDS
        ):
            raise EmbeddingConfigError("query_timeout_s is 0: wanted more than 0, or None")
