"""The dashboard without a browser: what its pages are sent with, what its data says, and that names stay text."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest
from scipy import special
from starlette.requests import Request

import headgate as hg
from headgate.service.beliefs import Belief, believe
from headgate.service.dashboard.curves import band, rim, seen
from headgate.service.dashboard.pages import PLOTLY, page
from headgate.service.engine.queue import Ledger
from headgate.service.settings import Settings
from headgate.service.store import Database, open_database
from headgate.service.store.rows import row_of
from tests.service.asking import create, decide, play, tell
from tests.service.harness import QUIZ, results, running

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[httpx.Client]:
    with running(Settings(database=f"sqlite:///{tmp_path / 'pages.db'}", keys=False)) as client:
        yield client


@pytest.fixture
def sqlite(sqlite_url: str) -> Iterator[Database]:
    found = open_database(sqlite_url)
    yield found
    found.close()


def round_of(client: httpx.Client, name: str, wins: set[str]) -> str:
    made = client.post(f"/v1/allocators/{name}/decisions", json={"budget": 20.0}).json()
    said = {"results": results(made["allocation"], wins)}
    client.post(f"/v1/decisions/{made['decision_id']}/outcome", json=said).raise_for_status()
    return str(made["decision_id"])


# -- pages -------------------------------------------------------------------------------------------------------------


def test_pages_let_nothing_else_in(pages: httpx.Client) -> None:
    pages.put("/v1/allocators/quiz", json=QUIZ)
    for path in ("/", "/allocators/quiz", "/allocators/none", "/login"):
        headers = pages.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"


def test_pages_have_no_scripts_of_their_own_and_nothing_from_elsewhere(pages: httpx.Client) -> None:
    pages.put("/v1/allocators/quiz", json=QUIZ)
    base = str(pages.base_url).rstrip("/")
    for path in ("/", "/allocators/quiz", "/login"):
        text = pages.get(path).text
        assert not re.search(r"\son\w+=", text)
        assert not re.search(r"<script(?![^>]*\ssrc=)", text)
        assert not re.search(r"javascript:", text, re.IGNORECASE)
        for link in re.findall(r'(?:src|href|action)="([^"]*)"', text):
            assert link.startswith(("/", "#")), link
            if link.startswith("/static/"):
                assert pages.get(link).status_code == 200
        assert "http" not in text.replace(base, "").replace("http-equiv", "")


def test_an_unknown_allocator_is_a_page(pages: httpx.Client) -> None:
    answer = pages.get(f"/allocators/{SCRIPT.replace('/', '%2F')}x")
    assert answer.status_code == 404
    answer = pages.get("/allocators/%3Cb%3Enone%3C%2Fb%3E")
    assert "<b>none" not in answer.text
    assert pages.get("/allocators/none/data").status_code == 404


def test_pages_escape_what_they_are_given() -> None:
    request = Request({"type": "http", "headers": [(b"host", b"here")], "scheme": "http", "path": "/", "root_path": ""})
    shown = page("login.html", request, 401, title="Sign in", message="<b>no</b>")
    assert shown.status_code == 401
    assert b"&lt;b&gt;no" in shown.body
    assert b"Sign out" not in shown.body


def test_signing_in_with_a_wrong_key_says_so(pages: httpx.Client) -> None:
    assert pages.get("/login").status_code == 200
    answer = pages.post("/login", data={"key": "hg_none_none"})
    assert (answer.status_code, "This key is not known" in answer.text) == (401, True)


def test_none_of_it_is_in_the_schema(pages: httpx.Client) -> None:
    paths = pages.get("/openapi.json").json()["paths"]
    assert all(path.startswith(("/v1/", "/healthz", "/readyz", "/metrics")) for path in paths)


def test_scripts_are_kept_by_the_browser(pages: httpx.Client) -> None:
    plotly = pages.get(f"/static/{PLOTLY}")
    assert "immutable" in plotly.headers["cache-control"]
    assert plotly.headers["content-encoding"] == "gzip"
    assert "plotly.js v" in plotly.text[:200]
    ours = pages.get("/static/plain.js")
    assert ours.headers["cache-control"] == "no-cache"
    assert ours.headers["content-type"].startswith("text/javascript")
    again = pages.get("/static/plain.js", headers={"If-None-Match": ours.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    plain = pages.get("/static/plain.js", headers={"Accept-Encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert plain.text == ours.text


@pytest.mark.parametrize("name", ["none.js", "..%2Fpages.py", "%2Fetc%2Fpasswd", "__init__.py"])
def test_no_other_file_is_handed_out(pages: httpx.Client, name: str) -> None:
    assert pages.get(f"/static/{name}").status_code == 404


# -- data --------------------------------------------------------------------------------------------------------------


def test_the_first_page_has_every_allocator(pages: httpx.Client) -> None:
    for name in ("quiz", "new", "old"):
        pages.put(f"/v1/allocators/{name}", json=QUIZ)
    pages.post("/v1/allocators/old/archive")
    for _ in range(4):
        round_of(pages, "quiz", {"q1", "q2"})
    found = pages.get("/data").json()["allocators"]
    assert [(one["name"], one["status"]) for one in found] == [
        ("quiz", "learning"), ("new", "new"), ("old", "archived")
    ]  # fmt: skip
    assert (found[0]["decisions"], found[0]["complete"]) == (4, 4)
    assert 1 <= found[0]["recent_rounds"] <= 4  # fewer, if a snapshot was taken in between
    assert found[0]["law"] == "weibull, shape 1.6"


def test_the_page_counts_what_happens(pages: httpx.Client) -> None:
    pages.put("/v1/allocators/quiz", json=QUIZ | {"units": "s"})
    empty = pages.get("/allocators/quiz/data").json()
    assert (empty["status"], empty["now"]["reward"], empty["now"]["value"]) == ("new", None, None)
    key = round_of(pages, "quiz", {"q1", "q2", "q3"})
    pages.post("/v1/allocators/quiz/decisions", json={"budget": 10.0})
    said = pages.get(f"/v1/decisions/{key}").json()["results"]
    pages.post(f"/v1/decisions/{key}/outcome", json={"results": {next(iter(said)): {"success": False}}})
    pages.post(f"/v1/decisions/{key}/outcome", json={"results": said})
    found = pages.get("/allocators/quiz/data").json()
    counts = found["counts"]
    assert (counts["decisions"], counts["complete"], counts["pending"]) == (2, 1, 1)
    assert (counts["duplicates"], counts["contradictions"]) == (1, 1)
    assert found["latest_rounds"] == 2
    assert sum(arm["given"] for arm in found["arms"]) == pytest.approx(15.0)
    assert sum(arm["best"] for arm in found["arms"]) == pytest.approx(20.0)
    assert [arm["trials"] for arm in found["arms"]] == [int(q in said) for q in QUIZ["arms"]]


def test_the_past_is_sent_once(pages: httpx.Client) -> None:
    pages.put("/v1/allocators/quiz", json=QUIZ)
    round_of(pages, "quiz", {"q1"})
    deadline = time.monotonic() + 30.0
    first = pages.get("/allocators/quiz/data").json()
    while not first["latest"] and time.monotonic() < deadline:  # the snapshot is taken beside the requests
        first = pages.get("/allocators/quiz/data").json()
    assert first["history"]["complete"] == [1]
    assert set(first["history"]["arms"]) == {"q1", "q2", "q3"}
    again = pages.get("/allocators/quiz/data", params={"have": first["latest"]}).json()
    assert again["history"] is None


def test_a_thousand_arms_are_twelve(pages: httpx.Client) -> None:
    names = [f"arm {i}" for i in range(1000)]
    pages.put("/v1/allocators/many", json=QUIZ | {"arms": names, "max_budget": 1000.0})
    round_of(pages, "many", {"arm 1", "arm 2"})
    found = pages.get("/allocators/many/data").json()
    assert (len(found["arms"]), found["arms_in_use"], found["rest"]["arms"]) == (12, 1000, 988)
    some = pages.get("/allocators/many/data", params={"find": "ARM 99"}).json()
    assert [arm["name"] for arm in some["arms"]] == ["arm 99", *(f"arm {i}" for i in range(990, 1000))]
    none = pages.get("/allocators/many/data", params={"find": "nothing"}).json()
    assert (none["arms"], none["arms_matching"]) == ([], 0)


@pytest.mark.parametrize(
    "change",
    [
        {"law": {"name": "weibull", "shape": "learn"}},
        {"law": "exponential", "reward": "cascade"},
        {"law": {"name": "discrete-weibull", "shape": 1.2}},
        {"law": {"name": "log-normal", "sigma": [0.5, 1.0, 1.5]}},
        {"policy": {"name": "uniform"}},
        {"arms": ["q1", "q2", {"name": "q3", "upper": 3.0, "law": {"name": "gamma", "shape": 2.0}}]},
    ],
)
def test_every_kind_of_allocator_has_a_page(pages: httpx.Client, change: dict[str, object]) -> None:
    pages.put("/v1/allocators/quiz", json=QUIZ | change).raise_for_status()
    for rounds in (0, 1, 3):
        for _ in range(rounds):
            round_of(pages, "quiz", {"q1"})
        found = pages.get("/allocators/quiz/data").raise_for_status().json()
        for arm in found["arms"]:
            curve = arm["curve"]
            assert all(
                a <= b + 1e-9 <= c + 2e-9 for a, b, c in zip(curve["low"], curve["y"], curve["high"], strict=True)
            )
            assert all(0.0 <= v <= 1.0 for v in curve["low"] + curve["high"])


def test_schedules_and_retired_arms(pages: httpx.Client) -> None:
    pages.put("/v1/allocators/quiz", json=QUIZ)
    pages.post("/v1/allocators/quiz/decisions", json={"budget": None, "step": 1.0}).raise_for_status()
    pages.post("/v1/allocators/quiz/arms/q3/retire").raise_for_status()
    found = pages.get("/allocators/quiz/data").json()
    assert (found["latest_rounds"], found["arms_retired"], found["status"]) == (0, 1, "waiting")
    assert [(arm["name"], arm["given"]) for arm in found["arms"]] == [("q1", None), ("q2", None)]


# -- curves ------------------------------------------------------------------------------------------------------------


def test_the_band_is_a_likelihood_ratio_interval(sqlite: Database) -> None:
    """Against a grid over (log rate, logit activation) and a likelihood written out, at three places of one arm."""
    ledger = Ledger(sqlite)
    create(ledger, arms=["only"], law="exponential")
    rng = np.random.default_rng(3)
    amounts, thresholds = [], []
    for i in range(60):
        made = decide(ledger, f"d{i}", budget=float(rng.uniform(2.0, 12.0)))["allocation"]["only"]
        threshold = rng.exponential(8.0) if rng.random() < 0.7 else np.inf
        won = threshold <= made
        ledger.answer(
            [tell(f"d{i}", {"only": {"success": True, "threshold": threshold} if won else {"success": False}})]
        )
        amounts.append(made)
        thresholds.append(threshold if won else np.nan)
    belief = sqlite.look(lambda c: believe(c, row_of(c, "quiz")))
    x = np.array([2.0, 6.0, 25.0])
    low, high = band(belief, 0, rim(belief, [0])[:, 0], x)

    played, seen_at = np.array(amounts), np.array(thresholds)
    won = ~np.isnan(seen_at)
    log_rate, logit = np.meshgrid(np.linspace(-6.0, 1.0, 400), np.linspace(-4.0, 9.0, 400), indexing="ij")
    rate, p = np.exp(log_rate), special.expit(logit)
    value = won.sum() * (np.log(p) + log_rate) - rate * seen_at[won].sum()
    for amount in played[~won]:
        value = value + np.log(1.0 - p * (1.0 - np.exp(-rate * amount)))
    allowed = 2.0 * (value.max() - value) <= special.ndtri(0.95) ** 2
    for place, at in enumerate(x):
        chances = (p * (1.0 - np.exp(-rate * at)))[allowed]
        assert low[place] == pytest.approx(chances.min(), abs=0.025)
        assert high[place] == pytest.approx(chances.max(), abs=0.025)


def test_nothing_seen_is_nothing_known(sqlite: Database) -> None:
    create(Ledger(sqlite))
    belief: Belief = sqlite.look(lambda c: believe(c, row_of(c, "quiz")))
    low, high = band(belief, 1, rim(belief, [1])[:, 0], np.array([10.0]))
    assert low[0] < 0.01
    assert high[0] > 0.99


def test_bands_narrow(sqlite: Database) -> None:
    ledger = Ledger(sqlite)
    create(ledger)
    widths, spread = [], []
    for seed, rounds in enumerate((10, 90, 400)):
        play(ledger, rounds, seed=seed)
        belief = sqlite.look(lambda c: believe(c, row_of(c, "quiz")))
        low, high = band(belief, 0, rim(belief, [0])[:, 0], belief.best.x[:1])
        widths.append(float(high[0] - low[0]))
        spread.append(belief.value_interval[1] - belief.value_interval[0])
    assert widths[0] > 1.5 * widths[1] > 2.0 * widths[2]
    assert spread[0] > 1.5 * spread[1] > 2.0 * spread[2]


def test_shares_seen_are_of_what_was_given() -> None:
    evidence = hg.Evidence.empty(1, 100.0)
    for amount, won in ((10.0, False), (50.0, True)):
        for _ in range(20):
            evidence.record([amount], hg.Feedback([won], [amount / 2 if won else np.nan]))
    found = seen(evidence, 0, 100.0)
    assert found["x"] == pytest.approx([10.0, 50.0], rel=1e-3)
    assert found["share"] == [0.0, 1.0]
    assert found["trials"] == [20.0, 20.0]
    assert seen(evidence, 0, 20.0)["x"] == pytest.approx([10.0], rel=1e-3)


def test_the_first_thing_on_an_allocator_is_the_difference_to_its_baseline(pages: httpx.Client) -> None:
    """And where there is none, a sentence that says so; no share of an optimum that is itself an estimate."""
    pages.put("/v1/allocators/quiz", json=QUIZ)
    shown = pages.get("/allocators/quiz").text
    assert -1 < shown.index('id="comparison"') < shown.index('class="figures"')
    assert "Share of the optimum" not in shown
    before = pages.get("/allocators/quiz/data").json()["comparison"]
    assert (before["status"], before["difference"], "there is no baseline" in before["words"]) == (
        "no baseline", None, True
    )  # fmt: skip
    pages.post("/v1/allocators/quiz/versions", json={"baseline": "even", "holdout": 0.5})
    for i in range(90):
        round_of(pages, "quiz", {"q1"} if i % 2 else {"q1", "q2"})
    after = pages.get("/allocators/quiz/data").json()["comparison"]
    assert after == pages.get("/v1/allocators/quiz/comparison").json()
    assert after["always_interval"][0] < after["difference"] < after["always_interval"][1]
