"""What `doctor` and health say of the container engine and the runner image."""

from supervisor.errors import TurnFailed
from supervisor.observability.health import Check
from supervisor.runtimes.container.engine import Engine, EngineInfo


async def engine_checks(engine: Engine, image: str) -> tuple[Check, ...]:
    """Whether sandboxed turns can run: the engine, its kernel features, the image."""
    try:
        info = await engine.info()
    except TurnFailed as error:
        unknown = Check("runner image", ok=None, detail="not looked for: no engine")
        return Check("engine", ok=False, detail=error.message, remedy=error.remedy), unknown
    return (
        Check("engine", ok=True, detail=f"version {info.version} at {engine.path}"),
        _seccomp(info),
        await _image(engine, image),
    )


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
