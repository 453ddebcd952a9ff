"""Visits that aren't the usual ones: without scripts, over a slow line, in a flood of text."""

import asyncio
import re
from collections.abc import AsyncIterator, Collection
from contextlib import suppress

import pytest
import pytest_asyncio
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Route, expect

from tests.worlds.browser import DESK, PHONE, Tab, Visitor, a_visitor
from tests.worlds.house import bash, calls, prompt, step

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

IS_AT_ALLOW = "document.activeElement.textContent === 'Allow'"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def visitor() -> AsyncIterator[Visitor]:
    """A browser and a supervisor for all tests of this file."""
    async with a_visitor(approval_seconds="3000") as made:
        yield made


@pytest.mark.parametrize("screen", [DESK, PHONE], ids=["desk", "phone"])
async def test_without_scripts_the_page_says_so_and_what_to_use_instead(
    visitor: Visitor, screen: dict[str, int]
) -> None:
    async with visitor.tab(signed_in=False, java_script_enabled=False, viewport=screen) as tab:
        told = tab.page.locator("noscript p")
        await expect(told).to_contain_text("The console needs JavaScript")
        await expect(told).to_be_in_viewport()
        await expect(tab.page.get_by_text("Starting")).to_be_hidden()


async def test_what_takes_a_while_to_load_says_so(visitor: Visitor) -> None:
    turn = await visitor.house.turn(prompt(step("Hi.")), trustLevel="full")
    go_on = asyncio.Event()

    async def late(route: Route) -> None:
        await go_on.wait()
        await route.continue_()

    async with visitor.tab() as tab:
        await tab.arrived("Sessions")
        await tab.page.route(re.compile(r"/api/agents|/api/events"), late)
        await tab.page.evaluate("location.hash = '#/agents'")
        await tab.page.wait_for_function(
            """() => {
              const view = document.querySelector("main > .view:empty");
              return view && getComputedStyle(view, "::before").content === '"Loading…"';
            }"""
        )
        await tab.page.evaluate(f"location.hash = '#/session/{turn[0]['session_id']}'")
        await expect(tab.page.get_by_text("Loading what was said")).to_be_visible()
        go_on.set()
        await expect(tab.page.locator("[data-said]")).to_be_visible()
        await expect(tab.page.get_by_text("Loading what was said")).to_be_hidden()


@pytest.mark.parametrize("name", ["main.js", "views/all.js", "dom.js"])
async def test_a_page_that_lacks_one_of_its_scripts_is_loaded_anew(
    visitor: Visitor, name: str
) -> None:
    async with visitor.tab() as tab:
        await tab.arrived("Sessions")
        failed = await _breaks_off(tab, f"**/console/*/{name}", times=2)
        await tab.page.reload()
        await tab.page.wait_for_function("() => sessionStorage['trustfloor.tries'] === '2'")
        await tab.arrived("Sessions")
        await tab.page.wait_for_function("() => !('trustfloor.tries' in sessionStorage)")
        assert len(failed) == 2


async def test_a_sheet_that_did_not_come_is_asked_for_again_and_nothing_that_was_written_is_lost(
    visitor: Visitor,
) -> None:
    async with visitor.tab() as tab:
        await tab.arrived("Sessions")
        failed = await _breaks_off(tab, "**/console/*/base.css", times=3)
        away = await _breaks_off(tab, f"{visitor.house.url}/", times=1, methods={"HEAD"})
        await tab.page.reload()
        await tab.go("#/new", "New session")
        message = tab.page.get_by_role("textbox", name="Message")
        await message.fill("what I began to write")
        await tab.page.wait_for_function(
            "() => document.querySelector(`link[data-tries='3']`)?.sheet?.cssRules.length > 0"
        )
        assert (len(failed), len(away)) == (3, 1)
        await expect(message).to_have_value("what I began to write")


async def test_a_sheet_that_never_comes_is_not_asked_for_for_ever(visitor: Visitor) -> None:
    async with visitor.tab() as tab:
        await tab.arrived("Sessions")
        failed = await _breaks_off(tab, "**/console/*/base.css", times=100)
        await tab.page.reload()
        await tab.page.wait_for_selector("link[data-tries='5']", state="attached")
        await tab.page.wait_for_timeout(2_500)
        assert len(failed) == 6
        await tab.arrived("Sessions")  # it is of use all the same


async def test_what_stands_before_a_supervisor_that_is_away_is_not_shown_in_the_pages_place(
    visitor: Visitor,
) -> None:
    async with visitor.tab() as tab:
        await tab.arrived("Sessions")
        await _breaks_off(tab, "**/console/*/main.js", times=1)
        told = []

        async def gateway(route: Route) -> None:
            told.append(route.request.method)
            if route.request.method == "HEAD" and len(told) < 4:
                await route.fulfill(status=502)
            else:
                await route.continue_()

        tab.expected += ("502",)
        await tab.page.reload()
        await tab.page.route(f"{visitor.house.url}/", gateway)
        await tab.arrived("Sessions")
        assert told == ["HEAD"] * 4 + ["GET"]


async def test_a_file_that_never_comes_is_not_asked_for_for_ever(visitor: Visitor) -> None:
    async with visitor.tab() as tab:
        await tab.arrived("Sessions")
        failed = await _breaks_off(tab, "**/console/*/main.js", times=100)
        await tab.page.reload()
        told = tab.page.get_by_text("load the page again")
        await expect(told).to_be_visible()
        asked = len(failed)
        assert asked == 6
        await tab.page.wait_for_timeout(1_500)
        assert len(failed) == asked
        await tab.page.reload()  # by hand: it is tried as often again
        await expect(told).to_be_hidden()
        await expect(told).to_be_visible()
        assert len(failed) == 2 * asked


async def test_while_the_supervisor_is_away_the_page_waits_and_is_not_lost(
    visitor: Visitor,
) -> None:
    async with visitor.tab() as tab:
        await tab.arrived("Sessions")
        await _breaks_off(tab, "**/console/*/main.js", times=1)
        tried = await _breaks_off(tab, f"{visitor.house.url}/", times=2, methods={"HEAD"})
        await tab.page.reload()
        await expect(tab.page.get_by_text("Loading it again")).to_be_visible()
        await tab.arrived("Sessions")
        assert len(tried) == 2


async def test_what_is_read_is_read_again_if_the_connection_breaks(visitor: Visitor) -> None:
    async with visitor.tab() as tab:
        await tab.arrived("Sessions")
        failed = await _breaks_off(tab, "**/api/workspaces*", times=2)
        await tab.go("#/workspaces", "Workspaces")
        await expect(tab.page.get_by_text("default").first).to_be_visible()
        assert len(failed) == 2


async def test_what_comes_for_one_who_has_signed_out_meanwhile_is_shown_to_nobody(
    visitor: Visitor,
) -> None:
    signed_out, came = asyncio.Event(), asyncio.Event()

    async def late(route: Route) -> None:
        await signed_out.wait()
        with suppress(PlaywrightError):  # nobody waits for it any more
            await route.fulfill(json={"permissions": [{"id": "req_1"}, {"id": "req_2"}]})
        came.set()

    async with visitor.tab() as tab:
        await tab.arrived("Sessions")
        await tab.page.route("**/api/permissions", late)
        await tab.page.reload()
        await tab.arrived("Sessions")
        await tab.page.get_by_role("button", name="Log out").click()
        await tab.arrived("Log in")
        signed_out.set()
        await came.wait()
        await tab.page.wait_for_timeout(300)
        await expect(tab.page).to_have_title("Log in · Trustfloor")


async def test_an_address_that_is_cut_in_a_character_leads_nowhere_and_says_so(
    visitor: Visitor,
) -> None:
    async with visitor.tab() as tab:
        for address in ("#/session/%E0%A4", "#/nowhere"):
            await tab.go(address, "That can't be shown")
            await expect(tab.page.get_by_role("alert")).to_contain_text("There is no such page")
            await expect(tab.page.get_by_role("button", name="Try again")).to_be_hidden()
        await tab.go("#/sessions", "Sessions")


async def test_a_turn_can_be_stopped_from_wherever_its_reader_is(visitor: Visitor) -> None:
    flood = "\n".join(str(number) for number in range(2_000))
    async with (
        visitor.house.sent(prompt(bash("sleep 600", text=flood)), trustLevel="full") as stream,
        visitor.tab(viewport=PHONE) as tab,
    ):
        await stream.until(lambda event: event["type"] == "tool_use")
        await tab.go(f"#/session/{stream.session_id}", "")
        stop = tab.page.get_by_role("button", name="Stop the turn")
        for place in (0, 9_000, 1_000_000):
            await tab.page.evaluate("top => window.scrollTo(0, top)", place)
            await expect(stop).to_be_in_viewport(ratio=1)
        await stop.click()
        await expect(tab.page.get_by_text("stopped in the console")).to_be_visible()
        await expect(stop).to_be_hidden()


async def test_requests_for_the_same_tool_have_names_that_tell_them_apart(
    visitor: Visitor,
) -> None:
    house = visitor.house

    def asks(path: str) -> str:
        return prompt(calls(("Write", {"file_path": path, "content": "x"})))

    def is_asked(event: dict[str, object]) -> bool:
        return event["type"] == "permission_request"

    async with (
        house.sent(asks("/tmp/a.md")) as one,
        house.sent(asks("/tmp/a.md")) as same,
        house.sent(asks("/tmp/b.md")) as other,
    ):
        asked = [await stream.until(is_asked) for stream in (one, same, other)]
        async with visitor.tab() as tab:
            await tab.go("#/approvals", "Approvals")
            cards = tab.page.locator("[data-request]")
            await expect(cards).to_have_count(3)
            names = [await card.get_attribute("aria-label") for card in await cards.all()]
            assert len(set(names)) == 3, names
            assert sum("/tmp/a.md" in str(name) for name in names) == 2
            assert await tab.accessible("approvals") == []
        for each in asked:
            await house.post(f"/api/permissions/{each['id']}/deny", {"stop": True})


async def test_a_question_waits_in_its_call_as_well_until_it_is_answered(
    visitor: Visitor,
) -> None:
    asked = {"question": "Which?", "header": "Bed", "multiSelect": False}
    options = [{"label": label, "description": ""} for label in ("Left", "Right")]
    questions = {"questions": [{**asked, "options": options}]}
    message = prompt(calls(("AskUserQuestion", questions)), step("So."))
    async with visitor.house.sent(message) as stream, visitor.tab() as tab:
        await stream.until(lambda event: event["type"] == "user_question")
        await tab.go(f"#/session/{stream.session_id}", "")
        call = tab.page.locator("[data-tool=AskUserQuestion] > summary")
        await expect(call).to_contain_text("waits for you")
        await tab.page.get_by_role("radio", name="Left").check()
        answer = tab.page.get_by_role("button", name="Answer", exact=True)
        while await answer.is_visible():  # for a moment it takes no click
            await answer.click()
            await tab.page.wait_for_timeout(200)
        await expect(call).to_contain_text("allowed")


async def test_an_answered_request_takes_no_more_room_than_its_answer_needs(
    visitor: Visitor,
) -> None:
    house = visitor.house
    message = prompt(calls(("Write", {"file_path": "/tmp/c.md", "content": "x"})), step("So."))
    async with house.sent(message) as stream:
        await stream.until(lambda event: event["type"] == "permission_request")
        async with visitor.tab() as tab:
            await tab.go(f"#/session/{stream.session_id}", "")
            card = tab.page.get_by_role("group", name="Request: Write")
            await expect(card.get_by_text("Why you are asked")).to_be_visible()
            await _deny(tab)
            await expect(card.get_by_text("Denied.")).to_be_visible()
            await expect(card.get_by_role("group", name="What would run")).to_be_visible()
            await expect(card.get_by_text("Why you are asked")).to_be_hidden()


async def test_who_passes_a_field_with_the_tab_key_has_chosen_nothing(visitor: Visitor) -> None:
    house = visitor.house
    message = prompt(bash("git push origin main"), step("So."))
    async with house.sent(message, trustLevel="vault") as stream, visitor.tab() as tab:
        await stream.until(lambda event: event["type"] == "permission_request")
        await tab.go("#/approvals", "Approvals")
        keys = tab.page.keyboard
        await keys.press("j")
        passed = []
        while not await tab.page.evaluate(IS_AT_ALLOW):
            await keys.press("Tab")
            passed.append(await tab.page.evaluate("document.activeElement.ariaLabel"))
        assert "Own pattern" in passed
        assert await tab.page.get_by_role("radio", name="Only this call").is_checked()
        while await tab.page.evaluate(IS_AT_ALLOW):  # for a moment it takes no answer
            await keys.press("Enter")
            await tab.page.wait_for_timeout(200)
        await expect(tab.page.locator("main").get_by_text("Allowed, this once.")).to_be_visible()


async def test_who_stops_a_turn_by_the_keys_is_at_the_next_message_then(visitor: Visitor) -> None:
    message = prompt(bash("sleep 600"))
    async with visitor.house.sent(message, trustLevel="full") as stream, visitor.tab() as tab:
        await stream.until(lambda event: event["type"] == "tool_use")
        await tab.go(f"#/session/{stream.session_id}", "")
        await expect(tab.page.get_by_role("button", name="Stop the turn")).to_be_visible()
        await tab.page.get_by_role("textbox", name="Message", exact=True).focus()
        for key in ("Tab", "Tab"):
            await tab.page.keyboard.press(key)
        await expect(tab.page.get_by_role("button", name="Stop the turn")).to_be_focused()
        await tab.page.keyboard.press("Enter")
        await expect(tab.page.get_by_text("stopped in the console")).to_be_visible()
        await expect(tab.page.get_by_role("textbox", name="Message", exact=True)).to_be_focused()


async def _deny(tab: Tab) -> None:
    """Press it until it counts: for a moment after a request has come it takes no click."""
    button = tab.page.get_by_role("button", name="Deny", exact=True)
    while await button.is_visible():
        await button.click()
        await tab.page.wait_for_timeout(200)


async def _breaks_off(
    tab: Tab, address: str, *, times: int, methods: Collection[str] = ("GET",)
) -> list[str]:
    """Let so many requests for an address break off; the list fills with them as they are made."""
    failed: list[str] = []

    async def first_ones(route: Route) -> None:
        if route.request.method not in methods or len(failed) == times:
            await route.continue_()
            return
        failed.append(route.request.url)
        await route.abort("connectionreset")

    tab.expected += ("net::ERR_CONNECTION_RESET",)
    await tab.page.route(address, first_ones)
    return failed
