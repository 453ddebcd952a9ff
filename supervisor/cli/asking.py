"""Asks the person in front of the terminal what the supervisor asks: permissions and questions."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from supervisor.cli.client import Client, Heard, Refused
from supervisor.cli.granting import TAKEN, after_p, chosen, own_pattern, suggestion_lines
from supervisor.cli.keyboard import Keyboard
from supervisor.cli.neutral import one_line
from supervisor.cli.render import Screen

Reply = str | dict[str, str]
"""An option's label, or own words as `{"other": …}`."""

NOBODY_HERE = "nobody was there to be asked"
DENIES_ALL = "the client denies whatever needs permission (--approve deny)"
"""Why an agent is refused without anybody being asked. Neither blames a person who wasn't there."""

LEFT_OPEN = "left open: answer it with trustfloor approvals, or in the console"

_DECLINED = (
    "the question is declined here; to answer such a one, use a terminal or --approve ask, or leave"
    " it to others with --approve wait"
)
_ONCE_ONLY = "nothing can be granted beyond this call: y allows it this once, n denies"
_INPUT_ENDED = "the input ended before somebody answered"
_ANSWERS = frozenset({"granted", "denied"})
_OWN_WORDS = "other"
_INVALID = 422


def _silent() -> None:
    pass


class InputEnded(Exception):
    """Whoever was asked is gone; what they were asked stays open for others."""


class Asker:
    """Answers requests, one after another, by what the person types; without one it refuses.

    `keyboard` is None where nobody is to be asked, and `why` is what the agent is told then; None:
    it is told nothing, and what is asked is shown and left to others. Where the input ends, what is
    asked is refused, or, with `leaves`, InputEnded is raised.
    """

    def __init__(
        self,
        client: Client,
        screen: Screen,
        keyboard: Keyboard | None,
        why: str | None = NOBODY_HERE,
        *,
        leaves: bool = False,
    ) -> None:
        self._leaves = leaves
        self._client = client
        self._screen = screen
        self._keyboard = keyboard
        self._why = why
        self._turn = asyncio.Lock()
        self._answered: set[str] = set()
        self.missed = 0
        """How many were refused because nobody answered."""

    def note(self, resolved: Mapping[str, Any]) -> None:
        """Count a request that nobody answered in time, wherever it was asked."""
        if resolved["decision"] == "timed_out":
            self.missed += 1

    def is_elsewhere(self, resolved: Mapping[str, Any]) -> bool:
        """Whether this is the answer to a request that somebody else has given, not we here."""
        is_answer = resolved["decision"] in _ANSWERS and not resolved.get("coveredBy")
        return is_answer and resolved["id"] not in self._answered

    async def permission(self, heard: Heard, introduce: Callable[[], None] = _silent) -> None:
        """Have a permission request answered; it is introduced when its turn has come."""
        async with self._turn:
            introduce()
            self._screen.show(heard)
            if self._keyboard is None and self._why is None:
                self._screen.line(LEFT_OPEN, "yellow")
                return
            while True:
                verdict, body = await self._decide(heard.data)
                if await self._send_verdict(heard.data, verdict, body):
                    return

    async def question(self, heard: Heard, introduce: Callable[[], None] = _silent) -> None:
        """Have the agent's questions answered; a refused answer is asked for again."""
        async with self._turn:
            introduce()
            self._screen.show(heard)
            if self._keyboard is None and self._why is None:
                self._tell_questions(heard.data)
                self._screen.line(LEFT_OPEN, "yellow")
                return
            if self._keyboard is None:
                self._tell_questions(heard.data)
                self._screen.line(_DECLINED, "yellow")
                await self._decline(heard.data, self._why or NOBODY_HERE)
                return
            self._keyboard.forget()
            while not await self._answer(self._keyboard, heard.data):
                pass

    def _tell_questions(self, request: Mapping[str, Any]) -> None:
        for question in request["questions"]:
            labels = [str(option.get("label")) for option in question.get("options", ())]
            self._screen.line(
                "? "
                + one_line(question["question"] + (f" ({' / '.join(labels)})" if labels else "")),
                "bold yellow",
            )

    async def _decide(self, request: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """`grant` or `deny`, and what is said with it."""
        keyboard = self._keyboard
        if keyboard is None:
            return "deny", {"message": self._why or NOBODY_HERE}
        suggested = request.get("suggestedGrants") or []
        self._offer(suggested)
        keyboard.forget()
        numbers = "/p, or numbers for the session" if suggested else ""
        while True:
            said = await self._prompt(keyboard, f"allow this? [y/N/s/?{numbers}] ")
            if said is None:
                return "deny", {"message": _INPUT_ENDED}
            word = said.strip().lower()
            if word in {"?", "h", "help"}:
                self._explain(with_numbers=bool(suggested))
            elif (begun := after_p(said)) is not None:
                if not suggested:
                    self._screen.line(_ONCE_ONLY, "yellow")
                elif given := own_pattern(begun or await self._pattern(keyboard)):
                    return "grant", {"scope": "session", **given}
            elif (meant := _meant(word, suggested)) is not None:
                return meant
            elif chosen(said, suggested) is None:
                message = "what shall the agent be told? (may be empty) "
                told = await self._prompt(keyboard, message)
                return "deny", {"message": told} if told else {}
            else:
                # Who types a number means to grant something: that is no "no".
                none = "that is none of the choices" if suggested else _ONCE_ONLY
                self._screen.line(none, "yellow")

    def _offer(self, suggested: Sequence[Mapping[str, Any]]) -> None:
        if suggested:
            self._screen.line("to be asked less, grant for this session:")
        for line in suggestion_lines(suggested):
            self._screen.line(one_line(line))

    def _explain(self, *, with_numbers: bool) -> None:
        self._screen.line("y      allow this call, exactly as it is shown, once", "dim")
        if with_numbers:
            self._screen.line("1 2 …  allow it, and what these lines say for the session", "dim")
            self._screen.line("p      allow it, and for the session what you type next", "dim")
            for line in TAKEN:
                self._screen.line(f"       {line}", "dim")
        self._screen.line("s      deny it, and stop the turn", "dim")
        self._screen.line("else   deny it; you may tell the agent why", "dim")

    async def _pattern(self, keyboard: Keyboard) -> str:
        for line in TAKEN:
            self._screen.line(line, "dim")
        return await self._prompt(keyboard, "what may be done in this session? ") or ""

    async def _prompt(self, keyboard: Keyboard, text: str) -> str | None:
        """What is typed at a prompt; None at the end of the input."""
        self._screen.ask(text)
        said = await keyboard.line()
        if said is not None:
            self._screen.answered()
        elif self._leaves:
            raise InputEnded
        return said

    async def _send_verdict(
        self, request: Mapping[str, Any], verdict: str, body: Mapping[str, Any]
    ) -> bool:
        """Whether that was all; False: it was refused, and may be tried otherwise."""
        shown = {"contentHash": request["contentHash"]}
        path = f"/api/permissions/{request['id']}/{verdict}"
        refusal = await self._said(request["id"], path, {**shown, **body})
        if refusal is not None:
            return self._keyboard is None or refusal.problem.get("status") != _INVALID
        return True

    async def _said(self, name: str, path: str, body: Mapping[str, Any]) -> Refused | None:
        """Send an answer; why it was refused, which is shown, if it was."""
        unheard = body.get("message") in (NOBODY_HERE, _INPUT_ENDED)
        # Before it is sent: its outcome, and the turn's end, may be heard of sooner.
        self._answered.add(name)
        self.missed += unheard
        try:
            await self._client.post(path, body)
        except Refused as refusal:
            self._answered.discard(name)
            self.missed -= unheard
            self._screen.failure(refusal.message, refusal.where, refusal.remedy)
            return refusal
        return None

    async def _answer(self, keyboard: Keyboard, request: Mapping[str, Any]) -> bool:
        answers: dict[str, Reply | list[Reply]] = {}
        seen = request.get("shown") or request["questions"]
        for question, shown in zip(request["questions"], seen, strict=True):
            said = await self._one(keyboard, question, shown)
            if said is None:
                await self._decline(request, _INPUT_ENDED)
                return True
            answers[str(question["question"])] = said
        name = request["requestId"]
        refusal = await self._said(name, f"/api/questions/{name}/answer", {"answers": answers})
        # One that doesn't fit is worth another try.
        return refusal is None or refusal.problem.get("status") != _INVALID

    async def _decline(self, request: Mapping[str, Any], message: str) -> None:
        name = request["requestId"]
        await self._said(name, f"/api/questions/{name}/decline", {"message": message})

    async def _one(
        self, keyboard: Keyboard, question: Mapping[str, Any], shown: Mapping[str, Any]
    ) -> Reply | list[Reply] | None:
        options = [str(option["label"]) for option in question.get("options", ())]
        several = bool(question.get("multiSelect"))
        self._screen.line(f"? {one_line(shown['question'])}", "bold yellow")
        if not options:
            return await self._own_words(keyboard)
        for number, option in enumerate(shown["options"], start=1):
            described = option.get("description")
            label = f"{option['label']}: {described}" if described else str(option["label"])
            self._screen.line(f"  {number}. {one_line(label)}")
        self._screen.line(f"  {len(options) + 1}. {_OWN_WORDS}: say it in your own words")
        while True:
            said = await self._prompt(
                keyboard, "numbers with commas between: " if several else "a number: "
            )
            if said is None:
                return None
            chosen = _choose(said.split(",") if several else [said], options)
            if chosen is None:
                self._screen.line("that is none of the choices", "yellow")
                continue
            replies: list[Reply] = []
            for each in chosen:
                reply = each if each is not None else await self._own_words(keyboard)
                if reply is None:
                    return None
                replies.append(reply)
            return replies if several else replies[0]

    async def _own_words(self, keyboard: Keyboard) -> Reply | None:
        while True:
            said = await self._prompt(keyboard, "your own words: ")
            if said is None:
                return None
            if said.strip():
                return {"other": said}


def _meant(word: str, suggested: Sequence[Mapping[str, Any]]) -> tuple[str, dict[str, Any]] | None:
    """A verdict that one word says; None if it says none."""
    if word in {"y", "yes"}:
        return "grant", {}
    if word in {"s", "stop"}:
        return "deny", {"stop": True}
    ids = chosen(word, suggested)
    return ("grant", {"scope": "session", "suggestion": ids}) if ids else None


def _choose(said: list[str], options: list[str]) -> list[str | None] | None:
    """The options named by number or label, None among them for own words; None if one is none."""
    chosen: list[str | None] = []
    for part in (each.strip() for each in said):
        if part in options:
            chosen.append(part)
        elif part.lower() == _OWN_WORDS or part == str(len(options) + 1):
            chosen.append(None)
        elif part.isdecimal() and 1 <= int(part) <= len(options):
            chosen.append(options[int(part) - 1])
        else:
            return None
    return chosen
