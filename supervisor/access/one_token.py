"""A door with one token and nobody else: that of our MCP server over HTTP."""

import asyncio
import hmac

from supervisor.access.holder import OWNER, Holder
from supervisor.access.logins import Login
from supervisor.access.secrets import digest


class OneToken:
    """Knows the holder of one token, which never ends; there are no logins."""

    def __init__(self, token: str) -> None:
        self._digest = digest(token)

    def bearer(self, token: str) -> Holder | None:
        """The owner, for the token."""
        return OWNER if hmac.compare_digest(digest(token), self._digest) else None

    async def login(self, cookie: str) -> Login | None:
        """None: nobody logs in here."""
        del cookie
        return None

    def counts(self, holder: Holder) -> bool:
        """Whether it is the owner."""
        return holder is OWNER

    async def gone(self, holder: Holder) -> None:
        """Never return."""
        del holder
        await asyncio.Event().wait()
