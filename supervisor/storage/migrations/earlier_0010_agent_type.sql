-- Sessions are found by the kind of agent.

ALTER TABLE sessions ADD COLUMN agent_type TEXT;

CREATE INDEX IF NOT EXISTS idx_sessions_agent_type ON sessions (agent_type);
