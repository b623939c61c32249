"""Conformance suites, to put your own policy or law through what ours must pass.

>>> import headgate as hg
>>> from headgate.policies import Uniform
>>> from headgate.testing import check_law, check_policy
>>> check_policy(Uniform)
>>> check_law(hg.Weibull(1.6))

With pytest, every check is a test of its own: parametrise over `POLICY_CHECKS`, each a function of `make`, or over
`LAW_CHECKS`, each a function of a law.
"""

from headgate.testing.certificate import check_certificate
from headgate.testing.harness import ConformanceError, MakePolicy
from headgate.testing.law import LAW_CHECKS, check_law
from headgate.testing.live import LIVE_CHECKS, check_live
from headgate.testing.policy import POLICY_CHECKS, check_policy

__all__ = [
    "LAW_CHECKS",
    "LIVE_CHECKS",
    "POLICY_CHECKS",
    "ConformanceError",
    "MakePolicy",
    "check_certificate",
    "check_law",
    "check_live",
    "check_policy",
]
