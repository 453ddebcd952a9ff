"""A real nginx in front of a port of ours: stock `proxy_pass`, no setting made for us."""

import asyncio
import contextlib
import shutil
import socket
from collections.abc import AsyncIterator
from pathlib import Path

from tests.worlds.waiting import A_WHILE

_CONFIG = """
daemon off; master_process off; pid {folder}/pid; error_log stderr error;
events {{ }}
http {{
  access_log off;
  client_body_temp_path {folder}/b; proxy_temp_path {folder}/p;
  fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  {extra}
  server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://127.0.0.1:{upstream}; }} }}
}}
"""


@contextlib.asynccontextmanager
async def nginx(folder: Path, upstream: int, extra: str = "") -> AsyncIterator[int]:
    """A real nginx in front of that port; gives its own."""
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin")
    assert program, "nginx is needed: apt-get install nginx-light"
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = folder / "nginx.conf"
    config.write_text(_CONFIG.format(folder=folder, port=port, upstream=upstream, extra=extra))
    process = await asyncio.create_subprocess_exec(program, "-c", str(config), "-p", str(folder))
    try:
        async with asyncio.timeout(A_WHILE):
            while True:
                assert process.returncode is None
                with contextlib.suppress(ConnectionRefusedError):
                    _, writer = await asyncio.open_connection("127.0.0.1", port)
                    writer.close()
                    break
                await asyncio.sleep(0.02)
        yield port
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
