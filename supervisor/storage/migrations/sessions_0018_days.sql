-- What each day held: turns by how they ended, and what these had spent. It stays when sessions are
-- deleted. Of turns before this, what each had spent isn't known.

CREATE TABLE days (
    day TEXT NOT NULL, -- of UTC, as 2026-03-01: that on which they ended
    state TEXT NOT NULL CHECK (state IN ('done', 'aborted', 'error', 'interrupted')),
    turns INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    cost_usd REAL NOT NULL,
    PRIMARY KEY (day, state)
) WITHOUT ROWID;

INSERT INTO days (day, state, turns, tokens, cost_usd)
SELECT substr(ended_at, 1, 10), state, count(*), 0, 0.0 FROM turns
WHERE state != 'running' AND ended_at GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'
GROUP BY 1, 2;
