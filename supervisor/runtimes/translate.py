"""One frame of the CLI's output becomes the events a runtime may say; nothing here trusts a field.

Between the wire and the turn: `wire.py` has bounded the frame, this gives it meaning. Text is
streamed from partial messages; the whole block that follows closes it, or stands alone where the
CLI fell back to a request without streaming.
"""

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

from supervisor.events.refusal import in_plain_words
from supervisor.events.schema import (
    InitEvent,
    ModelEvent,
    RuntimeEvent,
    TextEvent,
    ThinkingEvent,
    ToolResultEvent,
    ToolUse,
    ToolUseEvent,
    WarningEvent,
)
from supervisor.runtimes.contract import RunResult

CONNECTION_FAILED: Final = "mcp_connection_failed"
"""The code of the warning that a turn does without a server that it was to have."""
MODEL_RETRY: Final = "model_retry"
"""The code of the warning that the model's API failed and is tried again."""

MAX_SERVERS: Final = 100
MAX_NAME_CHARS: Final = 100
_DID_NOT_START: Final = "failed"
_SERVER_TROUBLES: Final = {
    _DID_NOT_START: "did not start, or can't be reached",
    "needs-auth": "wants a login that it wasn't given",
    "pending": "has not answered yet; its tools come once it does",
}
MAX_RESULT_CHARS: Final = 1024 * 1024


class Translator:
    """The state that one turn's translation needs: which block is being streamed."""

    def __init__(self, where_servers_run: str = "", told: AbstractSet[str] = frozenset()) -> None:
        """`where_servers_run`: what is told along of an MCP server that didn't start.

        `told` are the servers, as it grows, of which whoever calls them has told why they fail.
        """
        self._where_servers_run = where_servers_run
        self._told = told
        self._block = 0
        self._streamed_chars = {"text": 0, "thinking": 0}
        self._model: str | None = None
        self._said_init = False

    def translate(self, frame: Mapping[str, Any]) -> Iterator[RuntimeEvent | RunResult]:
        """The events of one admitted frame, in order."""
        kind = frame.get("type")
        if kind == "stream_event":
            yield from self._stream_event(frame)
        elif kind == "assistant":
            yield from self._assistant(frame)
        elif kind == "user":
            yield from self._user(frame)
        elif kind == "system":
            yield from self._system(frame)
        elif kind == "result":
            yield self._result(frame)

    def _stream_event(self, frame: Mapping[str, Any]) -> Iterator[RuntimeEvent]:
        event = frame.get("event")
        if not isinstance(event, dict) or frame.get("parent_tool_use_id") is not None:
            return
        delta = event.get("delta")
        if event.get("type") != "content_block_delta" or not isinstance(delta, dict):
            return
        if isinstance(text := delta.get("text"), str):
            self._streamed_chars["text"] += len(text)
            yield TextEvent(delta=text, block=self._block)
        elif isinstance(thought := delta.get("thinking"), str):
            self._streamed_chars["thinking"] += len(thought)
            yield ThinkingEvent(delta=thought, block=self._block)

    def _assistant(self, frame: Mapping[str, Any]) -> Iterator[RuntimeEvent]:
        agent = _agent(frame)
        for block in _blocks(frame):
            kind = block.get("type")
            if kind == "tool_use":
                tool_input = block.get("input")
                yield ToolUseEvent(
                    tool=ToolUse(
                        id=str(block.get("id")),
                        name=str(block.get("name")),
                        input=tool_input if isinstance(tool_input, dict) else {},
                    ),
                    agent=agent,
                )
            elif agent is None and kind == "text" and isinstance(block.get("text"), str):
                delta = self._close_block("text", block["text"])
                yield TextEvent(delta=delta, content=block["text"], block=self._block)
                self._block += 1
            elif agent is None and kind == "thinking" and isinstance(block.get("thinking"), str):
                delta = self._close_block("thinking", block["thinking"])
                yield ThinkingEvent(delta=delta, content=block["thinking"], block=self._block)
                self._block += 1

    def _close_block(self, kind: str, whole: str) -> str:
        """What of the whole block wasn't streamed yet. Only a count is kept: memory stays flat."""
        streamed = self._streamed_chars[kind]
        self._streamed_chars[kind] = 0
        return whole[streamed:]

    def _user(self, frame: Mapping[str, Any]) -> Iterator[RuntimeEvent]:
        for block in _blocks(frame):
            if block.get("type") == "tool_result":
                content = _flat(block.get("content"))
                is_error = block.get("is_error") is True
                yield ToolResultEvent(
                    tool_use_id=str(block.get("tool_use_id")),
                    content=in_plain_words(content) if is_error else content,
                    is_error=is_error,
                    agent=_agent(frame),
                )

    def _system(self, frame: Mapping[str, Any]) -> Iterator[RuntimeEvent]:
        subtype = frame.get("subtype")
        if subtype == "init" and not self._said_init:
            self._said_init = True
            self._model = model = str(frame.get("model"))
            tools = frame.get("tools")
            yield ModelEvent(model=model)
            yield InitEvent(
                tools=tuple(str(tool) for tool in tools) if isinstance(tools, list) else (),
                permission_mode=str(frame.get("permissionMode", "default")),
            )
            yield from _troubles(frame.get("mcp_servers"), self._where_servers_run, self._told)
        elif subtype == "api_retry":
            yield WarningEvent(
                code=MODEL_RETRY,
                message=f"the model's API failed ({frame.get('error_status')}); trying again",
            )

    def _result(self, frame: Mapping[str, Any]) -> RunResult:
        text = frame.get("result")
        status = frame.get("api_error_status")
        turns = frame.get("num_turns")
        usage = frame.get("usage")
        return RunResult(
            text=text if isinstance(text, str) else "",
            model=self._model,
            turns=turns if isinstance(turns, int) else 0,
            error=_error(frame) if frame.get("is_error") is True else None,
            error_status=status if isinstance(status, int) else None,
            usage=usage if isinstance(usage, dict) else {},
        )


def _troubles(
    servers: object, where_they_run: str, told: AbstractSet[str]
) -> Iterator[WarningEvent]:
    """A warning for each MCP server that the turn has to do without, but for those told of."""
    for server in servers[:MAX_SERVERS] if isinstance(servers, list) else ():
        status = server.get("status") if isinstance(server, dict) else None
        if isinstance(status, str) and status in _SERVER_TROUBLES:
            name = str(server.get("name"))[:MAX_NAME_CHARS]
            if name in told:
                continue
            what = _SERVER_TROUBLES[status]
            if status == _DID_NOT_START and where_they_run:
                what += f"; {where_they_run}"
            yield WarningEvent(code=CONNECTION_FAILED, message=f"the MCP server {name} {what}")


def _error(frame: Mapping[str, Any]) -> str:
    errors = frame.get("errors")
    if isinstance(errors, list) and errors:
        return "; ".join(str(each) for each in errors)
    text = frame.get("result")
    return text if isinstance(text, str) and text else str(frame.get("subtype"))


def _agent(frame: Mapping[str, Any]) -> str | None:
    parent = frame.get("parent_tool_use_id")
    return parent if isinstance(parent, str) else None


def _blocks(frame: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    message = frame.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    if isinstance(content, list):
        for block in content:
            if isinstance(block, dict):
                yield block


def _flat(content: object) -> str:
    """A tool result's text; what isn't text is named, and an endless one is cut visibly."""
    if isinstance(content, str):
        text = content
    elif isinstance(content, list):
        text = "\n".join(
            str(part.get("text")) if part.get("type") == "text" else f"[{part.get('type')}]"
            for part in content
            if isinstance(part, dict)
        )
    else:
        text = ""
    if len(text) > MAX_RESULT_CHARS:
        return text[:MAX_RESULT_CHARS] + f"\n[{len(text) - MAX_RESULT_CHARS} characters left out]"
    return text
