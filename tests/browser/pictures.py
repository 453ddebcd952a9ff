"""Makes the pictures of docs/screenshots anew: `python -m tests.browser.pictures`.

A real supervisor, real containers, and a scripted model in the person's place of one; needs the
engine, the runner image and Chromium, as the browser tests do.
"""

import asyncio
import json
import shutil
import tempfile
from pathlib import Path

from playwright.async_api import Page, ViewportSize, expect

from tests.worlds.browser import DESK, PHONE, Tab, a_visitor
from tests.worlds.house import Told, bash, calls, step
from tests.worlds.policy_world import SHIPPED

TALL: ViewportSize = {"width": 1280, "height": 1180}
ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "screenshots"

SCENARIO = """version: 1
scripts:
  - name: harvest
    when: {contains: harvest}
    steps: %s
  - name: site
    when: {contains: site}
    steps: %s
  - name: anything
    when: {always: true}
    steps: [{text: "I only know two things."}]
"""
HARVEST = [
    bash(
        "cat notes/garden.md",
        text="Let me look at your notes.",
        thinking="The garden notes should have it.",
    ),
    calls(("Read", {"file_path": "/vault/.env"})),
    calls(
        (
            "Write",
            {"file_path": "/tmp/harvest.md", "content": "Tomatoes: 14 kg\nCarrots: 6 kg\n"},
        ),
        text="14 kg of tomatoes and 6 kg of carrots. I'd like to write that down.",
    ),
    step("Done."),
]
SITE = [
    calls(
        (
            "Bash",
            {
                "command": "cd projects/site && git push --force origin main",
                "description": "Publish the site",
            },
        )
    ),
    step("Pushed."),
]


def _asks(event: Told) -> bool:
    return bool(event["type"] == "permission_request")


async def _take(page: Page, name: str) -> None:
    await page.screenshot(path=PICTURES / f"{name}.png", animations="disabled")


async def _main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="tf-") as policies:
        shutil.copy(SHIPPED / "default.yaml", policies)
        await _visit(policies)


async def _visit(policies: str) -> None:
    script = SCENARIO % (json.dumps(HARVEST), json.dumps(SITE))
    async with a_visitor(script, approval_seconds="900", policies=policies) as visitor:
        house = visitor.house
        shutil.copytree(ROOT / "sample-vault", house.vault, dirs_exist_ok=True)
        garden = house.sent("How was the harvest last year?")
        site = house.sent("Publish the site.", trustLevel="vault")
        async with garden as first, site as second:
            await first.until(_asks)
            await second.until(_asks)
            for scheme in ("light", "dark"):
                async with visitor.tab(viewport=DESK, color_scheme=scheme) as tab:
                    await _pictures(tab, first.session_id, "" if scheme == "light" else "-dark")
            async with visitor.tab(viewport=PHONE, color_scheme="dark") as tab:
                await tab.go(f"#/session/{first.session_id}", "")
                await expect(tab.page.get_by_role("button", name="Allow")).to_be_visible()
                await _take(tab.page, "phone")


async def _pictures(tab: Tab, session: str, suffix: str) -> None:
    await tab.go(f"#/session/{session}", "")
    await expect(tab.page.get_by_role("button", name="Allow")).to_be_visible()
    await tab.page.set_viewport_size(TALL)
    await tab.page.get_by_role("button", name="Allow").scroll_into_view_if_needed()
    await _take(tab.page, f"session{suffix}")
    await tab.page.set_viewport_size(DESK)
    await tab.go("#/audit", "Audit")
    await tab.page.get_by_role("button", name="Check the whole log").click()
    await expect(tab.page.get_by_text("the log is whole")).to_be_visible()
    if not suffix:
        await _take(tab.page, "audit")
    await tab.go("#/approvals", "Approvals")
    await tab.page.get_by_role("radio", name="git push").last.check()
    await _take(tab.page, f"approvals{suffix}")
    if not suffix:
        await tab.go("#/policy", "Policy")
        await tab.page.get_by_label("Command").fill("cd build && rm -rf out | tee log")
        await tab.page.get_by_role("button", name="Explain").click()
        await expect(tab.page.locator("[data-explanation]")).to_be_visible()
        await _take(tab.page, "policy")


if __name__ == "__main__":
    asyncio.run(_main())
