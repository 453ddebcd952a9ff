"""How long a test waits for what should come, at the most: one bound for all of them."""

from typing import Final

A_WHILE: Final = 120.0
"""Seconds. Nothing is concluded from its length; it costs nothing where all is well, and a machine
that is busy with other things is no fault of ours."""

SOON: Final = 30.0
"""Seconds. For what is promised to come soon: less than what would end it by itself."""
