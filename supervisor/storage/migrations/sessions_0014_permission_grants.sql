-- What people permitted: whose it is, what it covers, at which trust level, until when. Grants of
-- one call only aren't kept here; all of them are in the audit log.

CREATE TABLE permission_grants (
    id TEXT PRIMARY KEY,
    scope TEXT NOT NULL CHECK (scope IN ('session', 'agent')),
    session_id TEXT REFERENCES sessions (id) ON DELETE CASCADE, -- of an agent's: NULL
    agent TEXT, -- of a session's: NULL
    kind TEXT NOT NULL CHECK (kind IN ('read', 'write', 'bash', 'tool')),
    pattern TEXT NOT NULL,
    trust_level TEXT NOT NULL CHECK (trust_level IN ('full', 'vault', 'sandboxed')),
    given_by TEXT NOT NULL,
    given_at TEXT NOT NULL,
    request_id TEXT NOT NULL, -- the request that it answered
    expires_at TEXT,
    revoked_at TEXT,
    revoked_by TEXT,
    CHECK ((scope = 'session') = (session_id IS NOT NULL)),
    CHECK ((scope = 'agent') = (agent IS NOT NULL)),
    CHECK ((revoked_at IS NULL) = (revoked_by IS NULL))
);

CREATE INDEX idx_permission_grants_session ON permission_grants (session_id, given_at);
CREATE INDEX idx_permission_grants_agent ON permission_grants (agent, given_at);
CREATE INDEX idx_permission_grants_live ON permission_grants (given_at) WHERE revoked_at IS NULL;
