-- Search: each piece of a text has a number of its own that nothing changes (SQLite gives rows
-- without one new numbers when a file is compacted), and there is an index of their words,
-- which triggers keep in step.

DROP INDEX idx_chunks_content_id;
DROP INDEX idx_chunks_content_type;
ALTER TABLE chunks RENAME TO chunks_before;

CREATE TABLE chunks (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE, -- chunk:{content_id}:{field}:{chunk_index}
    content_id TEXT NOT NULL,
    content_type TEXT NOT NULL,
    field TEXT NOT NULL DEFAULT 'content',
    chunk_index INTEGER NOT NULL, -- below 0: of a change that isn't finished, and not to be seen
    chunk_text TEXT NOT NULL,
    embedding BLOB,
    created_at TEXT NOT NULL,
    title TEXT NOT NULL DEFAULT '',
    heading TEXT NOT NULL DEFAULT '',
    position INTEGER NOT NULL DEFAULT 0, -- the message or line it begins with, from 1
    UNIQUE (content_id, field, chunk_index)
);

INSERT INTO chunks (
    id, content_id, content_type, field, chunk_index, chunk_text, embedding, created_at
)
SELECT id, content_id, content_type, field, chunk_index, chunk_text, embedding, created_at
FROM chunks_before WHERE id IS NOT NULL ORDER BY rowid;

DROP TABLE chunks_before;

CREATE INDEX idx_chunks_content_id ON chunks (content_id);
CREATE INDEX idx_chunks_content_type ON chunks (content_type);

CREATE VIRTUAL TABLE chunk_words USING fts5 (
    title, heading, chunk_text,
    content = 'chunks', content_rowid = 'number',
    tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
);

INSERT INTO chunk_words (chunk_words) VALUES ('rebuild');

CREATE TRIGGER chunk_words_new AFTER INSERT ON chunks BEGIN
INSERT INTO chunk_words (rowid, title, heading, chunk_text)
VALUES (new.number, new.title, new.heading, new.chunk_text);
END;

CREATE TRIGGER chunk_words_gone AFTER DELETE ON chunks BEGIN
INSERT INTO chunk_words (chunk_words, rowid, title, heading, chunk_text)
VALUES ('delete', old.number, old.title, old.heading, old.chunk_text);
END;

CREATE TRIGGER chunk_words_change
AFTER UPDATE OF number, title, heading, chunk_text ON chunks BEGIN
INSERT INTO chunk_words (chunk_words, rowid, title, heading, chunk_text)
VALUES ('delete', old.number, old.title, old.heading, old.chunk_text);
INSERT INTO chunk_words (rowid, title, heading, chunk_text)
VALUES (new.number, new.title, new.heading, new.chunk_text);
END;
