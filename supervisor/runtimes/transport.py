"""The SDK's transport over any cage's channel: control frames to the SDK, the rest to the turn.

The SDK speaks the control protocol (initialise, hooks, interrupt) and nothing else here: what the
agent says about the conversation goes through our own translator, so that no frame of a hostile
process ever reaches a parser that wasn't written for one.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from claude_agent_sdk import Transport

from supervisor.errors import AgentProcessFailed, TurnFailed
from supervisor.events.schema import RuntimeEvent, WarningEvent
from supervisor.runtimes.contract import Channel, RunResult
from supervisor.runtimes.transcript import TranscriptFile
from supervisor.runtimes.translate import Translator
from supervisor.runtimes.wire import Admitted, Content, Control, Mirror, Objection, Wire

_QUEUE_LENGTH = 256

Said = RuntimeEvent | RunResult | TurnFailed | None
"""What the turn reads: an event, the result, or the end with its cause (None: it just ended)."""


class ChannelTransport(Transport):
    """Reads in the SDK's reader task; `said` is bounded, so a slow turn slows its cage."""

    def __init__(self, channel: Channel, wire: Wire, transcript: TranscriptFile) -> None:
        self._channel = channel
        self._wire = wire
        self._transcript = transcript
        self._translator = Translator()
        self._ready = False
        self.said: asyncio.Queue[Said] = asyncio.Queue(_QUEUE_LENGTH)

    async def connect(self) -> None:
        """The process runs already: its cage started it."""
        self._ready = True

    async def write(self, data: str) -> None:
        """Send one line to the process."""
        self._wire.sent(data)
        await self._channel.write(data.encode())

    def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """Control frames for the SDK; everything else is taken in on the way."""
        return self._read()

    async def _read(self) -> AsyncIterator[dict[str, Any]]:
        try:
            async for chunk in self._channel.chunks():
                for admitted in self._wire.feed(chunk):
                    if (control := await self._take(admitted)) is not None:
                        yield control
            for admitted in self._wire.finish():
                if (control := await self._take(admitted)) is not None:
                    yield control
            cause = await self._channel.cause_of_death()
        except OSError as error:
            cause = AgentProcessFailed(
                f"the connection to the agent process broke: {error.strerror or error}",
                remedy="send the message again",
            )
        self._ready = False
        await self.said.put(cause)
        if cause is not None:
            # Fails what the SDK is waiting for, such as an initialise that will never be answered.
            raise cause

    async def _take(self, admitted: Admitted) -> dict[str, Any] | None:
        match admitted:
            case Control(frame):
                return frame
            case Content(frame):
                for said in self._translator.translate(frame):
                    await self.said.put(said)
            case Mirror(entries, subagent):
                await self._keep(entries, subagent)
            case Objection(code, message):
                await self.said.put(WarningEvent(code=code, message=message))
        return None

    async def _keep(self, entries: tuple[dict[str, Any], ...], subagent: str | None) -> None:
        try:
            await self._transcript.append(entries, subagent)
        except OSError as error:
            await self.said.put(
                WarningEvent(
                    code="transcript_not_kept",
                    message=f"the transcript could not be written: {error.strerror}",
                )
            )

    async def close(self) -> None:
        """Close the input; ending the process is its cage's business."""
        self._ready = False
        await self._channel.close_input()

    def is_ready(self) -> bool:
        """Whether the process can be spoken to."""
        return self._ready

    async def end_input(self) -> None:
        """Close the process's standard input."""
        await self._channel.close_input()
