"""What the rows say of a session when a message comes: found or made, its floors, its memory.

Between `beginning.py`, which asks, and the pure plan, which is given the facts.
"""

import asyncio
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, Final

import orjson

from supervisor.agents.definition import AgentDefinition
from supervisor.agents.discover import Agents
from supervisor.errors import InvalidRequest, NotFound, SessionNotFound
from supervisor.events.log import EventLog
from supervisor.ids import SessionId, TurnId, is_session_id
from supervisor.sessions.afresh import MOST_TAKEN_UP, begins_at, key_of
from supervisor.sessions.attachments import Attachment
from supervisor.sessions.brought import read_brought
from supervisor.sessions.floors import Floors
from supervisor.sessions.house import House, Stores
from supervisor.sessions.memory import SPOKEN, PastTurn, earlier, missed_turns, transcript_for
from supervisor.sessions.plan import SessionFacts
from supervisor.sessions.surroundings import read_surroundings
from supervisor.sessions.transcripts import content_size, stored_pointer, transcript_pointer
from supervisor.sessions.working_directory import resolve_working_directory
from supervisor.storage.session import Session, SessionCreate
from supervisor.storage.session_source import SessionSource
from supervisor.storage.workspaces import DEFAULT
from supervisor.trust.floor import Floor, FloorSource
from supervisor.trust.levels import TrustLevel
from supervisor.trust.resolve import resolve_trust

_TITLE_CHARS: Final = 80


@dataclass(frozen=True, slots=True)
class MessageRequest:
    """One message, as a client asks for it; None means: as the session has it, or the default."""

    message: str
    session_id: str | None = None
    workspace: str | None = None
    trust_level: TrustLevel | None = None
    working_directory: str | None = None
    model: str | None = None
    system_prompt: str | None = None
    agent: str | None = None
    initial_context: str | None = None
    attachments: tuple[Attachment, ...] = ()
    idempotency_key: str | None = None
    """Sent again with the same key, it is the same message."""


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn runs, or ran if this is a repetition; its events have a `seq` above `after`."""

    session_id: SessionId
    turn_id: TurnId
    after: int
    is_repeated: bool = False


@dataclass(frozen=True, slots=True)
class Workplace:
    """The folder that a session works in, relative to the vault, as it was found this time.

    `warning`: it is another one than was asked for, and why.
    """

    cwd: PurePosixPath
    warning: str | None = None


class Records:
    """Reads and makes the rows of sessions, and nothing else of them."""

    def __init__(self, house: House, stores: Stores, log: EventLog) -> None:
        self._house = house
        self._stores = stores
        self._log = log
        self._floors = Floors(house.floor, stores.workspaces)

    async def of_request(
        self, request: MessageRequest, session_id: SessionId
    ) -> tuple[Session, Workplace]:
        """The session that a message is for, made if it is a new one, and where it works.

        Raises SessionNotFound, NotFound (workspace), InvalidRequest.
        """
        if named_session(request) is not None:
            session = await self._stores.sessions.get_session(session_id)
            if request.workspace not in (None, session.workspace):
                raise InvalidRequest(
                    "a session stays in its workspace", where="workspace", remedy="leave it out"
                )
            await self._require_same_agent(request.agent, session)
            return session, await self.workplace(session.working_directory)
        agent = await self._find(request.agent) if request.agent else None
        workspace = await self._stores.workspaces.get(request.workspace or DEFAULT)
        place = await self.workplace(request.working_directory or workspace.folder)
        floors = (*await self._floors.of(workspace.slug, place.cwd), *floor_of(agent))
        pointer = transcript_pointer(self._house.vault, place.cwd, session_id)
        session = await self._stores.sessions.create_session(
            SessionCreate(
                id=session_id,
                trust_level=resolve_trust(request.trust_level, floors).effective,
                workspace=workspace.slug,
                title=_title(request.message),
                working_directory=str(place.cwd),
                vault_root=str(self._house.vault),
                model=request.model,
                agent_type=agent.name if agent is not None else None,
                agent_path=agent.path if agent is not None else None,
                transcript_path=str(pointer),
            )
        )
        return session, place

    async def floors_of(
        self, session: Session, cwd: PurePosixPath | None = None
    ) -> tuple[Floor, ...]:
        """Everybody's floors for this session but its own. Raises NotFound, InvalidRequest.

        `cwd`: where a turn of it works by its plan; None: where its next one would.
        """
        if cwd is None:
            cwd = (await self.workplace(session.working_directory)).cwd
        agent = await self.agent_of(session)
        return (*await self._floors.of(session.workspace, cwd), *floor_of(agent))

    async def agent_of(self, session: Session) -> AgentDefinition | None:
        """The session's agent as its file is now; None if it has none.

        Raises InvalidRequest if the file is gone or broken: without it nobody knows its limits.
        """
        return _agent_of(session, await self._agents())

    async def _agents(self) -> Agents:
        return await asyncio.to_thread(self._house.agents)

    async def _find(self, wanted: str) -> AgentDefinition:
        return (await self._agents()).find(wanted)

    async def _require_same_agent(self, wanted: str | None, session: Session) -> None:
        if wanted and (await self._find(wanted)).path != session.agent_path:
            raise InvalidRequest(
                "a session keeps its agent", where="agentPath", remedy="leave it out"
            )

    async def facts(self, session: Session, place: Workplace) -> SessionFacts:
        """The session as it is now, in that place."""
        agents = await self._agents()
        agent = _agent_of(session, agents)
        folders = await self._stores.contexts.get_session_contexts(session.id)
        told = await asyncio.to_thread(
            read_surroundings,
            self._house.vault,
            place.cwd,
            [PurePosixPath(each) for each in folders],
            agent,
            self._house.policy().hidden,
        )
        pointer = stored_pointer(session.transcript_path, session.id) or transcript_pointer(
            self._house.vault, place.cwd, session.id
        )
        return SessionFacts(
            session_id=session.id,
            vault=PurePosixPath(self._house.vault),
            level=session.trust_level,
            floors=(*await self._floors.of(session.workspace, place.cwd), *floor_of(agent)),
            agent=agent,
            sections=told,
            agents=tuple(each.name for each in agents.good),
            workspace=session.workspace,
            message_count=session.message_count,
            tokens_used=session.tokens_used,
            cost_usd=session.cost_usd,
            transcript=pointer,
            transcript_exists=False,
            working_directory=place.cwd,
            begins={key_of(each): begins_at(session.metadata, each) for each in TrustLevel},
            brings=_brings(session),
            permissions=session.own_permissions,
        )

    async def remembering(
        self, facts: SessionFacts, level: TrustLevel, *, instead_in: TurnId | None = None
    ) -> SessionFacts:
        """The facts with the transcript of this level's side, and what was said on the other.

        `instead_in`: this turn could not take the transcript up, and is told what was said there.
        """
        transcript = transcript_for(facts.transcript, level)
        # A file that lies in the vault may have come with it: ours are those of sessions that our
        # own log knows.
        known = await self._log.last_seq(facts.session_id) > 0
        size = content_size(self._house.vault, transcript) if known else 0
        begin = min(facts.begins.get(key_of(level), 0), size)
        too_long = size - begin > MOST_TAKEN_UP
        if too_long or instead_in is not None:
            begin = size
        exists = size > begin
        turns = await self._stores.turns.of_session(facts.session_id)
        past = [PastTurn(turn.id, turn.trust_level) for turn in turns if turn.id != instead_in]
        missed = missed_turns(past, level, resumes=exists)
        spoken = await self._log.of_types(facts.session_id, SPOKEN) if missed else []
        said = [orjson.loads(record.data) for record in spoken if record.turn_id in missed]
        if facts.brings and not exists:  # else a turn of this side was told of it
            brought = await asyncio.to_thread(read_brought, self._house.vault, facts.transcript)
            said = [*brought, *said]
        return replace(
            facts,
            transcript=transcript,
            transcript_exists=exists,
            resume_from=begin,
            too_long=too_long,
            earlier=earlier(said),
        )

    async def said_in(self, session: Session) -> list[dict[str, Any]]:
        """All that person and agent said to each other, as events that hold it, oldest first.

        From our own events, and of what the session brought along, not from its transcripts.
        """
        pointer = stored_pointer(session.transcript_path, session.id)
        brought = []
        if pointer is not None and _brings(session):
            brought = await asyncio.to_thread(read_brought, self._house.vault, pointer)
        spoken = await self._log.of_types(session.id, SPOKEN)
        return [*brought, *(orjson.loads(record.data) for record in spoken)]

    async def workplace(self, asked: str | None) -> Workplace:
        """The folder to work in where this one is asked for."""
        # In a thread: the vault may be a slow disk, or one of another machine.
        cwd, warning = await asyncio.to_thread(
            resolve_working_directory, self._house.vault, asked, self._house.policy().hidden
        )
        return Workplace(cwd, warning)


def _agent_of(session: Session, agents: Agents) -> AgentDefinition | None:
    if "agent_path" in session.damaged:
        raise InvalidRequest("which agent the session has can't be read", where="agentPath")
    if session.agent_path is None:
        return None
    try:
        return agents.find(session.agent_path)
    except NotFound:
        raise InvalidRequest(
            f"the session's agent is gone: {session.agent_path}",
            where="agentPath",
            remedy="put the file back, or begin a new session",
        ) from None


def floor_of(agent: AgentDefinition | None) -> tuple[Floor, ...]:
    """What an agent's file demands, if anything."""
    if agent is None or agent.trust is None:
        return ()
    return (Floor(FloorSource.AGENT, agent.trust, agent.name),)


def named_session(request: MessageRequest) -> SessionId | None:
    """The session that a message names; None: a new one. Raises SessionNotFound for no id."""
    if request.session_id in (None, "", "new"):
        return None
    if not is_session_id(request.session_id):
        raise SessionNotFound("no session has this id", where=request.session_id)
    return SessionId(request.session_id)


def _brings(session: Session) -> bool:
    return session.source is not SessionSource.PARACHUTE or session.continued_from is not None


def _title(message: str) -> str:
    line = next((line.strip() for line in message.splitlines() if line.strip()), "")
    return line if len(line) <= _TITLE_CHARS else line[: _TITLE_CHARS - 1] + "…"
