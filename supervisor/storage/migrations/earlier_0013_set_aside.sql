-- The earlier program's tables make room for ours, which are made next; a file that never had one
-- of them gets it empty, so that what follows is the same for all.

CREATE TABLE IF NOT EXISTS session_tags (session_id, tag, created_at);
CREATE TABLE IF NOT EXISTS session_contexts (session_id, folder_path, added_at);
CREATE TABLE IF NOT EXISTS metadata (key, value, updated_at);
CREATE TABLE IF NOT EXISTS chunks (
    id, content_id, content_type, field, chunk_index, chunk_text, embedding, created_at
);
CREATE TABLE IF NOT EXISTS index_manifest (
    content_id, content_type, content_hash, title, indexed_at, chunk_count, source_path, metadata
);

ALTER TABLE sessions RENAME TO earlier_sessions;
ALTER TABLE session_tags RENAME TO earlier_session_tags;
ALTER TABLE session_contexts RENAME TO earlier_session_contexts;
ALTER TABLE metadata RENAME TO earlier_metadata;
ALTER TABLE chunks RENAME TO earlier_chunks;
ALTER TABLE index_manifest RENAME TO earlier_index_manifest;
ALTER TABLE pairing_requests RENAME TO earlier_pairing_requests;
ALTER TABLE schema_version RENAME TO earlier_schema_version;
