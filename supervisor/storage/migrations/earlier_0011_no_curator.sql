-- What the curator kept of its own is no longer used.

DROP TABLE IF EXISTS curator_queue;
DROP TABLE IF EXISTS curator_sessions;
