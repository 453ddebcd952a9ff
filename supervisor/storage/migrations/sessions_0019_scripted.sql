-- Of what a session has used, the dollars that nobody paid, as a script answered in place of a model.
-- They count for its budget. Of turns before this it isn't known.

ALTER TABLE sessions ADD COLUMN scripted_usd REAL NOT NULL DEFAULT 0;
