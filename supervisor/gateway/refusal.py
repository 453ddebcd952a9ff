"""How the gateway refuses a request: as the API would say it, and with nothing secret in it."""

from dataclasses import dataclass
from typing import Any, NoReturn


@dataclass(frozen=True, slots=True)
class Refused:
    """A request that may not pass, as the API would say it; the message holds nothing secret."""

    status: int
    error_type: str
    message: str


class Refusal(Exception):
    """Ends the judging of a request; `verdict` is what it is answered."""

    def __init__(self, status: int, error_type: str, message: str) -> None:
        super().__init__(message)
        self.verdict = Refused(status, error_type, message)


def malformed(message: str) -> NoReturn:
    """Refuse what can't be read as a request of the Messages API."""
    raise Refusal(400, "invalid_request_error", message)


def forbidden(message: str) -> NoReturn:
    """Refuse what this turn may not ask for."""
    # 403: the CLI gives up at once, where a 400 makes it try five times with fewer features
    raise Refusal(403, "permission_error", message)


def shown(value: Any) -> str:
    """A hostile value, short and in printable ASCII."""
    return ascii(value if isinstance(value, str) else type(value).__name__)[:80]
