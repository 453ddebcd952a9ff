"""The MCP servers of a vault: configured, allowed, and handed to turns. Nothing is started here."""

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from supervisor.errors import InvalidRequest, NotFound
from supervisor.mcp.allowed import Allowed, AllowedServers
from supervisor.mcp.chosen import (
    NONE,
    Candidate,
    TurnServers,
    Wanted,
    choose,
    own_candidates,
)
from supervisor.mcp.file import FILE, Configured, McpFile, changed_meanwhile
from supervisor.mcp.hidden import literals
from supervisor.mcp.server_entry import ServerEntry
from supervisor.observability.logs import fields
from supervisor.policy.fault import PolicyFault
from supervisor.trust.levels import TrustLevel

logger = logging.getLogger(__name__)

MOST_OF_A_TURN: Final = 50
"""Servers that a turn is given."""
_MOST_NAMED: Final = 10

Record = Callable[[str, None, None, Mapping[str, Any]], Awaitable[object]]
"""Appends to the audit log: kind, no session, no turn, body."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A configured server, and what is allowed of it as it is now."""

    entry: ServerEntry
    allowed: Allowed


class McpServers:
    """What an admin does with the servers of a vault, and what turns get of them. Blocks.

    `values` are those of the variables that entries may refer to, `learnt` is told of secrets that
    stand in entries as they are, before anything can repeat them.
    """

    def __init__(
        self,
        vault: Path,
        data: Path,
        values: Mapping[str, str],
        *,
        confined: Callable[[], bool] = lambda: True,
        learnt: Callable[[frozenset[str]], object] = lambda _: None,
    ) -> None:
        self._file = McpFile(vault)
        self._allowed = AllowedServers(data, vault)
        self._values = dict(values)
        self._confined = confined
        self._learnt = learnt
        self._known: frozenset[str] = frozenset()

    def all(self) -> tuple[tuple[Listed, ...], tuple[PolicyFault, ...], str]:
        """The servers in the file's order, what is wrong with the others, and the file's tag."""
        found = self._read()
        listed = tuple(Listed(each, self._allowed.of(each)) for each in found.servers)
        return listed, found.broken, found.tag

    def get(self, name: str) -> Listed:
        """One server. Raises NotFound; InvalidRequest for one with a mistake."""
        return self._found(name, None)

    def _found(self, name: str, expected: str | None) -> Listed:
        found = self._read()
        if expected is not None and expected != found.tag:
            raise changed_meanwhile()
        entry = found.find(name)
        if entry is not None:
            return Listed(entry, self._allowed.of(entry))
        fault = found.fault(name)
        if fault is not None:
            raise InvalidRequest(
                f"the server can't be used: {fault.place}: {fault.expected}",
                where="name",
                remedy=fault.remedy or "mend the file",
            )
        raise NotFound("no MCP server has this name", where="name", remedy="see: GET /api/mcp")

    def save(
        self,
        name: str,
        given: Mapping[str, Any],
        expected: str | None = None,
        *,
        only_new: bool = False,
    ) -> tuple[Listed, bool]:
        """Add or change a server, which allows it as it is then; whether it is new.

        `only_new`: change none that is there. Raises InvalidRequest, ChangedMeanwhile,
        AlreadyThere.
        """
        entry, is_new = self._file.put(name, given, expected, only_new=only_new)
        # Sandboxes keep it only if it is what was allowed there.
        there = self._allowed.of(entry).sandboxed
        logger.info("MCP server saved", extra=fields(server=name))
        return Listed(entry, self._allowed.allow(entry, sandboxed=there)), is_new

    def remove(self, name: str, expected: str | None = None) -> None:
        """Take a server out. Raises NotFound, InvalidRequest, ChangedMeanwhile."""
        self._file.remove(name, expected)
        self._allowed.forget(name)
        logger.info("MCP server removed", extra=fields(server=name))

    def allow(
        self,
        name: str,
        wanted: Wanted | None = None,
        *,
        sandboxed: bool = False,
        expected: str | None = None,
    ) -> Listed:
        """Allow a server as it is now; of the vault's, or one that an agent's file describes.

        `expected`: the tag that the vault's file must have. Raises NotFound, InvalidRequest,
        ChangedMeanwhile.
        """
        entry = self._found(name, expected).entry if wanted is None else self._own(name, wanted)
        agent = None if wanted is None else wanted.agent
        logger.info("MCP server allowed", extra=fields(server=name))
        return Listed(entry, self._allowed.allow(entry, agent, sandboxed=sandboxed))

    def allowed(self, name: str) -> Listed:
        """One server that is allowed as it is now. Raises NotFound, InvalidRequest."""
        listed = self.get(name)
        if not listed.allowed.local:
            raise InvalidRequest(
                "nobody has allowed this server as it is now",
                where="name",
                remedy=f"look at it (trustfloor mcp list), then run: trustfloor mcp allow {name}",
            )
        return listed

    def given(self, entry: ServerEntry) -> dict[str, Any]:
        """The entry with the values of its references. Raises InvalidRequest for one without."""
        self._learn(entry)
        return entry.given(self._values)

    def of_turn(self, wanted: Wanted, level: TrustLevel) -> TurnServers:
        """What a turn gets at this level; never raises for the file's sake."""
        candidates = tuple(self._candidates(wanted))
        if not candidates:
            return NONE
        for each in candidates:
            if each.entry is not None:
                self._learn(each.entry)
        taken, beyond = candidates[:MOST_OF_A_TURN], candidates[MOST_OF_A_TURN:]
        chosen = choose(taken, level, self._values, confined=self._confined())
        return replace(chosen, warnings=(*chosen.warnings, *_too_many(beyond)))

    def _candidates(self, wanted: Wanted) -> Iterator[Candidate]:
        for each in own_candidates(wanted):
            yield self._judged(each)
        names = wanted.names
        if names is not None and not names:
            return
        found = self._read()
        if names is None:
            names = tuple(each.name for each in found.servers)
            for fault in found.broken:
                yield Candidate(_name_of(fault), None, f"{fault.place}: {fault.expected}")
        for name in names:
            if name not in wanted.own:
                yield self._judged(_candidate(found, name))

    def _judged(self, each: Candidate) -> Candidate:
        if each.entry is None:
            return each
        allowed = self._allowed.of(each.entry, each.agent)
        return replace(each, allowed=allowed.local, in_sandboxes=allowed.sandboxed)

    def _own(self, name: str, wanted: Wanted) -> ServerEntry:
        for each in own_candidates(wanted):
            if each.name == name:
                if each.entry is None:
                    raise InvalidRequest(f"the server can't be used: {each.fault}", where="name")
                return each.entry
        raise NotFound("the agent's file describes no server of this name", where="name")

    def _read(self) -> Configured:
        found = self._file.read()
        for each in found.servers:
            self._learn(each)
        return found

    def _learn(self, entry: ServerEntry) -> None:
        new = frozenset(literals(entry)) - self._known
        if new:
            self._known |= new
            self._learnt(self._known)


def _too_many(beyond: Sequence[Candidate]) -> Iterator[str]:
    if beyond:
        named = ", ".join(each.name for each in beyond[:_MOST_NAMED])
        more = len(beyond) - _MOST_NAMED
        yield (
            f"a turn is given at most {MOST_OF_A_TURN} MCP servers; left out: {named}"
            + (f" and {more} more" if more > 0 else "")
            + "; name those that an agent needs in its file (mcpServers)"
        )


def _candidate(found: Configured, name: str) -> Candidate:
    entry = found.find(name)
    if entry is not None:
        return Candidate(name, entry)
    fault = found.fault(name)
    told = f"{fault.place}: {fault.expected}" if fault else f"{FILE} has no server of this name"
    return Candidate(name, None, told)


def _name_of(fault: PolicyFault) -> str:
    return (fault.field or FILE).partition(".")[0].partition("[")[0] or FILE
