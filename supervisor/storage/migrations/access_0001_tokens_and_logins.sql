-- Who may call: tokens beside the owner's one, and logins of the console. Secrets are kept as digests.

CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    digest TEXT NOT NULL UNIQUE,
    scopes TEXT NOT NULL, -- words, with blanks between
    workspaces TEXT, -- slugs, with blanks between; NULL: all
    created_at TEXT NOT NULL,
    created_by TEXT NOT NULL,
    expires_at TEXT,
    revoked_at TEXT
);

CREATE TABLE logins (
    id TEXT PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    page_digest TEXT NOT NULL, -- of what its page sends along with the cookie
    token_id TEXT NOT NULL, -- whose code it was: the owner's, a token's or a login's id
    scopes TEXT NOT NULL,
    workspaces TEXT,
    created_at TEXT NOT NULL,
    used_at TEXT NOT NULL,
    expires_at TEXT NOT NULL,
    ended_at TEXT
);
