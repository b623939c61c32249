"""Made-up user files in the form of EdNet-KT3's, with laws that are known: for tests and benchmarks.

EdNet may not be shipped. Each user enters some questions (a bundle of one question each) once, responds after a time
drawn from the question's law, and submits. Every other question follows a Weibull law; the times of the others are a
mixture of fast and slow ones that no Weibull law is close to.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from headgate.laws import Floats

_HEADER = "timestamp,action_type,item_id,source,user_answer,platform\n"
_FIRST = 1000  # the first question's number


def is_weibull(question: str) -> bool:
    """Whether a made-up question's times follow a Weibull law."""
    return int(question[1:]) % 2 == 0


def write_users(folder: Path, users: int, *, questions: int = 40, answers: int = 25, seed: int = 0) -> Path:
    """Write `users` files with so many answers each, and `questions.csv`; return the folder."""
    rng = np.random.default_rng(seed)
    names = [f"q{_FIRST + i}" for i in range(questions)]
    right = rng.integers(0, 4, questions)
    shape, scale, share = (
        rng.uniform(1.4, 2.4, questions),
        rng.uniform(20.0, 45.0, questions),
        rng.uniform(0.2, 0.8, questions),
    )
    folder.mkdir(parents=True, exist_ok=True)
    rows = (f"{q},b{q[1:]},e{q[1:]},{'abcd'[a]}\n" for q, a in zip(names, right, strict=True))
    (folder / "questions.csv").write_text("question_id,bundle_id,explanation_id,correct_answer\n" + "".join(rows))
    for user in range(users):
        places = rng.permutation(questions)[:answers]
        seconds: Floats = scale[places] * rng.weibull(shape[places])
        two = scale[places] * np.where(rng.random(places.size) < 0.5, 0.2, 2.5) * rng.uniform(0.9, 1.1, places.size)
        seconds = np.where([is_weibull(names[q]) for q in places], seconds, two)
        correct = rng.random(places.size) < share[places]
        choices = (right[places] + np.where(correct, 0, rng.integers(1, 4, places.size))) % 4
        now, lines = 1_500_000_000_000, [_HEADER]
        for q, duration, letter in zip(places, np.maximum(1, 1000.0 * seconds).astype(np.int64), choices, strict=True):
            item, bundle = names[q], f"b{names[q][1:]}"
            lines.append(f"{now},enter,{bundle},sprint,,mobile\n")
            lines.append(f"{now + duration},respond,{item},sprint,{'abcd'[letter]},mobile\n")
            lines.append(f"{now + duration + 500},submit,{bundle},sprint,,mobile\n")
            now += int(duration) + 2000
        (folder / f"u{user + 1}.csv").write_text("".join(lines))
    return folder
