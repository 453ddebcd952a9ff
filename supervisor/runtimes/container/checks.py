"""What `doctor` and health say of the container engine and the runner image."""

import shutil
from typing import Final

from supervisor.errors import TurnFailed
from supervisor.observability.health import Check
from supervisor.runtimes.container.engine import Engine, EngineInfo
from supervisor.runtimes.container.engine_failures import FREE_ITS_DISK

_LITTLE_ROOM: Final = 512 << 20
_TOO_LITTLE_ROOM: Final = 1 << 20
"""Bytes. A container is some 50 KB of the engine's disk; what runs in it writes nothing there."""


async def engine_checks(engine: Engine, image: str) -> tuple[Check, ...]:
    """Whether sandboxed turns can run: the engine, its kernel features, the image."""
    try:
        info = await engine.info()
    except TurnFailed as error:
        unknown = Check("runner image", ok=None, detail="not looked for: no engine")
        return Check("engine", ok=False, detail=error.message, remedy=error.remedy), unknown
    return (
        Check("engine", ok=True, detail=f"version {info.version} at {engine.path}"),
        *_disk(info),
        _seccomp(info),
        await _image(engine, image),
    )


def _disk(info: EngineInfo) -> tuple[Check, ...]:
    """The room where the engine keeps what it has, if we can see that place."""
    try:
        free = shutil.disk_usage(info.root).free
    except OSError:  # another machine's, or another container's
        return ()
    detail = f"{info.root}, {free >> 20} MB free"
    if free >= _LITTLE_ROOM:
        return (Check("engine's disk", ok=True, detail=detail),)
    ok = None if free >= _TOO_LITTLE_ROOM else False
    return (Check("engine's disk", ok=ok, detail=detail, remedy=FREE_ITS_DISK),)


def _seccomp(info: EngineInfo) -> Check:
    has_it = any(option.startswith("name=seccomp") for option in info.security_options)
    if has_it:
        return Check("seccomp", ok=True, detail="the engine filters system calls")
    return Check(
        "seccomp",
        ok=False,
        detail="the engine does not filter system calls",
        remedy="use a kernel with CONFIG_SECCOMP_FILTER and an engine built with it",
    )


async def _image(engine: Engine, image: str) -> Check:
    try:
        found = await engine.image_id(image)
    except TurnFailed as error:
        return Check("runner image", ok=False, detail=error.message, remedy=error.remedy)
    return Check("runner image", ok=True, detail=f"{image} is {found[:19]}")
