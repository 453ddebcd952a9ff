"""What a person is told where only one side speaks TLS, or the certificate isn't believed."""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from trustfloor.aio.connection import AsyncConnection
from trustfloor.errors import Unreachable


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for loopback that nobody signed, with its key in the same file."""
    folder = tmp_path_factory.mktemp("certificate")
    made = [
        *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
        *("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"),
        *("-keyout", "key.pem", "-out", "cert.pem"),
    ]
    subprocess.run(made, cwd=folder, check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_bytes((folder / "key.pem").read_bytes() + (folder / "cert.pem").read_bytes())
    return both


@asynccontextmanager
async def listening(certificate: Path | None = None) -> AsyncIterator[int]:
    """The port of one that reads what comes; in the clear it answers as HTTP does."""
    context = None
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1024)
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    async with server:
        yield server.sockets[0].getsockname()[1]


async def told(url: str) -> Unreachable:
    async with AsyncConnection(url, "token") as connection:
        with pytest.raises(Unreachable) as found:
            await connection.answer("GET", "/")
    assert "_ssl.c" not in found.value.message
    assert found.value.where == url
    return found.value


async def test_a_certificate_that_isnt_believed_is_told_with_how_to_believe_it(
    certificate: Path,
) -> None:
    async with listening(certificate) as port:
        said = await told(f"https://127.0.0.1:{port}")
    assert "its certificate isn't believed: self" in said.message
    assert "TRUSTFLOOR_CA_FILE" in str(said.remedy)


async def test_tls_that_is_spoken_to_one_that_knows_none_is_told_as_that() -> None:
    async with listening() as port:
        said = await told(f"https://127.0.0.1:{port}")
    assert "it speaks no TLS there" in said.message
    assert "whoever listens there" in str(said.remedy)


async def test_http_that_is_spoken_to_one_that_wants_tls_is_told_as_that(
    certificate: Path,
) -> None:
    async with listening(certificate) as port:
        said = await told(f"http://127.0.0.1:{port}")
    assert "closes the connection without an answer" in said.message
    assert "https://" in str(said.remedy)
