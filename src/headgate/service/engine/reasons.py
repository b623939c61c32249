"""Why a decision is as it is: the curves that it was the best for, stored with it, bit for bit.

A posterior's draw depends on what a worker's policy remembers, which no log has. So it is stored, as numbers of double
precision in base64: two of them an arm where the law is known. All else follows from it and from the log.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from pydantic_core import to_json

from headgate.laws import Floats
from headgate.laws.standard import Standard
from headgate.policies import Policy, Thompson
from headgate.policies.model import belief_of

_FORM = ("a", "b", "shift", "cap")


def reason_of(policy: Policy) -> str | None:
    """Return what is stored of the decision that a policy has just made; None: it believes in no curves."""
    belief = belief_of(policy)
    if belief is None:
        return None
    weight, rate, form = belief.curves
    drawn: dict[str, Any] = {"activation": weight, "rate": rate}
    shapes = form is not None and isinstance(policy, Thompson) and not policy.shapes_known
    if shapes:
        drawn |= {name: np.broadcast_to(getattr(form, name), weight.shape) for name in ("base", *_FORM)}
    if belief.slope is not None:
        drawn["slope"] = belief.slope
    texts = {
        name: b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode() for name, values in drawn.items()
    }
    data: dict[str, Any] = {"price": float(belief.price)}
    if shapes:
        data["form"] = {name: texts.pop(name) for name in ("base", *_FORM)}
    elif form is not None and not isinstance(policy, Thompson):
        data["opaque"] = True
    return to_json(data | texts, inf_nan_mode="constants").decode()


@dataclass(frozen=True, slots=True)
class Reason:
    """What was stored of a decision."""

    price: float
    activation: Floats
    rate: Floats
    form: dict[str, Floats] | None
    """Of learned shapes, the draw's standard form."""
    opaque: bool
    """Whether the curves have shapes that were not stored."""
    slope: Floats | None
    """Of curves that were corrected by what was seen, what the last of its amount adds for each arm."""

    @classmethod
    def of_text(cls, text: str) -> Self:
        """Read what `reason_of` wrote."""
        data = json.loads(text)
        form = None if "form" not in data else {name: _numbers(value) for name, value in data["form"].items()}
        slope = None if "slope" not in data else _numbers(data["slope"])
        return cls(data["price"], _numbers(data["activation"]), _numbers(data["rate"]), form, "opaque" in data, slope)

    def standard(self, whole: Standard) -> Standard:
        """Return the standard form of the draw; `whole` is that of the law, with its tables."""
        if self.form is None:
            return whole
        return replace(whole, base=self.form["base"].astype(np.int64), **{name: self.form[name] for name in _FORM})


def _numbers(text: str) -> Floats:
    return np.frombuffer(b64decode(text), dtype="<f8").astype(np.float64)
