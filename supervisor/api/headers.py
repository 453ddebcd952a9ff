"""A request's headers, as they stand in an ASGI scope."""

from starlette.types import Scope


def values(scope: Scope, name: bytes) -> list[str]:
    """All values that a header has; its name in small letters."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]
