-- The first version of this program's own. Names and columns up to `metadata` are those that
-- earlier clients know (versions 9 to 12); what follows is ours.

CREATE TABLE workspaces (
    slug TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    folder TEXT NOT NULL, -- relative to the vault; '' is the vault itself
    floor TEXT NOT NULL CHECK (floor IN ('full', 'vault', 'sandboxed')),
    created_at TEXT NOT NULL,
    CHECK (slug <> 'default' OR folder = '')
);

INSERT INTO workspaces (slug, name, folder, floor, created_at)
VALUES ('default', 'Default', '', 'full', strftime('%Y-%m-%dT%H:%M:%f000+00:00', 'now'));

CREATE TRIGGER workspaces_default_stays
BEFORE DELETE ON workspaces WHEN OLD.slug = 'default'
BEGIN
    SELECT RAISE(ABORT, 'the default workspace always exists');
END;

CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    title TEXT,
    module TEXT NOT NULL DEFAULT 'chat',
    source TEXT NOT NULL DEFAULT 'parachute',
    working_directory TEXT,
    vault_root TEXT,
    model TEXT,
    message_count INTEGER NOT NULL DEFAULT 0,
    archived INTEGER NOT NULL DEFAULT 0,
    created_at TEXT NOT NULL,
    last_accessed TEXT NOT NULL,
    continued_from TEXT,
    agent_type TEXT,
    metadata TEXT,
    -- No default: whoever writes a row says how strictly it runs.
    trust_level TEXT NOT NULL CHECK (trust_level IN ('full', 'vault', 'sandboxed')),
    -- Restricted: a workspace can't go, and take its floor with it, while sessions are in it.
    workspace TEXT NOT NULL REFERENCES workspaces (slug) ON DELETE RESTRICT,
    agent_path TEXT,
    transcript_path TEXT,
    tokens_used INTEGER NOT NULL DEFAULT 0,
    cost_usd REAL NOT NULL DEFAULT 0
);

CREATE INDEX idx_sessions_module ON sessions (module);
CREATE INDEX idx_sessions_source ON sessions (source);
CREATE INDEX idx_sessions_agent_type ON sessions (agent_type);
CREATE INDEX idx_sessions_workspace ON sessions (workspace);
-- The id breaks ties, so that a page ends and the next begins at one certain row.
CREATE INDEX idx_sessions_last_accessed ON sessions (last_accessed DESC, id DESC);
CREATE INDEX idx_sessions_archived ON sessions (archived, last_accessed DESC, id DESC);

CREATE TABLE session_tags (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    tag TEXT NOT NULL,
    created_at TEXT NOT NULL,
    PRIMARY KEY (session_id, tag)
);

CREATE INDEX idx_session_tags_tag ON session_tags (tag);

CREATE TABLE session_contexts (
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    folder_path TEXT NOT NULL,
    added_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (session_id, folder_path)
);

CREATE INDEX idx_session_contexts_session ON session_contexts (session_id);
CREATE INDEX idx_session_contexts_folder ON session_contexts (folder_path);

CREATE TABLE metadata (
    key TEXT PRIMARY KEY,
    value TEXT,
    updated_at TEXT NOT NULL
);

CREATE TABLE turns (
    id TEXT PRIMARY KEY,
    session_id TEXT NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
    state TEXT NOT NULL CHECK (state IN ('running', 'done', 'aborted', 'error', 'interrupted')),
    started_at TEXT NOT NULL,
    ended_at TEXT,
    trust_level TEXT NOT NULL CHECK (trust_level IN ('full', 'vault', 'sandboxed')),
    error_code TEXT,
    CHECK ((state = 'running') = (ended_at IS NULL))
);

-- One turn at a time, held by the database and not by whoever remembers to ask.
CREATE UNIQUE INDEX idx_turns_one_running ON turns (session_id) WHERE state = 'running';
CREATE INDEX idx_turns_session ON turns (session_id, started_at DESC);
