"""Every view for everyone: axe finds nothing in light and dark, a phone shows all, keys do all."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import ViewportSize, expect

from tests.worlds.browser import PHONE, Visitor, a_visitor
from tests.worlds.house import bash, calls, prompt, step

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

VIEWS = {
    "#/sessions": "Sessions",
    "#/new": "New session",
    "#/approvals": "Approvals",
    "#/search?q=oat": "Search",
    "#/captures": "Captures",
    "#/imports": "Imports",
    "#/workspaces": "Workspaces",
    "#/agents": "Agents",
    "#/mcp": "MCP servers",
    "#/policy": "Policy",
    "#/grants": "Grants",
    "#/containers": "Containers",
    "#/audit": "Audit",
    "#/access": "Access",
    "#/health": "Health",
}
"""Each view that needs nothing but itself: its address and its heading."""

SMALLEST: ViewportSize = {"width": 320, "height": 568}
"""What WCAG 1.4.10 asks for; a window of 1280 pixels at 400 % has this width, too."""

AGENT = """---
name: writer
description: writes things
trust: sandboxed
---
You write.
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def visitor() -> AsyncIterator[Visitor]:
    """A supervisor with something to see in each view, and a request that waits for good."""
    async with a_visitor(approval_seconds="3000") as made:
        house = made.house
        (house.vault / "agents").mkdir()
        (house.vault / "agents" / "writer.md").write_text(AGENT)
        (house.vault / "agents" / "broken.md").write_text("---\nname: 7\n---\n")
        (house.vault / "captures").mkdir()
        (house.vault / "captures" / "a long name without a blank_".ljust(120, "x")).write_text("x")
        (house.vault / ".mcp.json").write_text('{"mcpServers": {"notes": {"command": "true"}}}')
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def session(visitor: Visitor) -> AsyncIterator[str]:
    """The address of a session with all there is to see, and a turn that waits for a person."""
    house = visitor.house
    turn = await house.turn(
        prompt(
            bash("cat notes/today.md", text="Let me see.", thinking="where?"),
            calls(("Read", {"file_path": "/vault/.env"})),
            step("So it is."),
        )
    )
    asking = prompt(calls(("Write", {"file_path": "/tmp/plan.md", "content": "a\nb\n"})))
    async with house.sent(asking, sessionId=turn[0]["session_id"]) as stream:
        await stream.until(lambda event: event["type"] == "permission_request")
        yield f"#/session/{stream.session_id}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_nothing_in_any_view(visitor: Visitor, session: str, scheme: str) -> None:
    found = []
    rules = ("color-contrast",) if scheme == "dark" else ()  # all else is the same in the dark
    async with visitor.tab(color_scheme=scheme, reduced_motion="reduce") as tab:
        for route, heading in {**VIEWS, session: ""}.items():
            await tab.go(route, heading)
            for folded in await tab.page.locator("main details:not([open]) > summary").all():
                if await folded.is_visible():
                    await folded.click()
            found += await tab.accessible(f"{scheme} {route}", *rules)
        await tab.page.keyboard.press("Escape")
        await tab.page.locator("h1").click()
        await tab.page.keyboard.press("?")
        await expect(tab.page.get_by_role("dialog")).to_be_visible()
        found += await tab.accessible(f"{scheme} keys", *rules)
    assert found == []


@pytest.mark.parametrize("screen", [PHONE, SMALLEST], ids=["phone", "smallest"])
async def test_nothing_is_wider_than_a_phone(
    visitor: Visitor, session: str, screen: ViewportSize
) -> None:
    async with visitor.tab(viewport=screen, has_touch=True) as tab:
        wide = {}
        for route, heading in {**VIEWS, session: ""}.items():
            await tab.go(route, heading)
            over = await tab.page.evaluate(
                "() => document.documentElement.scrollWidth - window.innerWidth"
            )
            if over > 0:
                wide[route] = over
        assert wide == {}
        # What would run comes before the buttons that let it: a session opens there.
        await expect(tab.page.get_by_role("group", name="What would run")).to_be_in_viewport()
        await tab.go("#/sessions", "Sessions")
        await expect(tab.page.get_by_text("waits for you", exact=True)).to_be_visible()
        await expect(tab.page.get_by_label("Workspace")).to_be_hidden()
        await tab.page.get_by_text("Filters").click()
        await expect(tab.page.get_by_label("Workspace")).to_be_visible()
        await tab.page.get_by_role("button", name="Menu").click()
        await tab.page.get_by_role("link", name="Workspaces").click()
        await tab.arrived("Workspaces")
        await expect(tab.page.get_by_role("link", name="Workspaces")).to_be_hidden()


async def test_the_keyboard_leads_everywhere_and_the_focus_follows(
    visitor: Visitor, session: str
) -> None:
    async with visitor.tab() as tab:
        page = tab.page
        await tab.arrived("Sessions")
        await page.keyboard.press("Tab")
        await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.locator("main")).to_be_focused()
        await page.keyboard.press("/")
        await expect(page.get_by_role("searchbox", name="Search")).to_be_focused()
        await page.keyboard.type("ga?")
        await expect(page.get_by_role("searchbox", name="Search")).to_have_value("ga?")
        await page.get_by_role("heading", level=1).click()
        await page.keyboard.press("g")
        await page.keyboard.press("a")
        await tab.arrived("Approvals")
        await expect(page.get_by_role("heading", level=1)).to_be_focused()
        await page.keyboard.press("j")
        await expect(page.get_by_role("group", name="Request: Write")).to_be_focused()
        await page.keyboard.press("?")
        keys = page.get_by_role("dialog")
        await keys.get_by_label("Single keys lead somewhere").uncheck()
        await page.keyboard.press("Escape")
        await expect(keys).to_be_hidden()
        await page.keyboard.press("g")
        await page.keyboard.press("s")
        await page.keyboard.press("?")
        await expect(page.get_by_role("heading", level=1)).to_have_text("Approvals")
        await expect(page.get_by_role("dialog")).to_be_hidden()


async def test_what_helps_is_a_room_and_no_route(visitor: Visitor) -> None:
    async with visitor.tab() as tab:
        tab.expected += ("404 (Not Found)",)
        await tab.go("#/session/00000000-0000-4000-8000-000000000000", "That can't be shown")
        told = tab.page.get_by_role("alert")
        await expect(told).to_contain_text("No session has this id")
        await expect(told).not_to_contain_text("/api/")
        await expect(tab.page.get_by_role("button", name="Try again")).to_be_hidden()
        await told.get_by_role("link", name="Sessions").click()
        await tab.arrived("Sessions")


async def test_the_switch_of_colours_is_kept(visitor: Visitor) -> None:
    async with visitor.tab(color_scheme="light") as tab:
        page = tab.page
        paper = "() => getComputedStyle(document.body).backgroundColor"
        light = await page.evaluate(paper)
        switch = page.get_by_role("button", name="Colours")
        await switch.click()
        await switch.click()
        await expect(switch).to_have_accessible_name("Colours: dark. Change")
        dark = await page.evaluate(paper)
        assert dark != light
        await page.reload()
        await tab.arrived("Sessions")
        assert await page.evaluate(paper) == dark


async def test_one_window_hears_for_all_and_another_takes_over_when_it_goes(
    visitor: Visitor, session: str
) -> None:
    async with visitor.tab() as tab:
        context = tab.page.context
        others = [await context.new_page() for _ in range(7)]
        for other in others:
            await other.goto(f"{tab.house.url}/")
            await expect(other).to_have_title("(1) Sessions · Trustfloor")
        await tab.page.close()
        async with tab.house.sent(
            prompt(calls(("Write", {"file_path": "/tmp/x.md", "content": "x"})))
        ) as stream:
            asked = await stream.until(lambda event: event["type"] == "permission_request")
            for other in others:
                await expect(other).to_have_title("(2) Sessions · Trustfloor")
            await tab.house.post(f"/api/permissions/{asked['id']}/deny")
        for other in others:
            await expect(other).to_have_title("(1) Sessions · Trustfloor")


@pytest.mark.parametrize("scope", ["chat", "approve", "admin"])
@pytest.mark.parametrize("limited", [True, False])
async def test_a_token_sees_the_rooms_that_it_may_enter_and_meets_no_refusal_there(
    visitor: Visitor, session: str, scope: str, limited: bool
) -> None:
    said = {"name": f"{scope} {limited}", "scopes": [scope]}
    if limited:
        said["workspaces"] = ["default"]
    made = (await visitor.house.post("/api/tokens", said)).json()
    async with visitor.tab(token=made["token"]) as tab:
        await tab.arrived("Sessions")
        for link in await tab.page.get_by_role("navigation").get_by_role("link").all():
            await link.click()
            await expect(tab.page.locator("main")).not_to_have_attribute("aria-busy", "true")
            await expect(tab.page.get_by_role("alert")).to_have_count(0)
        rooms = await tab.page.get_by_role("navigation").get_by_role("link").all_inner_texts()
        assert ("Audit" in rooms) == (scope == "admin" and not limited)
        assert ("Search" in rooms) == (scope == "chat" and not limited)
        await tab.go(session, "")
        allow, send = (tab.page.get_by_role("button", name=name) for name in ("Allow", "Send"))
        await expect(allow).to_have_count(int(scope == "approve"))
        await expect(send).to_have_count(int(scope == "chat"))
