"""The knowledge graph: entries that are nodes, links that are edges; what words find, and what stands beside that."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from septet.errors import QueryError
from septet.inputs.arguments import utf8, whole
from septet.model.entry import Entry
from septet.model.results import Hit, Note, Scored, hits_of
from septet.profiles import ProfileLike
from septet.retrieval.corpora.legs import (
    MOST_ITEMS,
    checked_filter,
    checked_names,
    searched_legs,
    searched_together,
)
from septet.retrieval.corpora.misses import Miss, missed
from septet.retrieval.corpus import Answered, Asked, RankedList
from septet.retrieval.knowledge import Knowledge, items_of, store_of
from septet.sqlite.tables.links import NEXT, Link

__all__ = ["Edge", "GraphCorpus", "edge_weight", "led_by"]

#: The best so many nodes lead to others, and each to so many at most.
ANCHORS, MOST_EDGES = 5, 10
#: A neighbour counts this part of the node that led to it, by the weight of the edge.
STEP = 0.5
MOST_WEIGHT = 1.0
#: What a place in the list of neighbours counts beside one in a list of nodes.
NEIGHBOUR_WEIGHT = 0.5
BACKENDS = {"text": "knowledge_fts", "vector": "knowledge_vector"}
_WEIGHT = re.compile(r"\s*(?:weight\s*[=:]\s*)?([0-9]*\.?[0-9]+)\s*(?:$|[;,])")
_VIA = "link "


class Edge(NamedTuple):
    """How a node was reached.

    Attributes:
        node: the id of the one that led to it.
        relation: the type of the link.
        weight: that of the link, 0 to 1.
    """

    node: str
    relation: str
    weight: float


def edge_weight(link: Link) -> float:
    """Return the weight of a link, 0 to 1: the number that its note begins with (``0.8`` or ``weight=0.8``), else 1."""
    found = _WEIGHT.match(link.note)
    return MOST_WEIGHT if found is None else min(MOST_WEIGHT, float(found[1]))


def led_by(hit: Hit) -> list[Edge]:
    """Return the nodes that led to a hit of the list ``neighbours``, the best first; none for other hits."""
    edges = []
    for name, weight in hit.raw.items():
        if name.startswith(_VIA) and weight is not None:
            relation, _, node = name.removeprefix(_VIA).partition(" ")
            edges.append(Edge(node, relation.replace("\u00a0", " "), weight))
    return edges


class GraphCorpus:
    """Entries of kind ``node``: a list ``text`` by BM25, ``vector`` by the cosine, and ``neighbours`` over links.

    A node has its label as title and its content as description; a link is an edge with its type as relation, and a
    weight at the beginning of its note. The five best nodes lead to their neighbours, whatever their kind, each to
    ten at most, those of the greatest weight. A neighbour scores half of the best node that led to it, by weight and
    place; `led_by` says which nodes these are. Links from part to part of a text are no edges.

    Args:
        knowledge: a vault or a federation.
        name: what lists and hits call it.
        kinds: of the nodes.
        where: a filter on top, as for `Vault.search`; neighbours need not pass it.
        anchors: so many of the best nodes lead to others, 0 to 100; 0 for no neighbours.
        most_edges: so many neighbours of each, 1 to 1,000.
        profile: whose scores count in place of BM25 and the cosine.
        together: a profile that ranks words and vectors at once, just as `Vault.search` does with it, as one list
            ``hybrid``; None for the two lists.

    Raises:
        QueryError: an argument is none of these.
    """

    #: It waits for no other machine.
    local = True

    def __init__(
        self,
        knowledge: Knowledge,
        *,
        name: str = "knowledge_graph",
        kinds: Iterable[str] = ("node",),
        where: Mapping[str, Any] | None = None,
        anchors: int = ANCHORS,
        most_edges: int = MOST_EDGES,
        profile: ProfileLike | None = None,
        together: ProfileLike | None = None,
    ) -> None:
        self.name = utf8(name, "name", QueryError, 256)
        self._knowledge = knowledge
        self._kinds = checked_names(kinds, "kinds")
        self._where = checked_filter(where)
        self._anchors = whole(anchors, "anchors", QueryError, 0, 100)
        self._most_edges = whole(most_edges, "most_edges", QueryError, 1, 1000)
        self._profile, self._together = profile, together

    def search(self, asked: Asked) -> Answered:
        """Return ``text`` and ``vector``, or ``hybrid``, and ``neighbours``; none of these where there is no time.

        Raises:
            QueryError: the query cannot be understood.
            StoreError: the vault cannot be read.
        """
        limit = max(1, min(asked.limit, MOST_ITEMS))
        found, anchors = self._nodes(asked, limit)
        if not anchors:
            return found
        notes = list(found.notes)
        reached = self._neighbours(anchors, asked, notes)[:limit]
        items = items_of(store_of(self._knowledge), reached)
        # Less than what is found: a neighbour is not above the nodes that led to it.
        ranked = RankedList("neighbours", self.name, items, NEIGHBOUR_WEIGHT, asked.variant)
        backends = [*found.backends, *(["knowledge_links"] if reached else [])]
        return found._replace(lists=[*found.lists, ranked], backends=backends, notes=notes)

    def _nodes(self, asked: Asked, limit: int) -> tuple[Answered, Sequence[Hit]]:
        """Return what words and vectors find, and which of it leads to others."""
        if self._together is not None:
            both = searched_together(
                self._knowledge,
                asked,
                tier=self.name,
                limit=limit,
                kinds=self._kinds,
                where=self._where,
                profile=self._together,
            )
            legs = {"hybrid": both.hits}
            backends = [BACKENDS[leg] for leg in both.legs]
            notes, confidence, anchors = both.notes, both.confidence, [*both.hits]
        else:
            found = searched_legs(
                self._knowledge,
                asked,
                tier=self.name,
                limit=limit,
                kinds=self._kinds,
                where=self._where,
                profile=self._profile,
            )
            legs = {name: leg for name, leg in (("text", found.text), ("vector", found.vector)) if leg is not None}
            backends = [BACKENDS[name] for name in legs]
            notes, confidence = found.notes, found.confidence
            anchors = _alternating(found.text or (), found.vector or ())
        store = store_of(self._knowledge)
        lists = [RankedList(name, self.name, items_of(store, leg), variant=asked.variant) for name, leg in legs.items()]
        return Answered(lists, backends, notes, confidence=confidence), anchors[: self._anchors]

    def explain(self, asked: Asked, entry_id: str) -> Miss | None:
        """Return why words and vectors do not find an entry, to which no link led; None where the vault cannot tell.

        Raises:
            SeptetError: the vault cannot be read.
        """
        return missed(
            self._knowledge,
            asked,
            entry_id,
            limit=max(1, min(asked.limit, MOST_ITEMS)),
            kinds=self._kinds,
            where=self._where,
            profile=self._profile,
            together=self._together,
        )

    def get(self, entry_id: str) -> Entry | None:
        """Return an entry of the vault; None if there is none.

        Raises:
            StoreError: the vault cannot be read.
        """
        return self._knowledge.get(entry_id)

    def _neighbours(self, anchors: Sequence[Hit], asked: Asked, notes: list[Note]) -> list[Hit]:
        reached: dict[str, dict[str, float]] = {}
        scores: dict[str, float] = {}
        for place, anchor in enumerate(anchors):
            if asked.deadline is not None and asked.deadline.passed:
                notes.append(Note("deadline", "no time was left to follow every edge", "", self.name))
                break
            for edge, other in self._edges(anchor.id):
                # By place: scores of words and vectors do not compare.
                score = STEP * edge.weight / (1 + place)
                scores[other] = max(score, scores.get(other, 0.0))
                # A relation has no blank in its name here, so that what follows is the node.
                name = f"{_VIA}{edge.relation.replace(' ', chr(0xA0))} {edge.node}"
                reached.setdefault(other, {"edge_weight": edge.weight})[name] = edge.weight
        known = {anchor.id for anchor in anchors}
        order = sorted((one for one in scores if one not in known), key=lambda one: -scores[one])
        entries = self._knowledge.load(order[:MOST_ITEMS])
        scored: list[Scored] = [(scores[entry.id], self.name, {}, {}, 0.0, reached[entry.id]) for entry in entries]
        return list(hits_of(entries, scored, full=True))

    def _edges(self, node: str) -> list[tuple[Edge, str]]:
        edges = []
        for link in self._knowledge.links(node):
            if link.type != NEXT:
                other = link.target if link.source == node else link.source
                edges.append((Edge(node, link.type, edge_weight(link)), other))
        return sorted(edges, key=lambda one: -one[0].weight)[: self._most_edges]


def _alternating(text: Sequence[Hit], vector: Sequence[Hit]) -> list[Hit]:
    """Return the hits of two lists, each once, by their best place in either."""
    both = sorted([*enumerate(text), *enumerate(vector)], key=lambda one: one[0])
    return list({hit.id: hit for _, hit in reversed(both)}.values())[::-1]
