"""Sources: kinds of entries of a vault, or a whole vault, as a corpus with its own filter, limit and weight."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from septet.errors import QueryError, TierError
from septet.inputs.arguments import real, shown, utf8, whole
from septet.profiles import ProfileLike, resolve
from septet.retrieval.corpora.legs import MOST_ITEMS, VaultSearch, checked_filter, checked_names
from septet.retrieval.corpus import CorpusAnswer, CorpusRequest
from septet.retrieval.knowledge import Knowledge
from septet.retrieval.recall.recalling import within_of
from septet.retrieval.recall.settings import BASE_PROFILE

if TYPE_CHECKING:
    from septet.model.explanation import Explanation
    from septet.query.options import Leg
    from septet.retrieval.recall.settings import RecallSettings, Role

MOST_WEIGHT = 1e9


class VaultCorpus(VaultSearch):
    """Kinds of entries of a vault, or all of them, as a corpus: one list by words, and one by vectors.

    Every filter applies to both lists, before ranking.
    """

    def __init__(
        self,
        name: str,
        knowledge: Knowledge,
        *,
        kinds: str | Iterable[str] | None = None,
        where: Mapping[str, Any] | None = None,
        limit: int | None = None,
        weight: float = 1.0,
        profile: ProfileLike = BASE_PROFILE,
        role: Role = "knowledge",
        scoped: Mapping[str, str] | None = None,
        shared: str | None = None,
        confidence_above: float | None = None,
    ) -> None:
        """Describe a source.

        Args:
            name: the name in lists, hits and notes.
            knowledge: the vault, or a federation.
            kinds: one kind or several; None for all but memories.
            where: a filter, as of `Vault.search`.
            limit: maximum items in each list, 1 to 1,000; None for the request's.
            weight: weight of its lists, 0 to 1e9.
            profile: ranking profile.
            role: its role; a scope may exclude it.
            scoped: fields that must equal a value of the scope, by its name, as ``{"session": "attrs.session"}``.
                ``session`` applies only within a session, every other name if the scope has it.
            shared: with ``project``, also include entries without a project, and those where this field is true.
            confidence_above: exclude entries whose ``attrs.confidence`` is a number of at most this; entries without
                one are included.

        Raises:
            QueryError: an argument is invalid.
            ProfileError: the profile is unknown.
        """
        if not callable(getattr(knowledge, "search", None)):
            raise QueryError(f"knowledge is {shown(knowledge)}: wanted a Vault or a Federation")
        self._kinds = None if kinds is None else checked_names(kinds, "kinds")
        self._ranking = resolve(profile)
        backends: dict[Leg, str] = {"text": f"{name}_bm25", "vector": f"{name}_vector"}
        super().__init__(name, knowledge, backends, kinds=self._kinds, profile=self._ranking)
        self._limit = None if limit is None else whole(limit, "limit", QueryError, 1, MOST_ITEMS)
        self._weight = real(weight, "weight", QueryError, 0, MOST_WEIGHT)
        if not isinstance(role, str) or role not in ("knowledge", "session", "other"):
            raise QueryError(f"role is {shown(role)}: wanted knowledge, session or other")
        self._role = role
        if scoped is not None and not isinstance(scoped, Mapping):
            raise QueryError(f"scoped is {shown(scoped)}: wanted fields by the names of a scope, as a dict")
        fields = scoped or {}
        self._scoped = {utf8(at, "scoped", QueryError): utf8(fields[at], "scoped", QueryError) for at in fields}
        self._shared = None if shared is None else utf8(shared, "shared", QueryError)
        filters = checked_filter(where)
        self._filters = [dict(filters)] if filters else []
        if confidence_above is not None:
            least = real(confidence_above, "confidence_above", QueryError)
            self._filters.append({"$nor": [{"attrs.confidence": {"$lte": least}}]})

    def search(self, request: CorpusRequest) -> CorpusAnswer:
        """Return the lists ``text`` and ``vector``, by the mode; none if the scope excludes the source.

        Vectors are compared only for the original phrasing, and not within a session. The step gives the words that
        text hits contain: ``all``, ``4 of 6``, ``any``.

        Raises:
            QueryError: the scope or a filter is invalid.
            StoreError: the vault cannot be read.
        """
        within = within_of(request.scope)
        if self._is_left_out(within):
            return CorpusAnswer(())
        if within == "session" and request.mode == "hybrid":
            request = request._replace(mode="full_text")
        filters = [*self._filters, *self._narrowed(request.scope, within)]
        leg_hits = self._searched(request, self._most(request), {"$and": filters} if filters else None)
        # Memories belong to the sources of their kind: the note does not apply.
        notes = [note for note in leg_hits.notes if note.code != "memories_left_out"]
        lists = [self._list(name, request, hits, self._weight) for name, hits in leg_hits.lists.items()]
        backends = [self._backends[leg] for leg in leg_hits.legs]
        return CorpusAnswer(lists, backends, notes, leg_hits.step, confidence=leg_hits.confidence)

    def explain(self, request: CorpusRequest, entry_id: str) -> Explanation | None:
        """Return why its words and filters miss an entry; None if unknown, or if the scope excludes the source.

        Raises:
            SeptetError: the entry does not exist, or the vault cannot be read.
        """
        explain, within = getattr(self._knowledge, "explain", None), within_of(request.scope)
        if explain is None or self._is_left_out(within):
            return None
        where = _beside([*self._filters, *self._narrowed(request.scope, within)])
        options: dict[str, Any] = {"kinds": self._kinds, "where": where}
        limit = self._most(request)
        explanation: Explanation = explain(request.query, entry_id, limit=limit, profile=self._ranking, **options)
        return _with_fields(explanation, where or {})

    def _most(self, request: CorpusRequest) -> int:
        return request.limit if self._limit is None else min(self._limit, request.limit)

    def _is_left_out(self, within: str) -> bool:
        if within == "session":
            return self._role != "session"
        if within == "knowledge":
            return self._role != "knowledge"
        return within == "project" and self._role == "other"

    def _narrowed(self, scope: Mapping[str, object], within: str) -> list[Mapping[str, Any]]:
        filters: list[Mapping[str, Any]] = []
        for name, field in self._scoped.items():
            value = scope.get(name)
            if value is None or (name == "session" and within != "session"):
                continue
            # Compared as a value, even a dict: filter operators must not widen a scope.
            condition: dict[str, Any] = {field: {"$eq": value}}
            if name == "project" and self._shared is not None:
                without_project: dict[str, Any] = {field: {"$exists": False}}
                condition = {"$or": [condition, without_project, {self._shared: {"$in": [True, 1]}}]}
            filters.append(condition)
        return filters


def _beside(filters: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Merge filters into one with top-level fields, so that an explanation names the failing field."""
    fields: dict[str, Any] = {}
    more = []
    for condition in filters:
        if fields.keys() & condition.keys() or "$and" in condition:
            more.append(condition)
        else:
            fields |= condition
    if more:
        fields["$and"] = more
    return fields or None


def _with_fields(explanation: Explanation, where: Mapping[str, Any]) -> Explanation:
    """Return an explanation whose combined filters, such as ``$nor``, are labelled with their fields."""
    labels: dict[str, str] = {}
    for key, parts in where.items():
        if key in ("$and", "$or", "$nor") and all(isinstance(part, Mapping) for part in parts):
            fields = dict.fromkeys(field for part in parts for field in part)
            labels[f"where {key}"] = f"where {key} {', '.join(fields)}"
    reason = explanation.reason
    for name in labels:
        reason = reason.replace(name, labels[name]) if explanation.filters.get(name) is False else reason
    filters = {labels.get(name, name): passes for name, passes in explanation.filters.items()}
    return replace(explanation, filters=filters, reason=reason)


def corpora_of(
    settings: RecallSettings,
    knowledge: Knowledge,
    vaults: Mapping[str, Knowledge] | None = None,
    *,
    profile: ProfileLike = BASE_PROFILE,
) -> list[VaultCorpus]:
    """Return the sources of settings as corpora, skipping those of weight 0.

    Args:
        settings: has the sources; its weights override those of the profile.
        knowledge: the vault of sources without a vault name.
        vaults: the others, by name.
        profile: ranking profile.

    Raises:
        ProfileError: the profile is unknown.
        TierError: a source names an unknown vault.
        QueryError: a source is invalid.
    """
    named = vaults or {}
    corpora = []
    for source in settings.sources:
        if source.vault is not None and source.vault not in named:
            known = ", ".join(map(shown, named)) or "none"
            raise TierError(f"unknown vault {shown(source.vault)} of source {shown(source.name)}; available: {known}")
        if not source.weight:
            continue
        corpora.append(
            VaultCorpus(
                source.name,
                knowledge if source.vault is None else named[source.vault],
                kinds=source.kinds,
                where=source.where,
                limit=source.limit or settings.limit,
                weight=source.weight,
                profile=settings.profile(source.role, profile),
                role=source.role,
                scoped=source.scoped,
                shared=source.shared,
                confidence_above=source.confidence_above,
            )
        )
    return corpora
