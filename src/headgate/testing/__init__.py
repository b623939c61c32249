"""Conformance suites, to put your own policy through what ours must pass.

>>> import headgate as hg
>>> from headgate.policies import Uniform
>>> from headgate.testing import check_policy
>>> check_policy(Uniform)

With pytest, every check is a test of its own: parametrise over `POLICY_CHECKS`, each a function of `make`.
"""

from headgate.testing.harness import ConformanceError, MakePolicy
from headgate.testing.policy import POLICY_CHECKS, check_policy

__all__ = ["POLICY_CHECKS", "ConformanceError", "MakePolicy", "check_policy"]
