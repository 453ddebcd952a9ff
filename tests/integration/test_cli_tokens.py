"""`trustfloor tokens` and `trustfloor login`, against a supervisor that speaks TLS."""

import json
import ssl
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.worlds.forked import PIPE, end_of, trustfloor
from tests.worlds.server import Running, environment, supervisor_process

SCENARIO = """\
version: 1
scripts:
  - name: greet
    when: { contains: hello }
    steps:
      - text: Hello to you.
"""


@pytest.fixture
async def running(tmp_path: Path) -> AsyncIterator[Running]:
    cert, key = tmp_path / "box.pem", tmp_path / "box.key"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"),
            *("-nodes", "-days", "2", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost"),
            *("-keyout", str(key), "-out", str(cert)),
        ],
        check=True,
        capture_output=True,
    )
    more = {"tls_cert": str(cert), "tls_key": str(key)}
    async with supervisor_process(tmp_path, SCENARIO, **more) as made:
        yield made


async def command(running: Running, *words: str, ca: bool = True) -> tuple[int, str, str]:
    folder = running.data_dir.parent
    named = {"TRUSTFLOOR_URL": running.url}
    if ca:
        named["TRUSTFLOOR_CA_FILE"] = str(folder / "box.pem")
    process = await trustfloor(*words, env=environment(folder, named), stderr=PIPE)
    return await end_of(process)


async def test_a_token_and_a_login_from_the_command_to_their_end(running: Running) -> None:
    assert running.url.startswith("https://127.0.0.1:")
    context = ssl.create_default_context(cafile=str(running.data_dir.parent / "box.pem"))

    async def me(http: httpx.AsyncClient, **headers: str) -> int:
        return (await http.get("/api/me", headers=headers)).status_code

    status, _, err = await command(running, "tokens", "list", ca=False)
    assert (status, "certificate" in err.lower()) == (1, True), err

    made = await command(
        running, "tokens", "create", "phone", "--scope", "approve", "--expires", "30d"
    )
    assert made[0] == 0, made[2]
    secret, about = made[1].splitlines()[:2]
    token_id = about.split()[0]
    assert "approve" in about
    assert "until" in about
    async with httpx.AsyncClient(base_url=running.url, verify=context, trust_env=False) as http:
        assert await me(http, Authorization=f"Bearer {secret}") == 200
        listed = await command(running, "tokens")
        assert token_id in listed[1]
        assert secret not in listed[1]

        said = (await command(running, "login"))[1]
        assert f"{running.url}/" in said
        code = next(line.split()[1] for line in said.splitlines() if line.startswith("code"))
        assert code not in running.url
        answer = await http.post("/api/login", json={"code": code})
        assert answer.status_code == 200
        assert "Secure" in answer.headers["set-cookie"]
        headers = {"Origin": running.url, "X-CSRF-Token": answer.json()["csrfToken"]}
        kept = await http.post("/api/logins/codes", json={}, headers=headers)
        assert kept.status_code == 201
        plain = {**headers, "Origin": running.url.replace("https", "http")}
        assert (await http.post("/api/logins/codes", json={}, headers=plain)).status_code == 403

        logins = json.loads((await command(running, "login", "--list", "--json"))[1])["logins"]
        assert [each["tokenId"] for each in logins] == ["owner"]
        assert (await command(running, "login", "--end", logins[0]["id"]))[0] == 0
        assert await me(http) == 401

        assert (await command(running, "tokens", "revoke", token_id))[0] == 0
        assert await me(http, Authorization=f"Bearer {secret}") == 401
    doctor = (await command(running, "doctor"))[1]
    assert f"answers at {running.url}" in doctor
    assert token_id not in (await command(running, "tokens"))[1]
    assert "revoked" in (await command(running, "tokens", "list", "--ended"))[1]
    for never in (secret, code, code.replace("-", "")):
        assert never not in running.log
        for file in running.data_dir.rglob("*"):
            assert not file.is_file() or never.encode() not in file.read_bytes(), file
    wrong = await command(running, "tokens", "create", "x", "--scope", "chat", "--expires", "soon")
    assert wrong[0] == 2
    assert "30d" in wrong[2]
