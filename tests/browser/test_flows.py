"""What a person does at the console, in a real browser before a real supervisor and containers."""

import asyncio
import re
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
import pytest_asyncio
from playwright.async_api import Locator, expect
from playwright.async_api import TimeoutError as PlaywrightTimeout

from tests.worlds.browser import Tab, Visitor, a_visitor
from tests.worlds.grants import WARY
from tests.worlds.house import bash, calls, prompt, step
from tests.worlds.policy_world import SHIPPED
from tests.worlds.process_house import ProcessHouse
from tests.worlds.server import environment

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]


OWN_RULE = """version: 1
deny:
  - id: no-notes-today
    reason: these notes are being moved; try again tomorrow
    paths: [secret-notes]
    examples: {deny: [secret-notes/diary.md], allow: [notes/today.md]}
"""


@pytest.fixture(scope="module")
def policies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped policy in a folder that a test may change."""
    folder = tmp_path_factory.mktemp("policies")
    shutil.copy(SHIPPED / "default.yaml", folder)
    (folder / "wary.yaml").write_text(WARY)
    return folder


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def visitor(policies: Path) -> AsyncIterator[Visitor]:
    """A browser and a supervisor for all tests of this file."""
    async with a_visitor(policies=str(policies)) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def tab(visitor: Visitor) -> AsyncIterator[Tab]:
    """A window of the test's own, signed in."""
    async with visitor.tab() as made:
        yield made


async def begin(tab: Tab, message: str, trust: str = "sandboxed", workspace: str = "") -> None:
    """Begin a session as a person would: by the form."""
    page = tab.page
    await page.get_by_role("link", name="New session").click()
    await tab.arrived("New session")
    await page.get_by_role("textbox", name="Message").fill(message)
    await page.get_by_role("radio", name=re.compile(f"^{trust}")).check()
    if workspace:
        await page.get_by_label("Workspace").select_option(workspace)
    await page.get_by_role("button", name="Begin").click()
    await expect(page).to_have_url(re.compile("#/session/"))


async def test_a_first_login_by_a_code_from_the_terminal(visitor: Visitor) -> None:
    house = visitor.house
    said = await terminal(house, "login")
    address = re.search(r"^open +(\S+)$", said, re.MULTILINE)
    code = re.search(r"^code +(\S+)$", said, re.MULTILINE)
    assert address is not None
    assert code is not None
    async with visitor.tab(signed_in=False) as tab:
        page = tab.page
        tab.expected += ("401 (Unauthorized)",)
        await page.goto(address[1])
        await tab.arrived("Log in")
        await expect(page.get_by_label("Code")).to_be_focused()
        await page.keyboard.type("WRONG-CODE-9999")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("alert")).to_contain_text("trustfloor login")
        await page.get_by_label("Code").fill(code[1].lower())
        await page.keyboard.press("Enter")
        await tab.arrived("Sessions")
        (cookie,) = await page.context.cookies()
        assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
        kept = await page.evaluate("() => [document.cookie, {...localStorage}, location.href]")
        assert (kept[0], [*kept[1]], kept[2]) == ("", ["trustfloor.page"], address[1])
        assert cookie["value"] not in kept[1].values()
        await tab.go("#/access", "Access")
        await expect(page.get_by_text("this one")).to_be_visible()
        await tab.go("#/grants", "Grants")
        await page.reload()
        await tab.arrived("Grants")
        await page.get_by_role("button", name="Log out").click()
        await tab.arrived("Log in")
        await expect(page.get_by_role("navigation", name="Rooms")).to_be_hidden()
        await page.go_back()
        await expect(page.get_by_role("heading", level=1)).to_have_text("Log in")
        assert (await page.request.get(f"{house.url}/api/me")).status == 401
        assert await page.evaluate("() => ({...localStorage})") == {}


async def test_the_key_that_sends_begins_a_session_too_and_but_one(tab: Tab) -> None:
    page = tab.page
    await tab.go("#/new", "New session")
    message = page.get_by_role("textbox", name="Message")
    await message.fill(f"begun by a key {prompt(step('So it is.'))}")
    await message.evaluate(
        """(box) => [1, 2].forEach(() => box.dispatchEvent(
          new KeyboardEvent("keydown", { key: "Enter", ctrlKey: true, cancelable: true })))"""
    )
    await expect(page).to_have_url(re.compile("#/session/"))
    await expect(page.get_by_text("So it is.", exact=True)).to_be_visible()
    await tab.go("#/sessions", "Sessions")
    await expect(page.get_by_role("link", name="begun by a key")).to_have_count(1)


async def test_how_long_a_token_lasts_that_is_made_here_is_told_as_it_is(visitor: Visitor) -> None:
    async with visitor.tab() as tab:
        page = tab.page
        await tab.go("#/access", "Access")
        await page.get_by_text("New token").click()
        await page.get_by_label("Name").fill("tablet")
        await page.get_by_label("approve").check()
        await page.get_by_role("button", name="Make it").click()
        row = page.get_by_role("row", name="tablet")
        await expect(row).to_contain_text("counts ends in 12 hours")
        await expect(page.get_by_text("It ends in 12 hours, or with this login.")).to_be_visible()
        await page.get_by_role("button", name="Log out").click()
        await tab.arrived("Log in")
    ended = await terminal(visitor.house, "tokens", "list", "--ended")
    assert "revoked" in ended.partition("tablet")[2].splitlines()[1]


async def test_a_login_that_is_ended_elsewhere_ends_here(visitor: Visitor) -> None:
    async with visitor.tab() as tab, visitor.tab() as other:
        await tab.arrived("Sessions")
        asking = "async (h) => (await (await fetch('/api/me', {headers: h})).json()).id"
        secret = await tab.page.evaluate("() => localStorage.getItem('trustfloor.page')")
        mine = await tab.page.evaluate(asking, {"X-CSRF-Token": secret})
        tab.expected += ("401 (Unauthorized)",)
        await other.go("#/access", "Access")
        await other.page.get_by_role("button", name=f"End login {mine[-8:]}").click()
        await other.page.get_by_role("dialog").get_by_role("button", name="End").click()
        await tab.arrived("Log in")


async def terminal(house: ProcessHouse, *words: str) -> str:
    """What a command says on the supervisor's machine."""
    command = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "supervisor", *words),
        env=environment(house.root, {"TRUSTFLOOR_URL": house.url}),
        stdout=asyncio.subprocess.PIPE,
    )
    said, _ = await command.communicate()
    return said.decode()


async def test_a_sandboxed_chat_shows_its_receipt_its_calls_and_the_answer(tab: Tab) -> None:
    page = tab.page
    await begin(
        tab,
        prompt(
            bash("cat notes/today.md", thinking="where are the notes?"),
            calls(("Read", {"file_path": "/vault/.env"})),
            step("You wanted to buy oat milk."),
        ),
    )
    turn = page.get_by_role("article", name="Turn")
    await expect(turn.get_by_text("You wanted to buy oat milk.", exact=True)).to_be_visible()
    await expect(turn.get_by_text("done", exact=True)).to_be_visible()
    await turn.get_by_text("measured, accepted").click()
    await expect(turn.get_by_text("noNewPrivileges")).to_be_visible()
    read = turn.locator("[data-tool=Bash]")
    await expect(read.get_by_text("allowed", exact=True)).to_be_visible()
    await read.locator("summary").click()
    await expect(read.locator("[data-result]")).to_have_text("Buy oat milk.")
    await expect(read.locator("[data-decision]")).to_contain_text("allow by ")
    denied = turn.locator("[data-tool=Read]")
    await expect(denied.get_by_text("denied", exact=True)).to_be_visible()
    await expect(denied.locator("[data-reason]")).to_contain_text("deny list")
    await turn.get_by_text("Thinking", exact=True).click()
    await expect(turn.get_by_text("where are the notes?", exact=True)).to_be_visible()


def write(name: str) -> dict[str, object]:
    """A step that writes a file, which asks in a sandbox."""
    return calls(("Write", {"file_path": f"/tmp/plans/{name}", "content": f"about {name}\n"}))


def read(name: str) -> dict[str, object]:
    """A step that reads a file of the vault, which asks at `vault`."""
    return calls(("Read", {"file_path": f"notes/{name}"}))


async def test_a_folder_is_granted_the_grant_is_used_and_then_revoked(tab: Tab) -> None:
    page = tab.page
    for name in ("more.md", "last.md"):
        (tab.house.vault / "notes" / name).write_text(f"what {name} says\n")
    await begin(tab, prompt(read("today.md"), read("more.md"), step("Both are read.")), "vault")
    request = page.get_by_role("group", name="Request: Read")
    await expect(request).to_be_visible()
    await expect(page).to_have_title(re.compile(r"^\(1\) "))
    shown = request.get_by_role("group", name="What would run")
    await expect(shown).to_contain_text('notes/today.md"')
    await expect(request.get_by_text(re.compile(r"\d:\d\d left"))).to_be_visible()
    await request.get_by_role("radio", name="any file in `notes` and below it").check()
    await armed(request, "Allow")
    await expect(page.get_by_text("Both are read.", exact=True)).to_be_visible()
    granted, unasked = await page.locator("[data-tool=Read]").all()
    await expect(granted.get_by_text("granted", exact=True)).to_be_visible()
    await expect(unasked.get_by_text("allowed", exact=True)).to_be_visible()
    await unasked.locator("summary").click()
    await expect(unasked.locator("[data-result]")).to_contain_text("what more.md says")
    await expect(page).not_to_have_title(re.compile(r"^\("))
    session = page.url
    await page.get_by_role("link", name="Its grants").click()
    await tab.arrived("Grants")
    await page.get_by_role("button", name=re.compile("^Revoke notes")).click()
    await expect(page.get_by_text("No grants count.")).to_be_visible()
    await page.goto(session)
    await tab.arrived("")
    await page.get_by_role("textbox", name="Message").fill(prompt(read("last.md"), step("Well.")))
    await page.keyboard.press("Control+Enter")
    again = page.get_by_role("group", name="Request: Read")
    await again.get_by_label("Message to the agent").fill("that is enough")
    await armed(again, "Deny")
    await expect(page.get_by_text("Well.", exact=True)).to_be_visible()
    denied = page.locator("[data-tool=Read]").last
    await expect(denied.locator("[data-reason]")).to_contain_text("that is enough")


async def armed(request: Locator, button: str) -> None:
    """Press a button of a card once it takes clicks: at first none does."""
    found = request.get_by_role("button", name=button, exact=True)
    while await found.is_visible():
        with suppress(PlaywrightTimeout):  # it may go while the click is on its way
            await found.click(timeout=2_000)


HASTY = """
new MutationObserver(() => {
  for (const button of document.querySelectorAll('[data-request] .row > button')) {
    if (button.dataset.hit) continue;
    button.dataset.hit = 'yes';
    button.click();
  }
}).observe(document, {subtree: true, childList: true});
"""
"""Presses every button of a card at once when it comes."""


async def test_a_click_that_was_meant_for_something_else_answers_nothing(tab: Tab) -> None:
    page = tab.page
    await page.add_init_script(HASTY)
    await page.reload()
    options = [{"label": word, "description": word} for word in ("yes", "no")]
    asked = {"question": "Well?", "header": "Well", "options": options, "multiSelect": False}
    asking = calls(("AskUserQuestion", {"questions": [asked]}))
    await begin(tab, prompt(read("today.md"), asking, step("Told: {{last_result}}")), "vault")
    request = page.get_by_role("group", name="Request: Read")
    await expect(request.locator("button[data-hit]")).to_have_count(3)
    await armed(request, "Deny")
    await expect(page.locator("[data-tool=Read]").get_by_text("denied", exact=True)).to_be_visible()
    question = page.get_by_role("group", name="Question")
    await expect(question.locator("button[data-hit]")).to_have_count(2)
    await question.get_by_role("radio", name="yes").check()
    await armed(question, "Answer")
    await expect(page.locator("[data-prose]").last).to_contain_text("yes")


async def test_a_question_is_answered_from_the_list_of_all_that_waits(tab: Tab) -> None:
    page = tab.page
    asked = {
        "question": "Which colour?",
        "header": "Colour",
        "options": [
            {"label": "red", "description": "as tomatoes"},
            {"label": "green", "description": "as beans"},
        ],
        "multiSelect": False,
    }
    why = {**asked, "question": "And what for?", "header": "Use", "multiSelect": True}
    await begin(
        tab,
        prompt(
            calls(("AskUserQuestion", {"questions": [asked, why]})), step("Told: {{last_result}}")
        ),
    )
    session = page.url
    await page.get_by_role("link", name=re.compile("waits? for you")).click()
    await tab.arrived("Approvals")
    card = page.get_by_role("group", name="Question")
    await card.get_by_role("radio", name=re.compile("^green")).check()
    await card.get_by_role("checkbox", name=re.compile("^red")).check()
    await card.get_by_label("Own words: And what for?").fill("the fence")
    await armed(card, "Answer")
    await expect(page.get_by_text("Nothing waits for you.")).to_be_visible()
    await page.goto(session)
    told = page.locator("[data-prose]").last
    await expect(told).to_contain_text("green")
    await expect(told).to_contain_text("the fence")


async def test_a_turn_is_stopped_and_tells_what_it_had_said(tab: Tab) -> None:
    page = tab.page
    await begin(tab, prompt(step("I begin to think about it at length.", stall_s=600)))
    await expect(page.get_by_text("Working…")).to_be_visible()
    await expect(page.locator("[data-prose]").last).to_contain_text("I ")
    await page.get_by_role("button", name="Stop the turn").click()
    await expect(page.get_by_text("stopped in the console")).to_be_visible()
    await expect(page.get_by_text("Working…")).to_be_hidden()
    await expect(page.get_by_role("button", name="Stop the turn")).to_be_hidden()


async def test_a_raised_floor_stops_a_looser_turn_and_says_so_in_the_next(
    tab: Tab, visitor: Visitor
) -> None:
    page = tab.page
    await tab.go("#/workspaces", "Workspaces")
    await page.get_by_text("New workspace").click()
    form = page.locator("details[open]")
    await form.get_by_label("Slug").fill("family")
    await form.get_by_label("Name").fill("Family")
    await form.get_by_label("Folder").fill("notes")
    await form.get_by_label("Floor").select_option("full")
    await form.get_by_role("button", name="Make it").click()
    card = page.locator("[data-workspace=family]")
    await expect(card.get_by_text("full", exact=True)).to_be_visible()
    await tab.go("#/sessions", "Sessions")
    await begin(tab, prompt(step("I am at it.", stall_s=600)), "full", "family")
    await expect(page.locator("[data-prose]").last).to_contain_text("I ")
    session = page.url
    async with visitor.tab() as other:
        await other.go("#/workspaces", "Workspaces")
        card = other.page.locator("[data-workspace=family]")
        await card.get_by_text("Change").click()
        await card.get_by_label("Floor").select_option("sandboxed")
        await card.get_by_role("button", name="Save").click()
        await expect(card.locator("dd").get_by_text("sandboxed", exact=True)).to_be_visible()
    await expect(page.locator("footer").get_by_text("stopped", exact=True)).to_be_visible()
    assert page.url == session
    trust = page.get_by_role("region", name="Trust")
    await expect(trust.locator("[data-floors]")).to_contain_text("sandboxed workspace family")
    await trust.get_by_text("Change the level").click()
    await trust.get_by_label("Level").select_option("vault")
    await trust.get_by_role("button", name="Change", exact=True).click()
    await expect(trust.get_by_role("alert")).to_contain_text("looser than a floor")
    tab.expected += ("409 (Conflict)",)
    await page.get_by_role("textbox", name="Message").fill(prompt(step("Now strictly.")))
    await page.get_by_role("button", name="Send").click()
    await expect(page.get_by_text("Now strictly.", exact=True)).to_be_visible()
    await expect(page.get_by_text("Asked for full, runs at sandboxed")).to_be_visible()


async def test_a_policy_file_is_broken_and_mended_while_it_runs(tab: Tab, policies: Path) -> None:
    page = tab.page
    await tab.go("#/policy", "Policy")
    await expect(page.get_by_text("the files are in force")).to_be_visible()
    own = policies / "own.yaml"
    own.write_text(OWN_RULE.replace("reason", "reson"))
    fault = page.locator("[data-fault]")
    await expect(fault).to_contain_text("own.yaml:")
    await expect(fault).to_contain_text("reson")
    await tab.go("#/health", "Health")
    await expect(page.locator("[data-fault]")).to_contain_text("own.yaml:")
    await tab.go("#/policy", "Policy")
    own.write_text(OWN_RULE)
    await expect(fault).to_be_hidden()
    await page.get_by_label("Filter").fill("no-notes-today")
    await expect(page.get_by_text("1 of ")).to_be_visible()
    await page.get_by_label("Tool", exact=True).select_option("Read")
    await page.get_by_label("File", exact=True).fill("secret-notes/diary.md")
    await page.get_by_role("button", name="Explain").click()
    told = page.locator("[data-explanation]")
    await expect(told).to_contain_text("deny")
    await expect(told).to_contain_text("no-notes-today")


async def test_an_mcp_server_is_replaced_only_after_a_yes(visitor: Visitor, tab: Tab) -> None:
    page = tab.page
    tab.expected += ("412 (Precondition Failed)",)
    await tab.go("#/mcp", "MCP servers")
    await page.get_by_text("Add a server").click()
    card = page.locator("[data-server=mine]")
    for command, answer, kept in (
        ("first", None, "first"),
        ("second", "Cancel", "first"),
        ("second", "Replace", "second"),
    ):
        await page.get_by_label("Name").fill("mine")
        await page.get_by_label("Program or address").fill(command)
        await page.get_by_role("button", name="Add", exact=True).click()
        if answer is not None:
            await page.get_by_role("dialog").get_by_role("button", name=answer).click()
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await expect(card).to_contain_text(kept)
