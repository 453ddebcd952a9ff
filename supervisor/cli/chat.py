"""`trustfloor chat`: talk to an agent from a terminal, approve its calls, stop it with Ctrl-C."""

import asyncio
import base64
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from supervisor.cli.answered import DataDir, connected
from supervisor.cli.asking import DENIES_ALL, NOBODY_HERE, Asker
from supervisor.cli.chat_help import ENDS, HELP, HELPS, NO_UTF_8, ways_to_allow
from supervisor.cli.choices import choice
from supervisor.cli.ctrl_c import CtrlC
from supervisor.cli.files import content_of
from supervisor.cli.keyboard import Keyboard
from supervisor.cli.render import Screen
from supervisor.cli.short_ids import whole_id
from supervisor.cli.turn_watch import TurnWatch
from supervisor.errors import TrustfloorError
from supervisor.sessions.attachments import LARGEST
from supervisor.trust.levels import TrustLevel
from trustfloor.errors import Unreachable

_LEFT = 130  # what a shell reports for a command that Ctrl-C ended
_NOBODY_ASKED = 3


class Approve(StrEnum):
    """What becomes of permission requests."""

    ASK = "ask"
    DENY = "deny"
    WAIT = "wait"


_WHY: Final = {Approve.DENY: DENIES_ALL, Approve.WAIT: None}
"""What an agent is told where nobody is asked here; None: it waits for others' answers."""


def _one_text(words: list[str] | None) -> list[str] | None:
    """Not joined: a word too many may have been meant for an option."""
    if words and len(words) > 1:
        raise typer.BadParameter("it is one text: put it into quotes")
    return words


def chat(  # noqa: PLR0913 - each is an option of the command
    *,
    message: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="MESSAGE",
            callback=_one_text,
            help="What to say, in quotes; without it, a conversation begins.",
        ),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option(help="Go on with this session: its id, or enough of how it begins."),
    ] = None,
    trust: Annotated[
        TrustLevel | None, choice(TrustLevel, help="The trust level to ask for.")
    ] = None,
    workspace: Annotated[str | None, typer.Option(help="The workspace, by its slug.")] = None,
    dir: Annotated[
        str | None, typer.Option(help="Working directory, relative to the vault.")
    ] = None,
    model: Annotated[str | None, typer.Option(help="The model to use.")] = None,
    agent: Annotated[
        str | None, typer.Option(help="The agent of a new session, by its path or name.")
    ] = None,
    approve: Annotated[
        Approve | None,
        choice(
            Approve,
            help="Ask about permissions, deny all, or wait for answers from elsewhere; asks if this"
            " is a terminal.",
        ),
    ] = None,
    attach: Annotated[
        list[Path] | None,
        typer.Option(
            exists=True,
            dir_okay=False,
            readable=True,
            help="A text, picture or PDF that comes along with the (first) message; repeatable.",
        ),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Talk to an agent of the running supervisor.

    Exit status 0 only if the (last) turn ended well; 3 if it did, but calls of it were refused
    because nobody answered. Ctrl-C aborts the turn; twice, it leaves it to itself;
    either way the status is 130.
    """
    with CtrlC() as ctrl_c:
        status = _chat(
            message[0] if message else None,
            ctrl_c,
            terms={
                "workspace": workspace,
                "trustLevel": trust.value if trust else None,
                "workingDirectory": dir,
                "model": model,
                "agentPath": agent,
            },
            session=session,
            attach=attach or [],
            approve=approve,
            data_dir=data_dir,
        )
    raise typer.Exit(status)


def _chat(  # noqa: PLR0913 - what the command was given
    message: str | None,
    ctrl_c: CtrlC,
    *,
    terms: Mapping[str, Any],
    session: str | None,
    attach: Sequence[Path],
    approve: Approve | None,
    data_dir: Path | None,
) -> int:
    screen = Screen(sys.stdout)
    interactive = sys.stdin.isatty() and sys.stdout.isatty()
    asks = approve is Approve.ASK or (approve is None and interactive)
    keyboard = Keyboard(sys.stdin.fileno()) if asks else None
    why = NOBODY_HERE if approve is None else _WHY.get(approve, NOBODY_HERE)
    asking = _Asking(screen, keyboard, why)
    files = [_attachment(each) for each in attach]
    terms = {**terms, "attachments": files or None}
    conversation = _Conversation(asking, terms, session, ctrl_c, data_dir)
    if message is None and interactive and not attach:
        return _converse(conversation, screen, ctrl_c)
    if message is None and attach and sys.stdin.isatty():
        message = ""
    if message is None:
        try:
            with ctrl_c.interrupting():
                message = sys.stdin.read().strip()
            message.encode()
        except KeyboardInterrupt:
            return _LEFT
        except UnicodeError:  # as a whole, or by halves of characters in its place
            screen.failure(*NO_UTF_8)
            return 2
    if not message.strip() and not attach:
        screen.failure("there is nothing to send", None, "give a message")
        return 2
    return conversation.say(message)


def _attachment(file: Path) -> dict[str, str]:
    content = base64.b64encode(content_of(file, LARGEST)).decode()
    return {"filename": file.name, "content": content, "encoding": "base64"}


def _converse(conversation: "_Conversation", screen: Screen, ctrl_c: CtrlC) -> int:
    """Turn after turn, until the person ends it; the exit status of the last turn."""
    from supervisor.cli.prompt import Prompt  # noqa: PLC0415 - editing, where someone types

    screen.line("Ctrl-D or /quit ends this; /help tells more.", "dim")
    prompt = Prompt(screen, ctrl_c)
    status = 0
    while (said := prompt.message()) is not None and said not in ENDS:
        if said not in HELPS:
            status = conversation.say(said)
            continue
        for line in HELP:
            screen.line(line, "dim")
        screen.line(f"  this session: {conversation.session or 'begins with a message'}", "dim")
    return status


@dataclass(frozen=True, slots=True)
class _Asking:
    """Where it is shown and typed; `why` is what an agent is told where nobody is asked."""

    screen: Screen
    keyboard: Keyboard | None
    why: str | None


class _Conversation:
    """Messages to one session; the terms asked for are sent with the first only."""

    def __init__(
        self,
        asking: _Asking,
        terms: Mapping[str, Any],
        session: str | None,
        ctrl_c: CtrlC,
        data_dir: Path | None,
    ) -> None:
        self._screen = asking.screen
        self._asking = asking
        self._ctrl_c = ctrl_c
        self._terms = {name: value for name, value in terms.items() if value is not None}
        self._session = session
        self._data_dir = data_dir

    @property
    def session(self) -> str | None:
        """The session's id, once it is known."""
        return self._session

    def say(self, message: str) -> int:
        """Send a message, show its turn; the exit status it means."""
        try:
            return asyncio.run(self._say(message))
        except TrustfloorError as error:
            self._screen.problem(error)
            if isinstance(error, Unreachable) and self._session is not None:
                self._screen.line(f"go on later: trustfloor chat --session {self._session}", "dim")
            return 1

    async def _say(self, message: str) -> int:
        body: dict[str, Any] = {"message": message, **self._terms}
        async with connected(self._data_dir) as client:
            if self._session is not None:
                self._session = body["sessionId"] = await whole_id(client, self._session)
            turn = client.turn(body)
            asker = Asker(client, self._screen, self._asking.keyboard, self._asking.why)
            watch = TurnWatch(client, turn, self._screen, asker)
            try:
                last = await watch.run(self._ctrl_c)
            finally:
                if turn.session_id is not None:
                    self._session, self._terms = turn.session_id, {}
        if last is None or watch.was_interrupted:
            return _LEFT
        if last == "done" and asker.missed:
            self._tell_how_to_allow(asker.missed)
            return _NOBODY_ASKED
        return 0 if last == "done" else 1

    def _tell_how_to_allow(self, missed: int) -> None:
        what = "1 request was" if missed == 1 else f"{missed} requests were"
        for line in (f"{what} refused, as nobody answered", *ways_to_allow(self._session)):
            self._screen.line(line, "yellow")
