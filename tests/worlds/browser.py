"""A world with a real browser before a real supervisor: Chromium, headless, that hears everything.

Whatever the page complains of (a blocked script, an error, a failed request) fails the test that
it happened in, whatever else the test looks at.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import (
    Browser,
    Page,
    StorageState,
    ViewportSize,
    async_playwright,
    expect,
)
from playwright.async_api import Error as PlaywrightError

from tests.worlds.process_house import ProcessHouse, a_process_house
from tests.worlds.waiting import A_WHILE

CHROMIUM = Path(shutil.which("chromium") or "/usr/bin/chromium")
WAIT_MS = 60_000
"""The bound of every wait on the page; nothing is concluded from its length."""
PHONE: ViewportSize = {"width": 360, "height": 740}
DESK: ViewportSize = {"width": 1280, "height": 900}

_LISTEN = """
document.addEventListener("securitypolicyviolation", (event) =>
  console.error(`CSP: ${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
window.addEventListener("unhandledrejection", (event) =>
  console.error(`unhandled: ${event.reason?.stack ?? event.reason}`));
"""
_OF_THE_MACHINE = "net::ERR_NETWORK_CHANGED"
"""A browser breaks off what is on its way whenever a network comes or goes; other tests' do."""
_RULES = {
    "runOnly": {
        "type": "tag",
        "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
    }
}

expect.set_options(timeout=WAIT_MS)


@dataclass
class Tab:
    """A page, and all that it complained of."""

    page: Page
    house: ProcessHouse
    complaints: list[str] = field(default_factory=list)
    expected: tuple[str, ...] = ()
    """Parts of complaints that the test brings about itself."""

    def __post_init__(self) -> None:
        self.page.on("console", lambda said: self._console(said.type, said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))

    def _console(self, kind: str, text: str) -> None:
        if kind in {"error", "warning"} and _OF_THE_MACHINE not in text:
            self.complaints.append(text)

    async def visit(self, url: str) -> None:
        """Load the page at an address; again, if the machine's networks change meanwhile."""
        while True:
            try:
                await self.page.goto(url)
            except PlaywrightError as error:
                if _OF_THE_MACHINE not in str(error):
                    raise
            else:
                return

    async def go(self, route: str, heading: str) -> None:
        """Go to a view, and wait until it is there."""
        await self.page.evaluate("route => { location.hash = route }", route)
        await self.arrived(heading)

    async def arrived(self, heading: str) -> None:
        """Wait until a view with this heading is shown and done loading."""
        await expect(self.page.get_by_role("heading", name=heading, level=1)).to_be_visible()
        await expect(self.page.locator("main")).not_to_have_attribute("aria-busy", "true")

    async def files(self) -> str:
        """Where the page's files are: an address that their names are put behind."""
        main = await self.page.locator("script[src]").first.get_attribute("src")
        assert main is not None
        return main.removesuffix("main.js")

    async def accessible(self, what: str, *rules: str) -> list[str]:
        """What axe finds wrong with what is shown (by these rules alone, if any are named)."""
        options: dict[str, Any] = (
            {"runOnly": {"type": "rule", "values": rules}} if rules else _RULES
        )
        options = {**options, "resultTypes": ["violations"]}
        found = await Axe().run(self.page, options=options)
        return [
            f"{what}: {each['id']} {node['target']} {node.get('failureSummary', '')}"
            for each in found.response["violations"]
            for node in each["nodes"]
        ]

    def nothing_to_complain(self) -> None:
        """Fail with what the page complained of."""
        left = [each for each in self.complaints if not any(part in each for part in self.expected)]
        self.complaints.clear()
        assert left == []


@dataclass
class Visitor:
    """A browser, and the supervisor whose console it visits."""

    house: ProcessHouse
    browser: Browser

    @asynccontextmanager
    async def tab(
        self,
        *,
        signed_in: bool = True,
        token: str | None = None,
        url: str | None = None,
        **context: Any,
    ) -> AsyncIterator[Tab]:
        """A window and a profile of its own; logged in by a code of a token's, or the owner's.

        It goes to the supervisor itself, or to the `url` of what stands before it.
        """
        url = url or self.house.url
        state = await self._signed_in(url, token or self.house.token) if signed_in else None
        made = await self.browser.new_context(
            **{"viewport": DESK, "storage_state": state, **context}
        )
        try:
            await made.add_init_script(_LISTEN)
            tab = Tab(await made.new_page(), self.house)
            await tab.visit(f"{url}/")
            if context.get("java_script_enabled", True):
                await expect(tab.page.locator(".starting")).to_have_count(0)
            yield tab
            tab.nothing_to_complain()
        finally:
            await made.close()

    async def _signed_in(self, origin: str, token: str) -> StorageState:
        """What a browser holds once its page has logged in by a code."""
        url = f"{origin}/api"
        holder = {"Authorization": f"Bearer {token}"}
        context = await self.browser.new_context()
        try:
            made = await context.request.post(f"{url}/logins/codes", data={}, headers=holder)
            assert made.ok, await made.text()
            code = (await made.json())["code"]
            answer = await context.request.post(f"{url}/login", data={"code": code})
            assert answer.ok, await answer.text()
            state = await context.storage_state()
            kept: Any = {"name": "trustfloor.page", "value": (await answer.json())["csrfToken"]}
            return {**state, "origins": [{"origin": origin, "localStorage": [kept]}]}
        finally:
            await context.close()


@asynccontextmanager
async def a_visitor(scenario: str | None = None, **settings: str) -> AsyncIterator[Visitor]:
    """A supervisor in a process of its own with a small vault, and a browser; both end."""
    async with a_process_house() as house, async_playwright() as driver:
        if scenario is not None:
            (house.root / "scenario.yaml").write_text(scenario)
        await house.start(**settings)
        browser = await driver.chromium.launch(
            executable_path=CHROMIUM,
            # Tests run as root, where Chromium's own sandbox can't be had.
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
        )
        try:
            yield Visitor(house, browser)
        finally:
            await browser.close()
            async with asyncio.timeout(A_WHILE):
                await house.end()
