-- A vault of schema version 7, as Septet 0.1.0 wrote it: its tables, and the rows of those that are not derived.
CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value NOT NULL
) WITHOUT ROWID;
CREATE TABLE entries (
    row         INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL UNIQUE,
    kind        TEXT    NOT NULL,
    type        TEXT    NOT NULL,
    domain      TEXT    NOT NULL,
    severity    TEXT    NOT NULL,
    title       TEXT    NOT NULL,
    description TEXT    NOT NULL,
    context     TEXT    NOT NULL,
    tags        TEXT    NOT NULL,           -- JSON list of strings
    grams       TEXT    NOT NULL,           -- extra index terms, blank-separated
    attrs       TEXT    NOT NULL,           -- JSON object
    path        TEXT,
    first_line  INTEGER,
    last_line   INTEGER,
    created_at  REAL    NOT NULL,
    updated_at  REAL    NOT NULL,
    valid_from  REAL,
    valid_until REAL,
    text_hash   TEXT    NOT NULL,           -- of title, description, context
    live        INTEGER NOT NULL,
    generation  INTEGER NOT NULL,
    parent      TEXT,                       -- id of the entry that this is a part of; of one that was split its own id
    source      TEXT,                       -- where the text comes from
    trust       TEXT    NOT NULL DEFAULT 'trusted'
);
CREATE INDEX entries_by_generation ON entries (generation);
CREATE INDEX entries_by_facts ON entries (domain, type, severity);
CREATE INDEX entries_by_parent ON entries (parent) WHERE parent IS NOT NULL;
CREATE VIRTUAL TABLE entries_fts USING fts5(
    id, title, description, context, tags,
    content = 'entries', content_rowid = 'row',
    tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE grams_fts USING fts5(
    grams,
    content = 'entries', content_rowid = 'row',
    tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE VIEW memories AS
    SELECT row, id, title AS context, description AS summary, tags AS topics, grams
    FROM entries WHERE live AND kind = 'memory';
CREATE VIRTUAL TABLE memories_fts USING fts5(
    id, context, summary, topics, grams,
    content = 'memories', content_rowid = 'row',
    tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE TABLE history (
    entry   INTEGER NOT NULL,               -- row of `entries`
    version INTEGER NOT NULL,               -- ascending
    at      REAL    NOT NULL,               -- when it was replaced, epoch seconds
    call    TEXT    NOT NULL,               -- by which call
    columns TEXT    NOT NULL,               -- JSON object
    PRIMARY KEY (entry, version)
) WITHOUT ROWID;
CREATE TABLE links (
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    type   TEXT NOT NULL,
    note   TEXT NOT NULL,
    PRIMARY KEY (source, target)
) WITHOUT ROWID;
CREATE INDEX links_by_target ON links (target, source);
CREATE TABLE link_changes (
    source     INTEGER NOT NULL,
    target     INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    PRIMARY KEY (source, target)
) WITHOUT ROWID;
CREATE INDEX link_changes_by_generation ON link_changes (generation);
CREATE TABLE spaces (
    space      INTEGER PRIMARY KEY,
    model      TEXT    NOT NULL,
    dimensions INTEGER NOT NULL,
    keyed_by   TEXT    NOT NULL CHECK (keyed_by IN ('text', 'entry')),
    created_at REAL    NOT NULL,
    UNIQUE (model, dimensions, keyed_by)
);
CREATE TABLE vectors (
    row    INTEGER PRIMARY KEY,
    space  INTEGER NOT NULL REFERENCES spaces (space),
    key    TEXT    NOT NULL,
    vector BLOB    NOT NULL,                -- little-endian float32, as given
    -- In which it arrived after its entry; 0 for vectors given together with their entry.
    generation INTEGER NOT NULL DEFAULT 0,
    UNIQUE (key, space)
);
CREATE INDEX vectors_by_generation ON vectors (space, generation) WHERE generation > 0;
CREATE TABLE claims (
    model TEXT NOT NULL,
    key   TEXT NOT NULL,                    -- text_hash
    owner TEXT NOT NULL,
    until REAL NOT NULL,                    -- epoch seconds
    PRIMARY KEY (model, key)
) WITHOUT ROWID;
CREATE TABLE jobs (
    job        INTEGER PRIMARY KEY,
    model      TEXT NOT NULL,
    place      TEXT NOT NULL,               -- the provider's address
    name       TEXT NOT NULL,               -- what the job is called there
    batch      TEXT,                        -- the provider's id; NULL until it has answered
    owner      TEXT NOT NULL,               -- the process that looks after it, '' for none
    until      REAL NOT NULL,               -- epoch seconds
    created_at REAL NOT NULL
);
CREATE TABLE feedback (
    row        INTEGER PRIMARY KEY,
    query      TEXT NOT NULL,
    entry_id   TEXT NOT NULL,
    action     TEXT NOT NULL,
    created_at REAL NOT NULL
);
CREATE TABLE roots (
    root       INTEGER PRIMARY KEY,
    path       TEXT NOT NULL UNIQUE,        -- absolute, links resolved
    name       TEXT NOT NULL UNIQUE,        -- `source` of its chunks
    options    TEXT NOT NULL,               -- JSON object: which files, and how they are read
    identity   TEXT NOT NULL,               -- what made its chunks: chunker, version, sizes, redaction
    synced_at  REAL,                        -- when the last whole sync ended, epoch seconds
    problem    TEXT                         -- why the last sync of it failed
);
CREATE TABLE files (
    file       INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,        -- `parent` of its chunks; stays when the file is renamed
    root       INTEGER NOT NULL REFERENCES roots (root),
    path       TEXT NOT NULL,               -- below the root, with forward slashes
    name       TEXT NOT NULL,               -- last part of the path, folded (NFC, lower case)
    stem       TEXT NOT NULL,               -- the name without its ending
    kind       TEXT NOT NULL,               -- 'text' or 'session'
    size       INTEGER NOT NULL,            -- bytes, as of what is indexed
    mtime_ns   INTEGER NOT NULL,
    hash       TEXT NOT NULL,               -- SHA-256 of the bytes
    state      TEXT NOT NULL DEFAULT '{}',  -- JSON object: of a session, where reading goes on
    synced_at  REAL NOT NULL,               -- epoch seconds
    problem    TEXT,                        -- why it is not indexed, or only in part
    UNIQUE (root, path)
);
CREATE INDEX files_by_name ON files (name);
CREATE INDEX files_by_stem ON files (stem);
CREATE TABLE mentions (
    chunk      TEXT    NOT NULL,            -- id of the entry
    file       INTEGER NOT NULL,            -- the file it is in
    target     TEXT    NOT NULL,            -- a folded path, name or stem
    anchor     TEXT    NOT NULL,            -- a heading, '' for none
    type       TEXT    NOT NULL,            -- 'wiki' or 'link'
    PRIMARY KEY (chunk, target, anchor)
) WITHOUT ROWID;
CREATE INDEX mentions_by_file ON mentions (file);
CREATE INDEX mentions_by_target ON mentions (target);
CREATE TABLE staged (
    row        INTEGER PRIMARY KEY,
    file       INTEGER NOT NULL,
    hash       TEXT    NOT NULL,            -- of the bytes of the file that they were made from
    text_hash  TEXT    NOT NULL,            -- of title, description, context
    entry      TEXT    NOT NULL             -- JSON object: the fields of the entry, and what it mentions
);
CREATE INDEX staged_by_file ON staged (file);
INSERT INTO meta VALUES ('generation', 7);
INSERT INTO meta VALUES ('store_id', '2ef1208680c5602b50d92b3982b1fcb0');
INSERT INTO entries VALUES (1, 'auth-jwt-001', 'entry', 'rule', 'security', 'critical', 'JWT validation', 'Check exp, aud and the signature', '', '["auth","jwt"]', '', '{"team":"core"}', NULL, NULL, NULL, 1700000000.0, 1700000000.0, NULL, NULL, '4ff61cb5a0e13192a0da8f373a0e4f6a', 1, 1, NULL, NULL, 'trusted');
INSERT INTO entries VALUES (2, 'cafe', 'entry', 'note', 'general', 'suggestion', 'Café naïf', 'getUserName is read once', '', '[]', 'cafze9z nazefzf cafze9z nazefzf cafze9z nazefzf get user name', '{}', NULL, NULL, NULL, 1700000000.0, 1700000000.0, NULL, NULL, 'd4c85f329ff6065e76da69769369470f', 1, 4, NULL, 'user', 'unverified');
INSERT INTO entries VALUES (3, 'long', 'entry', 'note', 'general', 'suggestion', 'Long', 'word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word word ', '', '[]', '', '{}', NULL, NULL, NULL, 1700000000.0, 1700000000.0, NULL, NULL, '9ce339becdd14c2cfcfac339084aacc2', 1, 3, 'long', NULL, 'trusted');
INSERT INTO entries VALUES (4, 'long#1', 'entry', 'note', 'general', 'suggestion', 'Long', 'word word word word word word word word word word word word word word word word word word word word', '', '[]', '', '{}', 'long', 1, 1, 1700000000.0, 1700000000.0, NULL, NULL, 'a3ab9855886758566795f797a0fd4536', 1, 3, 'long', NULL, 'trusted');
INSERT INTO entries VALUES (5, 'long#2', 'entry', 'note', 'general', 'suggestion', 'Long', 'word word word word word word word word word word word word word word word word word word word word', '', '[]', '', '{}', 'long', 1, 1, 1700000000.0, 1700000000.0, NULL, NULL, 'a3ab9855886758566795f797a0fd4536', 1, 3, 'long', NULL, 'trusted');
INSERT INTO entries VALUES (6, 'long#3', 'entry', 'note', 'general', 'suggestion', 'Long', 'word word word word word word word word word word word word word word word word word word word word', '', '[]', '', '{}', 'long', 1, 1, 1700000000.0, 1700000000.0, NULL, NULL, 'a3ab9855886758566795f797a0fd4536', 1, 3, 'long', NULL, 'trusted');
INSERT INTO entries VALUES (7, 'maria', 'memory', 'session', 'general', 'suggestion', 'Maria prefers short reports', '', '', '["maria"]', '', '{}', NULL, NULL, NULL, 1700000000.0, 1700000000.0, NULL, NULL, 'f11018865c63aeea97d9011d35e521aa', 1, 6, NULL, NULL, 'trusted');
INSERT INTO history VALUES (2, 1, 1700000000.0, 'update', '{"description":"getUserName","updated_at":1700000000.0}');
INSERT INTO links VALUES ('auth-jwt-001', 'cafe', 'supports', 'why');
INSERT INTO links VALUES ('long#1', 'long#2', 'next', '');
INSERT INTO links VALUES ('long#2', 'long#3', 'next', '');
INSERT INTO link_changes VALUES (4, 5, 3);
INSERT INTO link_changes VALUES (5, 6, 3);
INSERT INTO link_changes VALUES (1, 2, 5);
INSERT INTO spaces VALUES (1, 'm', 2, 'entry', 1700000000.0);
INSERT INTO vectors VALUES (1, 1, '4ff61cb5a0e13192a0da8f373a0e4f6a:auth-jwt-001', X'0000803F00000000', 0);
INSERT INTO feedback VALUES (1, 'jwt', 'auth-jwt-001', 'accepted', 1700000000.0);
INSERT INTO entries_fts (rowid, id, title, description, context, tags)
    SELECT row, id, title, description, context, tags FROM entries e WHERE e.live AND e.kind <> 'memory' AND e.parent IS NOT e.id;
INSERT INTO grams_fts (rowid, grams) SELECT row, grams FROM entries e WHERE e.live AND e.kind <> 'memory' AND e.parent IS NOT e.id AND e.grams <> '';
INSERT INTO memories_fts (rowid, id, context, summary, topics, grams)
    SELECT row, id, context, summary, topics, grams FROM memories;
PRAGMA application_id = 1397773396;
PRAGMA user_version = 7;
