-- The index: derived from the archive, rebuilt by `retro reindex`.
-- One row a session, source and turn. What comes later (passages, usage records, readings) hangs on these by id.

CREATE TABLE setting (
    name  TEXT PRIMARY KEY,
    value ANY
) STRICT, WITHOUT ROWID;

CREATE TABLE session (
    id               INTEGER PRIMARY KEY,
    host             TEXT NOT NULL,
    session_id       TEXT NOT NULL,
    parent           TEXT,              -- session id of the same host
    forked           INTEGER NOT NULL DEFAULT 0,   -- 1 where its own file names the parent
    title            TEXT,
    titled           INTEGER NOT NULL DEFAULT 0,   -- 1 where a person or the host gave the title in its own file
    linked_title     TEXT,                         -- given by another record, see the table title
    linked_place     INTEGER NOT NULL DEFAULT -1,
    project          TEXT,
    cwd              TEXT,
    repository       TEXT,
    domain           TEXT,
    branch           TEXT,
    clone            INTEGER,           -- the repository it worked in, see the table clone; NULL for none
    told_remote      TEXT,              -- remote that the host wrote down, for where the folder is gone
    started          TEXT,
    ended            TEXT,
    native_start     TEXT,              -- when its own file began, where copied history says otherwise
    first_prompt     TEXT,              -- event id; sessions that share it are forks of each other
    models           TEXT NOT NULL DEFAULT '[]',
    host_versions    TEXT NOT NULL DEFAULT '[]',
    agents           TEXT NOT NULL DEFAULT '{}',   -- sub-agent: the call that started it
    turns            INTEGER NOT NULL DEFAULT 0,
    events           INTEGER NOT NULL DEFAULT 0,
    commands         INTEGER NOT NULL DEFAULT 0,
    edits            INTEGER NOT NULL DEFAULT 0,
    errors           INTEGER NOT NULL DEFAULT 0,
    secrets          INTEGER NOT NULL DEFAULT 0,   -- events in which something was masked
    marks            INTEGER NOT NULL DEFAULT 0,   -- events with injection marks or invisible characters
    source_bytes     INTEGER NOT NULL DEFAULT 0,
    raw_bytes        INTEGER NOT NULL DEFAULT 0,
    normalized_bytes INTEGER NOT NULL DEFAULT 0,   -- committed length of the normalised file
    normalized_chain BLOB NOT NULL DEFAULT x'',
    normalized_frames INTEGER NOT NULL DEFAULT 0,
    normalized_packed INTEGER NOT NULL DEFAULT 0,  -- frames that there were when they were last coalesced
    events_evicted   INTEGER NOT NULL DEFAULT 0,   -- 1 once older events were given up to stay within the budget
    notes            BLOB,                         -- of the whole, where those of its sources do not add up
    digest_events    INTEGER,                      -- events that the digest on the disk covers; below zero (-1 - events)
                                                   -- until it is known to be there to stay; NULL where it says less
    evicting         INTEGER NOT NULL DEFAULT 0,   -- 1 while files that were given up may still be there
    pinned           INTEGER NOT NULL DEFAULT 0,   -- 1: never to be evicted; see state.jsonl
    normaliser       INTEGER NOT NULL DEFAULT 0,   -- versions that made the events; -1 while they are being replaced
    rules            INTEGER NOT NULL DEFAULT 0,
    signals          INTEGER NOT NULL DEFAULT 0,   -- version of those that read it last
    captured         TEXT NOT NULL,
    UNIQUE (host, session_id)
) STRICT;

CREATE INDEX session_by_time ON session (ended DESC);
CREATE INDEX session_by_first_prompt ON session (host, first_prompt) WHERE first_prompt IS NOT NULL;

-- Sessions whose digest is to be written.
CREATE INDEX session_undigested ON session (id) WHERE digest_events IS NOT events;

CREATE TABLE source (
    id         INTEGER PRIMARY KEY,
    session    INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    key        TEXT NOT NULL,
    revision   INTEGER NOT NULL,
    current    INTEGER NOT NULL,        -- 1 for the newest revision
    kind       TEXT NOT NULL,
    path       BLOB NOT NULL,           -- as the file system has it, not always UTF-8
    archive_name TEXT NOT NULL,
    file       TEXT NOT NULL,           -- within the session's raw folder
    device     INTEGER NOT NULL,
    inode      INTEGER NOT NULL,
    size       INTEGER NOT NULL,
    mtime_ns   INTEGER NOT NULL,
    offset     INTEGER NOT NULL,        -- bytes captured
    line       INTEGER NOT NULL,
    base       INTEGER NOT NULL DEFAULT 0,   -- content bytes from the beginning that were given up
    raw_bytes  INTEGER NOT NULL,        -- committed length of the raw file
    frames     INTEGER NOT NULL,
    packed     INTEGER NOT NULL DEFAULT 0,   -- frames that there were when they were last coalesced
    chain      BLOB NOT NULL,
    head       BLOB NOT NULL,           -- hashes that tell an append from a rewrite
    tail       BLOB NOT NULL,
    accounting BLOB NOT NULL,
    facts      BLOB NOT NULL,
    reader     BLOB NOT NULL,
    fold       BLOB NOT NULL,
    track      BLOB NOT NULL,           -- of what it did; its blocks are in track_block
    form       TEXT NOT NULL,           -- lines, document or records
    state_table BLOB NOT NULL,          -- of documents and records: what the last state consists of
    notes      BLOB NOT NULL,           -- for the digest, see retro.notes
    captured   TEXT NOT NULL,
    audited    TEXT,                    -- when the file was last compared byte for byte with what was captured
    UNIQUE (session, key, revision)
) STRICT;

CREATE TABLE turn (
    session            INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    turn               INTEGER NOT NULL,
    event_id           TEXT NOT NULL,
    prompt             TEXT NOT NULL,
    answer             TEXT,
    started            TEXT,
    ended              TEXT,
    first_sequence     INTEGER NOT NULL,
    last_sequence      INTEGER NOT NULL,
    events             INTEGER NOT NULL,
    actions            INTEGER NOT NULL,
    commands           INTEGER NOT NULL,
    edits              INTEGER NOT NULL,
    errors             INTEGER NOT NULL,
    files              TEXT NOT NULL,
    input_tokens       INTEGER NOT NULL,
    output_tokens      INTEGER NOT NULL,
    cache_read_tokens  INTEGER NOT NULL,
    cache_write_tokens INTEGER NOT NULL,
    records            BLOB NOT NULL,   -- eight bytes for each record in it
    PRIMARY KEY (session, turn)
) STRICT, WITHOUT ROWID;

-- The search index. A passage is at most 4 KB of consecutive events of one turn. Its words stand in passage_text under
-- its id, its text in passage_body; wherever a passage goes, both go with it.
CREATE TABLE passage (
    id      INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    source  TEXT NOT NULL,              -- '' where the session was counted as a whole, 'session' for what tells all of it
    number  INTEGER NOT NULL,
    turn    INTEGER NOT NULL,           -- 0 where only the whole session tells
    open    INTEGER NOT NULL,           -- 1 while more events may come into it
    errors  INTEGER NOT NULL,
    started TEXT,
    model   TEXT,
    branch  TEXT,
    tools   TEXT NOT NULL,              -- each on a line
    files   TEXT NOT NULL,
    UNIQUE (session, source, number)
) STRICT;

CREATE TABLE passage_body (
    id   INTEGER PRIMARY KEY,
    body BLOB NOT NULL                  -- compressed: event, column and text of each piece
) STRICT;

CREATE VIRTUAL TABLE passage_text USING fts5 (
    title, prompt, answer, command, error, output, names, scope,
    tokenize = 'porter unicode61 remove_diacritics 2', content = '', contentless_delete = 1
);

CREATE VIRTUAL TABLE passage_word USING fts5vocab (passage_text, row);

-- Search by meaning, an extra: vectors of the windows of a passage, each with its column and scale; a row without any
-- says that there is nothing in it to be given one.
CREATE TABLE passage_vector (
    passage INTEGER PRIMARY KEY,
    kinds   BLOB NOT NULL,
    scales  BLOB NOT NULL,
    vectors BLOB NOT NULL
) STRICT;

CREATE TRIGGER passage_gone AFTER DELETE ON passage BEGIN
    DELETE FROM passage_vector WHERE passage = old.id;
    DELETE FROM passage_body WHERE id = old.id;
    DELETE FROM passage_text WHERE rowid = old.id;
END;

-- Sessions whose title is not yet the one that is indexed.
CREATE TABLE retitled (session INTEGER PRIMARY KEY REFERENCES session (id) ON DELETE CASCADE) STRICT;

CREATE TRIGGER session_retitled AFTER UPDATE OF title ON session WHEN old.title IS NOT new.title BEGIN
    INSERT OR IGNORE INTO retitled (session) VALUES (new.id);
END;

-- Databases and folders that hold the records of many sessions, as they looked when all of them were captured.
CREATE TABLE store (
    path BLOB PRIMARY KEY,
    mark INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Titles that the host wrote for a record, wherever that record stands.
CREATE TABLE title (
    host   TEXT NOT NULL,
    record BLOB NOT NULL,
    title  TEXT NOT NULL,
    PRIMARY KEY (host, record)
) STRICT, WITHOUT ROWID;

-- Files about to be renamed into the place of others, with what they hold; looked at after a crash.
CREATE TABLE replacing (
    session INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    source  INTEGER NOT NULL,           -- 0 for the normalised file
    bytes   INTEGER NOT NULL,
    chain   BLOB NOT NULL,
    frames  INTEGER NOT NULL,
    PRIMARY KEY (session, source)
) STRICT, WITHOUT ROWID;

-- The ledger. Every copy of every model request that a session holds; of each request one copy counts.
CREATE TABLE usage (
    owner              INTEGER NOT NULL,   -- the session, see the table owner
    key                INTEGER NOT NULL,   -- hash of what the provider billed
    variant            INTEGER NOT NULL,   -- hash of its request id, 0 without
    usage_id           TEXT NOT NULL,
    request_id         TEXT NOT NULL,
    native             INTEGER NOT NULL,   -- 0 where it was carried over from another session
    source             INTEGER NOT NULL,   -- label
    line               INTEGER NOT NULL,
    turn               INTEGER NOT NULL,
    agent              INTEGER NOT NULL,   -- label
    model              INTEGER NOT NULL,   -- label
    output_tokens      INTEGER NOT NULL,
    at                 INTEGER NOT NULL,   -- milliseconds since 1970, -1 for none
    certain            INTEGER NOT NULL,
    input_tokens       INTEGER NOT NULL,
    cache_write_5m_tokens INTEGER NOT NULL,
    cache_write_1h_tokens INTEGER NOT NULL,
    cache_read_tokens  INTEGER NOT NULL,
    reasoning_tokens   INTEGER NOT NULL,
    web_searches       INTEGER NOT NULL,
    embedded           INTEGER NOT NULL,   -- microdollars that the host wrote, -1 for none
    tier               INTEGER NOT NULL,   -- label
    speed              INTEGER NOT NULL,   -- label
    quality            INTEGER NOT NULL,
    price              INTEGER NOT NULL,   -- the price row, which never changes by itself
    counted            INTEGER NOT NULL,   -- 1 for the copy that counts
    cost               INTEGER NOT NULL,   -- microdollars, -1 without a price
    taken              BLOB,               -- the numbers of another copy, where those count
    PRIMARY KEY (owner, key, variant)
) STRICT, WITHOUT ROWID;

CREATE INDEX usage_by_key ON usage (key);

CREATE TABLE owner (
    id         INTEGER PRIMARY KEY,
    host       TEXT NOT NULL,
    session_id TEXT NOT NULL,
    started    TEXT NOT NULL,              -- '' where nothing says so
    project    TEXT NOT NULL,
    parent     TEXT NOT NULL,
    subagent   INTEGER NOT NULL,           -- 1 where it is that of a sub-agent of its parent
    UNIQUE (host, session_id)
) STRICT;

CREATE TABLE label (
    id   INTEGER PRIMARY KEY,
    text TEXT NOT NULL UNIQUE
) STRICT;

CREATE TABLE price (
    id   INTEGER PRIMARY KEY,
    hash TEXT NOT NULL UNIQUE,
    body TEXT NOT NULL                     -- JSON, '' for the row of models without a price
) STRICT;

-- What was spent, by UTC quarter-hour (-1 without a time): in all, and by session. Reports read nothing else.
CREATE TABLE spent (
    quarter  INTEGER NOT NULL,
    host     INTEGER NOT NULL,
    project  INTEGER NOT NULL,
    model    INTEGER NOT NULL,
    agent    INTEGER NOT NULL,             -- 1 for what sub-agents did
    requests INTEGER NOT NULL, input_tokens INTEGER NOT NULL, cache_write_5m_tokens INTEGER NOT NULL,
    cache_write_1h_tokens INTEGER NOT NULL, cache_read_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL, web_searches INTEGER NOT NULL, cost INTEGER NOT NULL,
    calculated INTEGER NOT NULL, embedded INTEGER NOT NULL, embedded_requests INTEGER NOT NULL,
    unpriced_requests INTEGER NOT NULL, unpriced_tokens INTEGER NOT NULL, uncalculated_requests INTEGER NOT NULL,
    uncalculated_tokens INTEGER NOT NULL, lower_bound_requests INTEGER NOT NULL, fallback_requests INTEGER NOT NULL,
    first INTEGER NOT NULL, last INTEGER NOT NULL,
    PRIMARY KEY (quarter, host, project, model, agent)
) STRICT, WITHOUT ROWID;

-- The same by hour, for reports in zones that are whole hours ahead.
CREATE TABLE spent_hour (
    hour     INTEGER NOT NULL,
    host     INTEGER NOT NULL,
    project  INTEGER NOT NULL,
    model    INTEGER NOT NULL,
    agent    INTEGER NOT NULL,             -- 1 for what sub-agents did
    requests INTEGER NOT NULL, input_tokens INTEGER NOT NULL, cache_write_5m_tokens INTEGER NOT NULL,
    cache_write_1h_tokens INTEGER NOT NULL, cache_read_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL, web_searches INTEGER NOT NULL, cost INTEGER NOT NULL,
    calculated INTEGER NOT NULL, embedded INTEGER NOT NULL, embedded_requests INTEGER NOT NULL,
    unpriced_requests INTEGER NOT NULL, unpriced_tokens INTEGER NOT NULL, uncalculated_requests INTEGER NOT NULL,
    uncalculated_tokens INTEGER NOT NULL, lower_bound_requests INTEGER NOT NULL, fallback_requests INTEGER NOT NULL,
    first INTEGER NOT NULL, last INTEGER NOT NULL,
    PRIMARY KEY (hour, host, project, model, agent)
) STRICT, WITHOUT ROWID;

-- The same by UTC day: what zones move to another day is taken from the hours.
CREATE TABLE spent_day (
    day      INTEGER NOT NULL,
    host     INTEGER NOT NULL,
    project  INTEGER NOT NULL,
    model    INTEGER NOT NULL,
    agent    INTEGER NOT NULL,             -- 1 for what sub-agents did
    requests INTEGER NOT NULL, input_tokens INTEGER NOT NULL, cache_write_5m_tokens INTEGER NOT NULL,
    cache_write_1h_tokens INTEGER NOT NULL, cache_read_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL, web_searches INTEGER NOT NULL, cost INTEGER NOT NULL,
    calculated INTEGER NOT NULL, embedded INTEGER NOT NULL, embedded_requests INTEGER NOT NULL,
    unpriced_requests INTEGER NOT NULL, unpriced_tokens INTEGER NOT NULL, uncalculated_requests INTEGER NOT NULL,
    uncalculated_tokens INTEGER NOT NULL, lower_bound_requests INTEGER NOT NULL, fallback_requests INTEGER NOT NULL,
    first INTEGER NOT NULL, last INTEGER NOT NULL,
    PRIMARY KEY (day, host, project, model, agent)
) STRICT, WITHOUT ROWID;

-- The same by hour of each host, whatever the project: five-hour blocks are made of it.
CREATE TABLE spent_host (
    hour     INTEGER NOT NULL,
    host     INTEGER NOT NULL,
    model    INTEGER NOT NULL,
    requests INTEGER NOT NULL, input_tokens INTEGER NOT NULL, cache_write_5m_tokens INTEGER NOT NULL,
    cache_write_1h_tokens INTEGER NOT NULL, cache_read_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL, web_searches INTEGER NOT NULL, cost INTEGER NOT NULL,
    calculated INTEGER NOT NULL, embedded INTEGER NOT NULL, embedded_requests INTEGER NOT NULL,
    unpriced_requests INTEGER NOT NULL, unpriced_tokens INTEGER NOT NULL, uncalculated_requests INTEGER NOT NULL,
    uncalculated_tokens INTEGER NOT NULL, lower_bound_requests INTEGER NOT NULL, fallback_requests INTEGER NOT NULL,
    first INTEGER NOT NULL, last INTEGER NOT NULL,
    PRIMARY KEY (hour, host, model)
) STRICT, WITHOUT ROWID;

CREATE TABLE session_spent (
    owner    INTEGER NOT NULL,
    quarter  INTEGER NOT NULL,
    model    INTEGER NOT NULL,
    agent    INTEGER NOT NULL,
    requests INTEGER NOT NULL, input_tokens INTEGER NOT NULL, cache_write_5m_tokens INTEGER NOT NULL,
    cache_write_1h_tokens INTEGER NOT NULL, cache_read_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL, web_searches INTEGER NOT NULL, cost INTEGER NOT NULL,
    calculated INTEGER NOT NULL, embedded INTEGER NOT NULL, embedded_requests INTEGER NOT NULL,
    unpriced_requests INTEGER NOT NULL, unpriced_tokens INTEGER NOT NULL, uncalculated_requests INTEGER NOT NULL,
    uncalculated_tokens INTEGER NOT NULL, lower_bound_requests INTEGER NOT NULL, fallback_requests INTEGER NOT NULL,
    first INTEGER NOT NULL, last INTEGER NOT NULL,
    PRIMARY KEY (owner, quarter, model, agent)
) STRICT, WITHOUT ROWID;

-- The same of each session in total: 1 with what its sub-agents did, 0 without.
CREATE TABLE session_total (
    whole    INTEGER NOT NULL,
    owner    INTEGER NOT NULL,
    model    INTEGER NOT NULL,
    requests INTEGER NOT NULL, input_tokens INTEGER NOT NULL, cache_write_5m_tokens INTEGER NOT NULL,
    cache_write_1h_tokens INTEGER NOT NULL, cache_read_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL, web_searches INTEGER NOT NULL, cost INTEGER NOT NULL,
    calculated INTEGER NOT NULL, embedded INTEGER NOT NULL, embedded_requests INTEGER NOT NULL,
    unpriced_requests INTEGER NOT NULL, unpriced_tokens INTEGER NOT NULL, uncalculated_requests INTEGER NOT NULL,
    uncalculated_tokens INTEGER NOT NULL, lower_bound_requests INTEGER NOT NULL, fallback_requests INTEGER NOT NULL,
    first INTEGER NOT NULL, last INTEGER NOT NULL,
    PRIMARY KEY (whole, owner, model)
) STRICT, WITHOUT ROWID;

CREATE INDEX session_spent_by_quarter ON session_spent (quarter);

-- Recall. What is looked up at prompt time is scoped to a repository, so each of its rows says to which it belongs.
-- A repository as sessions found it: where it lies and its remote. Checkouts of one remote are one repository.
CREATE TABLE clone (
    id     INTEGER PRIMARY KEY,
    root   TEXT NOT NULL,               -- main folder, links followed; '' where only the remote is known
    remote TEXT NOT NULL,               -- host/owner/name in lower case, '' for none
    UNIQUE (root, remote)
) STRICT;

CREATE INDEX clone_by_remote ON clone (remote);
CREATE INDEX session_by_clone ON session (clone, ended DESC) WHERE clone IS NOT NULL;

-- Files that a session edited, each once, with when it did so last.
CREATE TABLE touched (
    session INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    path    TEXT NOT NULL,              -- within the repository, with forward slashes
    clone   INTEGER NOT NULL,
    at      TEXT NOT NULL,              -- '' without a time
    turn    INTEGER,
    PRIMARY KEY (session, path)
) STRICT, WITHOUT ROWID;

CREATE INDEX touched_by_time ON touched (clone, at DESC);

-- Summaries that a host wrote when it compacted a context, and checkpoints that it made.
CREATE TABLE checkpoint (
    session  INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    event_id TEXT NOT NULL,
    clone    INTEGER,
    at       TEXT NOT NULL,
    turn     INTEGER,
    text     TEXT NOT NULL,
    PRIMARY KEY (session, event_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX checkpoint_by_time ON checkpoint (clone, at DESC);

-- Mining. What each session did, step by step, as mining keeps it; and in which state each repository was mined last.
CREATE TABLE trace (
    session INTEGER PRIMARY KEY REFERENCES session (id) ON DELETE CASCADE,
    stamp   TEXT NOT NULL,              -- of the events that it was made of, and the version that made it
    scope   TEXT NOT NULL,              -- the repository's remote, else its folder, else the session's
    body    BLOB NOT NULL               -- compressed
) STRICT;

CREATE INDEX trace_by_scope ON trace (scope);

CREATE TABLE mined (
    scope TEXT PRIMARY KEY,
    stamp TEXT NOT NULL                 -- of its traces, the methods and the filters
) STRICT, WITHOUT ROWID;

-- What sessions did, step by step, without text; and what signals say of it.
CREATE TABLE track_block (
    session  INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    key      TEXT NOT NULL,             -- of the source; '' for the session as one, where its sources overlap
    revision INTEGER NOT NULL,
    place    INTEGER NOT NULL,          -- -1 for what is counted beside the steps, where there is no source
    body     BLOB NOT NULL,
    PRIMARY KEY (session, key, revision, place)
) STRICT;

CREATE TABLE reading (
    session    INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
    signal     TEXT NOT NULL,
    value      ANY,                     -- booleans as 0 and 1
    unit       TEXT NOT NULL,
    confidence REAL NOT NULL,
    method     TEXT NOT NULL,
    evidence   TEXT NOT NULL,           -- event ids as JSON
    reason     TEXT,
    PRIMARY KEY (session, signal)
) STRICT, WITHOUT ROWID;

CREATE INDEX reading_by_value ON reading (signal, value) WHERE value IS NOT NULL;

-- What the readings of all sessions add up to, changed with each of them.
CREATE TABLE aggregate (
    signal     TEXT PRIMARY KEY,
    readings   INTEGER NOT NULL,        -- sessions with a value
    missing    INTEGER NOT NULL,        -- sessions without one
    whole      INTEGER NOT NULL,        -- their sum: whole ones and millionths apart, so that no error adds up
    millionths INTEGER NOT NULL,
    spread     TEXT                     -- what aggregates.json says of it; NULL once something has changed
) STRICT, WITHOUT ROWID;

CREATE TABLE aggregate_bin (
    signal   TEXT NOT NULL,
    bin      ANY NOT NULL,              -- lower edge; of a category the value
    readings INTEGER NOT NULL,
    PRIMARY KEY (signal, bin)
) STRICT, WITHOUT ROWID;

-- Memory. What may be handed to a session, folded from memories/ and mined/; its words; links; what was handed out.
CREATE TABLE memory (
    number     INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    scope      TEXT NOT NULL,              -- the repository's remote, else its folder; '' for the user's own and global
    status     TEXT NOT NULL,
    kind       TEXT NOT NULL,
    text       TEXT NOT NULL,
    steps      TEXT NOT NULL,              -- JSON
    source     TEXT NOT NULL,              -- where it comes from, in a few words
    files      TEXT NOT NULL,              -- JSON: path to the hash that it had, '' where it was not looked at
    quality    REAL NOT NULL,              -- of 0 to 1: confidence and priority, less for risk
    utility    REAL NOT NULL,              -- lower bound of what its uses were worth
    updated    TEXT NOT NULL,
    stale      TEXT,                       -- why, where what it speaks of has moved
    body       TEXT NOT NULL               -- JSON
) STRICT;

CREATE INDEX memory_by_scope ON memory (scope, status);

CREATE TABLE memory_word (
    scope  TEXT NOT NULL,
    word   TEXT NOT NULL,
    memory INTEGER NOT NULL REFERENCES memory (number) ON DELETE CASCADE,
    weight REAL NOT NULL,
    PRIMARY KEY (scope, word, memory)
) STRICT, WITHOUT ROWID;

CREATE INDEX memory_word_by_memory ON memory_word (memory);

CREATE TABLE memory_link (
    memory INTEGER NOT NULL REFERENCES memory (number) ON DELETE CASCADE,
    target INTEGER NOT NULL REFERENCES memory (number) ON DELETE CASCADE,
    PRIMARY KEY (memory, target)
) STRICT, WITHOUT ROWID;

-- Vectors of memories, by a hash of what they were made of: an extra, as those of passages.
CREATE TABLE memory_vector (
    text   BLOB PRIMARY KEY,
    scale  REAL NOT NULL,
    vector BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE weave (
    id         TEXT PRIMARY KEY,
    at         TEXT NOT NULL,
    host       TEXT NOT NULL,
    session_id TEXT NOT NULL,
    memory     TEXT NOT NULL,              -- JSON: ids
    credited   INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE INDEX weave_by_session ON weave (session_id);
