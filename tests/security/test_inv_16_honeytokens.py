"""Invariant 16: what stands in a denied file's place ends the turn of whoever passes it on.

Real containers and the real CLI. The names are put together by the commands as they run, so that
nothing but what the kernel shows decides. Beside the attacks: the same with nobody looking, and
broad searches, which read decoys too and trip over none.
"""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from supervisor.approvals.granting import Yes
from supervisor.errors import InvalidRequest
from supervisor.observability.audit import verify
from supervisor.policy.permissions import GrantScope
from supervisor.runtimes.honeytokens import Honeytokens, Scanner
from supervisor.trust.levels import TrustLevel
from tests.worlds.decoys import NAMED, TOKEN, appears_nowhere, noted_decoys, tokens_of
from tests.worlds.house import House, Told, a_house, bash, calls, is_a, noted_requests, prompt, step

pytestmark = pytest.mark.engine

SPELLINGS = {
    "printed": NAMED + 'cat "/vault/$n"',
    "in base64": NAMED + 'base64 < "/vault/$n"',
    "in base64, from the second byte": NAMED + 'tail -c +2 "/vault/$n" | base64 -w 20',
    "in hexadecimal": NAMED + 'od -A x -t x1 "/vault/$n"',
    "backwards": NAMED + 'tr -d "\\0\\n" < "/vault/$n" | python3 -c "print(input()[::-1])"',
    "percent-encoded": NAMED
    + "python3 -c \"import sys; print(*map('%{:02x}'.format, open(sys.argv[1], 'rb').read()),"
    + ' sep=str())" "/vault/$n"',
    "out of a copy": NAMED
    + 'cp "/vault/$n" /tmp/note.md; strings -n 8 /tmp/note.md || cat /tmp/note.md',
    "as an error": NAMED + 'cat "/vault/$n" >&2; false',
}


@pytest.mark.parametrize("command", SPELLINGS.values(), ids=SPELLINGS)
async def test_a_turn_whose_agent_passes_a_decoy_on_ends_and_the_next_message_works(
    command: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    decoys = noted_decoys(monkeypatch)
    requests = noted_requests(monkeypatch)
    async with a_house() as house:
        turn = await house.send(prompt(bash(command, text="I look."), step("UNREACHED")))
        assert turn.end["type"] == "error", turn.end
        assert turn.end["code"] == "honeytoken"
        assert ".env" in turn.end["error"]
        assert not turn.end["canRetry"]
        assert [each["type"] for each in turn.events].count("error") == 1
        assert turn.end["partialResponse"] == "I look."

        assert len(house.audited("incident")) == 1
        (incident,) = house.audited("incident", turn.session_id, turn.started.turn_id)
        assert incident["path"] == ".env"
        assert verify(house.parts.settings.data_dir / "audit.jsonl") is None
        assert "a honeytoken showed up" in caplog.text

        again = await house.send(
            prompt(bash("cat /vault/notes/today.md"), step("Fine.")), session_id=turn.session_id
        )
        assert again.end["type"] == "done", again.end
        assert "oat milk" in again.results()[-1]
        await appears_nowhere(house, decoys, json.dumps(requests) + caplog.text)


async def test_control_with_nobody_looking_the_decoy_reaches_the_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decoys = noted_decoys(monkeypatch)
    monkeypatch.setattr(Honeytokens, "find", lambda _self, _text: None)
    async with a_house() as house:
        turn = await house.send(prompt(bash(SPELLINGS["printed"]), step("ok")))
        assert turn.end["type"] == "done"
        (token,) = TOKEN.findall(decoys[".env"])[:1]
        assert token.decode() in turn.results()[0]
        with pytest.raises(AssertionError, match="events"):
            await appears_nowhere(house, decoys, "")


async def test_a_denied_folder_trips_by_what_stands_in_it() -> None:
    def fill(vault: Path) -> None:
        (vault / ".ssh").mkdir()
        (vault / ".ssh" / "id_ed25519").write_text("CANARY-of-the-key\n")

    async with a_house(fill=fill) as house:
        turn = await house.send(
            prompt(bash("d=$(ls -A /vault | awk /ss/); cat /vault/$d/*"), step("ok"))
        )
        assert turn.end["code"] == "honeytoken"
        assert ".ssh" in turn.end["error"]
        assert "CANARY" not in json.dumps(turn.events)


async def test_at_vault_the_masks_hold_them_too_also_for_a_call_that_a_person_granted() -> None:
    async with a_house() as house:
        passed_on = prompt(bash('cat "$(ls -A | awk /nv/)"'), step("ok"))
        turn = await house.send(passed_on, TrustLevel.VAULT, until=is_a("permission_request"))
        if turn.of("isolation")[0]["cage"] != "bubblewrap":
            pytest.skip("this machine has no cage for vault sessions")
        await house.parts.approvals.answer(turn.end["id"], "granted")
        await turn.go_on()
        assert turn.end["code"] == "honeytoken", turn.end
        assert ".env" in turn.end["error"]
        assert [each["path"] for each in house.audited("incident")] == [".env"]
        assert turn.results() == []


BROAD = (
    "grep -rn 'oat\\|decoy\\|list' /vault; grep -rc . /vault; rg -uu . /vault || true;"
    " find /vault -type f -exec wc -c {} +; ls -laR /vault; du -a /vault;"
    " find /vault -type f -exec md5sum {} +; cp -r /vault /tmp/v; diff -r /vault /tmp/v;"
    " file /vault/.* || true; tar -C /vault -cf /tmp/v.tar . ; cat /vault/*/*.md; echo searched"
)


QUESTION = {
    "question": "Which?",
    "header": "Which",
    "options": [{"label": each, "description": each} for each in "AB"],
    "multiSelect": False,
}
WRITES = calls(("Write", {"file_path": "/tmp/x", "content": "x"}))
ASKS = calls(("AskUserQuestion", {"questions": [QUESTION]}))


async def _denied(house: House, asked: Told, token: str) -> None:
    await house.parts.approvals.answer(asked["id"], "denied", message=f"use {token}")


async def _granted(house: House, asked: Told, token: str) -> None:
    yes = Yes(given_by="ada", scope=GrantScope.SESSION, pattern=token)
    await house.parts.granting.grant(asked["id"], yes)


async def _answered(house: House, asked: Told, token: str) -> None:
    await house.parts.questions.answer(asked["requestId"], {"Which?": {"other": f"it's {token}"}})


async def _declined(house: House, asked: Told, token: str) -> None:
    await house.parts.questions.decline(asked["requestId"], f"ask {token}")


@pytest.mark.parametrize(
    ("call", "kind", "says", "where"),
    [
        (WRITES, "permission_request", _denied, "a person's answer"),
        (WRITES, "permission_request", _granted, "a grant"),
        (ASKS, "user_question", _answered, "a person's answer"),
        (ASKS, "user_question", _declined, "a person's answer"),
    ],
    ids=["a reason to deny", "a grant's pattern", "an answer", "a reason not to answer"],
)
async def test_what_a_person_was_led_to_say_is_refused_and_ends_the_turn(
    call: dict[str, Any],
    kind: str,
    says: Callable[[House, Told, str], Awaitable[None]],
    where: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decoys = noted_decoys(monkeypatch)
    requests = noted_requests(monkeypatch)
    async with a_house() as house:
        turn = await house.send(prompt(call, step("UNREACHED")), until=is_a(kind))
        (token,) = TOKEN.findall(decoys[".env"])[:1]
        with pytest.raises(InvalidRequest) as refused:
            await says(house, turn.end, token.decode())
        assert token.decode() not in str(refused.value)
        await turn.go_on()
        assert turn.end["code"] == "honeytoken", turn.end
        assert where in turn.end["error"]
        assert await house.parts.grants.list() == []
        assert [each["path"] for each in house.audited("incident")] == [".env"]
        assert [each["verdict"] for each in house.audited("decision")] == ["deny"]
        await appears_nowhere(house, decoys, json.dumps(requests))


@pytest.mark.parametrize(
    ("call", "kind", "says"),
    [(WRITES, "permission_request", _denied), (ASKS, "user_question", _answered)],
)
async def test_control_other_words_are_passed_on_and_the_turn_goes_on(
    call: dict[str, Any], kind: str, says: Callable[[House, Told, str], Awaitable[None]]
) -> None:
    async with a_house() as house:
        turn = await house.send(prompt(call, step("Fine.")), until=is_a(kind))
        await says(house, turn.end, "something else")
        await turn.go_on()
        assert turn.end["type"] == "done", turn.end
        assert any("something else" in each for each in turn.results())


async def test_a_broad_search_trips_over_no_decoy(monkeypatch: pytest.MonkeyPatch) -> None:
    decoys = noted_decoys(monkeypatch)

    def fill(vault: Path) -> None:
        for name in (".npmrc", "server.pem", "credentials.json"):
            (vault / name).write_text("CANARY\n")

    async with a_house(fill=fill) as house:
        turn = await house.send(prompt(bash(BROAD), step("ok")))
        assert turn.end["type"] == "done", turn.end
        assert "searched" in turn.results()[0]
        assert "Buy oat milk" in turn.results()[0]
        assert "/vault/server.pem" in turn.results()[0]  # its name is no secret
        assert sum(content != b"" for content in decoys.values()) == 4
        assert not house.audited("incident")


async def test_a_decoy_in_a_request_to_the_model_never_gets_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The gateway by itself: what the agent's program says is looked at by nobody here."""
    monkeypatch.setattr(Scanner, "feed", lambda _self, _data: None)
    decoys = noted_decoys(monkeypatch)
    requests = noted_requests(monkeypatch)
    async with a_house() as house:
        turn = await house.send(prompt(bash(SPELLINGS["in base64"]), step("ok")))
        assert turn.end["code"] == "honeytoken", turn.end
        assert house.audited("incident")[0]["where"] == "a request to the model"
        tokens = tokens_of(decoys)
        assert tokens
        assert requests
        known = json.dumps(requests)
        assert not any(token.decode() in known for token in tokens)
        assert "tool_result" not in known


async def test_each_message_has_decoys_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    decoys = noted_decoys(monkeypatch)
    async with a_house() as house:
        first = await house.send(prompt(step("ok")))
        token = decoys[".env"]
        await house.send(prompt(step("ok")), session_id=first.session_id)
        assert decoys[".env"] != token


async def test_a_message_of_the_persons_that_quotes_an_old_decoy_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    decoys = noted_decoys(monkeypatch)
    async with a_house() as house:
        turn = await house.send(prompt(step("ok")))
        (old,) = TOKEN.findall(decoys[".env"])[:1]
        again = await house.send(
            prompt(step("ok"), words=f"what is {old.decode()}?"), session_id=turn.session_id
        )
        assert again.end["type"] == "done"
