"""Names and commands as a reason tells them: short, and safe to print."""

LONGEST = 120


def shown(text: str) -> str:
    """The text in backquotes, cut short; with escapes where it can't be printed as it is."""
    short = text if len(text) <= LONGEST else text[:LONGEST] + "…"
    return f"`{short}`" if short.isprintable() else ascii(short)
