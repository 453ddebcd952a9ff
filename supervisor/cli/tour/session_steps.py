"""The tour's second chapter: agents, conversations from elsewhere, search, and a restart."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode

from supervisor.cli.tour.claims import Claim, outcome, ran_at, says, shortened
from supervisor.cli.tour.stage import Stage

EXPORT: Final = Path(__file__).resolve().parent / "conversations.json"
"""Two conversations as a person's export has them, of which one is broken."""

_BROKEN: Final = "---\nname: Helper\nnmae: twice\n---\nHelp.\n"
_INDEX_SECONDS: Final = 60.0
_POLL_SECONDS: Final = 0.05


async def keeps_agents_to_their_files(stage: Stage) -> list[Claim]:
    """A file of the vault makes an agent; it can take away, and nothing in it can give."""
    broken = stage.world.vault / "agents" / "helper.md"
    broken.write_text(_BROKEN, encoding="utf-8")
    stage.teller.note("puts a second agent into the vault, with a mistake in its file")
    listed = await stage.client.get("/api/agents")
    broken.unlink()
    names = [each["name"] for each in listed["agents"]]
    fault = (listed["broken"] or [{}])[0]
    told = await stage.play("What did the beds give?", agent="Gardener", trust="full")
    command = told.act("cat")
    why = str((told.first("session").get("trust", {}).get("trace") or ["nothing"])[-1])
    return [
        Claim("the vault's agent is there", names == ["Gardener"], ", ".join(names) or "none"),
        Claim(
            "the broken one is used by nobody, and its mistake is told with its place",
            fault.get("file") == "agents/helper.md" and bool(fault.get("line")),
            shortened(f"{fault.get('file')}:{fault.get('line')}: {fault.get('reason')}"),
        ),
        ran_at(told, "sandboxed", "container"),
        Claim("that is so because its file says so", "Gardener" in why, shortened(why)),
        says("it reads with the tools it has", told.act("garden.md"), "14 kg of tomatoes"),
        Claim("a command, which it has no tool for, doesn't run", command.failed, outcome(command)),
    ]


async def goes_on_from_elsewhere(stage: Stage) -> list[Claim]:
    """An export of another program becomes sessions that go on here, on the terms here."""
    stage.teller.note(f"imports {EXPORT.name}, as another program exports it: 2 conversations")
    found = await stage.client.upload("/api/import", EXPORT.name, EXPORT.read_bytes(), {})
    made = found["imported"]
    session: Mapping[str, Any] = made[0] if made else {}
    broken = found["broken"]
    told = await stage.play("Where did we want to go?", session=str(session.get("id")))
    resumed = told.first("session").get("resumeInfo", {})
    return [
        Claim(
            "the whole one is a session, at the strictest level",
            len(made) == 1 and session.get("trustLevel") == "sandboxed",
            f"{session.get('title')}: {session.get('messages')} messages, "
            f"{session.get('trustLevel')}",
        ),
        Claim(
            "the broken one is left out, and that is told",
            len(broken) == 1,
            shortened("; ".join(f"{each['place']}: {each['reason']}" for each in broken)),
        ),
        Claim(
            "the model is told what was said then, and answers from it",
            resumed.get("contextInjected") is True and "Saint-Malo" in told.answer,
            shortened(f"{resumed.get('messagesInjected')} messages; {told.answer}"),
        ),
    ]


async def finds_words_and_no_secret(stage: Stage) -> list[Claim]:
    """What was said and what the vault's texts say is found; what is denied was never indexed."""
    begun = await stage.client.post("/api/search/index", {})
    contents = await _indexed(stage, begun["number"])
    harvest = await _hits(stage, "tomatoes")
    holiday = await _hits(stage, "Saint-Malo")
    first = harvest[0] if harvest else {}
    places = [str(each.get("path") or each.get("title")) for each in harvest]
    secrets = {
        name: await _hits(stage, f'"{secret}"') for name, secret in stage.world.secrets.items()
    }
    found = [name for name, hits in secrets.items() if hits]
    counted = ", ".join(f"{count} {kind}s" for kind, count in contents.items() if count)
    return [
        Claim(
            "a word is found in notes and sessions, with its place",
            {"document", "session"} <= {each["contentType"] for each in harvest},
            shortened(f"{', '.join(places)}; the first: {first.get('snippet')}"),
        ),
        Claim(
            "also in the conversation that came from elsewhere",
            any(each["contentType"] == "session" for each in holiday),
            shortened(str((holiday or [{}])[0].get("snippet"))),
        ),
        Claim(
            "of no secret of the vault a single word is found",
            bool(contents) and not found,
            f"found: {', '.join(found)}" if found else f"looked for {len(secrets)} in {counted}",
        ),
    ]


async def goes_on_after_a_restart(stage: Stage) -> list[Claim]:
    """The supervisor ends and starts anew: sessions are as they were, and go on."""
    session = stage.told[0].session_id
    path = f"/api/chat/session/{session}"
    before = await stage.client.get(path)
    stage.teller.note("stops the supervisor and starts it again")
    status = await stage.restart()
    after = await stage.client.get(path)
    told = await stage.play("What did I ask you first?", session=session)
    resumed = told.first("session").get("resumeInfo", {})
    return [
        Claim("it stopped in good order", status == 0, f"exit status {status}"),
        Claim(
            "what was said in the session is all there",
            bool(after["messages"]) and after["messages"] == before["messages"],
            f"{len(after['messages'])} messages",
        ),
        Claim(
            "the agent takes the conversation up where it was",
            resumed.get("method") == "sdk_resume" and bool(told.answer),
            f"{resumed.get('method')}, after {resumed.get('previousMessageCount')} messages",
        ),
    ]


async def _indexed(stage: Stage, number: int) -> Mapping[str, int]:
    """How many contents there are of each type, once this pass has ended."""
    async with asyncio.timeout(_INDEX_SECONDS):
        while True:
            index = await stage.client.get("/api/search/index")
            last = index["lastPass"]
            if last is not None and last["number"] >= number:
                contents: Mapping[str, int] = index["contents"]
                return contents
            await asyncio.sleep(_POLL_SECONDS)


async def _hits(stage: Stage, words: str) -> list[dict[str, Any]]:
    answer = await stage.client.get(f"/api/search?{urlencode({'q': words})}")
    hits: list[dict[str, Any]] = answer["hits"]
    return hits
