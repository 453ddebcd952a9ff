"""Foreign text made fit for one line of an error: bounded, and without control characters."""

_LIMIT = 300


def last_line(raw: bytes) -> str:
    """The last line of some output that says anything; printable characters only."""
    lines = [line.strip() for line in raw.decode(errors="replace").splitlines()]
    said = next((line for line in reversed(lines) if line), "")
    return "".join(c if c.isprintable() else " " for c in said)[:_LIMIT]
