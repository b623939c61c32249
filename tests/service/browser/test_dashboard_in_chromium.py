"""The dashboard as people see it: it draws, moves by itself, fits a phone, escapes names, survives a lost service."""

from __future__ import annotations

import re
import time
from pathlib import Path

import httpx
import pytest

import headgate as hg
from headgate.service.settings import Settings
from tests.service.browser.conftest import Look, play
from tests.service.harness import running

pytestmark = pytest.mark.browser
SCRIPT = "<script>alert(1)</script>"
BOLD = "<b>q2</b> & 'co'"


HOUR = 3_600_000_000_000


@pytest.fixture
def quiz() -> hg.Problem:
    return hg.Problem(
        hg.Weibull(1.6), activation=[0.8, 0.5, 0.3, 0.6], rate=[0.1, 0.06, 0.2, 0.05], names=[SCRIPT, BOLD, "q3", "q4"],
        units="seconds",
    )  # fmt: skip


def create(service: httpx.Client, name: str, arms: list[str], **more: object) -> None:
    body = {"arms": arms, "law": {"name": "weibull", "shape": 1.6}, "max_budget": 60.0, "units": "seconds", **more}
    service.put(f"/v1/allocators/{name}", json=body).raise_for_status()


def test_a_newcomer_is_told_how_to_begin(service: httpx.Client, look: Look) -> None:
    seen = look()
    seen.open("/")
    assert seen.page.locator("#empty").is_visible()
    assert "put_allocator" in seen.page.locator("#code-python").inner_text()
    assert seen.fits()
    seen.keep("empty")
    create(service, "quiz", ["q1", "q2"])
    seen.page.wait_for_selector(".cards a")  # by itself
    assert not seen.page.locator("#empty").is_visible()
    seen.page.click(".cards a")
    seen.page.wait_for_selector("html[data-shown] #begin:not([hidden])")
    assert '"budget": 60' in seen.page.locator("#code-begin").inner_text()
    assert '{"q1":{"success":false}' in seen.page.locator("#code-begin").inner_text()
    seen.keep("no-decision-yet")


def test_the_curves_move(service: httpx.Client, look: Look, quiz: hg.Problem) -> None:
    create(service, "quiz", list(quiz.names))
    play(service, "quiz", quiz, 60.0, 30, seed=1)
    seen = look()
    seen.open("/allocators/quiz")
    seen.page.wait_for_selector("#c-reward .scatterlayer .trace", state="attached")
    before, decisions = seen.curve("q3"), seen.page.locator("#f-decisions").inner_text()
    assert decisions == "30"
    play(service, "quiz", quiz, 60.0, 120, seed=2)
    seen.shown_again()
    seen.shown_again()
    after = seen.curve("q3")
    assert len(after) == len(before)
    assert max(abs(a - b) for a, b in zip(after, before, strict=True)) > 0.005
    assert seen.page.locator("#f-decisions").inner_text() == "150"
    assert seen.page.locator("#n-complete").inner_text() == "150"
    assert seen.page.locator("#status").inner_text() == "learning"
    seen.keep("busy")


def test_names_are_text_wherever_they_are_shown(service: httpx.Client, look: Look, quiz: hg.Problem) -> None:
    create(service, "quiz", list(quiz.names), units="<i>s</i>")
    play(service, "quiz", quiz, 60.0, 20, seed=3)
    seen = look()
    seen.open("/allocators/quiz")
    seen.page.wait_for_selector("#c-past .scatterlayer .trace", state="attached")
    for place in (".tile h3 span", "#chips button", "tbody th", "#c-now .ytick text"):
        shown = [text.strip() for text in seen.page.locator(place).all_text_contents()]
        wanted = SCRIPT if place != "#c-now .ytick text" else SCRIPT[:17] + "…"
        assert wanted in shown, place
        assert BOLD in shown, place
    assert "<i>s</i>" in seen.page.locator("#about").inner_text()
    assert "<i>s</i>" in seen.page.locator("#c-now .xtitle").text_content()  # type: ignore[operator]
    assert seen.page.locator("main script").count() == 0
    assert seen.page.locator("#main b:has-text('q2'), #main i:has-text('s')").count() == 0
    bars = seen.page.locator("#c-now .bars .point").all()  # an arm may get nothing: take the longest bar
    max(bars, key=lambda bar: (bar.bounding_box() or {"width": 0.0})["width"]).hover(force=True)
    hover = seen.page.locator("#c-now .hovertext")
    hover.wait_for()
    assert any(name in (hover.text_content() or "") for name in (SCRIPT[:17], BOLD, "q3", "q4"))
    seen.keep("names")


@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_a_phone(service: httpx.Client, look: Look, quiz: hg.Problem, dark: bool) -> None:
    create(service, "quiz", list(quiz.names))
    create(service, "a-name.that-is-as_long-as-a-name-may-be-which-is-64-characters-x", ["only one"])
    play(service, "quiz", quiz, 60.0, 25, seed=4)
    seen = look(phone=True, dark=dark)
    for path, name in {"/": "phone-overview", "/allocators/quiz": "phone"}.items():
        seen.open(path)
        seen.shown_again()
        assert seen.fits(), path
        seen.keep(f"{name}-dark" if dark else name)


def test_many_arms_are_searched(service: httpx.Client, look: Look) -> None:
    names = [f"question {i:03d}" for i in range(60)]
    problem = hg.Problem(hg.Weibull(1.6), [0.5] * 60, [0.05 + 0.002 * i for i in range(60)], names=names)
    create(service, "many", names, max_budget=600.0)
    play(service, "many", problem, 600.0, 15, seed=5)
    seen = look()
    seen.open("/allocators/many")
    assert seen.page.locator(".tile").count() == 12
    assert "The 12 of 60 arms" in seen.page.locator("#shown").inner_text()
    seen.keep("many-arms")
    seen.page.fill("#find", "question 05")
    seen.page.locator("#shown", has_text="10 of 60 arms match").wait_for()
    assert seen.page.locator(".tile h3 span").all_text_contents() == names[50:60]
    seen.page.fill("#find", "no such")
    seen.page.locator("#shown", has_text=re.compile("^0 of 60 arms match")).wait_for()
    assert seen.page.locator(".tile").count() == 0


def test_an_archived_allocator_says_so(service: httpx.Client, look: Look, quiz: hg.Problem) -> None:
    create(service, "quiz", list(quiz.names))
    play(service, "quiz", quiz, 60.0, 10, seed=6)
    service.post("/v1/allocators/quiz/archive").raise_for_status()
    seen = look()
    seen.open("/allocators/quiz")
    assert seen.page.locator("#status").inner_text() == "archived"
    assert "makes no more decisions" in seen.page.locator("#notice").inner_text()
    seen.keep("archived")


def test_a_keyboard_reaches_everything(service: httpx.Client, look: Look, quiz: hg.Problem) -> None:
    create(service, "quiz", list(quiz.names))
    play(service, "quiz", quiz, 60.0, 10, seed=7)
    seen = look()
    seen.open("/allocators/quiz")
    seen.page.wait_for_selector("#c-past .scatterlayer .trace", state="attached")
    seen.page.focus('input[name="what"]:checked')
    seen.page.keyboard.press("ArrowRight")
    assert "rate" in (seen.page.locator("#c-past .ytitle").text_content() or "")
    second = seen.page.locator("#chips button").nth(1)
    second.focus()
    seen.page.keyboard.press("Enter")
    assert second.get_attribute("aria-pressed") == "true"
    seen.shown_again()
    assert second.evaluate("chip => chip === document.activeElement")


def test_a_lost_service_is_said_and_found_again(service: httpx.Client, look: Look) -> None:
    create(service, "quiz", ["q1"])
    seen = look()
    seen.open("/allocators/quiz")
    seen.page.context.set_offline(True)
    seen.page.locator("#lost", has_text="Cannot reach the service; trying again").wait_for()
    seen.keep("lost")
    seen.page.context.set_offline(False)
    seen.page.locator("#live", has_text="live").wait_for()
    assert not seen.page.locator("#lost").is_visible()
    seen.wrong[:] = [text for text in seen.wrong if "ERR_INTERNET_DISCONNECTED" not in text]  # the browser's own line


def test_the_demo_learns(look: Look, tmp_path: Path) -> None:
    with running(Settings(database=f"sqlite:///{tmp_path / 'demo.db'}", keys=False, demo=True)) as demo:
        seen = look()
        seen.base = str(demo.base_url).rstrip("/")
        seen.open("/")
        seen.page.locator(".cards a", has_text="classroom").click()
        seen.page.wait_for_selector("#c-reward .scatterlayer .trace", state="attached")
        assert seen.page.locator(".tile").count() == 12
        seen.shown_again()
        seen.keep("demo")


def test_the_page_opens_with_the_difference_to_the_baseline(
    service: httpx.Client, look: Look, quiz: hg.Problem
) -> None:
    """A sentence while nobody knows, then the number with its interval, by itself; on a phone too."""
    create(service, "quiz", list(quiz.names), baseline={"q4": 60.0}, holdout=0.4)
    seen = look()
    seen.open("/allocators/quiz")
    panel = seen.page.locator("#comparison")
    assert "Not known" in panel.inner_text()
    assert "it takes 30 of each" in panel.inner_text()
    assert panel.bounding_box()["y"] < seen.page.locator(".figures").bounding_box()["y"]  # type: ignore[index]
    play(service, "quiz", quiz, 60.0, 150, seed=4)
    seen.page.wait_for_selector("#comparison.known.better")
    seen.shown_again()
    seen.shown_again()
    found = service.get("/v1/allocators/quiz/comparison").json()
    assert f"+{found['difference']:.2f} a decision" in panel.inner_text()
    assert "95% interval +" in panel.inner_text()
    assert "Chance does not explain this" in panel.inner_text()
    phone = look(phone=True, dark=True)
    phone.open("/allocators/quiz")
    assert phone.fits()
    seen.keep("comparison")
    phone.keep("comparison-phone")


def test_it_says_when_an_arm_has_changed(
    service: httpx.Client, look: Look, quiz: hg.Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten hours, four of them after a change of one arm; its name is text there too."""
    hours, now = [0], time.time_ns() - 12 * HOUR
    monkeypatch.setattr(time, "time_ns", lambda: now + hours[0] * HOUR)
    create(service, "quiz", list(quiz.names), policy={"name": "uniform"}, half_life=8 * 3600.0)
    create(service, "lasting", ["q1"])
    other = hg.Problem(quiz.law, [0.1, 0.5, 0.3, 0.6], quiz.rate, names=quiz.names)
    seen = look()
    seen.open("/allocators/quiz")
    assert "too few windows" in seen.page.locator("#d-words").inner_text()
    for hour in range(10):
        hours[0] = hour
        play(service, "quiz", quiz if hour < 6 else other, 60.0, 15, seed=hour)
    hours[0] = 10
    play(service, "quiz", other, 60.0, 1, seed=99)
    seen.page.wait_for_selector("#drift.changed .plot .shapelayer path", state="attached")
    words = seen.page.locator("#d-words").inner_text()
    assert words.startswith(f"{SCRIPT} changed around ")
    assert BOLD not in words
    assert seen.page.locator("#c-drift .tile").count() == 4
    assert seen.fits()
    seen.keep("drift")
    phone = look(phone=True, dark=True)
    phone.open("/allocators/quiz")
    phone.page.wait_for_selector("#drift.changed .plot .shapelayer path", state="attached")
    assert phone.fits()
    phone.keep("drift-phone")
    phone.open("/allocators/lasting")
    assert not phone.page.locator("#drift").is_visible()
