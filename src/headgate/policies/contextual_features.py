"""Features of a round, checked: rows of numbers for each arm of each learner."""

from __future__ import annotations

from typing import Any

import numpy as np

from headgate import checks
from headgate.errors import FeatureError
from headgate.features import Features
from headgate.laws import Floats

_LARGEST = 1e100  # the largest feature: squares of it must be numbers


def checked_rows(
    features: Any, declared: int | Features, width: int, arms: int | None, batch: tuple[int, ...]
) -> Floats:
    """Return features as rows (batch, K, d), or raise what is wrong with them; `arms` of them, or any number."""
    if features is None:
        if width or arms is None:
            raise FeatureError(f"features are missing: {width} for each arm, (K, {width})")
        return np.zeros((*batch, arms, 0))
    if isinstance(declared, Features):
        z = declared.rows(features)
    else:
        z = checks.numbers("features", features, FeatureError, least=-np.inf)
    if z.ndim == 0 or z.shape[-1] != width:
        raise FeatureError(f"there must be {width} features, got an array of shape {z.shape}")
    if z.size and not -_LARGEST <= float(z.min()) <= float(z.max()) <= _LARGEST and np.any(np.abs(z) > _LARGEST):
        raise FeatureError(f"features must be within -1e100 and 1e100, got {z.flat[np.nanargmax(np.abs(z))]:g}")
    if z.ndim == 1:
        if arms is None:
            raise FeatureError(f"without arms features must be (K, {width}), one row an arm, got {z.shape}")
        z = np.broadcast_to(z, (arms, width))
    if z.ndim == 2:
        z = np.broadcast_to(z, (*batch, *z.shape))
    if z.shape[:-2] != batch or z.shape[-2] == 0 or arms not in {None, z.shape[-2]}:
        count = "K" if arms is None else arms
        raise FeatureError(f"features must be ({count}, {width}), one row an arm, got shape {z.shape}")
    return z
