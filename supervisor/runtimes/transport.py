"""The SDK's transport over any cage's channel: control frames to the SDK, the rest to the turn.

The SDK speaks the control protocol (initialise, hooks, interrupt) and nothing else here: what the
agent says about the conversation goes through our own translator, so that no frame of a hostile
process ever reaches a parser that wasn't written for one.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

from claude_agent_sdk import Transport

from supervisor.errors import AgentProcessFailed, HoneytokenTripped, TurnFailed
from supervisor.events.schema import TextEvent, ThinkingEvent, ToolUseEvent, WarningEvent
from supervisor.runtimes.admitted import (
    Admitted,
    Astray,
    Content,
    Control,
    FarCancelled,
    FarMessage,
    Flooded,
    Mirror,
    Objection,
)
from supervisor.runtimes.contract import Channel, FarServers, NotTakenUp
from supervisor.runtimes.far import FarTalk
from supervisor.runtimes.honeytokens import Honeytokens, tripped
from supervisor.runtimes.said_queue import SaidQueue
from supervisor.runtimes.told_calls import ToldCalls
from supervisor.runtimes.transcript import TranscriptFile
from supervisor.runtimes.translate import Translator
from supervisor.runtimes.wire import Wire

logger = logging.getLogger(__name__)

_MUCH_NOISE = 1024 * 1024
"""Bytes on standard error of which nobody is told."""
_PIECE_BYTES = 16 * 1024


class OutputWatch:
    """Looks for honeytokens in all that a process says, before any of it is taken in."""

    def __init__(self, honeytokens: Honeytokens) -> None:
        self._honeytokens = honeytokens
        self._output = honeytokens.scanner()
        self._text = honeytokens.scanner()

    def look_at(self, piece: bytes) -> None:
        """Look at a piece of output. Raises HoneytokenTripped."""
        self._raise_if(self._output.feed(piece))

    def look_at_seam(self, delta: str) -> None:
        """Look whether this piece of streamed text ends a token that the last ones began."""
        self._raise_if(self._text.feed_seam(delta))

    def _raise_if(self, path: str | None) -> None:
        if path is not None:
            raise tripped(self._honeytokens.report(path, "the agent's output"))


def _watch_for(honeytokens: Honeytokens | None) -> OutputWatch | None:
    return OutputWatch(honeytokens) if honeytokens is not None else None


class _TooEarly(AgentProcessFailed):
    """Nothing of it is kept: it may come from a vault that has changed by then."""

    def __init__(self) -> None:
        super().__init__(
            "the agent process spoke before it was given a message", remedy="send the message again"
        )


class _Over(AgentProcessFailed):
    """Fails what the SDK waits for, such as an initialise that will never be answered.

    Without a word of the cause, whose words may be the process's own: the SDK logs what it gets.
    """

    def __init__(self) -> None:
        super().__init__("the agent process is over", remedy="send the message again")


class ChannelTransport(Transport):
    """Reads in the SDK's reader task; `said` is bounded, so a slow turn slows its cage.

    `ahead` of its message a process may answer what it is asked, and that is all: the first other
    byte before `hear` ends the talk.
    """

    def __init__(  # noqa: PLR0913 - what one turn's talk takes
        self,
        channel: Channel,
        wire: Wire,
        transcript: TranscriptFile,
        honeytokens: Honeytokens | None = None,
        far: FarServers | None = None,
        *,
        where_servers_run: str = "",
        ahead: bool = False,
    ) -> None:
        self._channel = channel
        self._far = FarTalk(far, self.write, self._warn) if far is not None else None
        self._wire = wire
        self._transcript = transcript
        told = self._far.told if self._far is not None else frozenset[str]()
        self._translator = Translator(where_servers_run, told)
        self._watch = _watch_for(honeytokens)
        self._is_ahead = ahead
        self._ready = False
        self._is_noise_told = False
        self._over = asyncio.Event()
        self._cause: TurnFailed | None = None
        self._writing = asyncio.Lock()
        self.said = SaidQueue()
        self.calls = ToldCalls(self.said)

    def hear(self, honeytokens: Honeytokens | None) -> None:
        """Its message comes: what the process says is a turn's now, and watched for these."""
        self._is_ahead = False
        self._watch = _watch_for(honeytokens)

    async def connect(self) -> None:
        """The process runs already: its cage started it."""
        self._ready = True

    async def write(self, data: str) -> None:
        """Send one line to the process, after those that are being sent.

        A channel may take it in pieces, and what isn't on its way yet counts as unanswered.
        """
        async with self._writing:
            self._wire.sent(data)
            await self._channel.write(data.encode())

    def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        """Control frames for the SDK; everything else is taken in on the way."""
        return self._read()

    async def _read(self) -> AsyncIterator[dict[str, Any]]:
        try:
            async for control in self._controls():
                yield control
            self._ready = False  # by now: why it ended may take seconds to learn
            cause = await self._channel.cause_of_death()
            if cause is None and self._wire.is_owed_an_answer:
                cause = AgentProcessFailed(
                    "the agent process ended without answering", remedy="send the message again"
                )
        except (HoneytokenTripped, NotTakenUp, _TooEarly) as ended:
            cause = ended
        except Flooded:
            cause = AgentProcessFailed(
                "the agent process said too much that means nothing here",
                remedy="send the message again",
            )
        except OSError as error:
            cause = AgentProcessFailed(
                f"the connection to the agent process broke: {error.strerror or error}",
                remedy="send the message again",
            )
        except Exception:
            # Whatever made this break came from the process: the turn must learn that it is over.
            logger.exception("the agent's output could not be followed")
            cause = AgentProcessFailed(
                "the agent process said something that can't be followed",
                remedy="send the message again",
            )
        self._ready = False
        await self._hang_up()
        self._cause = cause
        self._over.set()
        await self.said.put(cause)
        if cause is not None:
            raise _Over

    async def _controls(self) -> AsyncIterator[dict[str, Any]]:
        async for chunk in self._channel.chunks():
            await self._warn_of_noise()
            for start in range(0, len(chunk), _PIECE_BYTES):
                piece = chunk[start : start + _PIECE_BYTES]
                self._require_silence()
                if self._watch is not None:
                    # Before the line it is in is whole: nothing of that line is said or kept.
                    self._watch.look_at(piece)
                for admitted in self._wire.feed(piece):
                    self._require_answer(admitted)
                    if (control := await self._take(admitted)) is not None:
                        yield control
                if self._wire.is_amid_a_line:
                    self._require_silence()
                # A socket that always has more never makes its reader wait: others would.
                await asyncio.sleep(0)
        await self._warn_of_noise()
        for admitted in self._wire.finish():
            if (control := await self._take(admitted)) is not None:
                yield control

    def _require_silence(self) -> None:
        if self._is_ahead and not self._wire.is_owed_an_answer:
            raise _TooEarly

    def _require_answer(self, admitted: Admitted) -> None:
        is_answer = isinstance(admitted, Control) and admitted.frame["type"] == "control_response"
        if self._is_ahead and not is_answer:
            raise _TooEarly

    async def _take(self, admitted: Admitted) -> dict[str, Any] | None:
        match admitted:
            case Control(frame):
                return frame
            case Content(frame, size):
                for said in self._translator.translate(frame):
                    if self._watch is not None and isinstance(said, TextEvent | ThinkingEvent):
                        self._watch.look_at_seam(said.delta)
                    place = await self.said.put(said, size)
                    if isinstance(said, ToolUseEvent):
                        self.calls.note(said.tool.id, place)
            case Mirror(entries, subagent):
                await self._keep(entries, subagent)
            case Objection(code, message):
                await self._warn(code, message)
            case FarMessage() | FarCancelled():
                self._pass_on(admitted)
            case Astray():
                raise NotTakenUp("took it for another session's")
        return None

    def _pass_on(self, admitted: FarMessage | FarCancelled) -> None:
        if self._far is None:
            return
        match admitted:
            case FarMessage(request_id, server, message):
                self._far.begin(request_id, server, message)
            case FarCancelled(request_id):
                self._far.cancel(request_id)

    async def _warn_of_noise(self) -> None:
        if self._channel.stderr_bytes > _MUCH_NOISE and not self._is_noise_told:
            self._is_noise_told = True
            told = "of what the agent process writes to its standard error, only the end is kept"
            await self._warn("much_stderr", told)

    async def _warn(self, code: str, message: str) -> None:
        await self.said.put(WarningEvent(code=code, message=message))

    async def _hang_up(self) -> None:
        if self._far is not None:
            await self._far.close()

    async def _keep(self, entries: tuple[dict[str, Any], ...], subagent: str | None) -> None:
        try:
            await self._transcript.append(entries, subagent)
        except OSError as error:
            told = f"the transcript could not be written: {error.strerror}"
            await self._warn("transcript_not_kept", told)

    async def close(self) -> None:
        """Close the input; ending the process is its cage's business."""
        self._ready = False
        await self._hang_up()
        await self._channel.close_input()

    def is_ready(self) -> bool:
        """Whether the process can be spoken to."""
        return self._ready

    async def ended(self) -> TurnFailed | None:
        """Wait until the process has nothing more to say; why that is, unless it just ended."""
        await self._over.wait()
        return self._cause

    async def end_input(self) -> None:
        """Close the process's standard input."""
        await self._channel.close_input()
