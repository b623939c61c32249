"""The policies of a simulation: however they are given, made for a batch of runs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, Self, TypeAlias, final

import numpy as np

from headgate.errors import ParameterError
from headgate.laws import AUTO, automatic
from headgate.oracle import Reward
from headgate.policies import Oracle, Policy
from headgate.problem import Problem
from headgate.simulation.environment import name_of
from headgate.simulation.streams import policy_seed

Factory: TypeAlias = Callable[..., Policy]
Entrant: TypeAlias = Factory | tuple[Factory, Mapping[str, Any]]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Contender:
    """One policy of a simulation: its name there, what makes it, and with which options."""

    name: str
    factory: Factory
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, entrant: Entrant) -> Self:
        """Read a class, a (class, options) pair, a partial of either, or a function that makes a policy."""
        factory, options = entrant if isinstance(entrant, tuple) else (entrant, {})
        if not name:
            raise ParameterError("the name of a policy must not be empty")
        if not callable(factory):
            raise ParameterError(f"policy {name!r} must be a class, (class, options) or a function, got {entrant!r}")
        return cls(name, factory, dict(options))

    def build(self, problem: Problem, seed: int, runs: range, max_budget: float, rounds: int, reward: Reward) -> Policy:
        """Make the policy for a batch of runs, or for a single one if the problem is; the oracle is told the truth."""
        seeds = np.array([policy_seed(seed, run) for run in runs])
        options = {"seed": seeds if problem.batch else int(seeds[0]), **self.options}
        if _takes(self.factory, "rounds"):
            options.setdefault("rounds", rounds)
        if reward != "sum":
            options.setdefault("reward", reward)
        if _made_by(self.factory) is Oracle:
            truth = {"activation": problem.activation, "rate": problem.rate}
            options = truth | ({} if problem.kinds is None else {"kinds": problem.kinds}) | options
        law = options.pop("law", problem.law)
        if isinstance(law, str) and law == AUTO:  # thresholds that are whole have laws of whole units
            law = automatic(whole=bool(problem.law.whole_arms(problem.arms).all()))
        policy = self.factory(law, problem.arms, max_budget, **options)
        if not isinstance(policy, Policy):
            raise ParameterError(f"what makes policy {self.name!r} must return a Policy, got {policy!r}")
        if policy.batch != problem.batch:
            raise ParameterError(f"policy {self.name!r} must use the seeds it is given: one learner for each")
        return policy

    def describe(self) -> dict[str, Any]:
        """Return plain data by which two of them are told apart."""
        options = {**getattr(self.factory, "keywords", {}), **self.options}
        return {"made_by": name_of(self.factory), "options": {key: repr(value) for key, value in options.items()}}


def _takes(factory: Factory, option: str) -> bool:
    """Whether what makes a policy can be called with that option."""
    made_by = _made_by(factory)
    if isinstance(made_by, type) and issubclass(made_by, Policy):
        return option in {f.name for f in fields(made_by)}
    parameters = inspect.signature(factory).parameters
    return option in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def _made_by(factory: Any) -> Any:
    return _made_by(factory.func) if isinstance(factory, partial) else factory


def contenders(policies: Mapping[str, Entrant]) -> tuple[Contender, ...]:
    """Read all policies of a simulation."""
    if not policies:
        raise ParameterError(f"policies must be a dictionary from names to policies, not empty, got {policies!r}")
    return tuple(Contender.of(name, entrant) for name, entrant in policies.items())
