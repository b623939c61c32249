"""Rounds of hidden kinds, in which arms share their fate: the best allocation found, and a bound that holds."""

from headgate.oracle.kinds.solve import maximise_kinds

__all__ = ["maximise_kinds"]
