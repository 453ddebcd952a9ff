"""Traces: a tree from request to tool call, at a real receiver, without a word of what was said."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from supervisor.observability.traces import span, traced_by
from tests.worlds.server import supervisor_process

CANARY = "canary-words-19ab"
SCENARIO = f"""version: 1
scripts:
  - name: any
    when: {{always: true}}
    steps:
      - tools: [{{name: Read, input: {{file_path: {CANARY}.md}}}}]
      - text: {CANARY}
"""


@asynccontextmanager
async def receiver() -> AsyncIterator[tuple[str, list[bytes]]]:
    """An OTLP receiver on loopback: its address, and what it was sent."""
    got: list[bytes] = []

    async def take(request: web.Request) -> web.Response:
        got.append(await request.read())
        return web.Response(content_type="application/x-protobuf")

    app = web.Application()
    app.router.add_post("/v1/traces", take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        port = runner.addresses[0][1]
        yield f"http://127.0.0.1:{port}/v1/traces", got
    finally:
        await runner.cleanup()


def spans(got: list[bytes]) -> list[Span]:
    found: list[Span] = []
    for body in got:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            for scope in resource.scope_spans:
                found += scope.spans
    return found


async def test_off_it_is_nothing_and_on_spans_are_within_one_another_across_tasks() -> None:
    with span("alone", level="vault") as told:
        told.set_attribute("x", 1)
    exporter = InMemorySpanExporter()

    async def inner() -> None:
        with span("inner", level=None, kind="read"):
            pass

    async with traced_by(SimpleSpanProcessor(exporter)):
        with span("outer", level="vault"):
            await asyncio.create_task(inner())
        try:
            with span("failing"):
                raise ValueError(CANARY)  # noqa: TRY301
        except ValueError:
            pass
    one, outer, failing = exporter.get_finished_spans()
    assert (one.name, outer.name) == ("inner", "outer")
    assert one.parent is not None
    assert outer.context is not None
    assert one.parent.span_id == outer.context.span_id
    assert dict(one.attributes or {}) == {"trustfloor.kind": "read"}
    assert CANARY not in failing.to_json()


async def test_a_turn_is_traced_to_its_tool_calls_and_nothing_said_is_in_it(
    tmp_path: Path,
) -> None:
    async with receiver() as (url, got):
        async with supervisor_process(tmp_path, SCENARIO, traces_url=url) as running:
            async with running.client() as client:
                said = {"message": CANARY, "trustLevel": "full"}
                answer = await client.post("/api/chat", json=said)
                assert answer.status_code == 200, answer.text
                assert CANARY in answer.text
            assert await running.stop() == 0
        found = spans(got)
        turn = next(each for each in found if each.name == "turn")
        call = next(each for each in found if each.name == "tool call")
        request = next(each for each in found if each.span_id == turn.parent_span_id)
        assert call.parent_span_id == turn.span_id
        assert request.name == "request"
        assert {each.trace_id for each in (request, turn, call)} == {turn.trace_id}
        assert CANARY.encode() not in b"".join(got)
        assert running.token.encode() not in b"".join(got)
