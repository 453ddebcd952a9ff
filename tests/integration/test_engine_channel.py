"""Bytes to and from a real sandbox: exact, bounded, whatever is sent."""

import asyncio
import hashlib
import resource
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from supervisor.errors import AgentProcessFailed
from supervisor.runtimes.container.engine import Engine
from supervisor.runtimes.container.start_line import Resume, StartLine, encode
from tests.worlds import engine as world
from tests.worlds.waiting import A_WHILE

pytestmark = pytest.mark.engine

FLOOD = 100 << 20
PYTHON = ("/usr/bin/python3", "-I", "-S", "-c")


@pytest.fixture
async def engine() -> AsyncIterator[Engine]:
    async with world.real_engine() as engine:
        yield engine


async def test_a_flood_of_100_mb_arrives_byte_for_byte_in_flat_memory(engine: Engine) -> None:
    program = (
        "import os, hashlib\n"
        "left = 100 << 20; block = bytes(range(256)) * 256\n"
        "while left:\n"
        "    left -= os.write(1, block[:min(left, len(block))])\n"
    )
    block = bytes(range(256)) * 256
    expected = hashlib.sha256()
    for _ in range(FLOOD // len(block)):
        expected.update(block)
    found, size = hashlib.sha256(), 0
    async with world.box(engine) as box, box.started() as channel:
        await box.measured(channel)
        await channel.write(encode(StartLine((*PYTHON, program), "/", {})))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        async with asyncio.timeout(A_WHILE):
            async for chunk in channel.chunks():
                found.update(chunk)
                size += len(chunk)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert size == FLOOD
    assert found.digest() == expected.digest()
    assert grown < 16 << 10, f"{grown} KiB more"


async def test_a_reader_that_stalls_stalls_the_sandbox(engine: Engine) -> None:
    program = (
        "import os\nn = 0\nwhile True: n += os.write(1, bytes(65536)); os.write(2, b'%d\\n' % n)"
    )
    async with world.box(engine) as box, box.started() as channel:
        await box.measured(channel)
        await channel.write(encode(StartLine((*PYTHON, program), "/", {})))
        seen = 0
        async for chunk in channel.chunks():
            seen += len(chunk)
            break
        assert await _settled(lambda: _cpu_time(box))
        assert seen < 4 << 20


async def _cpu_time(box: world.Box) -> list[str]:
    """User and system time of the program that pid 1 started, in clock ticks."""
    pid = (await box.inspected())["State"]["Pid"]
    child = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0]
    return Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[11:13]


async def _settled(read: Callable[[], Awaitable[object]]) -> bool:
    """Whether a growing number comes to rest."""
    async with asyncio.timeout(A_WHILE):
        last, same = await read(), 0
        while same < 5:
            await asyncio.sleep(0.1)
            now = await read()
            same, last = (same + 1, last) if now == last else (0, now)
    return True


async def test_interleaved_standard_error_is_kept_apart_as_a_short_tail(engine: Engine) -> None:
    program = (
        "import os\n"
        "for n in range(2000):\n"
        "    os.write(1, b'out%05d\\n' % n); os.write(2, b'err%05d\\n' % n * 10)\n"
        "os.write(2, b'the last complaint\\n'); os._exit(7)"
    )
    ended = await world.run(engine, *PYTHON, program)
    assert ended.output == b"".join(b"out%05d\n" % n for n in range(2000))
    assert isinstance(ended.cause, AgentProcessFailed)
    assert ended.cause.message.endswith("status 7: the last complaint")


async def test_input_reaches_the_program_to_the_byte_and_closing_it_ends_it(engine: Engine) -> None:
    sent = bytes(range(256)) * 20_000
    ended = await world.run(engine, "/usr/bin/sha256sum", feed=[sent])
    assert ended.output.split()[0].decode() == hashlib.sha256(sent).hexdigest()
    assert ended.cause is None


async def test_writing_after_the_input_was_closed_is_an_error_and_closing_twice_is_not(
    engine: Engine,
) -> None:
    async with world.box(engine) as box, box.started() as channel:
        await box.measured(channel)
        await channel.close_input()
        await channel.close_input()
        with pytest.raises(AgentProcessFailed):
            await channel.write(b"x")
        assert await world.ended(channel) == world.Ended(b"", None)


async def test_the_program_gets_exactly_the_environment_and_folder_it_was_given(
    engine: Engine,
) -> None:
    program = "import os; print(sorted(os.environ.items()), os.getcwd())"
    async with world.box(engine) as box, box.started() as channel:
        await box.measured(channel)
        env = {"A": "ü \n=x", "LC_ALL": "C.UTF-8"}
        await channel.write(encode(StartLine((*PYTHON, program), "/vault", env)))
        ended = await world.ended(channel)
    assert ended.output.decode() == f"{sorted(env.items())} /vault\n"


async def test_broken_pipes_end_programs_as_they_do_everywhere(engine: Engine) -> None:
    ended = await world.run(engine, "/bin/bash", "-c", "yes | head -n 1; echo ${PIPESTATUS[0]}")
    assert ended.output == b"y\n141\n"


async def test_the_dead_of_the_agents_tools_are_collected(engine: Engine) -> None:
    script = (
        "for i in 1 2 3 4 5; do (sleep 0.01 & ) ; done; "
        'until [ "$(ps -eo comm= | grep -c sleep)" = 0 ]; do sleep 0.05; done; '
        "ps -eo stat= | grep -c Z; true"
    )
    assert (await world.run(engine, "/bin/bash", "-c", script)).output == b"0\n"


async def test_an_earlier_transcript_lies_where_the_program_looks_for_it(engine: Engine) -> None:
    kept = b'{"type":"user"}\n' * 40_000
    config = {"CLAUDE_CONFIG_DIR": "/home/agent/.claude"}
    async with world.box(engine) as box:
        (box.turn_folder / "transcript.jsonl").write_bytes(kept)
        async with box.started() as channel:
            await box.measured(channel)
            place = "/home/agent/.claude/projects/-vault/some-session.jsonl"
            program = f"stat -c %a {place}; sha256sum < {place}"
            await channel.write(
                encode(
                    StartLine(
                        ("/bin/bash", "-c", program),
                        "/",
                        config | world.PLAIN_ENVIRONMENT,
                        Resume("-vault", "some-session"),
                    )
                )
            )
            ended = await world.ended(channel)
    mode, digest, _ = ended.output.split()
    assert mode == b"600"
    assert digest.decode() == hashlib.sha256(kept).hexdigest()


async def test_a_malformed_start_line_starts_nothing(engine: Engine) -> None:
    async with world.box(engine) as box, box.started() as channel:
        await box.measured(channel)
        await channel.write(b"00000004\n\0\0\0\0")
        ended = await world.ended(channel)
    assert ended.output == b""
    assert ended.cause is not None
    assert "status 64: start line" in ended.cause.message


async def test_a_sandbox_that_never_gets_a_start_line_ends_with_its_input(engine: Engine) -> None:
    async with world.box(engine) as box, box.started() as channel:
        await box.measured(channel)
        await channel.close_input()
        assert await world.ended(channel) == world.Ended(b"", None)
