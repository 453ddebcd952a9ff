"""The event log when processes are killed on it, or share it."""

import random
import time
from pathlib import Path

from supervisor.ids import SessionId
from tests.worlds.storage import SESSION, TURN, child, event_log, text

APPEND = """
import asyncio, sys
from pathlib import Path
from supervisor.events.log import EventLog
from supervisor.events.schema import TextEvent

async def main():
    async with EventLog(Path(sys.argv[1])) as log:
        async def stream(session_id):
            for _ in range(int(sys.argv[2])):
                record = await log.append(session_id, "turn_1", TextEvent(delta="x" * 300))
                print(session_id, record.seq, flush=True)
        await asyncio.gather(*(stream(name) for name in sys.argv[3:]))

asyncio.run(main())
"""


async def test_whatever_was_acknowledged_before_a_kill_is_there_after_it(tmp_path: Path) -> None:
    names = [SessionId(name) for name in ("a", "b", "c")]
    for run in range(5):
        folder = tmp_path / str(run)
        with child(APPEND, str(folder / "events.db"), "100000", *names) as process:
            assert process.stdout is not None
            acknowledged = dict.fromkeys(names, 0)
            started = [process.stdout.readline()]
            time.sleep(random.uniform(0, 0.3))  # noqa: S311 - the kill falls anywhere
            process.kill()
            for line in (*started, *process.stdout):
                if line.endswith("\n"):
                    name, seq = line.split()
                    acknowledged[SessionId(name)] = int(seq)
        assert sum(acknowledged.values()) > 0
        async with event_log(folder) as log:
            for name, last in acknowledged.items():
                stored = await log.last_seq(name)
                assert stored >= last
                seqs: list[int] = []
                while records := await log.read(name, len(seqs)):
                    seqs += [record.seq for record in records]
                assert seqs == list(range(1, stored + 1))
                assert (await log.append(name, TURN, text())).seq == stored + 1


async def test_two_processes_on_one_log_never_give_a_number_twice(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    with (
        child(APPEND, str(path), "150", SESSION) as one,
        child(APPEND, str(path), "150", SESSION) as two,
    ):
        said = one.communicate(timeout=60)[0] + two.communicate(timeout=60)[0]
        assert (one.returncode, two.returncode) == (0, 0)
    numbers = sorted(int(line.split()[1]) for line in said.splitlines())
    assert numbers == list(range(1, 301))
    async with event_log(tmp_path) as log:
        assert [record.seq for record in await log.read(SESSION)] == numbers
