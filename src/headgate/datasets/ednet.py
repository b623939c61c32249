"""A quiz of 20 questions with the response times of real students.

Fitted facts about EdNet-KT3 (Choi et al. 2020, https://github.com/riiid/ednet, CC BY-NC 4.0): no record of
the dataset is here. For each question the activation p (a share of correct answers) and the Weibull law (location 0) of
largest likelihood for its response times in seconds, fitted in three ways to the 5,000 answers of the paper's subset:

- "trimmed": the paper's recipe. Times outside of the 2.5% and 97.5% quantiles are left out, the law is truncated there,
  and p is the share correct among what is kept.
- "untrimmed": all times, none left out. A few absurd ones (two hours for one question) make the laws too wide.
- "correct": the times of correct answers only, none left out; p is the share correct of all. Correct answers are the
  faster ones, and they are what a budget buys: of the three its x* earns the most on the real answers.
"""

from __future__ import annotations

from typing import Literal, get_args

from headgate import checks
from headgate.laws import Weibull
from headgate.problem import Problem

Fit = Literal["trimmed", "untrimmed", "correct"]
"""How the laws were fitted; the first is the paper's way."""

# question, then for each fit: activation, Weibull shape, Weibull scale in seconds
_QUESTIONS = (
    ("q4135", (0.21136842, 2.0303693, 45.828219), (0.2208, 1.197973418, 48.42955472), (0.2208, 1.2642809, 34.477938)),
    ("q5328", (0.58378947, 1.8707386, 37.602865), (0.5832, 1.520218132, 40.29322465), (0.5832, 1.6461445, 35.225013)),
    ("q5221", (0.42526316, 1.7691275, 37.930605), (0.4288, 1.536945038, 40.80574484), (0.4288, 1.4806795, 32.370991)),
    ("q4025", (0.45389474, 2.3515650, 33.513939), (0.4550, 1.938769751, 35.11380441), (0.4550, 1.8084672, 33.246891)),
    ("q3633", (0.29494737, 2.1723952, 33.767525), (0.3038, 1.832729711, 35.80421331), (0.3038, 1.6809620, 33.753072)),
    ("q6453", (0.47431579, 2.0307832, 32.345026), (0.4770, 1.580357398, 34.50143192), (0.4770, 1.5106568, 32.411017)),
    ("q5948", (0.40905263, 2.0143740, 29.686150), (0.4044, 1.654024033, 31.05307881), (0.4044, 1.7698611, 31.102412)),
    ("q6731", (0.20631579, 2.2613228, 36.553794), (0.2162, 1.831982592, 38.42566585), (0.2162, 1.5822223, 37.422526)),
    ("q5421", (0.36800000, 2.1671246, 29.606217), (0.3648, 1.599545710, 30.89514883), (0.3648, 1.5658422, 31.148753)),
    ("q4199", (0.59368421, 1.8682204, 34.764038), (0.5988, 1.614409267, 37.51754119), (0.5988, 1.4853179, 33.166057)),
    ("q3698", (0.49621053, 1.9069633, 40.934242), (0.5020, 1.604151782, 43.48811248), (0.5020, 1.5342087, 38.843545)),
    ("q5737", (0.61894737, 1.9997122, 37.453452), (0.6154, 1.675694048, 39.83613081), (0.6154, 1.6417229, 36.846068)),
    ("q6497", (0.62989474, 2.0938721, 43.138386), (0.6322, 1.551472488, 45.73428430), (0.6322, 1.6963461, 42.322677)),
    ("q5267", (0.45948221, 1.7419350, 34.245681), (0.4600, 1.561400790, 36.93375816), (0.4600, 1.5547336, 32.819987)),
    ("q5057", (0.62863158, 2.0292753, 37.344749), (0.6264, 1.400883559, 39.96404767), (0.6264, 1.5965513, 38.514401)),
    ("q5770", (0.36189474, 1.7581012, 37.005485), (0.3698, 1.587764077, 40.24116954), (0.3698, 1.4485756, 34.693978)),
    ("q4775", (0.72463158, 1.6650399, 32.765814), (0.7194, 1.299791094, 36.01443619), (0.7194, 1.3234419, 33.824095)),
    ("q5095", (0.65726316, 1.9572264, 35.704803), (0.6572, 1.479930374, 38.08411007), (0.6572, 1.3854496, 35.084245)),
    ("q5401", (0.49957895, 1.8934616, 39.428597), (0.5054, 1.642776299, 42.75591072), (0.5054, 1.5163063, 38.234833)),
    ("q3669", (0.32694737, 2.2655430, 37.637348), (0.3338, 1.902394255, 39.76411608), (0.3338, 1.6360700, 34.901207)),
)
_RECIPES: dict[Fit, str] = {
    "trimmed": "Weibull, maximum likelihood, location 0, truncated at the 2.5% and 97.5% quantiles; activation: "
    "share correct within them",
    "untrimmed": "Weibull, maximum likelihood, location 0, untrimmed; activation: share correct",
    "correct": "Weibull, maximum likelihood, location 0, times of correct answers only, untrimmed; activation: share "
    "correct of all",
}


def ednet_quiz(fit: Fit = "trimmed") -> Problem:
    """Return the quiz: the budget is the student's time in seconds, a question is answered if it gets enough.

    Every shape is above 1, so the response curves are S-shaped and water-filling is not optimal.

    Parameters
    ----------
    fit
        Which laws: "trimmed", the paper's (shapes 1.67 to 2.35); "untrimmed" (1.20 to 1.94), the package's before
        trimming was the default; or "correct", those of correct answers alone (1.26 to 1.81).

    >>> quiz = ednet_quiz()
    >>> quiz.arms, quiz.names[0], quiz.units
    (20, 'q4135', 'seconds')
    """
    which = get_args(Fit).index(checks.choice("fit", fit, get_args(Fit)))
    fitted = [fits[which] for _, *fits in _QUESTIONS]
    activation, shape, scale = zip(*fitted, strict=True)
    return Problem(
        Weibull(shape=shape),
        activation=activation,
        rate=[1.0 / seconds for seconds in scale],
        names=[name for name, *_ in _QUESTIONS],
        units="seconds",
        provenance={
            "source": "EdNet-KT3: 20 questions, 5,000 response times each",
            "licence": "CC BY-NC 4.0 (EdNet); fitted facts only",
            "fit": _RECIPES[fit],
        },
    )
