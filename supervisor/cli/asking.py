"""Asks the person in front of the terminal what the supervisor asks: permissions and questions."""

import asyncio
from collections.abc import Mapping
from typing import Any

from supervisor.cli.client import Client, Heard, Refused
from supervisor.cli.keyboard import Keyboard
from supervisor.cli.render import Screen

Reply = str | dict[str, str]
"""An option's label, or own words as `{"other": …}`."""


class Asker:
    """Answers requests, one after another, by what the person types; without one it denies.

    `keyboard` is None where nobody is to be asked.
    """

    def __init__(self, client: Client, screen: Screen, keyboard: Keyboard | None) -> None:
        self._client = client
        self._screen = screen
        self._keyboard = keyboard
        self._turn = asyncio.Lock()

    async def permission(self, heard: Heard) -> None:
        """Have a permission request answered."""
        async with self._turn:
            self._screen.show(heard)
            granted, message = await self._decide()
            await self._send_verdict(heard.data, granted=granted, message=message)

    async def question(self, heard: Heard) -> None:
        """Have the agent's questions answered; a refused answer is asked for again."""
        async with self._turn:
            if self._keyboard is None:
                self._screen.line(
                    "the agent has a question that can't be answered here; answer it elsewhere"
                    f" or abort: {heard.data['questions'][0].get('question', '')}",
                    "yellow",
                )
                return
            while not await self._answer(self._keyboard, heard.data):
                pass

    async def _decide(self) -> tuple[bool, str | None]:
        if self._keyboard is None:
            self._screen.line("denied: nobody is here to be asked (see --approve)", "yellow")
            return False, "nobody was there to be asked"
        self._keyboard.forget()
        self._screen.ask("allow this? [y/N] ")
        said = await self._keyboard.line()
        if said is not None and said.strip().lower() in {"y", "yes"}:
            return True, None
        if said is None:
            self._screen.line("denied: the input has ended", "yellow")
            return False, None
        self._screen.ask("what shall the agent be told? (may be empty) ")
        return False, (await self._keyboard.line()) or None

    async def _send_verdict(
        self, request: Mapping[str, Any], *, granted: bool, message: str | None
    ) -> None:
        path = f"/api/permissions/{request['id']}"
        try:
            if granted:
                body = {"contentHash": request["contentHash"]}
                await self._client.post(f"{path}/grant", body)
            else:
                await self._client.post(f"{path}/deny", {"message": message} if message else {})
        except Refused as refusal:
            self._screen.failure(refusal.message, refusal.where, refusal.remedy)

    async def _answer(self, keyboard: Keyboard, request: Mapping[str, Any]) -> bool:
        answers: dict[str, Reply | list[Reply]] = {}
        for question in request["questions"]:
            said = await self._one(keyboard, question)
            if said is None:
                self._screen.line("not answered: the input has ended", "yellow")
                return True
            answers[str(question["question"])] = said
        try:
            await self._client.post(
                f"/api/questions/{request['requestId']}/answer", {"answers": answers}
            )
        except Refused as refusal:
            self._screen.failure(refusal.message, refusal.where, refusal.remedy)
            return refusal.problem.get("status") != 422  # noqa: PLR2004 - worth another try
        return True

    async def _one(
        self, keyboard: Keyboard, question: Mapping[str, Any]
    ) -> Reply | list[Reply] | None:
        options = [str(option["label"]) for option in question.get("options", ())]
        several = bool(question.get("multiSelect"))
        self._screen.line(f"? {question['question']}", "bold yellow")
        for number, option in enumerate(question.get("options", ()), start=1):
            described = option.get("description")
            self._screen.line(
                f"  {number}. {option['label']}" + (f": {described}" if described else "")
            )
        self._screen.ask(
            "numbers with commas between, or own words: " if several else "a number, or own words: "
        )
        said = await keyboard.line()
        if said is None:
            return None
        chosen = [_chosen(part.strip(), options) for part in said.split(",")]
        return chosen if several else _chosen(said.strip(), options)


def _chosen(said: str, options: list[str]) -> Reply:
    """The option that was named by its number or label; else what was typed, as own words."""
    if said.isdecimal() and 1 <= int(said) <= len(options):
        return options[int(said) - 1]
    return said if said in options else {"other": said}
