"""Shows a turn on a terminal, line by line as it happens.

Everything that an agent, a tool or a file may have written passes `neutral` first: a terminal obeys
what it is sent, and so nothing of that may reach it as a command.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TextIO

import orjson
from rich.control import Control
from rich.segment import ControlType
from rich.text import Text

from supervisor.cli.client import Heard
from supervisor.cli.effects import HIDDEN, effect_lines
from supervisor.cli.lines import console
from supervisor.cli.neutral import neutral, one_line
from supervisor.cli.remedies import at_a_terminal, in_words
from supervisor.errors import TrustfloorError
from supervisor.trust.levels import TrustLevel

_LONGEST_INPUT: Final = 4_000
_LONGEST_RESULT: Final = 1_500
_NO_CAGE: Final = "this machine has no cage, so each command asks (`trustfloor doctor` says why)"
_TOLD_BY_THE_DENIAL: Final = frozenset({"denied", "timed_out"})
"""Decisions that an event of the denial itself follows."""
_NETWORK: Final = {"none": "; no network", "the host's": "; the machine's network"}
"""What is told of a cage's network, by the receipt of `vault`; a sandbox never has one."""
_FRESH_LINE: Final = Control(ControlType.CARRIAGE_RETURN, (ControlType.ERASE_IN_LINE, 2))
"""On a terminal: what is typed while a turn runs stands in no line of ours; it isn't lost."""
_NOT_ANSWERED: Final = "not-answered"
"""The rule of a denial that is a question without an answer."""


class Screen:
    """Writes events as readable lines; text as it comes. What is denied is told once."""

    def __init__(self, file: TextIO) -> None:
        self._console = console(file)
        self._flowing: str | None = None
        self._is_prompting = False
        self._questions: set[str] = set()
        self._denied: set[str] = set()
        self._is_scripted = False
        self._showers: Mapping[str, Callable[[Mapping[str, Any]], None]] = {
            "session": self._session,
            "isolation": self._isolation,
            "text": self._text,
            "thinking": self._thinking,
            "tool_use": self._tool_use,
            "tool_result": self._tool_result,
            "permission_request": self._permission_request,
            "permission_resolved": self._permission_resolved,
            "permission_denied": self._permission_denied,
            "user_question": self._user_question,
            "warning": self._warning,
            "done": self._done,
            "aborted": self._aborted,
            "error": self._error,
        }

    def show(self, heard: Heard) -> None:
        """Show one event; types that say nothing to a person are passed over."""
        shower = self._showers.get(heard.type)
        if shower is None:
            return
        if self._flowing is None and not self._is_prompting:
            self._console.control(_FRESH_LINE)
        shower(heard.data)

    def line(self, text: str, style: str = "") -> None:
        """A line of its own, and no other: what a title or a name holds begins none."""
        self._print(one_line(text), style)

    def lines(self, text: str, style: str = "", *, indent: str = "  ") -> None:
        """A text as it is, line by line, each set in: none of it passes for a line of ours."""
        parts = neutral(text).removesuffix("\n").split("\n")
        self._print("\n".join(part and indent + part for part in parts), style)

    def _print(self, shown: str, style: str) -> None:
        self._break()
        self._console.print(Text(shown, style=style), soft_wrap=True)

    def ask(self, text: str) -> None:
        """A prompt: a line that stays open."""
        self._break()
        self._console.print(Text(neutral(text), style="bold"), end="", soft_wrap=True)
        self._console.file.flush()
        self._is_prompting = True

    def answered(self) -> None:
        """The prompt's line has ended, by the key that ended the answer."""
        self._is_prompting = False

    def _flow(self, kind: str, text: str, style: str) -> None:
        if self._is_prompting or self._flowing not in (None, kind):
            self._break()
        self._console.print(Text(neutral(text), style=style), end="", soft_wrap=True)
        self._console.file.flush()
        self._flowing = kind

    def _break(self) -> None:
        if self._is_prompting or self._flowing is not None:
            self._console.print()
        self._flowing = None
        self._is_prompting = False

    def _session(self, data: Mapping[str, Any]) -> None:
        trust = data["trust"]
        self._is_scripted = bool(data.get("scripted"))
        self.line(
            f"session {data['sessionId']} · workspace {data['workspace']}"
            f" · trust {data['trustLevel']}" + (" · scripted model" if self._is_scripted else ""),
            "dim",
        )
        if trust["requested"] != trust["effective"]:
            self.line(f"asked for {trust['requested']}, {trust['trace'][-1]}", "yellow")

    def _isolation(self, data: Mapping[str, Any]) -> None:
        if data["cage"] == "none" and data["level"] != TrustLevel.FULL:
            self.line(f"isolation: none: {_NO_CAGE}", "yellow")
        elif data["cage"] == "none":
            self.line("isolation: none at this level", "dim")
        elif data["accepted"]:
            receipt = data.get("receipt", {})
            network = _NETWORK.get(str(receipt.get("network")), "")
            told = f"isolation: {data['cage']}, measured and accepted{network}{waited(receipt)}"
            self.line(told, "dim")
        else:
            self.line(f"isolation refused: {'; '.join(data['shortfalls'])}", "red")

    def _text(self, data: Mapping[str, Any]) -> None:
        self._flow(f"text {data.get('block', 0)}", data["delta"], "")

    def _thinking(self, data: Mapping[str, Any]) -> None:
        self._flow(f"thinking {data.get('block', 0)}", data["delta"], "dim italic")

    def _tool_use(self, data: Mapping[str, Any]) -> None:
        tool = data["tool"]
        shown = orjson.dumps(tool["input"]).decode()
        who = f"{data['agent']}: " if data.get("agent") else ""
        said = f"{who}{tool['name']} {_cut(shown, _LONGEST_INPUT)}"
        self.line(f"▸ {one_line(said)}", "cyan")

    def _tool_result(self, data: Mapping[str, Any]) -> None:
        if data.get("toolUseId") in self._denied:
            return
        style = "red" if data.get("isError") else "dim"
        shown = _cut(data["content"].rstrip(), _LONGEST_RESULT)
        self.lines(shown, style)

    def _permission_request(self, data: Mapping[str, Any]) -> None:
        who = f"{data['agentName']}: " if data.get("agentName") else ""
        asks = f"{who}{data['toolName']} needs your permission ({data['reason']})"
        self.line(f"⏸ {one_line(asks)}", "bold yellow")
        self.lines(data["display"])
        if data["hasHiddenCharacters"]:
            self.line(f"  careful: {HIDDEN}; they are named above", "red")
        for each in effect_lines(data):
            self.line(f"  {one_line(each)}", "dim")

    def _permission_resolved(self, data: Mapping[str, Any]) -> None:
        self.resolved(data)

    def resolved(
        self, data: Mapping[str, Any], *, elsewhere: bool = False, followed: bool = True
    ) -> None:
        """How a request ended; `elsewhere`: by an answer that wasn't given here.

        `followed`: where it was refused, the event of the refused call comes next, and tells it.
        """
        decision = data["decision"]
        if decision in _TOLD_BY_THE_DENIAL and followed and not elsewhere:
            return
        is_question = data.get("id") in self._questions
        words = {"void": "no longer open", "timed_out": "nobody answered in time"}
        if is_question:
            words |= {"granted": "answered", "denied": "declined"}
        kind = "question" if is_question else "permission"
        who = f" elsewhere, by {one_line(str(data.get('by') or 'someone'))}" if elsewhere else ""
        self.line(f"{kind}: {words.get(decision, decision)}{who}{_beyond(data)}", "yellow")

    def _user_question(self, data: Mapping[str, Any]) -> None:
        self._questions.add(data["requestId"])  # the questions themselves are shown one by one
        if data.get("agentName"):
            self.line(f"{one_line(data['agentName'])} asks", "bold yellow")
        if data.get("hasHiddenCharacters"):
            self.line(f"careful: {HIDDEN}; they are named here", "red")

    def _permission_denied(self, data: Mapping[str, Any]) -> None:
        if data.get("toolUseId"):
            self._denied.add(data["toolUseId"])
        if data["rule"] == _NOT_ANSWERED:
            self.line(f"question: {data['reason']}", "yellow")
            return
        why = f"{data['toolName']} was denied: {data['reason']} [{data['rule']}]"
        self.line(f"✗ {one_line(why)}", "red")

    def _warning(self, data: Mapping[str, Any]) -> None:
        self.line(f"warning: {data['message']} [{data['code']}]", "yellow")

    def _done(self, data: Mapping[str, Any]) -> None:
        spent = data.get("spending") or {}
        tokens = f"{spent.get('inputTokens', 0)} + {spent.get('outputTokens', 0)} tokens"
        model = data.get("model") or "no model"
        if self._is_scripted or data.get("scripted"):
            model = f"scripted model (as {model})"
        self.line(f"done · {model} · {tokens}", "dim")

    def _aborted(self, data: Mapping[str, Any]) -> None:
        self.line(f"aborted: {data['message']}", "yellow")

    def _error(self, data: Mapping[str, Any]) -> None:
        self.failure(data["error"], data.get("where"), data.get("remedy"), data["code"])

    def problem(self, error: TrustfloorError) -> None:
        """What a command couldn't do."""
        self.failure(*in_words(error))

    def failure(
        self, message: str, where: str | None, remedy: str | None, code: str | None = None
    ) -> None:
        """What went wrong, where, and what to do."""
        first, *more = message.split("\n")
        self.line(f"error: {first}" + (f" [{code}]" if code else ""), "bold red")
        if more:
            self.lines("\n".join(more), "red")
        if where:
            self.line(f"  where: {where}", "red")
        if remedy:
            self.line(f"  what to do: {at_a_terminal(remedy)}", "red")


def waited(receipt: Mapping[str, Any]) -> str:
    """That a sandbox was made ahead of its message, and how long before; empty if it wasn't."""
    seconds = receipt.get("waitedSeconds")
    if not isinstance(seconds, int | float):
        return ""
    return f"; made ahead, it waited {seconds:.0f} s for this message"


def _beyond(resolved: Mapping[str, Any]) -> str:
    """What was granted beyond the call, or what had granted it."""
    given = [f"{each['kind']} {each['pattern']}" for each in resolved.get("grants") or ()]
    if given:
        return f", and for the {resolved['scope']}: {'; '.join(given)}"
    return ", as the grant just given covers it" if resolved.get("coveredBy") else ""


def _cut(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    return f"{text[:longest]}… ({len(text) - longest} more characters)"
