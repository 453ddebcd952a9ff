"""The kinds of entry that the audit log has; docs/security.md says when each is written."""

from enum import StrEnum


class AuditKind(StrEnum):
    """What an entry of the audit log is about."""

    SERVER = "server"
    REQUEST = "request"
    ACCESS = "access"
    POLICY = "policy"
    FLOOR = "floor"
    LAUNCH = "launch"
    WAITING = "waiting"
    ISOLATION = "isolation"
    DECISION = "decision"
    ANSWER = "answer"
    GRANT = "grant"
    REVOKE = "revoke"
    TRUST = "trust"
    WORKSPACE = "workspace"
    MCP = "mcp"
    MCP_RELAYED = "mcp_relayed"
    MCP_REFUSED = "mcp_refused"
    SESSION = "session"
    KILL = "kill"
    INCIDENT = "incident"
    ENDING = "ending"
    AUDIT_RECOVERED = "audit_recovered"
    AUDIT_DAMAGED = "audit_damaged"
    AUDIT_ROTATED = "audit_rotated"
