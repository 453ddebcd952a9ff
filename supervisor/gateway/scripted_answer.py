"""A step of a script as the Messages API would answer it: whole or streamed, with its faults."""

import asyncio
import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from aiohttp import web

from supervisor.gateway.scenario import ScriptedError, Step

USAGE = {
    "input_tokens": 100,
    "output_tokens": 20,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}


async def answer(request: web.Request, step: Step, body: Mapping[str, Any]) -> web.StreamResponse:
    """Give the step's answer to a request with this body, streamed if that asks for it."""
    await asyncio.sleep(step.delay_s)
    stream = body.get("stream") is True
    if step.raw is not None:
        kind = "text/event-stream" if stream else "application/json"
        return web.Response(body=step.raw.encode(), content_type=kind)
    message = _message(step, str(body.get("model")))
    if stream:
        return await _play(request, step, message)
    return web.json_response(message, headers=_request_id())


def _message(step: Step, model: str) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if step.thinking:
        content.append({"type": "thinking", "thinking": step.thinking, "signature": "scripted"})
    if step.text:
        content.append({"type": "text", "text": step.text})
    content.extend(
        {
            "type": "tool_use",
            "id": tool.id or f"toolu_{uuid.uuid4().hex[:24]}",
            "name": tool.name,
            "input": dict(tool.input),
        }
        for tool in step.tools
    )
    return {
        "id": f"msg_{uuid.uuid4().hex[:24]}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": step.stop_reason or ("tool_use" if step.tools else "end_turn"),
        "stop_sequence": None,
        "usage": {**USAGE, **step.usage},
    }


async def _play(request: web.Request, step: Step, message: Mapping[str, Any]) -> web.StreamResponse:
    """Stream a message, with the step's faults in the middle of its first text (or at its end)."""
    response = web.StreamResponse(
        headers={"content-type": "text/event-stream; charset=utf-8", **_request_id()}
    )
    # Whoever asked may be gone, as when a turn is aborted; it need not be noticed before a write.
    with suppress(ConnectionError):
        await response.prepare(request)
        await _say(request, response, step, message)
    return response


async def _say(
    request: web.Request,
    response: web.StreamResponse,
    step: Step,
    message: Mapping[str, Any],
) -> None:
    faults_due = True
    for event in _events(message, step.chunks):
        await response.write(_sse(event))
        is_text = event["type"] == "content_block_delta" and "text" in event["delta"]
        if is_text:
            await asyncio.sleep(step.chunk_delay_s)
        if faults_due and (is_text or event["type"] == "message_delta"):
            faults_due = False
            if not await _go_on_after_faults(request, response, step):
                return
    await response.write_eof()


async def _go_on_after_faults(
    request: web.Request, response: web.StreamResponse, step: Step
) -> bool:
    await asyncio.sleep(step.stall_s)
    if step.cut:
        if request.transport is not None:
            request.transport.abort()
        return False
    if step.bad_json:
        await response.write(b'event: content_block_delta\ndata: {"type": not json\n\n')
    if step.sse_error is not None:
        await response.write(_sse(_error_body(step.sse_error)))
        await response.write_eof()
        return False
    return True


def _events(message: Mapping[str, Any], chunks: int) -> Iterator[dict[str, Any]]:
    usage = message["usage"]
    begun = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 1}}
    yield {"type": "message_start", "message": begun}
    yield {"type": "ping"}
    for index, block in enumerate(message["content"]):
        empty, deltas = _taken_apart(block, chunks)
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    stop = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": stop, "usage": usage}
    yield {"type": "message_stop"}


def _taken_apart(
    block: Mapping[str, Any], chunks: int
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """A content block as the stream begins it, and the deltas that fill it."""
    match block["type"]:
        case "text":
            parts = _pieces(block["text"], chunks)
            return {**block, "text": ""}, [{"type": "text_delta", "text": p} for p in parts]
        case "thinking":
            parts = _pieces(block["thinking"], chunks)
            deltas = [{"type": "thinking_delta", "thinking": p} for p in parts]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
            return {**block, "thinking": "", "signature": ""}, deltas
        case _:
            parts = _pieces(json.dumps(block["input"]), chunks)
            return {**block, "input": {}}, [
                {"type": "input_json_delta", "partial_json": p} for p in parts
            ]


def _pieces(text: str, count: int) -> list[str]:
    size = max(1, -(-len(text) // count))
    return [text[at : at + size] for at in range(0, len(text), size)]


def _sse(event: Mapping[str, Any]) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _request_id() -> dict[str, str]:
    return {"request-id": f"req_{uuid.uuid4().hex[:24]}"}


def _error_body(error: ScriptedError) -> dict[str, Any]:
    return {"type": "error", "error": {"type": error.type, "message": error.message}}


def refusal(error: ScriptedError) -> web.Response:
    """The error as the API would answer it."""
    headers = {**_request_id(), **error.headers}
    return web.json_response(_error_body(error), status=error.status, headers=headers)
