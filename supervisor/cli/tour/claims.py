"""What the tour says held, judged from what was heard and found: functions that touch nothing."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from supervisor.cli.client import TERMINAL, Heard
from supervisor.events.redact import REPLACEMENT

_EVIDENCE_WIDTH: Final = 110
_AGENTS_OWN: Final = re.compile(r"^\s*(?:Exit code \d+$|refused: |\d+[\t→])", re.MULTILINE)
"""What the agent's program adds to a result: exit codes, who refused, the numbers of lines."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence, whether it held, and the fact that it is judged by."""

    sentence: str
    held: bool
    evidence: str


@dataclass(frozen=True, slots=True)
class Act:
    """One tool call of the agent's and what came of it; `result` is None if nothing did."""

    tool: str
    input: Mapping[str, Any]
    result: str | None
    failed: bool

    @property
    def subject(self) -> str:
        """What the call is about: its command or its file."""
        for name in ("command", "file_path"):
            if name in self.input:
                return str(self.input[name])
        return orjson.dumps(self.input).decode()


@dataclass(frozen=True, slots=True)
class Told:
    """All that one turn told."""

    events: tuple[Heard, ...]

    def first(self, kind: str) -> Mapping[str, Any]:
        """The first event of this type, or an empty document."""
        return next((each.data for each in self.events if each.type == kind), {})

    def every(self, kind: str) -> list[Mapping[str, Any]]:
        """The events of this type."""
        return [each.data for each in self.events if each.type == kind]

    @property
    def acts(self) -> tuple[Act, ...]:
        """The tool calls in order, each with its result."""
        results = {each["toolUseId"]: each for each in self.every("tool_result")}
        acts = []
        for each in self.every("tool_use"):
            tool = each["tool"]
            result = results.get(tool["id"], {})
            acts.append(
                Act(
                    tool=tool["name"],
                    input=tool["input"],
                    result=result.get("content"),
                    failed=bool(result.get("isError")),
                )
            )
        return tuple(acts)

    def act(self, part: str) -> Act:
        """The first call whose subject has this part; one without a result if none was made."""
        for each in self.acts:
            if part in each.subject:
                return each
        return Act(tool="", input={}, result=None, failed=True)

    @property
    def session_id(self) -> str:
        """The session that the turn belongs to."""
        return str(self.first("session").get("sessionId", ""))

    @property
    def turn_id(self) -> str:
        """The turn's own id."""
        return str(self.first("session").get("turn_id", ""))

    @property
    def ended(self) -> str:
        """How the turn ended, in a few words."""
        last = self.events[-1] if self.events else None
        if last is None or last.type not in TERMINAL:
            return "the turn's end was not heard"
        if last.type == "done":
            return "done"
        return f"{last.type}: {last.data.get('error') or last.data.get('message')}"

    @property
    def remedy(self) -> str | None:
        """What to do if the turn failed, as far as it was told."""
        remedy = self.events[-1].data.get("remedy") if self.events else None
        return str(remedy) if remedy else None

    @property
    def answer(self) -> str:
        """The agent's final answer."""
        return str(self.first("done").get("response", ""))

    @property
    def raw(self) -> str:
        """Every event of the turn as JSON: where a secret would show if one had come out."""
        return "\n".join(orjson.dumps(each.data).decode() for each in self.events)


def shortened(text: str, width: int = _EVIDENCE_WIDTH) -> str:
    """The text as one line of at most `width` characters."""
    line = " · ".join(" ".join(part.split()) for part in text.splitlines() if part.strip())
    return line if len(line) <= width else line[: width - 1] + "…"


def outcome(act: Act) -> str:
    """What came of a call, as one line."""
    if act.result is None:
        return "no such call was heard"
    return shortened(plain(act.result)) or "(nothing)"


def plain(result: str) -> str:
    """A tool's result without what the agent's program wrote around it."""
    return _AGENTS_OWN.sub("", result)


def lines_with(text: str, *parts: str) -> str:
    """The lines of the text that have any of the parts, as one line."""
    lines = [line for line in plain(text).splitlines() if any(part in line for part in parts)]
    return shortened("\n".join(lines)) or "it said nothing of it"


def found_in(text: str, secrets: Mapping[str, str]) -> list[str]:
    """The names of the secrets whose bytes are in the text."""
    return [name for name, secret in secrets.items() if secret in text]


def gave_no_secret(sentence: str, act: Act, secrets: Mapping[str, str]) -> Claim:
    """The call was made, it has a result, and no secret is in it."""
    found = [] if act.result is None else found_in(act.result, secrets)
    if found:
        return Claim(sentence, held=False, evidence=f"it gave the secret of {', '.join(found)}")
    return Claim(sentence, held=act.result is not None, evidence=outcome(act))


def nothing_came_out(told: Iterable[Told], secrets: Mapping[str, str], what: str) -> Claim:
    """No event of these turns has the bytes of any of the secrets, nor was one cut out of any."""
    turns = tuple(told)
    events = sum(len(each.events) for each in turns)
    found = [name for each in turns for name in found_in(each.raw, secrets)]
    found += ["something that had to be redacted" for each in turns if REPLACEMENT in each.raw]
    evidence = f"it tells {', '.join(found)}" if found else f"searched all {events} events"
    return Claim(what, held=bool(events) and not found, evidence=evidence)


def says(sentence: str, act: Act, *parts: str) -> Claim:
    """The call's result has each of these parts."""
    result = act.result or ""
    held = act.result is not None and all(part in result for part in parts)
    return Claim(sentence, held, lines_with(result, *parts) if held else outcome(act))


def ran_at(told: Told, level: str, cage: str) -> Claim:
    """The turn ran at this level in this cage, and was measured before anything it did."""
    order = [each.type for each in told.events]
    isolation = told.first("isolation")
    held = (
        told.first("session").get("trustLevel") == level
        and isolation.get("cage") == cage
        and bool(isolation.get("accepted"))
        and order[:2] == ["session", "isolation"]
    )
    evidence = (
        f"its level is {told.first('session').get('trustLevel')}, its sandbox"
        f" {isolation.get('cage')}; what was measured was"
        f" {'accepted' if isolation.get('accepted') else 'not accepted'}"
        f" {'before' if order[:2] == ['session', 'isolation'] else 'not before'} anything else"
    )
    where = {"container": "in a fresh container", "bubblewrap": "in a cage on the real vault"}.get(
        cage, "as a process of this machine"
    )
    return Claim(f"the message ran at the level {level}, {where}", held, evidence)


def numbered_without_gaps(told: Sequence[Told]) -> Claim:
    """In every session the events count 1, 2, 3, … over all its turns."""
    sessions: dict[str, list[int]] = {}
    for each in told:
        sessions.setdefault(each.session_id, []).extend(event.seq for event in each.events)
    broken = [
        session
        for session, numbers in sessions.items()
        if numbers != list(range(1, len(numbers) + 1))
    ]
    total = sum(map(len, sessions.values()))
    return Claim(
        "all that the sessions told came as events, numbered without a gap",
        held=bool(total) and not broken,
        evidence=f"{total} events of {len(sessions)} sessions"
        + (f"; gaps in {', '.join(broken)}" if broken else ""),
    )


def own_containers(told: Sequence[Told], made: Mapping[str, str]) -> Claim:
    """Each sandboxed turn had one container, which no other had, and there were no more.

    `made` is what the engine says it made: container ids, each with the turn on its label.
    """
    turns = [each.turn_id for each in told]
    held = bool(turns) and sorted(made.values()) == sorted(turns)
    return Claim(
        "the engine made one container for each sandboxed message, and no other",
        held,
        f"{len(made)} containers made for {len(turns)} messages",
    )
