-- The earlier program's rows move into our tables. `utc_text` writes a moment as we do and leaves
-- alone what is none; it is given bytes, as what was written by hand needn't be Unicode. A row that
-- can't be one of ours stays in the backup only.

-- Its own word on trust counts for nothing: a session runs at the strictest until a person says so.
INSERT OR IGNORE INTO sessions (
    id, title, module, source, working_directory, vault_root, model, message_count, archived,
    created_at, last_accessed, continued_from, agent_type, metadata, trust_level, workspace
)
SELECT
    id, title, module, source, working_directory, vault_root, model,
    coalesce(message_count, 0), coalesce(archived, 0),
    utc_text(CAST(created_at AS BLOB)), utc_text(CAST(last_accessed AS BLOB)), continued_from,
    agent_type, metadata,
    'sandboxed', 'default'
FROM earlier_sessions;

-- It didn't remove tags and contexts along with their session.
INSERT OR IGNORE INTO session_tags (session_id, tag, created_at)
SELECT session_id, tag, utc_text(CAST(created_at AS BLOB)) FROM earlier_session_tags
WHERE session_id IN (SELECT id FROM sessions);

INSERT OR IGNORE INTO session_contexts (session_id, folder_path, added_at)
SELECT session_id, folder_path, utc_text(CAST(added_at AS BLOB)) FROM earlier_session_contexts
WHERE session_id IN (SELECT id FROM sessions);

INSERT OR IGNORE INTO metadata (key, value, updated_at)
SELECT key, value, utc_text(CAST(updated_at AS BLOB)) FROM earlier_metadata;

INSERT OR IGNORE INTO chunks (
    id, content_id, content_type, field, chunk_index, chunk_text, embedding, created_at
)
SELECT
    id, content_id, content_type, field, chunk_index, chunk_text, embedding,
    utc_text(CAST(created_at AS BLOB))
FROM earlier_chunks;

INSERT OR IGNORE INTO index_manifest (
    content_id, content_type, content_hash, title, indexed_at, chunk_count, source_path, metadata
)
SELECT
    content_id, content_type, content_hash, title, utc_text(CAST(indexed_at AS BLOB)), chunk_count,
    source_path, metadata
FROM earlier_index_manifest;

INSERT OR IGNORE INTO pairing_requests (
    id, platform, platform_user_id, platform_user_display, platform_chat_id, status,
    approved_trust_level, created_at, resolved_at, resolved_by
)
SELECT
    id, platform, platform_user_id, platform_user_display, platform_chat_id, status,
    approved_trust_level, utc_text(CAST(created_at AS BLOB)), utc_text(CAST(resolved_at AS BLOB)),
    resolved_by
FROM earlier_pairing_requests;

INSERT OR IGNORE INTO schema_version (version, applied_at)
SELECT version, utc_text(CAST(applied_at AS BLOB)) FROM earlier_schema_version
WHERE typeof(version) = 'integer' AND version <= 12;

DROP TABLE earlier_session_tags;
DROP TABLE earlier_session_contexts;
DROP TABLE earlier_metadata;
DROP TABLE earlier_chunks;
DROP TABLE earlier_index_manifest;
DROP TABLE earlier_pairing_requests;
DROP TABLE earlier_schema_version;
DROP TABLE earlier_sessions;
