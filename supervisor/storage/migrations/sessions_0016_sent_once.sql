-- The key under which a client sent a turn's message, as a hash, and the hash of what it said: sent
-- again, it is the same turn.

ALTER TABLE turns ADD COLUMN sent_as TEXT;
ALTER TABLE turns ADD COLUMN sent_hash TEXT;

CREATE UNIQUE INDEX idx_turns_sent_as ON turns (sent_as) WHERE sent_as IS NOT NULL;
