"""A quiz of 20 questions with the response times of real students.

Fitted facts about EdNet-KT3 (Choi et al. 2020, https://github.com/riiid/ednet, CC BY-NC 4.0): no record of
the dataset is here. For each question: the share of correct answers, and the Weibull law (location 0) of
largest likelihood for all its 5,000 response times in seconds, none trimmed, in the subset the paper uses.
"""

from __future__ import annotations

from headgate.laws import Weibull
from headgate.problem import Problem

# question, share correct, Weibull shape, Weibull scale in seconds
_QUESTIONS = (
    ("q4135", 0.2208, 1.197973418, 48.42955472),
    ("q5328", 0.5832, 1.520218132, 40.29322465),
    ("q5221", 0.4288, 1.536945038, 40.80574484),
    ("q4025", 0.4550, 1.938769751, 35.11380441),
    ("q3633", 0.3038, 1.832729711, 35.80421331),
    ("q6453", 0.4770, 1.580357398, 34.50143192),
    ("q5948", 0.4044, 1.654024033, 31.05307881),
    ("q6731", 0.2162, 1.831982592, 38.42566585),
    ("q5421", 0.3648, 1.599545710, 30.89514883),
    ("q4199", 0.5988, 1.614409267, 37.51754119),
    ("q3698", 0.5020, 1.604151782, 43.48811248),
    ("q5737", 0.6154, 1.675694048, 39.83613081),
    ("q6497", 0.6322, 1.551472488, 45.73428430),
    ("q5267", 0.4600, 1.561400790, 36.93375816),
    ("q5057", 0.6264, 1.400883559, 39.96404767),
    ("q5770", 0.3698, 1.587764077, 40.24116954),
    ("q4775", 0.7194, 1.299791094, 36.01443619),
    ("q5095", 0.6572, 1.479930374, 38.08411007),
    ("q5401", 0.5054, 1.642776299, 42.75591072),
    ("q3669", 0.3338, 1.902394255, 39.76411608),
)


def ednet_quiz() -> Problem:
    """Return the quiz: the budget is the student's time in seconds, a question is answered if it gets enough.

    Every shape is above 1, so the response curves are S-shaped and water-filling is not optimal.

    >>> quiz = ednet_quiz()
    >>> quiz.arms, quiz.names[0], quiz.units
    (20, 'q4135', 'seconds')
    """
    names, activation, shape, scale = zip(*_QUESTIONS, strict=True)
    return Problem(
        Weibull(shape=shape),
        activation=activation,
        rate=[1.0 / seconds for seconds in scale],
        names=names,
        units="seconds",
        provenance={
            "source": "EdNet-KT3: 20 questions, 5,000 response times each",
            "licence": "CC BY-NC 4.0 (EdNet); fitted facts only",
            "fit": "Weibull, maximum likelihood, location 0, untrimmed; activation: share correct",
        },
    )
