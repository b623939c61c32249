"""EdNet's user files: every case by hand, and all of it against a walk through the actions."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.calibration.reading import EdnetPseudo, EdnetRaw, read_log
from headgate.errors import InputError
from tests.calibration.references import DATA, assert_same, counted, ednet, write_table

pytest.importorskip("ibis")

KT3 = ("timestamp", "action_type", "item_id", "source", "user_answer", "platform")
KT4 = ("timestamp", "action_type", "item_id", "cursor_time", "source", "user_answer", "platform")
QUESTIONS = [
    ("q1", "b1", "a"), ("q2", "b2", "b"), ("q3", "b3", "c"), ("q4", "b3", "d"), ("q5", "b3", "a"), ("q6", "b6", "-1"),
]  # fmt: skip
Action = tuple[object, str, str, str]


def write(folder: Path, **users: list[Action]) -> Path:
    write_table(
        folder / "questions.csv",
        ("question_id", "bundle_id", "explanation_id", "correct_answer"),
        [(q, b, b.replace("b", "e"), right) for q, b, right in QUESTIONS],
    )
    for user, actions in users.items():
        rows = [(time, what, item, "sprint", answer, "mobile") for time, what, item, answer in actions]
        write_table(folder / f"{user}.csv", KT3, rows)
    return folder


def visit(bundle: str, begun: int, *answers: tuple[int, str, str], end: int | None) -> list[Action]:
    said: list[Action] = [(begun + after, "respond", question, answer) for after, question, answer in answers]
    submitted: list[Action] = [] if end is None else [(begun + end, "submit", bundle, "")]
    return [(begun, "enter", bundle, ""), *said, *submitted]


def test_the_last_response_up_to_the_submit_counts(tmp_path: Path) -> None:
    told = visit("b1", 1000, (500, "q1", "c"), (2500, "q1", "a"), (2500, "q1", "a"), (9000, "q1", "b"), end=3000)
    log = read_log(write(tmp_path, u1=told), "ednet-kt3")
    assert counted(log) == Counter({("q1", float("inf"), True, 2.5): 1})
    assert (log.kind, log.units, log.whole) == ("observed", "s", False)
    assert log.reading.dropped == {}


def test_times_of_a_bundle_add_up_or_count_from_entering(tmp_path: Path) -> None:
    told = visit("b3", 0, (4000, "q3", "c"), (6000, "q4", "a"), (9000, "q3", "c"), (9500, "q5", "a"), end=9900)
    write(tmp_path, u1=told)
    split = counted(read_log(tmp_path, "ednet-kt3"))
    inf = float("inf")
    assert set(split) == {("q4", inf, False, 6.0), ("q3", inf, True, 3.0), ("q5", inf, True, 0.5)}
    whole = counted(read_log(tmp_path, EdnetRaw(bundles="enter")))
    assert set(whole) == {("q4", inf, False, 6.0), ("q3", inf, True, 9.0), ("q5", inf, True, 9.5)}


CASES: dict[str, list[Action]] = {
    "repeat of a question answered before": visit("b1", 0, (9, "q1", "b"), end=10)
    + visit("b1", 50, (9, "q1", "a"), end=10),
    "answered but not submitted": [*visit("b1", 0, (9, "q1", "b"), end=None), (20, "quit", "b1", "")],
    "answered only after the submit": visit("b1", 0, (9, "q1", "b"), end=5),
    "answered without entering the bundle": [(3, "respond", "q1", "a"), (4, "submit", "b1", "")],
    "submitted or left without entering": [(4, "quit", "b1", "")],
    "time ran out: submitted without an answer": visit("b1", 0, end=5),
    "left without an answer": visit("b1", 0, end=None),
    "two answers at once": visit("b1", 0, (4, "q1", "a"), (4, "q1", "b"), end=5),
    "unknown answer": visit("b1", 0, (4, "q1", ""), end=5),
    "right answer unknown": visit("b6", 0, (4, "q6", "a"), end=5),
    "time above the limit of 10800 s": visit("b1", 0, (10_800_001, "q1", "a"), end=10_900_000),
    "answer to an unknown question": visit("b1", 0, (4, "q1", "a"), (4, "q99", "b"), end=5),
    "lecture action": [(0, "enter", "l7", ""), (1, "quit", "l7", "")],
    "explanation action": [(0, "enter", "e1", ""), (1, "quit", "e1", "")],
    "audio or video action": [(0, "play_audio", "b1", ""), (1, "pause_audio", "b1", "")],
    "choice erased, payment or other action": [(0, "erase_choice", "q1", "a"), (1, "pay", "p25", "")],
    "action without a time": [("soon", "enter", "b1", ""), ("-5", "enter", "b1", ""), ("", "quit", "b1", "")],
    "action without a name": [(5, "", "b1", "")],
    "action on an unknown item": [(5, "enter", "x1", ""), (6, "respond", "b1", "a"), (7, "submit", "", "")],
}


@pytest.mark.parametrize("reason", list(CASES))
def test_whatever_is_not_used_is_counted(tmp_path: Path, reason: str) -> None:
    good = visit("b2", 100, (4000, "q2", "b"), end=5000)
    log = read_log(
        write(
            tmp_path,
            u1=[*CASES[reason], *good] if reason != "time above the limit of 10800 s" else CASES[reason],
            u2=good,
        ),
        "ednet-kt3",
    )
    assert reason in log.reading.dropped
    assert log.reading.read == log.reading.used + sum(log.reading.dropped.values())
    if reason not in {"action without a time", "action without a name", "action on an unknown item"}:
        slow = ednet(tmp_path, limit=10_800.0)
        assert log.reading.dropped == slow.dropped
        assert_same(log, slow.rows)


@st.composite
def users(draw: st.DrawFn) -> dict[str, list[Action]]:
    """Any actions at all, close to each other in time."""
    items = {"respond": [q for q, *_ in QUESTIONS] + ["q99"]}
    others = ["b1", "b2", "b3", "b6", "e1", "l1"]
    known = st.sampled_from(["enter", "respond", "respond", "submit", "quit", "play_audio", "pay"])
    found: dict[str, list[Action]] = {}
    for user in range(draw(st.integers(1, 3))):
        actions: list[Action] = []
        for _ in range(draw(st.integers(0, 40))):
            what = draw(known)
            item = draw(st.sampled_from(items.get(what, others)))
            answer = draw(st.sampled_from(["a", "b", "c", "d", "", "z"])) if what == "respond" else ""
            actions.append((draw(st.integers(0, 60)) * 1000, what, item, answer))
        found[f"u{user + 1}"] = actions
    found["u9"] = visit("b1", 5, (1234, "q1", "a"), end=2000)  # something is always of use
    return found


@settings(max_examples=8, deadline=None)
@given(told=users(), split=st.booleans())
def test_any_actions_are_read_as_a_walk_through_them_reads_them(told: dict[str, list[Action]], split: bool) -> None:
    with TemporaryDirectory() as place:
        folder = write(Path(place), **told)
        log = read_log(folder, EdnetRaw(limit=20.0, bundles="split" if split else "enter"))
        slow = ednet(folder, limit=20.0, split=split)
    assert log.reading.dropped == slow.dropped
    assert_same(log, slow.rows)


def test_columns_of_kt3_and_kt4_mix_and_questions_lie_in_contents(tmp_path: Path) -> None:
    (tmp_path / "KT4").mkdir()
    (tmp_path / "contents").mkdir()
    write(tmp_path / "KT4", u1=visit("b1", 0, (4000, "q1", "a"), end=5000))
    (tmp_path / "KT4" / "questions.csv").rename(tmp_path / "contents" / "questions.csv")
    rows = [
        (t, what, item, "", "sprint", answer, "web")
        for t, what, item, answer in visit("b1", 0, (7000, "q1", "b"), end=7001)
    ]
    write_table(tmp_path / "KT4" / "u2.csv", KT4, rows)
    for source in (tmp_path, tmp_path / "KT4", f"{tmp_path}/KT4/u*.csv"):
        assert set(counted(read_log(source, "ednet-kt3"))) == {
            ("q1", float("inf"), True, 4.0), ("q1", float("inf"), False, 7.0),
        }  # fmt: skip
    alone = read_log(tmp_path / "KT4" / "u2.csv", EdnetRaw(questions=tmp_path / "contents" / "questions.csv"))
    assert alone.reading.used == 1


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no file that ends in \.csv; it has: nothing"):
        read_log(tmp_path, "ednet-kt3")
    write(tmp_path, u1=visit("b1", 0, end=None))
    with pytest.raises(InputError, match=r"none of the 1 rows of .* can be used: left without an answer: 1"):
        read_log(tmp_path, "ednet-kt3")
    (tmp_path / "questions.csv").unlink()
    with pytest.raises(InputError, match=r"questions\.csv is not there: looked in"):
        read_log(tmp_path, "ednet-kt3")
    write_table(tmp_path / "u1.csv", ("timestamp", "action"), [(1, "enter")])
    with pytest.raises(InputError, match="no column 'action_type'; it has: timestamp, action"):
        read_log(tmp_path, "ednet-kt3")
    (tmp_path / "u1.csv").rename(tmp_path / "answers.csv")
    with pytest.raises(InputError, match=r"user files such as u123\.csv"):
        read_log(tmp_path, "ednet-kt3")
    with pytest.raises(InputError, match="bundles must be one of split, enter"):
        EdnetRaw(bundles="sum")  # type: ignore[arg-type]  # what is tested


@pytest.mark.skipif(
    not (DATA / "ednet_raw").is_dir(), reason="the raw EdNet sample ../shared/data/ednet_raw is not here"
)
def test_the_real_files_are_read_as_a_walk_reads_them() -> None:
    log = read_log(DATA / "ednet_raw", "ednet-kt3")
    slow = ednet(DATA / "ednet_raw", limit=10_800.0)
    assert log.reading.dropped == slow.dropped
    assert_same(log, slow.rows)
    assert log.reading.used == len(slow.rows) > 2000


def test_the_papers_table(tmp_path: Path) -> None:
    header = ("pseudo_user_id", "question_id", "response_time_ms", "is_correct")
    rows = [("s1", "q1", "17632.0", 0), ("s1", "q2", "1000", 1), ("s2", "q1", "11000000", 1), ("s2", "q2", "", 1)]
    path = write_table(tmp_path / "pseudo.csv", header, rows)
    log = read_log(path, "ednet-pseudo")
    inf = float("inf")
    assert set(counted(log)) == {("q1", inf, False, 17.632), ("q2", inf, True, 1.0)}
    assert log.reading.dropped == {"threshold above the limit of 10800": 1, "threshold missing": 1}
    assert log.budgets is not None
    assert log.budgets.tolist() == [18.632]
    assert read_log(path, "ednet-pseudo", limit=20_000.0).reading.used == 3
    assert read_log(path, EdnetPseudo(limit=5.0)).reading.used == 1


@pytest.mark.skipif(
    not (DATA / "ednet_pseudo_users.csv").exists(), reason="../shared/data/ednet_pseudo_users.csv is not here"
)
def test_the_papers_rows_are_all_used() -> None:
    log = read_log(DATA / "ednet_pseudo_users.csv", "ednet-pseudo")
    assert (log.reading.used, log.arms, log.rows.resolution) == (100_000, 20, 0.0)
    assert log.budgets is not None
    assert log.budgets.size == 5000
    share = log.evidence.successes / log.evidence.trials
    assert (share.min().round(3), share.max().round(3)) == (0.216, 0.719)
