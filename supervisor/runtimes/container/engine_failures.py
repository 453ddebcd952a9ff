"""What goes wrong between us and the container engine, in our errors; each says what to do."""

from collections.abc import Iterator
from typing import Final

import docker
import docker.errors
import requests.exceptions

from supervisor.errors import EngineRefused, EngineUnreachable, TurnFailed
from supervisor.variables import ENGINE_SOCKET

START_ENGINE: Final = "run scripts/engine"
FREE_ITS_DISK: Final = "free disk space for the engine: docker system df, docker system prune"
JOIN_ITS_GROUP: Final = 'join the group docker: sudo usermod -aG docker "$USER", and log in anew'

_NOT_FOUND, _CONFLICT = 404, 409
_NOT_MODIFIED: Final = 304

_UNREACHABLE: Final[tuple[tuple[type[BaseException], str, str], ...]] = (
    (PermissionError, "is not for this user", JOIN_ITS_GROUP),
    (FileNotFoundError, "doesn't exist", START_ENGINE),
    (ConnectionRefusedError, "has nobody listening", START_ENGINE),
    (TimeoutError, "accepts and doesn't answer", "restart the engine"),
    (requests.exceptions.Timeout, "accepts and doesn't answer", "restart the engine"),
)


class Absent(Exception):
    """The engine knows no such container or image."""


class Conflict(Exception):
    """The engine can't do this in the thing's present state."""


def translate(error: Exception, path: str) -> Exception:
    """What an error of the library's means: the one place that decides."""
    if isinstance(error, docker.errors.APIError) and error.response is not None:
        return _refusal(error)
    causes = list(_causes(error))
    for kind, why, remedy in _UNREACHABLE:
        if any(isinstance(each, kind) for each in causes):
            return unreachable(path, why, remedy)
    return unreachable(path, "broke off")


def _refusal(error: docker.errors.APIError) -> Exception:
    status = error.response.status_code
    said = str(error.explanation or error)[:500]
    if status == _NOT_FOUND:
        return Absent(said)
    if status in (_CONFLICT, _NOT_MODIFIED):
        return Conflict(said)
    remedy = None
    if "no space left" in said:
        remedy = FREE_ITS_DISK
    elif "source path does not exist" in said:
        remedy = (
            "the engine finds the supervisor's folders elsewhere: say where, with"
            " TRUSTFLOOR_ENGINE_PATH_MAP=OUR_FOLDER=ITS_FOLDER, or mount them at the same paths"
        )
    return EngineRefused(f"the engine refused: {said}", where=f"HTTP {status}", remedy=remedy)


def unreachable(path: str, why: str, remedy: str = START_ENGINE) -> TurnFailed:
    """There is no engine for us behind that socket, and why."""
    if remedy == START_ENGINE and path != ENGINE_SOCKET:
        remedy = (
            "start the engine that listens there, or mend what names the socket:"
            " TRUSTFLOOR_ENGINE_SOCKET, else DOCKER_HOST (scripts/engine starts the usual one only)"
        )
    return EngineUnreachable(
        f"the engine's socket {path} {why}",
        where=path,
        remedy=f"{remedy}; `trustfloor doctor` looks again",
    )


def is_timeout(error: BaseException) -> bool:
    """Whether it comes of an answer that was waited for too long."""
    timeouts = (TimeoutError, requests.exceptions.Timeout)
    return any(isinstance(each, timeouts) for each in _causes(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and all it wraps: libraries hand causes on as arguments as well as by chaining."""
    seen: set[int] = set()
    waiting: list[object] = [error]
    while waiting:
        each = waiting.pop()
        if not isinstance(each, BaseException) or id(each) in seen:
            continue
        seen.add(id(each))
        yield each
        waiting += [*each.args, each.__cause__, each.__context__, getattr(each, "reason", None)]
