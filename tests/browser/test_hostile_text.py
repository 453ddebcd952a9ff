"""What a model, a tool or a file says is shown as text, whatever it looks like: S02, markup."""

import json
import re
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.worlds.browser import Tab, Visitor, a_visitor
from tests.worlds.house import calls, prompt, step

pytestmark = [pytest.mark.engine, pytest.mark.asyncio(loop_scope="module")]

EXOTIC = "x\u2028\u2029\u0085\u000b\u000c\u001c\r\n\r\n\rdata: fake\n\nevent: done\ny"
MARKUP = (
    "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    "<a href='javascript:document.title=\"owned\"'>click</a>"
    "&lt;b&gt; **bold** <svg onload=alert(1)>"
)
BIDI = "access\u202e\u2066// fdp.exe\u2069\u200b end"
ALL = f"{EXOTIC}\n{MARKUP}\n{BIDI}"


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def visitor() -> AsyncIterator[Visitor]:
    """A browser and a supervisor for all tests of this file; the vault's names are hostile too."""
    async with a_visitor() as made:
        agents = made.house.vault / "agents"
        agents.mkdir()
        (agents / "evil.md").write_text(
            f"---\nname: evil\ndescription: {json.dumps(MARKUP)}\n---\n{MARKUP}\n"
        )
        (agents / "<b>broken.md").write_text("---\nname: [\n---\n")
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def tab(visitor: Visitor) -> AsyncIterator[Tab]:
    """A window of the test's own, signed in. A dialog that a script opens is a complaint."""
    async with visitor.tab() as made:
        made.page.on("dialog", lambda shown: made.complaints.append(f"dialog: {shown.message}"))
        yield made


async def is_untouched(tab: Tab) -> None:
    """Nothing of what was said has become an element, or run."""
    assert (
        await tab.page.locator("main").locator("img, script, iframe, b, svg[onload]").count() == 0
    )
    assert await tab.page.locator("a[href^='javascript']").count() == 0
    assert await tab.page.title() != "owned"


async def test_what_the_model_and_its_tools_say_stays_text_code_point_for_code_point(
    tab: Tab,
) -> None:
    page, house = tab.page, tab.house
    (house.vault / "notes" / "evil.md").write_text(ALL, newline="")
    turn = await house.turn(
        prompt(
            calls(("Bash", {"command": "cat notes/evil.md", "description": MARKUP}), text=ALL),
            step("That was all."),
        ),
        trustLevel="full",
    )
    told = [event for event in turn if event["type"] == "text" and event.get("content") == ALL]
    assert told, "the world is as it should be: the event has the very text"
    (result,) = [event["content"] for event in turn if event["type"] == "tool_result"]
    session = turn[0]["session_id"]
    for visit in ("at first", "loaded anew"):
        await tab.go(f"#/session/{session}", "")
        prose = page.locator(".turn > div > [data-prose]").first
        await expect(prose).to_be_visible()
        assert await prose.evaluate("node => node.textContent") == ALL, visit
        await page.locator("[data-tool=Bash] > summary").click()
        shown = page.locator("[data-result]")
        await expect(shown).to_be_visible()
        assert await shown.evaluate("node => node.textContent") == result, visit
        await is_untouched(tab)
        await page.reload()
    name = page.get_by_role("button", name=re.compile("name them")).first
    await name.click()
    named = page.locator(".turn > div > [data-prose]").first
    await expect(named).to_contain_text("⟨U+202E⟩⟨U+2066⟩// fdp.exe⟨U+2069⟩⟨U+200B⟩ end")


async def test_no_piece_and_no_line_break_splits_or_forges_a_message(tab: Tab) -> None:
    data = json.dumps({"delta": ALL}, ensure_ascii=False)
    wire = f": hello\r\nid: 7\revent: text\ndata: {data}\n\nevent: done\r\ndata: {{}}\r\n\r\n"
    root = await tab.files()
    heard = await tab.page.evaluate(
        """async ([root, wire]) => {
          const { Parser } = await import(`${root}sse.js`);
          const cuts = [...Array(wire.length + 1).keys()].map((at) => [at]);
          cuts.push([...Array(wire.length).keys()]);
          return cuts.map((at) => {
            const parser = new Parser();
            const pieces = [0, ...at].map((from, nth) => wire.slice(from, at[nth]));
            return JSON.stringify(pieces.flatMap((piece) => parser.feed(piece)));
          });
        }""",
        [root, wire],
    )
    wanted = [{"id": "7", "type": "text", "data": data}, {"id": "7", "type": "done", "data": "{}"}]
    assert [json.loads(each) for each in set(heard)] == [wanted]


async def test_history_out_of_a_transcript_shows_the_same_string(tab: Tab) -> None:
    house = tab.house
    turn = await house.turn(prompt(step(ALL)), trustLevel="full")
    forked = (await house.post(f"/api/chat/session/{turn[0]['session_id']}/fork")).json()
    await tab.go(f"#/session/{forked['id']}", "")
    said = tab.page.locator(".turn > div > [data-prose]").last
    await expect(said).to_be_visible()
    assert await said.evaluate("node => node.textContent") == ALL
    await is_untouched(tab)


async def test_an_approval_names_what_the_eye_can_not_see(tab: Tab) -> None:
    page = tab.page
    async with tab.house.sent(
        prompt(calls(("Write", {"file_path": "/tmp/a\u202efdp.md", "content": ALL})), step("Well."))
    ):
        await tab.go("#/approvals", "Approvals")
        card = page.get_by_role("group", name="Request: Write")
        await expect(card.get_by_text("Careful:")).to_be_visible()
        shown = card.get_by_role("group", name="What would run")
        await expect(shown).to_contain_text("/tmp/a⟨U+202E⟩fdp.md")
        text = str(await shown.evaluate("node => node.textContent"))
        assert not set(text) & set("\u202e\u2066\u2069\u200b\u2028\u0085\r")
        await is_untouched(tab)
        await card.get_by_role("button", name="Deny and stop the turn").is_visible()
    (waits,) = (await tab.house.get("/api/permissions"))["permissions"]
    await tab.house.post(f"/api/permissions/{waits['id']}/deny")


async def test_names_and_titles_are_text_too(tab: Tab) -> None:
    page, house = tab.page, tab.house
    turn = await house.turn(prompt(step("Hi.")), trustLevel="full")
    async with house.client() as client:
        await client.patch(
            f"/api/chat/session/{turn[0]['session_id']}", json={"title": f"{MARKUP}{BIDI}"}
        )
    await tab.go("#/sessions", "Sessions")
    row = page.locator(f"[data-session='{turn[0]['session_id']}']")
    await expect(row).to_contain_text("<img src=x")
    await expect(row).to_contain_text("⟨U+202E⟩")
    await is_untouched(tab)
    await row.locator("a.title").click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("<script>")
    await is_untouched(tab)
    await tab.go("#/agents", "Agents")
    await expect(page.get_by_text("<b>broken.md")).to_be_visible()
    await page.get_by_text("Its prompt").click()
    await expect(page.get_by_role("region", name="Prompt of evil")).to_contain_text("<svg onload")
    await is_untouched(tab)


SEEN = (
    "❤\ufe0f 1\ufe0f⃣ ⚠\ufe0f",
    "👨\u200d👩\u200d👧",
    "\u0645\u06cc\u200c\u062e\u0648",
    "क्\u200dष",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
)
"""Texts in which a character without a shape of its own is part of what is seen."""
UNSEEN = {
    "pay\u200cpal": "pay⟨U+200C⟩pal",
    "a\u200db": "a⟨U+200D⟩b",
    "x\ufe0f": "x⟨U+FE0F⟩",
    "❤\ufe0f\ufe0f": "❤\ufe0f⟨U+FE0F⟩",
    "👨\u200d💀": "👨⟨U+200D⟩💀",
    "\u062f\u200c\u0645": "\u062f⟨U+200C⟩\u0645",
    "🏴\U000e0074\U000e007f": "🏴⟨U+E0074⟩⟨U+E007F⟩",
    "❤\ufe0f\u202e": "❤\ufe0f⟨U+202E⟩",
}
"""Texts in which it isn't, or hides what is said."""


async def test_pictures_and_joined_letters_are_shown_and_what_only_looks_so_is_named(
    tab: Tab,
) -> None:
    root = await tab.files()
    told = await tab.page.evaluate(
        """async ([root, texts]) => {
          const { hides, visible } = await import(`${root}visible.js`);
          return texts.map((text) => [visible(text), hides(text)]);
        }""",
        [root, [*SEEN, *UNSEEN]],
    )
    assert told == [[each, False] for each in SEEN] + [[each, True] for each in UNSEEN.values()]


async def test_a_text_of_a_megabyte_is_looked_through_in_a_moment(tab: Tab) -> None:
    root = await tab.files()
    for text in ("word ⚠\ufe0f ", "\u0645\u06cc\u200c\u062e ", "\u200c\u0301", "क्", "1"):
        seconds = await tab.page.evaluate(
            """async ([root, text]) => {
              const { hides, visible } = await import(`${root}visible.js`);
              const whole = text.repeat(1_000_000 / text.length) + "\u202e";
              const begun = performance.now();
              if (!hides(whole) || !visible(whole).endsWith("⟨U+202E⟩")) return Infinity;
              return (performance.now() - begun) / 1000;
            }""",
            [root, text],
        )
        assert seconds < 20, repr(text)  # it takes well under two
