"""Invariant 17: nobody asks without end or shuts out another, and TLS says who we are."""

import asyncio
import json
import os
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest

from supervisor.api.pace import Pace
from supervisor.api.problems import Problem
from tests.worlds.api import TOKEN, api_world
from tests.worlds.forked import PIPE, end_of, trustfloor
from tests.worlds.server import environment, supervisor_process
from tests.worlds.waiting import A_WHILE

GOOD = {"Authorization": f"Bearer {TOKEN}"}
WRONG = {"Authorization": "Bearer wrong"}
SCENARIO = "version: 1\nscripts:\n  - {name: a, when: {always: true}, steps: [{text: Hi.}]}\n"


async def test_a_token_that_asks_too_often_is_told_when_to_come_back(tmp_path: Path) -> None:
    async with (
        api_world(tmp_path, rate_per_minute=6) as world,
        httpx.AsyncClient(base_url=world.at.url, trust_env=False) as http,
    ):
        statuses = [(await http.get("/api/me", headers=GOOD)).status_code for _ in range(2)]
        assert statuses == [200, 200]
        refused = await http.get("/api/me", headers=GOOD)
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
        assert 1 <= int(refused.headers["retry-after"]) <= 10
        assert (await http.get("/api/health")).status_code == 200


async def test_one_who_goes_on_being_wrong_waits_and_shuts_nobody_else_out(tmp_path: Path) -> None:
    async with (
        api_world(tmp_path, failed_per_minute=6) as world,
        httpx.AsyncClient(base_url=world.at.url, trust_env=False, timeout=A_WHILE) as http,
    ):
        first = [(await http.get("/api/me", headers=WRONG)).status_code for _ in range(2)]
        assert first == [401, 401]
        guesses = [http.get("/api/me", headers=WRONG) for _ in range(4)]
        codes = [http.post("/api/login", json={"code": "AAAA-BBBB-CCCC"}) for _ in range(4)]
        answers = await asyncio.gather(*guesses, *codes)
        assert {each.status_code for each in answers} == {429}
        assert all(int(each.headers["retry-after"]) >= 1 for each in answers)
        assert (await http.get("/api/me", headers=GOOD)).status_code == 200
        code = (await http.post("/api/logins/codes", json={}, headers=GOOD)).json()["code"]
        assert (await http.post("/api/login", json={"code": code})).status_code == 200
        told = [
            json.loads(line)
            for line in (tmp_path / "audit.jsonl").read_text().splitlines()
            if '"refused"' in line
        ]
        assert len(told) == 1, "one entry a minute and address"
        assert "127.0.0.1" in json.dumps(told[0])
        assert "wrong" not in json.dumps(told[0])


async def test_to_come_with_nothing_is_no_try(tmp_path: Path) -> None:
    async with (
        api_world(tmp_path, failed_per_minute=6) as world,
        httpx.AsyncClient(base_url=world.at.url, trust_env=False) as page,
    ):
        for headers in ({}, {"Cookie": "of=another-program"}):
            for _ in range(4):
                assert (await page.get("/api/me", headers=headers)).status_code == 401


async def test_a_client_with_a_network_of_its_own_is_counted_as_one() -> None:
    pace = Pace(0, 1, clock=lambda: 0.0)
    refusal = Problem(401, "unauthorized", "no", "no")

    async def tried(address: str) -> int:
        return (await pace.failed({"client": (address, 1)}, refusal)).status

    assert [await tried(f"2001:db8::{number}") for number in range(2)] == [401, 429]
    assert await tried("2001:db8:0:1::1") == 401
    assert [await tried(each) for each in ("::ffff:192.0.2.1", "192.0.2.1")] == [401, 429]
    assert await tried("192.0.2.2") == 401


async def test_control_without_a_limit_all_of_them_are_answered(tmp_path: Path) -> None:
    async with (
        api_world(tmp_path) as world,
        httpx.AsyncClient(base_url=world.at.url, trust_env=False) as http,
    ):
        for _ in range(30):
            assert (await http.get("/api/me", headers=WRONG)).status_code == 401
            assert (await http.get("/api/me", headers=GOOD)).status_code == 200


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for loopback, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
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
    return cert, key


async def test_with_a_certificate_https_is_spoken_and_nothing_else(
    tmp_path: Path, certificate: tuple[Path, Path]
) -> None:
    cert, key = certificate
    settings = {"tls_cert": str(cert), "tls_key": str(key)}
    async with supervisor_process(tmp_path, SCENARIO, **settings) as server:
        assert server.url.startswith("https://127.0.0.1:")
        trust = ssl.create_default_context(cafile=str(cert))
        headers = {"Authorization": f"Bearer {server.token}"}
        async with httpx.AsyncClient(
            base_url=server.url, verify=trust, headers=headers, trust_env=False
        ) as http:
            assert (await http.get("/api/me")).status_code == 200
            code = (await http.post("/api/logins/codes", json={})).json()["code"]
            login = await http.post(
                "/api/login", json={"code": code}, headers={"Origin": server.url}
            )
            assert login.status_code == 200, "our own page over TLS is ours"
            assert "secure" in login.headers["set-cookie"].lower()
            plain = {"Origin": server.url.replace("https", "http")}
            assert (await http.get("/api/me", headers=plain)).status_code == 403
        async with httpx.AsyncClient(base_url=server.url, trust_env=False) as stranger:
            with pytest.raises(httpx.ConnectError, match="CERTIFICATE"):
                await stranger.get("/api/health")
        async with httpx.AsyncClient(trust_env=False) as plainly:
            with pytest.raises(httpx.TransportError):
                await plainly.get(server.url.replace("https", "http") + "/api/health")
        ran = await trustfloor(
            "tokens",
            env={
                **os.environ,
                "TRUSTFLOOR_URL": server.url,
                "TRUSTFLOOR_TOKEN": server.token,
                "TRUSTFLOOR_CA_FILE": str(cert),
            },
        )
        _, out, _ = await end_of(ran)
        assert "no tokens" in out


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"TLS_CERT": "/nowhere.pem", "TLS_KEY": "/nowhere.key"}, "there is no such file"),
        ({"TLS_CERT": "CERT"}, "TRUSTFLOOR_TLS_KEY"),
        ({"TLS_KEY": "KEY"}, "TRUSTFLOOR_TLS_CERT"),
        ({"TLS_CERT": "KEY", "TLS_KEY": "CERT"}, "the certificate can't be used"),
        ({"TRUSTED_PROXIES": "10.0.0.1, proxy"}, "no address and no network"),
        ({"TRUSTED_PROXIES": "0.0.0.0/0"}, "everybody would be believed"),
        ({"HOST": "0.0.0.0"}, "not encrypted"),  # noqa: S104 - refused
    ],
)
async def test_what_can_not_be_spoken_safely_is_refused_at_the_start(
    settings: dict[str, str], told: str, certificate: tuple[Path, Path], tmp_path: Path
) -> None:
    names = {"CERT": str(certificate[0]), "KEY": str(certificate[1])}
    (tmp_path / "s.yaml").write_text(SCENARIO)
    (tmp_path / "vault").mkdir()
    ran = await trustfloor(
        *("serve", "--model", f"scripted:{tmp_path}/s.yaml"),
        env=environment(
            tmp_path,
            {f"TRUSTFLOOR_{name}": names.get(value, value) for name, value in settings.items()},
        ),
        stderr=PIPE,
    )
    status, _, said = await end_of(ran)
    assert status == 2
    assert told in said
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(("trusted", "secure"), [("127.0.0.1", True), ("192.0.2.0/24", False)])
async def test_a_proxy_is_believed_only_if_it_is_trusted(
    tmp_path: Path, trusted: str, secure: bool
) -> None:
    settings = {"trusted_proxies": trusted}
    async with supervisor_process(tmp_path, SCENARIO, **settings) as server:
        headers = {"Authorization": f"Bearer {server.token}"}
        said = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "203.0.113.7"}
        async with httpx.AsyncClient(base_url=server.url, headers=headers, trust_env=False) as http:
            code = (await http.post("/api/logins/codes", json={})).json()["code"]
            login = await http.post("/api/login", json={"code": code}, headers=said)
            assert ("secure" in login.headers["set-cookie"].lower()) == secure
            await http.get("/api/me", headers={**said, "Authorization": "Bearer wrong"})
        assert ("203.0.113.7" in server.log) == secure
