-- Schema version 1 (storage/postgres/migrations.py brings older databases here). All vaults of a database share these
-- tables; every row carries its vault and its bucket, and a statement names both wherever it can.
--
-- bucket = vault * 1024 + crc32(id) mod B: what belongs to one entry (its postings, vectors, links, history, feedback)
-- has the bucket of its id, so that Citus keeps it in one place. Counts of terms have the bucket of the term.

CREATE SCHEMA IF NOT EXISTS septet;

CREATE TABLE septet.meta (
    key   text PRIMARY KEY,
    value text NOT NULL
);

CREATE TABLE septet.vaults (
    vault      integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    name       text    NOT NULL UNIQUE,
    buckets    integer NOT NULL CHECK (buckets BETWEEN 1 AND 1024),
    vectors    text    NOT NULL CHECK (vectors IN ('vector', 'halfvec')),
    created_at float8  NOT NULL
);
-- The buckets of each vault, for statements that Citus must take apart by buckets and that begin at no other table.
CREATE TABLE septet.buckets (
    vault  integer NOT NULL,
    bucket integer NOT NULL,
    PRIMARY KEY (vault, bucket)
);

-- The clock: each write transaction takes the next number. Of two that overlap, the one with the higher number may
-- commit first.
CREATE SEQUENCE septet.clock;
-- Rows of entries: nextval * 1024 + bucket mod 1024, so that a row says where it is.
CREATE SEQUENCE septet.row_numbers;

-- A delete is an update: text emptied, live = false. `purge` removes such rows for good.
CREATE TABLE septet.entries (
    vault       integer NOT NULL,
    bucket      integer NOT NULL,
    row         bigint  NOT NULL,
    id          text    NOT NULL,
    kind        text    NOT NULL,
    type        text    NOT NULL,
    domain      text    NOT NULL,
    severity    text    NOT NULL,
    title       text    NOT NULL,
    description text    NOT NULL,
    context     text    NOT NULL,
    tags        text    NOT NULL,           -- JSON list of strings
    grams       text    NOT NULL,           -- extra index terms, blank-separated
    attrs       text    NOT NULL,           -- JSON object
    path        text,
    first_line  bigint,
    last_line   bigint,
    created_at  float8  NOT NULL,
    updated_at  float8  NOT NULL,
    valid_from  float8,
    valid_until float8,
    parent      text,
    source      text,
    trust       text    NOT NULL,
    text_hash   text    NOT NULL COLLATE "C", -- of title, description, context
    live        boolean NOT NULL,
    generation  bigint  NOT NULL,
    PRIMARY KEY (vault, bucket, row),
    UNIQUE (vault, bucket, id)
);
CREATE INDEX entries_by_id ON septet.entries (vault, id COLLATE "C") WHERE live;
-- With the row and the kind, so that texts without a vector are found in indexes alone.
CREATE INDEX entries_by_text ON septet.entries (vault, text_hash, bucket) INCLUDE (row, kind) WHERE live;
CREATE INDEX entries_by_facts ON septet.entries (vault, domain, type, severity) WHERE live;
CREATE INDEX entries_by_parent ON septet.entries (vault, parent) WHERE parent IS NOT NULL;
CREATE INDEX entries_by_validity ON septet.entries (vault, bucket)
    WHERE live AND (valid_from IS NOT NULL OR valid_until IS NOT NULL);
CREATE INDEX entries_by_creation ON septet.entries (vault, created_at, id COLLATE "C") WHERE live;
CREATE INDEX entries_by_update ON septet.entries (vault, updated_at DESC, row) WHERE live;
CREATE INDEX entries_by_row ON septet.entries (vault, row);
CREATE INDEX entries_deleted ON septet.entries (vault) WHERE NOT live;

-- How often a term, as FTS5 makes them, is in each column of an entry, and the tokens of all of them. `part` is 0 for
-- the texts of an entry (id, title, description, context, tags), 1 for its grams (all in `title`).
CREATE TABLE septet.postings (
    vault       integer  NOT NULL,
    bucket      integer  NOT NULL,
    part        smallint NOT NULL,
    term        text     NOT NULL COLLATE "C",
    row         bigint   NOT NULL,
    memory      boolean  NOT NULL,          -- of an entry of kind 'memory'
    id          integer  NOT NULL,
    title       integer  NOT NULL,
    description integer  NOT NULL,
    context     integer  NOT NULL,
    tags        integer  NOT NULL,
    tokens      integer  NOT NULL,          -- of the entry, in all columns of the part
    PRIMARY KEY (vault, bucket, part, term, row) INCLUDE (memory, id, title, description, context, tags, tokens)
);
CREATE INDEX postings_by_row ON septet.postings (vault, bucket, row);

-- The same postings as searches rank them: by term, the rows of a span (1,024 numbers of `row_numbers`) as one row of
-- bytes (rust/core/src/blocks). Written by folds alone: what a write changes waits in `count_changes`.
CREATE TABLE septet.posting_blocks (
    vault    integer  NOT NULL,
    bucket   integer  NOT NULL,             -- of the term, as in `term_counts`
    part     smallint NOT NULL,
    term     text     NOT NULL COLLATE "C",
    span     bigint   NOT NULL,             -- row / 1024 / 1024
    postings bytea    NOT NULL,
    PRIMARY KEY (vault, bucket, part, term, span)
) WITH (toast_tuple_target = 8160);
-- They are short already, and the planner learns nothing from them.
ALTER TABLE septet.posting_blocks ALTER postings SET STORAGE EXTERNAL, ALTER postings SET STATISTICS 0;

-- What searches must know of the whole vault. A write only adds a row to `count_changes`, so writers never wait for each
-- other; every now and then one of them folds these rows into `term_counts` and `totals`. Sums over both are exact in
-- every snapshot.
--
-- `part`: 0 texts and 1 grams, as above; 2 trigrams inside words, by their number; 3 terms of TF-IDF; 4 words, as
-- spelling compares them; 5 vectors, by `space:level`, and 6 the sums of their `sample` (tables/covered.py); 7 contexts,
-- of which only the tokens are kept; plus 16 for memories. 32 feedback, by action.
CREATE TABLE septet.term_counts (
    vault  integer  NOT NULL,
    bucket integer  NOT NULL,               -- vault * 1024 + the first 16 bits of sha256(term) mod B
    part   smallint NOT NULL,
    term   text     NOT NULL COLLATE "C",
    count  bigint   NOT NULL,               -- how many entries hold the term
    PRIMARY KEY (vault, bucket, part, term) -- which `count` stays out of, so that an update need not touch it
) WITH (fillfactor = 70);
CREATE TABLE septet.totals (
    vault  integer  NOT NULL,
    bucket integer  NOT NULL,               -- vault * 1024
    part   smallint NOT NULL,
    rows   bigint   NOT NULL,               -- entries that have the part
    tokens bigint   NOT NULL,               -- in all of them; of trigrams, how many there are
    PRIMARY KEY (vault, bucket, part)
) WITH (fillfactor = 70);
CREATE TABLE septet.count_changes (
    vault  integer NOT NULL,
    bucket integer NOT NULL,                -- of the first entry that was written
    change bigint  NOT NULL,                -- from `row_numbers`
    counts jsonb   NOT NULL,                -- {part: {term: difference}}
    totals jsonb   NOT NULL,                -- {part: [rows, tokens]}
    size   integer NOT NULL,                -- terms in `counts`
    losses integer NOT NULL,                -- how many of them have a negative difference
    postings bytea,                         -- changes of them, as `_core.written_postings` says it
    folded boolean NOT NULL,                -- on a cluster: it is in the sums and blocks, and goes at once
    PRIMARY KEY (vault, bucket, change)
);
ALTER TABLE septet.count_changes ALTER postings SET STORAGE EXTERNAL;

-- From both ends, so that either end finds its links in its own bucket.
CREATE TABLE septet.links (
    vault      integer NOT NULL,
    bucket     integer NOT NULL,            -- of `node`
    node       text    NOT NULL COLLATE "C",
    other      text    NOT NULL COLLATE "C",
    other_bucket integer NOT NULL,
    row        bigint  NOT NULL,            -- of `node`, and of `other`: entries keep theirs for good
    other_row  bigint  NOT NULL,
    outgoing   boolean NOT NULL,            -- `node` is the source
    type       text    NOT NULL,
    note       text    NOT NULL,
    generation bigint  NOT NULL,            -- in which it was stored last
    PRIMARY KEY (vault, bucket, node, other, outgoing)
);
-- The order in which they are walked: newest first, of equally old ones the lower row.
CREATE INDEX links_by_age ON septet.links (vault, bucket, row, generation DESC, other_row);

CREATE TABLE septet.history (
    vault   integer NOT NULL,
    bucket  integer NOT NULL,
    entry   bigint  NOT NULL,               -- row of `entries`
    version integer NOT NULL,               -- ascending
    at      float8  NOT NULL,
    call    text    NOT NULL,
    columns text    NOT NULL,               -- JSON object
    PRIMARY KEY (vault, bucket, entry, version)
);

CREATE TABLE septet.feedback (
    vault      integer NOT NULL,
    bucket     integer NOT NULL,
    row        bigint  NOT NULL,            -- from `row_numbers`
    query      text    NOT NULL,
    entry_id   text    NOT NULL,
    action     text    NOT NULL,
    created_at float8  NOT NULL,
    PRIMARY KEY (vault, bucket, row)
);

-- `keyed_by`: as in a local vault, 'text' for a provider's vectors, 'entry' for those that callers gave.
CREATE TABLE septet.spaces (
    vault      integer NOT NULL,
    space      integer NOT NULL GENERATED ALWAYS AS IDENTITY,
    model      text    NOT NULL,
    dimensions integer NOT NULL,
    keyed_by   text    NOT NULL CHECK (keyed_by IN ('text', 'entry')),
    state      text    NOT NULL DEFAULT 'active',
    pooling    text,
    hnsw       boolean NOT NULL DEFAULT false,
    created_at float8  NOT NULL,
    PRIMARY KEY (vault, space),
    UNIQUE (vault, model, dimensions, keyed_by)
);

-- `key` is the text_hash of the entry, or text_hash:id in spaces keyed by entry. Equal texts in different buckets have
-- a copy each: whoever writes an entry copies what another bucket has of its text, and a vector that arrives is stored
-- in every bucket with such an entry. One of `vector` and `half` is set, as the vault says. By key before bucket, so
-- that a text's copies lie together.
CREATE TABLE septet.vectors (
    vault      integer NOT NULL,
    bucket     integer NOT NULL,
    space      integer NOT NULL,
    key        text    NOT NULL COLLATE "C",
    vector     vector,
    half       halfvec,
    sample     bigint  NOT NULL,            -- `_core.row_keys` of the unit row: what rows are sampled by
    generation bigint  NOT NULL DEFAULT 0,  -- in which it arrived after its entry; 0 for one given with it
    PRIMARY KEY (vault, space, key, bucket)
);
-- The planner learns nothing from them, and they are long to look at.
ALTER TABLE septet.vectors ALTER vector SET STATISTICS 0, ALTER half SET STATISTICS 0;
CREATE INDEX vectors_by_sample ON septet.vectors (vault, space, sample);

CREATE TABLE septet.claims (
    vault integer NOT NULL,
    model text    NOT NULL,
    key   text    NOT NULL,
    owner text    NOT NULL,
    until float8  NOT NULL,
    PRIMARY KEY (vault, model, key)
);

CREATE TABLE septet.jobs (
    vault      integer NOT NULL,
    job        bigint  NOT NULL GENERATED ALWAYS AS IDENTITY,
    model      text    NOT NULL,
    place      text    NOT NULL,
    name       text    NOT NULL,
    batch      text,
    owner      text    NOT NULL,
    until      float8  NOT NULL,
    created_at float8  NOT NULL,
    PRIMARY KEY (vault, job)
);

-- What a vault keeps about itself, such as how far a copy has come.
CREATE TABLE septet.settings (
    vault integer NOT NULL,
    key   text    NOT NULL,
    value text    NOT NULL,
    PRIMARY KEY (vault, key)
);
