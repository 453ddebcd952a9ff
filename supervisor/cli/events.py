"""`trustfloor events`: what happened in all sessions lately, and what happens, as it comes."""

import sys
from collections.abc import Mapping
from contextlib import aclosing
from typing import Annotated, Any, Final

import orjson
import typer

from supervisor.cli.answered import DataDir, answered
from supervisor.cli.client import Client
from supervisor.cli.event_lines import event_line
from supervisor.cli.lines import read_on
from supervisor.cli.render import Screen
from supervisor.cli.short_ids import whole_id_if_any
from trustfloor.aio.lasting import AsyncFeed
from trustfloor.wire import at

_PAGE: Final = 500
_GAP: Final = (
    "not all that came behind this number is stored any more, or it is none that was given here"
)


def events(  # noqa: PLR0913 - each is an option of the command
    *,
    session: Annotated[str | None, typer.Option(help="Of this session only.")] = None,
    types: Annotated[
        list[str] | None,
        typer.Option("--type", help="Of this type only; may be repeated. Else milestones."),
    ] = None,
    after: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER",
            min=0,
            help="Those behind this number: each line begins with its own (JSON: `number`).",
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many of those stored.")] = 50,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what happens, until Ctrl-C.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON, a line an event.")] = False,
    data_dir: DataDir = None,
) -> None:
    """Tell what happened in all sessions: the latest milestones, or all of the types you name.

    A line begins with the event's number over all sessions. With --follow it goes on as things
    happen. Without --after it begins with the last that fit into --limit.
    """
    screen = Screen(sys.stdout)

    def told(number: int, event: Mapping[str, Any]) -> None:
        if as_json:
            with read_on():
                sys.stdout.write(orjson.dumps({"number": number, **event}).decode() + "\n")
        else:
            screen.line(f"{number:>6} {event_line(event, with_session=session is None)}")

    async def tell(client: Client) -> None:
        one = await whole_id_if_any(client, session)
        kept, last = await _stored(client, one, types, after, limit)
        for number, event in kept:
            told(number, event)
        if follow:
            path = at("/api/events/stream", type=types or None, session=one)
            async with aclosing(AsyncFeed(client, path, last).events()) as feed:
                async for heard in feed:
                    told(heard.seq, {"type": heard.type, **heard.data})

    answered(tell, data_dir)


async def _stored(
    client: Client, session: str | None, types: list[str] | None, after: int | None, limit: int
) -> tuple[list[tuple[int, Any]], int]:
    """The first events behind `after`, or the last there are, with their numbers.

    And the number of the last read.
    """
    kept: list[tuple[int, Any]] = []
    number, more = after or 0, True
    while more and (after is None or len(kept) < limit):
        size = _PAGE if after is None else min(_PAGE, limit - len(kept))
        query = {"after": number, "limit": size, "type": types or None, "session": session}
        page = await client.get(at("/api/events", **query))
        if page["gap"] and after:
            Screen(sys.stderr).line(_GAP, "yellow")
        kept += zip(page["numbers"], page["events"], strict=True)
        if after is None:
            kept = kept[-limit:]
        number, more = page["next"], page["more"]
    return kept, number
