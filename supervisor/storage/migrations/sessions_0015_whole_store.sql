-- The rest of the store: what is indexed for search, and who asked to talk to us through a bot; and
-- an index for each set of filters that the list of sessions knows.

CREATE TABLE chunks (
    id TEXT PRIMARY KEY, -- chunk:{content_id}:{field}:{chunk_index}
    content_id TEXT NOT NULL,
    content_type TEXT NOT NULL,
    field TEXT NOT NULL DEFAULT 'content',
    chunk_index INTEGER NOT NULL,
    chunk_text TEXT NOT NULL,
    embedding BLOB,
    created_at TEXT NOT NULL,
    UNIQUE (content_id, field, chunk_index)
);

CREATE INDEX idx_chunks_content_id ON chunks (content_id);
CREATE INDEX idx_chunks_content_type ON chunks (content_type);

CREATE TABLE index_manifest (
    content_id TEXT PRIMARY KEY,
    content_type TEXT NOT NULL,
    content_hash TEXT,
    title TEXT,
    indexed_at TEXT NOT NULL,
    chunk_count INTEGER NOT NULL,
    source_path TEXT,
    metadata TEXT
);

CREATE INDEX idx_manifest_type ON index_manifest (content_type, content_id);

CREATE TABLE pairing_requests (
    id TEXT PRIMARY KEY,
    platform TEXT NOT NULL,
    platform_user_id TEXT NOT NULL,
    platform_user_display TEXT,
    platform_chat_id TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'pending',
    approved_trust_level TEXT,
    created_at TEXT NOT NULL,
    resolved_at TEXT,
    resolved_by TEXT,
    UNIQUE (platform, platform_user_id, status)
);

CREATE INDEX idx_pairing_requests_status ON pairing_requests (status);
CREATE INDEX idx_pairing_requests_platform ON pairing_requests (platform, platform_user_id);

DROP INDEX idx_sessions_module;
DROP INDEX idx_sessions_agent_type;
DROP INDEX idx_sessions_workspace;
DROP INDEX idx_sessions_last_accessed;
DROP INDEX idx_sessions_archived;

-- Read backwards; entries of one moment are in the order of their rows' numbers. `<> 0`, as a value
-- written by hand may be any: the row is listed nevertheless.
CREATE INDEX idx_sessions_last_accessed ON sessions (last_accessed);
CREATE INDEX idx_sessions_archived ON sessions ((archived <> 0), last_accessed);
CREATE INDEX idx_sessions_module ON sessions (module, (archived <> 0), last_accessed);
CREATE INDEX idx_sessions_agent_type ON sessions (agent_type, (archived <> 0), last_accessed);
CREATE INDEX idx_sessions_workspace ON sessions (workspace, (archived <> 0), last_accessed);
CREATE INDEX idx_sessions_module_agent_type
ON sessions (module, agent_type, (archived <> 0), last_accessed);
CREATE INDEX idx_sessions_module_workspace
ON sessions (module, workspace, (archived <> 0), last_accessed);
CREATE INDEX idx_sessions_agent_type_workspace
ON sessions (agent_type, workspace, (archived <> 0), last_accessed);
CREATE INDEX idx_sessions_all_filters
ON sessions (module, agent_type, workspace, (archived <> 0), last_accessed);
