"""The engine's verbs on the real engine, and each way in which an engine can be no use."""

import asyncio
import gc
import json
import os
import socket
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from supervisor.errors import (
    ConfigurationError,
    EngineLost,
    EngineRefused,
    EngineUnreachable,
    ImageMissing,
)
from supervisor.runtimes.container import verify
from supervisor.runtimes.container.engine import ContainerId, Engine
from supervisor.runtimes.container.receipt import judge
from supervisor.runtimes.container.start_line import StartLine, encode
from supervisor.settings import Settings
from tests.worlds import engine as world
from tests.worlds.waiting import until

pytestmark = pytest.mark.engine

NOBODY = 65534


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    async with world.real_engine() as engine:
        yield engine


@pytest.fixture
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="trustfloor-test-") as made:
        yield Path(made)


async def test_the_created_container_is_what_the_invariants_demand(engine: Engine) -> None:
    async with world.box(engine) as box:
        assert verify.shortfalls(box.spec, await box.inspected()) == ()


async def test_a_real_start_gives_a_receipt_that_is_accepted(engine: Engine) -> None:
    async with world.box(engine) as box:
        inspected = await box.inspected()
        async with box.started() as channel:
            measured = await box.measured(channel)
            assert judge(measured, inspected, box.spec, box.nonce) == ()


async def test_the_engine_says_what_it_is(engine: Engine) -> None:
    info = await engine.info()
    assert info.version
    assert info.processors >= 1
    assert any("seccomp" in each for each in info.security_options)


async def test_a_tag_is_an_image_id_and_an_unknown_one_is_missing(engine: Engine) -> None:
    assert (await engine.image_id()).startswith("sha256:")
    with pytest.raises(ImageMissing) as missing:
        await engine.image_id("trustfloor/no-such-image:latest")
    assert "scripts/images" in (missing.value.remedy or "")


async def test_a_container_of_an_image_that_is_gone_is_refused_as_missing(engine: Engine) -> None:
    async with world.box(engine) as box:
        gone = "sha256:" + "0" * 64
        with pytest.raises(ImageMissing):
            await engine.create(
                world.as_told(box.spec, {**box.spec.as_api(), "Image": gone}, name="another")
            )


async def test_a_folder_that_the_engines_host_has_not_is_refused_and_not_made(
    engine: Engine,
) -> None:
    async with world.box(engine) as box:
        asked = box.spec.as_api()
        missing = box.vault.parent / "not there"
        asked["HostConfig"]["Mounts"][0]["Source"] = str(missing)
        with pytest.raises(EngineRefused) as refusal:
            await engine.create(world.as_told(box.spec, asked, name="another"))
        assert "same paths" in (refusal.value.remedy or "")
        assert not missing.exists()


async def test_ending_and_removing_twice_is_harmless(engine: Engine) -> None:
    async with world.box(engine) as box:
        async with box.started():
            await engine.kill(box.id)
            assert await engine.wait(box.id) == 137
            await engine.kill(box.id)
        assert await engine.remove(box.id) is True
        assert await engine.remove(box.id) is False
        assert await engine.inspect(box.id) is None
        await engine.kill(box.id)
        assert await engine.wait(box.id) is None


async def test_two_who_remove_the_same_container_at_once_both_see_it_gone(engine: Engine) -> None:
    async with world.box(engine) as box, box.started():
        removed = await asyncio.gather(engine.remove(box.id), engine.remove(box.id))
        assert any(removed)
        assert await engine.inspect(box.id) is None


def http(status: str, document: object) -> bytes:
    body = json.dumps(document).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


async def test_a_container_that_the_engine_is_still_putting_away_is_removed_all_the_same(
    engine: Engine,
) -> None:
    """One that ends by itself while it is removed: engines then fail to empty its folder."""
    busy = [
        http("500 Internal Server Error", {"message": "unlinkat: directory not empty"}),
        http("409 Conflict", {"message": "removal of container is already in progress"}),
    ]

    def answer(request: bytes) -> bytes | None:
        return busy.pop() if busy and request.startswith(b"DELETE ") else None

    with world.relay(engine.path, answer) as relay:
        async with world.box(engine) as box, Engine(str(relay.path)) as through:
            assert await through.remove(box.id) is True
            assert busy == []
            assert await engine.inspect(box.id) is None


async def test_a_container_that_never_goes_is_told_with_the_engines_reason(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("supervisor.runtimes.container.engine.CALL_SECONDS", 1.0)
    refusal = http("500 Internal Server Error", {"message": "the driver failed"})

    def answer(request: bytes) -> bytes | None:
        return refusal if request.startswith(b"DELETE ") else None

    with world.relay(engine.path, answer) as relay:
        async with world.box(engine) as box, Engine(str(relay.path)) as through:
            with pytest.raises(EngineRefused, match="the driver failed"):
                await through.remove(box.id)


async def test_what_the_engine_goes_on_listing_after_it_is_gone_is_not_ours_any_more(
    engine: Engine,
) -> None:
    async with world.box(engine) as box:
        (listed,) = await engine.list_ours(box.instance)
        await engine.remove(box.id)
    entry = {"Id": listed.id, "Labels": dict(listed.labels), "State": "exited"}

    def answer(request: bytes) -> bytes | None:
        return http("200 OK", [entry]) if b"/containers/json" in request else None

    with world.relay(engine.path, answer) as relay:
        async with Engine(str(relay.path)) as through:
            assert await through.list_ours(box.instance) == ()


async def test_waiting_for_one_that_runs_on_ends_without_an_answer(engine: Engine) -> None:
    async with world.box(engine) as box, box.started():
        assert await engine.wait(box.id, 0.2) is None


async def test_starting_or_attaching_to_what_is_gone_is_refused(engine: Engine) -> None:
    gone = ContainerId("0" * 64)
    with pytest.raises(EngineRefused, match="gone"):
        await engine.start(gone)
    with pytest.raises(EngineRefused, match="gone"):
        await engine.attach(gone)


async def test_an_attach_that_nobody_waits_for_any_more_leaves_no_socket(engine: Engine) -> None:
    async with world.box(engine) as box:
        before = _sockets()
        for _ in range(5):
            attaching = asyncio.create_task(engine.attach(box.id))
            await asyncio.sleep(0)
            attaching.cancel()
            await asyncio.wait({attaching})
        (await engine.attach(box.id)).close()  # the earlier ones are through by then
        await until(lambda: _sockets() == before)
        # One that was only dropped is closed as well, and warned of, which is an error here.


def _sockets() -> int:
    """How many of our sockets are open."""
    ours = [each for each in gc.get_objects() if isinstance(each, socket.socket)]
    return sum(each.fileno() >= 0 for each in ours)


async def test_a_socket_that_is_not_there_is_named_with_what_mends_it(folder: Path) -> None:
    async with Engine(str(folder / "none.sock")) as engine:
        with pytest.raises(EngineUnreachable, match="doesn't exist") as failure:
            await engine.info()
    assert "scripts/engine" in (failure.value.remedy or "")


async def test_a_socket_that_nobody_listens_on_is_told_apart(folder: Path) -> None:
    path = folder / "dead.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
    async with Engine(str(path)) as engine:
        with pytest.raises(EngineUnreachable, match="nobody listening"):
            await engine.info()


@pytest.mark.slow
async def test_a_socket_that_accepts_and_never_answers_is_given_up_within_ten_seconds(
    folder: Path,
) -> None:
    path = folder / "mute.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        async with Engine(str(path)) as engine, asyncio.timeout(10):
            with pytest.raises(EngineUnreachable, match="doesn't answer"):
                await engine.info()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody without the right")
async def test_a_socket_that_is_not_for_our_user_is_told_apart(folder: Path) -> None:
    folder.chmod(0o755)
    path = folder / "private.sock"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        path.chmod(0o600)
        said = await _as_nobody(path)
    assert "is not for this user" in said
    assert "group docker" in said


async def _as_nobody(path: Path) -> str:
    """What a process of another user is told by the engine's code."""

    def ask() -> str:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.write(writer, asyncio.run(_failure(path)).encode())
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as answer:
            said = answer.read()
        os.waitpid(child, 0)
        return said

    return await asyncio.to_thread(ask)


async def _failure(path: Path) -> str:
    async with Engine(str(path)) as engine:
        try:
            await engine.info()
        except EngineUnreachable as error:
            return f"{error.message}\n{error.remedy}"
    return "reached"


async def test_after_the_engine_comes_back_the_next_call_works_without_a_restart(
    engine: Engine,
) -> None:
    with world.relay(engine.path) as relay:
        async with Engine(str(relay.path)) as through:
            await through.info()
            relay.cut()
            with pytest.raises(EngineUnreachable):
                await through.info()
            relay.open()
            assert (await through.info()).version


async def test_an_engine_that_goes_away_during_a_turn_is_lost_and_nothing_else(
    engine: Engine,
) -> None:
    with world.relay(engine.path) as relay:
        async with (
            Engine(str(relay.path)) as through,
            world.box(engine) as box,
            world.seen_through(box, through).started() as channel,
        ):
            await box.measured(channel)
            await channel.write(encode(StartLine(("/bin/cat",), "/", {})))
            relay.cut()
            ended = await world.ended(channel)
            assert isinstance(ended.cause, EngineLost)
            assert ended.cause.remedy


@pytest.mark.parametrize(
    ("environ", "path"),
    [
        ({}, "/var/run/docker.sock"),
        ({"DOCKER_HOST": ""}, "/var/run/docker.sock"),
        ({"DOCKER_HOST": "unix:///run/user/1/docker.sock"}, "/run/user/1/docker.sock"),
        ({"DOCKER_HOST": "/run/x.sock"}, "/run/x.sock"),
        (
            {"DOCKER_HOST": "unix:///y.sock", "TRUSTFLOOR_ENGINE_SOCKET": "/run/x.sock"},
            "/run/x.sock",
        ),
    ],
)
def test_the_engine_is_where_it_is_said_to_be(
    environ: dict[str, str], path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DOCKER_HOST", "TRUSTFLOOR_ENGINE_SOCKET"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert str(Settings().engine_socket) == path


@pytest.mark.parametrize("host", ["tcp://10.0.0.1:2375", "ssh://host", "relative.sock"])
def test_an_engine_on_another_machine_is_a_configuration_error(
    host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRUSTFLOOR_ENGINE_SOCKET", raising=False)
    monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(ConfigurationError) as error:
        Settings()
    assert error.value.where == "DOCKER_HOST"
