-- Who asked to talk to us through a bot.

CREATE TABLE IF NOT EXISTS pairing_requests (
    id TEXT PRIMARY KEY,
    platform TEXT NOT NULL,
    platform_user_id TEXT NOT NULL,
    platform_user_display TEXT,
    platform_chat_id TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'pending',
    approved_trust_level TEXT,
    created_at TEXT NOT NULL,
    resolved_at TEXT,
    resolved_by TEXT,
    UNIQUE (platform, platform_user_id, status)
);

CREATE INDEX IF NOT EXISTS idx_pairing_requests_status ON pairing_requests (status);
CREATE INDEX IF NOT EXISTS idx_pairing_requests_platform
ON pairing_requests (platform, platform_user_id);
