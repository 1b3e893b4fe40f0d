-- Schema version 7 (storage/migrations.py brings older files here). Every row of `entries` carries the generation (the store's clock) that last wrote it.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value NOT NULL
) WITHOUT ROWID;

-- A delete is an update: text emptied, live = 0. `purge` removes such rows for good.
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

-- The full-text tables are kept equal to `entries` by storage/tables/indexing.py, in the transaction that writes.
CREATE VIRTUAL TABLE entries_fts USING fts5(
    id, title, description, context, tags,
    content = 'entries', content_rowid = 'row',
    tokenize = 'porter unicode61 remove_diacritics 2'
);

-- The grams have a table of their own: BM25's length counts the tokens of all columns of a row, so as a sixth column
-- they would change the documented score of every row as soon as one entry has any.
CREATE VIRTUAL TABLE grams_fts USING fts5(
    grams,
    content = 'entries', content_rowid = 'row',
    tokenize = 'porter unicode61 remove_diacritics 2'
);

-- Memories are searched apart: an entry of kind 'memory' keeps context, summary and topics in title, description, tags.
CREATE VIEW memories AS
    SELECT row, id, title AS context, description AS summary, tags AS topics, grams
    FROM entries WHERE live AND kind = 'memory';
CREATE VIRTUAL TABLE memories_fts USING fts5(
    id, context, summary, topics, grams,
    content = 'memories', content_rowid = 'row',
    tokenize = 'porter unicode61 remove_diacritics 2'
);

-- What entries were before they were changed: of each version the columns that the change replaced, as JSON.
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

-- By rows of `entries`, in which generation a link was stored or removed last; it is there if `links` has it.
CREATE TABLE link_changes (
    source     INTEGER NOT NULL,
    target     INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    PRIMARY KEY (source, target)
) WITHOUT ROWID;
CREATE INDEX link_changes_by_generation ON link_changes (generation);

-- A space is a model with a dimension. `keyed_by` says what addresses a vector: the text alone ('text', a provider's
-- vectors) or the text of one entry ('entry', vectors given by the caller). With the first space of texts comes an index
-- entries_by_text (storage/tables/texts.py), which vaults without an embedder need not pay for.
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

-- Texts that a process is having embedded at the moment, so that no other pays for them too; void after `until`.
CREATE TABLE claims (
    model TEXT NOT NULL,
    key   TEXT NOT NULL,                    -- text_hash
    owner TEXT NOT NULL,
    until REAL NOT NULL,                    -- epoch seconds
    PRIMARY KEY (model, key)
) WITHOUT ROWID;

-- What a provider embeds over hours. The texts of a job are claimed in the job's name, which is no process's.
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

-- Folders whose files are kept as chunks: entries of kind 'chunk' with the file's `id` for parent (files/).
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

-- What chunks name in [[wiki]] and relative links, whether or not it exists, and the other names of notes.
CREATE TABLE mentions (
    chunk      TEXT    NOT NULL,            -- id of the entry
    file       INTEGER NOT NULL,            -- the file it is in
    target     TEXT    NOT NULL,            -- a folded path, name or stem
    anchor     TEXT    NOT NULL,            -- a heading, '' for none
    type       TEXT    NOT NULL,            -- 'wiki', 'link', or 'alias' for another name of the file itself
    PRIMARY KEY (chunk, target, anchor)
) WITHOUT ROWID;
CREATE INDEX mentions_by_file ON mentions (file);
CREATE INDEX mentions_by_target ON mentions (target);

-- Chunks made anew, in another way, while those made before still answer; one transaction takes them over.
CREATE TABLE staged (
    row        INTEGER PRIMARY KEY,
    file       INTEGER NOT NULL,
    hash       TEXT    NOT NULL,            -- of the bytes of the file that they were made from
    text_hash  TEXT    NOT NULL,            -- of title, description, context
    entry      TEXT    NOT NULL             -- JSON object: the fields of the entry, and what it mentions
);
CREATE INDEX staged_by_file ON staged (file);
