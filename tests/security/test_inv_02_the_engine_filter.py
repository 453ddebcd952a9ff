"""The engine filter: a supervisor that is in an attacker's hands gets no looser container from it.

Each create is broken in one way; the filter refuses it, and the engine itself, asked past the
filter, makes it: that is the control.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
import pytest_asyncio

from supervisor.errors import EngineRefused
from supervisor.ids import new_instance_id
from supervisor.runtimes.container.channel import ContainerChannel
from supervisor.runtimes.container.engine import ContainerId
from supervisor.runtimes.container.start_line import StartLine, encode
from tests.worlds.engine import PLAIN_ENVIRONMENT, ended
from tests.worlds.engine_filter import Body, Breaking, FilterWorld, a_filter
from tests.worlds.waiting import A_WHILE

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", name="world", loop_scope="module")
async def world_fixture() -> AsyncIterator[FilterWorld]:
    async with a_filter() as world:
        yield world


def host(**options: Any) -> Breaking:
    return lambda body: body["HostConfig"].update(options)


def top(**options: Any) -> Breaking:
    return lambda body: body.update(options)


def mount(**options: Any) -> Breaking:
    return lambda body: body["HostConfig"]["Mounts"][0].update(options)


def another(entry: Body) -> Breaking:
    return lambda body: body["HostConfig"]["Mounts"].append(entry)


def without(*path: str) -> Breaking:
    def take(body: Body) -> None:
        for step in path[:-1]:
            body = body[step]
        del body[path[-1]]

    return take


ROOT: Final = {"Type": "bind", "Source": "/", "Target": "/host", "ReadOnly": True}

BREAKS: Final[dict[str, Breaking]] = {
    "privileged": host(Privileged=True),
    "a capability": host(CapAdd=["SYS_ADMIN"]),
    "capabilities kept": host(CapDrop=[]),
    "new privileges": host(SecurityOpt=[]),
    "no seccomp": host(SecurityOpt=["no-new-privileges", "seccomp=unconfined"]),
    "the host's network": host(NetworkMode="host"),
    "a network": host(NetworkMode="bridge"),
    "a network left on": top(NetworkDisabled=False),
    "the host's processes": host(PidMode="host"),
    "the host's ipc": host(IpcMode="host"),
    "the host's name": lambda body: (
        body.pop("Hostname"),
        body["HostConfig"].update(UTSMode="host"),
    ),
    "the host's users": host(UsernsMode="host"),
    "the host's cgroups": host(CgroupnsMode="host"),
    "a cgroup parent": host(CgroupParent="/elsewhere"),
    "a bind": host(Binds=["/:/host:ro"]),
    "a mount of the root": another(ROOT),
    "a volume": another({"Type": "volume", "Target": "/v"}),
    "another vault": mount(Source="/etc"),
    "a writable vault": mount(ReadOnly=False),
    "a recursive vault": mount(BindOptions={"Propagation": "rprivate", "NonRecursive": False}),
    "a shared mount": mount(BindOptions={"Propagation": "rslave", "NonRecursive": True}),
    "volumes of the image": top(Volumes={"/v": {}}),
    "a device": host(
        Devices=[
            {"PathOnHost": "/dev/null", "PathInContainer": "/dev/x", "CgroupPermissions": "rwm"}
        ]
    ),
    "rights on devices": host(DeviceCgroupRules=["c *:* rwm"]),
    "a writable root": host(ReadonlyRootfs=False),
    "unmasked paths": host(MaskedPaths=[]),
    "writable paths": host(ReadonlyPaths=[]),
    "a group": host(GroupAdd=["0"]),
    "root": top(User="0:0"),
    "another entry": top(Entrypoint=["/bin/sh"]),
    "a command": top(Cmd=["sh"]),
    "a variable": top(Env=["LD_PRELOAD=/vault/x.so"]),
    "no label of ours": without("Labels", "trustfloor.instance"),
    "a label more": lambda body: body["Labels"].update(x="y"),
    "a log": host(LogConfig={"Type": "json-file", "Config": {}}),
    "a restart": host(RestartPolicy={"Name": "always", "MaximumRetryCount": 0}),
    "an own end": host(AutoRemove=True),
    "no limit on processes": host(PidsLimit=0),
    "no limit on memory": host(Memory=0, MemorySwap=0),
    "more memory than is set": host(Memory=2 << 30, MemorySwap=2 << 30),
    "swap": host(MemorySwap=-1),
    "no oom killer": host(OomKillDisable=True),
    "a setting of the kernel": host(Sysctls={"kernel.msgmax": "1"}),
    "a port": host(PortBindings={"80/tcp": [{"HostPort": "0"}]}),
    "a runtime": host(Runtime="runc"),
    "an option nobody knows": host(NobodyKnows=1),
    "a number for a truth": host(Privileged=0),
    "a health check": top(Healthcheck={"Test": ["CMD", "true"]}),
    "a larger tmpfs": lambda body: body["HostConfig"]["Tmpfs"].update(
        {"/tmp": "rw,exec,nosuid,nodev,size=999999999999,mode=1777"}
    ),
    "a tmpfs with devices": lambda body: body["HostConfig"]["Tmpfs"].update(
        {"/tmp": "rw,exec,nosuid,dev,size=16777216,mode=1777"}
    ),
}

NOT_THE_ENGINES: Final = {"a number for a truth"}
"""What the engine refuses itself."""


@pytest.mark.parametrize("how", BREAKS)
async def test_a_create_that_breaks_the_cage_is_refused(world: FilterWorld, how: str) -> None:
    spec = world.spec()
    body = spec.as_api()
    BREAKS[how](body)
    target = f"/v1.41/containers/create?name={spec.name}"
    refused = await world.ask("POST", target, body)
    assert refused.status == 403, refused
    assert refused.message.startswith("the engine filter: create"), refused.message

    made = await world.ask("POST", target, body, past=True)
    if how in NOT_THE_ENGINES:
        assert made.status in (400, 500)
        return
    assert made.status == 201, made
    await world.ask("DELETE", f"/containers/{made.id}?force=1&v=1", past=True)


async def test_an_image_of_somebody_elses_is_refused(world: FilterWorld) -> None:
    spec = world.spec()
    for image in ("trustfloor/base:local", "trustfloor/runner:latest", "scratch"):
        body = {**spec.as_api(), "Image": image}
        said = await world.ask("POST", f"/v1.41/containers/create?name={spec.name}", body)
        assert said.status == 403, said


CALLS: Final = (
    ("POST", "/v1.41/containers/{id}/exec"),
    ("POST", "/v1.41/exec/{id}/start"),
    ("POST", "/v1.41/build"),
    ("POST", "/v1.41/images/create?fromImage=x"),
    ("POST", "/v1.41/images/trustfloor/runner:latest/tag?repo=x"),
    ("DELETE", "/v1.41/images/trustfloor/runner:latest"),
    ("GET", "/v1.41/images/json"),
    ("GET", "/v1.41/images/trustfloor/base:local/json"),
    ("POST", "/v1.41/volumes/create"),
    ("GET", "/v1.41/volumes"),
    ("POST", "/v1.41/networks/create"),
    ("GET", "/v1.41/networks"),
    ("POST", "/v1.41/swarm/init"),
    ("POST", "/v1.41/plugins/pull?remote=x"),
    ("POST", "/v1.41/containers/{id}/update"),
    ("POST", "/v1.41/containers/{id}/rename?name=x"),
    ("POST", "/v1.41/containers/{id}/restart"),
    ("POST", "/v1.41/containers/prune"),
    ("POST", "/v1.41/commit?container={id}"),
    ("PUT", "/v1.41/containers/{id}/archive?path=/"),
    ("GET", "/v1.41/containers/{id}/archive?path=/"),
    ("GET", "/v1.41/containers/{id}/export"),
    ("GET", "/v1.41/containers/{id}/logs?stdout=1"),
    ("POST", "/v1.41/session"),
    ("GET", "/v1.41/containers/json"),
    ("GET", "/v1.41/containers/json?all=1&filters=%7B%7D"),
    ("GET", "/v1.41/events?since=0"),
    ("POST", "/v1.41/containers/{id}/kill?signal=SIGUSR1"),
    # The same by odd spellings
    ("POST", "/v1.41/containers/{id}/json/../exec"),
    ("POST", "/v1.41//containers/{id}/exec"),
    ("POST", "/v1.41/containers/{id}%2fexec"),
    ("POST", "//v1.41/containers/{id}/exec"),
    ("GET", "/v1.41/../v1.41/containers/json"),
    ("GET", "http://engine/v1.41/containers/json"),
    ("GET", "/v1.41/containers/{id}/json?size=1"),
    ("DELETE", "/v1.41/containers/{id}?force=1&force=0"),
    ("DELETE", "/v1.41/containers/{id}/?force=1"),
)


@pytest.mark.parametrize(("method", "target"), CALLS)
async def test_a_call_that_no_supervisor_needs_is_refused(
    world: FilterWorld, method: str, target: str
) -> None:
    somebody = "f" * 64
    said = await world.ask(
        method, target.replace("{id}", somebody), {} if "POST" in method else None
    )
    assert said.status in (400, 403, 404), said
    assert said.message.startswith("the engine filter: "), said


async def test_a_container_of_somebody_elses_is_not_there(world: FilterWorld) -> None:
    made = await world.ask(
        *("POST", "/v1.41/containers/create", {"Image": world.image, "Labels": {"x": "y"}}),
        past=True,
    )
    # With our labels, but over another supervisor's folders, it is somebody else's as well.
    other = world.spec().as_api()
    other["HostConfig"]["Mounts"] = []
    like_ours = await world.ask("POST", "/v1.41/containers/create", other, past=True)
    try:
        for container in (made.id, like_ours.id):
            for method, target in (
                ("GET", "/json"),
                ("POST", "/start"),
                ("POST", "/wait"),
                ("POST", "/kill?signal=SIGKILL"),
                ("DELETE", "?force=1&v=1"),
            ):
                said = await world.ask(method, f"/v1.41/containers/{container}{target}")
                assert said.status == 404, said
                assert said.message.startswith("the engine filter: "), said
            with pytest.raises(EngineRefused):
                await world.engine.attach(ContainerId(container))
            still = await world.ask("GET", f"/containers/{container}/json", past=True)
            assert json.loads(still.body)["State"]["Status"] == "created"
        assert await world.engine.list_ours(world.instance) == ()
        assert len(await world.real.list_ours(world.instance)) == 1
    finally:
        for each in (made, like_ours):
            await world.ask("DELETE", f"/containers/{each.id}?force=1", past=True)


async def started(world: FilterWorld, spec: Any) -> tuple[Any, ContainerChannel]:
    container = await world.engine.create(spec)
    stream = await world.engine.attach(container)
    return container, ContainerChannel(stream, world.engine, container, spec.limits)


async def test_a_turns_sandbox_passes_whole(world: FilterWorld) -> None:
    spec = world.spec()
    container, channel = await started(world, spec)
    async with channel:
        assert [each.id for each in await world.engine.list_ours(world.instance)] == [container]
        await world.engine.start(container)
        async with asyncio.timeout(A_WHILE):
            assert await channel.first_line(1 << 20)
        large = "x" * 300_000
        await channel.write(
            encode(
                StartLine(("/bin/sh", "-c", "cat; cat /vault/note.md"), "/vault", PLAIN_ENVIRONMENT)
            )
        )
        await channel.write(large.encode())
        await channel.close_input()
        done = await ended(channel)
    assert done.output == large.encode() + b"a note\n"
    assert await world.engine.wait(container) == 0
    assert not await world.engine.was_sent_a_signal(container)
    again = await world.ask("POST", f"/containers/{container}/start")
    assert again.status == 403
    assert await world.engine.remove(container)
    assert await world.engine.inspect(container) is None


async def swapped_start(world: FilterWorld, *, past: bool) -> tuple[int, bytes]:
    """Put a link to `/` where the vault's view was, start, put the view back; what is seen then."""
    spec = world.spec()
    engine = world.real if past else world.engine
    container = await engine.create(spec)
    view = Path(spec.mounts[0].source)
    kept = view.with_name("kept")
    stream = await engine.attach(container)
    async with ContainerChannel(stream, engine, container, spec.limits) as channel:
        view.rename(kept)
        view.symlink_to("/etc")
        said = await world.ask("POST", f"/containers/{container}/start", past=past)
        view.unlink()
        kept.rename(view)
        if said.status != 204:
            return said.status, said.body
        async with asyncio.timeout(A_WHILE):
            assert await channel.first_line(1 << 20)
        look = StartLine(("/bin/ls", "/vault"), "/", PLAIN_ENVIRONMENT)
        await channel.write(encode(look))
        output = (await ended(channel)).output
        await engine.remove(container)
        return said.status, output


async def test_a_link_put_in_a_folders_place_gets_no_input(world: FilterWorld) -> None:
    status, body = await swapped_start(world, past=False)
    assert status == 403
    assert b"isn't the folder that was asked for" in body
    assert await world.real.list_ours(world.instance) == ()

    status, seen = await swapped_start(world, past=True)
    assert status == 204
    assert b"passwd" in seen


HEAD: Final = b"Host: engine\r\n"
ODD: Final = {
    "a body in pieces": (
        b"POST /v1.41/containers/create HTTP/1.1\r\n" + HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
        b"2\r\n{}\r\n0\r\n\r\n"
    ),
    "two lengths": (
        b"POST /v1.41/containers/create HTTP/1.1\r\n" + HEAD + b"Content-Length: 2\r\n"
        b"Content-Length: 3\r\n\r\n{}"
    ),
    "one length twice": (
        b"POST /v1.41/containers/create HTTP/1.1\r\n" + HEAD + b"Content-Length: 2\r\n"
        b"Content-Length: 2\r\n\r\n{}"
    ),
    "a length and pieces": (
        b"POST /v1.41/containers/create HTTP/1.1\r\n" + HEAD + b"Content-Length: 2\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    ),
    "a second request": (
        b"GET /_ping HTTP/1.1\r\n" + HEAD + b"\r\nPOST /v1.41/build HTTP/1.1\r\n" + HEAD + b"\r\n"
    ),
    "a body that hides one": (
        b"GET /_ping HTTP/1.1\r\n" + HEAD + b"Content-Length: 39\r\n\r\n"
        b"POST /v1.41/build HTTP/1.1\r\nHost: x\r\n\r\n"
    ),
    "an upgrade of another call": (
        b"GET /v1.41/info HTTP/1.1\r\n" + HEAD + b"Connection: Upgrade\r\nUpgrade: tcp\r\n\r\n"
    ),
    "a folded header": b"GET /_ping HTTP/1.1\r\nHost: engine\r\n : x\r\nA\x00: b\r\n\r\n",
    "two hosts": b"GET /_ping HTTP/1.1\r\nHost: engine\r\nHost: other\r\n\r\n",
    "an old HTTP": b"GET /_ping HTTP/1.0\r\nHost: engine\r\n\r\n",
    "no HTTP": b"\x16\x03\x01\x00\xff\r\n\r\n",
    "a line feed in the target": b"GET /_ping\nX HTTP/1.1\r\n" + HEAD + b"\r\n",
    "a key twice": (
        b"POST /v1.41/containers/create?name=trustfloor-turn_"
        + b"0" * 32
        + b" HTTP/1.1\r\n"
        + HEAD
        + b"Content-Length: 25\r\n\r\n"
        + b'{"Image":"a","Image":"b"}'
    ),
    "a deep body": (
        b"POST /v1.41/containers/create?name=trustfloor-turn_"
        + b"0" * 32
        + b" HTTP/1.1\r\n"
        + HEAD
        + b"Content-Length: 60000\r\n\r\n"
        + b"[" * 60000
    ),
    "a long body": (
        b"POST /v1.41/containers/create HTTP/1.1\r\n"
        + HEAD
        + b"Content-Length: 999999\r\n\r\n"
        + b" " * 999999
    ),
    "a long head": b"GET /_ping HTTP/1.1\r\n" + HEAD + b"A: " + b"x" * 40000 + b"\r\n\r\n",
}


@pytest.mark.parametrize("how", ODD)
async def test_what_could_be_read_in_two_ways_is_refused(world: FilterWorld, how: str) -> None:
    said = await world.say(ODD[how])
    assert said.status in (400, 403, 413), said
    assert said.message.startswith("the engine filter: ")


async def test_only_so_many_sandboxes_are_there_at_once_however_they_are_asked_for() -> None:
    async with a_filter(count=3) as few:

        async def create(*, past: bool = False) -> ContainerId | EngineRefused:
            spec = few.spec()
            try:
                return await (few.real if past else few.engine).create(spec)
            except EngineRefused as refused:
                return refused

        answers = await asyncio.gather(*(create() for _ in range(8)))
        made = [each for each in answers if isinstance(each, str)]
        refusals = [each for each in answers if isinstance(each, EngineRefused)]
        assert (len(made), len(refusals)) == (3, 5), "none of them was started, and they count"
        assert "3 may be there at once (TRUSTFLOOR_SANDBOX_COUNT)" in str(refusals[0])
        elsewhere = replace(few, instance=new_instance_id()).spec()
        with pytest.raises(EngineRefused, match="may be there at once"):
            await few.engine.create(elsewhere)  # another instance's name makes no room
        assert await few.engine.remove(made[0])
        assert isinstance(await create(), str), "one that is gone makes room"
        assert isinstance(await create(), EngineRefused)
        assert isinstance(await create(past=True), str), "the control: the engine itself"
