import asyncio
import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from supervisor.gateway.scenario import parse_scenario
from supervisor.gateway.scripted_model import serve_scripted
from tests.worlds.model import BOUNDED, client, request_body, scripted, steps


async def ask(http: aiohttp.ClientSession, prompt: str, **more: Any) -> tuple[int, str]:
    async with http.post("/v1/messages", json=request_body(prompt, **more)) as answer:
        return answer.status, await answer.text()


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


async def test_a_streamed_answer_is_the_same_as_a_whole_one(tmp_path: Path) -> None:
    prompt = steps(
        {
            "thinking": "hm",
            "text": "Hello, wörld",
            "tools": [{"name": "Read", "input": {"file_path": "/x"}, "id": "toolu_1"}],
            "usage": {"output_tokens": 7},
        }
    )
    async with scripted(tmp_path), client(tmp_path / "model.sock") as http:
        _, whole_text = await ask(http, prompt)
        _, streamed = await ask(http, prompt, stream=True)
    whole = json.loads(whole_text)
    assert [b["type"] for b in whole["content"]] == ["thinking", "text", "tool_use"]
    assert whole["stop_reason"] == "tool_use"
    built: dict[int, str] = {}
    for event in events(streamed):
        if event["type"] == "content_block_delta" and "signature" not in event["delta"]:
            delta = event["delta"]
            piece = delta.get("text") or delta.get("thinking") or delta.get("partial_json")
            built[event["index"]] = built.get(event["index"], "") + piece
    assert built[0] == "hm"
    assert built[1] == "Hello, wörld"
    assert json.loads(built[2]) == {"file_path": "/x"}
    last = events(streamed)[-2]
    assert (last["type"], last["usage"]["output_tokens"]) == ("message_delta", 7)


async def test_an_error_is_given_as_often_as_asked(tmp_path: Path) -> None:
    error = {"status": 529, "type": "overloaded_error", "headers": {"retry-after": "3"}, "times": 2}
    prompt = steps({"text": "at last", "error": error})
    async with scripted(tmp_path), client(tmp_path / "model.sock") as http:
        async with http.post("/v1/messages", json=request_body(prompt)) as answer:
            assert (answer.status, answer.headers["retry-after"]) == (529, "3")
            assert (await answer.json())["error"]["type"] == "overloaded_error"
        statuses = [(await ask(http, prompt))[0] for _ in range(3)]
    assert statuses == [529, 200, 200]


async def test_a_cut_stream_ends_without_an_end(tmp_path: Path) -> None:
    async with scripted(tmp_path), client(tmp_path / "model.sock") as http:
        with pytest.raises(aiohttp.ClientPayloadError):
            await ask(http, steps({"text": "abcdefgh", "cut": True}), stream=True)
        status, text = await ask(http, steps({"text": "abcdefgh", "cut": True}))
    assert (status, json.loads(text)["content"][0]["text"]) == (200, "abcdefgh")


async def test_bad_json_an_error_event_and_a_raw_body_are_sent_as_written(tmp_path: Path) -> None:
    broken = {"type": "overloaded_error", "message": "oh"}
    async with scripted(tmp_path), client(tmp_path / "model.sock") as http:
        _, bad = await ask(http, steps({"text": "abcd", "bad_json": True}), stream=True)
        _, error = await ask(http, steps({"text": "abcd", "sse_error": broken}), stream=True)
        _, raw = await ask(http, steps({"raw": "garbage"}))
    assert 'data: {"type": not json\n' in bad
    assert events(error)[-1] == {"type": "error", "error": broken}
    assert raw == "garbage"


async def test_a_stalled_stream_goes_on_only_after_its_first_piece(tmp_path: Path) -> None:
    prompt = steps({"text": "abcdefgh", "stall_s": 3600})
    async with (
        scripted(tmp_path),
        client(tmp_path / "model.sock") as http,
        http.post("/v1/messages", json=request_body(prompt, stream=True)) as answer,
    ):
        seen = b""
        async with asyncio.timeout(BOUNDED):
            while b"text_delta" not in seen:
                seen += await answer.content.readany()
        assert seen.count(b"text_delta") == 1
        assert not answer.content.at_eof()


async def test_a_failed_expectation_is_a_400_and_listed_once(tmp_path: Path) -> None:
    prompt = steps({"text": "x", "expect": {"tools_include": ["Bash"]}})
    async with scripted(tmp_path) as model, client(tmp_path / "model.sock") as http:
        status, text = await ask(http, prompt)
        await ask(http, prompt)
        async with http.get("/_scripted/failures") as answer:
            listed = await answer.json()
    assert status == 400
    assert "scripted expectation failed" in text
    assert listed == {"failures": model.failures, "requests": 2}
    assert len(model.failures) == 1
    assert "tools_include" in model.failures[0]


async def test_which_keys_came_along_is_told_by_their_digests_alone(tmp_path: Path) -> None:
    key = "sk-ant-test-canary"
    async with scripted(tmp_path), client(tmp_path / "model.sock") as http:
        await ask(http, "hello")
        async with http.get("/_scripted/seen") as answer:
            assert await answer.json() == {"requests": 1, "keys": {}}
        for _ in range(2):
            sent = http.post("/v1/messages", json=request_body("hello"), headers={"x-api-key": key})
            async with sent as answer:
                await answer.read()
        async with http.get("/_scripted/seen") as answer:
            told = await answer.text()
    digest = hashlib.sha256(key.encode()).hexdigest()
    assert json.loads(told) == {"requests": 3, "keys": {digest: 2}}
    assert key not in told


async def test_tokens_can_be_counted_and_nothing_else_is_served(tmp_path: Path) -> None:
    async with scripted(tmp_path), client(tmp_path / "model.sock") as http:
        async with http.post("/v1/messages/count_tokens", json=request_body()) as answer:
            assert (await answer.json())["input_tokens"] > 0
        async with http.get("/v1/models") as answer:
            assert answer.status == 404
        async with http.post("/v1/messages", data=b"[]") as answer:
            assert answer.status == 400


async def test_a_port_is_on_loopback_only() -> None:
    scenario = parse_scenario("version: 1", file="x")
    async with serve_scripted(scenario, port=0) as model:
        assert model.base_url.startswith("http://127.0.0.1:")
        async with aiohttp.ClientSession() as http:
            answer = await http.post(f"{model.base_url}/v1/messages", json=request_body())
            assert answer.status == 200
            answer.release()


async def test_the_socket_is_gone_afterwards(tmp_path: Path) -> None:
    async with scripted(tmp_path):
        assert (tmp_path / "model.sock").is_socket()
    assert list(tmp_path.iterdir()) == []


async def test_it_runs_by_itself_and_names_mistakes(tmp_path: Path) -> None:
    good, bad, socket = tmp_path / "good.yaml", tmp_path / "bad.yaml", tmp_path / "s"
    good.write_text("version: 1\n")
    bad.write_text("version: 1\nscripst: []\n")
    command = [sys.executable, "-m", "supervisor.gateway.scripted_model"]
    served = await asyncio.create_subprocess_exec(
        *command, good, "--socket", socket, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert served.stdout is not None
        line = await asyncio.wait_for(served.stdout.readline(), BOUNDED)
        assert str(socket) in line.decode()
        async with client(socket) as http:
            assert (await ask(http, "hi"))[0] == 200
    finally:
        served.terminate()
        await served.communicate()
    assert not socket.exists()
    refused = await asyncio.create_subprocess_exec(
        *command, bad, "--port", "0", stderr=asyncio.subprocess.PIPE
    )
    _, said = await asyncio.wait_for(refused.communicate(), BOUNDED)
    assert refused.returncode == 2
    assert "bad.yaml:2:1 scripst: unknown key" in said.decode()
