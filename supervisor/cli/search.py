"""`trustfloor search`: find words in sessions, journals and documents."""

import sys
import time
from typing import Annotated, Any, Final
from urllib.parse import urlencode

import typer

from supervisor.cli.answered import AsJson, DataDir, answered
from supervisor.cli.json_out import write_json
from supervisor.cli.render import Screen

_POLL_SECONDS: Final = 0.2


def search(  # noqa: PLR0913 - each is an option of the command
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORD",
            help='What to look for; "a phrase" in quotes, and begin* for beginnings.',
        ),
    ] = None,
    *,
    content_type: Annotated[
        list[str] | None,
        typer.Option("--type", help="Only session, journal or document; can be given again."),
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option("--tag", help="Only with this tag; can be given again.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many.")] = 10,
    after: Annotated[str | None, typer.Option(help="Those after the page that ended so.")] = None,
    reindex: Annotated[
        bool, typer.Option("--reindex", help="Bring the index up to date first.")
    ] = False,
    as_json: AsJson = False,
    data_dir: DataDir = None,
) -> None:
    """Find what holds all of these words, the best first."""
    if not words and not reindex:
        raise typer.BadParameter("give some words, or --reindex", param_hint="WORD")
    screen = Screen(sys.stdout)
    if reindex:
        done = _reindexed(data_dir)
        if not as_json or not words:
            _tell_pass(screen, done, as_json=as_json)
    if not words:
        return
    wanted = {
        "q": " ".join(words),
        "type": content_type or [],
        "tag": tag or [],
        "limit": limit,
        **({"after": after} if after else {}),
    }
    query = urlencode(wanted, doseq=True, errors="replace")
    found = answered(lambda client: client.get(f"/api/search?{query}"), data_dir)
    if as_json:
        write_json(found)
        return
    for each in found["hits"]:
        _tell(screen, each)
    for note in found["notes"]:
        screen.line(_NOTES.get(note, note), "yellow")
    if found["next"]:
        screen.line(f"more: the same with --after {found['next']}", "dim")
    if not found["hits"] and not found["notes"]:
        screen.line("nothing found", "dim")


def _reindexed(data_dir: Any) -> dict[str, Any]:
    begun = answered(lambda client: client.post("/api/search/index"), data_dir)
    while True:
        state: dict[str, Any] = answered(lambda client: client.get("/api/search/index"), data_dir)
        last: dict[str, Any] | None = state["lastPass"]
        if last is not None and last["number"] >= begun["number"]:
            return state
        time.sleep(_POLL_SECONDS)


def _tell_pass(screen: Screen, state: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        write_json(state)
        return
    last = state["lastPass"]
    kinds = ", ".join(f"{count} {kind}s" for kind, count in sorted(state["contents"].items()))
    screen.line(
        f"indexed: {kinds or 'nothing'} ({last['read']} read, {last['unchanged']} unchanged,"
        f" {last['moved']} moved, {last['removed']} removed, {last['seconds']:.1f} s)",
        "dim",
    )
    if last["error"]:
        screen.line(f"not all of it: {last['error']}", "yellow")


def _tell(screen: Screen, hit: dict[str, Any]) -> None:
    screen.line(f"{hit['rank']}. {hit['title'] or 'no title'}")
    if hit["sessionId"]:
        place = f"session {hit['sessionId']}"
        place += f", message {hit['message']}" if hit["message"] else ""
    else:
        place = hit["path"] + (f":{hit['line']}" if hit["line"] else "")
        place += f"  {hit['heading']}" if hit["heading"] else ""
    screen.line(f"   {place}", "dim")
    screen.line(f"   {hit['snippet']}")


_NOTES: Final = {
    "no_words": "there is no word in this to look for",
    "no_similarity": "the server for embeddings doesn't answer: found by words alone",
    "texts_are_being_judged": "the policy has changed: texts of the vault are looked through anew",
}
