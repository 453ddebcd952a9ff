"""A page whose connection breaks says so, comes back, and shows all that was said, once."""

import asyncio
import re
import shutil
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.worlds.browser import Tab, Visitor, a_visitor
from tests.worlds.grants import WARY
from tests.worlds.house import calls, prompt, step
from tests.worlds.line import Line, a_line
from tests.worlds.policy_world import SHIPPED
from tests.worlds.process_house import is_a

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

TURNS = "() => [...document.querySelectorAll('.turn')].map((each) => each.textContent)"
BREAKS = ("net::ERR_", "Failed to load resource")
"""What a browser says of a connection that breaks: the test breaks it."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def line() -> AsyncIterator[Line]:
    """The line between the browser and the supervisor."""
    async with a_line() as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def visitor(line: Line, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Visitor]:
    """A browser and a supervisor that asks about reading, with a line between the two."""
    policies = tmp_path_factory.mktemp("policies")
    shutil.copy(SHIPPED / "default.yaml", policies)
    (policies / "wary.yaml").write_text(WARY)
    async with a_visitor(allowed_hosts=line.host, policies=str(policies)) as made:
        line.to = lambda: made.house.url
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def tab(visitor: Visitor, line: Line) -> AsyncIterator[Tab]:
    """A window behind the line, with a session that has one turn."""
    line.mend()
    turn = await visitor.house.turn(prompt(step("First.")), trustLevel="vault")
    async with visitor.tab(url=line.url) as made:
        made.expected += BREAKS
        await made.go(f"#/session/{turn[0]['session_id']}", "")
        await expect(made.page.get_by_text("First.", exact=True)).to_be_visible()
        yield made


async def test_a_stream_that_is_cut_in_mid_word_is_taken_up_without_loss_or_double(
    tab: Tab, line: Line
) -> None:
    page, house = tab.page, tab.house
    session = page.url.rsplit("/", 1)[1]
    reads = calls(("Read", {"file_path": "notes/today.md"}), text="Let me look.")
    message = page.get_by_role("textbox", name="Message")
    line.cut_within(b"event: tool_use")  # the session's stream alone tells of calls
    await message.fill(prompt(reads, step("So it is.")))
    await message.press("Control+Enter")
    lost = page.locator("[data-connection]")
    await expect(lost).to_contain_text("The connection is lost")
    await expect(page.get_by_role("status")).to_contain_text("The connection is lost")
    await expect(page.get_by_text("No connection")).to_be_visible()
    await expect(page.get_by_text("Let me look.", exact=True)).to_be_visible()
    async with house.joined(session, after=1) as stream:
        asked = await stream.until(is_a("permission_request"))
        await house.grant(asked)
        await stream.until(is_a("permission_resolved"))
        ended = await stream.until(is_a("done"))
    line.mend()
    await expect(page.get_by_text("So it is.", exact=True)).to_be_visible()
    await expect(lost).to_be_hidden()
    await expect(page.get_by_text("Nothing waits")).to_be_visible()
    await expect(page.locator("[data-tool=Read]").get_by_text("granted")).to_be_visible()
    shown = await page.evaluate(TURNS)
    assert len(shown) == 2
    await expect(page.get_by_text("Let me look.", exact=True)).to_have_count(1)
    (*_, again) = line.heads(f"/api/chat/session/{session}/stream")
    told = re.search(rb"last-event-id: (\d+)", again)
    assert told is not None
    assert 1 < int(told[1]) < ended["seq"]
    await page.reload()
    await expect(page.get_by_text("So it is.", exact=True)).to_be_visible()
    assert await page.evaluate(TURNS) == shown


async def test_what_is_missing_after_a_break_is_said_and_the_rest_is_read_anew(
    tab: Tab, line: Line
) -> None:
    page, house = tab.page, tab.house
    line.cut()
    lost = page.locator("[data-connection]")
    await expect(lost).to_be_visible()
    draft = page.get_by_role("textbox", name="Message")
    await draft.fill("what I was about to say")
    await house.end()
    logs = await asyncio.to_thread(lambda: [*house.data.glob("events.db*")])
    assert logs, "the world is as it should be: the events lie there"
    for each in logs:
        each.unlink()
    await house.start(allowed_hosts=line.host)
    line.mend()
    gap = page.locator("[data-gap]")
    await expect(gap).to_contain_text("Something is missing here")
    await expect(gap).to_contain_text("is unknown here")
    await expect(lost).to_be_hidden()
    await expect(page.get_by_text("First.", exact=True)).to_have_count(1)
    await expect(page.get_by_text("Working…")).to_have_count(0)
    await expect(draft).to_have_value("what I was about to say")
    await draft.fill(prompt(step("And on it goes.")))
    await draft.press("Control+Enter")
    await expect(page.get_by_text("And on it goes.", exact=True)).to_be_visible()
