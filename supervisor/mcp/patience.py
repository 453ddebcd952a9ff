"""How long a server that is tried out is waited for, in seconds."""

from typing import Final

SECONDS: Final = 20.0
"""If nothing else is said."""
MOST_SECONDS: Final = 120.0
