"""A real Chromium, and a real service for it to look at."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import numpy as np
import pytest

import headgate as hg
from headgate.service.settings import Settings
from tests.service.harness import running

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Dialog, Page, Request, ViewportSize

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
DESKTOP: ViewportSize = {"width": 1360, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}


@dataclass
class Watched:
    """A page, and everything about it that should not have happened."""

    page: Page
    base: str
    foreign: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def watch(self) -> None:
        """Write down requests to other hosts, complaints of the browser, errors, and dialogs."""

        def requested(request: Request) -> None:
            if not request.url.startswith((f"{self.base}/", "data:")):
                self.foreign.append(request.url)

        def complained(message: ConsoleMessage) -> None:
            if message.type in {"error", "warning"}:
                self.wrong.append(message.text)

        def asked(dialog: Dialog) -> None:
            self.wrong.append(f"a dialog: {dialog.message}")
            dialog.dismiss()

        self.page.on("request", requested)
        self.page.on("console", complained)
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", asked)

    def open(self, path: str) -> None:
        """Go there and wait until it shows its data."""
        self.page.goto(self.base + path)
        self.page.wait_for_selector("html[data-shown]", state="attached")

    def shown_again(self) -> None:
        """Wait until it has updated itself."""
        root = self.page.locator("html")
        before = int(root.get_attribute("data-shown") or 0)
        self.page.wait_for_selector(f'html:not([data-shown="{before}"])', state="attached")

    def curve(self, arm: str) -> list[float]:
        """Read what is drawn for an arm: the response curve itself, the last trace of its tile."""
        tile = self.page.locator(".tile", has=self.page.locator("h3 span", has_text=re.compile(f"^{re.escape(arm)}$")))
        found: list[float] = tile.locator(".plot").evaluate("plot => Array.from(plot.data.at(-1).y)")
        return found

    def fits(self) -> bool:
        """Whether the page is no wider than the screen."""
        widths = self.page.locator("html").evaluate("root => [root.scrollWidth, document.body.scrollWidth, innerWidth]")
        return bool(max(widths[0], widths[1]) <= widths[2])

    def keep(self, name: str) -> None:
        """Keep a screenshot."""
        folder = Path(os.environ.get("HEADGATE_ARTEFACTS", "artefacts"))
        folder.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=folder / f"{name}.png", full_page=True)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    place = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if place is None:
        pytest.skip("no Chromium here: make browser installs it")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=place, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[httpx.Client]:
    with running(Settings(database=f"sqlite:///{tmp_path / 'headgate.db'}", keys=False)) as client:
        yield client


Look = Callable[..., Watched]


@pytest.fixture
def look(chromium: Browser, service: httpx.Client) -> Iterator[Look]:
    """Open pages; at the end nothing may have gone wrong in any, and nothing come from elsewhere."""
    opened: list[Watched] = []

    def open_page(phone: bool = False, dark: bool = False) -> Watched:
        context = chromium.new_context(
            viewport=PHONE if phone else DESKTOP, is_mobile=phone, color_scheme="dark" if dark else "light"
        )
        watched = Watched(context.new_page(), str(service.base_url).rstrip("/"))
        watched.watch()
        opened.append(watched)
        return watched

    yield open_page
    for watched in opened:
        watched.page.context.close()
        assert watched.wrong == []
        assert watched.foreign == []


def play(service: httpx.Client, name: str, problem: hg.Problem, budget: float, rounds: int, seed: int) -> None:
    """Feed an allocator a simulated quiz, over HTTP."""
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        made = service.post(f"/v1/allocators/{name}/decisions", json={"budget": budget}).raise_for_status().json()
        x = np.array([made["allocation"][arm] for arm in problem.names])
        feedback = problem.play(x, rng)
        said = {
            arm: {"success": True, "threshold": float(feedback.threshold[i])}
            if feedback.success[i]
            else {"success": False}
            for i, arm in enumerate(problem.names)
            if x[i] > 0.0
        }
        service.post(f"/v1/decisions/{made['decision_id']}/outcome", json={"results": said}).raise_for_status()
