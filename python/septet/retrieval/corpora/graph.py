"""The knowledge graph: entries as nodes, links as edges; text and vector hits, and their neighbours."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from septet.errors import QueryError
from septet.inputs.arguments import whole
from septet.model.links import NEXT, Link
from septet.model.results import Hit, Scored, hits_of
from septet.notes import Note
from septet.profiles import ProfileLike
from septet.query.options import Leg
from septet.retrieval.corpora.legs import MOST_ITEMS, VaultSearch, checked_filter, checked_names, limit_of
from septet.retrieval.corpus import CorpusAnswer, CorpusRequest
from septet.retrieval.knowledge import Knowledge, links_of

#: Maximum anchors, the nodes whose neighbours are listed, and maximum neighbours of each.
ANCHORS, MOST_EDGES = 5, 10
#: Factor of a neighbour's score relative to its anchor, times the weight of the edge.
STEP = 0.5
MOST_WEIGHT = 1.0
#: Weight of the list of neighbours relative to lists of nodes.
NEIGHBOUR_WEIGHT = 0.5
BACKENDS: Mapping[Leg, str] = {"text": "knowledge_fts", "vector": "knowledge_vector"}
_WEIGHT = re.compile(r"\s*(?:weight\s*[=:]\s*)?([0-9]*\.?[0-9]+)\s*(?:$|[;,])")
_VIA = "link "


class Edge(NamedTuple):
    """The edge to a neighbour.

    Attributes:
        node: id of the anchor.
        relation: type of the link.
        weight: weight of the link, 0 to 1.
    """

    node: str
    relation: str
    weight: float


def edge_weight(link: Link) -> float:
    """Return the weight of a link, 0 to 1: the number at the start of its note (``0.8`` or ``weight=0.8``), else 1."""
    match = _WEIGHT.match(link.note)
    return MOST_WEIGHT if match is None else min(MOST_WEIGHT, float(match[1]))


def led_by(hit: Hit) -> list[Edge]:
    """Return the edges to a hit of the list ``neighbours``, best first; empty for other hits."""
    edges = []
    for name, weight in hit.raw.items():
        if name.startswith(_VIA) and weight is not None:
            relation, _, node = name.removeprefix(_VIA).partition(" ")
            edges.append(Edge(node, relation.replace("\u00a0", " "), weight))
    return edges


class GraphCorpus(VaultSearch):
    """Entries of kind ``node``: a list ``text`` by BM25, ``vector`` by the cosine, and ``neighbours`` over links.

    A node has its label as title and its content as description; a link is an edge with its type as relation, and a
    weight at the start of its note. The five best nodes are anchors: their neighbours of any kind are listed, at most
    ten each, by weight. A neighbour scores half of its best anchor, by weight and place; `led_by` returns its anchors.
    Links between the parts of a text are not edges.

    Args:
        knowledge: a vault or a federation.
        name: the name in lists and hits.
        kinds: of the nodes.
        where: an additional filter, as for `Vault.search`; neighbours need not pass it.
        anchors: maximum anchors, 0 to 100; 0 for no neighbours.
        most_edges: maximum neighbours of each, 1 to 1,000.
        profile: a profile whose scores replace BM25 and the cosine.
        together: a profile that ranks words and vectors in one search, as in `Vault.search`, as one list ``hybrid``;
            None for the two lists.

    Raises:
        QueryError: an argument is invalid.
    """

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
        super().__init__(
            name,
            knowledge,
            BACKENDS,
            kinds=checked_names(kinds, "kinds"),
            where=checked_filter(where),
            profile=profile,
            together=together,
        )
        self._anchors = whole(anchors, "anchors", QueryError, 0, 100)
        self._most_edges = whole(most_edges, "most_edges", QueryError, 1, 1000)

    def search(self, request: CorpusRequest) -> CorpusAnswer:
        """Return ``text`` and ``vector``, or ``hybrid``, and ``neighbours``; no neighbours after the deadline."""
        limit = limit_of(request)
        leg_hits = self._searched(request, limit)
        answer = self._answer(request, leg_hits, leg_hits.lists)
        # The nodes by their best place in any list.
        pairs = [pair for hits in leg_hits.lists.values() for pair in enumerate(hits)]
        nodes = sorted(pairs, key=itemgetter(0))
        anchors = [*{hit.id: hit for _, hit in reversed(nodes)}.values()][::-1][: self._anchors]
        if not anchors:
            return answer
        notes = list(answer.notes)
        reached = self._neighbours(anchors, request, notes)[:limit]
        # A lower weight: a neighbour must not rank above its anchors.
        neighbours = self._list("neighbours", request, reached, NEIGHBOUR_WEIGHT)
        backends = [*answer.backends, *(["knowledge_links"] if reached else [])]
        return answer._replace(lists=[*answer.lists, neighbours], backends=backends, notes=notes)

    def _neighbours(self, anchors: Sequence[Hit], request: CorpusRequest, notes: list[Note]) -> list[Hit]:
        reached: dict[str, dict[str, float]] = {}
        scores: dict[str, float] = {}
        if request.deadline is not None and request.deadline.passed:
            notes.append(Note("deadline", "the deadline passed before all edges were followed", "", self.name))
            return []
        for place, edges in enumerate(self._edges([anchor.id for anchor in anchors])):
            for edge, other in edges:
                # By place: text and vector scores are not comparable.
                score = STEP * edge.weight / (1 + place)
                scores[other] = max(score, scores.get(other, 0.0))
                # Blanks in a relation are replaced, so that the node follows the first blank.
                name = f"{_VIA}{edge.relation.replace(' ', chr(0xA0))} {edge.node}"
                reached.setdefault(other, {"edge_weight": edge.weight})[name] = edge.weight
        if not scores:
            return []
        known = {anchor.id for anchor in anchors}
        order = sorted(
            (entry_id for entry_id in scores if entry_id not in known), key=lambda entry_id: -scores[entry_id]
        )
        entries = self._knowledge.load(order[:MOST_ITEMS])
        scored: list[Scored] = [(scores[entry.id], self.name, {}, {}, 0.0, reached[entry.id]) for entry in entries]
        return list(hits_of(entries, scored, full=True))

    def _edges(self, nodes: Sequence[str]) -> list[list[tuple[Edge, str]]]:
        """Return the edges of each node with its neighbours, the heaviest first."""
        edges_of_all = []
        for node, links in links_of(self._knowledge, nodes).items():
            edges = [
                (Edge(node, link.type, edge_weight(link)), link.target if link.source == node else link.source)
                for link in links
                if link.type != NEXT
            ]
            edges.sort(key=lambda pair: -pair[0].weight)
            edges_of_all.append(edges[: self._most_edges])
        return edges_of_all
