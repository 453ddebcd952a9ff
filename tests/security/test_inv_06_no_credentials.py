"""Invariant 6, end to end: the key is in the gateway, and in nothing an agent or a file can show.

At each level a turn searches for it where a tool can look, in spellings that no static check knows;
then the host searches everything the supervisor wrote. Controls put the key where it doesn't
belong, and the same searches find it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from pydantic import SecretStr

from supervisor.runtimes import command_line
from supervisor.runtimes.container import runtime as container_runtime
from supervisor.runtimes.local import runtime as local_runtime
from supervisor.trust.levels import TrustLevel
from tests.worlds.hostile_image import docker
from tests.worlds.house import KEY, House, Turn, a_house, bash, prompt, step

pytestmark = pytest.mark.engine

LEVELS = list(TrustLevel)
MIDDLE = KEY[10:30]
"""A piece of it, so that what cuts or wraps it is found as well."""

LOOK = """
import os, sys
wanted = bytes(reversed({backwards!r})) # this script must not find itself
found = []
def look(path):
    try:
        with open(path, "rb") as file:
            if wanted in file.read(64_000_000):
                found.append(path)
    except OSError:
        pass
def environments():
    here = os.sep + "pr" + "oc"
    for name in os.listdir(here):
        if name.isdigit():
            for leaf in ("envi" + "ron", "cmd" + "line"):
                yield os.path.join(here, name, leaf), int(name)
mine = os.getpid()
ancestors = set()
def parent(pid):
    with open(f"/proc/{{pid}}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[1])
pid = mine
while pid > 1:
    ancestors.add(pid)
    pid = parent(pid)
looked = 0
for path, pid in environments():
    if {everyone} or pid in ancestors:
        looked += 1
        look(path)
for root in {roots!r}:
    for folder, folders, names in os.walk(root):
        folders[:] = [f for f in folders if os.path.join(folder, f) not in ("/proc", "/sys")]
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path) and os.path.getsize(path) < 50_000_000:
                looked += 1
                look(path)
for name, value in os.environ.items():
    if wanted.decode() in value:
        found.append("$" + name)
print("LOOKED", looked, "FOUND", found)
"""


def a_search(house: House, level: TrustLevel) -> str:
    """A command that looks for the key in environments, command lines and files.

    On the host, the tool's own line of ancestors, the supervisor included, and the turns' folders.
    """
    caged = level is TrustLevel.SANDBOXED
    script = LOOK.format(
        backwards=bytes(reversed(MIDDLE.encode())),
        everyone=caged,
        roots=["/"] if caged else [str(house.parts.settings.runtime_dir)],
    )
    return f"env; python3 - <<'END'\n{script}\nEND"


async def granted(house: House, turn: Turn) -> Turn:
    """Go on to the end, a person granting whatever is asked."""

    def asks_or_ends(event: dict[str, object]) -> bool:
        return event["type"] == "permission_request"

    while turn.end["type"] not in ("done", "aborted", "error"):
        await turn.go_on(asks_or_ends)
        if turn.end["type"] == "permission_request":
            await house.parts.approvals.answer(turn.end["id"], "granted")
    return turn


def everything_written(house: House) -> dict[str, bytes]:
    """All files of the supervisor: data, runtime folder, databases and transcripts."""
    roots = (house.parts.settings.data_dir, house.parts.settings.runtime_dir, house.vault)
    return {
        str(path): path.read_bytes() for root in roots for path in root.rglob("*") if path.is_file()
    }


def holders(house: House) -> list[str]:
    return [
        path for path, content in everything_written(house).items() if MIDDLE.encode() in content
    ]


@pytest.mark.parametrize("level", LEVELS)
async def test_no_search_from_inside_finds_the_key_and_none_from_outside(
    level: TrustLevel, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with a_house() as house:
        look = bash(a_search(house, level))
        slow = step("word " * 8, chunks=8, chunk_delay_s=1.0)
        started = await house.begin(prompt(look, slow), trust_level=level)
        turn = Turn(house, started, [])
        while not turn.of("text"):
            await turn.go_on(lambda event: event["type"] in {"permission_request", "text"})
            if turn.end["type"] == "permission_request":
                await house.parts.approvals.answer(turn.end["id"], "granted")
        said = turn.results()[0]
        assert "FOUND []" in said, said
        assert "LOOKED 0" not in said
        assert command_line.PLACEHOLDER_KEY in said
        during = await asyncio.to_thread(holders, house)
        inspected = await asyncio.to_thread(_inspected, started.turn_id)
        await house.parts.conversations.abort(turn.session_id, "seen enough")
        await turn.go_on()
        assert during == []
        assert MIDDLE not in inspected
        assert (level is TrustLevel.SANDBOXED) == ("trustfloor.turn" in inspected)
        assert await asyncio.to_thread(holders, house) == []
        assert MIDDLE not in repr(turn.events)
        assert MIDDLE not in repr(house.parts) + str(house.parts.settings)
    assert MIDDLE not in caplog.text


@pytest.mark.parametrize("level", LEVELS)
async def test_control_with_the_key_in_the_clis_environment_the_same_search_finds_it(
    level: TrustLevel, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = command_line.environment

    def leaky(places: command_line.Places) -> dict[str, str]:
        return {**honest(places), "LEAKED": f"x{KEY[:-1]}"}  # not whole: the redactor misses it

    for module in (local_runtime, container_runtime):
        monkeypatch.setattr(module, "environment", leaky)
    async with a_house() as house:
        look = prompt(bash(a_search(house, level)), step("ok"))
        turn = Turn(house, await house.begin(look, trust_level=level), [])
        await turn.go_on(lambda event: event["type"] == "permission_request")
        if turn.end["type"] == "permission_request":
            await house.parts.approvals.answer(turn.end["id"], "granted")
            await granted(house, turn)
        assert "$LEAKED" in turn.results()[0]
        assert MIDDLE in repr(turn.events)
        assert await asyncio.to_thread(holders, house) != []


async def test_an_environment_of_the_supervisor_with_the_key_is_not_passed_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("ANTHROPIC_API_KEY", "TRUSTFLOOR_API_KEY", "ANTHROPIC_AUTH_TOKEN", "MY_SECRET"):
        monkeypatch.setenv(name, KEY)
    async with a_house() as house:
        turn = await house.send(prompt(bash("env | sort"), step("ok")), TrustLevel.FULL)
        assert turn.end["type"] == "done"
        assert KEY not in repr(turn.events)
        assert "[redacted]" not in turn.results()[0]  # it wasn't there, rather than taken out
        assert "MY_SECRET" not in turn.results()[0]


@asynccontextmanager
async def echoing_upstream(status: int) -> AsyncIterator[str]:
    """A model's API that answers with an error which quotes the key that it was given."""

    async def answer(request: web.Request) -> web.Response:
        key = request.headers.get("x-api-key", "")
        error = {"type": "authentication_error", "message": f"invalid key: {key}"}
        return web.json_response(
            {"type": "error", "error": error},
            status=status,
            headers={"request-id": key, "x-should-retry": "false"},
        )

    app = web.Application()
    app.router.add_route("*", "/{anything:.*}", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize("status", [400, 401, 403])
async def test_an_api_that_quotes_the_key_in_its_error_is_not_quoted(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with (
        echoing_upstream(status) as url,
        a_house(model=None, api_url=url, api_key=SecretStr(KEY)) as house,
    ):
        turn = await house.send("hello", TrustLevel.FULL)
        assert turn.end["type"] == "error"
        assert turn.end["code"] == "model_failed"
        assert MIDDLE not in repr(turn.events)
        assert await asyncio.to_thread(holders, house) == []
    assert MIDDLE not in caplog.text


async def test_control_the_api_did_get_the_key() -> None:
    seen: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(request.headers.get("x-api-key", ""))
        return web.json_response({"type": "error", "error": {}}, status=400)

    app = web.Application()
    app.router.add_route("*", "/{anything:.*}", answer)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        async with a_house(model=None, api_url=url) as house:
            await house.send("hello", TrustLevel.FULL)
    finally:
        await runner.cleanup()
    assert set(seen) == {KEY}


def _inspected(turn_id: str) -> str:
    containers = docker("ps", "--all", "--quiet", "--filter", f"label=trustfloor.turn={turn_id}")
    return docker("inspect", *containers.split()) if containers else ""
