"""Filters, and which of some entries each lets through, whatever store they are in."""

from datetime import datetime, timezone

from septet import Span

ENTRIES = [
    {"id": "a", "tags": ["http", "auth"], "attrs": {"team": "core", "n": 1, "ok": True, "list": [1, "x", None]}},
    {"id": "b", "tags": ["http"], "attrs": {"team": "web", "n": 1.0, "ok": False, "deep": {"er": {"est": "yes"}}}},
    {"id": "c", "domain": "security", "attrs": {"n": 0, "ok": 1, "nothing": None}, "span": Span("src/a.py", 1, 9)},
    {"id": "d", "type": "rule", "severity": "critical", "attrs": {"n": "1", "ok": 0}, "valid_until": 5_000.0},
    {"id": "e", "tags": ['say "hi"', "%"], "attrs": {"n": -2.5, "list": [], "Team": "core"}, "updated_at": 2_000.0},
]

#: A filter, and the ids of those that pass.
CASES = [
    ({}, "abcde"),
    ({"id": "a"}, "a"),
    ({"id": {"$eq": "a"}}, "a"),
    ({"id": {"$ne": "a"}}, "bcde"),
    ({"id": {"$in": ["a", "e", "z"]}}, "ae"),
    ({"id": {"$in": []}}, ""),
    ({"id": {"$nin": ["a", "e"]}}, "bcd"),
    ({"id": {"$gt": "b"}}, "cde"),
    ({"id": {"$gte": "b", "$lt": "d"}}, "bc"),
    ({"id": {"$lte": "b"}}, "ab"),
    ({"title": {"$contains": "WORD C"}}, "c"),
    ({"domain": "security"}, "c"),
    ({"type": "rule", "severity": "critical"}, "d"),
    ({"kind": {"$ne": "entry"}}, ""),
    ({"path": None}, "abde"),
    ({"path": {"$exists": True}}, "c"),
    ({"path": {"$contains": "src/"}}, "c"),
    ({"path": {"$ne": "src/a.py"}}, "abde"),
    ({"valid_until": None}, "abce"),
    ({"valid_until": {"$gt": 4_000}}, "d"),
    ({"valid_until": {"$exists": False}}, "abce"),
    ({"updated_at": {"$gte": datetime.fromtimestamp(2_000, timezone.utc)}}, "e"),
    ({"updated_at": {"$in": [1_000, 2_000.0]}}, "abcde"),
    ({"created_at": {"$lt": -1}}, ""),
    ({"tags": "http"}, "ab"),
    ({"tags": {"$ne": "http"}}, "cde"),
    ({"tags": {"$in": ["auth", "%"]}}, "ae"),
    ({"tags": {"$in": []}}, ""),
    ({"tags": {"$nin": ["auth", "%"]}}, "bcd"),
    ({"tags": {"$all": ["http", "auth"]}}, "a"),
    ({"tags": {"$contains": "HT"}}, "ab"),
    ({"tags": 'say "hi"'}, "e"),
    ({"tags": {"$exists": False}}, "cd"),
    ({"attrs.team": "core"}, "a"),
    ({"attrs.team": {"$ne": "core"}}, "bcde"),
    ({"attrs.team": {"$exists": True}}, "ab"),
    ({"attrs.team": {"$gt": "core"}}, "b"),
    ({"attrs.deep.er.est": "yes"}, "b"),
    ({"attrs.deep": {"$exists": True}}, "b"),
    ({"attrs.n": 1}, "ab"),
    ({"attrs.n": "1"}, "d"),
    ({"attrs.n": {"$lte": 0}}, "ce"),
    ({"attrs.n": {"$gt": 0.5, "$lt": 1.5}}, "ab"),
    ({"attrs.ok": True}, "a"),
    ({"attrs.ok": False}, "b"),
    ({"attrs.ok": 1}, "c"),
    ({"attrs.ok": 0}, "d"),
    ({"attrs.ok": {"$in": [True, 0]}}, "ad"),
    ({"attrs.list": "x"}, "a"),
    ({"attrs.list": {"$all": [1, "x"]}}, "a"),
    ({"attrs.list": {"$exists": True}}, "ae"),
    ({"attrs.nothing": None}, "abcde"),
    ({"attrs.nothing": {"$exists": True}}, "c"),
    ({"attrs.nothing": {"$ne": None}}, ""),
    ({"attrs.team": None}, "cde"),
    ({"$and": [{"tags": "http"}, {"attrs.team": "web"}]}, "b"),
    ({"$or": [{"id": "c"}, {"tags": "auth"}]}, "ac"),
    ({"$nor": [{"id": "c"}, {"tags": "auth"}]}, "bde"),
    ({"$not": {"path": "src/a.py"}}, "abde"),
    ({"attrs.n": {"$not": {"$gt": 0}}}, "cde"),
    ({"$not": {"$or": [{"id": "a"}, {"$not": {"tags": "http"}}]}}, "b"),
]
#: Null among alternatives is what equality with null is.
NULLS = [
    ({"path": {"$in": [None]}}, "abde"),
    ({"attrs.team": {"$in": [None, "web"]}}, "bcde"),
    ({"attrs.team": {"$nin": [None]}}, "ab"),
]
#: All conditions of one part must hold.
PARTS = [
    ({"$or": [{"tags": "http", "attrs.team": "web"}]}, "b"),
    ({"$or": [{"tags": "http", "attrs.team": "web"}, {"type": "rule", "severity": "critical"}]}, "bd"),
    ({"$or": [{"type": "rule", "severity": "warning"}, {"attrs.ok": 1, "domain": "general"}]}, ""),
    ({"$and": [{"tags": "http", "attrs.n": 1}, {"attrs.ok": True}]}, "a"),
    ({"$nor": [{"tags": "http", "attrs.team": "web"}]}, "acde"),
    ({"$not": {"attrs.team": "web", "tags": "http"}}, "acde"),
    ({"$not": {"attrs.team": "core", "tags": "http", "attrs.ok": True}}, "bcde"),
]
