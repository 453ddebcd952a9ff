"""Registries in the conditions that a pull meets them in, each at a given port on loopback."""

import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path

from tests.worlds.second_engine import free_port, registry


@contextmanager
def nobody(_folder: Path, _port: int) -> Iterator[None]:
    """No registry: nobody listens."""
    yield


@contextmanager
def empty(folder: Path, port: int) -> Iterator[None]:
    """One that has nothing."""
    with registry(folder / "empty", port):
        yield


@contextmanager
def answering(port: int, answer: bytes | None) -> Iterator[None]:
    """Takes calls on the registry's port and answers so; None: never."""
    with closing(socket.create_server(("127.0.0.1", port))) as server:
        held: list[socket.socket] = []

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    held.append(connection)
                    if answer is not None:
                        connection.recv(4096)
                        connection.sendall(answer)
                        connection.close()

        thread = threading.Thread(target=serve)
        thread.start()
        yield
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
        for each in held:
            each.close()


@contextmanager
def silent(_folder: Path, port: int) -> Iterator[None]:
    """One that never answers."""
    with answering(port, None):
        yield


@contextmanager
def refusing(_folder: Path, port: int) -> Iterator[None]:
    """One that refuses everybody."""
    with answering(port, b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"):
        yield


@contextmanager
def registry_behind_a_slow_line(folder: Path, port: int, *, bytes_a_second: int) -> Iterator[None]:
    """The stocked registry at its port, by a line that lets so much through."""
    inner = free_port()

    def pass_on(source: socket.socket, sink: socket.socket, pause: float) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 14):
                time.sleep(pause * len(data))
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    with (
        registry(folder / "registry", inner),
        closing(socket.create_server(("127.0.0.1", port))) as server,
        ThreadPoolExecutor() as threads,
        ExitStack() as held,
    ):

        def serve() -> None:
            with suppress(OSError):
                while True:
                    near, _ = server.accept()
                    far = socket.create_connection(("127.0.0.1", inner))
                    for each in (near, far):
                        held.callback(each.close)
                        held.callback(partial(_end, each))
                    threads.submit(pass_on, near, far, 0.0)
                    threads.submit(pass_on, far, near, 1 / bytes_a_second)

        threads.submit(serve)
        yield
        server.shutdown(socket.SHUT_RDWR)


def _end(each: socket.socket) -> None:
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
