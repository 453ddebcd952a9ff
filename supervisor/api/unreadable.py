"""What can't be read as HTTP is a problem too: uvicorn, which finds it, would say so in plain text.

The parser stops before there is a request, so nothing is known of its path.
"""

import sys

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from supervisor.api.access import SECURITY_HEADERS
from supervisor.api.turned_away import BAD_HOST, MALFORMED_REQUEST


class ProblemsProtocol(H11Protocol):
    """The protocol of `trustfloor serve` on its port and its socket."""

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002  (uvicorn's, which says no more)
        """Answer what h11 has just refused, and close."""
        # By its words, as h11 has no other sign of it; uvicorn calls this while it handles them.
        problem = BAD_HOST if "Host: header" in str(sys.exception()) else MALFORMED_REQUEST
        answer = problem.response("")
        head = h11.Response(
            status_code=problem.status,
            headers=[*answer.raw_headers, *SECURITY_HEADERS, (b"connection", b"close")],
            reason=b"Bad Request",
        )
        for part in (head, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(part) or b"")
        self.transport.close()
