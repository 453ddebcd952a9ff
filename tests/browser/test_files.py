"""Files that a person brings, and words that a session keeps, in a real browser."""

import json
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import FilePayload, expect

from tests.worlds.browser import Tab, Visitor, a_visitor
from tests.worlds.house import prompt, step
from tests.worlds.picture import png

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

MARKUP = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
BIDI = "access\u202e// fdp.exe"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def visitor() -> AsyncIterator[Visitor]:
    """A browser and a supervisor for all tests of this file."""
    async with a_visitor() as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def tab(visitor: Visitor) -> AsyncIterator[Tab]:
    """A window of the test's own, signed in."""
    async with visitor.tab() as made:
        yield made


GIVEN = """([how, name, content]) => {
  const given = new DataTransfer();
  given.items.add(new File([content], name));
  const area = document.querySelector("[data-message]");
  const told = {bubbles: true, cancelable: true};
  area.dispatchEvent(how === "paste"
    ? new ClipboardEvent("paste", {...told, clipboardData: given})
    : new DragEvent("drop", {...told, dataTransfer: given}));
}"""
"""Drops a file on the message, or pastes it."""


async def test_files_go_along_with_a_message_as_far_as_they_may(tab: Tab) -> None:
    page = tab.page
    await page.get_by_role("link", name="New session").click()
    await tab.arrived("New session")
    await page.get_by_role("button", name="Begin").click()
    await expect(page.get_by_role("alert")).to_contain_text("nothing to send")
    choose = page.locator("input[type=file]")
    await choose.set_input_files(
        [
            FilePayload(name="plan.png", mimeType="text/html", buffer=png()),
            FilePayload(
                name="huge.txt", mimeType="text/plain", buffer=b"x" * (5 * 1024 * 1024 + 1)
            ),
            FilePayload(name="tool.bin", mimeType="text/plain", buffer=b"\0\1\2"),
            FilePayload(name="none.txt", mimeType="text/plain", buffer=b""),
        ]
    )
    files = page.get_by_role("list", name="Files that go along").get_by_role("listitem")
    await expect(files).to_have_text([re.compile(r"plan\.png picture [0-9.]+ (bytes|KiB)")])
    refused = page.get_by_role("alert").filter(has_text="isn't taken")
    for why in ("huge.txt isn't taken: it has 5.0 MiB", "tool.bin", "none.txt"):
        await expect(refused).to_contain_text(why)
    await page.evaluate(GIVEN, ["drop", "notes.md", "# notes"])
    await page.evaluate(GIVEN, ["paste", "more.md", "# more"])
    await expect(files).to_have_count(3)
    await expect(refused).to_be_hidden()
    await page.get_by_role("button", name="Remove notes.md").press("Enter")
    await expect(files).to_have_count(2)
    await expect(page.get_by_role("button", name="Remove more.md")).to_be_focused()
    await page.get_by_role("textbox", name="Message").fill(prompt(step("Seen.")))
    await page.get_by_role("radio", name=re.compile("^full")).check()
    await page.get_by_role("button", name="Begin").click()
    await expect(page.get_by_text("Seen.", exact=True)).to_be_visible()
    said = page.locator("[data-said]")
    await expect(said).to_contain_text("plan.png (image/png")
    await expect(said).to_contain_text("more.md (text/plain")
    await expect(page.get_by_text("done", exact=True)).to_be_visible()
    await page.locator("input[type=file]").set_input_files(
        [FilePayload(name="last.txt", mimeType="text/plain", buffer=b"the last")]
    )
    await expect(page.get_by_role("button", name="Remove last.txt")).to_be_visible()
    await page.get_by_role("button", name="Send").click()
    await expect(said.last).to_contain_text("last.txt (text/plain, 8 bytes)")
    await expect(page.get_by_role("button", name="Remove last.txt")).to_be_hidden()


async def test_tags_and_context_folders_are_kept_and_sessions_found_by_a_tag(tab: Tab) -> None:
    page, house = tab.page, tab.house
    tagged, other = [
        (await house.turn(prompt(step("Well.")), trustLevel="full"))[0]["session_id"]
        for _ in range(2)
    ]
    await tab.go(f"#/session/{tagged}", "")
    for label, one, words in (("Tags", "tag", " Plans "), ("Context folders", "folder", "notes")):
        kept = page.get_by_role("region", name=label, exact=True)
        await expect(kept.get_by_text("None")).to_be_visible()
        await kept.locator("summary").click()
        for each in (words, "more"):
            await kept.get_by_role("textbox", name=f"Add a {one}").fill(each)
            await page.keyboard.press("Enter")
            await expect(kept.get_by_role("textbox", name=f"Add a {one}")).to_have_value("")
        await expect(kept.get_by_role("listitem")).to_have_count(2)
        await kept.get_by_role("button", name=f"Remove the {one} more").press("Enter")
        await expect(kept.get_by_role("listitem")).to_have_text([words.strip().lower()])
    folders = page.get_by_role("region", name="Context folders", exact=True)
    tab.expected += ("422 (Unprocessable",)
    await folders.get_by_role("textbox").fill("../elsewhere")
    await page.keyboard.press("Enter")
    await expect(folders.get_by_role("alert")).to_be_visible()
    await expect(folders.get_by_role("listitem")).to_have_text(["notes"])
    stored = await house.get(f"/api/sessions/{tagged}/contexts")
    assert stored["folders"] == ["notes"]
    # What is begun and not sent is there again, for its session alone, and in no store.
    await page.get_by_label("Message", exact=True).fill("a secret draft")
    await page.get_by_role("link", name="plans").click()
    await tab.arrived("Sessions")
    row = page.locator(f"[data-session='{tagged}']")
    await expect(row.locator("[data-tags]")).to_have_text("plans")
    await row.get_by_role("link").click()
    await expect(page.get_by_label("Message", exact=True)).to_have_value("a secret draft")
    stores = "JSON.stringify([{...localStorage}, {...sessionStorage}])"
    assert "a secret draft" not in await page.evaluate(stores)
    await tab.go(f"#/session/{other}", "")
    await expect(page.get_by_label("Message", exact=True)).to_have_value("")
    await tab.go("#/sessions?tag=plans", "Sessions")
    await expect(page.locator(f"[data-session='{other}']")).to_have_count(0)
    await page.get_by_label("Tag").select_option("")
    await expect(page.locator(f"[data-session='{other}']")).to_be_visible()


async def test_captures_are_uploaded_and_seen_as_what_they_are(tab: Tab) -> None:
    page = tab.page
    await tab.go("#/captures", "Captures")
    await expect(page.get_by_text("No captures yet.")).to_be_visible()
    await page.get_by_role("button", name="Upload").click()
    await expect(page.get_by_role("alert")).to_contain_text("No file is chosen")
    script = f"<svg xmlns='http://www.w3.org/2000/svg' onload=\"document.title='owned'\"/>{MARKUP}"
    given = {
        "plan.png": png(),
        "evil.svg": script.encode(),
        "odd.md": BIDI.encode(),
        "raw.bin": b"\0\1",
    }
    await page.locator("input[type=file]").set_input_files(
        [
            FilePayload(name=name, mimeType="text/html", buffer=content)
            for name, content in given.items()
        ]
    )
    await page.get_by_text("Title and note").click()
    await page.get_by_label("Note").fill(f"for May {MARKUP}")
    await page.get_by_role("button", name="Upload").click()
    await expect(page.locator("[data-capture]")).to_have_count(len(given))
    await expect(page.get_by_role("list", name="Files to upload")).to_be_hidden()
    for name in given:
        await page.locator(f"[data-capture='{name}'] summary").click()
    plan, evil, odd, raw = (page.locator(f"[data-capture='{name}']") for name in given)
    await expect(plan.get_by_role("img", name="plan.png")).to_be_visible()
    assert await plan.locator("img").evaluate(
        "node => [node.naturalWidth, node.src.slice(0, 5)]"
    ) == [
        64,
        "blob:",
    ]
    await expect(evil.get_by_role("region", name="Text of evil.svg")).to_have_text(script)
    await expect(odd.get_by_role("button", name="name them")).to_be_visible()
    await expect(raw.get_by_text("neither text nor a picture")).to_be_visible()
    await expect(raw.get_by_text("<img src=x")).to_be_visible()
    async with page.expect_download() as saving:
        await evil.get_by_role("button", name="Save").click()
    saved = await saving.value
    assert saved.suggested_filename == "evil.svg"
    await evil.get_by_role("button", name="Delete").click()
    await page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(evil).to_have_count(0)
    await expect(page.locator("[data-capture]")).to_have_count(len(given) - 1)
    assert await page.locator("main").locator("script, svg[onload], img[onerror]").count() == 0
    assert "owned" not in await page.title()


async def test_an_export_is_imported_and_what_was_left_out_is_told(tab: Tab) -> None:
    page = tab.page
    said = [{"sender": "human", "text": "hi", "created_at": "2025-03-01T10:00:00Z"}]
    talk = {
        "uuid": "0b6f7a52-6a0b-4d0e-9a2d-2a4c5f3e7b11",
        "name": f"Plans {MARKUP}",
        "created_at": "2025-03-01T10:00:00Z",
        "updated_at": "2025-03-01T11:00:00Z",
        "chat_messages": said,
    }
    export = FilePayload(
        name="conversations.json",
        mimeType="application/json",
        buffer=json.dumps([talk, {"uuid": "x", "chat_messages": 7}]).encode(),
    )
    await tab.go("#/imports", "Imports")
    for state in ("1 new", "1 unchanged"):
        await page.locator("input[type=file]").set_input_files([export])
        await page.get_by_role("button", name="Import", exact=True).click()
        outcome = page.locator("[data-outcome]")
        await expect(outcome).to_contain_text(f"1 conversation: {state}. 1 part could not be read.")
        left = outcome.get_by_role("region", name="Left out")
        await expect(left).to_contain_text("conversations.json[1]")
    await outcome.get_by_role("link", name=re.compile("^Plans <img")).click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Plans <img")
    await expect(page.get_by_text("hi", exact=True)).to_be_visible()
