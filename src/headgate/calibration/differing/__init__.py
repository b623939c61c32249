"""Rounds that differ: cure regression on features, and what arms that share their rounds' fate are worth together."""
