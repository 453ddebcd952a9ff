"""Bytes from a container's output to an SSE client, beside a raw attach of the engine's.

    python -m benchmarks.throughput [ROUNDS] [MIB]

A runner image of its own has a program in the CLI's place that floods. Through the supervisor (a
process of its own, over HTTP) its bytes are checked, translated, stored and streamed; by the raw
attach they are read and dropped. Both ways take turns, for frames of three sizes. A third way says
what a plain reader in Python costs that parses each line and does nothing else.
"""

import asyncio
import hashlib
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path, PurePosixPath

import docker
import orjson

from benchmarks._figures import machine, median, spread, table
from benchmarks._house import Supervisor, make_vault, supervisor, workplace
from benchmarks._model import recording_model
from supervisor.runtimes.container.frames import Demultiplexer
from supervisor.runtimes.container.image import RUNNER_IMAGE
from supervisor.runtimes.container.spec import CLI, Limits, container_spec
from supervisor.runtimes.container.start_line import StartLine, encode

PROGRAM = Path(__file__).with_name("_flooder.py")
SIZES = (1024, 16 * 1024, 64 * 1024)
CHUNK = 256 * 1024
MIB = 1 << 20


def flooder_image() -> str:
    """The image's name; built if this content isn't there yet."""
    content = hashlib.sha256(PROGRAM.read_bytes()).hexdigest()[:16]
    name = f"trustfloor-bench/flooder:{content}"
    with tempfile.TemporaryDirectory(prefix="trustfloor-bench-") as folder:
        program = Path(shutil.copy(PROGRAM, Path(folder) / "claude"))
        program.chmod(0o755)
        program.with_name("Dockerfile").write_text(f"FROM {RUNNER_IMAGE}\nCOPY claude {CLI}\n")
        build = ["docker", "build", "--network", "none", "--quiet", "--tag", name, folder]
        subprocess.run(build, check=True, stdout=subprocess.DEVNULL)
    return name


def attach_raw(
    image: str, place: Path, size: int, total: int, take: Callable[[bytes], object]
) -> float:
    """Bytes per second from the message's sending to the result, read straight off the engine."""
    client = docker.APIClient("unix:///var/run/docker.sock", version="auto")
    spec = container_spec(
        image=image,
        instance="benchmark",  # type: ignore[arg-type]
        session="benchmark",  # type: ignore[arg-type]
        turn=f"bench-{uuid.uuid4().hex[:12]}",  # type: ignore[arg-type]
        started=0,
        vault_view=PurePosixPath(place / "vault"),
        turn_folder=PurePosixPath(place / "m"),
        limits=Limits(),
    )
    container = client.create_container_from_config(spec.as_api(), spec.name)["Id"]
    try:
        wanted = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        stream = client.attach_socket(container, params=wanted)
        raw: socket.socket = stream._sock  # noqa: SLF001
        client.start(container)
        raw.recv(CHUNK)  # the receipt
        line = StartLine((CLI,), "/", {"PATH": "/usr/bin:/bin"})
        raw.sendall(encode(line))
        message = {"type": "user", "message": {"role": "user", "content": f"flood {size} {total}"}}
        began = time.monotonic()
        raw.sendall(json.dumps(message).encode() + b"\n")
        received, tail = 0, b""
        while b'"type": "result"' not in tail:
            piece = raw.recv(CHUNK)
            received += len(piece)
            tail = (tail[-200:] + piece)[-400:]
            take(piece)
        took = time.monotonic() - began
        stream._response.close()  # noqa: SLF001
        return received / took
    finally:
        client.remove_container(container, v=True, force=True)
        client.close()


def parser() -> Callable[[bytes], object]:
    """Take the engine's frames apart, then lines, and parse each as JSON: the least one can do."""
    frames = Demultiplexer()
    rest = b""

    def take(piece: bytes) -> None:
        nonlocal rest
        *lines, rest = (rest + frames.feed(piece).stdout).split(b"\n")
        for line in lines:
            with suppress(orjson.JSONDecodeError):
                orjson.loads(line)

    return take


async def through_supervisor(house: Supervisor, size: int, total: int) -> tuple[float, int]:
    """Bytes of the container's output per second as a client gets them, and events."""
    body = {"message": f"flood {size} {total}", "trustLevel": "sandboxed"}
    events, began, tail = 0, 0.0, b""
    async with house.client.post(f"{house.url}/api/chat/stream", json=body) as answer:
        answer.raise_for_status()
        async for piece in answer.content.iter_any():
            if not began and b"event: prompt_metadata" in tail + piece:
                began = time.monotonic()  # the message is handed over next
            events += piece.count(b"\nevent: ")
            tail = (tail + piece)[-2000:]
    ended = time.monotonic()
    last = json.loads(tail[tail.rindex(b"\ndata: ") + 7 :].strip())
    if last.get("type") != "done":
        raise RuntimeError(f"the turn ended otherwise: {last}")
    return int(last["response"]) / (ended - began), events


async def measure(rounds: int, total: int) -> None:
    """All sizes, all ways by turns; print as it goes."""
    image = flooder_image()
    rows, memory = [], []
    with workplace() as place:
        (place / "m").mkdir()
        (place / "m" / "marker").write_text("benchmark")
        make_vault(place / "vault", 50)
        async with (
            recording_model(place / "m") as model,
            supervisor(
                place, runner_image=image, api_url=model.url, api_key="a-benchmark's"
            ) as house,
        ):
            await through_supervisor(house, SIZES[1], 4 * MIB)
            resident = house.resident_kib()
            for size in SIZES:
                raw, parsed, ours, ratios = [], [], [], []
                for _ in range(rounds):
                    raw.append(
                        await asyncio.to_thread(
                            attach_raw, image, place, size, total, lambda _piece: None
                        )
                    )
                    parsed.append(
                        await asyncio.to_thread(attach_raw, image, place, size, total, parser())
                    )
                    rate, events = await through_supervisor(house, size, total)
                    ours.append(rate)
                    ratios.append(rate / raw[-1])
                rows.append(
                    [
                        f"{size // 1024} KiB",
                        spread([each / MIB for each in raw]),
                        f"{median(parsed) / median(raw):.2f}",
                        spread([each / MIB for each in ours], 1),
                        f"{events * median(ours) / total:.0f}",
                        f"{median(ours) / median(raw):.3f}",
                        spread(ratios, 3),
                        f"{median(ours) / median(parsed):.2f}",
                    ]
                )
                memory.append(f"{size // 1024} KiB: {house.peak_kib() / 1024:.0f} MiB")
            print(f"memory before: {resident / 1024:.0f} MiB; most it held so far: {memory}")
            print(f"memory afterwards: {house.resident_kib() / 1024:.0f} MiB\n")
    heads = ["frame", "raw MiB/s", "parsing, x raw", "client MiB/s", "events/s", "x raw"]
    table([*heads, "x raw, per round", "x parsing"], rows)


def main() -> None:
    """Measure and print."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    total = int(sys.argv[2]) * MIB if len(sys.argv) > 2 else 32 * MIB
    print(f"{machine()}; {rounds} rounds of {total // MIB} MiB")
    asyncio.run(measure(rounds, total))
    print(f"\nload afterwards: {machine().partition('load ')[2]}")


if __name__ == "__main__":
    main()
