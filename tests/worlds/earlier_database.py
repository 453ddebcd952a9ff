"""A world with the session database of the earlier program, in the states that people have it in.

Its layout at version 8: no vault root, no agent type, the curator's tables, no pairing requests.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

VERSION_8 = """
CREATE TABLE sessions (
    id TEXT PRIMARY KEY, title TEXT, module TEXT NOT NULL DEFAULT 'chat',
    source TEXT NOT NULL DEFAULT 'parachute', working_directory TEXT, model TEXT,
    message_count INTEGER DEFAULT 0, archived INTEGER DEFAULT 0, created_at TEXT NOT NULL,
    last_accessed TEXT NOT NULL, continued_from TEXT, metadata TEXT
);
CREATE INDEX idx_sessions_module ON sessions(module);
CREATE INDEX idx_sessions_archived ON sessions(archived);
CREATE INDEX idx_sessions_last_accessed ON sessions(last_accessed DESC);
CREATE INDEX idx_sessions_created_at ON sessions(created_at DESC);
CREATE TABLE session_tags (
    session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    tag TEXT NOT NULL, created_at TEXT NOT NULL, PRIMARY KEY (session_id, tag)
);
CREATE TABLE session_contexts (
    session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE,
    folder_path TEXT NOT NULL, added_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP,
    PRIMARY KEY (session_id, folder_path)
);
CREATE TABLE chunks (
    id TEXT PRIMARY KEY, content_id TEXT NOT NULL, content_type TEXT NOT NULL,
    field TEXT NOT NULL DEFAULT 'content', chunk_index INTEGER NOT NULL,
    chunk_text TEXT NOT NULL, embedding BLOB, created_at TEXT NOT NULL,
    UNIQUE(content_id, field, chunk_index)
);
CREATE INDEX idx_chunks_content_id ON chunks(content_id);
CREATE TABLE index_manifest (
    content_id TEXT PRIMARY KEY, content_type TEXT NOT NULL, content_hash TEXT, title TEXT,
    indexed_at TEXT NOT NULL, chunk_count INTEGER NOT NULL, source_path TEXT, metadata TEXT
);
CREATE INDEX idx_manifest_type ON index_manifest(content_type);
CREATE TABLE metadata (key TEXT PRIMARY KEY, value TEXT, updated_at TEXT NOT NULL);
CREATE TABLE curator_sessions (
    id TEXT PRIMARY KEY,
    parent_session_id TEXT NOT NULL REFERENCES sessions(id) ON DELETE CASCADE
);
CREATE TABLE curator_queue (
    id INTEGER PRIMARY KEY AUTOINCREMENT, parent_session_id TEXT NOT NULL,
    curator_session_id TEXT REFERENCES curator_sessions(id), status TEXT DEFAULT 'pending'
);
CREATE INDEX idx_curator_queue_status ON curator_queue(status);
CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TEXT NOT NULL);
INSERT INTO schema_version VALUES (8, datetime('now'));
"""

FILLED = """
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 29)
INSERT INTO sessions (id, title, module, message_count, archived, created_at, last_accessed,
    metadata)
SELECT printf('00000000-0000-4000-8000-%012d', i), 'title ' || i,
    iif(i % 5, 'chat', 'daily'), iif(i % 7, i, NULL), iif(i % 3, 0, 1),
    printf('2025-03-01T10:00:%02d.123456+00:00', i), -- with a zone
    iif(i % 2, printf('2025-03-02T10:00:%02d.5', i), printf('2025-03-02 10:00:%02d', i)), -- without
    '{"permissions": {"bash": true, "trust_mode": true}, "n": ' || i || '}'
FROM n;
UPDATE sessions SET metadata = '{not json' WHERE title = 'title 4';
UPDATE sessions SET last_accessed = 'yesterday', created_at = x'00ff' WHERE title = 'title 5';
UPDATE sessions SET title = CAST(x'ff6f6b' AS TEXT), source = 'elsewhere' WHERE title = 'title 6';
UPDATE sessions SET last_accessed = CAST(x'ff80' AS TEXT) WHERE title = 'title 7';
UPDATE sessions SET archived = 'yes', message_count = 'many' WHERE title = 'title 8';
INSERT INTO session_tags SELECT id, 'tag ' || (rowid % 4), datetime('now') FROM sessions;
INSERT INTO session_contexts (session_id, folder_path) SELECT id, 'notes/' || module FROM sessions;
INSERT INTO chunks SELECT 'chunk:' || id || ':content:0', id, 'session', 'content', 0,
    'words of ' || title, zeroblob(16), datetime('now') FROM sessions;
INSERT INTO index_manifest SELECT id, 'session', 'hash', title, datetime('now'), 1, NULL, '{}'
    FROM sessions;
INSERT INTO metadata VALUES ('theme', '"dark"', datetime('now'));
INSERT INTO curator_sessions SELECT 'c' || id, id FROM sessions WHERE module = 'daily';
INSERT INTO curator_queue (parent_session_id) SELECT id FROM sessions;
"""

LATER_STATES = {
    8: "",
    9: "ALTER TABLE sessions ADD COLUMN vault_root TEXT; INSERT INTO schema_version VALUES (9, '');"
    " UPDATE sessions SET vault_root = '/vault';",
    10: "ALTER TABLE sessions ADD COLUMN agent_type TEXT;"
    " CREATE INDEX idx_sessions_agent_type ON sessions(agent_type);"
    " INSERT INTO schema_version VALUES (10, '');",
    11: "DROP TABLE curator_queue; DROP TABLE curator_sessions;"
    " INSERT INTO schema_version VALUES (11, '');",
    12: """
    CREATE TABLE pairing_requests (
        id TEXT PRIMARY KEY, platform TEXT NOT NULL, platform_user_id TEXT NOT NULL,
        platform_user_display TEXT, platform_chat_id TEXT NOT NULL,
        status TEXT NOT NULL DEFAULT 'pending', approved_trust_level TEXT,
        created_at TEXT NOT NULL, resolved_at TEXT, resolved_by TEXT,
        UNIQUE(platform, platform_user_id, status)
    );
    INSERT INTO pairing_requests VALUES
        ('p1', 'telegram', '7', 'Ann', '70', 'approved', 'full', datetime('now'), '', 'me'),
        ('p2', 'telegram', '7', 'Ann', '70', 'pending', NULL, datetime('now'), NULL, NULL),
        ('p3', 'discord', '8', 'Bob', '80', 'approved', 'vault', datetime('now'), '', 'me');
    INSERT INTO schema_version VALUES (12, '');
    """,
}

REFUSED = [
    ("CREATE TRIGGER pwn AFTER INSERT ON sessions BEGIN DELETE FROM metadata; END", "pwn"),
    ("CREATE VIEW seen AS SELECT * FROM sessions", "seen"),
    ("CREATE VIRTUAL TABLE found USING fts5(a)", "found"),
    ("CREATE TABLE more (a)", "more"),
    ("ALTER TABLE sessions DROP COLUMN model", "model"),
    ("ALTER TABLE chunks DROP COLUMN chunk_text", "chunk_text"),
]
"""Changes by which a file is no longer one of plain tables, and what of it is named."""


def earlier_database(path: Path, version: int = 8, *more: str) -> None:
    """A filled database as the earlier program leaves it at this version, changed as told."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as cx:
        cx.executescript(f"BEGIN; {VERSION_8} {FILLED} COMMIT;")
        for each in range(8, version + 1):
            cx.executescript(f"BEGIN; {LATER_STATES[each]} COMMIT;")
        for statement in more:
            cx.execute(statement)


def rows_of(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table, but for when migrations were applied."""
    with closing(sqlite3.connect(path)) as cx:
        cx.text_factory = bytes
        tables = [
            name.decode()
            for (name,) in cx.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            )
        ]
        found = {
            table: sorted(cx.execute(f"SELECT * FROM {table}").fetchall(), key=repr)  # noqa: S608
            for table in tables
        }
    found["schema_version"] = [row[:1] for row in found.get("schema_version", [])]
    # The default workspace is made anew, at the moment of its making.
    found["workspaces"] = [row[:-1] for row in found.get("workspaces", [])]
    return found
