"""Which servers a turn gets, and why not the others: each is a warning, and the turn goes on.

Pure: what is configured, wanted and allowed is known by then.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from supervisor.errors import InvalidRequest
from supervisor.mcp.hidden import literals, long_enough, of_address, repeatable
from supervisor.mcp.server_entry import ServerEntry, read_entry
from supervisor.policy.mcp_names import spelled
from supervisor.trust.levels import TrustLevel

LEFT_OUT: Final = "mcp_server_left_out"
"""The code of the warning that a turn does without a server."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a turn's agent says of servers. `names` None: all of the vault's; `own` its file's."""

    names: tuple[str, ...] | None = None
    own: Mapping[str, Mapping[str, Any]] = field(default_factory=dict, repr=False)
    agent: str | None = None
    """Its file, relative to the vault."""


ALL: Final = Wanted()
"""What a session without an agent wants."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A server that is wanted: its entry, or else the fault for which it can't be used."""

    name: str
    entry: ServerEntry | None
    fault: str | None = None
    agent: str | None = None
    """Whose file describes it; None: the vault's."""
    allowed: bool = False
    in_sandboxes: bool = False


@dataclass(frozen=True, slots=True)
class Far:
    """A server that the supervisor calls. `given` is its entry with all values in it.

    `secrets` are those of the values that nobody else may see.
    """

    given: Mapping[str, Any] = field(repr=False)
    secrets: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def origin(self) -> str:
        """Scheme, host and port: what of its URL may be told."""
        parts = urlsplit(self.given["url"])
        host = parts.hostname or ""
        bracketed = f"[{host}]" if ":" in host else host
        return f"{parts.scheme}://{bracketed}" + (f":{parts.port}" if parts.port else "")


@dataclass(frozen=True, slots=True)
class TurnServers:
    """A turn's servers as the agent's program is given them, and why others are left out.

    `config` holds secrets; None: there are no servers. `far` are those in it that the supervisor
    calls in the agent's stead.
    """

    config: str | None = field(default=None, repr=False)
    far: Mapping[str, Far] = field(default_factory=dict, repr=False)
    names: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


NONE: Final = TurnServers()


def own_candidates(wanted: Wanted) -> Iterator[Candidate]:
    """The servers that the agent's file describes itself."""
    for name, plain in wanted.own.items():
        try:
            yield Candidate(name, read_entry(name, plain), agent=wanted.agent)
        except InvalidRequest as error:
            fault = f"{error.where}: {error.message}" if error.where else error.message
            yield Candidate(name, None, fault, wanted.agent)


def choose(
    candidates: tuple[Candidate, ...],
    level: TrustLevel,
    values: Mapping[str, str],
    *,
    confined: bool = True,
) -> TurnServers:
    """The servers of a turn at this level. `values`: of the variables that may be referred to.

    `confined`: whether a process at `vault` is in a cage on this machine.
    """
    servers: dict[str, Any] = {}
    far: dict[str, Far] = {}
    warnings: list[str] = []
    not_there: list[str] = []
    for each in candidates:
        if level is TrustLevel.SANDBOXED and each.allowed and not each.in_sandboxes:
            not_there.append(each.name)
            continue
        reason = _against(each, level, confined=confined) or _confused(each, servers)
        if reason is None and each.entry is not None:
            try:
                given = each.entry.given(values)
                if level is TrustLevel.SANDBOXED and each.entry.transport != "stdio":
                    far[each.name] = Far(given, _secrets(each.entry, given, values))
                    given = {"type": "sdk", "name": each.name}
                servers[each.name] = given
            except InvalidRequest as error:
                reason = f"{error.message}; {error.remedy}"
        if reason is not None:
            warnings.append(f"the MCP server {each.name} is left out: {reason}")
    if not_there:
        warnings.append(
            f"MCP servers left out of this sandbox: {', '.join(not_there)}; to use one here: "
            "trustfloor mcp allow NAME --sandboxed"
        )
    config = json.dumps({"mcpServers": servers}, ensure_ascii=False) if servers else None
    return TurnServers(config, far, tuple(servers), tuple(warnings))


def _against(each: Candidate, level: TrustLevel, *, confined: bool) -> str | None:
    """Why this server isn't used at this level."""
    if each.entry is None:
        return each.fault or "it can't be read"
    if not each.allowed:
        of = "" if each.agent is None else f" --agent {each.agent}"
        return (
            "nobody has allowed it as it is now; look at it (trustfloor mcp list), then run: "
            f"trustfloor mcp allow {each.name}{of}"
        )
    local = each.entry.transport == "stdio"
    if level is TrustLevel.VAULT and local and not confined:
        return "this machine has no cage to run it in (trustfloor doctor)"
    return None


def _confused(each: Candidate, others: Iterable[str]) -> str | None:
    """A call is known by its tool's name alone, so that must say which server it is for."""
    like = next((name for name in others if spelled(name) == spelled(each.name)), None)
    return None if like is None else f"its tools can't be told from those of {like}; rename it"


def _secrets(
    entry: ServerEntry, given: Mapping[str, Any], values: Mapping[str, str]
) -> frozenset[str]:
    """What the server might repeat and the sandbox may not see: values, headers, literals."""
    texts = [*given["headers"].values(), *(values.get(name, "") for name in entry.references)]
    whole = (*literals(entry), *of_address(given["url"]))
    return frozenset((*repeatable(texts), *long_enough(whole)))
