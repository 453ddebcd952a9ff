-- What happened in each session, for streaming and replay. Losing this file loses no conversation.

-- With rowids: events reach 64 KB and more, and a table without them keeps rows in its inner pages.
CREATE TABLE events (
    session_id TEXT NOT NULL,
    seq INTEGER NOT NULL, -- per session, from 1, without gaps
    turn_id TEXT NOT NULL,
    type TEXT NOT NULL,
    ts TEXT NOT NULL,
    data BLOB NOT NULL, -- the event as it goes over the wire: one line of JSON
    PRIMARY KEY (session_id, seq)
);

-- The unit of pruning: each row stands for the events first_seq to last_seq of its session, and
-- the ranges of a session follow each other without a gap.
CREATE TABLE event_turns (
    ordinal INTEGER PRIMARY KEY AUTOINCREMENT, -- age
    session_id TEXT NOT NULL,
    turn_id TEXT NOT NULL,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    newest INTEGER NOT NULL, -- 1: the newest turn of its session
    ended INTEGER NOT NULL -- 1: its last event ended it
);

CREATE INDEX idx_event_turns_session ON event_turns (session_id, ordinal);
CREATE INDEX idx_event_turns_age ON event_turns (newest, ordinal);

-- last_seq outlives its events, so that a number is never given twice.
CREATE TABLE event_sessions (
    session_id TEXT PRIMARY KEY,
    last_seq INTEGER NOT NULL,
    bytes INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE event_totals (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    bytes INTEGER NOT NULL
);

INSERT INTO event_totals (id, bytes) VALUES (1, 0);
